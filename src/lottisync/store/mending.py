"""Mending: what two stores keep where they differ although their knowledge is equal
(docs/specs/15-mending.md).

`mend` applies the rules of section 3 to what a peer holds. `repair` computes again what is kept beside the content of
sound rows: marks, columns, index, digest. A row that fails its own hash stays as it is, unless the index or a peer
vouches for its content; the person may `accept` it.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Dot
from lottisync.entities import version
from lottisync.entities.entity import Entity, has_conflict, join
from lottisync.entities.registers import Registers, Write, ordered
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import BadVersion, Damaged, Version
from lottisync.problem import Invalid, Problem
from lottisync.store import chain, damage, tables
from lottisync.store.columns import DerivedColumns, columns_between, columns_of, fits
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader, Row
from lottisync.store.transaction import Transaction

_STRIDE = 500


def sound(reader: Reader, ids: Iterable[str]) -> list[Version]:
    """The versions to send of entities that differ: of the rows among them whose content has its stored hash, and
    of what is in quarantine with its own."""
    found = []
    kept = [held.version for held in reader.quarantined() if held.version.hash() == held.hash]
    for entity_id in dict.fromkeys(ids):
        row = damage.raw_row(reader, entity_id)
        if row is not None and row.is_sound:
            found.append(row.version)
        found += [made for made in kept if made.id == entity_id]
    return found


def still_damaged(reader: Reader, numbers: Iterable[int]) -> list[int]:
    """Those of the rows with these numbers whose content does not have its stored hash."""
    rows = [found[0] for n in numbers if (found := damage.row_at(reader, n)) is not None]
    return [row.n for row in rows if not row.is_sound]


def mend(tx: Merge, versions: Iterable[tuple[Version, Entity]]) -> int:
    """Put right what differs from a peer's versions, already checked; returns how many entities changed here. The
    digest is right afterwards, which costs a pass over the stored hashes: give it many at once (MEND-4 to MEND-7)."""
    mended = 0
    for incoming, entity in versions:
        row = damage.raw_row(tx, incoming.id)
        if row is None:
            mended += tx.apply([(incoming, entity)])
            continue
        damaged = not row.is_sound
        if not damaged and row.version == incoming:
            continue
        before = _readable(row.version)
        try:
            after = _over_damage(tx, row, before, entity) if damaged else _over_sound(before, entity)
            if after is not None and (damaged or after != before):
                _refuse_large(after)
                tx.replace(after, before=before)
                mended += 1
        except BadVersion as error:
            tx.quarantine(incoming, error.sentence)
    if mended:
        tx.recount()
    return mended


def _over_damage(tx: Merge, row: Row, ours: Entity | None, theirs: Entity) -> Entity | None:
    """Rule 1. A damaged row that holds more than the peer has seen keeps that, if it can be read, and takes all that
    the peer holds; None leaves it as it is."""
    clock = damage.indexed_clock(tx, row.n) or (ours.clock if ours else {})
    if vector_clock.covers(theirs.clock, clock):
        return theirs
    if ours is None or ours.type != theirs.type:
        return None
    registers = {}
    for p in ours.registers.keys() | theirs.registers.keys():
        beyond = [w for w in ours.registers.get(p, ()) if not vector_clock.has_seen(theirs.clock, w.stamp.dot)]
        kept = [*theirs.registers.get(p, ()), *beyond]
        if kept:
            registers[p] = ordered(kept)
    return Entity(ours.id, ours.type, vector_clock.merge(ours.clock, theirs.clock), Registers.of(registers))


def _over_sound(ours: Entity | None, theirs: Entity) -> Entity | None:
    """Rules 2 and 3."""
    if ours is None:
        return None
    if ours.clock == theirs.clock:
        return _united(ours, theirs)
    if ours.type != theirs.type:
        raise BadVersion(
            "{entity} is a {here} here, and came as a {there}", entity=ours.id, here=ours.type, there=theirs.type
        )
    return join(_settled(ours, theirs), _settled(theirs, ours))


def _united(a: Entity, b: Entity) -> Entity:
    registers = {}
    for p in a.registers.keys() | b.registers.keys():
        named: dict[Dot, Write] = {}
        for held in (*a.registers.get(p, ()), *b.registers.get(p, ())):
            named[held.stamp.dot] = _greater(held, named.get(held.stamp.dot))
        registers[p] = ordered(named.values())
    return Entity(a.id, max(a.type, b.type), a.clock, Registers.of(registers))


def _settled(a: Entity, b: Entity) -> Entity:
    """`a`, in which each name that has another content in `b` has the greater of the two contents."""
    registers = {}
    for p, writes in a.registers.items():
        theirs = {held.stamp.dot: held for held in b.registers.get(p, ())}
        registers[p] = ordered(_greater(held, theirs.get(held.stamp.dot)) for held in writes)
    return Entity(a.id, a.type, a.clock, Registers.of(registers))


def _greater(a: Write, b: Write | None) -> Write:
    """The content with the greater value, of two that have one name. Any rule would do, if both sides follow it."""
    return a if b is None else max(a, b, key=lambda held: (held.value, held.stamp))


def repair(tx: Merge, same_there: Container[str] = (), *, ids: Iterable[str] | None = None) -> int:
    """Make again, from the content of every sound row, all that is kept of it twice: its marks and columns, the index,
    the digest. `same_there` are the ids of damaged rows of which a peer holds the same content: that content is taken
    as good, and its hash is made again. Returns how many rows were wrong (MEND-8).

    With `ids` only the rows of these entities are looked at. That is enough where the digest is the sum of the stored
    hashes, and far cheaper."""
    repaired = 0
    written = _known_writes(tx)
    for found in _every(tx) if ids is None else _named(tx, ids):
        entity = _within(written, _content(tx, found.row, same_there))
        if entity is not None and not found.agrees_with(tx.schema, entity) and fits(tx.schema, entity):
            tx.replace(entity)
            repaired += 1
    if ids is None:
        _index_again(tx)
        tx.recount()
    return repaired


def name_again(tx: Merge, numbers: Iterable[int], others: Iterable[str] = ()) -> list[str]:
    """Put those of the rows with these numbers right whose id alone is damaged (MEND-881). What such a row holds is
    joined with what is here under the right id: a peer may have sent that before. Gives the right ids."""
    tried, named = sorted(others), []
    for n in numbers:
        found = damage.row_at(tx, n)
        if found is None or found[0].is_sound:
            continue
        made = damage.under_own_id(*found, tried)
        entity = _readable(made) if made is not None else None
        if made is not None and entity is not None:
            tx.remove_row(found[0])
            tx.apply([(made, entity)])
            named.append(made.id)
    if named:
        tx.recount()
    return named


def accept(tx: Transaction, entity_id: str) -> Dot:
    """Take what a damaged row shows now as what the person means, and write all of it under one fresh dot: no other
    device has this content under the old names (MEND-25). Raises `Problem` for a row that is not there, is not damaged,
    or cannot be read."""
    row = damage.raw_row(tx, entity_id)
    if row is None:
        raise Problem(
            "unknown-id", "there is no {entity_id} in the {name} store", entity_id=entity_id, name=tx.schema.name
        )
    if row.is_sound:
        raise Problem("not-damaged", "{entity_id} is not damaged: there is nothing to accept", entity_id=entity_id)
    try:
        entity = _within(_known_writes(tx), version.open_foreign(row.version))
    except BadVersion as error:
        raise Damaged(entity_id, error) from None
    if entity is None:
        raise Damaged(entity_id, Invalid("it holds a write that no device is known to have made"))
    seen = vector_clock.merge(entity.clock, damage.indexed_clock(tx, row.n))
    try:
        tx.replace(msgspec.structs.replace(entity, clock=seen))
    except BadVersion as error:
        raise Damaged(entity_id, error) from None
    dot = tx.keep(entity_id, {p: writes[0].value for p, writes in entity.registers.items()})
    tx.recount()
    return dot


def _known_writes(reader: Reader) -> Clock:
    """How far the chain of each host goes."""
    return {host: end.end for host, end in chain.log_ends(reader).items()}


def in_step(reader: Reader) -> bool:
    """Whether all that is kept beside the content of the rows follows from it: marks, columns, the index. No peer can
    tell, and none is needed to put it right. (Content that does not have its hash, `Fingerprints` finds.)"""
    last, components = -1, sum(len(kept.clock) for kept in reader.quarantined())
    while rows := _after(reader, last):
        last = rows[-1].row.n
        for found in rows:
            try:
                entity = version.open_stored(found.row.version)
                if not found.shows(reader.schema, entity):
                    return False
            except (Damaged, BadVersion):
                return False
            components += len(entity.clock)
    return components == reader.local("select count(*) from components")[0][0] and not reader.local(
        """select 1 from rows r join json_each(r.clock) c left join hosts h on h.host = c.key
           left join components x on x.host = h.n and x.counter = c.value and x.n = r.n where x.n is null limit 1"""
    )


def _content(tx: Merge, row: Row, same_there: Container[str]) -> Entity | None:
    """What a row holds; None if that is not known (MEND-40)."""
    if row.is_sound:
        return _readable(row.version)
    if (restored := damage.under_indexed_clock(tx, row.n, row.version, row.hash)) is not None:
        return _readable(restored)
    entity = _readable(row.version) if row.version.id in same_there else None
    # Of a clean tombstone no comparison knows whether the peer has it.
    return entity if entity is not None and version.adds_to_digest(entity) else None


def _within(written: Clock, entity: Entity | None) -> Entity | None:
    """The entity, with a clock that claims no writes that are in no chain here; None if the entity holds such a
    write."""
    if entity is None or vector_clock.covers(written, entity.clock):
        return entity
    seen = {host: min(counter, written[host]) for host, counter in entity.clock.items() if written.get(host)}
    dots = [held.stamp.dot for writes in entity.registers.values() for held in writes]
    return (
        msgspec.structs.replace(entity, clock=seen) if all(vector_clock.has_seen(seen, dot) for dot in dots) else None
    )


class _Stored(NamedTuple):
    row: Row
    conflicted: bool
    columns: DerivedColumns

    def agrees_with(self, schema: StoreSchema, entity: Entity) -> bool:
        """Whether what is stored beside a row fits its content."""
        kept = self.row.hash == self.row.version.hash() and self.row.version.read_clock() == entity.clock
        return kept and fits(schema, entity) and self.shows(schema, entity)

    def shows(self, schema: StoreSchema, entity: Entity) -> bool:
        """Whether marks and columns are those of the entity. Raises `BadVersion` for a link under another's id."""
        return (
            self.columns == columns_of(schema, entity)
            and self.row.clean_tombstone != version.adds_to_digest(entity)
            and self.conflicted == has_conflict(entity)
        )


_STORED = f"select n, {tables.RAW_COLUMNS}, hash, clean_tombstone, conflicted from rows"


def _every(reader: Reader) -> Iterator[_Stored]:
    """All rows. The caller may replace rows while it goes through them."""
    last = -1
    while rows := _after(reader, last):
        last = rows[-1].row.n
        yield from rows


def _named(reader: Reader, ids: Iterable[str]) -> Iterator[_Stored]:
    for entity_id in dict.fromkeys(ids):
        yield from _stored(reader, reader.local(f"{_STORED} where id = ?", (entity_id,)))


def _after(reader: Reader, last: int) -> list[_Stored]:
    return _stored(reader, reader.local(f"{_STORED} where n > ? order by n limit {_STRIDE}", (last,)))


def _stored(reader: Reader, rows: list[tuple[Any, ...]]) -> list[_Stored]:
    columns = columns_between(reader, rows[0][0] - 1, rows[-1][0]) if rows else {}
    return [
        _Stored(Row(n, tables.raw_version(*parts), stored, bool(clean)), bool(conflicted), columns[n])
        for n, *parts, stored, clean, conflicted in rows
    ]


def _index_again(tx: Merge) -> None:
    """Every component of every clock that can be read, and no other. The entries of a damaged row stay, because the
    index is more likely right than the row."""
    witnessed = _witnessed(tx)
    tx.execute("delete from components")
    last = -1
    while rows := _after(tx, last):
        last = rows[-1].row.n
        for found in rows:
            tx.index(found.row.n, witnessed.get(found.row.n) or _clock_of(found.row.version))
    for kept in tx.quarantined():
        tx.index(kept.n, kept.clock)


def _witnessed(tx: Merge) -> dict[int, Clock]:
    """The clocks that the index has of damaged rows, by row number."""
    found: dict[int, Clock] = {}
    last = -1
    while rows := _after(tx, last):
        last = rows[-1].row.n
        for row in (held.row for held in rows if not held.row.is_sound):
            found[row.n] = damage.indexed_clock(tx, row.n)
    return found


def _readable(made: Version) -> Entity | None:
    try:
        return version.open_foreign(made)
    except BadVersion:
        return None


def _clock_of(made: Version) -> Clock:
    try:
        return version.clock_of(made)
    except BadVersion:
        return {}


def _refuse_large(after: Entity) -> None:
    size = version.close(after).size()
    if size > version.MAX_VERSION:
        raise BadVersion(
            "{entity} mended would have {size} bytes; at most {limit} are taken",
            entity=after.id,
            size=size,
            limit=version.MAX_VERSION,
        )
