"""The change feed: what a program sees of a store that others write (docs/specs/05-store.md, section 11).

Every change of an entity here, by whichever program of this device or by a peer, takes the next position
in the feed. A consumer has a name and a durable cursor; it takes the changes behind the cursor, does
its work, and says how far it came. If it is killed in between it sees the same changes again: at least
once, in order, and nothing is left out. An entity that changed ten times since is there once, with what
it is now. The bell (`lottisync.store.doorbell`) tells when to look.

A daemon, a web page and a program of twenty lines are consumers in the same way.
"""

from lottisync.problem import Problem
from lottisync.store.merge import Merge
from lottisync.store.reader import Change
from lottisync.store.store import Store

BATCH = 500


class Feed:
    """A consumer's view of one store. A new consumer begins with all that is there."""

    def __init__(self, store: Store, consumer: str) -> None:
        if not (isinstance(consumer, str) and 0 < len(consumer) <= 64 and consumer.isprintable()):
            raise Problem(
                "bad-value",
                "a consumer of the feed has a name of 1 to 64 printable characters; got {consumer!r}",
                consumer=str(consumer)[:80],
            )
        self._store = store
        self._consumer = consumer

    def take(self, limit: int = BATCH) -> list[Change]:
        """The next changes, oldest first; empty if there are none. Taking does not move the cursor."""
        with self._store.reading() as reader:
            return reader.changes(reader.cursor(self._consumer), limit)

    def done(self, change: Change, now: int) -> None:
        """Everything up to and with `change` is dealt with, durably."""
        with self._store.transaction(now, None) as tx:
            advance(tx, self._consumer, change.feed)


def advance(tx: Merge, consumer: str, feed: int) -> None:
    """Move a consumer's cursor, in the transaction of what it did with the changes. It never goes back."""
    tx.execute(
        """insert into cursors values (?, ?)
           on conflict(consumer) do update set feed = max(feed, excluded.feed)""",
        (consumer, feed),
    )


def begin_again(tx: Merge, consumer: str) -> None:
    """Take a consumer's cursor away: it sees all that is there again."""
    tx.execute("delete from cursors where consumer = ?", (consumer,))
