"""Conflicts as people see and settle them (docs/specs/05-store.md, section 10).

When two devices meet, no write is dropped. The writes that lost are kept as siblings, beside the shown one, until
a person has seen them. *Keeping* a value writes it again; *combining* writes a new value. Both writes have seen all
siblings, so the siblings are gone on every device. Equal values are not a conflict, and are not listed.

"Deleted here, edited there" is settled the same way: keep the deletion, or bring the entity back. Fields that are
written together (a tick, who set it, and when) are settled together, whichever of them is named.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities import canonical
from lottisync.entities.entity import (
    DELETED_AT,
    Entity,
    against_deletion,
    as_deletion,
    has_conflict,
    has_unseen_edit,
    is_deleted,
)
from lottisync.entities.registers import Stamp, Write
from lottisync.problem import Problem
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class Candidate(NamedTuple):
    """One of the values: its precedence (`HIGH` or `LOW`), when (ms by that device's clock), and as which write."""

    value: Any
    precedence: int
    millis: int
    dot: Dot

    @property
    def host(self) -> Host:
        return self.dot.host


class Conflict(NamedTuple):
    """`path` of an entity with its distinct values, the one that is shown first. For `deletedAt` the values
    are the deletion (an object) and null, and `deleted` says what holds now."""

    entity: str
    type: str
    path: str
    candidates: list[Candidate]
    deleted: bool


def of_store(reader: Reader) -> list[Conflict]:
    """All conflicts of a store, by entity and path."""
    return [conflict for entity in reader.conflicted() for conflict in of_entity(entity)]


def of_entity(entity: Entity) -> list[Conflict]:
    if not has_conflict(entity):
        return []
    deleted = is_deleted(entity)
    found = []
    for path, writes in sorted(entity.registers.items()):
        if path == DELETED_AT:
            continue
        candidates = _distinct(writes)
        if len(candidates) > 1:
            found.append(Conflict(entity.id, entity.type, path, candidates, deleted))
    if has_unseen_edit(entity):
        found.append(_deletion(entity, deleted))
    return found


def decisions_of_store(reader: Reader) -> list[Conflict]:
    """All that a person has to decide on in a store: what every page shows and counts."""
    return decisions(reader, of_store(reader))


def decisions(reader: Reader, found: Iterable[Conflict]) -> list[Conflict]:
    """The conflicts that a person decides on: of those that `keep` settles together, the first field of their group."""
    listed = list(found)
    paths = {(conflict.entity, conflict.path) for conflict in listed}

    def leads(conflict: Conflict) -> bool:
        group = _group(reader, conflict.type, conflict.path)
        return conflict.path == next(path for path in group if (conflict.entity, path) in paths)

    return [conflict for conflict in listed if leads(conflict)]


def _distinct(writes: tuple[Write, ...]) -> list[Candidate]:
    seen: dict[bytes, Candidate] = {}
    for held in writes:
        seen.setdefault(held.value, _candidate(canonical.decode(held.value), held.stamp))
    return list(seen.values())


def _candidate(value: Any, stamp: Stamp) -> Candidate:
    return Candidate(value, stamp.precedence, stamp.millis, stamp.dot)


def _deletion(entity: Entity, deleted: bool) -> Conflict:
    """The deletion, and the latest write that it had not seen: an edit, or an undeletion."""
    deletion = next(held for held in entity.registers[DELETED_AT] if as_deletion(held) is not None)
    gone = _candidate(canonical.decode(deletion.value), deletion.stamp)
    edited = _candidate(None, max(against_deletion(entity)))
    return Conflict(entity.id, entity.type, DELETED_AT, [gone, edited] if deleted else [edited, gone], deleted)


def keep(tx: Transaction, entity_id: str, path: str, choice: int) -> None:
    """Settle a conflict in favour of its `choice`-th value, from 1, and with it what was written together with that
    (STORE-69). Raises `Problem` if there is none. Bringing an entity back writes all of it again, so it is
    refused while other fields are in conflict: it would settle them, too, and the person did not ask for that."""
    entity, conflict = _find(tx, entity_id, path)
    if not 1 <= choice <= len(conflict.candidates):
        raise Problem(
            "bad-value",
            "{path} of {entity_id} has {count} values; got number {choice}",
            path=path,
            entity_id=entity_id,
            count=len(conflict.candidates),
            choice=choice,
        )
    chosen = conflict.candidates[choice - 1]
    if path != DELETED_AT:
        tx.keep(entity_id, _written_with(tx, entity, path, chosen))
    elif chosen.value is not None:
        tx.delete(entity_id)
    else:
        others = [other.path for other in of_entity(entity) if other.path != DELETED_AT]
        if others:
            raise Problem(
                "other-conflicts",
                "bringing {entity_id} back would settle {others} as well. Settle that first",
                hint="conflict",
                entity_id=entity_id,
                others=", ".join(others),
            )
        tx.undelete(entity_id)


def combine(tx: Transaction, entity_id: str, path: str, value: Any) -> None:
    """Settle a conflict with a new value."""
    _, conflict = _find(tx, entity_id, path)
    if path == DELETED_AT:
        raise Problem("bad-value", "{entity_id} is deleted or it is not: keep 1 or 2 settles that", entity_id=entity_id)
    others = [other for other in _group(tx, conflict.type, path) if other != path]
    if others:
        raise Problem(
            "bad-value",
            "{path} is written together with {others}: keep 1 or 2, which settles all of them",
            path=path,
            others=", ".join(others),
        )
    tx.put(entity_id, conflict.type, {path: value})


def _group(reader: Reader, type_name: str, path: str) -> tuple[str, ...]:
    described = reader.schema.types.get(type_name)
    return (path,) if described is None else described.written_with(path)


def _written_with(reader: Reader, entity: Entity, path: str, chosen: Candidate) -> dict[str, bytes]:
    """The fields of the value's group that the write of the chosen value has set."""
    return {
        field: held.value
        for field in _group(reader, entity.type, path)
        for held in entity.registers.get(field, ())
        if held.stamp.dot == chosen.dot
    }


def _find(reader: Reader, entity_id: str, path: str) -> tuple[Entity, Conflict]:
    entity = reader.entity(entity_id)
    if entity is not None:
        for conflict in of_entity(entity):
            if conflict.path == path:
                return entity, conflict
    raise Problem(
        "no-conflict", "{entity_id} has no conflict in {path!r}", hint="conflicts", entity_id=entity_id, path=path
    )
