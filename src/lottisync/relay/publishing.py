"""What a device puts into a relay next (docs/specs/19-relay.md, sections 6 and 7).

It publishes what the relay lacks, also of what others wrote: in one message of its log if that is enough, else as a
snapshot. Keys come before what is sealed under them.
"""

from contextlib import ExitStack
from typing import NamedTuple

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock
from lottisync.device.device import Device
from lottisync.relay import content
from lottisync.relay.board import Board, BoardEntry, Nodes
from lottisync.relay.circle import Circle
from lottisync.relay.content import Ahead, Part
from lottisync.relay.deletion import Purge, purges
from lottisync.relay.header import Kind, Name, parts_of
from lottisync.relay.keyring import Chance, EpochKeyring
from lottisync.relay.lane import Lane, Publication
from lottisync.relay.own_state import OwnState
from lottisync.relay.receiving import RelayReader
from lottisync.relay.recording import MAX_HELD, PART_BYTES, Recording, size_of
from lottisync.relay.snapshot_out import SnapshotOut, moments
from lottisync.store import chain, fork
from lottisync.store.snapshot import Snapshot
from lottisync.sync.local_state import LocalState

OTHERS_SECONDS = 10
"""What others wrote is published after this time, and a random part of twice as long, if it still lacks: most often its
own device does so meanwhile."""
SNAPSHOT_BYTES = 256 * 1024
"""Bytes of the own log, at least, before a snapshot replaces it."""


class _News(NamedTuple):
    """What the relay lacks of a store: from where on, and whether own writes are among it."""

    base: Clock
    own: bool


class Publishing:
    """Which message comes next: a kept one, a frame, keys, news, or this device's state."""

    def __init__(
        self, device: Device, space: bytes, lane: Lane, circle: Circle, keyring: EpochKeyring, board: Board,
        receiving: RelayReader, chance: Chance,
    ) -> None:  # fmt: skip
        self._device, self._space, self.lane = device, space, lane
        self._circle, self._keyring, self._board, self._receiving = circle, keyring, board, receiving
        self._chance = chance
        self._snapshot = SnapshotOut(device, lane, board)
        self._state = OwnState(device, lane, circle, keyring, board, receiving)
        self._others_at: int | None = None
        self._wrapped: tuple[Name, set[tuple[str, bytes]]] | None = None

    def next(self, now: int, *, leaving: bool = False) -> Publication | None:
        """The next message to put there; None if there is nothing to say now. Call `acknowledged` for it before the
        next call, if the relay holds it."""
        if self.lane.begin(now):
            self._begin_again()
        return (
            self.lane.unacknowledged()
            or self._snapshot.next(now)
            or self._keys(now)
            or self._news(now, leaving=leaving)
            or self._state.next(now, leaving=leaving)
        )

    def _begin_again(self) -> None:
        """Begin again in a new lane, in which nothing was said yet. In the lane before, the names of what this program
        has put there may now have other messages (RELAY-900)."""
        self._snapshot.close()
        self._state.begin_again()
        self._wrapped = None

    def acknowledged(self, name: Name, now: int) -> None:
        """Note that the relay holds this message."""
        self._board.present.add(name)
        if name.channel != "log":
            self._receiving.is_own(name)
        if (entry := self.lane.acknowledged(name, now)) is not None:
            self._board.entries[name] = entry

    def purges(self, now: int) -> list[Purge]:
        """What this device may delete: in its own lanes only."""
        own, lane = self._device.id, self.lane.id
        lanes = {entry.name.lane for entry in self._board.entries.values() if entry.device == own}
        left = (lanes | self._circle.lanes_of(own)) - {lane}
        return purges(
            self._board, lane, left, self._circle.members.keys(), now,
            busy=self._snapshot.running, unusable=self._receiving.unusable,
        )  # fmt: skip

    def close(self) -> None:
        self._snapshot.close()

    # -- keys

    def _keys(self, now: int) -> Publication | None:
        """Wrap the epochs again for members that lack one in use. For members that have not spoken here, what another
        device has wrapped is enough (RELAY-980). A member that speaks and still lacks one gets it from all."""
        used = {self._keyring.sealing(now).id, *self._receiving.epochs_in_use()} & self._keyring.epochs.keys()
        served = self._keyring.silent() if self._is_wrapped_by_another(used) else set[str]()
        needed = {need for need in self._keyring.in_need(used) if need[0] not in served}
        needed |= self._unsaid_records(served)
        done = self._wrapped[1] if self._wrapped is not None and self._receiving.lies_there(self._wrapped[0]) else set()
        if needed <= done:
            return None
        body = self._keyring.wraps(self._space, self.lane.id, self.lane.last("keys") + 1)
        made = self.lane.sealed(Kind.KEYS, "keys", None, body)
        self._wrapped = made.name, needed
        return self.lane.written_down(made, now)

    def _is_wrapped_by_another(self, epochs: set[bytes]) -> bool:
        keyring = self._keyring
        keyring.opened = {name: one for name, one in keyring.opened.items() if self._receiving.lies_there(name)}
        return keyring.is_wrapped_by_another(epochs)

    def _unsaid_records(self, served: set[str]) -> set[tuple[str, bytes]]:
        """The records of all devices, if one of them that is not `served` has not said that it has all of `space`. It
        may lack the record that makes another one a member; then it hears nothing of what that one says, and what lies
        in that one's lane is not news to anybody else (RELAY-571)."""
        space = self._device.space
        with space.reading() as reader:
            known = reader.knowledge()
        said = {device: state.stores.get(space.schema.name) for device, state in self._receiving.states.last.items()}
        states = (said.get(device) for device in self._circle.boxes.keys() - {self._device.id} - served)
        if all(state is not None and vector_clock.covers(state.knowledge, known) for state in states):
            return set()
        return {("", self._circle.records_id)}

    # -- news

    def _news(self, now: int, *, leaving: bool) -> Publication | None:
        news = self._lacking(now)
        if not self._due(news, now, leaving=leaving):
            return None
        self._others_at = None
        if self._is_sealed_under_old(now) or self._log_is_long(now):
            return self._begin_snapshot(now)
        with ExitStack() as held:
            snapshots = moments(self._device, held)
            envelope = _envelope({name: (snapshots[name], one.base) for name, one in news.items()}, snapshots)
        if envelope is None:
            return self._begin_snapshot(now) if self._snapshot.may_begin(now) else None
        self._board.parted -= news.keys()
        return self._logged(envelope, now)

    def _logged(self, envelope: content.Envelope, now: int) -> Publication:
        made = self.lane.sealed(Kind.ENVELOPE, "log", self._keyring.sealing(now), content.encode(envelope))
        parts = parts_of(made.data)
        entry = BoardEntry.of_envelope(made.name, parts, self._device.id, len(made.data), envelope, self._device.stores)
        entry.taken.update(entry.extents)
        return self.lane.logged(made, entry, now)

    def _lacking(self, now: int) -> dict[str, _News]:
        """The stores of which the relay lacks something."""
        found = {}
        nodes = _fork_nodes(self._device)
        for name, store in self._device.stores.items():
            with store.reading() as reader:
                own = LocalState(reader)
                base = self._board.base(name, nodes, own.forgotten, self._circle.members.keys(), now)
                lacking = {host for host, counter in own.knowledge.items() if counter > base.get(host, 0)}
                held = self._board.held(name, nodes, self._circle.members.keys(), now)
                unsaid = len(own.held) <= MAX_HELD and any(dot not in held for dot in own.held)
                if lacking or unsaid:
                    roots = chain.roots(reader)
                    mine = any(self._is_mine(roots.get(host, host)) for host in lacking)
                    found[name] = _News(base, mine or name in self._board.parted)
        return found

    def _is_mine(self, host: str) -> bool:
        return self._circle.roster.host_owner.get(host) == self._device.id

    def _due(self, news: dict[str, _News], now: int, *, leaving: bool) -> bool:
        """Whether it is time to publish: own writes at once, what others wrote after a while, or when this device
        goes."""
        if not news:
            self._others_at = None
            return self._is_sealed_under_old(now) or self._log_is_long(now)
        if leaving or any(one.own for one in news.values()):
            return True
        if self._others_at is None:
            part = int.from_bytes(self._chance(2), "big") / 65_536
            self._others_at = now + int(1_000 * OTHERS_SECONDS * (1 + 2 * part))
        return now >= self._others_at

    # -- whether a snapshot is due

    def _begin_snapshot(self, now: int) -> Publication | None:
        self._snapshot.begin(self._keyring.sealing(now), now)
        return self._snapshot.next(now)

    def _own_tail(self, now: int) -> list[BoardEntry]:
        """The messages of the own log that no snapshot covers; a manifest may be among them."""
        lane = self.lane.id
        first = self._board.superseded(lane, self._circle.members.keys(), now)
        return [e for e in self._board.entries.values() if e.name.lane == lane and e.name.number >= first]

    def _log_is_long(self, now: int) -> bool:
        last = max((entry.size for entry in self._board.entries.values() if entry.kind is Kind.MANIFEST), default=0)
        tail = [entry for entry in self._own_tail(now) if entry.kind is Kind.ENVELOPE]
        long = len(tail) > 1 and sum(entry.size for entry in tail) > max(SNAPSHOT_BYTES, last)
        return long and self._snapshot.may_begin(now)

    def _is_sealed_under_old(self, now: int) -> bool:
        """Whether messages of this lane can be read by a device that is known to be revoked (RELAY-24)."""
        return any(not self._keyring.fits(entry.epoch) for entry in self._own_tail(now))


def _envelope(wanted: dict[str, tuple[Snapshot, Clock]], snapshots: dict[str, Snapshot]) -> content.Envelope | None:
    """The segments of these stores, each from its base on; None if they are too large for one message."""
    segments, room = list[content.Segment](), PART_BYTES
    for name, (snapshot, base) in wanted.items():
        recording, parts = Recording(name, snapshot, base), list[Part]()
        for part in recording.parts():
            room -= size_of(part)
            if room < 0 and (segments or parts or recording.count > 1):
                return None
            parts.append(part)
        segments.append(content.Segment(recording.extent(parts), parts))
    order = [*snapshots]
    earlier = order[: max(order.index(name) for name in wanted)]
    return content.Envelope(segments, [_ahead(name, snapshots[name]) for name in earlier if name not in wanted])


def _ahead(name: str, snapshot: Snapshot) -> Ahead:
    own = LocalState(snapshot)
    return Ahead(name, own.knowledge, sorted(own.nodes))


def _fork_nodes(device: Device) -> Nodes:
    found = {}
    for name, store in device.stores.items():
        with store.reading() as reader:
            found[name] = fork.nodes(reader)
    return found
