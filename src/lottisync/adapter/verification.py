"""Comparing one store of two replicas of one process, and mending what differs: `verify`.

The two hold a conversation that has this store alone (docs/specs/15-mending.md), and each asks for a comparison.
"""

from lottisync.adapter.replica import Replica
from lottisync.problem import Problem
from lottisync.sync.comparisons import Verified
from lottisync.sync.conversation import Conversation
from lottisync.sync.local_state import own_summary


def verify(source: Replica, target: Replica, store: str, now: int) -> tuple[bool, int]:
    """Whether the two hold the same in the end, and how many entities were mended on both sides. Stores that do not
    know the same are not compared: a difference may only mean that something has not come yet. Raises `Problem` if the
    conversation ends."""
    if _known(source, store) != _known(target, store):
        return False, 0
    ends = [
        Conversation(
            replica.device, boot=bytes(16), dialled=bool(number), now=now, stores={store: replica.store(store)}
        )
        for number, replica in enumerate((source, target))
    ]
    try:
        found = [_verified(end, ends, store, now) for end in ends]
        return all(each.equal for each in found), sum(each.mended for each in found)
    finally:
        for end in ends:
            end.release()


def _verified(asking: Conversation, ends: list[Conversation], store: str, now: int) -> Verified:
    """How a comparison ends that one side asked for. That side also looks whether all that it keeps beside the content
    follows from the content."""
    asking.verify(store)
    _carry(ends, now)
    if store not in asking.verified:
        reason = asking.ended.reason if asking.ended is not None else ""
        raise Problem("no-agreement", "{store} cannot be compared: {reason}", store=store, reason=reason)
    return asking.verified[store]


def _known(replica: Replica, store: str) -> bytes:
    with replica.store(store).reading() as reader:
        return own_summary(reader).known


def _carry(ends: list[Conversation], now: int) -> None:
    """Carry all that each says to the other, until neither has more to say."""
    moved = True
    while moved:
        moved = False
        for said, heard in (ends, reversed(ends)):
            while frame := said.data_to_send():
                heard.receive(frame, now)
                moved = True
