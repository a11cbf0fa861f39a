"""An entity is a map of registers (docs/specs/03-entities.md, docs/specs/04-merge.md).

A *register* is one path of the document. It holds the set of writes that nobody who saw them has
overwritten. Usually that is one. When two devices wrote without knowing of each other it is two:
the greatest stamp *wins* and is shown, the others are *siblings*, kept until somebody writes having
seen them. Nothing is ever dropped at merge time; that is what makes the join a law:

    join is commutative, associative and idempotent, and takes no counter

*Precedence* is how a person's sovereignty lives in the data: a user's write carries 1, an agent's 0,
and it comes first in the stamp. A concurrent agent write never wins against a user's write that is
still held, whatever the clocks on the wall say; an agent's write made *after* seeing the user's
replaces it, by causality. (Picking "user first, then latest" at merge time and dropping the loser is
not associative: three writes make two devices differ for ever.)

A *deletion* is the register `deletedAt`, whose value also records the clock that the deleter saw. So
everybody can tell an edit that the deletion had not seen, and it is shown rather than swallowed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import canonical

DELETED_AT = "deletedAt"
LOW, HIGH = 0, 1
"""The two precedences."""


class Stamp(NamedTuple):
    """What orders concurrent writes. Compared left to right."""

    precedence: int
    millis: int
    ticks: int
    host: Host
    counter: int

    @property
    def dot(self) -> Dot:
        return Dot(self.host, self.counter)

    @property
    def hlc(self) -> Hlc:
        return Hlc(self.millis, self.ticks)


class Write(NamedTuple):
    """One value with its stamp; `value` is canonical JSON."""

    stamp: Stamp
    value: bytes


class Deletion(msgspec.Struct, frozen=True):
    """What `deletedAt` holds: when, and the clock that the deleter saw (ENT-12). A value of another shape
    is no deletion and reads as null: that way round nothing of anybody's disappears."""

    at: str
    seen: dict[Host, int]


_read_deletion = msgspec.json.Decoder(Deletion).decode
_read_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


class EqualDots(ValueError):
    """Two different writes carry one dot: a store was copied or rolled back (MERGE-8)."""


class Registers(Mapping[str, tuple[Write, ...]]):
    """Registers in the form in which they are stored: each is made when somebody looks at it, for most are only
    compared and passed on.

    `stored` is the document of the winning values, canonical JSON. Their stamps are in `stamps` as far as they differ
    from `base`, the one that most of the paths have, the greatest of several equally frequent ones. `siblings` holds
    the writes of a contested path that did not win."""

    def __init__(
        self,
        base: Stamp,
        stamps: dict[str, Stamp],
        siblings: dict[str, tuple[Write, ...]],
        stored: bytes,
        decoded: dict[str, Any] | None = None,
    ) -> None:
        self.base, self.stamps, self.siblings, self.stored = base, stamps, siblings, stored
        self._raw: dict[str, msgspec.Raw] | None = None
        self._decoded = decoded

    @property
    def raw(self) -> dict[str, msgspec.Raw]:
        """The winning values, as they are encoded."""
        if self._raw is None:
            self._raw = _read_raw(self.stored)
        return self._raw

    @property
    def decoded(self) -> dict[str, Any]:
        """The winning values; to be read, not to be changed."""
        if self._decoded is None:
            self._decoded = dict(canonical.decode(self.stored))
        return self._decoded

    def stamp(self, path: str) -> Stamp:
        """Of the winning write."""
        return self.stamps.get(path, self.base)

    def with_base(self) -> "Registers":
        """The same with the base that it ought to have."""
        if len(self.stamps) * 2 < len(self.raw) and self.base not in self.stamps.values():
            return self
        counts = {self.base: len(self.raw) - len(self.stamps)}
        for stamp in self.stamps.values():
            counts[stamp] = counts.get(stamp, 0) + 1
        base = max(counts, key=lambda stamp: (counts[stamp], stamp))
        if base == self.base and counts[base] == len(self.raw) - len(self.stamps):
            return self
        stamps = {path: stamp for path in self.raw if (stamp := self.stamp(path)) != base}
        return Registers(base, stamps, self.siblings, self.stored)

    def written(self, values: Mapping[str, bytes], stamp: Stamp) -> "Registers":
        """With these values in the place of all that their registers held."""
        raw = self.raw | {path: msgspec.Raw(value) for path, value in values.items()}
        siblings = {path: writes for path, writes in self.siblings.items() if path not in values}
        after = Registers(self.base, self.stamps | dict.fromkeys(values, stamp), siblings, _encode(raw))
        after._raw = raw
        return after.with_base()

    def __getitem__(self, path: str) -> tuple[Write, ...]:
        won = Write(self.stamps.get(path, self.base), bytes(self.raw[path]))
        return ordered([won, *self.siblings[path]]) if path in self.siblings else (won,)

    def get(self, path: str, default: Any = None) -> Any:
        return self[path] if path in self.raw else default

    def __contains__(self, path: object) -> bool:
        return path in self.raw

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


class Entity(msgspec.Struct, frozen=True):
    """`registers` maps path -> writes, the winner first; no register is empty."""

    id: str
    type: str
    clock: Mapping[Host, int]
    registers: Mapping[str, tuple[Write, ...]]

    def winner(self, path: str) -> Write | None:
        writes = self.registers.get(path)
        return writes[0] if writes else None

    def value(self, path: str) -> Any:
        """The winning value, decoded; None if absent or null."""
        write = self.winner(path)
        return canonical.decode(write.value) if write else None

    def document(self) -> dict[str, Any]:
        """The flat document: path -> winning value, decoded."""
        if isinstance(self.registers, Registers):
            return dict(canonical.decode(self.registers.stored))
        return {path: canonical.decode(writes[0].value) for path, writes in sorted(self.registers.items())}

    def stamps(self) -> set[Stamp]:
        """Those of all writes that are held."""
        registers = self.registers
        if not isinstance(registers, Registers):
            return {held.stamp for writes in registers.values() for held in writes}
        found = {registers.base, *registers.stamps.values()}
        if registers.siblings:
            found.update(held.stamp for writes in registers.siblings.values() for held in writes)
        return found

    def winning_stamps(self) -> set[Stamp]:
        registers = self.registers
        if not isinstance(registers, Registers):
            return {writes[0].stamp for writes in registers.values()}
        return {registers.base, *registers.stamps.values()}

    def dots(self, path: str) -> frozenset[Dot]:
        """The names of the writes that a register holds: the read context of whoever saw it."""
        return frozenset(write.stamp.dot for write in self.registers.get(path, ()))

    def conflicts(self) -> dict[str, list[Any]]:
        """Per path the losers' values that differ from what is shown. An edit that a deletion had not
        seen is a conflict under `deletedAt` (MERGE-6)."""
        found: dict[str, list[Any]] = {}
        for path, writes in sorted(self.registers.items()):
            if path == DELETED_AT:
                continue
            losers = sorted({write.value for write in writes[1:]} - {writes[0].value})
            if losers:
                found[path] = [canonical.decode(value) for value in losers]
        if has_unseen_edit(self):
            found[DELETED_AT] = [canonical.decode(w.value) for w in self.registers[DELETED_AT]]
        return found


def ordered(writes: Iterable[Write]) -> tuple[Write, ...]:
    return tuple(sorted(set(writes), reverse=True))


def join(a: Entity, b: Entity) -> Entity:
    """The least entity that holds what both hold: MERGE-1 to MERGE-4. Needs no schema.

    Raises `EqualDots` where one dot names two values, `ValueError` where the two are not one entity."""
    if (a.id, a.type) != (b.id, b.type):
        raise ValueError(f"entity {a.id} is of type {a.type!r} here and {b.id} of type {b.type!r} there")
    registers: dict[str, tuple[Write, ...]] = {}
    for path in a.registers.keys() | b.registers.keys():
        ours, theirs = a.registers.get(path, ()), b.registers.get(path, ())
        if ours == theirs:
            registers[path] = ours
            continue
        _refuse_equal_dots(a.id, path, ours, theirs)
        kept = [w for w in ours if w in theirs or not vector_clock.has_seen(b.clock, w.stamp.dot)]
        kept += [w for w in theirs if w in ours or not vector_clock.has_seen(a.clock, w.stamp.dot)]
        if kept:
            registers[path] = ordered(kept)
    return Entity(a.id, a.type, vector_clock.merge(a.clock, b.clock), registers)


def succeeds(after: Entity, before: Entity, changed: Iterable[str]) -> bool:
    """Whether one entity was written by somebody who had seen all of the other, so that their join is the one: it is
    nearly always so, and far cheaper to see than to join. False also where it cannot be told at once. `changed` are
    the paths in which they are `differing`."""
    new, old = after.registers, before.registers
    if not isinstance(new, Registers) or not isinstance(old, Registers) or new.siblings or old.siblings:
        return False
    if not (vector_clock.covers(after.clock, before.clock) and old.raw.keys() <= new.raw.keys()):
        return False
    stamps = {new.stamp(path) for path in changed}
    return not any(before.clock.get(stamp.host, 0) >= stamp.counter for stamp in stamps)


def differing(a: Entity, b: Entity) -> set[str]:
    """The paths whose registers are not the same in both. Of those that are, none is made to see it."""
    ours, theirs = a.registers, b.registers
    if not isinstance(ours, Registers) or not isinstance(theirs, Registers):
        return {path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)}
    old, new = ours.raw, theirs.raw
    if old.keys() == new.keys():
        paths = {path for path, value in new.items() if old[path] != value}
    else:
        paths = {path for path, value in new.items() if path not in old or old[path] != value}
        paths.update(old.keys() - new.keys())
    if ours.base != theirs.base:
        paths.update(path for path in old.keys() & new.keys() if ours.stamp(path) != theirs.stamp(path))
    elif ours.stamps != theirs.stamps:
        stamped = ours.stamps.keys() | theirs.stamps.keys()
        paths.update(path for path in stamped if ours.stamp(path) != theirs.stamp(path))
    if ours.siblings or theirs.siblings:
        contested = ours.siblings.keys() | theirs.siblings.keys()
        paths.update(path for path in contested if ours.siblings.get(path) != theirs.siblings.get(path))
    return paths


def _refuse_equal_dots(entity: str, path: str, ours: tuple[Write, ...], theirs: tuple[Write, ...]) -> None:
    named = {write.stamp.dot: write for write in ours}
    for write in theirs:
        other = named.get(write.stamp.dot)
        if other is not None and other != write:
            host, counter = write.stamp.dot
            raise EqualDots(f"write {counter} of host {host} has two meanings in {path!r} of {entity}")


def write(entity: Entity, values: Mapping[str, bytes], stamp: Stamp, seen: Clock | None = None) -> Entity:
    """One write to several registers: replaces the writes that the writer saw, takes one dot (MERGE-5).

    `seen` is the clock the writer had read; None means the entity as it is here."""
    clock = {**entity.clock, stamp.host: stamp.counter}
    if seen is None and isinstance(entity.registers, Registers):
        return Entity(entity.id, entity.type, clock, entity.registers.written(values, stamp))
    registers = dict(entity.registers)
    for path, value in values.items():
        unseen = (
            w for w in registers.get(path, ()) if seen is not None and not vector_clock.has_seen(seen, w.stamp.dot)
        )
        registers[path] = ordered([*unseen, Write(stamp, value)])
    return Entity(entity.id, entity.type, clock, registers)


def deletion(at: str, seen: Clock) -> bytes:
    """The value of `deletedAt`: the time (ISO 8601, UTC) and the clock that the deleter saw."""
    return canonical.encode({"at": at, "seen": dict(seen)})


def as_deletion(write: Write) -> Deletion | None:
    """What a write of `deletedAt` says; None if it is no deletion."""
    try:
        return _read_deletion(write.value)
    except msgspec.ValidationError:
        return None


def _unseen(entity: Entity, deletions: list[tuple[Stamp, Deletion]]) -> list[Stamp]:
    """The stamps of edits that none of `deletions` had seen."""
    return [
        write.stamp
        for path, writes in entity.registers.items()
        if path != DELETED_AT
        for write in writes
        if not any(write.stamp.dot == by.dot or vector_clock.has_seen(d.seen, write.stamp.dot) for by, d in deletions)
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
    """The stamps of what speaks against the deletions that are held: edits that none of them had seen, and what stands
    beside them in their own register, because somebody brought the entity back. Empty where there is no deletion."""
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
    contested = entity.registers.siblings if isinstance(entity.registers, Registers) else entity.registers
    for path in contested:
        writes = entity.registers[path]
        if path != DELETED_AT and any(held.value != writes[0].value for held in writes[1:]):
            return True
    return DELETED_AT in entity.registers and has_unseen_edit(entity)


def is_clean_tombstone(entity: Entity) -> bool:
    """Deleted, and nobody's edit is lost by forgetting it: such an entity adds nothing to the digest."""
    return is_deleted(entity) and not has_unseen_edit(entity)
