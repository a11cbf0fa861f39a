# Everything here needs python3 (3.11+) with venv, make and the Python package registry; nothing else.
SHELL := /bin/sh
PYTHON ?= python3
UV := .bootstrap/bin/uv
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: demo test deep check bench lock clean setup

setup: $(STAMP)

.bootstrap/bin/uv:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) was not found. Install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11. Run: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(PYTHON) has no venv module. On Debian: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv .bootstrap
	@.bootstrap/bin/pip install -q --disable-pip-version-check uv==0.13.9 2>/dev/null || { echo "make: could not install uv==0.13.9 from the Python package registry. Is it reachable?"; rm -rf .bootstrap; exit 1; }

$(STAMP): requirements.lock pyproject.toml | .bootstrap/bin/uv
	@test -x $(BIN)/python || $(UV) venv -q --no-project --python $(PYTHON) .venv
	@echo "setting up .venv from requirements.lock ..."
	@$(UV) pip sync -q --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP)        ## two devices, one proposal, a verdict on the other device
	@$(BIN)/python -m lottisync.demo

test: $(STAMP)        ## the whole suite
	@$(BIN)/python -m pytest -m "not deep"

deep: $(STAMP)        ## long, seeded runs; SEEDS=n for how many
	@$(BIN)/python -m pytest -m deep
	@$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),100)

check: $(STAMP)       ## format, lint, types, layers, rules and tests that cite each other
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.state_table --check
	@$(BIN)/python -m tools.spec_coverage
	@$(BIN)/python -m tools.requirements --missing

bench: $(STAMP)       ## ratios against what the machine allows
	@$(BIN)/python -m tools.bench

lock: | .bootstrap/bin/uv   ## resolve pyproject.toml anew into requirements.lock
	@$(UV) pip compile -q --universal --generate-hashes --no-header --group dev -o requirements.lock pyproject.toml

clean:
	rm -rf .venv .bootstrap
