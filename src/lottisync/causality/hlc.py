"""Hybrid logical clock: an order that people recognise (docs/specs/02-causality.md).

Two writes that did not know of each other have no causal order; to pick the one that is shown we
compare when they were made, as well as their devices' wall clocks could tell. A reading is
`(milliseconds since 1970, counter)`; the counter (16 bits) tells apart what happens within a
millisecond, or while the wall clock stands still or runs backwards. Causality never depends on it.

A peer whose clock is far ahead is not refused, or one wrong clock would stop everybody's sync
(CAUS-9): its data is kept and our own clock simply does not follow it.
"""

from itertools import repeat
from typing import NamedTuple

from lottisync.problem import Invalid

MAX_MILLIS = 2**48 - 1
MAX_TICKS = 2**16 - 1
MAX_DRIFT_MILLIS = 5 * 60 * 1000
"""How far ahead of our wall clock a peer may be before our clock stops following it: five minutes
is what a device that never asks a time server drifts in a year or so."""


class Hlc(NamedTuple):
    millis: int
    ticks: int


class HlcError(Invalid):
    """A reading outside of its 48 and 16 bits."""


def validate(reading: Hlc) -> None:
    if not (0 <= reading.millis <= MAX_MILLIS and 0 <= reading.ticks <= MAX_TICKS):
        raise HlcError(
            "a clock reading has 48 bits of milliseconds and 16 bits of ticks; got {reading}", reading=tuple(reading)
        )


def tick(last: Hlc, now: int) -> Hlc:
    """The reading for a new local write at wall time `now` (ms); always greater than `last` (CAUS-7)."""
    if last.millis < now and last.millis < MAX_MILLIS:
        return Hlc(min(now, MAX_MILLIS), 0)
    if last.ticks < MAX_TICKS:
        return Hlc(last.millis, last.ticks + 1)
    if last.millis == MAX_MILLIS:
        raise HlcError("the clock has used up its 48 bits: the device's time was set to beyond the year 10000")
    return Hlc(last.millis + 1, 0)


def ticks(last: Hlc, now: int, count: int) -> list[tuple[int, int]]:
    """The readings for that many writes at one wall time: those that `tick` would give, one after the other."""
    first = tick(last, now)
    alike = min(count, MAX_TICKS - first.ticks + 1)
    found = list(zip(repeat(first.millis, alike), range(first.ticks, first.ticks + alike), strict=True))
    return found if alike == count else found + ticks(Hlc(*found[-1]), now, count - alike)


def observe(last: Hlc, remote: Hlc, now: int) -> Hlc:
    """The clock after meeting `remote`: never less than `last`, and not following a far future (CAUS-8, CAUS-9)."""
    validate(remote)
    if is_far_future(remote, now):
        return last
    return max(last, remote)


def is_far_future(reading: Hlc, now: int) -> bool:
    """Whether the clock that gave this reading is so far ahead that ours does not follow it."""
    return reading.millis > now + MAX_DRIFT_MILLIS
