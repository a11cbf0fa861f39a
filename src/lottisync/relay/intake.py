"""What this device's stores can take of the relay's messages, and taking it (docs/specs/19-relay.md, section 5).

A message is taken store by store, in the order of delivery. What a store cannot take yet is not kept here: it waits in
the relay, and is read again later.
"""

from collections.abc import Iterable

from lottisync.causality import vector_clock
from lottisync.device.device import Device
from lottisync.relay import content, taking
from lottisync.relay.board import Board, BoardEntry
from lottisync.relay.circle import Circle
from lottisync.relay.content import Ahead, Extent, Segment
from lottisync.relay.event import Event, Split, Taken
from lottisync.relay.header import Kind
from lottisync.relay.taking import Taking
from lottisync.store import fork
from lottisync.sync.incoming import Outdated
from lottisync.sync.local_state import LocalState


class Intake:
    """`events` takes what happens."""

    def __init__(self, device: Device, circle: Circle, board: Board, events: list[Event]) -> None:
        self._device, self._circle, self._board, self._events = device, circle, board, events
        self._strangers = device.strangers()

    # -- what can be taken

    def untaken(self, kind: Kind) -> list[BoardEntry]:
        """Entries of members with something that is not here, in order."""
        board, members = self._board, self._circle.members
        found = [
            entry
            for entry in board.entries.values()
            if entry.kind is kind and entry.device in members and entry.extents.keys() - entry.taken
        ]
        return sorted(found, key=lambda entry: entry.name)

    def note_what_is_here(self, entry: BoardEntry) -> None:
        """Count a segment as taken if all of it came here in another way."""
        for store, extent in entry.extents.items():
            with self._device.stores[store].reading() as reader:
                if taking.is_here(extent, reader):
                    entry.taken.add(store)

    def could_take(self, entry: BoardEntry) -> bool:
        """Whether the first store of it that is not here could be taken now."""
        store = next((store for store in entry.extents if store not in entry.taken), None)
        if store is None:
            return False
        order = [*self._device.stores]
        earlier = order[: order.index(store)]
        if not self._are_here(one for one in entry.ahead if one.store in earlier):
            return False
        with self._device.stores[store].reading() as reader:
            return taking.obstacle(entry.extents[store], LocalState(reader)) is None

    def _are_here(self, ahead: Iterable[Ahead]) -> bool:
        """Whether this device has all that the sender knew of these stores (RELAY-14)."""
        for one in ahead:
            with self._device.stores[one.store].reading() as reader:
                if fork.nodes(reader) != set(one.nodes):
                    return False
                if not vector_clock.covers(reader.knowledge(), one.knowledge):
                    return False
        return True

    # -- taking it

    def take_envelope(self, entry: BoardEntry, envelope: content.Envelope, now: int) -> bool:
        """Take what can be taken, store by store, and stop at the first that cannot. False if a store refused its
        segment: reading the message again before the relay is looked at again would not help."""
        self.note_what_is_here(entry)
        for segment in envelope.segments:
            store = segment.extent.store
            if store in entry.extents and store not in entry.taken:
                if not self.could_take(entry):
                    return True
                if not self._take_segment(entry, segment, now):
                    return False
        return True

    def _take_segment(self, entry: BoardEntry, segment: Segment, now: int) -> bool:
        extent = segment.extent
        try:
            with self._device.stores[extent.store].transaction(now, None) as tx:
                node = taking.take_whole(extent, segment.parts, tx, self._strangers)
        except Outdated:
            self._note_parted(extent)
            return False
        return self._joined(entry, extent.store, node)

    def take_frame(
        self, entry: BoardEntry, store: str, begun: Taking | None, frame: content.Frame, now: int, *, last: bool
    ) -> Taking | None:
        """Take one frame of a snapshot. `begun` is what the call before it gave back for this store, None for the
        store's first frame. None if the store cannot take it; `entry.taken` says when the store has all."""
        try:
            with self._device.stores[store].transaction(now, None) as tx:
                part = begun if begun is not None else Taking(entry.extents[store], tx, self._strangers)
                node = part.take(tx, frame.parts)
                if node is None and last:
                    part.end(tx)
        except Outdated:
            self._note_parted(entry.extents[store])
            return None
        if (node is not None or last) and not self._joined(entry, store, node):
            return None
        return part

    def _note_parted(self, extent: Extent) -> None:
        """Note that a store has parted from a copy: nothing is missing, and the chains do not fit. This device
        publishes its own chain from the beginning, and the other device finds where they part."""
        with self._device.stores[extent.store].reading() as reader:
            if taking.obstacle(extent, LocalState(reader)) is None:
                self._board.parted.add(extent.store)

    def _joined(self, entry: BoardEntry, store: str, node: bytes | None) -> bool:
        if node is not None:
            self._events.append(Split(store))
            return False
        self._events.append(Taken(store, entry.device))
        if store == "space":
            self._circle.load()
        entry.taken.add(store)
        return True
