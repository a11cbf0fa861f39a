"""The queue of wakes in agent.sqlite (docs/specs/09-agents.md, section 9).

The queue holds the writes that wake an agent, not the wakes. A second change does not queue a second wake: its dots are
added, and when the wake starts, its run key is made from all dots (S3-89). So a queued wake has no row in the log of
runs yet: its key is not known before it starts.

A dot leaves the queue when the agent's watermark covers it. So it stays if a wake fails, is killed, or did not read the
change in time.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lottisync.agents.seen import Seen
from lottisync.causality.vector_clock import Dot, Host
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader

TABLE = """
create table if not exists wake_queue (agent_id text not null, subscription_id text not null, host text not null,
    counter integer not null, queued_at integer not null,
    primary key (agent_id, subscription_id, host, counter)) strict, without rowid;
"""
"""The dots of the writes that wake an agent, and when (ms) they were queued here; local (S3-18)."""


class QueuedWrites(NamedTuple):
    """The writes that wait for one agent under one subscription; `since` (ms) is when the first was queued here."""

    agent_id: str
    subscription_id: str
    dots: frozenset[Dot]
    since: int


def add(tx: Merge, agent_id: str, subscription_id: str, dots: Iterable[Dot]) -> None:
    """Let the agent wake for those writes. What waits already keeps its place."""
    for host, counter in sorted(dots):
        tx.execute(
            "insert or ignore into wake_queue values (?, ?, ?, ?, ?)",
            (agent_id, subscription_id, host, counter, tx.now),
        )


def waiting(reader: Reader, agent_id: str) -> list[QueuedWrites]:
    """What waits for the agent, by subscription."""
    rows = reader.local(
        """select subscription_id, host, counter, queued_at from wake_queue where agent_id = ?
           order by subscription_id, host, counter""",
        (agent_id,),
    )
    found: dict[str, list[tuple[Dot, int]]] = {}
    for subscription_id, host, counter, queued_at in rows:
        found.setdefault(subscription_id, []).append((Dot(Host(host), counter), queued_at))
    return [
        QueuedWrites(agent_id, ident, frozenset(dot for dot, _ in listed), min(at for _, at in listed))
        for ident, listed in found.items()
    ]


def agents(reader: Reader) -> set[str]:
    """The agents for which writes wait."""
    return {agent_id for (agent_id,) in reader.local("select distinct agent_id from wake_queue")}


def forget(tx: Merge, read: Iterable[QueuedWrites]) -> None:
    """Drop exactly these writes: a wake has read them."""
    for each in read:
        _drop(tx, each, each.dots)


def forget_seen(tx: Merge, agent_id: str, seen: Seen) -> None:
    """Drop what the agent has seen by now."""
    for each in waiting(tx, agent_id):
        _drop(tx, each, (dot for dot in each.dots if seen.has(dot)))


def _drop(tx: Merge, each: QueuedWrites, dots: Iterable[Dot]) -> None:
    for host, counter in sorted(dots):
        tx.execute(
            "delete from wake_queue where agent_id = ? and subscription_id = ? and host = ? and counter = ?",
            (each.agent_id, each.subscription_id, host, counter),
        )
