"""One SQLite file: opened durable, checked, and of a version that we know (docs/specs/05-store.md, section 1).

`synchronous=FULL` under WAL is not caution: with NORMAL a power cut takes back commits that were
acknowledged, and a commit whose dot was already sent is a counter used twice. Both pragmas are read
back, since SQLite answers a refusal with the old value and not with an error.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from lottisync.problem import Problem
from lottisync.store.migration import upgrade

APPLICATION_ID = 0x4C4F5453  # "LOTS"
FORMAT = 7
BUSY_MILLIS = 30_000
"""How long a writer waits for another process's transaction: longer than any of ours lasts."""
STATEMENTS = 512
"""Statements that a connection keeps prepared, the most that apsw takes. Its cache is a ring that every use turns by
one: with the 100 of its default, a statement of one round is prepared again by the next, at ten times what it costs to
run."""
CACHE_KIB = 32 * 1024
"""Pages kept in memory, at most. With SQLite's 2 MB a first round of 100,000 entities takes half as long again, for
every index is read back from the file again and again; beyond 32 MB nothing is gained."""
PAGE_BYTES = 8 * 1024
"""For a file that is made. With SQLite's 4 KB a sixth stays empty, because rows have 700 bytes; a commit of one row
takes some ten microseconds more for it."""
ROOM_BYTES = 64 * 1024
"""What must be free on the disk to open a file as usual: programs share its index in a file of 32 KB beside it."""
FULL_DISK_BUSY_MILLIS = 1_000
DESCRIPTORS_OF_A_STORE = 4
"""The file, its log, the index of that, and the folder while it is written through."""
CHECKPOINT_PAGES = 2_000
"""How long the write-ahead log grows before it is carried over into the file: 16 MB, four times SQLite's own. Pages
that a first round touches again and again are carried over once."""


def connect(path: Path, *, create: bool = False, vfs: str | None = None) -> apsw.Connection:
    """Open a database file of ours, or with `create` a new one. Raises `Problem` for one that is missing,
    foreign, newer or damaged (STORE-2), or that is there already.

    On a full disk the file is opened all the same, for this connection alone (STORE-80)."""
    if create and path.exists():
        raise Problem("exists", "{path} exists already; it was left as it is", path=path)
    if not create and not path.exists():
        raise Problem(
            "missing",
            "{path} does not exist. Restore it from a backup; or have it made empty, for the other devices to fill it",
            hint="init-missing",
            path=path,
        )
    try:
        return _connected(path, vfs, create=create)
    except Problem as problem:
        if create or problem.code != "disk-full":
            raise
    return _connected(path, vfs, create=False, alone=True)


def _connected(path: Path, vfs: str | None, *, create: bool, alone: bool = False) -> apsw.Connection:
    """With `alone`, SQLite keeps the index of the log in memory and not in a file, so no other connection can be
    open."""
    with sqlite_errors_as_problems(path):
        connection = apsw.Connection(str(path), vfs=vfs, statementcachesize=STATEMENTS)
        try:
            connection.set_busy_timeout(FULL_DISK_BUSY_MILLIS if alone else BUSY_MILLIS)
            if alone:
                connection.execute("pragma locking_mode=exclusive").fetchall()
            if create:
                connection.execute(f"pragma page_size={PAGE_BYTES}").fetchall()
            else:
                _refuse_foreign(connection, path)
                upgrade(connection, path, FORMAT)
            # Otherwise SQLite plans many statements again when they are given another value, which costs more than it.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            _make_durable(connection, path)
            bound_cache(connection)
            connection.execute(f"pragma wal_autocheckpoint={CHECKPOINT_PAGES}").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection


def _make_durable(connection: apsw.Connection, path: Path) -> None:
    """STORE-1."""
    for pragma, expected in (("journal_mode=wal", "wal"), ("synchronous=full", 2)):
        connection.execute(f"pragma {pragma}").fetchall()
        name = pragma.partition("=")[0]
        got = connection.execute(f"pragma {name}").fetchall()[0][0]
        if got != expected:
            raise Problem(
                "not-durable",
                "{path}: SQLite keeps {name} at {got!r}; is the folder on a network drive?",
                path=path,
                name=name,
                got=got,
            )


def bound_cache(connection: apsw.Connection, kib: int = CACHE_KIB) -> None:
    """Room for the indexes of some hundred thousand entities. It is only taken when so many pages are touched."""
    connection.execute(f"pragma cache_size=-{kib}").fetchall()


class sqlite_errors_as_problems:  # noqa: N801 - reads like the function that it would be if that were not three times as slow
    """A context in which an error of SQLite about a file becomes a `Problem`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            problem = _problem(error, self._path)
            if problem is not None:
                raise problem from None
        if isinstance(error, UnicodeDecodeError):
            raise Problem(
                "damaged-row", "{path} holds text that is not UTF-8 ({error})", hint="row", path=self._path, error=error
            ) from None


def _problem(error: apsw.Error, path: Path) -> Problem | None:
    """What a person can do about an error of SQLite; None for a fault of this program."""
    match error:
        case apsw.FullError():
            return Problem("disk-full", "the disk is full: nothing was written to {path}", path=path)
        case apsw.BusyError():
            return Problem(
                "busy",
                "another program has held {path} for {value} seconds. Close it and try again",
                path=path,
                value=BUSY_MILLIS // 1000,
            )
        case apsw.NotADBError() | apsw.CorruptError():
            return Problem(
                DAMAGED,
                "{path} is damaged ({error}). Restore it from a backup, or pair this device again",
                hint="damaged-file",
                path=path,
                error=error,
            )
        case apsw.IOError() if is_full(path):
            return Problem("disk-full", "the disk is full: nothing was written to {path}", path=path)
        case apsw.IOError():
            return Problem(
                "disk-failed",
                "the disk failed at {path} ({error}); what was not reported done is not. Check the disk",
                path=path,
                error=error,
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Problem(
                "read-only",
                "{path} cannot be written. Check that the file, its folder and the disk may be written to",
                path=path,
            )
        case apsw.CantOpenError() if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            return Problem(
                "read-only",
                "{parent} cannot be written to, and a store needs that also to be read. Make the folder "
                "writable, or copy it to a disk that is",
                parent=path.parent,
            )
        case apsw.CantOpenError() if is_full(path):
            return Problem("disk-full", "the disk is full: {path} cannot be opened. Make room", path=path)
        case apsw.CantOpenError() if (why := _no_descriptor()) is not None:
            return Problem(
                NO_DESCRIPTOR,
                "{path} cannot be opened: {why}. End programs, or raise the limit of this one (ulimit -n)",
                path=path,
                why=why,
            )
        case apsw.CantOpenError():
            return Problem(
                "cannot-open", "{path} cannot be opened. Check that the folder exists and belongs to you", path=path
            )
        case _:
            return None


def _no_descriptor() -> str | None:
    """What the system says if this program can open no file more; SQLite needs some at once."""
    try:
        with contextlib.ExitStack() as held:
            for _ in range(DESCRIPTORS_OF_A_STORE):
                held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.strerror if error.errno in (errno.EMFILE, errno.ENFILE) else None
    return None


DAMAGED = "damaged"
"""The code for a file that cannot be used as a whole, or in a page that was met."""
NOT_WRITTEN = ("disk-full", "disk-failed", "read-only")
"""Codes of a disk that takes no write now."""
NO_DESCRIPTOR = "no-descriptor"


@contextlib.contextmanager
def left_out_if_not_written() -> Iterator[None]:
    """For what is written beside a read: if the disk does not take it, it is left out."""
    try:
        yield
    except Problem as problem:
        if problem.code not in NOT_WRITTEN:
            raise


def is_full(path: Path) -> bool:
    """Whether the disk of a file has no room for the index that programs share: SQLite calls that a failing disk."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM_BYTES


def _refuse_foreign(connection: apsw.Connection, path: Path) -> None:
    application: int = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    if application != APPLICATION_ID:
        raise Problem("foreign", "{path} was not made by lottisync; it was left as it is", path=path)
    if version > FORMAT:
        raise Problem(
            "newer-format",
            "{path} has format {version}, this program knows formats up to {format}. Install a newer lottisync",
            path=path,
            version=version,
            format=FORMAT,
        )
