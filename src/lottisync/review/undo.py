"""Taking an effect back, and letting it stand (docs/specs/10-review.md, REV-56 to REV-59).

An effect is undone register by register, and only where *every* write that the register holds is the
effect's own, that is: also a write of the receipt. It is not enough that the winner is: behind it
may stand a sibling that somebody typed on another device, and writing over both would erase it. What
holds anything else is shown and left alone.

Two devices may have confirmed apart, with different arguments, and one may have undone already: all
of these are writes of one operation, and none of them is anybody's typing. An undo leaves a receipt of
its own, in the same entity; it tells a replay that the old value was written back already.

An entity comes alive again with all its registers in one write, receipts included. So a register must
also hold the value that the receipt of that write names, or what was typed before would pass for the
effect.

Like `verdict`, this is for a person's side only.
"""

from typing import Any, NamedTuple

from lottisync.causality.vector_clock import Dot
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, Entity, is_deleted
from lottisync.review import effect
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.effect import COMPANIONS, CREATES, TASK, StaleField, receipt_path, stale_field
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import created_id, undo_operation
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class Restoration(NamedTuple):
    """What undoing would write: `writes` into the registers of `holder`, or its deletion with that of the
    entities `along`. `stale` are the registers that hold something else by now."""

    holder: Entity | None
    writes: dict[str, Any]
    stale: list[StaleField]
    delete: bool = False
    along: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.writes and not self.delete


def holder(reader: Reader, item: ChangeItem, task_id: str) -> Entity | None:
    """The entity that has the operation's receipt."""
    path = receipt_path(item.operation_id)
    if item.tool_name in CREATES:
        created = reader.entity(created_id(item.operation_id, CREATES[item.tool_name]))
        found = [created, *effect.look(reader, item.tool_name, item.args, task_id).items]
    else:
        found = [reader.entity(effect.target_of(item.tool_name, item.args, task_id))]
    return next((entity for entity in found if entity is not None and path in entity.registers), None)


def undoing(reader: Reader, item: ChangeItem, task_id: str) -> Restoration:
    """What it would take to undo `item` now."""
    entity = holder(reader, item, task_id)
    if entity is None:
        return Restoration(None, {}, [])
    if item.tool_name in CREATES and entity.id == created_id(item.operation_id, CREATES[item.tool_name]):
        return _removal(reader, item, entity)
    was = _was(item, entity)
    undone = entity.dots(receipt_path(undo_operation(item.operation_id)))
    if is_deleted(entity):
        return Restoration(entity, {}, [])
    if item.tool_name == "link_task" and _is_all_ours(item, entity):
        return Restoration(entity, {}, [], delete=True)
    writes: dict[str, Any] = {}
    stale: list[StaleField] = []
    for path in [path for path in was if not _is_companion(path)]:
        group = [path, *(companion for companion in COMPANIONS.get(path, ()) if companion in was)]
        if all(entity.dots(p) <= undone for p in group):
            continue
        if all(_is_ours(item, entity, p) for p in group):
            writes |= {p: was[p] for p in group}
        else:
            stale.append(stale_field(entity, path, SeenField(entity.id, path, _wrote(item, entity, path)), was[path]))
    return Restoration(entity, writes, stale)


def take_back(tx: Transaction, item: ChangeItem, restoration: Restoration) -> None:
    entity = restoration.holder
    assert entity is not None
    receipt = {receipt_path(undo_operation(item.operation_id)): {"undoes": item.operation_id}}
    tx.put(entity.id, entity.type, {**restoration.writes, **receipt})
    if restoration.delete:
        # With the agent's precedence: what a person writes to it elsewhere meanwhile keeps it alive. The entity
        # first, so that its deletion is the write after the receipt (`_deletions`).
        for ident in (entity.id, *restoration.along):
            tx.delete(ident, precedence=AGENT)


def stand(tx: Transaction, item: ChangeItem, task_id: str) -> dict[str, Any] | None:
    """Let the effect stand where devices differed: what it wrote is written again over its own siblings and
    undoings. Returns the arguments of the effect that stands, None if it is not here."""
    entity = holder(tx, item, task_id)
    if entity is None:
        return None
    path = receipt_path(item.operation_id)
    receipt = entity.value(path)
    args: dict[str, Any] = receipt.get("args", {}) if isinstance(receipt, dict) else {}
    undone = entity.dots(receipt_path(undo_operation(item.operation_id)))
    if entity.value(DELETED_AT) is not None and entity.dots(DELETED_AT) <= _deletions(entity, undone):
        tx.undelete(entity.id)
        return args
    values = effect.proposed(item.tool_name, {**item.args, **args}) if args else {}
    if item.tool_name in CREATES:
        values = {"title": args["title"]} if "title" in args else {}
    disputed = [p for p in values if len(entity.dots(p)) > 1 and _is_ours(item, entity, p)]
    if disputed:
        again = {p: entity.value(p) for path_ in disputed for p in (path_, *COMPANIONS.get(path_, ()))}
        tx.put(entity.id, entity.type, {**again, **{p: values[p] for p in disputed}, path: receipt})
    return args


# -- whose writes these are


def _removal(reader: Reader, item: ChangeItem, entity: Entity) -> Restoration:
    """A created entity goes, unless somebody has written to it or put something into it."""
    if is_deleted(entity):
        return Restoration(entity, {}, [])
    changed = [path for path in entity.registers if not entity.dots(path) <= _dots(item, entity)]
    stale = [stale_field(entity, path, None, None) for path in changed]
    along: list[str] = []
    if CREATES[item.tool_name] == TASK:
        note = created_id(item.operation_id, "entry")
        for owned in reader.owned_by(entity.id):
            if owned.id == note and len({write.stamp.dot for ws in owned.registers.values() for write in ws}) == 1:
                along.append(note)
            elif owned.id != entity.id:
                stale.append(StaleField(owned.id, owned.type, None, owned.value("title") or owned.value("text")))
    return Restoration(entity, {}, stale, delete=not stale, along=tuple(along))


def _is_companion(path: str) -> bool:
    return any(path in companions for companions in COMPANIONS.values())


def _was(item: ChangeItem, entity: Entity) -> dict[str, Any]:
    """Register -> the value before the effect, of every effect that the entity holds; the winner's word counts."""
    was: dict[str, Any] = {}
    for write in reversed(entity.registers[receipt_path(item.operation_id)]):
        receipt = canonical.decode(write.value)
        if isinstance(receipt, dict) and isinstance(receipt.get("was"), dict):
            was |= receipt["was"]
    return was


def _wrote(item: ChangeItem, entity: Entity, path: str) -> Any:
    receipt = entity.value(receipt_path(item.operation_id))
    args = receipt.get("args", {}) if isinstance(receipt, dict) else {}
    return effect.proposed(item.tool_name, {**item.args, **args}).get(path)


def _dots(item: ChangeItem, entity: Entity) -> frozenset[Dot]:
    """The dots of the operation's effects and undoings."""
    operation = item.operation_id
    return entity.dots(receipt_path(operation)) | entity.dots(receipt_path(undo_operation(operation)))


def _deletions(entity: Entity, undone: frozenset[Dot]) -> frozenset[Dot]:
    """Deletions that followed an undoing's receipt on its host at once: those that undid a creation."""
    return entity.dots(DELETED_AT) & {Dot(dot.host, dot.counter + 1) for dot in undone}


def _is_all_ours(item: ChangeItem, entity: Entity) -> bool:
    """Whether the effect made the entity and nobody wrote to it since."""
    return all(entity.dots(path) <= _dots(item, entity) for path in entity.registers)


def _is_ours(item: ChangeItem, entity: Entity, path: str) -> bool:
    """Whether each write that the register holds is the operation's, and says what its receipt says."""
    receipts = {write.stamp.dot: write.value for write in entity.registers[receipt_path(item.operation_id)]}
    undone = entity.dots(receipt_path(undo_operation(item.operation_id)))
    for write in entity.registers.get(path, ()):
        dot = write.stamp.dot
        if dot in undone and dot not in receipts:
            continue
        if dot not in receipts:
            return False
        receipt = canonical.decode(receipts[dot])
        args = receipt.get("args", {}) if isinstance(receipt, dict) else {}
        meant = effect.proposed(item.tool_name, {**item.args, **args})
        if path in meant and canonical.decode(write.value) != meant[path]:
            return False
    return True
