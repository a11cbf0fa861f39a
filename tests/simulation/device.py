"""A device of the simulation: its real stores in a folder, and beside each what the oracle has seen it show."""

import contextlib
import shutil
from collections.abc import Callable, Container, Iterable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import apsw
from tests.simulation.reference import DELETED_AT, Found, Reference, Registers, Shown

from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import canonical, entity
from lottisync.entities.agent import AGENT_STORE
from lottisync.entities.journal import JOURNAL
from lottisync.entities.schema import StoreSchema
from lottisync.entities.space import SPACE
from lottisync.protocol.message import Summary
from lottisync.store import chain
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.sync.inventory import own_summary

SCHEMAS: dict[str, StoreSchema] = {"space": SPACE, "journal": JOURNAL, "agent": AGENT_STORE}
Mint = Callable[[], Host]


class Crashed(Exception):
    """The program dies here."""


def memory() -> str | None:
    """A RAM disk, if there is one: nothing here is about disks."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@cache
def prepared() -> Path:
    """Empty stores of devices 0 to 9, made once and copied from then on. Lives as long as the process."""
    folder = Path(mkdtemp(prefix="lottisync-prepared-", dir=memory()))
    for number in range(MAX_DEVICES):
        (folder / str(number)).mkdir()
        for index, (name, schema) in enumerate(SCHEMAS.items()):
            host = Host(f"{number + 1:08x}{index + 1:08x}")
            Store.create(folder / str(number) / f"{name}.sqlite", schema, lambda host=host: host).close()  # type: ignore[misc]
    return folder


def forget_prepared() -> None:
    if prepared.cache_info().currsize:
        shutil.rmtree(prepared(), ignore_errors=True)
        prepared.cache_clear()


MAX_DEVICES = 10


class Kept:
    """One store of a device with what the oracle knows of it. `seen`: entity id -> the writes that it has ever held
    or that the authors of those had seen. `looks`: what somebody has read and not yet written upon."""

    def __init__(self, name: str, store: Store, seen: dict[str, frozenset[int]], feed: int) -> None:
        self.name, self.store = name, store
        self.seen, self.feed = seen, feed
        self.looks: dict[str, tuple[Clock, frozenset[int]]] = {}
        self.nodes = 0
        self.summary: Summary | None = None
        self._changes = -1

    def changed(self) -> bool:
        """Whether anything was written since this was asked last."""
        now = self.store._connection.total_changes()
        before, self._changes = self._changes, now
        return now != before

    def observe(
        self,
        reference: Reference,
        links: dict[bytes, tuple[str, str, tuple[int, ...]]],
        spared: Container[tuple[str, str]],
    ) -> None:
        """Note what is shown now that was not before."""
        with self.store.reading() as reader:
            for change in reader.changes(self.feed, 1_000_000):
                self.feed = max(self.feed, change.feed)
                if (self.name, change.id) in spared:
                    continue
                registers = shown(reader, change.id)
                seen = reference.seen((self.name, change.id), registers)
                self.seen[change.id] = self.seen.get(change.id, frozenset()) | seen
                if _revived(reader, change.id, links):
                    reference.revived |= self.seen[change.id]
            nodes = len(chain.nodes(reader))
            if nodes != self.nodes:  # what was read under old names would not say any more what was seen
                self.nodes = nodes
                self.looks.clear()
            self.summary = own_summary(reader)

    def found(self, entity_id: str) -> Found | None:
        with self.store.reading() as reader:
            held = reader.entity(entity_id)
            if held is None:
                return None
            return Found(shown(reader, entity_id), entity.is_deleted(held), entity.has_unseen_edit(held))


def shown(reader: Reader, entity_id: str) -> Registers:
    """What an entity shows, in the oracle's terms."""
    held = reader.entity(entity_id)
    if held is None:
        return {}
    return {path: tuple(_shown(path, write) for write in writes) for path, writes in held.registers.items()}


def _shown(path: str, write: entity.Write) -> Shown:
    value: Any = canonical.decode(write.value)
    precedence, millis, ticks = write.stamp[:3]
    if path == DELETED_AT and isinstance(value, dict):
        return Shown(precedence, millis, ticks, value["at"], deletion=True)
    return Shown(precedence, millis, ticks, write.value.decode())


def _revived(reader: Reader, entity_id: str, links: dict[bytes, tuple[str, str, tuple[int, ...]]]) -> bool:
    """Whether something here stands under a name that no writer has given: it was written anew over what
    was forgotten."""
    held = reader.entity(entity_id)
    dots: set[Dot] = {w.stamp.dot for writes in held.registers.values() for w in writes} if held else set()
    return any(chain.value_at(reader, host, counter) not in links for host, counter in dots)


class Device:
    def __init__(self, slot: int, name: str, folder: Path, kept: dict[str, Kept], roster: dict[str, tuple[int, bool]]):
        self.slot, self.name, self.folder = slot, name, folder
        self.kept = kept
        self.roster = roster
        """Whom this device takes for one of the person's: name -> (how often that changed, whether it is active)."""
        self.skew = 0
        self.dies_in: int | None = None
        for one in kept.values():
            one.store._connection.set_commit_hook(self._commit)

    @staticmethod
    def new(slot: int, folder: Path, stores: Iterable[str], mint: Mint) -> "Device":
        folder.mkdir()
        source = prepared() / str(slot)
        for name in stores:
            shutil.copyfile(source / f"{name}.sqlite", folder / f"{name}.sqlite")
        return Device.at(slot, f"{slot:064x}", folder, {name: ({}, 0) for name in stores}, {}, mint)

    @staticmethod
    def at(
        slot: int,
        name: str,
        folder: Path,
        seen: dict[str, tuple[dict[str, frozenset[int]], int]],
        roster: dict[str, tuple[int, bool]],
        mint: Mint,
    ) -> "Device":
        """Open what lies in a folder. That it is a copy is not looked for: it is what the chains have to find."""
        kept = {
            store: Kept(store, Store.open(folder / f"{store}.sqlite", SCHEMAS[store], mint, detect="late"), *known)
            for store, known in seen.items()
        }
        return Device(slot, name, folder, kept, {**roster, name: roster.get(name, (1, True))})

    def _commit(self) -> bool:
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise Crashed
        return False

    @property
    def dead(self) -> bool:
        return self.dies_in is not None and self.dies_in < 0

    @property
    def stores(self) -> dict[str, Store]:
        return {name: kept.store for name, kept in self.kept.items()}

    def known(self) -> dict[str, tuple[dict[str, frozenset[int]], int]]:
        return {name: (dict(kept.seen), kept.feed) for name, kept in self.kept.items()}

    def copy(self, folder: Path) -> None:
        """All files as they are now."""
        folder.mkdir()
        for file in self.folder.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copyfile(file, folder / file.name)

    def active(self) -> list[str]:
        """Whom a purge has to wait for."""
        return [name for name, (_, active) in self.roster.items() if active and name != self.name]

    def close(self) -> None:
        for kept in self.kept.values():
            with contextlib.suppress(apsw.Error):
                kept.store._connection.set_commit_hook(None)
                kept.store.close()
