"""Reviving: an entity written again, so that no clock of forgotten entities covers it (docs/specs/14-forgetting.md).

A device that was away while others forgot comes back with entities that they do not have. What it holds beyond
their knowledge is somebody's unseen edit and must live on, but under its old names it cannot: the others would
take it for a part of what they forgot, and a join with an old tombstone would swallow it. So each of its writes gets
a fresh name, over everything that may have been forgotten. Precedence, time and value stay what they were.

The `seen` clock of a deletion names writes by their dots, so it is written again, too. The new dots are counters
of one host, where "seen" can only mean "up to here"; so they are given out in that order: first the edits that a
deletion had seen, then those that none had seen, then the deletions.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, Deletion, Entity, as_deletion
from lottisync.entities.registers import Registers, Stamp, Write, ordered

_SEEN, _UNSEEN, _DELETION = range(3)


def revived(entity: Entity, host: Host, counter: int, forgotten: Clock) -> tuple[Entity, int]:
    """`entity` as `host` writes it again after its write `counter`, over `forgotten`; and how many counters that
    takes: one, or as many as it needs for siblings to keep names of their own (FORGET-9, FORGET-10)."""
    deletions = [
        (write.stamp, found) for write in entity.registers.get(DELETED_AT, ()) if (found := as_deletion(write))
    ]
    grouped = {p: _grouped(p, writes, deletions) for p, writes in entity.registers.items()}
    sizes = [max(len(groups[kind]) for groups in grouped.values()) for kind in range(3)]
    last = [counter + taken for taken in accumulate(sizes)]
    registers = {}
    for p, groups in grouped.items():
        fresh = []
        for kind, writes in enumerate(groups):
            first = last[kind] - sizes[kind] + 1
            for number, write in enumerate(writes, first):
                stamp = write.stamp._replace(host=host, counter=number)
                fresh.append(Write(stamp, _seeing(write, host, last[_SEEN]) if p == DELETED_AT else write.value))
        registers[p] = ordered(fresh)
    clock = vector_clock.merge(entity.clock, forgotten) | {host: last[-1]}
    return Entity(entity.id, entity.type, clock, Registers.of(registers)), sum(sizes)


def _grouped(p: str, writes: tuple[Write, ...], deletions: list[tuple[Stamp, Deletion]]) -> list[list[Write]]:
    """The writes of a register by whether a deletion had seen them, in each group the least first: of two that differ
    in their names alone, the winner stays the winner."""
    groups: list[list[Write]] = [[], [], []]
    for write in reversed(writes):
        if not deletions:
            kind = _SEEN
        elif p == DELETED_AT:
            kind = _DELETION
        else:
            dot = write.stamp.dot
            seen = any(dot == by.dot or deletion.has_seen(dot) for by, deletion in deletions)
            kind = _SEEN if seen else _UNSEEN
        groups[kind].append(write)
    return groups


def _seeing(write: Write, host: Host, counter: int) -> bytes:
    """The value of a deletion that has seen `host` up to `counter`; of another value of `deletedAt`, itself."""
    if as_deletion(write) is None:
        return write.value
    value: dict[str, Any] = canonical.decode(write.value)
    seen: Mapping[str, int] = value["seen"]
    return canonical.encode(value | {"seen": {**seen, host: counter}} if counter else value)
