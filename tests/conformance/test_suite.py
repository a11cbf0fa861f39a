"""The suite holds our adapter to its contract, and finds every fault that was planted in a copy of it."""

import fnmatch
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest
from conformance.cases import all_cases
from conformance.generate.__main__ import VECTORS, write_all
from tests.support.command_line import eventually
from tests.support.event_loop import BOUND_SECONDS

ROOT = Path(__file__).resolve().parents[2]
XFAIL = ROOT / "conformance" / "lottisync.xfail"
OURS = [sys.executable, "-m", "lottisync", "conformance-adapter"]
HISTORIES = "40" if os.environ.get("CI") else "300"
"""Of the deep run; CI has a bounded budget."""
LEVELS = {0: 100, 1: 200, 2: 50, 3: 50}
"""Level -> how many cases it has at least. A test each, so that several cores can share them."""
MUTANTS = {
    "clock_not_merged": "1-join/clock-is-merged",
    "counter_reused": "3-writing/a-closed-replica-goes-on-where-it-was",
    "deletion_always_wins": "3-deletion/an-edit-that-the-deleter-had-not-seen",
    "far_future_followed": "3-rounds/a-far-future-clock-carries-nobody-along",
    "held_dots_forgotten": "3-rounds/a-cut-round-is-not-sent-again",
    "keys_by_utf16": "0-digest/value-object-keys-by-bytes",
    "knowledge_by_frame": "3-rounds/a-third-device-is-not-deprived",
    "knowledge_out_of_order": "3-rounds/frames-out-of-order-and-cut",
    "lost_first_write": "1-clock/merge-first-write-survives",
    "numbers_with_a_point": "0-digest/counters-with-a-point",
    "precedence_ignored": "3-rounds/an-agents-write-elsewhere-does-not-win",
    "reading_goes_back": "3-writing/readings-go-up-when-the-wall-clock-goes-back",
    "session_adopts_early": "2-sessions/knowledge-comes-with-the-end",
    "session_agent_first": "2-sessions/a-round-goes-out",
    "session_answers_after_close": "2-sessions/close-is-the-last-word",
    "session_bytes_lost": "2-meetings/byte-by-byte",
    "session_chain_unchecked": "2-hostile/versions-that-cannot-be-kept",
    "session_claims_believed": "2-hostile/knowledge-beyond-the-chains",
    "session_copies_unnoticed": "2-sessions/chains-that-differ-are-searched-and-split",
    "session_credit_ignored": "2-hostile/batches-without-credit",
    "session_damaged_row_sent": "2-meetings/one-end-holds-a-damaged-row",
    "session_echoes": "2-sessions/what-was-brought-is-not-sent-back",
    "session_forgotten_comes_back": "2-sessions/a-sender-that-has-not-seen-what-is-forgotten",
    "session_forks_believed": "2-hostile/forks-without-end",
    "session_goes_on": "2-hostile/what-comes-behind-a-refusal",
    "session_held_is_sent_again": "2-sessions/only-what-is-lacking-goes-out",
    "session_numbers_ignored": "2-hostile/messages-out-of-turn",
    "session_numbers_with_a_point": "2-hostile/fields-out-of-bounds",
    "session_oversize_accepted": "2-hostile/frames-before-the-greeting",
    "session_refusals_uncounted": "2-hostile/rounds-that-cannot-be-taken-without-end",
    "session_waits_for_ever": "2-sessions/fifteen-seconds-of-silence",
    "sibling_dropped": "3-random-histories/history-1",
    "tombstone_absent": "3-deletion/a-stale-copy-revives-nothing",
    "tombstone_counted": "3-deletion/a-clean-tombstone-adds-nothing",
    "undeletes_by_writing": "3-deletion/a-write-does-not-undelete",
    "unknown_field_dropped": "1-join/unknown-fields",
    "winner_takes_all": "3-rounds/concurrent-edits-of-two-fields",
}
"""Planted fault -> a case that must find it."""


def called(*options: str, adapter: list[str]) -> list[str]:
    return [sys.executable, "conformance/run.py", *options, "--", *adapter]


def run(*options: str, adapter: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The runner to its end; its temporary folders are made in `folder`."""
    environment = None if folder is None else os.environ | {"TMPDIR": str(folder)}
    command = called(*options, adapter=adapter)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def verdicts(report: Path) -> dict[str, str]:
    return {case["name"]: case["verdict"] for case in json.loads(report.read_text())["cases"]}


def test_the_cases_where_two_programs_differed_are_there() -> None:
    """Each line of the README's table names cases that exist."""
    page = (ROOT / "conformance/README.md").read_text()
    table = page.partition("## Where two programs differed")[2].partition("##")[0]
    named = re.findall(r"`([0-3]-[a-z-]+/[a-z*-]+)`", table)
    there = [case.name for case in all_cases(seed=1, histories=1)]
    assert len(named) >= 16
    assert [name for name in named if not fnmatch.filter(there, name)] == []


def test_the_levels_are_those_that_cases_have() -> None:
    assert {case.level for case in all_cases(seed=1, histories=1)} == LEVELS.keys()


@pytest.mark.parametrize("level", LEVELS)
def test_our_adapter_conforms(level: int, tmp_path: Path) -> None:
    """C-18"""
    report, junit = tmp_path / "out.json", tmp_path / "out.xml"
    options = ("--xfail", str(XFAIL), "--histories", "5", "--report", str(report), "--junit", str(junit))
    done = run("--level", str(level), *options, adapter=OURS)
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(report)
    assert len(found) > LEVELS[level]
    assert set(found.values()) == {"passed"}
    assert xml.etree.ElementTree.parse(junit).getroot().attrib["failures"] == "0"


def test_every_planted_fault_has_a_case_that_finds_it() -> None:
    planted = {file.stem for file in (ROOT / "tests/conformance/mutants").glob("*.py")} - {"planting"}
    assert planted == MUTANTS.keys()


@pytest.mark.deep
@pytest.mark.parametrize(("mutant", "killer"), MUTANTS.items())
def test_a_planted_fault_is_found(mutant: str, killer: str, tmp_path: Path) -> None:
    """C-21"""
    report = tmp_path / "out.json"
    adapter = [sys.executable, "-m", f"tests.conformance.mutants.{mutant}"]
    done = run("--only", killer, "--histories", "1", "--report", str(report), adapter=adapter)
    assert done.returncode == 1, done.stdout + done.stderr
    (case,) = json.loads(report.read_text())["cases"]
    assert (case["name"], case["verdict"]) == (killer, "failed")
    assert "the adapter ended" not in case["what"]
    assert "answered internal" not in case["what"]


@pytest.mark.deep
@pytest.mark.parametrize("only", ["3-random-histories/*", "2-meetings/history-*"])
def test_hundreds_of_random_histories(only: str) -> None:
    done = run("--only", only, "--histories", HISTORIES, "--seed", "1000", adapter=OURS)
    assert done.returncode == 0, done.stdout


def test_two_programs_meet(tmp_path: Path) -> None:
    """Two processes that share no memory, the bytes between them carried by the suite (C-20)."""
    report = tmp_path / "out.json"
    peer = shlex.join(OURS)
    done = run("--only", "2-meetings/*", "--histories", "3", "--peer", peer, "--report", str(report), adapter=OURS)
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(report)
    assert len(found) >= 9
    assert set(found.values()) == {"passed"}


def test_the_other_program_is_asked_too(tmp_path: Path) -> None:
    """What fails in it fails the case, and the report says what each of the two was asked (C-20)."""
    report = tmp_path / "out.json"
    peer = f"{shlex.quote(sys.executable)} -m tests.conformance.mutants.session_bytes_lost"
    only = "2-meetings/byte-by-byte"
    done = run("--only", only, "--peer", peer, "--report", str(report), adapter=OURS)
    assert done.returncode == 1, done.stdout
    assert f"--peer {shlex.quote(peer)} --only {only}" in done.stdout
    (case,) = json.loads(report.read_text())["cases"]
    assert {line.get("of") for line in case["trace"]} == {None, "peer"}


# -- vectors


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    count = write_all(tmp_path / "vectors")
    assert count >= 120
    assert _files(tmp_path / "vectors") == _files(VECTORS)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_rule_that_is_cited_exists() -> None:
    written = "".join(file.read_text() for file in (ROOT / "docs/specs").glob("*.md"))
    known = set(re.findall(r"^\| ([A-Z]+-\d+) \|", written, re.MULTILINE))
    cited = {spec for file in VECTORS.rglob("*.json") for spec in json.loads(file.read_text())["spec"]}
    for file in (ROOT / "conformance/scenarios").glob("*.py"):
        cited |= set(re.findall(r"\b(?:CAUS|ENT|MERGE|STORE|SYNC|COPY|FORGET|MEND)-\d+", file.read_text()))
    assert cited - known == set()


# -- the runner itself

ONE = "1-clock/compare-identical"
DEAF = "import sys\nfor line in sys.stdin: pass"
MUTE = "import signal; signal.pause()"
DYING = "import sys; sys.stdin.readline(); sys.exit('out of coffee')"
BABBLING = "import sys\nfor line in sys.stdin: print('equal', flush=True)"
ANOTHER_ID = """
import json, sys
for line in sys.stdin: print(json.dumps({"id": 0, "ok": "equal"}), flush=True)
"""
LACKING = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "error": {"code": "unknown-op", "message": ""}}), flush=True)
"""


@pytest.mark.parametrize(
    ("program", "timeout", "words"),
    [
        (DEAF, "0.5", "no answer within"),
        (MUTE, "0.5", "no answer within"),
        (DYING, "60", "out of coffee"),
        (BABBLING, "60", "one JSON object a line"),
        (ANOTHER_ID, "60", "has the request's id"),
    ],
)
def test_an_adapter_that_does_not_answer_fails_the_case(program: str, timeout: str, words: str) -> None:
    """C-19: those that do answer get the time that starting them may take."""
    done = run("--only", ONE, "--timeout", timeout, adapter=python(program))
    assert done.returncode == 1
    assert words in done.stdout
    assert f"--only {ONE}" in done.stdout


def test_a_replay_has_the_seed_of_its_history() -> None:
    done = run("--only", "3-random-histories/history-12", "--seed", "10", "--histories", "3", adapter=python(DYING))
    assert "--seed 12 --only 3-random-histories/history-12" in done.stdout


def test_what_is_not_offered_fails_unless_it_is_allowed_to() -> None:
    lacking = python(LACKING)
    done = run("--only", ONE, adapter=lacking)
    assert done.returncode == 1
    assert "not offered: clock.compare" in done.stdout
    assert run("--only", ONE, "--allow-missing", adapter=lacking).returncode == 0


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (f"{ONE} # is wrong everywhere", "take it off the list"),
        ("1-clock/no-such-case", "no case does"),
    ],
)
def test_a_list_of_expected_failures_that_is_out_of_date_fails_the_run(listed: str, words: str, tmp_path: Path) -> None:
    xfail = tmp_path / "list"
    xfail.write_text(f"# ours\n{listed}\n")
    done = run("--only", ONE, "--xfail", str(xfail), adapter=OURS)
    assert done.returncode == 1
    assert words in done.stdout


def test_an_expected_failure_fails_nothing(tmp_path: Path) -> None:
    xfail = tmp_path / "list"
    xfail.write_text(ONE)
    assert run("--only", ONE, "--xfail", str(xfail), adapter=python(DYING)).returncode == 0


@pytest.mark.parametrize("options", [["--only", "no-such-case"], ["--level", "high"], ["--xfail", "/no/such/list"]])
def test_a_wrong_call_is_exit_code_2(options: list[str]) -> None:
    assert run(*options, adapter=OURS).returncode == 2


@pytest.mark.parametrize(
    ("options", "adapter"),
    [
        (["--only", ONE], ["/no/such/adapter"]),
        (["--only", "2-meetings/byte-by-byte", "--peer", "/no/such/adapter"], OURS),
    ],
)
def test_a_program_that_is_not_there_is_a_wrong_call(options: list[str], adapter: list[str], tmp_path: Path) -> None:
    """And what the case had begun with the other program is put away."""
    done = run(*options, adapter=adapter, folder=tmp_path)
    assert done.returncode == 2
    assert "no program" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_runner_that_gets_a_signal_leaves_no_folder(tmp_path: Path) -> None:
    command = called("--only", "3-writing/*", "--timeout", "0.5", adapter=python(MUTE))
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    ) as runner:
        eventually(lambda: list(tmp_path.glob("conformance-*")))
        runner.terminate()
        runner.communicate(timeout=BOUND_SECONDS)
    assert runner.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_runner_that_gets_a_signal_while_it_makes_a_folder_leaves_none(tmp_path: Path) -> None:
    """The signal comes when the folder is there and the runner does not know its name."""
    told_to_stop = f"""
import os, runpy, signal, sys
make = os.mkdir
def mkdir(*path):
    make(*path)
    os.kill(os.getpid(), signal.SIGTERM)
os.mkdir = mkdir
sys.argv = {["conformance/run.py", "--only", "3-writing/*", "--", *python(DYING)]!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    runner = subprocess.run(python(told_to_stop), cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert runner.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_the_suite_imports_the_standard_library_only() -> None:
    program: Any = (
        "import sys, pathlib; sys.path.insert(0, '.'); import conformance.run, conformance.cases as c;"
        "list(c.all_cases(1, 1));"
        "print([m for m in sys.modules if m.split('.')[0] in ('lottisync', 'msgspec', 'apsw', 'pytest')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
