"""Everything that a device's stores hold, as lines of JSON (docs/specs/17-backup.md, section 3).

An export is for leaving, for reading with other tools, and for starting over. (To put a device back as it was, take a
backup: it has the device's key and clocks.) The first line names the format. Each further line is one entity with the
fields that it shows, and beside them what explains these: the stamp of each field, values that lost against a
concurrent write, the clock, and what was overwritten.

An import writes what an export shows. The writes are new ones of this device, because the clocks of the exported
device belong to hosts that this device cannot speak for. An id that is here already is left alone, also if it was
deleted here: an import adds, and never takes back what a person has changed since.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, is_deleted
from lottisync.entities.registers import Write
from lottisync.problem import Problem
from lottisync.store import overwritten
from lottisync.store.columns import CREATED_AT
from lottisync.store.reader import Overwritten
from lottisync.store.store import Store
from lottisync.store.transaction import Put, Transaction

FORMAT = "lottisync-export/1"
MAX_LINE = 4 * 1024 * 1024
"""Bytes of a line that is read: several times the largest document with its history."""
BATCH = 500
"""Entities that are imported in one transaction."""

StampRecord = tuple[int, int, int, str, int]
"""precedence, wall time (ms), ticks, host, counter"""


class ExportHeader(msgspec.Struct, frozen=True):
    format: str
    stores: list[str] = []


class ValueRecord(msgspec.Struct, frozen=True):
    """A value with the write that made it."""

    value: msgspec.Raw
    stamp: StampRecord


class OldRecord(msgspec.Struct, frozen=True):
    """A value of a field that was overwritten."""

    path: str
    value: msgspec.Raw
    stamp: StampRecord


class EntityRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """`fields` is the flat document: path -> value. `siblings` are values that lost against a concurrent write."""

    store: str
    id: str
    type: str
    fields: dict[str, Any]
    clock: dict[str, int] = {}
    stamps: dict[str, StampRecord] = {}
    siblings: dict[str, list[ValueRecord]] = {}
    history: list[OldRecord] = []
    deleted: bool = False


class Imported(NamedTuple):
    """How many entities were added, and how many were left alone because their id is here already."""

    added: int
    present: int


def lines(stores: Mapping[str, Store], progress: Callable[[int, int], None] = lambda done, of: None) -> Iterator[bytes]:
    """The export of these stores, line by line, in their order; in each the entity that changed first comes first. Each
    store is read at one moment."""
    yield msgspec.json.encode(ExportHeader(FORMAT, list(stores)))
    total = done = 0
    for store in stores.values():
        with store.reading() as reader:
            total += reader.count()
    for name, store in stores.items():
        with store.reading() as reader:
            for change in reader.changes(0, total + 1):
                entity = reader.entity(change.id)
                if entity is not None:
                    yield msgspec.json.encode(_record(name, entity, reader.overwritten(entity.id)))
                done += 1
                progress(done, total)


def take(
    stores: Mapping[str, Store],
    export: Iterable[bytes],
    now: int,
    *,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Import the lines of an export. All of it is read and checked before the first entity is written; then entities
    are written in batches, each in one transaction. Stopped in the middle, it can be run again: what is there is left
    alone.

    `progress(n)` is called with the number of entities that were looked at since the last call. Raises `Problem` with
    the number of the line for anything that is not of the format, and changes nothing then."""
    records = _read(export, stores)
    added = 0
    for name, store in stores.items():
        of_store = [record for record in records if record.store == name]
        for start in range(0, len(of_store), BATCH):
            batch = of_store[start : start + BATCH]
            added += _add(store, batch, now, dry_run=dry_run)
            progress(len(batch))
    return Imported(added, len(records) - added)


def _record(store: str, entity: Entity, old: list[Overwritten]) -> EntityRecord:
    registers = list(entity.registers.items())
    return EntityRecord(
        store,
        entity.id,
        entity.type,
        {path: msgspec.Raw(writes[0].value) for path, writes in registers},
        {str(host): counter for host, counter in entity.clock.items()},
        {path: _stamp(writes[0]) for path, writes in registers},
        {path: [_value(write) for write in writes[1:]] for path, writes in registers if len(writes) > 1},
        [OldRecord(o.path, msgspec.Raw(o.value), (o.precedence, o.millis, o.ticks, o.host, o.counter)) for o in old],
        is_deleted(entity),
    )


def _value(write: Write) -> ValueRecord:
    return ValueRecord(msgspec.Raw(write.value), _stamp(write))


def _stamp(write: Write) -> StampRecord:
    precedence, millis, ticks, host, counter = write.stamp
    return precedence, millis, ticks, str(host), counter


def _read(export: Iterable[bytes], stores: Mapping[str, Store]) -> list[EntityRecord]:
    found = []
    header = False
    for number, line in enumerate(export, 1):
        if not line.strip():
            continue
        if len(line) > MAX_LINE:
            raise Problem(
                "bad-export",
                "line {number} has {count} bytes; a line may have {max_line}",
                number=number,
                count=len(line),
                max_line=MAX_LINE,
            )
        try:
            if not header:
                _check_header(msgspec.json.decode(line, type=ExportHeader))
                header = True
                continue
            record = msgspec.json.decode(line, type=EntityRecord)
        except UNREADABLE as error:
            raise Problem(
                "bad-export",
                "line {number} is not of the format {format}: {error}",
                number=number,
                format=FORMAT,
                error=error,
            ) from None
        if record.store not in stores:
            names = ", ".join(stores)
            raise Problem(
                "unknown-store",
                "line {number} is of the store {store!r}; this device has {names}",
                number=number,
                store=record.store,
                names=names,
            )
        found.append(record)
    if not header:
        raise Problem("bad-export", "there is no line; an export begins with one that names {format}", format=FORMAT)
    return found


def _check_header(header: ExportHeader) -> None:
    if header.format != FORMAT:
        raise Problem(
            "bad-export",
            "the format is {format!r}; this program reads {format2}",
            format=header.format[:40],
            format2=FORMAT,
        )


def _add(store: Store, records: list[EntityRecord], now: int, *, dry_run: bool) -> int:
    with store.reading() as reader:
        missing = [record for record in records if reader.version(record.id) is None]
    new = list({record.id: record for record in reversed(missing)}.values())[::-1]  # of one id the first record
    if dry_run or not new:
        return len(new)
    with store.transaction(now, HIGH) as tx:
        added = [record for record in new if tx.version(record.id) is None]
        _write(tx, added)
        for record in added:
            if record.deleted:
                tx.delete(record.id)
            for old in record.history:
                overwritten.add(tx, record.id, old.path, old.stamp, bytes(old.value))
    return len(added)


def _write(tx: Transaction, records: list[EntityRecord]) -> None:
    """Write new entities, each field with its precedence. If an entity has fields of both precedences, the write that
    says when it was made comes first, and the other one is an edit."""
    first: dict[int, list[Put]] = {HIGH: [], LOW: []}
    then: dict[int, list[Put]] = {HIGH: [], LOW: []}
    for record in records:
        lower, higher = _by_precedence(record)
        begins = LOW if not higher or CREATED_AT in lower else HIGH
        for precedence, fields in ((HIGH, higher), (LOW, lower)):
            if fields:
                (first if precedence == begins else then)[precedence].append((record.id, record.type, fields))
    for writes in (first, then):
        for precedence, some in writes.items():
            tx.put_all(some, precedence=precedence)


def _by_precedence(record: EntityRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the lower precedence, and those of the higher."""
    lower = {path for path, stamp in record.stamps.items() if stamp[0] == LOW}
    fields = {path: value for path, value in record.fields.items() if path != DELETED_AT}
    if not lower:
        return {}, fields
    return (
        {path: value for path, value in fields.items() if path in lower},
        {path: value for path, value in fields.items() if path not in lower},
    )
