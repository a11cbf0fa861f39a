"""One verdict on one operation, as it is stored (docs/specs/10-review.md, sections 1 and 5).

A decision is added and never changed. It lists the decisions on its operation that were known when it was made. A
decision counts if no other one lists it. *Twins* are items of two wakes that propose the same. They are decided
together, with a decision each, and are undone together. `lottisync.review.record` writes the person's decisions.
"""

from collections.abc import Callable

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.review.change import ChangeDecision
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.projection import ItemStatus
from lottisync.store.instant import iso


class Twin(msgspec.Struct, frozen=True):
    """Another operation that proposes the same and is decided together with this one: its item, the id of its
    decision, and the decisions on it that were known."""

    item: str
    decision: str
    seen: list[str]


def decision_on(
    placed: Placed,
    ident: str,
    verdict: ItemStatus,
    at: int,
    *,
    device: str,
    seen: list[str],
    knowledge: Clock | None = None,
) -> ChangeDecision:
    """A person's decision of the time `at` (ms) on an item as it was proposed; `knowledge` is what was known of the
    journal."""
    return ChangeDecision(
        **placed.proposal(),
        id=ident,
        verdict=verdict,
        actor="user",
        seen=seen,
        device=device,
        journal_knowledge=dict(knowledge or {}),
        created_at=iso(at),
    )


def twins(ledger: Ledger, placed: Placed, new_id: Callable[[], str]) -> list[Twin]:
    """The twins that get a decision of their own. Twins of one operation share its decisions."""
    others = {other.item.operation_id: other.item for other in ledger.twins(placed)}
    others.pop(placed.item.operation_id, None)
    return [Twin(item.id, new_id(), ledger.decision_ids(item)) for item in others.values()]


def decided_with(ledger: Ledger, placed: Placed, new_id: Callable[[], str]) -> list[Twin]:
    """The twins that were decided together with this item, and are undone with it."""
    alike = [
        other
        for other in ledger.placed()
        if other.item.digest == placed.item.digest and other.item.operation_id != placed.item.operation_id
    ]
    return [
        Twin(other.item.id, new_id(), ledger.decision_ids(other.item))
        for other in {one.item.operation_id: one for one in alike}.values()
        if decided_together(other, placed)
    ]


def decided_together(other: Placed, placed: Placed) -> bool:
    """True if every decision that counts for `other` was made in the same act as one on `placed` (device, time,
    verdict)."""
    at = {(head.device, head.created_at, head.verdict) for head in placed.state.heads}
    return bool(other.state.heads) and {(h.device, h.created_at, h.verdict) for h in other.state.heads} <= at
