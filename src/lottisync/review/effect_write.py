"""The journal's half of a verdict: effect and receipt in one write (docs/specs/10-review.md, REV-40).

The receipt is a register of the entity that the effect changes or creates. It holds the arguments, the
result and the previous value of each register. So any device can undo the effect
(`lottisync.review.undo`), also one that did not confirm it.

Each step reads the journal again. It makes no difference whether the person has just decided or the saga
is replayed: the request holds all that the person knew.

Like `verdict`, this module may be used on the person's side only.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lottisync.entities.entity import Entity
from lottisync.problem import Sentence
from lottisync.review import effect as effects
from lottisync.review import undo
from lottisync.review.action import Action, Actions, EffectWrite, TargetView, Unreadable
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.effect import Effect, EffectPlan, effect_of
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Done, Outcome, WriteResult
from lottisync.review.policy import Policy
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import prose, undo_operation
from lottisync.review.saga import SagaRequest
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


def take_effect(tx: Transaction, actions: Actions, placed: Placed, request: SagaRequest, policy: Policy) -> Done:
    """Carry out a confirmed item, if base and guard still allow it. Raises `Problem` if the effect fails; then the
    caller's transaction is rolled back."""
    item, task_id = placed.item, placed.set.task_id
    action = actions.read(item.tool_name, request.args, edits=item.args if request.edited else None)
    if isinstance(action, Unreadable):
        return Done(Outcome(item.id, "failed", action.reason), request.args)
    effect = Effect(actions, item, action, task_id)
    target_view = effect.read_target(tx)
    held = effects.held_receipt(effect, target_view, tx)
    if held is not None:
        args = held.get("args", request.args)
        outcome = Outcome(item.id, "already", "its effect is here already")
        result: WriteResult = "no-op" if held.get("result") == "no-op" else "applied"
        return Done(outcome, args, sentence_of(tx, actions, item, args, task_id), tx.knowledge(), result)
    plan = planned(action, target_view, placed, request, policy)
    refused = refusal(item, plan)
    if refused is not None:
        return Done(refused, request.args)
    result = "no-op" if plan.satisfied else "applied"
    sentence = sentence_of(tx, actions, item, request.args, task_id)
    effect_write = EffectWrite(task_id, placed.set.agent_id, item.operation_id, request.at, target_view, plan.writes)
    action.carry_out(tx, effect_write)
    message = plan.withheld or (Sentence("it was so already") if plan.satisfied else "")
    return Done(Outcome(item.id, result, message), request.args, sentence, tx.knowledge(), result)


def take_back(tx: Transaction, actions: Actions, placed: Placed, request: SagaRequest) -> Done:
    """Undo an effect. If the undo's receipt was written since the person decided, the old value is back already."""
    item = placed.item
    effect = effect_of(actions, item, placed.set.task_id)
    if isinstance(effect, Unreadable):
        return Done(Outcome(item.id, "failed", effect.reason), request.args)
    restoration = undo.undoing(tx, effect)
    sentence = sentence_of(tx, actions, item, request.args, placed.set.task_id)
    outcome = Outcome(item.id, "undone", stale=restoration.stale)
    if undo_base(restoration.holder, item) != request.base:
        return Done(msgspec.structs.replace(outcome, stale=[]), request.args, sentence, tx.knowledge())
    if restoration.stale and restoration.empty:
        return Done(msgspec.structs.replace(outcome, result="stale", message=restoration.why_not), request.args)
    if not restoration.empty:
        undo.take_back(tx, item, restoration)
    message = Sentence("what was changed since was left as it is") if restoration.stale else Sentence("")
    if restoration.empty:
        message = Sentence("there was nothing to write back")
    return Done(msgspec.structs.replace(outcome, message=message), request.args, sentence, tx.knowledge())


def keep_effect(tx: Transaction, actions: Actions, placed: Placed) -> Done:
    """Settle a contested item by keeping its effect. A twin decided with another item has no effect of its own."""
    item = placed.item
    effect = effect_of(actions, item, placed.set.task_id)
    args = None if isinstance(effect, Unreadable) else undo.reassert(tx, effect)
    confirmed = [head for head in placed.state.heads if head.verdict == ItemStatus.CONFIRMED]
    if args is None and not all(head.result == "no-op" for head in confirmed):
        message = Sentence("its effect has not arrived here yet; synchronise first")
        return Done(Outcome(item.id, "failed", message), item.args)
    standing = item.args if args is None else {**prose(item.args), **args}
    sentence = sentence_of(tx, actions, item, standing, placed.set.task_id)
    return Done(Outcome(item.id, "kept"), standing, sentence, tx.knowledge(), "no-op" if args is None else "applied")


def mark_rejection(tx: Transaction, actions: Actions, placed: Placed, *, rejected: bool) -> None:
    """Write to the journal that an item was rejected, or that it no longer is, if its action records that."""
    action = actions.read(placed.item.tool_name, placed.item.args)
    if not isinstance(action, Unreadable):
        action.on_rejection(tx, placed.set.task_id, rejected=rejected)


# -- reading and comparing


def sentence_of(reader: Reader, actions: Actions, item: ChangeItem, args: Mapping[str, Any], task_id: str) -> str:
    """The sentence of an item with these arguments, to be stored in a decision. A person's edit may name another thing
    than was proposed: the name is read with the edit."""
    action = actions.read(item.tool_name, {**prose(item.args), **args}, complete=False)
    if isinstance(action, Unreadable):
        return item.human_summary
    return action.summary(action.name(action.read_target(reader, task_id)))


def refusal(item: ChangeItem, plan: EffectPlan) -> Outcome | None:
    """Why a plan is not carried out: a register was written since, or it cannot be done at all. None if it can."""
    if plan.stale:
        message = plan.obstacle or Sentence("it was changed since this was proposed")
        return Outcome(item.id, "stale", message, stale=plan.stale)
    if plan.obstacle is not None:
        return Outcome(item.id, "failed", plan.obstacle)
    if plan.withheld is not None and not plan.writes:
        return Outcome(item.id, "failed", plan.withheld)
    return None


def planned(
    action: Action, target_view: TargetView, placed: Placed, request: SagaRequest, policy: Policy
) -> EffectPlan:
    """The plan of the effect, compared with the base that the person was shown."""
    task_id = placed.set.task_id
    return effects.plan(action, target_view, task_id, request.base, policy, guarded=request.guarded)


def undo_base(entity: Entity | None, item: ChangeItem) -> list[SeenField]:
    """The register of the undo's receipt, with its dots."""
    if entity is None:
        return []
    register = effects.receipt_path(undo_operation(item.operation_id))
    dots = sorted((dot.host, dot.counter) for dot in entity.dots(register))
    return [SeenField(entity.id, register, None, [(str(host), counter) for host, counter in dots])]
