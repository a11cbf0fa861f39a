"""Old change sets go (docs/specs/10-review.md, REV-36).

A set that was closed longer ago than the retention is tombstoned: nobody has anything to decide in it,
and every projection reads it. Its decisions stay; they are what the person said, and twins of an
operation may share them with a set that is still open.

The time is that of the *last* thing that closed it, so a set is not taken from under a verdict that was
just given. Two devices that clean up at once write two tombstones of one entity, and meet.
"""

from lottisync.review import shown
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.precedence import AGENT
from lottisync.review.projection import DAY, EXPIRY, instant
from lottisync.store.store import Store

RETENTION = 90 * DAY
"""Long enough to look something up that was decided last quarter."""


def remove_old_sets(agents: Store, now: int, retention: int = RETENTION) -> int:
    """Tombstone what was closed at least `retention` ms before `now`; returns how many sets. For the daemon,
    now and then."""
    with agents.transaction(now, AGENT) as tx:
        ledger = Ledger.read(tx, now)
        placed: dict[str, list[Placed]] = {}
        for one in ledger.placed():
            placed.setdefault(one.set.id, []).append(one)
        old = [ident for ident, items in placed.items() if _is_old(items, now, retention)]
        for ident in old:
            # With the agent's precedence: what a person writes on the set meanwhile would bring it back.
            tx.delete(ident)
            shown.forget(tx, [one.item.id for one in placed[ident]])
    return len(old)


def _is_old(items: list[Placed], now: int, retention: int) -> bool:
    return all(_closed_at(placed) is not None and now - (_closed_at(placed) or 0) >= retention for placed in items)


def _closed_at(placed: Placed) -> int | None:
    """When nothing was left to decide on an item; None while there is."""
    state = placed.state
    if state.contested or state.open or not (state.decided or state.expired):
        return None
    if state.decided:
        return max((instant(head.created_at) or 0 for head in state.heads), default=0)
    return max(instant(placed.set.created_at) or 0, instant(state.until) or 0) + EXPIRY
