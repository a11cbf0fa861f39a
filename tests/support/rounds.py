"""What one device has is carried to another by the production conversation, without a connection.

It goes one way only: the receiver answers, and begins no round itself."""

import hashlib
from collections.abc import Iterable

from tests.support.counted import NOON
from tests.support.holder import Holder

from lottisync.device.device import Device
from lottisync.store.store import Store
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Event, Failed, Refused

BOOT = bytes(16)


def pull(receiver: Device, sender: Device, now: int, stores: Iterable[str] | None = None) -> None:
    """Take over all that another device has, or what it has in some stores, whether the two know each other or not."""
    names = list(sender.stores) if stores is None else list(stores)
    giving, taking = (Holder(device.id, {name: device.store(name) for name in names}) for device in (sender, receiver))
    _carry(giving, taking, now)


def send(sender: Store, receiver: Store, *, now: int = NOON) -> None:
    """The same for two stores that belong to no device of the test's."""
    _carry(holder_of(sender), holder_of(receiver), now)


def holder_of(store: Store) -> Holder:
    """A device of its own for a store, with an id that follows from where the store lies."""
    return Holder(hashlib.sha256(bytes(store.file)).hexdigest(), {store.schema.name: store})


def _carry(sender: Device, receiver: Device, now: int) -> None:
    giving = Conversation(sender, boot=BOOT, dialled=False, now=now)
    taking = Conversation(receiver, boot=BOOT, dialled=True, now=now)
    try:
        giving.greet()
        taking.greet()
        moved = True
        while moved:
            moved = False
            while said := giving.data_to_send():
                _expect_no_end(taking.receive(said, now))
                moved = True
            while said := taking.frame():
                _expect_no_end(giving.receive(said, now))
                moved = True
    finally:
        giving.release()
        taking.release()


def _expect_no_end(events: Iterable[Event]) -> None:
    for event in events:
        assert not isinstance(event, Refused | Failed), event
