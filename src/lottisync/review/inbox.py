"""What waits for the person (docs/specs/10-review.md, section 7).

Which sets to show the index says (`lottisync.review.index`). The views are built anew from what the two
stores hold, every time: they are the same on every device that has the same data. Beside each item
stands what it would change now. It may be *stale* (somebody wrote since), *satisfied* (it is so already, a
value came by sync), *contested* (devices decided differently), or carry the error of an effect that failed.
Twins are shown once, as the oldest of them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.entities.view import view
from lottisync.journal.types import ChecklistItem, Task
from lottisync.review import effect, guard, index
from lottisync.review.effect import Plan, Sight, StaleField
from lottisync.review.ledger import Ledger, Placed, agent_name, one_set
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import set_of, summary
from lottisync.review.terms import Sovereignty, Terms, terms_of
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """One register: `before` is what is there now, `after` what is proposed."""

    path: str
    before: Any = None
    after: Any = None


class ItemView(msgspec.Struct, frozen=True, rename="camel"):
    """`status` is pending, confirmed, rejected, deferred or retracted; `undone` that it was the user who took back
    what was confirmed, and not the agent; `expired` a pending item that has waited too long; `error` why it could
    not be confirmed, or why the last attempt failed; `order_unknown` that what it cites was written beside the
    user's tick and not after it."""

    id: str
    tool: str
    args: dict[str, Any]
    summary: str
    status: str
    changes: list[Change] = []
    stale: bool = False
    satisfied: bool = False
    contested: bool = False
    expired: bool = False
    undone: bool = False
    until: str | None = None
    error: str | None = None
    reason: str | None = None
    stale_fields: list[StaleField] = []
    group_id: str | None = None
    depends_on: list[str] = []
    order_unknown: bool = False


class SetView(msgspec.Struct, frozen=True, rename="camel"):
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
    """What one device shows, in its reader's language; `sovereignty` is what the device asks for at least."""

    def __init__(
        self, journal: Store, agents: Store, *, language: str = "en", sovereignty: Sovereignty = "reason"
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._language = language
        self._sovereignty = sovereignty

    def open_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The sets that want something of the person now, oldest first: an item waits, or is contested."""
        shown = self._listed(now, task_id, only_open=True)
        return [one for one in shown if one.waiting or any(item.contested for item in one.items)]

    def unsettled_sets(self, now: int, task_id: str | None = None) -> list[SetView]:
        """The open sets, and those with items that are deferred or expired."""
        undecided = (ItemStatus.PENDING, ItemStatus.DEFERRED)
        shown = self._listed(now, task_id, only_open=False)
        return [one for one in shown if any(item.contested or item.status in undecided for item in one.items)]

    def item(self, item_id: str, now: int) -> ItemView:
        """One item, whatever became of it. Raises `Problem` for an id that is none."""
        index.refresh(self._agents, now)
        with self._agents.reading() as reader:
            one_set(reader, item_id)
            ledger = index.ledger_of(reader, [set_of(item_id)], now)
            glass = self._glass(reader, ledger)
        with self._journal.reading() as reader:
            return _item_view(reader, ledger.find(item_id), glass)

    def _listed(self, now: int, task_id: str | None, *, only_open: bool) -> list[SetView]:
        index.refresh(self._agents, now)
        with self._agents.reading() as reader:
            wanted = {entry.set_id for entry in index.entries(reader, task_id, only_open=only_open)}
            ledger = index.ledger_of(reader, wanted, now)
            glass = self._glass(reader, ledger)
        by_set: dict[str, list[Placed]] = {}
        for placed in ledger.placed():
            if placed.set.id in wanted and ledger.is_shown(placed):
                by_set.setdefault(placed.set.id, []).append(placed)
        with self._journal.reading() as reader:
            return [_set_view(reader, many, glass) for many in by_set.values()]

    def _glass(self, agents: Reader, ledger: Ledger) -> "_Glass":
        proposers = {one.agent_id for one in ledger.sets}
        return _Glass(
            ledger,
            dict(agents.local("select operation_id, last_error from saga_log where status = 'failed'")),
            {ident: agent_name(agents, ident) for ident in proposers},
            {ident: terms_of(agents, ident, self._sovereignty) for ident in proposers},
            self._language,
        )


class _Glass(NamedTuple):
    """Through what an item is looked at."""

    ledger: Ledger
    errors: Mapping[str, str]
    names: Mapping[str, str]
    terms: Mapping[str, Terms]
    language: str


def _set_view(journal: Reader, many: list[Placed], glass: _Glass) -> SetView:
    change_set = many[0].set
    task = journal.entity(change_set.task_id)
    return SetView(
        change_set.id,
        change_set.agent_id,
        glass.names[change_set.agent_id],
        change_set.task_id,
        view(task, Task).title if task is not None else "",
        change_set.thread_id,
        glass.ledger.states[change_set.id].status,
        change_set.created_at,
        [_item_view(journal, placed, glass) for placed in many],
    )


def _item_view(journal: Reader, placed: Placed, glass: _Glass) -> ItemView:
    item, state = placed.item, placed.state
    sight, plan = effect.look(journal, item.tool_name, item.args, placed.set.task_id), Plan({}, [])
    waits = [other for other in item.depends_on if not glass.ledger.is_confirmed(other)]
    if not state.decided and not waits:
        terms = glass.terms[placed.set.agent_id]
        plan = effect.plan(sight, item, item.args, placed.set.task_id, item.base, terms)
    error = plan.obstacle or plan.withheld or (glass.errors.get(item.operation_id) if not state.decided else None)
    name = effect.named(sight) or planned_title(item.args, glass.ledger)
    return ItemView(
        item.id,
        item.tool_name,
        item.args,
        summary(item.tool_name, item.args, item_title=name, written=item.human_summary, language=glass.language),
        state.status,
        _changes(sight, item.tool_name, item.args, name),
        stale=bool(plan.stale),
        satisfied=not state.decided and not waits and plan.satisfied,
        contested=state.contested,
        expired=state.expired,
        undone=state.undone,
        until=state.until,
        error=error,
        reason=next((head.reason for head in reversed(state.heads) if head.reason), None),
        stale_fields=plan.stale,
        group_id=item.group_id,
        depends_on=waits,
        order_unknown=not state.decided and _is_order_unknown(sight, item.args),
    )


def planned_title(args: Mapping[str, Any], ledger: Ledger) -> str | None:
    """The title of a task that a link leads to and that another item would make."""
    making = ledger.making(args["targetTaskId"]) if isinstance(args.get("targetTaskId"), str) else None
    return making.item.args.get("title") if making is not None else None


def _is_order_unknown(sight: Sight, args: Mapping[str, Any]) -> bool:
    if sight.target is None or "isChecked" not in args:
        return False
    item = view(sight.target, ChecklistItem)
    return guard.is_order_unknown(
        is_checked=item.is_checked, checked_by=item.checked_by, proposed=args["isChecked"], grade=sight.grade
    )


def _changes(sight: Sight, tool: str, args: Mapping[str, Any], name: str | None) -> list[Change]:
    if not effect.understands(tool, args):
        return []
    if tool in effect.CREATES:
        return [Change(effect.CREATES[tool], None, args["title"])]
    now = effect.current(sight, tool, args)
    if tool in effect.MEMBERS:
        after = name or args.get("id") or args.get("targetTaskId")
        return [Change(path.partition("/")[0], after if now[path] else None, after) for path in now]
    return [Change(path, now.get(path), value) for path, value in effect.proposed(tool, args).items()]
