"""A daemon that cannot start for now: a full or failing disk, a home that cannot be written to, no free file
descriptor. It says so once, waits, and tries again (docs/specs/11-command-line.md, section 3)."""

import errno
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lottisync.problem import Problem
from lottisync.store.database import NO_DESCRIPTOR, NOT_WRITTEN, is_full

FIRST_SECONDS = 2.0
LONGEST_SECONDS = 30.0
"""A disk that is mended is noticed within half a minute, and one that stays as it is costs next to nothing."""
PASSING = {
    errno.EIO: "disk-failed",
    errno.EMFILE: NO_DESCRIPTOR,
    errno.ENFILE: NO_DESCRIPTOR,
    errno.ENOSPC: "disk-full",
    errno.EDQUOT: "disk-full",
    errno.EROFS: "read-only",
}
"""Errors of the system that may pass without anybody changing the call, and the codes that `Problem` has for them."""


def may_pass(error: BaseException | None) -> str:
    """The code of what kept a start from succeeding, if it may pass; empty if it will not. A `Problem` may be the
    sentence for an error of the system, which is its context."""
    match error:
        case None:
            return ""
        case Problem(code=code) if code in (*NOT_WRITTEN, NO_DESCRIPTOR):
            return code
        case OSError(errno=int(number)) if number in PASSING:
            return PASSING[number]
        case _:
            return may_pass(error.__context__)


class Backoff:
    """What one daemon waits for. `tell` gets a code and the error, once for each reason; the pauses grow from `first`
    to `longest` seconds."""

    def __init__(
        self,
        tell: Callable[[str, OSError | Problem], None],
        first: float = FIRST_SECONDS,
        longest: float = LONGEST_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tell, self._first, self._longest, self._sleep = tell, first, longest, sleep
        self.forget()

    def forget(self) -> None:
        """The daemon runs: what stops it after this is reported again."""
        self._reason, self._pause = "", self._first

    def until_it_runs(self, start: Callable[[], None]) -> None:
        """Call `start` until it returns, which it does when the daemon was stopped. SIGTERM and SIGINT end the waiting,
        too. Raises an error that waiting does not help."""
        try:
            while not self._started(start):
                pass
        except KeyboardInterrupt:
            return

    def _started(self, start: Callable[[], None]) -> bool:
        try:
            with _stopped_by_sigterm():
                start()
            return True
        except (OSError, Problem) as error:
            if not (reason := may_pass(error)):
                raise
            with _stopped_by_sigterm():  # an event loop that has ended takes what listened before it away
                self._wait(reason, error)
            return False

    def _wait(self, reason: str, error: OSError | Problem) -> None:
        if reason != self._reason:
            self.forget()
            self._reason = reason
            self._tell(reason, error)
        self._sleep(self._pause)
        self._pause = min(2 * self._pause, self._longest)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """A context in which SIGTERM does what Ctrl-C does, because nothing else listens for it yet."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def refuse_full_disk(home: Path) -> None:
    """Raises `Problem` if the disk of a home has no room for what a daemon needs (CLI-125)."""
    if is_full(home / "any"):
        raise Problem("disk-full", "the disk of {path} is full", path=home)
