"""One device at a relay, without the relay (docs/specs/19-relay.md).

What lies there goes in, and what to put there comes out. A participant reads no socket and no clock and draws no random
numbers, so any store that keeps messages under names can carry it. A driver is a few lines:

    participant.show(everything that lies there, now, replaced=what was replaced since)
    while (name := participant.wanted()) is not None:
        participant.receive(name, fetch(name), now)
    while (publication := participant.publish(now)) is not None:
        put(publication)
        participant.acknowledged(publication.name, now)
    for purge in participant.purges(now):
        delete(purge)
        participant.purged(purge)

It may stop between any two lines, for ever. `arrived` says what has come meanwhile, without looking at the rest.
"""

from collections.abc import Iterable, Set

from lottisync.device.device import Device
from lottisync.relay import ledger
from lottisync.relay.board import Board
from lottisync.relay.circle import Circle
from lottisync.relay.deletion import Purge, purged
from lottisync.relay.event import Event
from lottisync.relay.header import INCARNATION_BYTES, Name
from lottisync.relay.keyring import Chance, EpochKeyring
from lottisync.relay.lane import Lane, Publication
from lottisync.relay.publishing import Publishing
from lottisync.relay.receiving import RelayReader
from lottisync.relay.standing import Standing, standing


class Participant:
    """`space` are the 16 bytes by which the person's devices find each other at the relay."""

    def __init__(
        self, device: Device, space: bytes, chance: Chance, now: int, incarnation: bytes = bytes(INCARNATION_BYTES)
    ) -> None:
        self._device = device
        _enter(device, space, now)
        self._board = Board()
        self.circle = Circle(device)
        self.circle.announce(now)
        self.keyring = EpochKeyring(device, self.circle, chance)
        lane = Lane(device, space, incarnation, chance)
        self._receiving = RelayReader(device, space, lane, self.circle, self.keyring, self._board)
        self.publishing = Publishing(
            device, space, lane, self.circle, self.keyring, self._board, self._receiving, chance
        )

    def show(self, names: Iterable[Name], now: int, *, replaced: Set[Name] = frozenset()) -> None:
        """Take these messages to be all that is in the relay now. `replaced`: where another message lies than the one
        that was there when it was read, or put there."""
        self.circle.load()
        self._receiving.show(names, replaced)

    def arrived(self, names: Iterable[Name], *, replaced: Set[Name] = frozenset()) -> None:
        """Take messages that have come since then. `replaced`: as for `show`."""
        self._receiving.arrived(names, replaced)

    def wanted(self) -> Name | None:
        """The next message to fetch; None if there is nothing to read now."""
        return self._receiving.wanted()

    def receive(self, name: Name, data: bytes | None, now: int) -> None:
        """What lies there under this name; None if it is gone."""
        self._receiving.receive(name, data, now)

    def publish(self, now: int, *, leaving: bool = False) -> Publication | None:
        """The next message to put there, once all that lies there was read; None if there is none. When the device
        goes, it is `leaving`: it says its state, however soon after the last time."""
        if not self._receiving.looked or self.wanted() is not None:
            return None
        self.circle.load()
        self._device.bind_hosts(now)
        self._receiving.settle(now)
        return self.publishing.next(now, leaving=leaving)

    def acknowledged(self, name: Name, now: int) -> None:
        """Note that the relay holds this message."""
        self.publishing.acknowledged(name, now)

    def purges(self, now: int) -> list[Purge]:
        """What may be deleted, all of it this device's own."""
        return [] if self.wanted() is not None else self.publishing.purges(now)

    def purged(self, purge: Purge) -> None:
        """Note that the relay has deleted the message."""
        purged(self._board, purge)

    def events(self) -> list[Event]:
        """What has happened since this was asked last."""
        happened = self._receiving.events[:]
        self._receiving.events.clear()
        return happened

    def standing(self, now: int) -> list[Standing]:
        """What the other devices have and lack, compared with this one, as far as they have said so at the relay."""
        return standing(self._device, self.circle, self._receiving.states, now)

    def close(self) -> None:
        """Let go of the stores."""
        self.publishing.close()


def _enter(device: Device, space: bytes, now: int) -> None:
    with device.space.reading() as reader:
        same = ledger.space_of(reader) == space
    if not same:
        with device.space.transaction(now, None) as tx:
            ledger.enter(tx, space)
