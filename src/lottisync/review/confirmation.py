"""Confirming, and keeping what is contested (docs/specs/10-review.md, REV-40 to REV-49, REV-58).

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lottisync.problem import Sentence
from lottisync.review import effect, effect_write, saga
from lottisync.review.action import Action, Unreadable
from lottisync.review.change import ChangeItem
from lottisync.review.completion import BUILDS, Begun, Sagas
from lottisync.review.decision import twins
from lottisync.review.desk import DECIDED, UNSEEN, Desk, ReviewTransaction, Shown
from lottisync.review.effect import Effect
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.proposal import prose
from lottisync.review.saga import SagaRequest

Against = Literal["base", "current"]


def confirm(
    desk: Desk,
    sagas: Sagas,
    item_ids: Sequence[str],
    now: int,
    *,
    edited_args: Mapping[str, Any] | None = None,
    against: Against = "base",
    only_open: bool = False,
    shown: Shown = UNSEEN,
) -> list[Outcome]:
    """Confirm items in this order, as one act. With `only_open` only the open ones. If another process had begun to
    confirm one of them, its outcome counts."""
    finished = sagas.finish_begun(item_ids, now)
    outcomes = {ident: out for ident, (request, out) in finished.items() if request.kind == "confirm"}
    begun: list[Begun] = []
    with desk.agent_store.transaction(now, PERSON) as tx:
        act = ReviewTransaction(desk, tx, now, shown)
        for ident in item_ids:
            if ident in outcomes or (only_open and not act.ledgers.find(ident).state.open):
                continue
            one = _begin(act, act.ledgers.find(ident), begun, edited_args, against)
            if isinstance(one, Outcome):
                outcomes[ident] = one
            else:
                begun.append(one)
    for one, outcome in zip(begun, sagas.finish(begun, now), strict=True):
        outcomes[one.placed.item.id] = outcome
    return [outcomes[ident] for ident in item_ids if ident in outcomes]


def _begin(
    act: ReviewTransaction,
    placed: Placed,
    begun: Sequence[Begun],
    edited_args: Mapping[str, Any] | None,
    against: Against,
) -> Begun | Outcome:
    """Write the saga's row; or return why it cannot be done, with nothing written. The first item of an act is compared
    with the journal now, each later item when the ones before it have been carried out."""
    item, task_id = placed.item, placed.set.task_id
    if (other := saga.begun(act.tx, item)) is not None:
        return Begun(placed, other)
    if (refused := act.no_longer_open(placed)) is not None:
        return refused
    for twin in (twin for one in begun for twin in one.request.twins if twin.item == item.id):
        return Outcome(item.id, "already", DECIDED["confirmed"], twin.decision)
    ledger, together = act.ledgers.of_task(task_id), {one.placed.item.id for one in begun}
    if not all(other in together or ledger.is_confirmed(other) for other in item.depends_on):
        return Outcome(item.id, "failed", BUILDS)
    action = _validated(act.desk, item, edited_args, task_id)
    if isinstance(action, str):
        return Outcome(item.id, "failed", action)
    with act.desk.journal.reading() as reader:
        target_view = action.read_target(reader, task_id)
        request = SagaRequest(
            "confirm",
            item.id,
            act.now,
            act.new_id(),
            args=action.arguments(),
            edited=edited_args is not None,
            guarded=against == "base" and not _is_own_word(act.desk, item, action),
            base=item.base if against == "base" else effect.base(action, target_view, task_id),
            seen=ledger.decision_ids(item),
            twins=twins(ledger, placed, act.new_id),
        )
        found = Effect(act.desk.actions, item, action, task_id)
        if not begun and effect.held_receipt(found, target_view, reader) is None:
            policy = act.desk.policy(act.tx, placed.set.agent_id)
            refused = effect_write.refusal(item, effect_write.planned(action, target_view, placed, request, policy))
            if refused is not None:
                return refused
    saga.begin(act.tx, placed, request, act.now)
    return Begun(placed, request)


def _is_own_word(desk: Desk, item: ChangeItem, action: Action) -> bool:
    """True if the person's edit changed a guarded register."""
    proposed = desk.actions.read(item.tool_name, item.args)
    values = {} if isinstance(proposed, Unreadable) else proposed.values()
    return any(action.values().get(path) != values.get(path) for path in action.guarded)


def _validated(desk: Desk, item: ChangeItem, edited_args: Mapping[str, Any] | None, task_id: str) -> Action | str:
    """The action to confirm, read and checked again; or why it cannot be used. Prose that a person leaves out of an
    edit, and the target, stay as they were proposed."""
    proposed = desk.actions.read(item.tool_name, item.args)
    if edited_args is None:
        return proposed.reason if isinstance(proposed, Unreadable) else proposed
    about = desk.actions.subject(item.tool_name)
    subject = {name: value for name, value in item.args.items() if name in about}
    args = {**prose(item.args), **subject, **edited_args}
    edited = desk.actions.read(item.tool_name, args, edits=item.args)
    if isinstance(edited, Unreadable):
        return edited.reason
    target = task_id if isinstance(proposed, Unreadable) else proposed.target(task_id)
    if any(args.get(name) != item.args.get(name) for name in about) or edited.target(task_id) != target:
        return Sentence("an edit changes the arguments, not what they are about")
    return edited


def keep(desk: Desk, sagas: Sagas, item_id: str, now: int, *, shown: Shown = UNSEEN) -> Outcome:
    """Settle a contested item in favour of its effect (REV-58)."""
    sagas.finish_begun([item_id], now)
    with desk.agent_store.transaction(now, PERSON) as tx:
        act = ReviewTransaction(desk, tx, now, shown)
        placed = act.ledgers.find(item_id)
        if (refused := act.undecidable(placed)) is not None:
            return refused
        if (changed := act.not_as_shown(placed)) is not None:
            return changed
        if not placed.state.contested:
            return Outcome(item_id, "already", "nothing about it is contested")
        seen = act.ledgers.of_task(placed.set.task_id).decision_ids(placed.item)
        request = SagaRequest("keep", item_id, now, act.new_id(), seen=seen)
        saga.begin(tx, placed, request, now)
    return sagas.finish([Begun(placed, request)], now)[0]
