"""What waits for the person (docs/specs/10-review.md, section 7).

The views are built anew from what the two stores hold, every time: they are the same on every device
that has the same data. Beside each item stands what it would change now. It may be *stale* (somebody
wrote since), *satisfied* (it is so already, a value came by sync), *contested* (devices decided
differently), or carry the error of an effect that failed. Twins are shown once, as the oldest of them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lottisync.entities.agent import ChangeDecision
from lottisync.entities.entity import Entity
from lottisync.entities.journal import ChecklistItem, Task
from lottisync.entities.view import view
from lottisync.review import effect
from lottisync.review.effect import ITEM, Plan, Sight, StaleField
from lottisync.review.ledger import Ledger, Placed, agent_name
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import summary
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """One register: `before` is what is there now, `after` what is proposed."""

    path: str
    before: Any = None
    after: Any = None


class ItemView(msgspec.Struct, frozen=True, rename="camel"):
    """`status` is pending, confirmed, rejected, deferred or retracted; `expired` a pending item that has
    waited too long; `error` why it could not be confirmed, or why the last attempt failed."""

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
    until: str | None = None
    error: str | None = None
    reason: str | None = None
    stale_fields: list[StaleField] = []
    group_id: str | None = None


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


def open_sets(journal: Store, agents: Store, now: int, task_id: str | None = None) -> list[SetView]:
    """The sets that want something of the person now, oldest first: an item waits, or is contested."""
    return [
        shown
        for shown in unsettled_sets(journal, agents, now, task_id)
        if shown.waiting or any(item.contested for item in shown.items)
    ]


def unsettled_sets(journal: Store, agents: Store, now: int, task_id: str | None = None) -> list[SetView]:
    """The open sets, and those with items that are deferred or expired."""
    with agents.reading() as reader:
        ledger = Ledger.read(reader, now, task_id)
        errors = dict(reader.local("select operation_id, last_error from saga_log where status = 'failed'"))
        by_set: dict[str, list[Placed]] = {}
        for placed in ledger.placed():
            if ledger.is_shown(placed):
                by_set.setdefault(placed.set.id, []).append(placed)
        unsettled = [
            many for many in by_set.values() if any(not one.state.decided or one.state.contested for one in many)
        ]
        names = {many[0].set.agent_id: agent_name(reader, many[0].set.agent_id) for many in unsettled}
    with journal.reading() as reader:
        return [_set_view(reader, ledger, many, names, errors) for many in unsettled]


def decisions(agents: Store, task_id: str) -> list[ChangeDecision]:
    """Every decision on a task's proposals, oldest first."""
    with agents.reading() as reader:
        return Ledger.read(reader, 0, task_id).decisions


def _set_view(
    journal: Reader, ledger: Ledger, many: list[Placed], names: Mapping[str, str], errors: Mapping[str, str]
) -> SetView:
    change_set = many[0].set
    task = journal.entity(change_set.task_id)
    return SetView(
        change_set.id,
        change_set.agent_id,
        names[change_set.agent_id],
        change_set.task_id,
        view(task, Task).title if task is not None else "",
        change_set.thread_id,
        ledger.states[change_set.id].status,
        change_set.created_at,
        [_item_view(journal, placed, errors) for placed in many],
    )


def _item_view(journal: Reader, placed: Placed, errors: Mapping[str, str]) -> ItemView:
    item, state = placed.item, placed.state
    sight, plan = Sight(None, None, []), Plan({}, [])
    known = effect.knows(item.tool_name)
    if known:
        sight = effect.look(journal, item.tool_name, item.args, placed.set.task_id)
    if not state.decided:
        plan = effect.plan(sight, item, item.args, placed.set.task_id, item.base)
    return ItemView(
        item.id,
        item.tool_name,
        item.args,
        summary(item.tool_name, item.args, item_title=_title(sight.target), written=item.human_summary),
        state.status,
        _changes(sight, item.tool_name, item.args) if known else [],
        stale=bool(plan.stale),
        satisfied=not state.decided and plan.satisfied,
        contested=state.contested,
        expired=state.expired,
        until=state.until,
        error=plan.obstacle or plan.withheld or (errors.get(item.operation_id) if not state.decided else None),
        reason=next((head.reason for head in reversed(state.heads) if head.reason), None),
        stale_fields=plan.stale,
        group_id=item.group_id,
    )


def _title(target: Entity | None) -> str | None:
    return view(target, ChecklistItem).title if target is not None and target.type == ITEM else None


def _changes(sight: Sight, tool: str, args: Mapping[str, Any]) -> list[Change]:
    if tool in effect.CREATES:
        return [Change(ITEM, None, args.get("title"))]
    now = effect.current(sight, tool)
    return [Change(path, now.get(path), value) for path, value in effect.proposed(tool, args).items()]
