"""One program at a time syncs a home, or changes what it is: a daemon, a command, or a program of its own that syncs.

It holds the lock of a file in the home. Two at once would greet the other devices as one device that runs twice, which
looks like a copied home (docs/specs/13-copies.md, section 6).
"""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from lottisync.problem import Problem
from lottisync.store.lock import Lock

LOCK_FILE = "daemon.lock"
STATUS_FILE = "daemon.json"
"""What a running daemon says of itself."""
NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
TRIES = 20
"""Who asks for the status tries the lock, too, for an instant; only a lock that stays taken is in use."""


@asynccontextmanager
async def alone(home: Path, tries: int = TRIES) -> AsyncIterator[None]:
    """Hold the lock of the home in this folder. The system lets go of it when the process ends, however it ends. Raises
    `Problem` (`running`) if another program holds it."""
    import anyio  # here: a command that only asks where a daemon runs has no event loop

    try:
        held = Lock(home / LOCK_FILE)
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise Problem(
            "read-only",
            "{value} cannot be opened: {strerror}. Make the home writable",
            value=home / LOCK_FILE,
            strerror=error.strerror or error,
        ) from None
    with held as lock:
        for _ in range(tries):
            if lock.take():
                break
            await anyio.sleep(0.01)
        else:
            raise _taken(home)
        # A daemon that was killed left its file. While the lock is ours, its pid must not pass for the holder's.
        with suppress(FileNotFoundError):
            (home / STATUS_FILE).unlink()
        yield


def _taken(home: Path) -> Problem:
    """Only a daemon says what it does; one that is just starting has not yet."""
    if (home / STATUS_FILE).exists():
        return Problem("running", "a daemon is running for {path} already", hint="status", path=home)
    return Problem(
        "running",
        "another program syncs {path}, and only one at a time can. Wait until it has ended, or end it",
        path=home,
    )
