"""Taking a verdict back (docs/specs/10-review.md, REV-56, REV-57, REV-62). How an effect is undone in the journal,
`lottisync.review.undo` says.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Iterable

import msgspec

from lottisync.causality.vector_clock import covers
from lottisync.review import effect, effect_write, saga, undo
from lottisync.review.action import Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.completion import Begun, Sagas
from lottisync.review.decision import decided_together, decided_with
from lottisync.review.desk import UNSEEN, Desk, ReviewTransaction, Shown, already
from lottisync.review.ledger import Placed
from lottisync.review.outcome import Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.rejection import decision_of, note_mark, settle_marks
from lottisync.review.saga import SagaRequest
from lottisync.store.instant import iso
from lottisync.store.reader import Reader


def take_back(desk: Desk, sagas: Sagas, item_id: str, now: int, *, shown: Shown = UNSEEN) -> Outcome:
    """Take a verdict back. What was confirmed is written back where nobody has written since, and the item
    counts as retracted by the user; what was rejected, put off or retracted is pending again."""
    sagas.finish_begun([item_id], now)
    with desk.agent_store.transaction(now, PERSON) as tx:
        act = ReviewTransaction(desk, tx, now, shown)
        begun = _begin(act, act.ledgers.find(item_id))
    if isinstance(begun, Outcome):
        settle_marks(desk, sagas, now)
        return begun
    return sagas.finish([begun], now)[0]


def _begin(act: ReviewTransaction, placed: Placed) -> Begun | Outcome:
    """Log that an effect is to be taken back; a verdict without effect is taken back here and now."""
    item, state, task_id = placed.item, placed.state, placed.set.task_id
    if (other := saga.begun(act.tx, item)) is not None:
        return Begun(placed, other)
    if (refused := act.undecidable(placed)) is not None:
        return refused
    if (changed := act.not_as_shown(placed)) is not None:
        return changed
    if state.status is ItemStatus.PENDING:
        return Outcome(item.id, "failed", "nothing was decided on it")
    if state.undone:
        return already(placed)
    if state.status is not ItemStatus.CONFIRMED:
        return _reopen(act, placed)
    ledger = act.ledgers.of_task(task_id)
    if any(other.state.status is ItemStatus.CONFIRMED for other in ledger.building_on(item.id)):
        return Outcome(item.id, "failed", "another item that was confirmed builds on it: undo that first")
    found = effect.effect_of(act.desk.actions, item, task_id)
    if isinstance(found, Unreadable):
        return Outcome(item.id, "failed", found.reason)
    with act.desk.journal.reading() as reader:
        restoration = undo.undoing(reader, found)
        if restoration.holder is None and not _has_been_here(reader, state.heads):
            return Outcome(item.id, "failed", "its effect is not here; synchronise first")
    if restoration.stale and restoration.empty:
        return Outcome(item.id, "stale", restoration.why_not, stale=restoration.stale)
    request = SagaRequest(
        "undo",
        item.id,
        act.now,
        act.new_id(),
        args=state.heads[-1].args,
        base=effect_write.undo_base(restoration.holder, item),
        seen=ledger.decision_ids(item),
        twins=decided_with(ledger, placed, act.new_id),
        undoes=next(head.id for head in reversed(state.heads) if head.verdict == ItemStatus.CONFIRMED),
    )
    saga.begin(act.tx, placed, request, act.now)
    return Begun(placed, request)


def _reopen(act: ReviewTransaction, placed: Placed) -> Outcome:
    """Make an item pending again, for seven days, as one that was deferred and comes back. What was rejected together
    with it becomes pending again, too."""
    item, last = placed.item, placed.state.heads[-1]
    ledger = act.ledgers.of_task(placed.set.task_id)
    fell_with = [other for other in ledger.building_on(item.id) if decided_together(other, placed)]
    decision = msgspec.structs.replace(
        decision_of(act, placed, ItemStatus.DEFERRED),
        human_summary=last.human_summary,
        until=iso(act.now),
        journal_knowledge=last.journal_knowledge,
        undoes=last.id,
    )
    act.write(placed, decision, decided_with(ledger, placed, act.new_id))
    note_mark(act, placed, rejected=False)
    for other in fell_with:
        if not act.ledgers.find(other.item.id).state.open:
            _reopen(act, other)
    return Outcome(item.id, "undone", "it waits for you again", decision.id)


def _has_been_here(reader: Reader, heads: Iterable[ChangeDecision]) -> bool:
    """Whether this journal knows all that was known where an item was confirmed: if its effect is nowhere, it was
    forgotten."""
    knowledge = reader.knowledge()
    return all(covers(knowledge, head.journal_knowledge) for head in heads)
