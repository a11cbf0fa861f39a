"""The disk of one device, and what is on it when the power comes back: all that was synced, and of the rest nothing,
the first of it, or any of it, torn at the edges of sectors (`tests.support.fault_vfs`).

Or it is a disk that lies: it says that it has synced, keeps the order of the writes, and loses the last of them. Then
the stores are back at an earlier moment, all at the same one ("back") or each at its own ("apart"), though everybody
may have seen what is gone."""

import contextlib
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

import apsw
from tests.simulation.pool import SCHEMAS, Contents, Mint, blank, fill, folder
from tests.support import sqlite
from tests.support.fault_vfs import FaultVfs

from lottisync.store.store import Store

CHECKPOINT_PAGES = 20
"""So that a few commits reach the file itself."""
MAX_LOST_SYNCS = 12
"""A commit is one sync, or a few where the log is carried over: some commits."""
Survives = Literal["none", "prefix", "any", "back", "apart"]
_names = count(1)


class Disk:
    def __init__(self, where: Path) -> None:
        self._folder = where
        self._name = f"power-{next(_names)}"
        self._vfs = FaultVfs(self._name, "power", 0)
        self._stores: list[Store] = []

    @staticmethod
    def new() -> "Disk":
        return Disk(Path(mkdtemp(dir=folder())))

    def make(self, name: str, contents: Contents, mint: Mint) -> Store:
        """A new store that holds just that."""
        (self._folder / f"{name}.sqlite").write_bytes(blank(name))
        store = self.open(name, mint)
        fill(sqlite.connection(store), contents)
        self._vfs.begin()
        return store

    def open(self, name: str, mint: Mint) -> Store:
        file = self._folder / f"{name}.sqlite"
        store = Store.open(file, SCHEMAS[name], mint, vfs=self._name, detect="late")
        sqlite.connection(store).execute(f"pragma wal_autocheckpoint={CHECKPOINT_PAGES}").fetchall()
        self._stores.append(store)
        return store

    def fail_in(self, operations: int) -> None:
        """The power goes at that operation from now on that changes a file; 0: at once."""
        self._vfs.at = self._vfs.operations + operations
        self._vfs.dead = operations == 0

    def hold(self) -> None:
        """It does not fail any more."""
        self._vfs.at = 0

    @property
    def dead(self) -> bool:
        return self._vfs.dead

    def restored(self, survives: Survives, chance: int) -> "Disk":
        """The power is back."""
        self._vfs.dead = True  # nothing may be written by closing
        self.close()
        where = Path(mkdtemp(dir=folder()))
        if survives == "back" or survives == "apart":
            self._vfs.crash_unsynced(where, MAX_LOST_SYNCS, chance, together=survives == "back")
        else:
            self._vfs.crash(where, survives, chance)
        return Disk(where)

    def close(self) -> None:
        for store in self._stores:
            with contextlib.suppress(apsw.Error):
                sqlite.connection(store).set_commit_hook(None)
                store.close()
        self._vfs.unregister()
