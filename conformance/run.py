"""`python conformance/run.py [options] [-- COMMAND ...]`: hold an implementation to its contract.

COMMAND starts the adapter (ADAPTER.md); without one it is ours. Where two programs meet, --peer starts the
other one; without it that is the same program a second time. Needs nothing but Python's standard
library. Exit code 0: everything passed that is not listed as an expected failure, and nothing passed
that is. 1: not so. 2: the call was wrong.
"""

import argparse
import fnmatch
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

if __package__ in (None, ""):  # run as a file: find the package that the file lies in
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from conformance.cases import Case, all_cases
from conformance.report import Outcome, Report, Verdict
from conformance.testee import Failure, NotOffered, Testee

OURS = "lottisync"
STOPS = {signal.SIGINT, signal.SIGTERM}
_ending: list[int] = []
"""The exit code of a run that got a signal to stop."""


def ours() -> list[str]:
    """The command of our own adapter: beside the Python that runs this, else wherever the shell finds it."""
    beside = Path(sys.executable).with_name(OURS)
    return [str(beside) if beside.exists() else OURS, "conformance-adapter"]


def main(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="conformance/run.py", description=__doc__, usage="%(prog)s [options] [-- COMMAND ...]"
    )
    parser.add_argument("--level", default="0,1,2,3", help="levels to run, like 0,1 (default: all)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="cases whose name matches, like '1-join/*'")
    parser.add_argument("--xfail", type=Path, metavar="FILE", help="expected failures: a name a line, # for comments")
    parser.add_argument("--peer", default="", metavar="COMMAND", help="another adapter, for cases in which two meet")
    parser.add_argument("--allow-missing", action="store_true", help="operations that are not offered fail nothing")
    parser.add_argument("--seed", type=int, default=1, help="of the scenarios' chance (default: 1)")
    parser.add_argument("--histories", type=int, default=8, help="how many random histories (default: 8)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for one answer (default: 20)")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--list", action="store_true", help="name the cases and run nothing")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report as JSON")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a report as JUnit's XML")
    given = parser.parse_args(arguments[:split])
    command = arguments[split + 1 :] or ours()

    try:
        levels = {int(level) for level in given.level.split(",")}
        xfails = _listed(given.xfail)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    everything = list(all_cases(given.seed, given.histories))
    unknown = sorted(xfails - {case.name for case in everything})
    cases = [case for case in everything if case.level in levels and _matches(case, given.only)]
    if not cases:
        parser.error("no case matches")
    if given.list:
        print("\n".join(f"{case.name:<60} {case.comment}" for case in cases))
        return 0

    testee = Testee(command, given.timeout)
    peer = Testee(shlex.split(given.peer) or command, given.timeout, "peer")
    try:
        outcomes = list(_run(cases, testee, peer, xfails, stop=given.stop))
    except FileNotFoundError as error:
        parser.error(f"there is no program {error.filename!r}")
    finally:
        testee.close()
        peer.close()
    report = Report(outcomes, unknown, given.allow_missing, command, given.seed, given.peer)
    if given.report:
        report.write_json(given.report)
    if given.junit:
        report.write_junit(given.junit)
    print(report.table())
    print(report.failures())
    return 0 if report.green else 1


def _run(cases: Iterable[Case], testee: Testee, peer: Testee, xfails: set[str], *, stop: bool) -> Iterable[Outcome]:
    for case in cases:
        if _ending:
            sys.exit(_ending[0])
        outcome = _outcome(case, testee, peer, case.name in xfails)
        yield outcome
        if stop and outcome.verdict in (Verdict.FAILED, Verdict.XPASSED):
            return


def _outcome(case: Case, testee: Testee, peer: Testee, expected_to_fail: bool) -> Outcome:
    testee.trace = peer.trace = []
    began = time.monotonic()
    try:
        case.run(testee, peer)
    except NotOffered as missing:
        verdict = Verdict.XFAILED if expected_to_fail else Verdict.NOT_OFFERED
        return Outcome(case, verdict, time.monotonic() - began, str(missing))
    except Failure as failure:
        verdict = Verdict.XFAILED if expected_to_fail else Verdict.FAILED
        trace = tuple(testee.trace)
        return Outcome(case, verdict, time.monotonic() - began, failure.what, failure.expected, failure.got, trace)
    return Outcome(case, Verdict.XPASSED if expected_to_fail else Verdict.PASSED, time.monotonic() - began)


def _stop(number: int, _frame: object) -> None:
    """End the run as at Ctrl-C. Python loses what is raised in a signal's handler while it compiles a module that it
    imports; then the run ends before the next case."""
    _ending.append(128 + number)
    sys.exit(_ending[0])


def _matches(case: Case, patterns: list[str] | None) -> bool:
    return patterns is None or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)


def _listed(file: Path | None) -> set[str]:
    """The names in a list of expected failures; what follows a # is the reason."""
    if file is None:
        return set()
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return {line for line in lines if line}


if __name__ == "__main__":
    # A signal to stop puts away what a case has begun. The folders of the cases are in one of the run,
    # for the signal may come while one of them is made, when nobody knows of it yet, or while it is cleared.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as tempfile.tempdir:
        signal.signal(signal.SIGTERM, _stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        sys.exit(main(sys.argv[1:]))
