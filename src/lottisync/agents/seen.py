"""The watermark of a wake: the writes of the journal that its context had seen (docs/specs/09-agents.md, section 4).

Nearly always it is the journal's knowledge when the context was read. After a round that was cut off, a store also
holds writes beyond its knowledge. The model has seen those of its task, so they belong to the watermark. Otherwise the
next wake would see them as new, and a proposal about them would be refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lottisync.causality.knowledge import Knowledge, beyond
from lottisync.causality.vector_clock import Dot, Host, has_seen
from lottisync.entities.entity import Entity

MAX_LISTED = 2_000
"""Writes beyond the knowledge that are kept with a watermark."""


class Seen(NamedTuple):
    knowledge: Knowledge
    beyond: frozenset[Dot] = frozenset()

    def has(self, dot: Dot) -> bool:
        return has_seen(self.knowledge, dot) or dot in self.beyond

    def has_all_of(self, entity: Entity) -> bool:
        """Whether no component of the entity's clock is news."""
        return all(dot in self.beyond for dot in beyond(entity.clock, self.knowledge))

    def listed(self) -> list[list[str | int]]:
        """`beyond` as JSON, at most `MAX_LISTED` of it: it is kept in a document of limited size. The writes that are
        missing there count as not seen, so the next wake gets them again."""
        return [[host, counter] for host, counter in sorted(self.beyond)[:MAX_LISTED]]


def of(knowledge: Knowledge, entities: Iterable[Entity]) -> Seen:
    """The watermark after reading `entities` in a store with that knowledge."""
    held: set[Dot] = set()
    for entity in entities:
        held |= set(beyond(entity.clock, knowledge))
        held |= {write.stamp.dot for writes in entity.registers.values() for write in writes}
    return Seen(knowledge, frozenset(dot for dot in held if not has_seen(knowledge, dot)))


def stored(knowledge: Mapping[str, int], listed: Any) -> Seen:
    """The inverse of how state and messages keep it. What is not a dot there counts as not seen."""
    dots = listed if isinstance(listed, list) else []
    return Seen({Host(host): counter for host, counter in knowledge.items()}, frozenset(_dots(dots)))


def _dots(listed: list[Any]) -> Iterator[Dot]:
    for each in listed:
        match each:
            case [str(host), int(counter)]:
                yield Dot(Host(host), counter)
