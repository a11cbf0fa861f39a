"""The journal's half of a verdict: effect and receipt in one write (docs/specs/10-review.md, REV-40).

The receipt stands in the entity that the effect changes or creates. Besides the arguments and the
result it keeps what was there before, register by register, so that any device can take the effect
back (`lottisync.review.undo`), also one that had not confirmed it.

Each step looks again at what is there, and is the same whether the person has just spoken or a replay
speaks for them: all that they knew is in the request.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from lottisync.entities import path
from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.types import ENTRY_LINK, Task, link_ends
from lottisync.review import effect, undo
from lottisync.review.change import ChangeItem, ChangeSet, SeenField
from lottisync.review.decision import said
from lottisync.review.effect import COMPANIONS, CREATES, ITEM, Plan, Sight, receipt_path, titles
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Done, Effect, Outcome
from lottisync.review.precedence import AGENT
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import created_id, effective, undo_operation
from lottisync.review.redundancy import addition
from lottisync.review.saga import Request
from lottisync.review.terms import Terms
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


def take_effect(tx: Transaction, placed: Placed, request: Request, terms: Terms) -> Done:
    """Do what was confirmed, if base and guard allow it still. Raises `Problem` if the effect fails; the caller's
    transaction leaves nothing then."""
    item = placed.item
    sight = effect.look(tx, item.tool_name, request.args, placed.set.task_id)
    held = effect.receipt(sight, item, tx)
    if held is not None:
        args = held.get("args", request.args)
        outcome = Outcome(item.id, "already", "its effect is here already")
        result: Effect = "no-op" if held.get("result") == "no-op" else "applied"
        return Done(outcome, args, said(item, args, sight), tx.knowledge(), result)
    plan = planned(sight, placed, request, terms)
    refused = refusal(item, plan)
    if refused is not None:
        return Done(refused, request.args)
    result = "no-op" if plan.satisfied else "applied"
    sentence = said(item, request.args, sight)
    _carry_out(tx, placed.set, item, request.args, plan, sight, request.at)
    message = plan.withheld or ("it was so already" if plan.satisfied else "")
    return Done(Outcome(item.id, result, message), request.args, sentence, tx.knowledge(), result)


def take_back(tx: Transaction, placed: Placed, request: Request) -> Done:
    """Undo an effect. That the undo's receipt moved since the person spoke means that the old value is back already."""
    item = placed.item
    restoration = undo.undoing(tx, item, placed.set.task_id)
    sentence = said(item, request.args, seen(tx, placed))
    outcome = Outcome(item.id, "undone", stale=restoration.stale)
    if undo_base(restoration.holder, item) != request.base:
        return Done(msgspec.structs.replace(outcome, stale=[]), request.args, sentence, tx.knowledge())
    if restoration.stale and restoration.empty:
        message = "it was changed since it was confirmed"
        return Done(msgspec.structs.replace(outcome, result="stale", message=message), request.args)
    if not restoration.empty:
        undo.take_back(tx, item, restoration)
    message = "what was changed since was left as it is" if restoration.stale else ""
    if restoration.empty:
        message = "there was nothing to write back"
    return Done(msgspec.structs.replace(outcome, message=message), request.args, sentence, tx.knowledge())


def let_stand(tx: Transaction, placed: Placed) -> Done:
    """Settle a contest in favour of the effect. A twin that was answered along has no effect of its own."""
    item = placed.item
    args = undo.stand(tx, item, placed.set.task_id)
    confirmed = [head for head in placed.state.heads if head.verdict == ItemStatus.CONFIRMED]
    if args is None and not all(head.result == "no-op" for head in confirmed):
        message = "its effect has not arrived here yet; synchronise first"
        return Done(Outcome(item.id, "failed", message), item.args)
    standing = item.args if args is None else {**prose(item), **args}
    sentence = said(item, standing, seen(tx, placed))
    return Done(Outcome(item.id, "kept"), standing, sentence, tx.knowledge(), "no-op" if args is None else "applied")


def mark_label(tx: Transaction, placed: Placed, request: Request) -> None:
    """Note on the task that the person does not want a label there, or that they do not mind it any more."""
    register = path.join("suppressedLabels", str(request.args["id"]))
    value = True if request.args["suppressed"] else None
    task = tx.entity(placed.set.task_id)
    if task is not None and not is_deleted(task) and task.value(register) != value:
        tx.put(task.id, task.type, {register: value})


# -- what is looked at


def refusal(item: ChangeItem, plan: Plan) -> Outcome | None:
    """Why a plan is not carried out: somebody has written since, or it can't be done at all."""
    if plan.stale:
        message = plan.obstacle or "it was changed since this was proposed"
        return Outcome(item.id, "stale", message, stale=plan.stale)
    if plan.obstacle is not None:
        return Outcome(item.id, "failed", plan.obstacle)
    if plan.withheld is not None and not plan.writes:
        return Outcome(item.id, "failed", plan.withheld)
    return None


def planned(sight: Sight, placed: Placed, request: Request, terms: Terms) -> Plan:
    """What it would do to what is there, compared with what the person was shown."""
    item, task_id = placed.item, placed.set.task_id
    return effect.plan(sight, item, request.args, task_id, request.base, terms, guarded=request.guarded)


def seen(reader: Reader, placed: Placed) -> Sight:
    """What the journal holds of an item as it was proposed."""
    return effect.look(reader, placed.item.tool_name, placed.item.args, placed.set.task_id)


def prose(item: ChangeItem) -> dict[str, Any]:
    """What an item's arguments say beside the change."""
    return {key: value for key, value in item.args.items() if key not in effective(item.args)}


def undo_base(entity: Entity | None, item: ChangeItem) -> list[SeenField]:
    """The register of the undo's receipt, by its dots."""
    if entity is None:
        return []
    register = effect.receipt_path(undo_operation(item.operation_id))
    dots = sorted((dot.host, dot.counter) for dot in entity.dots(register))
    return [SeenField(entity.id, register, None, [(str(host), counter) for host, counter in dots])]


# -- the write


def _carry_out(
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
    tx.put(sight.target.id, sight.target.type, {**values, **receipt})


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
        tasks.add_item(tx, ident, task_id, args["title"], extra)
        return
    assert sight.task is not None
    fields = {
        "due": args.get("dueDate"),
        "priority": args.get("priority", "P2"),
        "categoryId": view(sight.task, Task).category_id,
        **extra,
    }
    tasks.add_task(tx, ident, args["title"], {k: v for k, v in fields.items() if v is not None})
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
        tx.link(ENTRY_LINK, from_id, to_id, fields)
    elif is_deleted(sight.target):
        unsaid = {path: None for path in sight.target.registers if path.startswith("relations/")}
        tx.link(ENTRY_LINK, from_id, to_id, unsaid | fields)
    else:
        tx.put(sight.target.id, ENTRY_LINK, fields)
