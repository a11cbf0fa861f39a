"""Writing: the transaction in which this device writes entities (docs/specs/05-store.md, sections 3 to 6).

A write takes the next counter of the store's host in the transaction that stores it. So a counter is never lost and
never used twice. What a write changes beside its entity's row is kept in step by `lottisync.store.rows`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import apsw

from lottisync.causality import hlc
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import batch, canonical, edit, path, version
from lottisync.entities.batch import Columns
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, deletion, is_deleted, write
from lottisync.entities.fields import Fields, fields_of
from lottisync.entities.identifier import made_once
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.registers import Registers, Stamp
from lottisync.entities.schema import StoreSchema, link_id
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import LocalError, Problem
from lottisync.store import lookups
from lottisync.store.batch import NewRows, PendingEdit
from lottisync.store.columns import CREATED_AT, own_columns
from lottisync.store.instant import iso
from lottisync.store.known_hosts import Latest
from lottisync.store.merge import Merge
from lottisync.store.reader import Row
from lottisync.store.rows import INSERT_COMPONENT

Put = tuple[str, str, Mapping[str, Any]]
"""What a write is made of: the id of an entity, its type, and fields of it."""


def refuse_bad_precedence(given: object) -> None:
    """Raise `Problem` unless it is `HIGH` or `LOW`."""
    if type(given) is not int or given not in (LOW, HIGH):
        raise Problem("bad-value", "a write has the precedence HIGH or LOW, not {given!r}", given=given)


class Transaction(Merge):
    """Writes of one precedence; reads in it see them. Made by `Store.transaction`."""

    def __init__(
        self,
        schema: StoreSchema,
        connection: apsw.Connection,
        mint: Callable[[], Host],
        now: int,
        precedence: int,
        hosts: Latest,
    ) -> None:
        refuse_bad_precedence(precedence)
        super().__init__(schema, connection, mint, now, hosts)
        self.precedence = precedence

    def put(
        self,
        entity_id: str,
        type_name: str,
        fields: Mapping[str, Any],
        *,
        precedence: int | None = None,
        seen: Clock | None = None,
    ) -> Dot:
        """Write `fields` (nested or flat; see `path.flatten`) in one write with one dot (STORE-3), with the
        transaction's precedence, or a lower one.

        `seen` is the clock that the writer had read; what is here beyond it stays as siblings. Raises
        `Problem` for an id of another type, an empty write, a document that is too large, and for an id,
        a type, a path or a value that no peer would take."""
        try:
            version.validated_id(entity_id)
            version.validated_type(type_name)
            values = path.flatten(fields)
            if not values:
                raise Problem("empty-write", "a write to {entity_id} needs at least one field", entity_id=entity_id)
            row = self._row(entity_id)
            if row is None and DELETED_AT not in values and not self._begins_from(entity_id):
                return self._write_new(entity_id, type_name, values, self._allowed(precedence))
            encoded = {p: canonical.encode_normal(value) for p, value in values.items()}
            return self._write(row, entity_id, type_name, encoded, self._allowed(precedence), seen)
        except (BadVersion, path.PathError, canonical.NotCanonical) as error:
            raise Problem(
                "bad-value", "{entity_id!r} cannot be written: {error}", entity_id=entity_id[:80], error=error
            ) from None

    def put_all(self, entities: Iterable[Put], *, precedence: int | None = None) -> None:
        """`put` each of them, many at once where all of them are new here, or all are here already."""
        remaining = iter(entities)
        while some := list(islice(remaining, batch.TOGETHER)):
            if len(some) <= batch.FEW or not self._put_together(some, precedence):
                for entity_id, type_name, fields in some:
                    self.put(entity_id, type_name, fields, precedence=precedence)

    def _put_together(self, entities: list[Put], precedence: int | None) -> bool:
        """Make one write for each of them, column by column. False, and nothing is written, if anything about them is
        unusual, or wrong."""
        try:
            allowed, readings = self._allowed(precedence), hlc.ticks(self._clock, self.now, len(entities))
        except (LocalError, hlc.HlcError):
            return False
        fields = _fields(entities)
        if fields is None or max(map(len, fields.documents)) > version.MAX_DOCUMENT:
            return False
        ids, types, _ = zip(*entities, strict=True)
        present = self._load(ids)
        if present:
            return self._put_edits(ids, types, fields.documents, present, allowed, readings)
        return self._put_new(ids, types, fields, allowed, readings)

    def _put_new(
        self,
        ids: Sequence[str],
        types: Sequence[str],
        fields: Fields,
        precedence: int,
        readings: Sequence[tuple[int, int]],
    ) -> bool:
        if self._forgotten != {} and any(map(self._begins_from, ids)):
            return False
        if not self._takes(ids, types):
            return False
        counters = range(self._counter + 1, self._counter + len(ids) + 1)
        columns = batch.first(ids, types, precedence, readings, self._host, counters, fields.documents)
        millis = [millis for millis, _ in readings]
        hashes = self._add_all(NewRows(columns, fields.column, [{self._host: n} for n in counters], millis, millis))
        self._extend_chain(hashes)
        self._clock = Hlc(*readings[-1])
        return True

    def _put_edits(
        self,
        ids: Sequence[str],
        types: Sequence[str],
        documents: Sequence[bytes],
        present: Mapping[str, Row],
        precedence: int,
        readings: Sequence[tuple[int, int]],
    ) -> bool:
        rows = self._editable([present[ident] for ident in dict.fromkeys(ids) if ident in present])
        if [(row.version.id, row.version.type) for row in rows] != list(zip(ids, types, strict=True)):
            return False
        stamps = [
            Stamp(precedence, millis, ticks, self._host, counter)
            for counter, (millis, ticks) in enumerate(readings, self._counter + 1)
        ]
        made = edit.made([row.version for row in rows], documents, stamps)
        if made is None or not all(map(self._keeps_columns, made)) or not all(_fits(each.after) for each in made):
            return False
        hashes = Columns.of(each.after for each in made).hashes()
        self._edit_all(list(map(PendingEdit, rows, made, hashes, range(self._feed + 1, self._feed + 1 + len(made)))))
        self._feed += len(made)
        self._extend_chain(hashes)
        self._clock = Hlc(*readings[-1])
        return True

    def link(
        self,
        type_name: str,
        from_id: str,
        to_id: str,
        fields: Mapping[str, Any] = {},
        *,
        precedence: int | None = None,
    ) -> Dot:
        """Link two entities. If the link is there, it is written again that it is not deleted; one that was deleted is
        brought back as by `undelete`."""
        ident = link_id(type_name, from_id, to_id)
        entity = self.entity(ident)
        if entity is None:
            values = {FROM_ID: from_id, TO_ID: to_id, CREATED_AT: iso(self.now)}
        else:
            values = (entity.document() if is_deleted(entity) else {}) | {DELETED_AT: None}
        return self.put(ident, type_name, {**values, **fields}, precedence=precedence)

    def keep(self, entity_id: str, values: Mapping[str, bytes], *, precedence: int | None = None) -> Dot:
        """Write values that are held here once more, by path, as the same bytes: a map that was written as one value
        stays one value. `put` would split it."""
        row, entity = self._existing(entity_id)
        return self._write(row, entity_id, entity.type, values, self._allowed(precedence), None)

    def delete(self, entity_id: str, *, precedence: int | None = None) -> Dot:
        """Write a tombstone that records what the deleter saw."""
        row, entity = self._existing(entity_id)
        value = deletion(iso(self.now), entity.clock)
        return self._write(row, entity_id, entity.type, {DELETED_AT: value}, self._allowed(precedence), None)

    def undelete(self, entity_id: str, *, precedence: int | None = None) -> Dot:
        """Bring an entity back: every register is written again, so that no older deletion covers it."""
        row, entity = self._existing(entity_id)
        values = {p: writes[0].value for p, writes in entity.registers.items()}
        return self._write(row, entity_id, entity.type, values | {DELETED_AT: b"null"}, self._allowed(precedence), None)

    def _allowed(self, precedence: int | None) -> int:
        """The precedence of a write: the transaction's, or a lower one that was asked for (STORE-71)."""
        if precedence is None:
            return self.precedence
        if not LOW <= precedence <= self.precedence:
            raise LocalError(f"a transaction of precedence {self.precedence} cannot write with precedence {precedence}")
        return precedence

    def _existing(self, entity_id: str) -> tuple[Row, Entity]:
        row = self._row(entity_id)
        if row is None:
            raise Problem(
                "unknown-id", "there is no {entity_id} in the {name} store", entity_id=entity_id, name=self.schema.name
            )
        return row, row.sound()

    def _begins_from(self, entity_id: str) -> Clock:
        """The clock under the first write on an absent id: all that was forgotten, for the id may have been among
        it; nothing if the id is one that is made once (FORGET-6)."""
        if self._forgotten is None:
            self._forgotten = lookups.forgotten(self)
        return {} if not self._forgotten or made_once(entity_id) else self._forgotten

    def _write_new(self, entity_id: str, type_name: str, values: dict[str, Any], precedence: int) -> Dot:
        """The first write of an entity: its version is made straight from the values."""
        storage = self._storage(type_name)
        own = own_columns(storage.described, entity_id, type_name, values.get)
        document = canonical.encode_normal(values)
        if len(document) > version.MAX_DOCUMENT:
            raise _too_large(entity_id, len(document))
        self._clock = hlc.tick(self._clock, self.now)
        dot = Dot(self._host, self._counter + 1)
        made = version.first(entity_id, type_name, precedence, self._clock, dot, document)
        version_hash = self._add_new(storage.statements, own, made, self._clock.millis, values.get(CREATED_AT))
        self._buffer.add(INSERT_COMPONENT, (self._number, dot.counter, self._n))
        self._extend_chain([version_hash])
        return dot

    def _write(
        self,
        row: Row | None,
        entity_id: str,
        type_name: str,
        values: Mapping[str, bytes],
        precedence: int,
        seen: Clock | None,
    ) -> Dot:
        if row is not None:
            entity = row.sound()
        else:
            entity = Entity(entity_id, type_name, self._begins_from(entity_id), Registers.of({}))
        if entity.type != type_name:
            raise Problem(
                "wrong-type",
                "{entity_id} is a {type}, not a {type_name}",
                entity_id=entity_id,
                type=entity.type,
                type_name=type_name,
            )
        reading = hlc.tick(self._clock, self.now)
        stamp = Stamp(precedence, reading.millis, reading.ticks, self._host, self._counter + 1)
        after = write(entity, values, stamp, seen)
        changes = set(values)  # no other register is touched, and no write before has this stamp
        closed = version.close(after)
        if not _fits(closed):
            raise _too_large(entity_id, len(closed.document))
        written = self._store(row, entity, after, closed, changes)
        assert written is not None, "a write always changes the clock"
        self._clock = reading
        self._extend_chain([written])
        return stamp.dot


def _fields(entities: Sequence[Put]) -> Fields | None:
    """The fields of many writes; None unless all of them can be written, and none is a deletion."""
    try:
        version.validated_names([ident for ident, _, _ in entities], [type_name for _, type_name, _ in entities])
        found = fields_of([fields for _, _, fields in entities])
    except (BadVersion, path.PathError, canonical.NotCanonical):
        return None
    return None if found is None or DELETED_AT in found.paths else found


def _fits(made: Version) -> bool:
    return len(made.document) <= version.MAX_DOCUMENT and made.size() <= version.MAX_VERSION


def _too_large(entity_id: str, size: int) -> Problem:
    """Refuses a document that is too large. The limit for a local write is far smaller than what a store takes:
    versions of several devices, each of the largest size, still join to one that fits a frame (STORE-23)."""
    return Problem(
        "too-large",
        "{entity_id} would have {size} bytes; a document may have {max_document}",
        entity_id=entity_id,
        size=size,
        max_document=version.MAX_DOCUMENT,
    )
