"""What a daemon does before it listens."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lottisync.daemon.home import TaskHome
from lottisync.daemon.starting import Backoff, may_pass
from lottisync.problem import Problem

CODE = """
import sys
from pathlib import Path
from lottisync.daemon import daemon
from lottisync.daemon.home import TaskHome

home = TaskHome.open(Path(sys.argv[1]))
daemon._recover(home, print)
home.close()
sys.exit("pydantic" in sys.modules)
"""


def test_no_tool_is_loaded_where_no_verdict_was_interrupted_and_no_model_is_there(tmp_path: Path) -> None:
    """The tools of agents, with what checks their arguments, take a third of a daemon's start to load."""
    TaskHome.create(tmp_path / "a", "a").close()
    subprocess.run([sys.executable, "-c", CODE, str(tmp_path / "a")], check=True)


def refusing(*errors: OSError | Problem) -> Callable[[], None]:
    """A start that fails so, one time after the other, and then succeeds."""
    left = list(errors)

    def start() -> None:
        if left:
            raise left.pop(0)

    return start


FULL = Problem("disk-full", "the disk is full")
READ_ONLY = Problem("read-only", "it cannot be written")
NO_FILE = OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_cli_752_the_pauses_double_up_to_half_a_minute() -> None:
    """CLI-750, CLI-751, CLI-752, REL-D11"""
    codes: list[str] = []
    slept: list[float] = []
    waiting = Backoff(lambda code, error: codes.append(code), sleep=slept.append)
    waiting.until_it_runs(refusing(*[READ_ONLY] * 6, NO_FILE, NO_FILE, FULL))
    assert codes == ["read-only", "no-descriptor", "disk-full"]
    assert slept == [2, 4, 8, 16, 30, 30, 2, 4, 2]


def test_cli_754_what_ended_a_running_daemon_is_reported_and_the_pauses_begin_again() -> None:
    codes: list[str] = []
    slept: list[float] = []
    waiting = Backoff(lambda code, error: codes.append(code), sleep=slept.append)
    fails = refusing(FULL, FULL, FULL)

    def start() -> None:
        if len(slept) == 2:
            waiting.forget()
        fails()

    waiting.until_it_runs(start)
    assert codes == ["disk-full", "disk-full"]
    assert slept == [2, 4, 2]


def standing_for(code: str, cause: OSError) -> Problem:
    """A sentence that stands for an error of the system."""
    try:
        try:
            raise cause
        except OSError:
            raise Problem(code, "it cannot be read") from None
    except Problem as problem:
        return problem


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FULL, "disk-full"),
        (Problem("disk-failed", "it failed"), "disk-failed"),
        (OSError(errno.EIO, "it failed"), "disk-failed"),
        (OSError(errno.ENOSPC, "full"), "disk-full"),
        (OSError(errno.ENFILE, "too many"), "no-descriptor"),
        (standing_for("cannot-open", OSError(errno.EMFILE, "too many")), "no-descriptor"),
        (standing_for("cannot-open", OSError(errno.EACCES, "denied")), ""),
        (OSError(errno.EADDRINUSE, "taken"), ""),
        (Problem("running", "a daemon is running already"), ""),
        (Problem("not-initialised", "no home"), ""),
    ],
)
def test_cli_750_only_what_may_pass_is_waited_for(error: OSError | Problem, reason: str) -> None:
    """Another daemon, a port that is taken and a folder that is not a home end the call."""
    assert may_pass(error) == reason
    if not reason:
        with pytest.raises(type(error)):
            Backoff(lambda *_: None, sleep=lambda _: None).until_it_runs(refusing(error))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_cli_753_a_signal_ends_the_waiting(number: signal.Signals) -> None:
    """In the middle of a pause, and of a try."""
    before = signal.getsignal(number)

    def send(*_: object) -> None:
        signal.raise_signal(number)

    Backoff(lambda *_: None, sleep=send).until_it_runs(refusing(FULL))
    Backoff(lambda *_: None).until_it_runs(send)
    assert signal.getsignal(number) == before
