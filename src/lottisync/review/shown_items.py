"""The digest of each item as this device last showed it (docs/specs/10-review.md, REV-86).

A person decides on what they read. Between the page and the verdict another process may change the task, or the
note that a proposal cites. So the device keeps the digest of each view (`ItemView.shown`), and a verdict sends it. If
the present view has another digest, nothing is done.

A person who defers an item, or takes a verdict back, knows that they did. The answer names the item, so it counts as a
page: the stored digest becomes the one with that decision in it. It is computed, not read again. So any other change,
before or after, still makes the next verdict show it first.

The digests are in a local table: another device's pages say nothing about the page that this person has read.
"""

from collections.abc import Iterable, Mapping

from lottisync.problem import Problem
from lottisync.review.item_view import ItemView, shown_after
from lottisync.review.outcome import Outcome
from lottisync.store.database import NOT_WRITTEN, left_out_if_not_written
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store

TABLE = """
create table if not exists item_shown (item_id text not null primary key, digest text not null) strict;
"""
"""The digest of each item as it was last shown here; local."""


def remember(agent_store: Store, items: Iterable[ItemView], now: int) -> bool:
    """Store the digests of the items on a page, at `now` (ms). If they are stored already, nothing is written. Returns
    False if the disk does not take them: then the items must be shown again before a verdict (REV-430)."""
    try:
        _keep(agent_store, {item.id: item.shown for item in items}, now)
    except Problem as problem:
        if problem.code not in NOT_WRITTEN:
            raise
        return False
    return True


def follow(agent_store: Store, outcomes: Iterable[Outcome], now: int) -> None:
    """Store the digests of items that were shown, as the person's own `defer` or `undo` changes them; nothing if the
    disk does not take them, for the verdict itself is written."""
    decided = {one.item: one.decision for one in outcomes if one.result in ("deferred", "undone") and one.decision}
    with agent_store.reading() as reader:
        known = remembered(reader, decided)
    with left_out_if_not_written():
        _keep(agent_store, {ident: shown_after(digest, decided[ident]) for ident, digest in known.items()}, now)


def _keep(agent_store: Store, digests: Mapping[str, str], now: int) -> None:
    with agent_store.reading() as reader:
        known = remembered(reader, digests)
    news = [(ident, digest) for ident, digest in digests.items() if known.get(ident) != digest]
    if news:
        with agent_store.transaction(now, None) as tx:
            for row in news:
                tx.execute("insert or replace into item_shown(item_id, digest) values (?, ?)", row)


def remembered(reader: Reader, item_ids: Iterable[str]) -> dict[str, str]:
    """The digests of those items that were shown here."""
    found = {}
    for ident in item_ids:
        for (digest,) in reader.local("select digest from item_shown where item_id = ?", (ident,)):
            found[ident] = digest
    return found


def forget(tx: Merge, item_ids: Iterable[str]) -> None:
    """Forget the digests of items whose set is removed."""
    for ident in item_ids:
        tx.execute("delete from item_shown where item_id = ?", (ident,))
