"""What one device has is carried to another by the production conversation, without a connection.

It goes one way only: the receiver answers, and begins no round itself."""

import hashlib
from collections.abc import Iterable

from tests.support.counted import NOON
from tests.support.holder import Holder

from lottisync.device.device import Device
from lottisync.protocol import message as m
from lottisync.store.store import Store
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Event, Failed, Refused

BOOT = bytes(16)


def pull(receiver: Device, sender: Device, now: int, stores: Iterable[str] | None = None) -> None:
    """Take over all that another device has, or what it has in some stores, whether the two know each other or not."""
    names = list(sender.stores) if stores is None else list(stores)
    giving, taking = (Holder(device.id, {name: device.store(name) for name in names}) for device in (sender, receiver))
    _carry(giving, taking, now)


def send(sender: Store, receiver: Store, *, now: int = NOON, batches: int | None = None) -> list[str]:
    """The same for two stores that belong to no device of the test's; gives the ids of what arrived. With
    `batches` the connection is cut after so many, or else at the end of the round: what they hold is here, and the
    round is not whole."""
    return _carry(holder_of(sender), holder_of(receiver), now, batches)


def holder_of(store: Store) -> Holder:
    """A device of its own for a store, with an id that follows from where the store lies."""
    return Holder(hashlib.sha256(bytes(store.file)).hexdigest(), {store.schema.name: store})


class _Cut(Exception):
    """The connection breaks off."""


def _carry(sender: Device, receiver: Device, now: int, batches: int | None = None) -> list[str]:
    giving = Conversation(sender, boot=BOOT, dialled=False, now=now)
    taking = Conversation(receiver, boot=BOOT, dialled=True, now=now)
    arrived: list[m.Batch] = []
    try:
        giving.greet()
        taking.greet()
        moved = True
        while moved:
            moved = False
            while said := giving.data_to_send():
                taking.feed(said, now)
                _take(taking, now, arrived, batches)
                moved = True
            while said := taking.frame():
                _expect_no_end(giving.receive(said, now))
                moved = True
    except _Cut:
        pass
    finally:
        giving.release()
        taking.release()
    return [version.id for batch in arrived for version in batch.versions]


def _take(taking: Conversation, now: int, arrived: list[m.Batch], batches: int | None) -> None:
    """Carry out what has come: together, or message by message if it is to be cut off after some `batches`."""
    while taking.waiting:
        coming = [] if taking.meeting else list(taking.pending)[: None if batches is None else 1]
        if batches is not None and any(
            isinstance(one, m.End) or (isinstance(one, m.Batch) and len(arrived) == batches) for one in coming
        ):
            raise _Cut
        arrived += [one for one in coming if isinstance(one, m.Batch)]
        taking.carry_out(now, None if batches is None else 1)
    _expect_no_end(taking.events())


def _expect_no_end(events: Iterable[Event]) -> None:
    for event in events:
        assert not isinstance(event, Refused | Failed), event
