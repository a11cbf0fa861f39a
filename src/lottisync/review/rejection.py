"""Rejecting and deferring (docs/specs/10-review.md, REV-47, REV-108, REV-59).

Both leave the journal as it is, so they are a decision in one transaction of the agent store. Only an action that
records its rejection in the journal gets a saga.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.problem import Problem
from lottisync.review import effect, effect_write, saga
from lottisync.review.action import Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.completion import Begun, Sagas
from lottisync.review.decision import decision_on, twins
from lottisync.review.desk import UNSEEN, Desk, Ledgers, ReviewTransaction, Shown
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.saga import SagaRequest
from lottisync.store.instant import iso

MAX_REASON = 1_000
LATEST = 253_402_300_799_000
"""The end of the year 9999, in ms: the last time that has a text form."""


def reject(
    desk: Desk,
    sagas: Sagas,
    item_ids: Sequence[str],
    now: int,
    reason: str | None,
    *,
    only_open: bool = False,
    shown: Shown = UNSEEN,
) -> list[Outcome]:
    """Reject items, with a reason that the agent will read, in one transaction. Their twins are decided with them, and
    items that depend on them are rejected too. With `only_open` only the open ones."""
    reason = _checked_reason(reason)
    sagas.finish_begun(item_ids, now)
    with desk.agent_store.transaction(now, PERSON) as tx:
        act = ReviewTransaction(desk, tx, now, shown)
        wanted = [ident for ident in item_ids if not only_open or act.ledgers.find(ident).state.open]
        outcomes = [_reject(act, ident, reason) for ident in wanted]
    settle_marks(desk, sagas, now)
    return outcomes


def _reject(act: ReviewTransaction, item_id: str, reason: str | None) -> Outcome:
    outcome = _decide(act, item_id, ItemStatus.REJECTED, reason=reason)
    falling = [item_id] if outcome.result == "rejected" else []
    while falling:
        for other in act.ledgers.of(item_id).building_on(falling.pop()):
            if not other.state.decided:
                _decide(act, other.item.id, ItemStatus.REJECTED, reason=reason)
                falling.append(other.item.id)
    return outcome


def defer(
    desk: Desk, sagas: Sagas, item_ids: Sequence[str], until: int, now: int, *, shown: Shown = UNSEEN
) -> list[Outcome]:
    """Put items off until a time (ms): they leave the inbox, and come back then."""
    if until > LATEST:
        raise Problem(
            "bad-value",
            "an item can be deferred until {iso} at the latest; got {until} ms",
            iso=iso(LATEST),
            until=until,
        )
    if until <= now:
        raise Problem("bad-value", "an item can be deferred to a later time; {iso} has passed", iso=iso(until))
    sagas.finish_begun(item_ids, now)
    with desk.agent_store.transaction(now, PERSON) as tx:
        act = ReviewTransaction(desk, tx, now, shown)
        return [_decide(act, ident, ItemStatus.DEFERRED, until=iso(until)) for ident in item_ids]


def _decide(
    act: ReviewTransaction,
    item_id: str,
    verdict: Literal[ItemStatus.REJECTED, ItemStatus.DEFERRED],
    *,
    reason: str | None = None,
    until: str | None = None,
) -> Outcome:
    """A verdict that does not change the journal, checked in the transaction of the agent store that writes it."""
    placed, desk = act.ledgers.find(item_id), act.desk
    item, task_id = placed.item, placed.set.task_id
    if (refused := act.no_longer_open(placed)) is not None:
        return refused
    with desk.journal.reading() as reader:
        target_view = effect.read_target(desk.actions, item, task_id, reader)
        if saga.begun(act.tx, item) is not None:
            return Outcome(item_id, "already", "another process is confirming it")
        found = effect.effect_of(desk.actions, item, task_id)
        if not isinstance(found, Unreadable) and effect.held_receipt(found, target_view, reader) is not None:
            return Outcome(item_id, "already", "it was confirmed on another device, whose decision has not arrived yet")
        knowledge = reader.knowledge()
        sentence = effect_write.sentence_of(reader, desk.actions, item, item.args, task_id)
    decision = msgspec.structs.replace(
        decision_of(act, placed, verdict, knowledge),
        human_summary=sentence,
        reason=reason,
        until=until,
    )
    act.write(placed, decision, twins(act.ledgers.of_task(task_id), placed, act.new_id))
    if verdict is ItemStatus.REJECTED:
        note_mark(act, placed, rejected=True)
    return Outcome(item_id, "rejected" if verdict is ItemStatus.REJECTED else "deferred", decision=decision.id)


def decision_of(
    act: ReviewTransaction, placed: Placed, verdict: ItemStatus, knowledge: Clock | None = None
) -> ChangeDecision:
    """A decision by the person, now, who has seen all decisions on the item."""
    return decision_on(
        placed,
        act.new_id(),
        verdict,
        act.now,
        device=act.desk.device,
        seen=act.ledgers.of_task(placed.set.task_id).decision_ids(placed.item),
        knowledge=knowledge,
    )


# -- rejections that are recorded in the journal


def note_mark(act: ReviewTransaction, placed: Placed, *, rejected: bool) -> None:
    """Begin a saga that records in the journal that an item was rejected, or that it no longer is."""
    action = act.desk.actions.read(placed.item.tool_name, placed.item.args)
    if not isinstance(action, Unreadable) and action.marks_rejection:
        saga.begin(act.tx, placed, SagaRequest("mark", placed.item.id, act.now, rejected=rejected), act.now)


def settle_marks(desk: Desk, sagas: Sagas, now: int) -> None:
    """Record rejections in the journal, for the sagas that were begun."""
    with desk.agent_store.reading() as reader:
        requests = [request for _, request in saga.pending(reader) if request is not None and request.kind == "mark"]
    if requests:
        with desk.agent_store.reading() as reader:
            ledgers = Ledgers(reader, now)
            begun = [Begun(ledgers.find(one.item, even_removed=True), one) for one in requests]
        sagas.finish(begun, now)


def _checked_reason(reason: str | None) -> str | None:
    reason = (reason or "").strip() or None
    if reason is not None and len(reason) > MAX_REASON:
        raise Problem(
            "bad-value",
            "a reason has at most {max_reason} characters; got {count}",
            max_reason=MAX_REASON,
            count=len(reason),
        )
    return reason
