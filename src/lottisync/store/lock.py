"""A lock on a file: one program, or one task of it, at a time. Advisory, as `flock(2)` has it.

The system releases it when the process ends, however it ends. So a lock is never stale. Whether a program runs is
seen from its lock, and not from what it has written.

Checking whether a lock is held takes it for an instant (shared, so that two checks do not see each other). So a program
that takes the lock for its work tries several times before it says that another program holds it.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class Lock:
    """The lock of a file, which is made if it is not there. Held from `take` until the block ends. Raises `OSError`
    if the file cannot be opened."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)

    def take(self) -> bool:
        """Try once; False if another program or task holds it."""
        return _locked(self._descriptor, fcntl.LOCK_EX)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def is_held(file: Path) -> bool:
    """Whether the lock of a file is held, by any program. Writes nothing; raises `OSError` if the file is there and
    cannot be opened."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
