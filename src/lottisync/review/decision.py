"""One verdict on one operation, as it is written down (docs/specs/10-review.md, sections 1 and 5).

A decision is added and never changed. It lists the decisions on its operation that whoever decided had
seen; what nobody lists counts. What says the same of other operations goes along: twins, which two wakes
proposed alike, are answered with one word, a decision each, and are taken back together.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.review import effect
from lottisync.review.change import ChangeDecision, ChangeItem
from lottisync.review.effect import Sight
from lottisync.review.ledger import DECISION, SET, Ledger, Placed, fields, one_set
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import summary
from lottisync.store.instant import iso
from lottisync.store.transaction import Transaction


class Twin(msgspec.Struct, frozen=True):
    """Another operation that proposes the same and is answered along: its item, the id of its decision,
    and the decisions on it that were known."""

    item: str
    decision: str
    seen: list[str]


def decision_on(
    placed: Placed,
    ident: str,
    verdict: ItemStatus,
    at: int,
    *,
    actor: Literal["user", "agent"],
    device: str,
    seen: list[str],
    knowledge: Clock | None = None,
) -> ChangeDecision:
    """A decision of the time `at` (ms) on an item as it was proposed; `knowledge` is what was known of the journal."""
    return ChangeDecision(
        id=ident,
        agent_id=placed.set.agent_id,
        task_id=placed.set.task_id,
        change_set_id=placed.set.id,
        item_id=placed.item.id,
        item_index=placed.ordinal,
        operation_id=placed.item.operation_id,
        tool_name=placed.item.tool_name,
        args=placed.item.args,
        human_summary=placed.item.human_summary,
        verdict=verdict,
        actor=actor,
        seen=seen,
        device=device,
        journal_knowledge={str(host): known for host, known in (knowledge or {}).items()},
        created_at=iso(at),
    )


def known(ledger: Ledger, item: ChangeItem) -> list[str]:
    """The decisions on an item's operation."""
    return [decision.id for decision in ledger.on_operation(item.operation_id)]


def said(item: ChangeItem, args: Mapping[str, Any], sight: Sight) -> str:
    """The summary as it reads now, for a decision to keep."""
    return summary(item.tool_name, args, item_title=effect.named(sight), written=item.human_summary)


def twins(ledger: Ledger, placed: Placed, new_id: Callable[[], str]) -> list[Twin]:
    """Twins of one operation share its decisions; those of another get one each."""
    others = {other.item.operation_id: other.item for other in ledger.twins(placed)}
    others.pop(placed.item.operation_id, None)
    return [Twin(item.id, new_id(), known(ledger, item)) for item in others.values()]


def answered_along(ledger: Ledger, placed: Placed, new_id: Callable[[], str]) -> list[Twin]:
    """The twins that were decided in one breath with this item, and are taken back with it."""
    alike = [
        other
        for other in ledger.placed()
        if other.item.digest == placed.item.digest and other.item.operation_id != placed.item.operation_id
    ]
    return [
        Twin(other.item.id, new_id(), known(ledger, other.item))
        for other in {one.item.operation_id: one for one in alike}.values()
        if in_one_breath(other, placed)
    ]


def in_one_breath(other: Placed, placed: Placed) -> bool:
    """Whether all that counts for the one was said when it was said of the other, too."""
    at = {(head.device, head.created_at, head.verdict) for head in placed.state.heads}
    return bool(other.state.heads) and {(h.device, h.created_at, h.verdict) for h in other.state.heads} <= at


def write(tx: Transaction, decision: ChangeDecision, along: list[Twin]) -> None:
    """Write a person's decision, and the same on its twins."""
    _put(tx, decision)
    for twin in along:
        change_set = one_set(tx, twin.item)
        [(index, item)] = [(i, item) for i, item in enumerate(change_set.items) if item.id == twin.item]
        same = msgspec.structs.replace(
            decision,
            id=twin.decision,
            agent_id=change_set.agent_id,
            change_set_id=change_set.id,
            item_id=item.id,
            item_index=index,
            operation_id=item.operation_id,
            seen=twin.seen,
            result="no-op" if decision.result else None,
        )
        _put(tx, same)


def _put(tx: Transaction, decision: ChangeDecision) -> None:
    """The set is touched along: what a person decides on it while another device removes it as an old one keeps
    it alive, or what was put off would never come back, and a contest would not show (REV-36)."""
    tx.put(decision.id, DECISION, fields(decision))
    if tx.version(decision.change_set_id) is not None:
        tx.put(decision.change_set_id, SET, {"touched": True})
