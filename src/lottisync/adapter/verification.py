"""A range comparison between two replicas of one process, and the mending that follows: `verify`."""

from collections import deque

from lottisync.adapter.replica import Replica
from lottisync.protocol import message as m
from lottisync.sync.local_state import own_summary
from lottisync.sync.range_comparison import RangeComparison


def verify(source: Replica, target: Replica, store: str, now: int) -> tuple[bool, int]:
    """Whether the two hold the same in the end, and how many entities were mended on each side. Stores that do not
    know the same are not compared: a difference may only mean that something has not come yet."""
    sides: list[RangeComparison] = []
    try:
        sides += [RangeComparison(store, replica.store(store), thorough=True) for replica in (source, target)]
        if sides[0].known == sides[1].known:
            _talk(sides, now)
            for side in sides:
                side.end(now)
        return _digests(source, store) == _digests(target, store), sum(side.changed for side in sides)
    finally:
        for side in sides:
            side.close()


def _talk(sides: list[RangeComparison], now: int) -> None:
    talk: deque[tuple[int, m.Message]] = deque([(1, sides[0].opening())])
    while talk:
        listener, message = talk.popleft()
        match message:
            case m.Compare():
                answer = sides[listener].take(message)
            case m.Mend():
                answer = sides[listener].mend(message, now)
            case _:
                answer = []
        talk += [(1 - listener, each) for each in answer]


def _digests(replica: Replica, store: str) -> m.Summary:
    with replica.store(store).reading() as reader:
        return own_summary(reader)
