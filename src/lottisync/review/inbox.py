"""What waits for the person (docs/specs/10-review.md, section 7).

The index says which sets to show (`lottisync.review.index`). The views are built from the two stores every
time, so they are the same on every device with the same data. `lottisync.review.item_view` builds the view of
one item. Of several twins, the oldest is shown.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from lottisync.entities.version import Damaged
from lottisync.review import index
from lottisync.review.action import Actions, Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.effect import effect_of
from lottisync.review.item_view import ItemView, Lens, item_view, lens_of, task_title
from lottisync.review.ledger import Ledger, Placed, one_set
from lottisync.review.policy import Sovereignty, agent_name
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import set_of
from lottisync.store.instant import InstantText, iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store

if TYPE_CHECKING:
    from lottisync.review.undo import ContestedValues


class SetView(msgspec.Struct, frozen=True, rename="camel"):
    """The proposals of one wake of an agent for one task."""

    id: str
    agent_id: str
    agent_name: str
    task_id: str
    task_title: str | None
    thread_id: str
    status: str
    created_at: InstantText
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
        agent_store: Store,
        actions: Actions,
        *,
        language: str = "en",
        sovereignty: Sovereignty = "reason",
    ) -> None:
        self._journal = journal
        self._agent_store = agent_store
        self._actions = actions
        self._language = language
        self._sovereignty = sovereignty

    def open_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The sets with an item that waits or is contested, oldest first."""
        shown = self._listed(now, task_id, only_open=True)
        return [one for one in shown if _waits(one)]

    def unsettled_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The open sets, and those with items that are deferred or expired."""
        shown = self._listed(now, task_id, only_open=False)
        return [one for one in shown if _undecided(one)]

    def page(
        self, now: int, task_id: str | None = None, *, everything: bool = False, skip: int = 0, limit: int
    ) -> tuple[list[SetView], bool]:
        """One page of `open_sets` (or of `unsettled_sets`, with `everything`), and whether others follow. Its cost does
        not depend on what waits for other tasks. Twins are looked for among all items that wait for the tasks on the
        page."""
        with index.reading(self._agent_store, now) as reader:
            ids, more = index.page_of(reader, task_id, only_open=not everything, skip=skip, limit=limit)
            tasks = {each for ident in ids if (each := index.task_of(reader, ident)) is not None}
            beside = {entry.set_id for each in tasks for entry in index.entries(reader, each, only_open=not everything)}
            views = self._views(reader, set(ids), now, beside)
        keeps = _undecided if everything else _waits
        shown = [one for one in views if keeps(one)]
        if more and not shown:  # nothing but twins of what is on earlier pages
            return self.page(now, task_id, everything=everything, skip=skip + limit, limit=limit)
        return shown, more

    def visited_sets(self, now: int, since: int, task_id: str | None = None) -> list[SetView]:
        """The open sets, and those in which something was decided at `since` (ms) or later: what was decided on a page
        stays on it until the person leaves."""
        begun = iso(since)
        with index.reading(self._agent_store, now) as reader:
            rows = {
                row.set_id: row for row in (*index.entries(reader, task_id), *index.resolved(reader, begun, task_id))
            }
            lately = index.decided_since(reader, begun)
            shown = self._views(reader, set(rows), now)
        return [one for one in shown if one.id in lately or _waits(one)]

    def titles(self, task_ids: Iterable[str]) -> dict[str, str]:
        """The titles of tasks; '' for one that is not here."""
        with self._journal.reading() as journal:
            return {ident: task_title(journal, self._actions, ident) or "" for ident in task_ids}

    def names(self, agent_ids: Iterable[str]) -> dict[str, str]:
        """What agents are called."""
        with self._agent_store.reading() as agents:
            return {ident: agent_name(agents, ident, self._language) for ident in agent_ids}

    def opened(self, ids: Collection[str], now: int) -> tuple[list[SetView], list[ItemView]]:
        """These sets, oldest first; and the items of all sets that were put off, or have expired."""
        with index.reading(self._agent_store, now) as reader:
            sets = self._views(reader, set(ids), now)
            aside = index.aside(reader)
            found = self._views(reader, aside, now) if aside else []
        put_aside = [item for one in found for item in one.items if item.status == ItemStatus.DEFERRED or item.expired]
        return sets, put_aside

    def verdicts_on(self, item_id: str, now: int) -> tuple[ChangeDecision, ...]:
        """The decisions that count on an item, oldest first: several, if devices decided differently. Raises `Problem`
        for an unknown id."""
        with index.reading(self._agent_store, now) as reader:
            one_set(reader, item_id)
            return index.ledger_of(reader, [set_of(item_id)], now).find(item_id).state.heads

    def choice_on(self, item_id: str, now: int) -> "ContestedValues":
        """What a contested item would be with either verdict. Raises `Problem` for an unknown id."""
        from lottisync.review.undo import ContestedValues, choice  # only a page with a contested item needs it

        with index.reading(self._agent_store, now) as reader:
            one_set(reader, item_id)
            placed = index.ledger_of(reader, [set_of(item_id)], now).find(item_id)
        found = effect_of(self._actions, placed.item, placed.set.task_id)
        with self._journal.reading() as journal:
            try:
                return ContestedValues({}, {}) if isinstance(found, Unreadable) else choice(journal, found)
            except Damaged:  # what the effect holds cannot be said; the verdicts can be given all the same
                return ContestedValues({}, {})

    def item(self, item_id: str, now: int) -> ItemView:
        """One item, in any status. Raises `Problem` for an unknown id."""
        with index.reading(self._agent_store, now) as reader:
            one_set(reader, item_id)
            ledger = index.ledger_of(reader, [set_of(item_id)], now)
            lens = self._lens(reader, ledger, [set_of(item_id)])
        with self._journal.reading() as reader:
            return item_view(reader, ledger.find(item_id), lens)

    def _listed(self, now: int, task_id: str | None, *, only_open: bool) -> list[SetView]:
        with index.reading(self._agent_store, now) as reader:
            wanted = {entry.set_id for entry in index.entries(reader, task_id, only_open=only_open)}
            return self._views(reader, wanted, now)

    def _views(
        self, reader: Reader, wanted: set[str], now: int, beside: Collection[str] = frozenset()
    ) -> list[SetView]:
        """The views of the wanted sets. The sets `beside` may have twins of their items."""
        ledger = index.ledger_of(reader, wanted.union(beside), now)
        lens = self._lens(reader, ledger, wanted)
        by_set: dict[str, list[Placed]] = {}
        for placed in ledger.placed():
            if placed.set.id in wanted and ledger.is_shown(placed):
                by_set.setdefault(placed.set.id, []).append(placed)
        with self._journal.reading() as journal:
            return [_set_view(journal, many, lens) for many in by_set.values()]

    def _lens(self, agents: Reader, ledger: Ledger, named: Iterable[str]) -> Lens:
        sovereignty, language = self._sovereignty, self._language
        return lens_of(agents, ledger, self._actions, sovereignty=sovereignty, language=language, named=named)


def _waits(one: SetView) -> bool:
    return bool(one.waiting) or any(item.contested for item in one.items)


def _undecided(one: SetView) -> bool:
    undecided = (ItemStatus.PENDING, ItemStatus.DEFERRED)
    return any(item.contested or item.status in undecided for item in one.items)


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
