"""How a commit in one process wakes the others, without polling (docs/specs/05-store.md, section 7).

A program that wants to know of commits opens a named pipe in `<home>/bells/`. A program that has committed writes
one byte into each. A pipe without a reader belongs to a process that is gone, and is removed. A full
pipe is a bell that rings already. (A socket would do the same, but its path may have 107 bytes only;
watching the write-ahead log needs a library per system and tells of checkpoints, too.)

The bell is a hint: it carries nothing, and a lost one costs at most the time after which a listener looks at SQLite's
own change counter, which also shows what other tools committed (`FALLBACK_SECONDS`, unless it has its own).
"""

import contextlib
import errno
import os
from pathlib import Path

FALLBACK_SECONDS = 1.0
TOGETHER = 4096
"""Rings that are taken at a time."""
_OWN: set[Path] = set()
"""The bells that this process listens to."""
UNHURRIED_SECONDS = 10.0
"""The fallback for a listener whose work can wait: each look of an idle daemon costs time of the processor."""


def ring(bells: Path) -> None:
    """Tell every listener that something was committed. Never blocks, never fails: it comes after the commit, and an
    error would tell the writer that nothing was written. Other processes hear it first: a thread of this one that wakes
    would run now, and they would wait for it."""
    try:
        paths = [path for path in bells.iterdir() if not path.name.startswith(".")]
    except OSError:  # no listener has ever been here, or the folder cannot be read just now
        return
    for path in sorted(paths, key=_OWN.__contains__):
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            # Only ENXIO says that no process reads from the pipe any more. If this process has run out of file
            # descriptors, the listeners of other processes must stay.
            if error.errno == errno.ENXIO:
                with contextlib.suppress(OSError):
                    path.unlink()
            continue
        with contextlib.suppress(OSError):  # full, or given up in this moment
            os.write(pipe, b"\x01")
        os.close(pipe)


def listening(bells: Path, name: str) -> bool:
    """Whether a process listens to this bell."""
    try:
        os.close(os.open(bells / name, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno not in (errno.ENXIO, errno.ENOENT)
    return True


class Bell:
    """A listener's end. `fileno()` becomes readable when a process rang."""

    def __init__(self, bells: Path, name: str) -> None:
        bells.mkdir(mode=0o700, exist_ok=True)
        self._path = bells / name
        # Made under a name that ringers pass over: before it is read from it would be taken for a dead one.
        opening = bells / f".{name}"
        with contextlib.suppress(FileNotFoundError):
            opening.unlink()
        os.mkfifo(opening, 0o600)
        self._pipe = os.open(opening, os.O_RDONLY | os.O_NONBLOCK)
        # Our own writing end keeps the pipe from reading as "closed" whenever the last ringer has left.
        self._keep = os.open(opening, os.O_WRONLY | os.O_NONBLOCK)
        opening.rename(self._path)
        _OWN.add(self._path)

    def fileno(self) -> int:
        return self._pipe

    def clear(self) -> None:
        """Take all rings that are waiting."""
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self._pipe, TOGETHER)) == TOGETHER:
                pass

    def close(self) -> None:
        _OWN.discard(self._path)
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._pipe)
        os.close(self._keep)
