"""The journal's half of a confirmation: one write with the effect and its receipt (docs/specs/10-review.md, REV-40).

The receipt stands in the entity that the effect changes or creates. Besides the arguments and the
result it keeps what was there before, register by register, so that any device can take the effect
back (`lottisync.review.undo`), also one that had not confirmed it.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Mapping
from typing import Any, Literal

from lottisync.entities.agent import ChangeItem, ChangeSet
from lottisync.entities.entity import AGENT, USER, Entity, is_deleted
from lottisync.entities.journal import ENTRY_LINK, Task, link_ends
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.review.effect import COMPANIONS, CREATES, ITEM, Plan, Sight, receipt_path, titles
from lottisync.review.proposal import created_id, effective
from lottisync.review.redundancy import addition
from lottisync.store.instant import iso
from lottisync.store.transaction import Transaction


def carry_out(
    tx: Transaction,
    change_set: ChangeSet,
    item: ChangeItem,
    args: Mapping[str, Any],
    plan: Plan,
    sight: Sight,
    at: int,
) -> None:
    """Write what `plan` says, as the user's word of the time `at` (ms)."""
    if item.tool_name in CREATES:
        _create(tx, change_set, item, args, plan, sight)
        return
    values = dict(plan.writes)
    if "status" in values:
        values |= tasks.checked_status(args["status"], args.get("reason"))
    if "isChecked" in values:
        values |= {
            "checkedBy": "user",
            "checkedAt": iso(at),
            "checkReason": args.get("reason"),
            "proposedBy": change_set.agent_id,
        }
    if item.tool_name == "link_task":
        _link(tx, change_set.task_id, item, args, sight, values)
        return
    assert sight.target is not None
    receipt = _receipt(item, args, sight.target, values)
    tx.put(sight.target.id, sight.target.type, {**values, **receipt}, precedence=USER)


def _receipt(
    item: ChangeItem, args: Mapping[str, Any], target: Entity | None, values: Mapping[str, Any]
) -> dict[str, Any]:
    kept: dict[str, Any] = {"args": effective(args), "result": _result(values)}
    if values:
        touched = [path for path in values for path in (path, *COMPANIONS.get(path, ()))]
        kept["was"] = {path: target.value(path) if target is not None else None for path in dict.fromkeys(touched)}
    return {receipt_path(item.operation_id): kept}


def _result(values: Mapping[str, Any]) -> Literal["applied", "no-op"]:
    return "applied" if values else "no-op"


def _create(
    tx: Transaction, change_set: ChangeSet, item: ChangeItem, args: Mapping[str, Any], plan: Plan, sight: Sight
) -> None:
    task_id, type_name = change_set.task_id, CREATES[item.tool_name]
    receipt = {receipt_path(item.operation_id): {"args": effective(args), "result": _result(plan.writes)}}
    if not plan.writes:
        [*_, there] = [
            entity for entity in sight.items if addition(args["title"], titles(sight._replace(items=[entity])))
        ]
        tx.put(there.id, type_name, receipt)
        return
    ident = created_id(item.operation_id, type_name)
    extra = {"proposedBy": change_set.agent_id, **receipt}
    if type_name == ITEM:
        tasks.default_checklist(tx, task_id, precedence=AGENT)
        tasks.add_item(tx, ident, task_id, args["title"], extra, precedence=USER)
        return
    assert sight.task is not None
    fields = {
        "due": args.get("dueDate"),
        "priority": args.get("priority", "P2"),
        "categoryId": view(sight.task, Task).category_id,
        **extra,
    }
    tasks.add_task(tx, ident, args["title"], {k: v for k, v in fields.items() if v is not None}, precedence=USER)
    if "description" in args:
        note = created_id(item.operation_id, "entry")
        tasks.add_note(tx, note, ident, args["description"], author="agent")


def _link(
    tx: Transaction,
    task_id: str,
    item: ChangeItem,
    args: Mapping[str, Any],
    sight: Sight,
    values: dict[str, Any],
) -> None:
    """A link that was deleted is brought back, without the relations that it had."""
    _, from_id, to_id = link_ends(args["relation"], task_id, args["targetTaskId"])
    receipt = _receipt(item, args, sight.target, values)
    fields = {**values, **receipt}
    if sight.target is None:
        tx.link(ENTRY_LINK, from_id, to_id, fields, precedence=USER)
    elif is_deleted(sight.target):
        unsaid = {path: None for path in sight.target.registers if path.startswith("relations/")}
        tx.link(ENTRY_LINK, from_id, to_id, unsaid | fields, precedence=USER)
    else:
        tx.put(sight.target.id, ENTRY_LINK, fields, precedence=USER)
