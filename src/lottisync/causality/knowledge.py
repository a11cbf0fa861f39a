"""Knowledge: what a store holds of every host's writes (docs/specs/02-causality.md).

`knowledge[h] == n` says: every write of host `h` up to its `n`-th is in this store, or was overwritten by a write that
is. Knowledge is adopted only from a peer's snapshot whose every frame has arrived; adopting it frame by frame loses
writes, because a version that was overwritten on the sender is never sent, and a third device then withholds its copy.

What a store holds *beyond* its knowledge comes from rounds that were cut off. Those dots are sent
to the next sender, with the entity each of them belongs to, so that nothing is sent twice.
"""

from collections.abc import Iterable

from lottisync.causality.vector_clock import Clock, Dot, Host, merge

Knowledge = dict[Host, int]


def beyond(clock: Clock, knowledge: Clock) -> list[Dot]:
    """The components of `clock` that `knowledge` does not cover, in host order."""
    return sorted(Dot(host, counter) for host, counter in clock.items() if counter > knowledge.get(host, 0))


def in_order(knowledge: Clock) -> dict[Host, int]:
    """The one form in which knowledge is hashed and shown: hosts sorted, zeros left out."""
    return {host: counter for host, counter in sorted(knowledge.items()) if counter}


def missing(own: Clock, other: Clock) -> int:
    """How many writes `other` knows that `own` lacks (a number for people: "phone lacks 14 changes")."""
    return sum(counter - own.get(host, 0) for host, counter in other.items() if counter > own.get(host, 0))


def union(many: Iterable[Clock]) -> Knowledge:
    result: Knowledge = {}
    for clock in many:
        result = merge(result, clock)
    return result
