"""An agent takes its own proposals back (docs/specs/10-review.md, REV-75 to REV-77).

A proposal of yesterday may be pointless today, and a person should not have to say so. An agent may
retract its own open proposals. The decision names the agent and the reason. It carries the agent's
precedence, and a person's verdict counts more: if they confirmed it at the same time on another device, it
is confirmed.

A call is answered at once, and carried out when the wake ends, in the transaction that writes the wake's
proposals. So a wake that fails retracts nothing.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lottisync.entities.schema import derived_id
from lottisync.review.action import Actions
from lottisync.review.change import ChangeDecision
from lottisync.review.ledger import DECISION, Ledger, Placed, fields, shows_all
from lottisync.review.projection import ItemStatus
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction


class Staged(NamedTuple):
    """A retraction that waits for the end of the wake. `superseded_by` is the item that takes its place."""

    item: str
    reason: str
    superseded_by: str | None = None


class OpenProposal(NamedTuple):
    """An agent's own open proposal, as its prompt lists it."""

    id: str
    summary: str
    created_at: str


def open_proposals(
    agent_store: Store,
    actions: Actions,
    now: int,
    *,
    agent_id: str,
    task_id: str | None = None,
    hidden: Callable[[Placed], bool] = shows_all,
) -> list[OpenProposal]:
    """The agent's open proposals, without those that are `hidden`."""
    with agent_store.reading() as reader:
        ledger = Ledger.read(reader, now, task_id)
    return [
        OpenProposal(
            placed.item.id,
            ledger.summary(actions, placed.item),
            placed.set.created_at,
        )
        for placed in ledger.placed()
        if placed.set.agent_id == agent_id and _is_open(placed) and not hidden(placed)
    ]


def considered(
    reader: Reader, agent_id: str, task_id: str, proposals: Iterable[Staged], now: int
) -> tuple[list[Staged], str]:
    """The retractions of a call that can be carried out, and the answer for the model."""
    ledger = Ledger.read(reader, now, task_id)
    own = {placed.item.id: placed for placed in ledger.placed() if placed.set.agent_id == agent_id}
    staged, lines = [], []
    for proposal in proposals:
        placed = own.get(proposal.item)
        if placed is None:
            lines.append(f"- {proposal.item}: not found among your proposals")
        elif not _is_open(placed):
            lines.append(f"- {proposal.item}: not open, it is {placed.state.shown_status}")
        elif _is_begun(reader, placed):
            lines.append(f"- {proposal.item}: not open, the user is confirming it")
        else:
            staged.append(proposal)
    head = [f"Retracted {len(staged)} proposal(s)."] if staged else []
    return staged, "\n".join([*head, *([f"Left {len(lines)} as they are:", *lines] if lines else [])])


def carry_out(
    tx: Transaction, agent_id: str, task_id: str, staged: Iterable[Staged], now: int, device: str = ""
) -> int:
    """Write the decisions, for what is open still; returns how many. To be called in a transaction of the
    agent store."""
    wanted = {one.item: one for one in staged}
    if not wanted:
        return 0
    ledger, written = Ledger.read(tx, now, task_id), 0
    for placed in ledger.placed():
        retracted = wanted.get(placed.item.id)
        if retracted is None or placed.set.agent_id != agent_id or not _is_open(placed) or _is_begun(tx, placed):
            continue
        seen = ledger.decision_ids(placed.item)
        # The id is derived, so that a wake that is started again writes it once.
        ident = derived_id(DECISION, "retracted", placed.item.id, tx.host, *seen)
        decision = ChangeDecision(
            **placed.proposal(),
            id=ident,
            verdict=ItemStatus.RETRACTED,
            actor="agent",
            reason=retracted.reason,
            seen=seen,
            device=device,
            superseded_by=retracted.superseded_by,
            created_at=iso(now),
        )
        tx.put(decision.id, DECISION, fields(decision))
        written += 1
    return written


def _is_open(placed: Placed) -> bool:
    return placed.state.open or placed.state.status is ItemStatus.DEFERRED


def _is_begun(reader: Reader, placed: Placed) -> bool:
    """True if the person is confirming it, in a process that has not finished yet."""
    return bool(
        reader.local(
            "select 1 from saga_log where operation_id = ? and status = 'pending'", (placed.item.operation_id,)
        )
    )
