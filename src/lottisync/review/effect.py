"""What a proposal would do to the journal, and whether it still can (docs/specs/10-review.md, section 5).

A proposal was made against a *base*: for every register that it would write, its value and all its dots at
that time, and `deletedAt` of its target and its task. Only these registers decide whether it is stale. The
clock of the whole entity would not do: if somebody changes another field, or a second proposal is confirmed,
every neighbour would look stale.

A register that holds the proposed value already is not written again. A register that was written since the proposal is
not overwritten: the person is shown the change. Only registers that have not changed are written.

A register's *companions* are written together with it: of a value, who set it, when and
why. They are part of the base and of the write, and never a reason to write.

The effect leaves a *receipt* in the entity that it changes or creates. This module knows no tool; the action
says what would be written (`lottisync.review.action`).
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.review.action import Action, Actions, TargetView, Unreadable
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.policy import Policy
from lottisync.review.precedence import is_persons
from lottisync.review.proposal import created_id, effective, prose
from lottisync.store.reader import Reader


class StaleField(msgspec.Struct, frozen=True, rename="camel"):
    """A register that was written since: the value that the proposer saw, the present value and its author
    (`user` or `agent`, and the host; null if it is not about one write), and the proposed value."""

    entity: str = msgspec.field(name="entityId")
    path: str
    was: Any = None
    now: Any = None
    proposed: Any = None
    by: Literal["user", "agent"] = "user"
    host: str | None = None


class EffectPlan(NamedTuple):
    """What confirming would do. `writes` are the registers that would change (for a creation those of the new
    entity), `obstacle` is the reason why nothing can be done, `withheld` the reason of the guard."""

    writes: dict[str, Any]
    stale: list[StaleField]
    obstacle: str | None = None
    withheld: str | None = None

    @property
    def satisfied(self) -> bool:
        return not self.writes and self.obstacle is None and self.withheld is None


class Effect(NamedTuple):
    """An item whose tool this version knows, and the registry that reads other arguments of the same tool."""

    actions: Actions
    item: ChangeItem
    action: Action
    task_id: str

    def read_target(self, reader: Reader) -> TargetView:
        return self.action.read_target(reader, self.task_id)

    def worded(self, args: Mapping[str, Any]) -> Action | None:
        """The action with the arguments that took effect; None if they cannot be read."""
        action = self.actions.read(self.item.tool_name, {**prose(self.item.args), **args}, complete=False)
        return None if isinstance(action, Unreadable) else action

    @property
    def created(self) -> str | None:
        """The id of the entity that it creates, or would create."""
        return created_id(self.item.operation_id, self.action.creates) if self.action.creates else None


def effect_of(actions: Actions, item: ChangeItem, task_id: str) -> Effect | Unreadable:
    action = actions.read(item.tool_name, item.args)
    return action if isinstance(action, Unreadable) else Effect(actions, item, action, task_id)


def read_target(actions: Actions, item: ChangeItem, task_id: str, reader: Reader) -> TargetView:
    """The target as the journal holds it; an empty view if this version cannot read the proposal."""
    found = effect_of(actions, item, task_id)
    return TargetView() if isinstance(found, Unreadable) else found.read_target(reader)


def base(action: Action, target_view: TargetView, task_id: str) -> list[SeenField]:
    """The base of a proposal: every register that it would write, and `deletedAt`."""
    if target_view.task is None or (target_view.target is None and not action.makes_target):
        return []
    target = action.target(task_id)
    touched = [(target, path) for field in action.values() for path in (field, *action.companions.get(field, ()))]
    gone = [(ident, DELETED_AT) for ident in dict.fromkeys((target, task_id))]
    held = {task_id: target_view.task, target: target_view.target if target != task_id else target_view.task}
    return [_seen_field(held[ident], ident, path) for ident, path in (*touched, *gone)]


def _seen_field(entity: Entity | None, ident: str, path: str) -> SeenField:
    if entity is None:
        return SeenField(ident, path)
    return SeenField(ident, path, entity.value(path), sorted((dot.host, dot.counter) for dot in entity.dots(path)))


def plan(
    action: Action,
    target_view: TargetView,
    task_id: str,
    against: list[SeenField],
    policy: Policy,
    *,
    guarded: bool = True,
) -> EffectPlan:
    """What confirming `action` would do to `target_view`, compared with the base `against`."""
    hindrance = action.obstacle(target_view, task_id, policy)
    if hindrance is not None:
        return EffectPlan({}, _stale(action, target_view, against, {}), hindrance)
    writes = action.writes(target_view)
    if action.creates:
        return EffectPlan(writes, _stale(action, target_view, against, {}) if writes else [])
    stale = _stale(action, target_view, against, writes) if writes else []
    withheld = action.objection(target_view, policy) if guarded and writes and not stale else None
    if withheld is not None:
        writes = {path: value for path, value in writes.items() if path not in action.guarded}
    return EffectPlan(writes, stale, None, withheld)


def _stale(
    action: Action, target_view: TargetView, against: list[SeenField], writes: Mapping[str, Any]
) -> list[StaleField]:
    """The registers that would be written, and `deletedAt`, if their dots are not those of the base. A register
    that the base does not name counts as changed."""
    seen = {(field.entity, field.path): field for field in against}
    found: list[StaleField] = []
    for entity in {e.id: e for e in (target_view.task, target_view.target) if e is not None}.values():
        paths = [DELETED_AT]
        if entity is target_view.target:
            paths += writes
        fields: list[StaleField] = []
        for path in paths:
            group = (path, *action.companions.get(path, ()))
            changed = [p for p in group if _differs(entity, p, seen.get((entity.id, p)))]
            fields += [stale_field(entity, p, seen.get((entity.id, p)), writes.get(p)) for p in changed[:1]]
        found += _without_repeats(fields)
    return found


def _without_repeats(fields: list[StaleField]) -> list[StaleField]:
    """The stale fields of an entity that was brought back, without those that hold what they held before: bringing back
    writes all registers again."""
    if not any(field.path == DELETED_AT and field.now is None for field in fields):
        return fields
    return [field for field in fields if field.path == DELETED_AT or field.was != field.now]


def _differs(entity: Entity, path: str, field: SeenField | None) -> bool:
    """Compares the dots, and also the value: in a journal that was restored from a backup and has written since, the
    same dots may name other writes (REV-63)."""
    held = entity.dots(path)
    if field is None:
        return path != DELETED_AT or bool(held)
    seen = {Dot(Host(host), counter) for host, counter in field.dots}
    return held != seen or entity.value(path) != field.value


def stale_field(entity: Entity, path: str, field: SeenField | None, value: Any) -> StaleField:
    winner = entity.winner(path)
    return StaleField(
        entity.id,
        path,
        field.value if field else None,
        entity.value(path),
        value,
        "user" if winner is None or is_persons(path, winner.stamp.precedence) else "agent",
        winner.stamp.host if winner else None,
    )


# -- receipts


def receipt_path(operation: str) -> str:
    return f"receipts/{operation}"


def receipt(action: Action, operation: str, target: Entity | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt of `operation`, which writes `values` into `target`: the arguments, the result, and the previous
    values. A creation has no previous values."""
    kept: dict[str, Any] = {"args": effective(action.arguments()), "result": "applied" if values else "no-op"}
    if values and not action.creates:
        touched = [path for value in values for path in (value, *action.companions.get(value, ()))]
        kept["was"] = {path: target.value(path) if target is not None else None for path in dict.fromkeys(touched)}
    return {receipt_path(operation): kept}


def held_receipt(effect: Effect, target_view: TargetView, reader: Reader) -> dict[str, Any] | None:
    """The receipt of the effect, if it is here: the result and the arguments. The receipt of a creation is in the
    entity that it created, or in the existing one that made the creation unnecessary."""
    path = receipt_path(effect.item.operation_id)
    holders = [target_view.target, *target_view.beside]
    if effect.created is not None:
        holders.append(reader.entity(effect.created))
    for entity in holders:
        if entity is not None and entity.winner(path) is not None:
            value = entity.value(path)
            return value if isinstance(value, dict) else {}
    return None


def effect_dots(entity: Entity) -> set[Dot]:
    """The dots of the writes on an entity that were effects of proposals, and that no person typed."""
    return {dot for path in entity.registers if path.startswith("receipts/") for dot in entity.dots(path)}
