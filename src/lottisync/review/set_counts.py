"""How much waits in each set, without looking at what its items would do: what every page counts.

They are held, because a verdict concerns one task of hundreds. The change feed says which tasks were written to.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from lottisync.review import index
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store

FOREVER = 1 << 60
"""Longer than a clock goes (ms)."""


class SetCount(NamedTuple):
    """How much waits in a set. `tools`: how many of its items wait (twins counted once) or are contested, by the tool
    that proposes them; `waiting`: how many in all; `contested`: whether an item is contested."""

    id: str
    agent_id: str
    task_id: str
    created_at: str
    tools: Mapping[str, int]
    waiting: int
    contested: bool


class SetCounts:
    """The counts of one store's sets, kept from call to call. What is known of a set is right until its task is written
    to, or until `until` (ms), when time alone changes the next set."""

    def __init__(self, agent_store: Store) -> None:
        self._agent_store = agent_store
        self._known: dict[str, SetCount] = {}
        self._feed, self._from, self.until = 0, 0, 0

    def visited(self, now: int, since: int) -> list[SetCount]:
        """The counts of the sets in which something waits, or was decided at `since` (ms) or later, oldest first."""
        with index.reading(self._agent_store, now) as reader:
            self._forget_what_changed(reader, now)
            lately = index.decided_since(reader, iso(since))
            wanted = lately.union(index.open_sets(reader))
            unknown = wanted - self._known.keys()
            self._known |= _looked_at(reader, unknown, now) if unknown else {}
        counts = [count for ident in wanted if (count := self._known.get(ident)) is not None]
        self._known = {count.id: count for count in counts}
        found = [count for count in counts if count.waiting or count.id in lately]
        return sorted(found, key=lambda count: (count.created_at, count.agent_id, count.id))

    def _forget_what_changed(self, reader: Reader, now: int) -> None:
        feed = index.position(reader)
        if self._from <= now < self.until and feed >= self._feed:
            concerned = index.concerned(reader, self._feed)
            self._known = {ident: count for ident, count in self._known.items() if count.task_id not in concerned}
        else:
            self._known = {}
        self._feed, self._from, self.until = feed, now, index.holds_until(reader) or now + FOREVER


def _looked_at(reader: Reader, wanted: set[str], now: int) -> dict[str, SetCount]:
    ledger = index.ledger_of(reader, wanted, now)
    placed = [one for one in ledger.placed() if one.set.id in wanted]
    tools: dict[str, Counter[str]] = {ident: Counter() for ident in wanted}
    for one in placed:
        if one.state.contested or (one.state.open and ledger.is_shown(one)):
            tools[one.set.id][one.item.tool_name] += 1
    contested = {one.set.id for one in placed if one.state.contested}
    return {
        one.id: SetCount(
            *(one.id, one.agent_id, one.task_id, one.created_at),
            *(tools[one.id], tools[one.id].total(), one.id in contested),
        )
        for one in ledger.sets
        if one.id in wanted
    }
