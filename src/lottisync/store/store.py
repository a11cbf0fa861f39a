"""The replicated store: entities with clocks in one SQLite file (docs/specs/05-store.md).

A device has several stores. They are the same code, each with its own registry of types. A store is
synchronous and knows nothing of networks or event loops. Several processes may hold one open; SQLite's
transactions are the only lock between them, and neither the host nor its counter is remembered across
transactions.

A row is a version (`lottisync.entities.version`) with a few columns pulled out for queries. Beside the two tables there
is one index, from (host, counter) to entity, over every component of every clock: "what does this peer lack" is a range
scan whose cost grows with what is missing, not with what is stored. The digest is the sum of the rows' hashes modulo
2^256, kept in the same transaction.

How it is written is in `lottisync.store.transaction`, on `merge` and `rows`; how it is read in `reader`.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Literal, overload

import apsw

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import Entity
from lottisync.entities.schema import StoreSchema
from lottisync.problem import Problem
from lottisync.store import description, doorbell, fork, tables
from lottisync.store.database import (
    APPLICATION_ID,
    BUSY_MILLIS,
    FORMAT,
    bound_cache,
    connect,
    sqlite_errors_as_problems,
)
from lottisync.store.file_identity import COPY, file_identity
from lottisync.store.host_names import restore_host_names, restore_own_name, restore_parents
from lottisync.store.known_hosts import Latest
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.snapshot import Snapshot
from lottisync.store.transaction import Transaction

RESTING_BYTES = 4 * 1024 * 1024
"""Memory that the connection of a closed snapshot may hold while it waits for the next one."""


class Store:
    """One open replicated store. Threads may share it; transactions take turns. `vfs` names the SQLite file
    system to use, for tests that plant faults."""

    def __init__(
        self,
        file: Path,
        schema: StoreSchema,
        connection: apsw.Connection,
        mint: Callable[[], Host],
        vfs: str | None = None,
        identity: str | None = None,
        *,
        position: int = 0,
    ) -> None:
        self.file = file
        self.position = position
        self._in_force = description.InForce(schema)
        self._connection = connection
        self._mint = mint
        self._vfs = vfs
        self._file_identity = identity
        self._turn = threading.RLock()
        self._bells = file.parent / "bells"
        self._open: Merge | None = None
        self._closed = False
        self._resting: list[apsw.Connection] = []
        self._hosts = Latest()

    # -- opening

    @staticmethod
    def create(
        file: Path, schema: StoreSchema, mint: Callable[[], Host], *, position: int = 0, vfs: str | None = None
    ) -> "Store":
        """Make the file with its tables and a first host; opening an existing file is an error."""
        connection = connect(file, create=True, vfs=vfs)
        with sqlite_errors_as_problems(file), connection:
            connection.execute(tables.definitions(schema) + schema.local_tables).fetchall()
            description.describe(connection, schema, position)
            host = mint()
            connection.execute("insert into hosts(host) values (?)", (host,)).fetchall()
            connection.execute(
                "insert into state values (1, ?, 0, 0, 0, ?, 0, 0, ?, 0, x'')",
                (host, bytes(32), file_identity(file)),
            ).fetchall()
            connection.execute(f"pragma application_id={APPLICATION_ID}").fetchall()
            connection.execute(f"pragma user_version={FORMAT}").fetchall()
        return Store(file, schema, connection, mint, vfs, position=position)

    @staticmethod
    def open(
        file: Path,
        schema: StoreSchema | None,
        mint: Callable[[], Host],
        *,
        position: int | None = None,
        vfs: str | None = None,
        detect: Literal["early", "late"] = "early",
    ) -> "Store":
        """Open a file: with a `schema` of the program's own, which the file is brought up to if it is newer, or with
        None by what the file says of itself. `position` is the store's place in the order of delivery, None if the
        program does not know it.

        A file that lies elsewhere than where it was written is a copy: before its first write it gets
        a new host (COPY-7). With `detect` late, the chains find it instead."""
        connection = connect(file, vfs=vfs)
        try:
            with sqlite_errors_as_problems(file):
                schema, position = description.settled(connection, file, schema, position)
                description.add_local_tables(connection, schema.local_tables)
                with contextlib.suppress(apsw.CorruptError):  # said when something is read that needs those pages
                    restore_host_names(connection)
                    restore_own_name(connection)
                    restore_parents(connection)
        except BaseException:
            connection.close()
            raise
        identity = file_identity(file) if detect == "early" else None
        return Store(file, schema, connection, mint, vfs, identity, position=position)

    @property
    def schema(self) -> StoreSchema:
        return self._in_force.schema

    def settle(self, now: int) -> None:
        """Look now whether this file is a copy, not at the first write."""
        if self._file_identity is not None:
            with self.transaction(now, None):
                pass

    def close(self) -> None:
        self._closed = True
        _close(self._connection)
        while self._resting:
            _close(self._resting.pop())

    # -- transactions

    @overload
    def transaction(self, now: int, precedence: int) -> AbstractContextManager[Transaction]: ...

    @overload
    def transaction(self, now: int, precedence: None) -> AbstractContextManager[Merge]: ...

    def transaction(self, now: int, precedence: int | None) -> AbstractContextManager[Merge]:
        """A write transaction at wall time `now` (ms): all of it is committed, or nothing is. What was
        committed is durable before this returns, and the bell rings after that. Raises `Problem` (`nested`) within
        another block of this thread that reads or writes the store.

        `precedence` (`entity.HIGH` or `LOW`) is that of the writes in it; it cannot write with a higher one. With
        None it makes no writes (STORE-31): it joins versions from peers, forgets, or keeps local tables."""
        return self._committed(now, precedence)

    @contextlib.contextmanager
    def _committed(self, now: int, precedence: int | None) -> Iterator[Merge]:
        with self._turn, sqlite_errors_as_problems(self.file):
            _refuse_nested(self._connection, self.schema.name)
            self._connection.execute("begin immediate").fetchall()
            try:
                self._open = self._begun(now, precedence)
                if self._file_identity is not None:
                    fork.settle(self._open, self._file_identity)
                yield self._open
                self._open.finish()
                changed = self._open.changed
                self._connection.execute("commit").fetchall()
                self._file_identity = None
            except BaseException:
                self._rollback()
                raise
            finally:
                self._open = None
        if changed:
            doorbell.ring(self._bells)

    @contextlib.contextmanager
    def caching(self, now: int) -> Iterator[Merge]:
        """A transaction for local tables whose rows can be computed again. It is committed like any other, but does not
        wait for the disk (STORE-870): a power cut may take back this transaction, and no other one that was
        committed."""
        with self._turn, sqlite_errors_as_problems(self.file):
            self.settle(now)
            durable = self._connection.pragma("synchronous")
            self._connection.pragma("synchronous", "normal")
            try:
                with self._committed(now, None) as tx:
                    yield tx
            finally:
                self._connection.pragma("synchronous", durable)

    @contextlib.contextmanager
    def draft(self, now: int) -> Iterator[Merge]:
        """A transaction that is never committed: for what has to be computed in tables on a disk that takes nothing."""
        with self._turn, sqlite_errors_as_problems(self.file):
            _refuse_nested(self._connection, self.schema.name)
            self._connection.execute("begin immediate").fetchall()
            try:
                self._open = self._begun(now, None)
                yield self._open
            finally:
                self._open = None
                self._rollback()

    def try_disk(self) -> None:
        """Read from the file and write to it; nothing is changed. Raises `Problem` if the disk does not do its part."""
        with self._turn, sqlite_errors_as_problems(self.file):
            try:
                self._connection.execute("pragma shrink_memory").fetchall()
                self._connection.execute("begin immediate").fetchall()
                self._connection.execute("update state set n = n").fetchall()
                self._connection.execute("commit").fetchall()
            finally:
                self._rollback()

    def _begun(self, now: int, precedence: int | None) -> Merge:
        schema = self._in_force.at(self._connection)
        if precedence is None:
            return Merge(schema, self._connection, self._mint, now, self._hosts)
        return Transaction(schema, self._connection, self._mint, now, precedence, self._hosts)

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback").fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reader]:
        """A read transaction: everything read in it belongs to one moment. Within a write transaction of this
        thread it is that one, and sees what was written so far."""
        with self._turn, sqlite_errors_as_problems(self.file):
            if self._open is not None:
                yield self._open
            elif self._connection.in_transaction:
                yield Reader(self.schema, self._connection, self._hosts)
            else:
                self._connection.execute("begin").fetchall()
                try:
                    yield Reader(self._in_force.at(self._connection), self._connection, self._hosts)
                finally:
                    self._rollback()

    def snapshot(self, *, cache_kib: int | None = None) -> Snapshot:
        """The store at one moment, held on a separate connection until closed; writers go on meanwhile. `cache_kib` is
        for who reads all of it once: SQLite keeps no more than that of what was read."""
        try:
            connection = self._resting.pop()
        except IndexError:
            connection = connect(self.file, vfs=self._vfs)
        try:
            if cache_kib is not None:
                bound_cache(connection, cache_kib)
            rest = self._rest if cache_kib is None else self._rest_unbounded
            with sqlite_errors_as_problems(self.file):
                connection.execute("begin").fetchall()
                schema = self._in_force.at(connection)  # the moment is that of this read, not of `begin`
            return Snapshot(schema, connection, self.file, rest, self._hosts)
        except BaseException:
            connection.close()
            raise

    def copy_to(self, file: Path) -> bytes:
        """Write this store's present moment into a new file, while others write; returns the digest of that moment.

        The new file says of itself that it is a copy (COPY-940)."""
        with (
            sqlite_errors_as_problems(self.file),
            self._copied_from() as source,
            closing(apsw.Connection(str(file))) as target,
        ):
            ((digest,),) = source.execute("select digest from state").fetchall()
            with target.backup("main", source, "main") as copying:
                copying.step()
            target.execute("update state set file_identity = ?", (COPY,)).fetchall()
            return bytes(digest)  # type: ignore[arg-type]

    @contextmanager
    def _copied_from(self) -> Iterator[apsw.Connection]:
        """A connection in a read transaction, of its own; on a full disk this one, which holds the file alone then
        (STORE-80): another one would wait for it in vain."""
        with self._turn:
            if self._connection.pragma("locking_mode") == "exclusive":
                self._connection.execute("begin").fetchall()
                try:
                    yield self._connection
                finally:
                    self._rollback()
                return
        with closing(connect(self.file, vfs=self._vfs)) as connection:
            connection.execute("begin").fetchall()
            yield connection

    def _rest(self, connection: apsw.Connection) -> None:
        """Keep the connection of a snapshot that was closed for the next one: every live update takes one of each
        store, and opening it costs more than the update. If a large round has filled its cache, it is closed. So it is
        if SQLite has ended its transaction, as it does after an I/O error (STORE-941)."""
        filled, _ = connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)
        if self._closed or self._resting or filled > RESTING_BYTES or not connection.in_transaction:
            connection.close()
            return
        connection.execute("rollback").fetchall()
        self._resting.append(connection)

    def _rest_unbounded(self, connection: apsw.Connection) -> None:
        bound_cache(connection)
        self._rest(connection)

    def log(self) -> tuple[int, int] | None:
        """Size and time of the log, of which something may not be in the file yet; None if it is empty."""
        with contextlib.suppress(FileNotFoundError):
            found = self.file.with_name(f"{self.file.name}-wal").stat()
            if found.st_size:
                return found.st_size, found.st_mtime_ns
        return None

    def carry_over(self) -> bool:
        """Write the log over into the file and empty it, so that the file alone holds everything (STORE-680). Waits for
        nobody: False if another connection reads or writes just now, and then some of the log may stay."""
        with self._turn, sqlite_errors_as_problems(self.file):
            if self._connection.in_transaction or self._connection.pragma("locking_mode") == "exclusive":
                return False
            self._connection.set_busy_timeout(0)
            try:
                ((busy, _, _),) = self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            finally:
                self._connection.set_busy_timeout(BUSY_MILLIS)
        return not busy

    # -- one-line reads

    def read(self, entity_id: str) -> Entity | None:
        with self.reading() as reader:
            return reader.entity(entity_id)

    def changes(self) -> int:
        """A number that differs after every commit of another connection or process."""
        with self._turn:
            return int(self._connection.pragma("data_version"))


def _refuse_nested(connection: apsw.Connection, name: str) -> None:
    """Other threads wait for their turn; this one would wait for itself."""
    if connection.in_transaction:
        raise Problem(
            "nested",
            "{name} is being read or written in this thread already, and a write cannot begin within that. End the "
            "other block first",
            name=name,
        )


def _close(connection: apsw.Connection) -> None:
    """Also where the disk fails. What the log holds stays in it, and goes into the file later (STORE-943)."""
    with contextlib.suppress(apsw.IOError, apsw.FullError):
        connection.close()
