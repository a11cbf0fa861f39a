"""What a device may delete in the relay: messages of its own lanes that are superseded (docs/specs/19-relay.md,
section 7)."""

from collections.abc import Collection
from typing import NamedTuple

from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.relay.board import Board


class Purge(NamedTuple):
    """Messages of a channel with a number below this are to go."""

    lane: bytes
    channel: str
    below: int


def purges(board: Board, lane: bytes, device: str, members: Collection[str], now: int, *, busy: bool) -> list[Purge]:
    """What this device may delete now, in its lane and in those that it has left. `busy`: a snapshot is being
    published in the lane, so its frames have no manifest yet."""
    found = []
    for own in {lane, *(entry.name.lane for entry in board.entries.values() if entry.device == device)}:
        found.append(Purge(own, "log", board.superseded(own, set(members), now)))
        found += [Purge(own, channel, _last(board, own, channel)) for channel in ("state", "keys")]
        if own != lane or not busy:
            found += [Purge(own, channel, _last(board, own, channel) + 1) for channel in board.abandoned(own)]
    return [purge for purge in found if _first(board, purge.lane, purge.channel) < purge.below]


def purged(board: Board, purge: Purge) -> None:
    """The relay has deleted it."""
    board.show(
        name
        for name in board.present
        if not (name.lane == purge.lane and name.channel == purge.channel and name.number < purge.below)
    )


def _numbers(board: Board, lane: bytes, channel: str) -> list[int]:
    return [name.number for name in board.present if name.lane == lane and name.channel == channel]


def _first(board: Board, lane: bytes, channel: str) -> int:
    return min(_numbers(board, lane, channel), default=MAX_COUNTER)


def _last(board: Board, lane: bytes, channel: str) -> int:
    return max(_numbers(board, lane, channel), default=0)
