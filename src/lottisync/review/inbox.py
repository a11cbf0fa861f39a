"""What waits for the person (docs/specs/10-review.md, section 7).

The views are built anew from what the two stores hold, every time: they are the same on every device
that has the same data. Beside each item stands what it would change now. It may be *stale* (somebody
wrote since), *satisfied* (it is so already, a value came by sync), *contested* (devices decided
differently), or carry the error of an effect that failed. Twins are shown once, as the oldest of them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.entities.agent import ChangeDecision
from lottisync.entities.journal import ChecklistItem, Task
from lottisync.entities.view import view
from lottisync.review import effect, guard
from lottisync.review.effect import Plan, Sight, StaleField
from lottisync.review.ledger import Ledger, Placed, agent_name
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import summary
from lottisync.review.terms import Sovereignty, Terms, terms_of
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """One register: `before` is what is there now, `after` what is proposed."""

    path: str
    before: Any = None
    after: Any = None


class ItemView(msgspec.Struct, frozen=True, rename="camel"):
    """`status` is pending, confirmed, rejected, deferred or retracted; `expired` a pending item that has
    waited too long; `error` why it could not be confirmed, or why the last attempt failed; `order_unknown`
    that what it cites was written beside the user's tick and not after it."""

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


def open_sets(
    journal: Store,
    agents: Store,
    now: int,
    task_id: str | None = None,
    *,
    language: str = "en",
    sovereignty: Sovereignty = "reason",
) -> list[SetView]:
    """The sets that want something of the person now, oldest first: an item waits, or is contested."""
    return [
        shown
        for shown in unsettled_sets(journal, agents, now, task_id, language=language, sovereignty=sovereignty)
        if shown.waiting or any(item.contested for item in shown.items)
    ]


def unsettled_sets(
    journal: Store,
    agents: Store,
    now: int,
    task_id: str | None = None,
    *,
    language: str = "en",
    sovereignty: Sovereignty = "reason",
) -> list[SetView]:
    """The open sets, and those with items that are deferred or expired."""
    return [
        shown
        for shown in all_sets(journal, agents, now, task_id, language=language, sovereignty=sovereignty)
        if any(item.contested or item.status in (ItemStatus.PENDING, ItemStatus.DEFERRED) for item in shown.items)
    ]


def all_sets(
    journal: Store,
    agents: Store,
    now: int,
    task_id: str | None = None,
    *,
    language: str = "en",
    sovereignty: Sovereignty = "reason",
) -> list[SetView]:
    """Every set, also those in which all is decided: what can be undone is found here."""
    with agents.reading() as reader:
        ledger = Ledger.read(reader, now, task_id)
        errors = dict(reader.local("select operation_id, last_error from saga_log where status = 'failed'"))
        by_set: dict[str, list[Placed]] = {}
        for placed in ledger.placed():
            if ledger.is_shown(placed):
                by_set.setdefault(placed.set.id, []).append(placed)
        proposers = {many[0].set.agent_id for many in by_set.values()}
        names = {ident: agent_name(reader, ident) for ident in proposers}
        terms = {ident: terms_of(reader, ident, sovereignty) for ident in proposers}
    with journal.reading() as reader:
        return [
            _set_view(reader, ledger, many, names, _Glass(ledger, errors, terms[many[0].set.agent_id], language))
            for many in by_set.values()
        ]


class Fate(msgspec.Struct, frozen=True, rename="camel"):
    """A line of the ledger: what was proposed and what became of it. `why` is the agent's reason for it,
    `fate` a status, or expired, undone or contested; the decisions are those on its operation, oldest first."""

    id: str
    change_set: str
    agent_name: str
    task_id: str
    tool: str
    args: dict[str, Any]
    summary: str
    proposed_at: str
    fate: str
    why: str | None = None
    decisions: list[ChangeDecision] = []


def ledger(
    journal: Store,
    agents: Store,
    now: int,
    task_id: str | None = None,
    *,
    about: str | None = None,
    language: str = "en",
) -> list[Fate]:
    """Every proposal with its fate, oldest first; `about` takes those on one checklist item, its history
    (S0-45)."""
    with agents.reading() as reader:
        held = Ledger.read(reader, now, task_id)
        names = {one.agent_id: agent_name(reader, one.agent_id) for one in held.sets}
    fates = []
    with journal.reading() as reader:
        for placed in held.placed():
            item = placed.item
            if about is not None and item.args.get("id") != about:
                continue
            known = effect.understands(item.tool_name, item.args)
            sight = effect.look(reader, item.tool_name, item.args, placed.set.task_id) if known else _NOTHING
            name = effect.named(sight) or _planned_title(item.args, held)
            fates.append(
                Fate(
                    item.id,
                    placed.set.id,
                    names[placed.set.agent_id],
                    placed.set.task_id,
                    item.tool_name,
                    item.args,
                    summary(item.tool_name, item.args, item_title=name, written=item.human_summary, language=language),
                    placed.set.created_at,
                    _fate(placed),
                    item.args.get("reason"),
                    held.on_operation(item.operation_id),
                )
            )
    return fates


def _fate(placed: Placed) -> str:
    state = placed.state
    if state.contested:
        return "contested"
    if state.undone:
        return "undone"
    return "expired" if state.expired else str(state.status)


def decisions(agents: Store, task_id: str) -> list[ChangeDecision]:
    """Every decision on a task's proposals, oldest first."""
    with agents.reading() as reader:
        return Ledger.read(reader, 0, task_id).decisions


_NOTHING = Sight(None, None, [])


class _Glass(NamedTuple):
    """Through what an item is looked at."""

    ledger: Ledger
    errors: Mapping[str, str]
    terms: Terms
    language: str


def _set_view(journal: Reader, ledger: Ledger, many: list[Placed], names: Mapping[str, str], glass: _Glass) -> SetView:
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
        [_item_view(journal, placed, glass) for placed in many],
    )


def _item_view(journal: Reader, placed: Placed, glass: _Glass) -> ItemView:
    item, state = placed.item, placed.state
    sight, plan = _NOTHING, Plan({}, [])
    known = effect.understands(item.tool_name, item.args)
    if known:
        sight = effect.look(journal, item.tool_name, item.args, placed.set.task_id)
    waits = [other for other in item.depends_on if glass.ledger.find(other).state.status is not ItemStatus.CONFIRMED]
    if not state.decided and not waits:
        plan = effect.plan(sight, item, item.args, placed.set.task_id, item.base, glass.terms)
    error = plan.obstacle or plan.withheld or (glass.errors.get(item.operation_id) if not state.decided else None)
    name = effect.named(sight) or _planned_title(item.args, glass.ledger)
    return ItemView(
        item.id,
        item.tool_name,
        item.args,
        summary(item.tool_name, item.args, item_title=name, written=item.human_summary, language=glass.language),
        state.status,
        _changes(sight, item.tool_name, item.args, name) if known else [],
        stale=bool(plan.stale),
        satisfied=not state.decided and not waits and plan.satisfied,
        contested=state.contested,
        expired=state.expired,
        until=state.until,
        error=error,
        reason=next((head.reason for head in reversed(state.heads) if head.reason), None),
        stale_fields=plan.stale,
        group_id=item.group_id,
        depends_on=waits,
        order_unknown=not state.decided and _is_order_unknown(sight, item.args),
    )


def _planned_title(args: Mapping[str, Any], ledger: Ledger) -> str | None:
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
    if tool in effect.CREATES:
        return [Change(effect.CREATES[tool], None, args.get("title"))]
    now = effect.current(sight, tool, args)
    if tool in effect.MEMBERS:
        after = name or args.get("id") or args.get("targetTaskId")
        return [Change(path.partition("/")[0], after if now[path] else None, after) for path in now]
    return [Change(path, now.get(path), value) for path, value in effect.proposed(tool, args).items()]
