"""What a device may delete in the relay: messages of its own lanes that are superseded (docs/specs/19-relay.md,
section 7)."""

from collections.abc import Collection, Set
from typing import NamedTuple

from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.relay.board import Board
from lottisync.relay.header import Name


class Purge(NamedTuple):
    """Messages of a channel with a number below this are to go."""

    lane: bytes
    channel: str
    below: int


def purges(
    board: Board, lane: bytes, left: Set[bytes], members: Collection[str], now: int, *, busy: bool, unusable: Set[Name]
) -> list[Purge]:
    """What a device may delete now, in its lane and in those that it has `left`. `busy`: a snapshot is being published
    in the lane, so its frames have no manifest yet. A message that is `unusable` supersedes no other (RELAY-1184)."""
    found = []
    for own in {lane} | left:
        found.append(Purge(own, "log", board.superseded(own, set(members), now)))
        found += [Purge(own, channel, _last(board, own, channel, unusable)) for channel in ("state", "keys")]
        if own != lane and _numbers(board, lane, "state"):
            found.append(Purge(own, "state", _last(board, own, "state") + 1))  # it says how things were (RELAY-832)
        if own != lane or not busy:
            found += [Purge(own, channel, _last(board, own, channel) + 1) for channel in board.abandoned(own)]
    return [purge for purge in found if _first(board, purge.lane, purge.channel) < purge.below]


def purged(board: Board, purge: Purge) -> None:
    """Note that the relay has deleted it."""
    for number in _numbers(board, purge.lane, purge.channel):
        if number < purge.below:
            board.gone(Name(purge.lane, purge.channel, number))


def _numbers(board: Board, lane: bytes, channel: str) -> list[int]:
    return [name.number for name in board.present if name.lane == lane and name.channel == channel]


def _first(board: Board, lane: bytes, channel: str) -> int:
    return min(_numbers(board, lane, channel), default=MAX_COUNTER)


def _last(board: Board, lane: bytes, channel: str, ignored: Set[Name] = frozenset()) -> int:
    numbers = (number for number in _numbers(board, lane, channel) if Name(lane, channel, number) not in ignored)
    return max(numbers, default=0)
