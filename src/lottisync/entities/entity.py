"""An entity is a map of registers (docs/specs/03-entities.md, docs/specs/04-merge.md).

A *register* is one path of the document. It holds the set of writes that nobody who saw them has
overwritten. Usually that is one. When two devices wrote without knowing of each other it is two:
the greatest stamp *wins* and is shown, the others are *siblings*, kept until somebody writes having
seen them. Nothing is ever dropped at merge time; that is what makes the join a law:

    join is commutative, associative and idempotent, and takes no counter

*Precedence* comes first in the stamp: a write carries 1 (high) or 0 (low). A low write never wins against
a concurrent high write that is still held, whatever their times. A low write whose author had *seen* the
high one replaces it, by causality. (If a merge picked "high first, then latest" and dropped the loser, it
would not be associative: three writes could make two devices differ for ever.)

A *deletion* is the register `deletedAt`, whose value also records the clock that the deleter saw. So
everybody can tell an edit that the deletion had not seen, and it is shown rather than swallowed.

How registers are kept in memory is in `lottisync.entities.registers`.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import canonical
from lottisync.entities.registers import Registers, Stamp, Write, lookup, ordered
from lottisync.problem import Invalid

DELETED_AT = "deletedAt"
LOW, HIGH = 0, 1
"""The two precedences."""


_SeenHost = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]
_SeenCounter = Annotated[int, msgspec.Meta(ge=0, le=vector_clock.MAX_COUNTER)]


class Deletion(msgspec.Struct, frozen=True):
    """What `deletedAt` holds: when, as any text, and the clock that the deleter saw (ENT-12). A value of another
    shape is not a deletion and reads as null (ENT-123), so nothing of anybody's disappears."""

    at: str
    seen: dict[_SeenHost, _SeenCounter]

    def has_seen(self, dot: Dot) -> bool:
        return self.seen.get(dot.host, 0) >= dot.counter


_read_deletion = msgspec.json.Decoder(Deletion).decode


class EqualDots(Invalid):
    """Two different writes carry one dot: a store was copied or rolled back (MERGE-8)."""


class Entity(msgspec.Struct, frozen=True):
    """`registers` maps path -> writes, the winner first; no register is empty."""

    id: str
    type: str
    clock: Mapping[Host, int]
    registers: Registers

    def winner(self, path: str) -> Write | None:
        writes = self.registers.get(path)
        return writes[0] if writes else None

    def value(self, path: str) -> Any:
        """The winning value, decoded; None if absent or null."""
        write = self.winner(path)
        return canonical.decode(write.value) if write else None

    def document(self) -> dict[str, Any]:
        """The flat document: path -> winning value, decoded."""
        return dict(canonical.decode(self.registers.stored))

    def dots(self, path: str) -> frozenset[Dot]:
        """The dots of the writes that a register holds: the read context of a reader."""
        return frozenset(write.stamp.dot for write in self.registers.get(path, ()))

    def conflicts(self) -> dict[str, list[Any]]:
        """Per path the losers' values that differ from what is shown. An edit that a deletion had not
        seen is a conflict under `deletedAt` (MERGE-6)."""
        found: dict[str, list[Any]] = {}
        for path in sorted(self.registers.siblings.keys() - {DELETED_AT}):
            writes = self.registers[path]
            losers = sorted({write.value for write in writes[1:]} - {writes[0].value})
            if losers:
                found[path] = [canonical.decode(value) for value in losers]
        if has_unseen_edit(self):
            found[DELETED_AT] = [canonical.decode(w.value) for w in self.registers[DELETED_AT]]
        return found


def join(a: Entity, b: Entity) -> Entity:
    """The least entity that holds what both hold: MERGE-1 to MERGE-4. Needs no schema.

    Raises `EqualDots` where one dot names two values, `Invalid` where the two are not one entity."""
    if (a.id, a.type) != (b.id, b.type):
        raise Invalid(
            "entity {id} is of type {type!r} here and {other} of type {other_type!r} there",
            id=a.id,
            type=a.type,
            other=b.id,
            other_type=b.type,
        )
    registers: dict[str, tuple[Write, ...]] = {}
    for path in a.registers.keys() | b.registers.keys():
        ours, theirs = a.registers.get(path, ()), b.registers.get(path, ())
        if ours == theirs:
            registers[path] = ours
            continue
        _refuse_equal_dots(a.id, path, ours, theirs)
        here, there = lookup(ours), lookup(theirs)
        kept = [w for w in ours if w in there or not vector_clock.has_seen(b.clock, w.stamp.dot)]
        kept += [w for w in theirs if w in here or not vector_clock.has_seen(a.clock, w.stamp.dot)]
        if kept:
            registers[path] = ordered(kept)
    return Entity(a.id, a.type, vector_clock.merge(a.clock, b.clock), Registers.of(registers))


def succeeds(after: Entity, before: Entity, changed: Iterable[str]) -> bool:
    """Whether the writer of `after` had seen all of `before`, so that their join is `after`. It nearly always is so,
    and to see it is far cheaper than to join. False also where it cannot be seen at once. `changed` are the paths in
    which the two differ."""
    new, old = after.registers, before.registers
    if new.siblings or old.siblings:
        return False
    if not (vector_clock.covers(after.clock, before.clock) and old.raw.keys() <= new.raw.keys()):
        return False
    stamps = {new.stamp(path) for path in changed}
    return not any(before.clock.get(stamp.host, 0) >= stamp.counter for stamp in stamps)


def _refuse_equal_dots(entity: str, path: str, ours: tuple[Write, ...], theirs: tuple[Write, ...]) -> None:
    named = {write.stamp.dot: write for write in ours}
    for write in theirs:
        other = named.get(write.stamp.dot)
        if other is not None and other != write:
            host, counter = write.stamp.dot
            raise EqualDots(
                "write {counter} of host {host} has two meanings in {path!r} of {entity}",
                counter=counter,
                host=host,
                path=path,
                entity=entity,
            )


def write(entity: Entity, values: Mapping[str, bytes], stamp: Stamp, seen: Clock | None = None) -> Entity:
    """One write to several registers: replaces the writes that the writer saw, takes one dot (MERGE-5).

    `seen` is the clock the writer had read; None means the entity as it is here."""
    clock = {**entity.clock, stamp.host: stamp.counter}
    if seen is None:
        return Entity(entity.id, entity.type, clock, entity.registers.written(values, stamp))
    registers = dict(entity.registers)
    for path, value in values.items():
        unseen = (w for w in registers.get(path, ()) if not vector_clock.has_seen(seen, w.stamp.dot))
        registers[path] = ordered([*unseen, Write(stamp, value)])
    return Entity(entity.id, entity.type, clock, Registers.of(registers))


def deletion(at: str, seen: Clock) -> bytes:
    """The value of `deletedAt`: the time (ISO 8601, UTC) and the clock that the deleter saw."""
    return canonical.encode({"at": at, "seen": dict(seen)})


def as_deletion(write: Write) -> Deletion | None:
    """What a write of `deletedAt` says; None if it is not a deletion."""
    try:
        return _read_deletion(write.value)
    except canonical.UNREADABLE:
        return None


def _unseen(entity: Entity, deletions: list[tuple[Stamp, Deletion]]) -> list[Stamp]:
    """The stamps of edits that no deletion of `deletions` had seen, each once."""
    return [
        stamp
        for stamp in entity.registers.stamps_without(DELETED_AT)
        if not any(stamp.dot == by.dot or d.has_seen(stamp.dot) for by, d in deletions)
    ]


def _deletions(entity: Entity) -> list[tuple[Stamp, Deletion]]:
    """Those that are held, in the order of their writes."""
    writes = entity.registers.get(DELETED_AT, ())
    return [(write.stamp, found) for write in writes if (found := as_deletion(write))]


def is_deleted(entity: Entity) -> bool:
    """Whether a deletion wins, and holds against the edits that no deletion here had seen (MERGE-7). Were it only asked
    what the winner had seen, a second deletion could bring back what the first one had rightly deleted."""
    winner = entity.winner(DELETED_AT)
    if winner is None:
        return False
    deletions = _deletions(entity)
    if not deletions or deletions[0][0] != winner.stamp:
        return False
    return not any(stamp.precedence > winner.stamp.precedence for stamp in _unseen(entity, deletions))


def against_deletion(entity: Entity) -> list[Stamp]:
    """The stamps of the writes that contradict the deletions: edits that no deletion had seen, and writes in the
    register of the deletion itself that bring the entity back. Empty where there is no deletion."""
    deletions = _deletions(entity)
    if not deletions:
        return []
    brought_back = [write.stamp for write in entity.registers[DELETED_AT] if as_deletion(write) is None]
    return brought_back + _unseen(entity, deletions)


def has_unseen_edit(entity: Entity) -> bool:
    """A live sibling of a deletion, or an edit that no deletion here has seen: "deleted here, edited there"."""
    return bool(against_deletion(entity))


def has_conflict(entity: Entity) -> bool:
    """Whether there is anything to show under `conflicts`, without decoding a value."""
    for path in entity.registers.siblings:
        writes = entity.registers[path]
        if path != DELETED_AT and any(held.value != writes[0].value for held in writes[1:]):
            return True
    return DELETED_AT in entity.registers and has_unseen_edit(entity)


def is_clean_tombstone(entity: Entity) -> bool:
    """Deleted, and nobody's edit is lost by forgetting it: such an entity adds nothing to the digest."""
    return is_deleted(entity) and not has_unseen_edit(entity)
