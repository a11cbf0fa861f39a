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

Labels and links are members of a set, one register each, so that two devices can add to it at once. A
link is an entity of its own whose id both ends name; that a confirmed link makes it if need be is no
creation: its registers are compared as those of an entity that is there.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities import path as paths
from lottisync.entities.entity import DELETED_AT, Entity, is_deleted
from lottisync.entities.schema import link_id
from lottisync.entities.view import view
from lottisync.journal.types import ENTRY_LINK, STATUS, TICK, ChecklistItem, Label, Task, link_ends
from lottisync.review import evidence, guard
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.evidence import Grade
from lottisync.review.precedence import PERSON
from lottisync.review.proposal import created_id
from lottisync.review.redundancy import addition, same
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader

TASK, ITEM, LABEL = "task", "checklistItem", "label"
WRITES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "set_task_title": (TASK, {"title": "title"}),
    "update_task_estimate": (TASK, {"minutes": "estimate"}),
    "update_task_due_date": (TASK, {"dueDate": "due"}),
    "update_task_priority": (TASK, {"priority": "priority"}),
    "set_task_status": (TASK, {"status": "status"}),
    "update_checklist_item": (ITEM, {"isChecked": "isChecked", "title": "title"}),
}
"""Tool -> the type that it changes, and which argument goes into which register."""
MEMBERS = {"assign_task_label": TASK, "link_task": ENTRY_LINK}
"""Tool -> the type that holds the set to which it adds a member."""
COMPANIONS: Mapping[str, tuple[str, ...]] = {group[0]: group[1:] for group in (STATUS, TICK)}
"""What is written together with a field."""
CREATES = {"add_checklist_item": ITEM, "create_follow_up_task": TASK}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "update_checklist_item": ("id",),
    "add_checklist_item": ("title",),
    "create_follow_up_task": ("title",),
    "assign_task_label": ("id",),
    "link_task": ("relation", "targetTaskId"),
}
"""Texts without which it can't be said what a proposal is about."""


class Sight(NamedTuple):
    """What the journal holds of a proposal's task and target at one moment; `items` are what stands
    beside something that is created (the task's live items, the tasks it is linked with), `other` is
    the label or the task that is to be joined, `grade` what the cited evidence is worth."""

    task: Entity | None
    target: Entity | None
    items: list[Entity]
    other: Entity | None = None
    grade: Grade = Grade.NONE


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
    return tool in WRITES or tool in CREATES or tool in MEMBERS


def understands(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether it can be said what a proposal is about. A set that a hand or a newer program wrote may name a
    tool that is known with arguments that are not; it is shown, and must not keep others from being shown."""
    if not knows(tool) or not all(isinstance(args.get(name), str) for name in NEEDED.get(tool, ())):
        return False
    try:
        proposed(tool, args)
    except paths.PathError:
        return False
    return True


def target_of(tool: str, args: Mapping[str, Any], task_id: str) -> str:
    """The entity that the proposal is about: a creation is about the task that it adds to."""
    match tool:
        case "update_checklist_item":
            return str(args["id"])
        case "link_task":
            _, from_id, to_id = link_ends(args["relation"], task_id, args["targetTaskId"])
            return link_id(ENTRY_LINK, from_id, to_id)
    return task_id


def proposed(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Register -> proposed value, of an entity that exists; empty for a creation."""
    match tool:
        case "assign_task_label":
            return {paths.join("labels", args["id"]): True}
        case "link_task":
            return {paths.join("relations", link_ends(args["relation"], "", "")[0]): True}
        case _ if tool in CREATES:
            return {}
    return {path: args[argument] for argument, path in WRITES[tool][1].items() if argument in args}


def look(reader: Reader, tool: str, args: Mapping[str, Any], task_id: str) -> Sight:
    """What the journal holds of a proposal; nothing if it can't be said what it is about."""
    if not understands(tool, args):
        return Sight(None, None, [])
    task = reader.entity(task_id)
    target_id = target_of(tool, args, task_id)
    target = task if target_id == task_id else reader.entity(target_id)
    match tool:
        case "add_checklist_item":
            return Sight(task, target, [entity for entity in reader.owned_by(task_id) if entity.type == ITEM])
        case "create_follow_up_task":
            return Sight(task, target, linked(reader, task_id))
        case "assign_task_label":
            return Sight(task, target, [], reader.entity(args["id"]))
        case "link_task":
            return Sight(task, target, [], reader.entity(args["targetTaskId"]))
        case "update_checklist_item":
            return Sight(task, target, [], grade=evidence.grade(reader, target, task_id, args))
    return Sight(task, target, [])


def linked(reader: Reader, task_id: str) -> list[Entity]:
    """The live tasks that a task is linked with, either way."""
    ends = [*reader.ends_from(task_id, ENTRY_LINK), *reader.ends_to(task_id, ENTRY_LINK)]
    found = [reader.entity(end) for end in ends]
    return [entity for entity in found if entity is not None and entity.type == TASK and not is_deleted(entity)]


def obstacle(sight: Sight, tool: str, args: Mapping[str, Any], task_id: str, terms: Terms) -> str | None:
    """Why this target cannot be changed at all (S0-12, S0-13), or not by this agent."""
    task = _missing(sight.task, TASK)
    if task is not None:
        return f"task {task_id}: {task}"
    assert sight.task is not None
    if not terms.allows(sight.task):
        return f"task {task_id}: the agent is not allowed in its category"
    match tool:
        case "update_checklist_item":
            missing = _missing(sight.target, ITEM)
            if missing != "not found" and sight.target is not None and sight.target.value("taskId") != task_id:
                missing = "wrong task"
            return missing and f"checklist item: {missing}"
        case "assign_task_label":
            missing = _missing(sight.other, LABEL)
            if missing is None and view(sight.task, Task).suppressed_labels.get(args["id"]):
                missing = "the user does not want it on this task"
            return missing and f"label {args['id']}: {missing}"
        case "link_task":
            if args["targetTaskId"] == task_id:
                return "a task is not linked with itself"
            missing = _missing(sight.other, TASK)
            if missing is None and sight.other is not None and not terms.allows(sight.other):
                missing = "the agent is not allowed in its category"
            return missing and f"task {args['targetTaskId']}: {missing}"
    return None


def _missing(entity: Entity | None, type_name: str) -> str | None:
    if entity is None or entity.type != type_name:
        return "not found"
    return "it was deleted" if is_deleted(entity) else None


def current(sight: Sight, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Register -> present value, in the form of the journal's views."""
    if tool in MEMBERS:
        held = sight.target if sight.target is not None and not is_deleted(sight.target) else None
        return {path: held is not None and held.value(path) is True for path in proposed(tool, args)}
    if sight.target is None or tool in CREATES:
        return {}
    target = sight.target
    fields = msgspec.to_builtins(view(target, Task) if WRITES[tool][0] == TASK else view(target, ChecklistItem))
    return {path: fields[path] for path in WRITES[tool][1].values()}


def base(sight: Sight, tool: str, args: Mapping[str, Any], task_id: str) -> list[SeenField]:
    """What the proposal is made against: every register that it would touch, and the deletions."""
    if sight.task is None or (sight.target is None and tool != "link_task"):
        return []
    target = target_of(tool, args, task_id)
    touched = [(target, path) for field in proposed(tool, args) for path in (field, *COMPANIONS.get(field, ()))]
    gone = [(ident, DELETED_AT) for ident in dict.fromkeys((target, task_id))]
    held = {task_id: sight.task, target: sight.target if target != task_id else sight.task}
    return [_seen_field(held[ident], ident, path) for ident, path in (*touched, *gone)]


def _seen_field(entity: Entity | None, ident: str, path: str) -> SeenField:
    if entity is None:
        return SeenField(ident, path)
    return SeenField(ident, path, entity.value(path), sorted((dot.host, dot.counter) for dot in entity.dots(path)))


def plan(
    sight: Sight,
    item: ChangeItem,
    args: Mapping[str, Any],
    task_id: str,
    against: list[SeenField],
    terms: Terms,
    *,
    guarded: bool = True,
) -> Plan:
    """What confirming `item` with `args` would do to what is in `sight`, compared with the base `against`."""
    tool = item.tool_name
    if not understands(tool, args):
        return Plan({}, [], f"this version does not know the tool {tool}; update it to confirm this")
    hindrance = obstacle(sight, tool, args, task_id, terms)
    if hindrance is not None:
        return Plan({}, _stale(sight, against, {}), hindrance)
    if tool in CREATES:
        writes = {} if addition(args["title"], titles(sight)) else {"title": args["title"]}
        return Plan(writes, _stale(sight, against, {}) if writes else [])
    now = current(sight, tool, args)
    writes = {path: value for path, value in proposed(tool, args).items() if not same(value, now[path])}
    stale = _stale(sight, against, writes) if writes else []
    withheld = objection(sight, args, terms) if guarded and "isChecked" in writes and not stale else None
    if withheld is not None:
        del writes["isChecked"]
    return Plan(writes, stale, None, withheld)


def named(sight: Sight) -> str | None:
    """The name by which a summary calls what the proposal is about: an item's or a task's title, a label's name."""
    entity = sight.other or sight.target
    if entity is None:
        return None
    match entity.type:
        case "checklistItem" | "task":
            return view(entity, ChecklistItem).title or None
        case "label":
            return view(entity, Label).name or None
    return None


def titles(sight: Sight) -> list[str]:
    return [view(entity, ChecklistItem).title for entity in sight.items]


def objection(sight: Sight, args: Mapping[str, Any], terms: Terms) -> str | None:
    """What the guard has against a change of a checklist item."""
    assert sight.target is not None
    item = view(sight.target, ChecklistItem)
    return guard.objection(
        is_checked=item.is_checked,
        checked_by=item.checked_by,
        checked_at=item.checked_at,
        proposed=args.get("isChecked"),
        reason=args.get("reason"),
        grade=sight.grade,
        sovereignty=terms.sovereignty,
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
