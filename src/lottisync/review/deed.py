"""The journal's half of a verdict: effect and receipt in one write (docs/specs/10-review.md, REV-40).

The receipt stands in the entity that the effect changes or creates. Besides the arguments and the
result it keeps what was there before, register by register, so that any device can take the effect
back (`lottisync.review.undo`), also one that had not confirmed it.

Each step looks again at what is there, and is the same whether the person has just spoken or a replay
speaks for them: all that they knew is in the request.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lottisync.entities.entity import Entity
from lottisync.review import effect as effects
from lottisync.review import undo
from lottisync.review.action import Action, Actions, Deed, Sight, Unreadable
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.effect import Effect, Plan, effect_of
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Done, Outcome, WriteResult
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective, undo_operation
from lottisync.review.saga import Request
from lottisync.review.terms import Terms
from lottisync.store.transaction import Transaction


def take_effect(tx: Transaction, actions: Actions, placed: Placed, request: Request, terms: Terms) -> Done:
    """Do what was confirmed, if base and guard allow it still. Raises `Problem` if the effect fails; the caller's
    transaction leaves nothing then."""
    item, task_id = placed.item, placed.set.task_id
    action = actions.read(item.tool_name, request.args)
    if isinstance(action, Unreadable):
        return Done(Outcome(item.id, "failed", action.reason), request.args)
    effect = Effect(actions, item, action, task_id)
    sight = effect.look(tx)
    held = effects.held_receipt(effect, sight, tx)
    if held is not None:
        args = held.get("args", request.args)
        outcome = Outcome(item.id, "already", "its effect is here already")
        result: WriteResult = "no-op" if held.get("result") == "no-op" else "applied"
        return Done(outcome, args, said(actions, item, args, sight), tx.knowledge(), result)
    plan = planned(action, sight, placed, request, terms)
    refused = refusal(item, plan)
    if refused is not None:
        return Done(refused, request.args)
    result = "no-op" if plan.satisfied else "applied"
    sentence = said(actions, item, request.args, sight)
    deed = Deed(task_id, placed.set.agent_id, item.operation_id, request.at, sight, plan.writes)
    action.carry_out(tx, deed)
    message = plan.withheld or ("it was so already" if plan.satisfied else "")
    return Done(Outcome(item.id, result, message), request.args, sentence, tx.knowledge(), result)


def take_back(tx: Transaction, actions: Actions, placed: Placed, request: Request) -> Done:
    """Undo an effect. That the undo's receipt moved since the person spoke means that the old value is back already."""
    item = placed.item
    effect = effect_of(actions, item, placed.set.task_id)
    if isinstance(effect, Unreadable):
        return Done(Outcome(item.id, "failed", effect.reason), request.args)
    restoration = undo.undoing(tx, effect)
    sentence = said(actions, item, request.args, effect.look(tx))
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


def let_stand(tx: Transaction, actions: Actions, placed: Placed) -> Done:
    """Settle a contest in favour of the effect. A twin that was answered along has no effect of its own."""
    item = placed.item
    effect = effect_of(actions, item, placed.set.task_id)
    args = None if isinstance(effect, Unreadable) else undo.stand(tx, effect)
    confirmed = [head for head in placed.state.heads if head.verdict == ItemStatus.CONFIRMED]
    if args is None and not all(head.result == "no-op" for head in confirmed):
        message = "its effect has not arrived here yet; synchronise first"
        return Done(Outcome(item.id, "failed", message), item.args)
    standing = item.args if args is None else {**prose(item), **args}
    sentence = said(actions, item, standing, effects.look(actions, item, placed.set.task_id, tx))
    return Done(Outcome(item.id, "kept"), standing, sentence, tx.knowledge(), "no-op" if args is None else "applied")


def mark_rejection(tx: Transaction, actions: Actions, placed: Placed, *, rejected: bool) -> None:
    """Note in the journal that an item was rejected, or that it is not any more, where its action does that."""
    action = actions.read(placed.item.tool_name, placed.item.args)
    if not isinstance(action, Unreadable):
        action.on_rejection(tx, placed.set.task_id, rejected=rejected)


# -- what is looked at


def said(actions: Actions, item: ChangeItem, args: Mapping[str, Any], sight: Sight) -> str:
    """The summary as it reads now, for a decision to keep."""
    action = actions.read(item.tool_name, {**prose(item), **args}, complete=False)
    return item.human_summary if isinstance(action, Unreadable) else action.summary(action.name(sight))


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


def planned(action: Action, sight: Sight, placed: Placed, request: Request, terms: Terms) -> Plan:
    """What it would do to what is there, compared with what the person was shown."""
    task_id = placed.set.task_id
    return effects.plan(action, sight, task_id, request.base, terms, guarded=request.guarded)


def prose(item: ChangeItem) -> dict[str, Any]:
    """What an item's arguments say beside the change."""
    return {key: value for key, value in item.args.items() if key not in effective(item.args)}


def undo_base(entity: Entity | None, item: ChangeItem) -> list[SeenField]:
    """The register of the undo's receipt, by its dots."""
    if entity is None:
        return []
    register = effects.receipt_path(undo_operation(item.operation_id))
    dots = sorted((dot.host, dot.counter) for dot in entity.dots(register))
    return [SeenField(entity.id, register, None, [(str(host), counter) for host, counter in dots])]
