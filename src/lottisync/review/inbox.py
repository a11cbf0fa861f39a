"""What waits for the person (docs/specs/10-review.md, section 7).

The index says which sets to show (`lottisync.review.index`). The views are built from the two stores every
time, so they are the same on every device with the same data. `lottisync.review.item_view` builds the view of
one item. Of several twins, the oldest is shown.
"""

from collections.abc import Iterable

import msgspec

from lottisync.review import index
from lottisync.review.action import Actions
from lottisync.review.item_view import ItemView, Lens, item_view, lens_of
from lottisync.review.ledger import Ledger, Placed, one_set
from lottisync.review.policy import Sovereignty
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import set_of
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class SetView(msgspec.Struct, frozen=True, rename="camel"):
    """The proposals of one wake of an agent for one task."""

    id: str
    agent_id: str
    agent_name: str
    task_id: str
    task_title: str
    thread_id: str
    status: str
    created_at: str
    items: list[ItemView]

    @property
    def waiting(self) -> int:
        """How many items wait for a verdict (the card's "suggests 7 changes")."""
        return sum(item.status == ItemStatus.PENDING and not item.expired for item in self.items)


class Inbox:
    """The views of one device, in its reader's language. `sovereignty` is the least that the device requires."""

    def __init__(
        self,
        journal: Store,
        agents: Store,
        actions: Actions,
        *,
        language: str = "en",
        sovereignty: Sovereignty = "reason",
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._actions = actions
        self._language = language
        self._sovereignty = sovereignty

    def open_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The sets with an item that waits or is contested, oldest first."""
        shown = self._listed(now, task_id, only_open=True)
        return [one for one in shown if one.waiting or any(item.contested for item in one.items)]

    def unsettled_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The open sets, and those with items that are deferred or expired."""
        undecided = (ItemStatus.PENDING, ItemStatus.DEFERRED)
        shown = self._listed(now, task_id, only_open=False)
        return [one for one in shown if any(item.contested or item.status in undecided for item in one.items)]

    def visited_sets(self, now: int, since: int, task_id: str | None = None) -> list[SetView]:
        """The open sets, and those in which something was decided at `since` (ms) or later: what was decided on a page
        stays on it until the person leaves."""
        begun = iso(since)
        shown = self._listed(now, task_id, only_open=False, resolved_since=begun)
        with self._agents.reading() as reader:
            lately = index.decided_since(reader, [one.id for one in shown], begun)
        return [one for one in shown if one.id in lately or one.waiting or any(item.contested for item in one.items)]

    def item(self, item_id: str, now: int) -> ItemView:
        """One item, in any status. Raises `Problem` for an unknown id."""
        index.refresh(self._agents, now)
        with self._agents.reading() as reader:
            one_set(reader, item_id)
            ledger = index.ledger_of(reader, [set_of(item_id)], now)
            lens = self._lens(reader, ledger, [set_of(item_id)])
        with self._journal.reading() as reader:
            return item_view(reader, ledger.find(item_id), lens)

    def _listed(
        self, now: int, task_id: str | None, *, only_open: bool, resolved_since: str | None = None
    ) -> list[SetView]:
        index.refresh(self._agents, now)
        with self._agents.reading() as reader:
            wanted = {entry.set_id for entry in index.entries(reader, task_id, only_open=only_open)}
            if resolved_since is not None:
                wanted |= {entry.set_id for entry in index.resolved(reader, resolved_since, task_id)}
            ledger = index.ledger_of(reader, wanted, now)
            lens = self._lens(reader, ledger, wanted)
        by_set: dict[str, list[Placed]] = {}
        for placed in ledger.placed():
            if placed.set.id in wanted and ledger.is_shown(placed):
                by_set.setdefault(placed.set.id, []).append(placed)
        with self._journal.reading() as reader:
            return [_set_view(reader, many, lens) for many in by_set.values()]

    def _lens(self, agents: Reader, ledger: Ledger, named: Iterable[str]) -> Lens:
        sovereignty, language = self._sovereignty, self._language
        return lens_of(agents, ledger, self._actions, sovereignty=sovereignty, language=language, named=named)


def _set_view(journal: Reader, many: list[Placed], lens: Lens) -> SetView:
    change_set = many[0].set
    return SetView(
        change_set.id,
        change_set.agent_id,
        lens.names[change_set.agent_id],
        change_set.task_id,
        lens.task_title(journal, change_set.task_id),
        change_set.thread_id,
        lens.ledger.states[change_set.id].status,
        change_set.created_at,
        [item_view(journal, placed, lens) for placed in many],
    )
