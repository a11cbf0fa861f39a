"""Conflicts as people see and settle them (docs/specs/05-store.md, section 10).

Nothing that somebody wrote is dropped when two devices meet. What lost is kept beside what is shown, as
siblings, until somebody has seen both. To *keep* a value is to write it having seen all of them; to
*combine* is to write a new one. Either way the siblings are gone, on every device, because that write
had seen them. Equal values are no conflict and are not listed.

"Deleted here, edited there" is settled the same way: keep the deletion, or bring the entity back.
"""

from typing import Any, NamedTuple

from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, Entity, Stamp, Write, has_conflict, has_unseen_edit, is_deleted
from lottisync.problem import Problem
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class Candidate(NamedTuple):
    """One of the values: who wrote it (1 user, 0 agent), when (ms by that device's clock), and where."""

    value: Any
    precedence: int
    millis: int
    host: Host


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


def _distinct(writes: tuple[Write, ...]) -> list[Candidate]:
    seen: dict[bytes, Candidate] = {}
    for held in writes:
        seen.setdefault(held.value, _candidate(canonical.decode(held.value), held.stamp))
    return list(seen.values())


def _candidate(value: Any, stamp: Stamp) -> Candidate:
    return Candidate(value, stamp.precedence, stamp.millis, stamp.host)


def _deletion(entity: Entity, deleted: bool) -> Conflict:
    """The deletion against the latest edit that it had not seen."""
    deletion = entity.registers[DELETED_AT][0]
    edit = max(
        (writes[0].stamp for path, writes in entity.registers.items() if path != DELETED_AT), default=deletion.stamp
    )
    gone = _candidate(canonical.decode(deletion.value), deletion.stamp)
    edited = _candidate(None, edit)
    return Conflict(entity.id, entity.type, DELETED_AT, [gone, edited] if deleted else [edited, gone], deleted)


def keep(tx: Transaction, entity_id: str, path: str, choice: int) -> None:
    """Settle a conflict in favour of its `choice`-th value, from 1 (STORE-17). `Problem` if there is none."""
    conflict = _find(tx, entity_id, path)
    if not 1 <= choice <= len(conflict.candidates):
        raise Problem("bad-value", f"{path} of {entity_id} has {len(conflict.candidates)} values; got number {choice}")
    value = conflict.candidates[choice - 1].value
    if path != DELETED_AT:
        tx.put(entity_id, conflict.type, {path: value})
    elif value is None:
        tx.undelete(entity_id)
    else:
        tx.delete(entity_id)


def combine(tx: Transaction, entity_id: str, path: str, value: Any) -> None:
    """Settle a conflict with a new value."""
    conflict = _find(tx, entity_id, path)
    if path == DELETED_AT:
        raise Problem("bad-value", f"{entity_id} is deleted or it is not: keep 1 or 2 settles that")
    tx.put(entity_id, conflict.type, {path: value})


def _find(reader: Reader, entity_id: str, path: str) -> Conflict:
    entity = reader.entity(entity_id)
    for conflict in of_entity(entity) if entity is not None else []:
        if conflict.path == path:
            return conflict
    raise Problem("no-conflict", f"{entity_id} has no conflict in {path!r}. See: lottisync conflicts")
