"""A device of the simulation: its real stores, and beside each what the oracle has seen it show."""

from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from tests.simulation.pool import Contents, contents_of, empty, pool
from tests.simulation.power import Disk, Survives
from tests.simulation.reference import DELETED_AT, Found, Reference, Registers, Shown
from tests.support import sqlite

from lottisync.causality.chain import VALUE_BYTES
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.device import device
from lottisync.device.clock import Environment
from lottisync.device.membership import Strangers
from lottisync.entities import canonical, entity
from lottisync.entities.registers import Write
from lottisync.identity.device_key import DeviceKey
from lottisync.protocol.message import Summary
from lottisync.store import chain
from lottisync.store.forgetting import acknowledged
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.sync.local_state import LocalState

ByValue = Mapping[bytes, tuple[str, str, tuple[int, ...]]]
"""A chain's value -> the store, the entity and the writes that it stands for."""


def _no_key() -> DeviceKey:
    raise AssertionError("a device of the simulation signs nothing")


class _Strangers(Strangers):
    """By what the world has made, and not by a roster."""

    def __init__(self, owned: Container[Host]) -> None:
        self._of_devices = owned

    def among(self, tx: Merge, hosts: Iterable[Host]) -> Host | None:
        owned = self._of_devices
        return next((host for host in hosts if host not in owned and chain.root(tx, host) not in owned), None)


class Crashed(Exception):
    """The program dies here."""


class Kept:
    """One store of a device with what the oracle knows of it. `seen`: entity id -> the writes that it has ever held
    or that the authors of those had seen. `looks`: what somebody has read and not yet written upon."""

    def __init__(self, name: str, store: Store, seen: dict[str, frozenset[int]], feed: int) -> None:
        self.name, self.store = name, store
        self.seen, self.feed = seen, feed
        self.looks: dict[str, tuple[Clock, frozenset[int]]] = {}
        self.nodes: list[bytes] = []
        self.chains: dict[Host, tuple[int, list[bytes]]] = {}
        self.summary: Summary | None = None
        self.knowledge: Knowledge = {}
        self.acknowledged: dict[str, Knowledge] = {}
        self.roots: dict[Host, Host] = {}
        self.millis = 0
        self._changes = -1

    @property
    def all_seen(self) -> frozenset[int]:
        return frozenset().union(*self.seen.values())

    def changed(self) -> bool:
        """Whether anything was written since this was asked last."""
        now = sqlite.connection(self.store).total_changes()
        before, self._changes = self._changes, now
        return now != before

    def observe(self, reference: Reference, written: ByValue, spared: Container[tuple[str, str]]) -> None:
        """Note what is shown now that was not before, and what the store says of itself."""
        with self.store.reading() as reader:
            said = LocalState(reader)
            self.summary, nodes = said.summary, sorted(said.nodes)
            self.knowledge = {host: known for host, known in said.knowledge.items() if known}
            self.chains = _chains(reader)
            for change in reader.changes(self.feed, 1_000_000):
                self.feed = max(self.feed, change.feed)
                if (self.name, change.id) in spared:
                    continue
                held = reader.entity(change.id)
                seen = reference.seen((self.name, change.id), _registers(held))
                self.seen[change.id] = self.seen.get(change.id, frozenset()) | seen
                if self._is_revived(held, written):
                    reference.revived |= self.seen[change.id]
            self.acknowledged = acknowledged(reader)
            self.roots = chain.roots(reader) if nodes else {}
            self.millis = int(reader.local("select millis from state")[0][0])
        if nodes != self.nodes:  # what was read under old names would not say any more what was seen
            self.nodes = nodes
            self.looks.clear()

    def _is_revived(self, held: entity.Entity | None, written: ByValue) -> bool:
        """Whether something stands under a name that no writer has given: it was written again over what was
        forgotten."""
        for host, counter in {w.stamp.dot for writes in held.registers.values() for w in writes} if held else ():
            first, values = self.chains.get(host, (1, []))
            if not first <= counter < first + len(values) or values[counter - first] not in written:
                return True
        return False

    def found(self, entity_id: str) -> Found | None:
        with self.store.reading() as reader:
            held = reader.entity(entity_id)
            if held is None:
                return None
            return Found(_registers(held), entity.is_deleted(held), entity.has_unseen_edit(held))


def _chains(reader: Reader) -> dict[Host, tuple[int, list[bytes]]]:
    """For each host the first counter of its chain, and the values from there on."""
    found: dict[Host, tuple[int, list[bytes]]] = {}
    for host, first, segment in reader.local(
        "select h.host, c.first, c.segment from chain c join hosts h on h.n = c.host order by c.host, c.first"
    ):
        values = [segment[at : at + VALUE_BYTES] for at in range(0, len(segment), VALUE_BYTES)]
        found.setdefault(host, (first, []))[1].extend(values)
    return found


def _registers(held: entity.Entity | None) -> Registers:
    """What an entity shows, in the oracle's terms."""
    if held is None:
        return {}
    return {path: tuple(_shown(path, write) for write in writes) for path, writes in held.registers.items()}


def _shown(path: str, write: Write) -> Shown:
    value: Any = canonical.decode(write.value)
    precedence, millis, ticks = write.stamp[:3]
    if path == DELETED_AT and isinstance(value, dict):
        return Shown(precedence, millis, ticks, value["at"], deletion=True)
    return Shown(precedence, millis, ticks, write.value.decode())


class Device(device.Device):
    """Its stores are what it keeps, its clock is the world's with a `skew` of its own. It signs nothing: its id is not
    the digest of a key but a number, so that a schedule has the same traces always."""

    def __init__(
        self,
        slot: int,
        id: str,
        kept: dict[str, Kept],
        household: dict[str, tuple[int, bool]],
        environment: Environment,
    ) -> None:
        super().__init__({name: one.store for name, one in kept.items()}, _no_key, environment)
        self.slot, self._id = slot, id
        self.kept = kept
        self.household = {**household, id: household.get(id, (1, True))}
        """Whom this device takes for one of the person's: id -> (how often that changed, whether it is active)."""
        self.owned: Container[Host] = ()
        """The hosts that belong to devices of this person, as the world has made them."""
        self.skew = 0
        self.dies_in: int | None = None
        self.disk: Disk | None = None
        self.survives: tuple[Survives, int] = ("none", 0)
        for one in kept.values():
            sqlite.connection(one.store).set_commit_hook(self._commit)

    @staticmethod
    def new(slot: int, stores: Iterable[str], environment: Environment, *, on_disk: bool = False) -> "Device":
        if on_disk:
            disk = Disk.new()
            kept = {
                store: Kept(store, disk.make(store, empty(store, slot), environment.new_host), {}, 0)
                for store in stores
            }
            made = Device(slot, f"{slot:064x}", kept, {}, environment)
            made.disk = disk
            return made
        holding = {store: Holding(empty(store, slot), {}, 0) for store in stores}
        return Image(slot, f"{slot:064x}", holding, {}).live(slot, environment)

    @property
    def id(self) -> str:
        return self._id

    def strangers(self) -> Strangers:
        return _Strangers(self.owned)

    def now(self) -> int:
        """What its clock says (ms)."""
        return self.environment.now() + self.skew

    def _commit(self) -> bool:
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise Crashed
        return False

    @property
    def dead(self) -> bool:
        return (self.dies_in is not None and self.dies_in < 0) or (self.disk is not None and self.disk.dead)

    @property
    def went_back(self) -> bool:
        """Whether its disk lost what it had said to have synced, when the power was cut."""
        return self.survives[0] in ("back", "apart")

    def image(self) -> "Image":
        """All that it holds now."""
        holding = {
            name: Holding(contents_of(kept.store), dict(kept.seen), kept.feed) for name, kept in self.kept.items()
        }
        return Image(self.slot, self.id, holding, dict(self.household))

    def again(self, environment: Environment) -> "Device":
        """The same after its program has died and was started again."""
        kept = {
            name: Kept(name, pool().again(one.store, environment.new_host), one.seen, one.feed)
            for name, one in self.kept.items()
        }
        reopened = Device(self.slot, self.id, kept, self.household, environment)
        reopened.skew = self.skew
        return reopened

    def with_one_restored(self, name: str, held: "Holding", environment: Environment) -> "Device":
        """The same after one of its stores was put back to what it held once."""
        again = self.again(environment)
        pool().give_back(again.kept[name].store)
        kept = again.kept | {
            name: Kept(name, pool().take(name, held.contents, environment.new_host), dict(held.seen), held.feed)
        }
        restored = Device(self.slot, self.id, kept, self.household, environment)
        restored.skew = self.skew
        return restored

    def powered_on(self, environment: Environment) -> "Device":
        """The same after its power was cut and came back. What a store has seen that may be back at an earlier moment
        is found out from what it shows."""
        assert self.disk is not None, "only what lies on a disk loses power"
        disk = self.disk.restored(*self.survives)
        kept = {
            name: Kept(
                name, disk.open(name, environment.new_host), *(({}, 0) if self.went_back else (one.seen, one.feed))
            )
            for name, one in self.kept.items()
        }
        again = Device(self.slot, self.id, kept, self.household, environment)
        again.skew, again.disk = self.skew, disk
        return again

    def signs_in(self, other: "Device") -> None:
        """The two tell each other of all devices; a device that is used again signs itself back in."""
        roster = {
            name: max(self.household.get(name, (0, True)), other.household.get(name, (0, True)))
            for name in self.household | other.household
        }
        for one in (self, other):
            version, active = roster[one.id]
            if not active:
                roster[one.id] = (version + 1, True)
        self.household, other.household = dict(roster), dict(roster)

    def is_in_step_with(self, other: "Device") -> bool:
        """Whether they hold the same, and each has heard all that the other has, that included."""
        return all(
            kept.summary == other.kept[name].summary
            and {**kept.acknowledged, self.id: kept.knowledge}
            == {**other.kept[name].acknowledged, other.id: kept.knowledge}
            for name, kept in self.kept.items()
        )

    def active(self) -> list[str]:
        """Whom a purge has to wait for."""
        return [name for name, (_, active) in self.household.items() if active and name != self.id]

    def close(self) -> None:
        if self.disk is not None:
            self.disk.close()
            return
        for kept in self.kept.values():
            pool().give_back(kept.store)


class Holding(NamedTuple):
    """What a store held, and what the oracle had seen in it, up to which place of its feed."""

    contents: Contents
    seen: dict[str, frozenset[int]]
    feed: int


class Image(NamedTuple):
    """A device as it was at some moment: a backup of it, or a copy."""

    slot: int
    id: str
    holding: dict[str, Holding]
    household: dict[str, tuple[int, bool]]

    def live(self, slot: int, environment: Environment) -> Device:
        """A device that goes on from here, in place of another one or beside it."""
        kept = {
            name: Kept(name, pool().take(name, held.contents, environment.new_host), dict(held.seen), held.feed)
            for name, held in self.holding.items()
        }
        return Device(slot, self.id, kept, dict(self.household), environment)
