"""How much waits in each set, without looking at what its items would do: what every page counts.

They are held by task. A task is looked at again only if one of its sets is another by now, or stands otherwise in the
index, because a verdict concerns one task of hundreds.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

from lottisync.review import index
from lottisync.review.index import IndexRow
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class SetHead(NamedTuple):
    """A set. `waiting`: how many of its items wait (twins counted once) or are contested; `contested`: whether one
    is."""

    id: str
    agent_id: str
    task_id: str
    created_at: str
    waiting: int
    contested: bool


class _Held(NamedTuple):
    """The heads of a task, and what they were made from."""

    made_from: list[tuple[IndexRow, int | None]]
    heads: list[SetHead]


class Heads:
    """Those of one store, from call to call."""

    def __init__(self, agents: Store) -> None:
        self._agents = agents
        self._held: dict[str, _Held] = {}

    def visited(self, now: int, since: int) -> list[SetHead]:
        """The heads of the sets in which something waits, or was decided at `since` (ms) or later, oldest first."""
        begun = iso(since)
        with index.reading(self._agents, now) as reader:
            rows = {row.set_id: row for row in (*index.entries(reader), *index.resolved(reader, begun))}
            lately = index.decided_since(reader, rows.values(), begun)
            wanted = [row for row in rows.values() if row.open or row.set_id in lately]
            heads = self._heads(reader, wanted, now)
        found = [head for head in heads if head.waiting or head.id in lately]
        return sorted(found, key=lambda head: (head.created_at, head.agent_id, head.id))

    def _heads(self, reader: Reader, wanted: list[IndexRow], now: int) -> list[SetHead]:
        positions = index.feed_positions(reader)
        of_task: defaultdict[str, list[tuple[IndexRow, int | None]]] = defaultdict(list)
        for row in wanted:
            of_task[row.task_id].append((row, positions.get(row.set_id)))
        stays = {task: one for task, one in self._held.items() if of_task.get(task) == one.made_from}
        outdated = [row for task, rows in of_task.items() if task not in stays for row, _ in rows]
        made: defaultdict[str, list[SetHead]] = defaultdict(list)
        for head in _looked_at(reader, outdated, now):
            made[head.task_id].append(head)
        fresh = {task: _Held(rows, made[task]) for task, rows in of_task.items() if task not in stays}
        self._held = stays | fresh
        return [head for held in self._held.values() for head in held.heads]


def _looked_at(reader: Reader, rows: list[IndexRow], now: int) -> list[SetHead]:
    wanted = {row.set_id for row in rows}
    ledger = index.ledger_of(reader, wanted, now)
    placed = [one for one in ledger.placed() if one.set.id in wanted]
    waiting = Counter(one.set.id for one in placed if one.state.contested or (one.state.open and ledger.is_shown(one)))
    contested = {one.set.id for one in placed if one.state.contested}
    return [
        SetHead(one.id, one.agent_id, one.task_id, one.created_at, waiting[one.id], one.id in contested)
        for one in ledger.sets
        if one.id in wanted
    ]
