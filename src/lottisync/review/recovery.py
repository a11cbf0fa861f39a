"""Finishing the sagas that a dead process left open, and repeating effects that the journal has lost
(docs/specs/10-review.md, REV-50 to REV-53, REV-61, REV-503, REV-504).

The sagas do not depend on each other: one that cannot be finished is reported once, with its item and the reason, and
all others are finished. Like `verdict`, this is for a person's side only.
"""

from collections.abc import Sequence

import msgspec

from lottisync.review import saga
from lottisync.review.completion import Begun, Sagas, witness
from lottisync.review.desk import Desk, Ledgers, ReviewTransaction, failed
from lottisync.review.outcome import Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.saga import SagaRequest
from lottisync.review.unfinished import lost
from lottisync.store import fork


def recover(desk: Desk, sagas: Sagas, now: int) -> list[Outcome]:
    """Finish every saga; returns the outcome of each. To be called at start."""
    outcomes = _begin_lost_again(desk, now)
    with desk.agent_store.reading() as reader:
        pending = saga.pending(reader)
    return outcomes + [_play(desk, sagas, operation, request, now) for operation, request in pending]


def _play(desk: Desk, sagas: Sagas, operation: str, request: SagaRequest | None, now: int) -> Outcome:
    """Finish a saga, also if its set was removed meanwhile: the person's verdict counts."""
    if request is None:
        message = "its saga cannot be read, and is given up"
        return _close(desk, operation, Outcome(operation, "failed", message), now)
    try:
        with desk.agent_store.reading() as reader:
            placed = Ledgers(reader, now).find(request.item, even_removed=True)
    except Exception as error:  # noqa: BLE001 - one saga that cannot be played must not stop the others
        return _close(desk, operation, failed(request.item, error), now)
    try:
        return sagas.finish([Begun(placed, request)], now)[0]
    except Exception as error:  # noqa: BLE001 - the effect may be there, so it stays to be finished
        return failed(request.item, error)


def _close(desk: Desk, operation: str, outcome: Outcome, now: int) -> Outcome:
    """Report a saga that cannot be finished. It is marked as failed, so it is not reported at every start."""
    with desk.agent_store.transaction(now, PERSON) as tx:
        saga.fail(tx, operation, outcome.message, now)
    return outcome


# -- effects that the journal has lost


def _begin_lost_again(desk: Desk, now: int) -> list[Outcome]:
    """If only the journal was restored from a backup, decisions are here and their effects are gone (REV-61). The
    journal goes on under a new host. If it has written since, the chains find the fork."""
    begun = lost(desk.journal, desk.agent_store)
    if not begun:
        return []
    with desk.journal.transaction(now, PERSON) as tx:
        for _, request in begun:
            if request.witness is not None and request.witness.host == tx.host:
                fork.mint_if_behind(tx, request.witness.counter)
    return _begin_again(desk, begun, now)


def _begin_again(desk: Desk, begun: Sequence[tuple[str, SagaRequest]], now: int) -> list[Outcome]:
    """Begin each of them again in its own transaction; one that fails is reported."""
    outcomes = []
    for operation, request in begun:
        try:
            with desk.agent_store.transaction(now, PERSON) as tx:
                _begin_one_again(ReviewTransaction(desk, tx, now), operation, request)
        except Exception as error:  # noqa: BLE001 - one that cannot be begun must not stop the others
            outcomes.append(failed(request.item, error))
    return outcomes


def _begin_one_again(act: ReviewTransaction, operation: str, request: SagaRequest) -> None:
    """Begin the saga again, unless its decision no longer counts, or its effect is here under another host. If its task
    is not here yet, it waits."""
    if not act.ledgers.has(request.item):
        saga.attest(act.tx, operation, request, None)
        return
    placed = act.ledgers.find(request.item, even_removed=True)
    with act.desk.journal.reading() as journal:
        found = witness(journal, act.desk, Begun(placed, request))
    if found is not None or request.decision not in {head.id for head in placed.state.heads}:
        saga.attest(act.tx, operation, request, found)
    elif act.desk.journal.read(placed.set.task_id) is not None:
        saga.begin(act.tx, placed, msgspec.structs.replace(request, witness=None), act.now)
