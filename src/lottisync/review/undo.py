"""Taking an effect back, and keeping it (docs/specs/10-review.md, REV-56 to REV-59).

An effect is undone register by register, and only where *every* write that the register holds is the effect's own, that
is: also a write of the receipt. It is not enough that the winner is the effect's: there may be a sibling that somebody
typed on another device, and an undo would erase it. A register that holds any other write is shown and left alone.

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
from lottisync.problem import Sentence
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.effect import Effect, StaleField, receipt_path, stale_field
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import undo_operation
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

CHANGED = Sentence("it was changed since it was confirmed")
MADE_CHANGED = Sentence("what was made with it was changed since")


class Restoration(NamedTuple):
    """What undoing would write: `writes` into the registers of `holder`, or its deletion, and the deletion of the
    entities `along`. `stale` are the registers that hold something else by now; `why_not` says so if nothing is left
    to write."""

    holder: Entity | None
    writes: dict[str, Any]
    stale: list[StaleField]
    delete: bool = False
    along: tuple[str, ...] = ()
    why_not: str = CHANGED

    @property
    def empty(self) -> bool:
        return not self.writes and not self.delete


class ContestedValues(NamedTuple):
    """The two sides of a contested item, by register: the value of its effect, and the value before. Both are empty if
    the effect is not here."""

    kept: dict[str, Any]
    before: dict[str, Any]


def choice(reader: Reader, effect: Effect) -> ContestedValues:
    """The values that `keep` and `undo` would leave."""
    entity = holder(reader, effect)
    if entity is None:
        return ContestedValues({}, {})
    args = _args(entity.value(receipt_path(effect.item.operation_id)))
    return ContestedValues(_values(effect, args) if args else {}, _was(effect.item, entity))


def holder(reader: Reader, effect: Effect) -> Entity | None:
    """The entity with the operation's receipt."""
    path = receipt_path(effect.item.operation_id)
    if effect.created is not None:
        found = [reader.entity(effect.created), *effect.read_target(reader).beside]
    else:
        found = [reader.entity(effect.action.target(effect.task_id))]
    return next((entity for entity in found if entity is not None and path in entity.registers), None)


def undoing(reader: Reader, effect: Effect) -> Restoration:
    """The writes that would undo an item's effect now."""
    item, companions = effect.item, effect.action.companions
    entity = holder(reader, effect)
    if entity is None:
        return Restoration(None, {}, [])
    if entity.id == effect.created:
        return _removal(reader, effect, entity)
    was = _was(item, entity)
    undone = entity.dots(receipt_path(undo_operation(item.operation_id)))
    if is_deleted(entity):
        return Restoration(entity, {}, [])
    if effect.action.makes_target and _is_all_ours(item, entity):
        return Restoration(entity, {}, [], delete=True)
    writes: dict[str, Any] = {}
    stale: list[StaleField] = []
    along = {path for group in companions.values() for path in group}
    for path in [path for path in was if path not in along]:
        group = [path, *(companion for companion in companions.get(path, ()) if companion in was)]
        if all(entity.dots(p) <= undone for p in group):
            continue
        if all(_is_ours(effect, entity, p) for p in group):
            writes |= {p: was[p] for p in group}
        else:
            wrote = _values(effect, _args(entity.value(receipt_path(item.operation_id)))).get(path)
            stale.append(stale_field(entity, path, SeenField(entity.id, path, wrote), was[path]))
    if not writes or stale:
        return Restoration(entity, writes, stale)
    made, changed = _made_along(reader, effect)
    if changed:
        return Restoration(entity, {}, changed, why_not=MADE_CHANGED)
    return Restoration(entity, writes, [], along=tuple(made))


def take_back(tx: Transaction, item: ChangeItem, restoration: Restoration) -> None:
    entity = restoration.holder
    assert entity is not None
    receipt = {receipt_path(undo_operation(item.operation_id)): {"undoes": item.operation_id}}
    tx.put(entity.id, entity.type, {**restoration.writes, **receipt})
    # With the agent's precedence: what a person writes to it elsewhere meanwhile keeps it alive. The entity first, so
    # that its deletion is the write after the receipt (`_deletions`).
    for ident in ((entity.id,) if restoration.delete else ()) + restoration.along:
        tx.delete(ident, precedence=AGENT)


def reassert(tx: Transaction, effect: Effect) -> dict[str, Any] | None:
    """Keep the effect where devices decided differently: its values are written again over its own siblings and
    undos. Returns the arguments of the effect that is kept; None if it is not here."""
    entity = holder(tx, effect)
    if entity is None:
        return None
    path, companions = receipt_path(effect.item.operation_id), effect.action.companions
    receipt = entity.value(path)
    args = _args(receipt)
    undone = entity.dots(receipt_path(undo_operation(effect.item.operation_id)))
    if entity.value(DELETED_AT) is not None and entity.dots(DELETED_AT) <= _deletions(entity, undone):
        tx.undelete(entity.id)
        return args
    values = _values(effect, args) if args else {}
    disputed = [p for p in values if len(entity.dots(p)) > 1 and _is_ours(effect, entity, p)]
    if disputed:
        again = {p: entity.value(p) for path_ in disputed for p in (path_, *companions.get(path_, ()))}
        tx.put(entity.id, entity.type, {**again, **{p: values[p] for p in disputed}, path: receipt})
    return args


# -- which writes are the effect's own


def _removal(reader: Reader, effect: Effect, entity: Entity) -> Restoration:
    """A created entity is deleted, unless somebody has written to it or put something into it."""
    if is_deleted(entity):
        return Restoration(entity, {}, [])
    changed = [path for path in entity.registers if not entity.dots(path) <= _dots(effect.item, entity)]
    stale = [stale_field(entity, path, None, None) for path in changed]
    ours = effect.action.created_along(effect.item.operation_id, effect.task_id)
    along: list[str] = []
    for owned in reader.owned_by(entity.id) if effect.action.builds else ():
        if owned.id in ours and len({write.stamp.dot for ws in owned.registers.values() for write in ws}) == 1:
            along.append(owned.id)
        elif owned.id != entity.id:
            stale.append(StaleField(owned.id, owned.type, None, effect.actions.name_of(owned)))
    return Restoration(entity, {}, stale, delete=not stale, along=tuple(along))


def _made(reader: Reader, effect: Effect) -> list[Entity]:
    """What the effect made besides its change of the target: entities with its receipt, and what belongs to them."""
    path = receipt_path(effect.item.operation_id)
    found: list[Entity] = []
    for ident in effect.action.created_along(effect.item.operation_id, effect.task_id):
        made = reader.entity(ident)
        if made is not None and path in made.registers:
            found += [made, *(owned for owned in reader.owned_by(ident, deleted=True) if owned.id != ident)]
    return found


def _made_along(reader: Reader, effect: Effect) -> tuple[list[str], list[StaleField]]:
    """What would be deleted with the change, and what somebody has written to it or put into it."""
    along: list[str] = []
    changed: list[StaleField] = []
    for made in _made(reader, effect):
        if is_deleted(made):
            continue
        if any(not made.dots(path) <= _dots(effect.item, made) for path in made.registers):
            changed.append(StaleField(made.id, made.type, None, effect.actions.name_of(made)))
        along.append(made.id)
    return along, changed


def _was(item: ChangeItem, entity: Entity) -> dict[str, Any]:
    """Register -> the value before the effect, from every receipt that the entity holds; the winner counts."""
    was: dict[str, Any] = {}
    for write in reversed(entity.registers[receipt_path(item.operation_id)]):
        receipt = canonical.decode(write.value)
        if isinstance(receipt, dict) and isinstance(receipt.get("was"), dict):
            was |= receipt["was"]
    return was


def _args(receipt: Any) -> dict[str, Any]:
    """The arguments that a receipt names."""
    args = receipt.get("args") if isinstance(receipt, dict) else None
    return args if isinstance(args, dict) else {}


def _values(effect: Effect, args: dict[str, Any]) -> dict[str, Any]:
    """Register -> the value that the effect wrote with these arguments; for a creation, those of `Action.made_as`."""
    action = effect.worded(args)
    if action is None:
        return {}
    return action.made_as() if action.creates else action.values()


def _dots(item: ChangeItem, entity: Entity) -> frozenset[Dot]:
    """The dots of the operation's effects and undos."""
    operation = item.operation_id
    return entity.dots(receipt_path(operation)) | entity.dots(receipt_path(undo_operation(operation)))


def _deletions(entity: Entity, undone: frozenset[Dot]) -> frozenset[Dot]:
    """Deletions directly after an undo's receipt on the same host: those that undid a creation."""
    return entity.dots(DELETED_AT) & {Dot(dot.host, dot.counter + 1) for dot in undone}


def _is_all_ours(item: ChangeItem, entity: Entity) -> bool:
    """True if the effect created the entity and nobody has written to it since."""
    return all(entity.dots(path) <= _dots(item, entity) for path in entity.registers)


def _is_ours(effect: Effect, entity: Entity, path: str) -> bool:
    """True if each write of the register is the operation's, and has the value of its receipt."""
    operation = effect.item.operation_id
    receipts = {write.stamp.dot: write.value for write in entity.registers[receipt_path(operation)]}
    undone = entity.dots(receipt_path(undo_operation(operation)))
    for write in entity.registers.get(path, ()):
        dot = write.stamp.dot
        if dot in undone and dot not in receipts:
            continue
        if dot not in receipts:
            return False
        action = effect.worded(_args(canonical.decode(receipts[dot])))
        meant = action.values() if action is not None else {}
        if path in meant and canonical.decode(write.value) != meant[path]:
            return False
    return True
