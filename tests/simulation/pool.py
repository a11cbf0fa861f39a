"""Open stores that are used again: opening one, and preparing its statements again, takes longer than all that a
schedule does with it.

The contents of a store are read and written as data (`Contents`), table by table. So a backup, a copy and a device
that is switched off cost nothing but their rows, and a store that was used is as empty as a new one."""

import contextlib
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import apsw
from tests.support import sqlite

from lottisync.causality.vector_clock import Host
from lottisync.daemon.stores import STORES
from lottisync.entities.schema import StoreSchema
from lottisync.store.database import connect
from lottisync.store.known_hosts import Latest
from lottisync.store.reader import Reader
from lottisync.store.store import Store

SCHEMAS: dict[str, StoreSchema] = {schema.name: schema for schema in STORES}
"""In the order of delivery."""
MAX_DEVICES = 10
CHECKPOINT_PAGES = 500
Mint = Callable[[], Host]
Contents = dict[str, list[tuple[Any, ...]]]
"""Table -> its rows."""
Keeper = apsw.Connection
"""A second connection to the file of a store, for what the simulation itself reads and writes of it. SQLite's prepared
statements are kept in a ring that each use turns by one: on the store's own connection those of the simulation, which
are used seldom, would have to be prepared again each time."""


def memory() -> str | None:
    """A RAM disk, if there is one: these tests do not test disks."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@cache
def folder() -> Path:
    """Where the files of all pools lie. Lives as long as the process that asked first, which has to `forget` it."""
    return Path(mkdtemp(prefix="lottisync-pool-", dir=memory()))


def forget() -> None:
    if folder.cache_info().currsize:
        _pool.cache_clear()
        shutil.rmtree(folder(), ignore_errors=True)
        folder.cache_clear()


def pool() -> "Pool":
    """This process's: a connection must not be taken over a fork."""
    return _pool(os.getpid())


@cache
def _pool(process: int) -> "Pool":
    return Pool(folder() / str(process))


def first_host(store: str, slot: int) -> Host:
    return Host(f"{slot + 1:08x}{list(SCHEMAS).index(store) + 1:08x}")


@cache
def empty(store: str, slot: int) -> Contents:
    """What a new store of a device holds."""
    where = Path(mkdtemp(dir=folder()))
    made = Store.create(where / f"{store}.sqlite", SCHEMAS[store], lambda: first_host(store, slot))
    contents = contents_of(made)
    made.close()
    return contents


@cache
def blank(name: str) -> bytes:
    """The file of a store, to be filled: to make one takes longer than to write it."""
    file = Path(mkdtemp(dir=folder())) / f"{name}.sqlite"
    Store.create(file, SCHEMAS[name], lambda: Host("0" * 16)).close()
    return file.read_bytes()


class Pool:
    def __init__(self, where: Path) -> None:
        where.mkdir()
        self._folder = where
        self._made = 0
        self._free: dict[str, list[Store]] = defaultdict(list)
        self._keepers: dict[Path, Keeper] = {}

    def take(self, name: str, contents: Contents, mint: Mint) -> Store:
        """A store that holds just that."""
        try:
            used = self._free[name].pop()
        except IndexError:
            used = self._open(name)
        fill(self._keepers[used.file], contents)
        return _around(used, mint)

    def keeper(self, store: Store) -> Keeper:
        """The store's own connection if it is not of this pool, since it lies on a disk that may fail."""
        return self._keepers.get(store.file, sqlite.connection(store))

    def again(self, store: Store, mint: Mint) -> Store:
        """The same store after its program has died. What was not committed is gone, and the old object can no
        longer be used."""
        opened = _around(store, mint)
        opened._rollback()
        _sever(store)
        return opened

    def _open(self, name: str) -> Store:
        """Open it without looking whether the file is a copy: the chains have to find that."""
        self._made += 1
        where = self._folder / str(self._made)
        where.mkdir()
        Store.create(where / f"{name}.sqlite", SCHEMAS[name], lambda: Host("0" * 16)).close()
        store = Store.open(where / f"{name}.sqlite", SCHEMAS[name], lambda: Host("0" * 16), detect="late")
        keeper = self._keepers[store.file] = connect(store.file)
        for connection in (sqlite.connection(store), keeper):
            connection.execute(f"pragma wal_autocheckpoint={CHECKPOINT_PAGES}").fetchall()
        return store

    def give_back(self, store: Store) -> None:
        """After this, the store can no longer be used."""
        self._free[store.schema.name].append(self.again(store, store._mint))


def _around(store: Store, mint: Mint) -> Store:
    """Another store on the same connections."""
    sqlite.connection(store).set_commit_hook(None)
    opened = Store(store.file, store.schema, sqlite.connection(store), mint)
    opened._resting = store._resting
    return opened


def _sever(store: Store) -> None:
    store._connection = _closed()


@cache
def _closed() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.close()
    return connection


def contents_of(store: Store) -> Contents:
    """What was committed in a store."""
    keeper = pool().keeper(store)
    return {table: keeper.execute(f"select * from {table}").fetchall() for table in _tables(store.schema.name)}


@contextlib.contextmanager
def looking_through(store: Store) -> Iterator[Reader]:
    """What was committed in a store, to look through all of it."""
    keeper = pool().keeper(store)
    keeper.execute("begin").fetchall()
    try:
        yield Reader(store.schema, keeper, Latest())
    finally:
        keeper.execute("rollback").fetchall()


@cache
def _tables(name: str) -> tuple[str, ...]:
    where = Path(mkdtemp(dir=folder()))
    made = Store.create(where / f"{name}.sqlite", SCHEMAS[name], lambda: Host("0" * 16))
    rows = sqlite.connection(made).execute("select name from sqlite_schema where type = 'table'").fetchall()
    made.close()
    return tuple(str(table) for (table,) in rows)


def fill(connection: apsw.Connection, contents: Contents) -> None:
    """Replace all that a store holds by these contents."""
    connection.execute("begin immediate").fetchall()
    for table, rows in contents.items():
        connection.execute(f"delete from {table}").fetchall()
        if rows:
            connection.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows).fetchall()
    connection.execute("commit").fetchall()
