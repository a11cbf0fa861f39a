"""What lies in the relay, as far as this device has seen and taken it (docs/specs/19-relay.md, section 6).

The *base* of a store is what a reader who begins with nothing could take of it. It is computed from what the last look
at the relay showed, and never from what this device knows, has heard over a connection, or has put there at some time:
the relay may have lost it. What the base lacks is published. That is the only repair, so a lost message, an expired
lane, a wiped relay and a new one are the same case.
"""

from collections.abc import Iterable, Mapping, Set

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Host
from lottisync.relay.content import Ahead, Envelope, Extent, Manifest
from lottisync.relay.header import Kind, Name, Parts
from lottisync.relay.taking import knowledge_of
from lottisync.sync.local_state import HeldDot

SNAPSHOT_LIFE = 45 * 24 * 3_600_000
"""Milliseconds for which a snapshot is relied on: half of the time after which a relay forgets it."""


Nodes = Mapping[str, Set[bytes]]
"""The fork nodes of each store that is here."""


class BoardEntry(msgspec.Struct):
    """An envelope or a manifest that was opened. `taken` are the stores whose segments are here."""

    name: Name
    kind: Kind
    device: str
    hash: bytes
    size: int
    extents: dict[str, Extent]
    ahead: list[Ahead]
    hashes: dict[str, list[bytes]]
    snapshot: int
    at: int
    epoch: bytes
    taken: set[str]

    @classmethod
    def of_envelope(
        cls, name: Name, parts: Parts, device: str, size: int, envelope: Envelope, stores: Iterable[str]
    ) -> "BoardEntry":
        """An envelope of which nothing is taken yet. `stores` are those that are here, in their order."""
        extents = {segment.extent.store: segment.extent for segment in envelope.segments}
        return cls(
            name, Kind.ENVELOPE, device, parts.hash, size, _in_order(extents, stores), envelope.ahead, {}, 0, 0,
            parts.header.epoch, set(),
        )  # fmt: skip

    @classmethod
    def of_manifest(
        cls, name: Name, parts: Parts, device: str, manifest: Manifest, stores: Iterable[str]
    ) -> "BoardEntry":
        """A snapshot of which nothing is taken yet."""
        extents = {one.extent.store: one.extent for one in manifest.stores}
        hashes = {one.extent.store: list(one.frames) for one in manifest.stores}
        return cls(
            name, Kind.MANIFEST, device, parts.hash, manifest.size, _in_order(extents, stores), [], hashes,
            manifest.snapshot, manifest.at, parts.header.epoch, set(),
        )  # fmt: skip

    def frames(self) -> list[Name]:
        """Where the frames of a snapshot lie, in their order."""
        count = sum(len(hashes) for hashes in self.hashes.values())
        return [Name(self.name.lane, f"snap.{self.snapshot}", number) for number in range(1, count + 1)]

    def recorded_under(self, nodes: Nodes) -> bool:
        """Whether all that it says is said under these fork nodes."""
        said = [
            *((store, extent.nodes) for store, extent in self.extents.items()),
            *((a.store, a.nodes) for a in self.ahead),
        ]
        return all(set(under) == nodes.get(store, set(under)) for store, under in said)

    def whole(self, present: Set[Name]) -> bool:
        """Whether all of it lies there."""
        return self.name in present and all(frame in present for frame in self.frames())


def _in_order(extents: dict[str, Extent], stores: Iterable[str]) -> dict[str, Extent]:
    return {store: extents[store] for store in stores if store in extents}


class Board:
    """`present` is what the relay showed last; `entries` what was opened, in logs. `parted`: the stores whose chain
    does not fit the one that another device publishes, because one of the two is a copy. The next publication has the
    whole chain of such a store, so that the other device finds where the two part. `left`: the lanes that this device
    has left, because another member had put messages there. What lies in them does not count as published, because
    some devices refuse it."""

    def __init__(self) -> None:
        self.present: set[Name] = set()
        self.parted: set[str] = set()
        self.left: set[bytes] = set()
        self._spoilt: set[Name] = set()
        self.entries: dict[Name, BoardEntry] = {}

    def show(self, names: Iterable[Name]) -> None:
        """Take these messages, and no others, to be in the relay now."""
        self.present = set(names)
        self._spoilt &= self.present
        self.entries = {name: entry for name, entry in self.entries.items() if name in self.present}

    def replaced(self, names: Set[Name]) -> None:
        """Another message now has this name. A frame is put into the relay once: this one may be read, but does not
        count any more."""
        self._spoilt |= {name for name in names if name.channel.startswith("snap.")}
        self.entries = {name: entry for name, entry in self.entries.items() if name not in names}

    def frame_hash(self, name: Name) -> bytes | None:
        """The hash that the manifest gives for a frame; None if no manifest here names the frame."""
        for entry in self.entries.values():
            if entry.name.lane == name.lane and name.channel == f"snap.{entry.snapshot}":
                hashes = [digest for several in entry.hashes.values() for digest in several]
                return hashes[name.number - 1] if name.number <= len(hashes) else None
        return None

    def gone(self, name: Name) -> None:
        """This message is no longer in the relay."""
        self.present.discard(name)
        self.entries.pop(name, None)

    def base(self, store: str, nodes: Nodes, forgotten: Clock, members: Set[str], now: int) -> dict[Host, int]:
        """What somebody who begins with nothing could take of a store; nothing, if that is behind what was forgotten
        here, or if the store has parted from a copy (RELAY-18, RELAY-19)."""
        if store in self.parted:
            return {}
        found: dict[Host, int] = {}
        waiting = [entry.extents[store] for entry in self._relied_on(store, nodes, members, now)]
        moved = True
        while moved:
            moved = False
            for extent in waiting:
                fits = vector_clock.covers(found, extent.base) and (
                    extent.whole or vector_clock.covers(found, extent.forgotten)
                )
                if fits and not vector_clock.covers(found, extent.knowledge):
                    found, moved = vector_clock.merge(found, extent.knowledge), True
        return found if vector_clock.covers(found, forgotten) else {}

    def held(self, store: str, nodes: Nodes, members: Set[str], now: int) -> set[HeldDot]:
        """The dots in the messages here that are beyond the knowledge of their senders."""
        return {dot for entry in self._relied_on(store, nodes, members, now) for dot in entry.extents[store].held}

    def _relied_on(self, store: str, nodes: Nodes, members: Set[str], now: int) -> list[BoardEntry]:
        """The messages with this store that count: said by a member, taken here, whole over there, and recorded under
        the fork nodes that are known here."""
        return [
            entry
            for entry in self.entries.values()
            if store in entry.taken
            and entry.device in members
            and entry.name.lane not in self.left
            and entry.whole(self.present - self._spoilt)
            and not _old(entry, now)
            and entry.recorded_under(nodes)
        ]

    def snapshots(self, members: Set[str], now: int) -> list[BoardEntry]:
        """The snapshots that may be relied on."""
        return [
            entry
            for entry in self.entries.values()
            if entry.kind is Kind.MANIFEST
            and entry.device in members
            and entry.name.lane not in self.left
            and entry.taken >= entry.extents.keys()
            and entry.whole(self.present - self._spoilt)
            and not _old(entry, now)
        ]

    def superseded(self, lane: bytes, members: Set[str], now: int) -> int:
        """The first message of this lane's log that has to stay: a snapshot has all messages before it. The last
        message of the log always stays, because the next one names its hash (RELAY-22, RELAY-23)."""
        own = sorted((e for e in self.entries.values() if e.name.lane == lane), key=lambda entry: entry.name.number)
        snapshots = self.snapshots(members, now)
        for entry in own[:-1]:
            if not any(_replaces(snapshot, entry) for snapshot in snapshots):
                return entry.name.number
        return own[-1].name.number if own else 1

    def has_holes(self) -> bool:
        """Whether a message between two others of a log is not there."""
        logs: dict[bytes, list[int]] = {}
        for name in self.present:
            if name.channel == "log":
                logs.setdefault(name.lane, []).append(name.number)
        return any(max(numbers) - min(numbers) >= len(numbers) for numbers in logs.values())

    def abandoned(self, lane: bytes) -> set[str]:
        """The channels of snapshots of this lane whose manifest is not there."""
        kept = {f"snap.{entry.snapshot}" for entry in self.entries.values() if entry.name.lane == lane}
        there = {name.channel for name in self.present if name.lane == lane and name.channel.startswith("snap.")}
        return there - kept


def _old(entry: BoardEntry, now: int) -> bool:
    return entry.kind is Kind.MANIFEST and now - entry.at > SNAPSHOT_LIFE


def _replaces(snapshot: BoardEntry, entry: BoardEntry) -> bool:
    """Whether an entry may go for a snapshot. A snapshot is replaced only by a greater one: otherwise two equal
    snapshots would each be deleted for the other."""
    if snapshot is entry:
        return False
    if _was_said_before(entry, snapshot):
        return True
    if not _covers(snapshot, entry):
        return False
    if entry.kind is Kind.ENVELOPE:
        return True
    return not _covers(entry, snapshot) or snapshot.name > entry.name


def _was_said_before(entry: BoardEntry, snapshot: BoardEntry) -> bool:
    """Whether the entry and the snapshot are of one device, and the device knew more fork nodes when it made the
    snapshot. The two name hosts differently, but the device had all that the entry says (RELAY-904)."""
    return (entry.name.lane, entry.device) == (snapshot.name.lane, snapshot.device) and (
        entry.name.number < snapshot.name.number
        and entry.extents.keys() <= snapshot.extents.keys()
        and all(set(extent.nodes) <= set(snapshot.extents[store].nodes) for store, extent in entry.extents.items())
        and any(set(extent.nodes) != set(snapshot.extents[store].nodes) for store, extent in entry.extents.items())
    )


def _covers(snapshot: BoardEntry, entry: BoardEntry) -> bool:
    return all(
        store in snapshot.extents and _covers_extent(snapshot.extents[store], extent)
        for store, extent in entry.extents.items()
    )


def _covers_extent(greater: Extent, extent: Extent) -> bool:
    known = knowledge_of(greater)
    return (
        set(greater.nodes) == set(extent.nodes)
        and vector_clock.covers(known, knowledge_of(extent))
        and vector_clock.covers(greater.forgotten, extent.forgotten)
        and all(dot[1] <= known.get(dot[0], 0) or dot in greater.held for dot in extent.held)
    )
