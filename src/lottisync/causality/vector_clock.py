"""Vector clocks: which writes a version has seen (docs/specs/02-causality.md).

A *dot* `(host, counter)` names one write for ever. A *vector clock* maps each host to the last of
its counters that was seen; a host that is missing counts as 0. Counters start at **1**: from 0, a
host's first edit of an entity would compare *equal* to the version it edited, and vanish.

The same mapping serves two purposes that must not be confused. The clock of an *entity* says what
that entity's author had seen of it; its components have holes between them, and that means
nothing. The *knowledge* of a store says which prefix of every host's writes it holds; there a hole
would be a loss. `lottisync.causality.knowledge` is about the second.

Everything here is a pure function of plain mappings that nobody mutates. A store may know of a thousand hosts, so loops
over clocks are those of C.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import compress, repeat
from operator import ge, lt
from typing import NamedTuple, NewType

from lottisync.problem import Invalid

Host = NewType("Host", str)
"""A store on a device in one incarnation: 16 lowercase hexadecimal digits."""

Clock = Mapping[Host, int]

MAX_COUNTER = 2**53 - 1
"""The largest integer that every JSON reader holds exactly; larger ones also overflow SQLite."""


class Dot(NamedTuple):
    """The name of one write."""

    host: Host
    counter: int


class Order(StrEnum):
    EQUAL = "equal"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"


class ClockError(Invalid):
    """A clock that no correct writer can have produced."""


def validate(clock: Clock) -> None:
    """Raise `ClockError` unless every counter is an integer from 0 to `MAX_COUNTER` (CAUS-2)."""
    for host, counter in clock.items():
        if type(counter) is not int or not 0 <= counter <= MAX_COUNTER:
            raise ClockError(
                "the counter of host {host!r} must be 0 to {limit}; got {counter!r}",
                host=host,
                limit=MAX_COUNTER,
                counter=counter,
            )


def compare(a: Clock, b: Clock) -> Order:
    """How `a` relates to `b`: `BEFORE` means that `b` has seen all of `a` and more (CAUS-3)."""
    validate(a)
    validate(b)
    a_covers, b_covers = covers(a, b), covers(b, a)
    if a_covers and b_covers:
        return Order.EQUAL
    if a_covers:
        return Order.AFTER
    return Order.BEFORE if b_covers else Order.CONCURRENT


def covers(a: Clock, b: Clock) -> bool:
    """Whether `a` has seen everything that `b` has."""
    return all(map(ge, map(a.get, b, repeat(0)), b.values()))


def news(a: Clock, b: Clock) -> dict[Host, int]:
    """What `a` has seen and `b` has not: the components of `a` that go beyond `b`."""
    return dict(compress(a.items(), map(lt, map(b.get, a, repeat(0)), a.values())))


def within(clock: Clock, hosts: Iterable[Host] | None) -> Clock:
    """What a clock says of these hosts, in their order; all of it for None."""
    return clock if hosts is None else {host: clock[host] for host in hosts if host in clock}


def has_seen(clock: Clock, dot: Dot) -> bool:
    return clock.get(dot.host, 0) >= dot.counter


def merge(a: Clock, b: Clock) -> dict[Host, int]:
    """The least clock that covers both: the maximum per host, zeros left out (CAUS-4)."""
    merged = {host: counter for host, counter in a.items() if counter} if 0 in a.values() else dict(a)
    return merged | news(b, merged)


def grown(a: Clock, b: Clock) -> dict[Host, int]:
    """`merge` for an `a` without zeros. It looks only at the hosts of `b`."""
    return {**a, **news(b, a)}


def reach(clocks: Iterable[Clock]) -> dict[Host, int]:
    """The least clock that covers all of them."""
    greatest: dict[Host, int] = {}
    for clock in clocks:
        for host, counter in clock.items():
            if counter > greatest.get(host, 0):
                greatest[host] = counter
    return greatest
