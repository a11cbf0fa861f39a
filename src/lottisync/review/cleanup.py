"""Removing old change sets (docs/specs/10-review.md, REV-36).

A set that was closed longer ago than the retention is tombstoned. There is nothing left to decide in it,
and every projection would have to read it. Its decisions stay: they are the person's words, and they may
also count for a twin in a set that is still open.

A set is closed when its *last* item was closed, so a set with a recent verdict stays. If two devices clean
up at the same time, their tombstones are joined like any concurrent writes.
"""

from lottisync.review import shown_items
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.precedence import AGENT
from lottisync.review.projection import DAY, EXPIRY
from lottisync.store.instant import millis_or_none
from lottisync.store.store import Store

RETENTION = 90 * DAY
"""Long enough to look something up that was decided last quarter."""


def remove_old_sets(agent_store: Store, now: int, retention: int = RETENTION) -> int:
    """Tombstone the sets that were closed at least `retention` ms before `now`. Returns how many. The daemon calls
    it from time to time."""
    with agent_store.transaction(now, AGENT) as tx:
        ledger = Ledger.read(tx, now)
        placed: dict[str, list[Placed]] = {}
        for one in ledger.placed():
            placed.setdefault(one.set.id, []).append(one)
        unsure = {one.set.id for one in ledger.placed() if ledger.undecidable(one) is not None}
        old = [ident for ident, items in placed.items() if ident not in unsure and _is_old(items, now, retention)]
        for ident in old:
            # With the agent's precedence, so that a person's concurrent write on the set brings it back.
            tx.delete(ident)
            shown_items.forget(tx, [one.item.id for one in placed[ident]])
    return len(old)


def _is_old(items: list[Placed], now: int, retention: int) -> bool:
    return all(_closed_at(placed) is not None and now - (_closed_at(placed) or 0) >= retention for placed in items)


def _closed_at(placed: Placed) -> int | None:
    """When an item was closed (ms); None while there is something to decide."""
    state = placed.state
    if state.contested or state.open or not (state.decided or state.expired):
        return None
    if state.decided:
        return max((millis_or_none(head.created_at) or 0 for head in state.heads), default=0)
    return max(millis_or_none(placed.set.created_at) or 0, millis_or_none(state.until) or 0) + EXPIRY
