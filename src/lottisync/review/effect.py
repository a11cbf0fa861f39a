"""What a proposal would do to the journal, and whether it still can (docs/specs/10-review.md, section 5).

A proposal was made against a *base*: for every register that it would write, the value and all the
dots that were there, and `deletedAt` of what it is about. Whether it is stale is asked of those
registers alone. The clock of the whole entity would not do: somebody ticking another item, or a
second proposal being confirmed, would make every neighbour look stale.

A register that holds the proposed value already is nothing to write, whoever wrote it. One that was
written since is the person's to look at: the proposal is not applied over it. Only what is as it
was is written.

Fields that travel with another are its *companions*: a tick is written with who ticked and when, a
status with its reason. They are part of the base and of the write, and never a reason to write.

The effect leaves a *receipt* in the entity that it changes or creates. What is here says nothing of any tool: what
would be written, the action says (`lottisync.review.action`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.review.action import Action, Actions, Sight, Unreadable
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.precedence import PERSON
from lottisync.review.proposal import created_id, effective
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader


class StaleField(msgspec.Struct, frozen=True, rename="camel"):
    """A register that was written since: what the proposer saw, what is there now and who wrote it
    (`user` or `agent`, and the host), and what is proposed."""

    entity: str = msgspec.field(name="entityId")
    path: str
    was: Any = None
    now: Any = None
    proposed: Any = None
    by: str = "user"
    host: str = ""


class Plan(NamedTuple):
    """What confirming would do: `writes` are the registers that would change (for a creation those of
    the new entity), `obstacle` why nothing can be done, `withheld` what the guard keeps back."""

    writes: dict[str, Any]
    stale: list[StaleField]
    obstacle: str | None = None
    withheld: str | None = None

    @property
    def satisfied(self) -> bool:
        return not self.writes and self.obstacle is None and self.withheld is None


class Effect(NamedTuple):
    """An item of a task whose tool this version knows, and the registry that reads other arguments of it."""

    actions: Actions
    item: ChangeItem
    action: Action
    task_id: str

    def look(self, reader: Reader) -> Sight:
        return self.action.look(reader, self.task_id)

    def worded(self, args: Mapping[str, Any]) -> Action | None:
        """The action with the arguments that took effect; None if they cannot be read."""
        prose = {name: text for name, text in self.item.args.items() if name not in effective(self.item.args)}
        action = self.actions.read(self.item.tool_name, {**prose, **args}, complete=False)
        return None if isinstance(action, Unreadable) else action

    @property
    def created(self) -> str | None:
        """The id of what it creates, or would create."""
        return created_id(self.item.operation_id, self.action.creates) if self.action.creates else None


def effect_of(actions: Actions, item: ChangeItem, task_id: str) -> Effect | Unreadable:
    action = actions.read(item.tool_name, item.args)
    return action if isinstance(action, Unreadable) else Effect(actions, item, action, task_id)


def look(actions: Actions, item: ChangeItem, task_id: str, reader: Reader) -> Sight:
    """What the journal holds of a proposal; nothing if this version cannot read it."""
    found = effect_of(actions, item, task_id)
    return Sight() if isinstance(found, Unreadable) else found.look(reader)


def base(action: Action, sight: Sight, task_id: str) -> list[SeenField]:
    """What the proposal is made against: every register that it would touch, and the deletions."""
    if sight.task is None or (sight.target is None and not action.makes_target):
        return []
    target = action.target(task_id)
    touched = [(target, path) for field in action.values() for path in (field, *action.companions.get(field, ()))]
    gone = [(ident, DELETED_AT) for ident in dict.fromkeys((target, task_id))]
    held = {task_id: sight.task, target: sight.target if target != task_id else sight.task}
    return [_seen_field(held[ident], ident, path) for ident, path in (*touched, *gone)]


def _seen_field(entity: Entity | None, ident: str, path: str) -> SeenField:
    if entity is None:
        return SeenField(ident, path)
    return SeenField(ident, path, entity.value(path), sorted((dot.host, dot.counter) for dot in entity.dots(path)))


def plan(
    action: Action, sight: Sight, task_id: str, against: list[SeenField], terms: Terms, *, guarded: bool = True
) -> Plan:
    """What confirming `action` would do to what is in `sight`, compared with the base `against`."""
    hindrance = action.obstacle(sight, task_id, terms)
    if hindrance is not None:
        return Plan({}, _stale(action, sight, against, {}), hindrance)
    writes = action.writes(sight)
    if action.creates:
        return Plan(writes, _stale(action, sight, against, {}) if writes else [])
    stale = _stale(action, sight, against, writes) if writes else []
    withheld = action.objection(sight, terms) if guarded and writes and not stale else None
    if withheld is not None:
        writes = {path: value for path, value in writes.items() if path not in action.guarded}
    return Plan(writes, stale, None, withheld)


def _stale(action: Action, sight: Sight, against: list[SeenField], writes: Mapping[str, Any]) -> list[StaleField]:
    """The registers that would be written, and the deletions, whose dots are not those of the base. A
    register that the base does not name was not seen: that counts as changed, too."""
    seen = {(field.entity, field.path): field for field in against}
    found: list[StaleField] = []
    for entity in {e.id: e for e in (sight.task, sight.target) if e is not None}.values():
        paths = [DELETED_AT]
        if entity is sight.target:
            paths += writes
        for path in paths:
            group = (path, *action.companions.get(path, ()))
            changed = [p for p in group if _differs(entity, p, seen.get((entity.id, p)))]
            found += [stale_field(entity, p, seen.get((entity.id, p)), writes.get(p)) for p in changed[:1]]
    return found


def _differs(entity: Entity, path: str, field: SeenField | None) -> bool:
    """By its dots; and by its value, since dots mean something else in a journal that was put back without the
    proposals, and has written since (REV-63)."""
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
        "user" if winner is None or winner.stamp.precedence == PERSON else "agent",
        winner.stamp.host if winner else "",
    )


# -- receipts


def receipt_path(operation: str) -> str:
    return f"receipts/{operation}"


def receipt(action: Action, operation: str, target: Entity | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """The register that says that `operation` wrote `values` into `target`: the arguments, the result, and what was
    there before. Of a creation nothing was there."""
    kept: dict[str, Any] = {"args": effective(action.arguments()), "result": "applied" if values else "no-op"}
    if values and not action.creates:
        touched = [path for value in values for path in (value, *action.companions.get(value, ()))]
        kept["was"] = {path: target.value(path) if target is not None else None for path in dict.fromkeys(touched)}
    return {receipt_path(operation): kept}


def held_receipt(effect: Effect, sight: Sight, reader: Reader) -> dict[str, Any] | None:
    """What the operation left in the journal, if its effect is here: the result and the arguments. A
    creation's receipt is on what it created, or on the item that made it needless."""
    path = receipt_path(effect.item.operation_id)
    holders = [sight.target, *sight.beside]
    if effect.created is not None:
        holders.append(reader.entity(effect.created))
    for entity in holders:
        if entity is not None and entity.winner(path) is not None:
            value = entity.value(path)
            return value if isinstance(value, dict) else {}
    return None


def effect_dots(entity: Entity) -> set[Dot]:
    """The writes on an entity that were effects of confirmed proposals, and not typed by anybody."""
    return {dot for path in entity.registers if path.startswith("receipts/") for dot in entity.dots(path)}
