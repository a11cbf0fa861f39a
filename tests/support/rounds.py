"""What one device has is carried to another by the production conversation, without a connection.

It goes one way only: the receiver answers, and begins no round itself."""

import hashlib
from collections.abc import Iterable, Mapping

from tests.support.counted import NOON

from lottisync.device.device import Device
from lottisync.store.store import Store
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Event, Failed, Refused


def pull(receiver: Device, sender: Device, now: int, stores: Iterable[str] | None = None) -> None:
    """Take over all that another device has, or what it has in some stores."""
    names = list(sender.stores) if stores is None else list(stores)
    _carry(
        _side(sender.id, {name: sender.store(name) for name in names}, now, dialled=False),
        _side(receiver.id, {name: receiver.store(name) for name in names}, now, dialled=True),
        now,
    )


def send(sender: Store, receiver: Store, *, now: int = NOON) -> None:
    """The same for two stores that belong to no device of the test's."""
    giving, taking = (
        _side(hashlib.sha256(bytes(store.file)).hexdigest(), {store.schema.name: store}, now, dialled=dialled)
        for store, dialled in ((sender, False), (receiver, True))
    )
    _carry(giving, taking, now)


def _side(device: str, stores: Mapping[str, Store], now: int, *, dialled: bool) -> Conversation:
    return Conversation(
        device=device, boot=bytes(16), stores=stores, strangers=lambda tx, hosts: None, dialled=dialled, now=now
    )


def _carry(giving: Conversation, taking: Conversation, now: int) -> None:
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
