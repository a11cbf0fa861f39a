"""What a device reads in a relay, and in which order (docs/specs/19-relay.md, section 5).

It is shown what lies there, and asks for one message after the other: keys first, then what devices say of themselves,
then the logs, and of a snapshot one frame at a time. Nothing is believed. A message counts if a member has signed it
for the lane and the number under which it lies, and it is decrypted only then. What cannot be taken yet is not kept; it
waits in the relay."""

from collections.abc import Iterable, Iterator, Set

from lottisync.device.device import Device
from lottisync.relay import content
from lottisync.relay.board import Board, BoardEntry
from lottisync.relay.circle import MOST_LANES, Circle
from lottisync.relay.content import MAX_REFUSED
from lottisync.relay.doubts import Doubts
from lottisync.relay.event import Event, PassedOver
from lottisync.relay.header import NO_EPOCH, BadMessage, Kind, Name, Parts, parts_of, refuse_misplaced
from lottisync.relay.heads import LaneHeads
from lottisync.relay.intake import Intake
from lottisync.relay.keyring import EpochKeyring
from lottisync.relay.lane import Lane
from lottisync.relay.locked import Locked
from lottisync.relay.snapshot_in import NOT_THE_FRAME, SnapshotIn
from lottisync.relay.states import States
from lottisync.sync.incoming import Unacceptable


class RelayReader:
    """What one device has read in a relay, and what it reads next."""

    def __init__(
        self, device: Device, space: bytes, lane: Lane, circle: Circle, keyring: EpochKeyring, board: Board
    ) -> None:
        self._device, self._space, self._lane = device, space, lane
        self._circle, self._keyring, self._board = circle, keyring, board
        self.events: list[Event] = []
        self._locked = Locked(keyring)
        self._heads = LaneHeads(device, circle, board, self.events)
        self.states = States(device, keyring, self._locked, self._heads, self.events)
        self._intake = Intake(device, circle, board, self.events)
        self._snapshot = SnapshotIn(board, self._intake, self._locked)
        self._doubts = Doubts(board)
        self._done: set[Name] = set()
        self._refused: set[Name] = set()
        """What is not read again until the relay is looked at again: it may show it unaltered then."""
        self.unusable: set[Name] = set()
        """The refused messages that were replaced, or never were valid."""
        self.looked = False
        """Whether the relay was looked at since the program was started."""

    # -- what lies there

    def show(self, names: Iterable[Name], replaced: Set[Name] = frozenset()) -> None:
        """All that lies in the relay now. What was replaced is read again, and counts for nothing until then
        (RELAY-831)."""
        self.looked = True
        self._board.show(names)
        self._read_again(replaced)
        self._done &= self._board.present
        self._try_again()
        self._doubts.show()
        self._keyring.forget_all_but({name.lane for name in self._board.present if name.channel == "state"})
        self._snapshot.stop()
        self._heads.notice_loss()
        self._circle.show(self._board.present)

    def arrived(self, names: Iterable[Name], replaced: Set[Name] = frozenset()) -> None:
        """Note messages that have come since the last look."""
        self._board.present.update(names)
        self._read_again(replaced)
        self._try_again()

    def _try_again(self) -> None:
        """Read also what was refused."""
        self._refused.clear()
        self.unusable.clear()

    def _read_again(self, replaced: Set[Name]) -> None:
        self._board.replaced(replaced)
        self._done -= replaced
        self._locked.forget_all_but(self._board.present - replaced)

    def is_own(self, name: Name) -> None:
        """Note that this device has put the message there itself, and need not read it."""
        self._done.add(name)

    def lies_there(self, name: Name) -> bool:
        """Whether a message that this device has put there lies there still, and no other in its place."""
        return name in self._done

    def settle(self, now: int) -> None:
        """Nothing is left to read: write down how far the logs go."""
        self._heads.write_down(now)

    # -- what to read next

    def wanted(self) -> Name | None:
        """The next message to fetch; None if there is nothing to read now."""
        return next(self._candidates(), None)

    def _candidates(self) -> Iterator[Name]:
        read = self._done | self._refused | self._board.entries.keys() | self._locked.epochs.keys()
        new = sorted(name for name in self._board.present - read if not name.channel.startswith("snap."))
        for channel in ("keys", "state", "log"):
            yield from (name for name in new if name.channel == channel)
        yield from self._locked.unlocked()
        if (doubted := self._doubts.wanted()) is not None:
            yield doubted
        if (frame := self._snapshot.wanted(self._refused)) is not None:
            yield frame
        for entry in self._intake.untaken(Kind.ENVELOPE):
            if entry.name not in self._refused and self._intake.could_take(entry):
                yield entry.name

    # -- reading it

    def receive(self, name: Name, data: bytes | None, now: int) -> None:
        """What lies there under a name; None if it is gone. In both cases it is not asked for again (RELAY-576)."""
        self._locked.forget(name)
        if (genuine := self._doubts.settles(name, data)) is not None and data is not None:
            self._doubted(name, genuine=genuine)
            return
        if data is None:
            self._board.gone(name)
            self._snapshot.stop()
            return
        try:
            parts = parts_of(data)
            refuse_misplaced(parts.header, self._space, name)
            self._read(name, parts, data, now)
        except (BadMessage, Unacceptable) as error:
            self.events.append(PassedOver(name, error.sentence))
            self.unusable.add(name)
            self._give_up(name)

    def _doubted(self, name: Name, *, genuine: bool) -> None:
        """Read again a frame that another device could not use."""
        if not genuine:
            self.events.append(PassedOver(name, NOT_THE_FRAME))
            self._board.replaced({name})

    def _give_up(self, name: Name) -> None:
        """Do not read it again before the relay is looked at again."""
        self._refused.add(name)
        if (manifest := self._snapshot.stop()) is not None:
            self._refused.add(manifest)

    def _read(self, name: Name, parts: Parts, data: bytes, now: int) -> None:
        signer = self._circle.signer(parts)
        if signer == self._device.id and parts.header.kind is not Kind.FRAME:
            self._lane.compare(name, parts.hash)
        elif signer != self._device.id:
            self._leave_taken_lane(name, parts)
        if parts.header.kind is Kind.KEYS:
            news = self._keyring.take(parts, signer, now)
            self._done.add(name)
            if news:
                self._try_again()
            return
        if signer is None:
            raise BadMessage("no device of yours has signed it")
        match parts.header.kind:
            case Kind.STATE:
                self.states.read(name, parts, signer, now)
                self._done.add(name)
                self._read_again(self._doubts.hear(self.states.refused, now))
                self.states.refused.clear()
            case Kind.FRAME:
                if not self._snapshot.read(name, parts, data, now):
                    self._give_up(name)
            case _:
                self._read_log(name, parts, signer, len(data), now)

    def _leave_taken_lane(self, name: Name, parts: Parts) -> None:
        """Leave a lane of this device's in which another member speaks. A reader that has read that member first takes
        the lane for its own, and accepts nothing of this device there. So this device goes on in a new lane, and says
        all of it again (RELAY-575). Some lanes are left for a device that is restored from a backup."""
        own, lane = self._device.id, self._lane.id
        if lane != name.lane and self._circle.device_of(name.lane) != own:
            return
        if name.lane in self._board.left or not self._circle.another_signed(parts):
            return
        if name.lane == lane:
            if len(self._circle.lanes_of(own) | self._board.left) >= MOST_LANES // 2:
                return
            self._lane.leave()
        self._board.left.add(name.lane)

    def _read_log(self, name: Name, parts: Parts, signer: str, size: int, now: int) -> None:
        self._refuse_broken_chain(name, parts)
        self._heads.note({name.lane: (name.number, parts.hash)})
        body = self._locked.body(name, parts, parts.rest)
        if body is None:
            return
        entries, stores = self._board.entries, self._device.stores
        if parts.header.kind is Kind.MANIFEST:
            manifest = content.decode(body, content.Manifest)
            entries.setdefault(name, BoardEntry.of_manifest(name, parts, signer, manifest, stores))
            return
        envelope = content.decode(body, content.Envelope)
        entry = entries.setdefault(name, BoardEntry.of_envelope(name, parts, signer, size, envelope, stores))
        if not self._intake.take_envelope(entry, envelope, now):
            self._refused.add(name)

    def _refuse_broken_chain(self, name: Name, parts: Parts) -> None:
        before = self._board.entries.get(name._replace(number=name.number - 1))
        if before is not None and before.hash != parts.header.before:
            raise BadMessage("it does not go on behind the message before it")

    # -- its state

    @property
    def lacking(self) -> bool:
        """Whether something is missing that this device has heard of."""
        unread = any(self._intake.untaken(kind) for kind in (Kind.ENVELOPE, Kind.MANIFEST))
        said = any(self.states.lacks(each) for each in self._circle.active)
        return bool(self._locked.epochs) or unread or self._board.has_holes() or said

    def refused(self) -> list[tuple[bytes, str, int]]:
        """The messages in the relay that could not be used, for others who count on them (RELAY-890). Frames are named
        first: a manifest of a member has led to them."""
        names = sorted(self.unusable, key=lambda name: (not name.channel.startswith("snap."), name))
        return [(name.lane, name.channel, name.number) for name in names[:MAX_REFUSED]]

    def epochs_in_use(self) -> set[bytes]:
        """The epochs under which the messages in the relay were sealed."""
        return {entry.epoch for entry in self._board.entries.values()} | {*self._locked.epochs.values()} - {NO_EPOCH}
