"""Writing the person's decisions (docs/specs/10-review.md, section 5).

This writes with the person's precedence, so it is for a person's side only, like `verdict`. An agent's own
retractions are written by `lottisync.review.retraction`, with its own precedence.
"""

import msgspec

from lottisync.review.change import ChangeDecision
from lottisync.review.decision import Twin
from lottisync.review.ledger import DECISION, SET, fields, one_set
from lottisync.store.transaction import Transaction


def write(tx: Transaction, decision: ChangeDecision, along: list[Twin]) -> list[ChangeDecision]:
    """Write a person's decision, and the same on its twins; returns all of them."""
    written = [decision]
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
        written.append(same)
    for one in written:
        _put(tx, one)
    return written


def _put(tx: Transaction, decision: ChangeDecision) -> None:
    """Store a decision. The set is written, too (`touched`). If another device removes it as an old one at the same
    time, this write keeps it alive. Otherwise a deferred item would never come back, and a contest would not show
    (REV-102)."""
    tx.put(decision.id, DECISION, fields(decision))
    if tx.version(decision.change_set_id) is not None:
        tx.put(decision.change_set_id, SET, {"touched": True})
