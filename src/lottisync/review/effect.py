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
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.agent import ChangeItem, SeenField
from lottisync.entities.entity import DELETED_AT, USER, Entity, is_deleted
from lottisync.entities.journal import ChecklistItem, Task
from lottisync.entities.view import view
from lottisync.review import guard
from lottisync.review.proposal import created_id
from lottisync.review.redundancy import addition, same
from lottisync.store.reader import Reader

TASK, ITEM = "task", "checklistItem"
WRITES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "set_task_title": (TASK, {"title": "title"}),
    "update_task_estimate": (TASK, {"minutes": "estimate"}),
    "update_task_due_date": (TASK, {"dueDate": "due"}),
    "update_task_priority": (TASK, {"priority": "priority"}),
    "set_task_status": (TASK, {"status": "status"}),
    "update_checklist_item": (ITEM, {"isChecked": "isChecked", "title": "title"}),
}
"""Tool -> the type that it changes, and which argument goes into which register."""
COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "status": ("statusReason",),
    "isChecked": ("checkedBy", "checkedAt", "checkReason", "proposedBy"),
}
CREATES = {"add_checklist_item": ITEM}


class Sight(NamedTuple):
    """What the journal holds of a proposal's task and target at one moment; `items` are the live
    checklist items of the task, for proposals that add one."""

    task: Entity | None
    target: Entity | None
    items: list[Entity]


class StaleField(msgspec.Struct, frozen=True, rename="camel"):
    """A register that was written since: what the proposer saw, what is there now and who wrote it
    (`user` or `agent`, and the host), and what is proposed."""

    entity: str
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


def knows(tool: str) -> bool:
    return tool in WRITES or tool in CREATES


def target_of(tool: str, args: Mapping[str, Any], task_id: str) -> str:
    """The entity that the proposal is about: a creation is about the task that it adds to."""
    return str(args["id"]) if tool == "update_checklist_item" else task_id


def proposed(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Register -> proposed value, of an entity that exists; empty for a creation."""
    if tool in CREATES:
        return {}
    return {path: args[argument] for argument, path in WRITES[tool][1].items() if argument in args}


def look(reader: Reader, tool: str, args: Mapping[str, Any], task_id: str) -> Sight:
    task = reader.entity(task_id)
    target = target_of(tool, args, task_id)
    items = [entity for entity in reader.owned_by(task_id) if entity.type == ITEM] if tool in CREATES else []
    return Sight(task, task if target == task_id else reader.entity(target), items)


def obstacle(sight: Sight, tool: str, task_id: str) -> str | None:
    """Why this target cannot be changed at all (S0-12, S0-13)."""
    if sight.task is None or sight.task.type != TASK:
        return f"task {task_id}: not found"
    if is_deleted(sight.task):
        return f"task {task_id}: it was deleted"
    if tool != "update_checklist_item":
        return None
    if sight.target is None or sight.target.type != ITEM:
        return "checklist item: not found"
    if sight.target.value("taskId") != task_id:
        return "checklist item: wrong task"
    if is_deleted(sight.target):
        return "checklist item: it was deleted"
    return None


def current(sight: Sight, tool: str) -> dict[str, Any]:
    """Register -> present value, in the form of the journal's views."""
    if sight.target is None or tool in CREATES:
        return {}
    target = sight.target
    fields = msgspec.to_builtins(view(target, Task) if WRITES[tool][0] == TASK else view(target, ChecklistItem))
    return {path: fields[path] for path in WRITES[tool][1].values()}


def base(sight: Sight, tool: str, args: Mapping[str, Any]) -> list[SeenField]:
    """What the proposal is made against: every register that it would touch, and the deletions."""
    if sight.target is None or sight.task is None:
        return []
    touched = [(sight.target, path) for field in proposed(tool, args) for path in (field, *COMPANIONS.get(field, ()))]
    gone = (
        [(sight.target, DELETED_AT)]
        if sight.target == sight.task
        else [(sight.target, DELETED_AT), (sight.task, DELETED_AT)]
    )
    return [
        SeenField(entity.id, path, entity.value(path), sorted((dot.host, dot.counter) for dot in entity.dots(path)))
        for entity, path in (*touched, *gone)
    ]


def plan(
    sight: Sight,
    item: ChangeItem,
    args: Mapping[str, Any],
    task_id: str,
    against: list[SeenField],
    *,
    guarded: bool = True,
) -> Plan:
    """What confirming `item` with `args` would do to what is in `sight`, compared with the base `against`."""
    tool = item.tool_name
    if not knows(tool):
        return Plan({}, [], f"this version does not know the tool {tool}; update it to confirm this")
    hindrance = obstacle(sight, tool, task_id)
    if hindrance is not None:
        return Plan({}, _stale(sight, against, {}), hindrance)
    if tool in CREATES:
        writes = {} if addition(args["title"], titles(sight)) else {"title": args["title"]}
        return Plan(writes, _stale(sight, against, {}) if writes else [])
    now = current(sight, tool)
    writes = {path: value for path, value in proposed(tool, args).items() if not same(value, now[path])}
    stale = _stale(sight, against, writes) if writes else []
    withheld = _objection(sight, args) if guarded and "isChecked" in writes and not stale else None
    if withheld is not None:
        del writes["isChecked"]
    return Plan(writes, stale, None, withheld)


def titles(sight: Sight) -> list[str]:
    return [view(entity, ChecklistItem).title for entity in sight.items]


def _objection(sight: Sight, args: Mapping[str, Any]) -> str | None:
    assert sight.target is not None
    item = view(sight.target, ChecklistItem)
    return guard.objection(
        is_checked=item.is_checked,
        checked_by=item.checked_by,
        checked_at=item.checked_at,
        proposed=args.get("isChecked"),
        reason=args.get("reason"),
    )


def _stale(sight: Sight, against: list[SeenField], writes: Mapping[str, Any]) -> list[StaleField]:
    """The registers that would be written, and the deletions, whose dots are not those of the base. A
    register that the base does not name was not seen: that counts as changed, too."""
    seen = {(field.entity, field.path): field for field in against}
    found: list[StaleField] = []
    for entity in {e.id: e for e in (sight.task, sight.target) if e is not None}.values():
        paths = [DELETED_AT]
        if entity is sight.target:
            paths += writes
        for path in paths:
            group = (path, *COMPANIONS.get(path, ()))
            changed = [p for p in group if _differs(entity, p, seen.get((entity.id, p)))]
            found += [_stale_field(entity, p, seen.get((entity.id, p)), writes.get(p)) for p in changed[:1]]
    return found


def _differs(entity: Entity, path: str, field: SeenField | None) -> bool:
    held = entity.dots(path)
    if field is None:
        return path != DELETED_AT or bool(held)
    return held != {Dot(Host(host), counter) for host, counter in field.dots}


def _stale_field(entity: Entity, path: str, field: SeenField | None, value: Any) -> StaleField:
    winner = entity.winner(path)
    return StaleField(
        entity.id,
        path,
        field.value if field else None,
        entity.value(path),
        value,
        "user" if winner is None or winner.stamp.precedence == USER else "agent",
        winner.stamp.host if winner else "",
    )


# -- receipts


def receipt_path(operation: str) -> str:
    return f"receipts/{operation}"


def receipt(sight: Sight, item: ChangeItem, reader: Reader) -> dict[str, Any] | None:
    """What the operation left in the journal, if its effect is here: the result and the arguments. A
    creation's receipt is on what it created, or on the item that made it needless."""
    path = receipt_path(item.operation_id)
    holders = [sight.target, *sight.items]
    if item.tool_name in CREATES:
        holders.append(reader.entity(created_id(item.operation_id, CREATES[item.tool_name])))
    for entity in holders:
        if entity is not None and entity.winner(path) is not None:
            value = entity.value(path)
            return value if isinstance(value, dict) else {}
    return None


def effect_dots(entity: Entity) -> set[Dot]:
    """The writes on an entity that were effects of confirmed proposals, and not typed by anybody."""
    return {dot for path in entity.registers if path.startswith("receipts/") for dot in entity.dots(path)}
