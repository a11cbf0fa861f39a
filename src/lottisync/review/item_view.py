"""An item as it is shown to the person (docs/specs/10-review.md, section 7).

The view shows what the item would change now: every field that would be written, the reason, and the cited texts. The
item may be *stale* (a field was written since), *satisfied* (the value is set already), *contested* (devices decided
differently), or carry the error of an effect that failed.

`shown` is the digest of the view, in two parts with a dot between them. The first is SHA-256 over the item, the name of
its target, the present values with their dots, and the cited texts. The second is SHA-256 over the decisions that
count. A verdict that carries `shown` is refused if any of these has changed (`lottisync.review.verdict`). Neither the
language nor the time is part of it.

There are two parts because a person's own verdict changes only the second one. So the digest after it can be computed
beforehand (`shown_after`), and the page of the person stays valid.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync import wording
from lottisync.causality.digest import sha256
from lottisync.entities import canonical
from lottisync.entities.version import Damaged
from lottisync.review import effect
from lottisync.review.action import Action, Actions, Cited, FieldChange, TargetView, Unreadable
from lottisync.review.effect import EffectPlan, StaleField
from lottisync.review.item_names import short
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.policy import Policy, Sovereignty, agent_name, policy_of
from lottisync.store.instant import InstantText
from lottisync.store.reader import Reader


class ItemView(msgspec.Struct, frozen=True, rename="camel"):
    """`status` is pending, confirmed, rejected, deferred or retracted; `undone` that it was the user who took back what
    was confirmed, and not the agent; `expired` a pending item that has waited too long; `failure` why it could not be
    confirmed, or why the last attempt failed; `creates` that it makes something new, so that nothing was there before;
    `agent_reason` is the reason that the agent gave, `reason` the one that the person gave; `order_unknown` that what
    it cites was written beside what the user set, and not after it; `about` is what the thing that would change is
    called, `name` what the person calls the item by, `shown` the digest of all this. `superseded_by` is the item that
    took its place, `supersedes` are those in whose place it is: ids."""

    id: str
    tool: str
    args: dict[str, Any]
    summary: str
    status: str
    name: str
    task_id: str
    agent_name: str
    shown: str
    changes: list[FieldChange] = []
    stale: bool = False
    satisfied: bool = False
    contested: bool = False
    expired: bool = False
    undone: bool = False
    until: InstantText | None = None
    failure: str | None = None
    reason: str | None = None
    stale_fields: list[StaleField] = []
    group_id: str | None = None
    depends_on: list[str] = []
    order_unknown: bool = False
    creates: bool = False
    agent_reason: str | None = None
    cited: list[Cited] = []
    task_title: str | None = None
    about: str | None = None
    superseded_by: str | None = None
    supersedes: list[str] = []


class Lens(NamedTuple):
    """What the view of an item is built from: the registry, the ledger, the errors of failed sagas by operation, the
    agents' names and policies, and the reader's language. `titles` are those of the tasks that were read."""

    actions: Actions
    ledger: Ledger
    errors: Mapping[str, str]
    names: Mapping[str, str]
    policy: Mapping[str, Policy]
    language: str
    short: Mapping[str, str]
    titles: dict[str, str | None]

    def task_title(self, journal: Reader, task_id: str) -> str | None:
        if task_id not in self.titles:
            self.titles[task_id] = task_title(journal, self.actions, task_id)
        return self.titles[task_id]


def task_title(journal: Reader, actions: Actions, task_id: str) -> str | None:
    """The title of the task that a proposal is about; None if it is not here, or damaged."""
    try:
        task = journal.entity(task_id)
    except Damaged:
        return None
    return (actions.name_of(task) if task is not None else None) or None


def lens_of(
    agents: Reader,
    ledger: Ledger,
    actions: Actions,
    *,
    sovereignty: Sovereignty = "reason",
    language: str = "en",
    named: Iterable[str] = (),
) -> Lens:
    """What the items of a ledger are looked at with; items of the sets `named` get their short names."""
    proposers = {one.agent_id for one in ledger.sets}
    return Lens(
        actions,
        ledger,
        {
            operation: wording.of_column(why)
            for operation, why in agents.local("select operation_id, last_error from saga_log where status = 'failed'")
        },
        {ident: agent_name(agents, ident, language) for ident in proposers},
        {ident: policy_of(agents, ident, sovereignty) for ident in proposers},
        language,
        {ident: short(agents, ident) for ident in named},
        {},
    )


class _Seen(NamedTuple):
    """What was looked at: the action if it can be read, what the journal holds, and what confirming would do."""

    action: Action | None
    target_view: TargetView
    plan: EffectPlan
    name: str | None
    waits: list[str]


def item_view(journal: Reader, placed: Placed, lens: Lens) -> ItemView:
    item, state = placed.item, placed.state
    action, target_view, plan, name, waits = seen = _look(journal, placed, lens)
    view = ItemView(
        item.id,
        item.tool_name,
        item.args,
        lens.ledger.summary(lens.actions, item, target_view, language=lens.language),
        state.status,
        f"{lens.short.get(placed.set.id, placed.set.id)}.{placed.ordinal}",
        placed.set.task_id,
        lens.names[placed.set.agent_id],
        "",
        changes=action.changes(target_view, name) if action is not None else [],
        stale=bool(plan.stale),
        satisfied=not state.decided and not waits and plan.satisfied,
        contested=state.contested,
        expired=state.expired,
        undone=state.undone,
        until=state.until,
        failure=lens.ledger.undecidable(placed)
        or plan.obstacle
        or plan.withheld
        or (lens.errors.get(item.operation_id) if not state.decided else None),
        reason=next((head.reason for head in reversed(state.heads) if head.reason), None),
        stale_fields=plan.stale,
        group_id=item.group_id,
        depends_on=waits,
        order_unknown=not state.decided and action is not None and action.order_unknown(target_view),
        creates=action is not None and action.creates is not None,
        agent_reason=item.args.get("reason"),
        cited=action.cited(journal) if action is not None else [],
        task_title=lens.task_title(journal, placed.set.task_id),
        about=name or None,
        superseded_by=state.superseded_by,
        supersedes=placed.item.supersedes,
    )
    return msgspec.structs.replace(_as_taken(view, journal, placed, lens), shown=_digest(view, placed, seen))


def _as_taken(view: ItemView, journal: Reader, placed: Placed, lens: Lens) -> ItemView:
    """The view of an item that the person edited, with the values that took effect (REV-950), and of the thing that
    these name. The digest is that of the proposal, so that the person's own verdict leaves a page valid."""
    taken = placed.taken
    if taken is placed.item:
        return view
    edits = placed.item.args
    action = lens.actions.read(taken.tool_name, taken.args, edits=edits)
    if isinstance(action, Unreadable):
        summary = lens.ledger.summary(lens.actions, taken, language=lens.language, edits=edits)
        return msgspec.structs.replace(view, summary=summary, changes=[])
    try:
        target_view = action.read_target(journal, placed.set.task_id)
    except Damaged:
        target_view = TargetView()
    name = action.name(target_view) or lens.ledger.planned_name(action, lens.actions)
    return msgspec.structs.replace(
        view,
        summary=lens.ledger.summary(lens.actions, taken, target_view, language=lens.language, edits=edits),
        changes=action.changes(target_view, name),
        about=name or None,
    )


def _look(journal: Reader, placed: Placed, lens: Lens) -> _Seen:
    item, state, task_id = placed.item, placed.state, placed.set.task_id
    action = lens.actions.read(item.tool_name, item.args)
    waits = [other for other in item.depends_on if not lens.ledger.is_confirmed(other)]
    if isinstance(action, Unreadable):
        return _Seen(
            None, TargetView(), EffectPlan({}, [], None if state.decided or waits else action.reason), None, waits
        )
    try:
        target_view = action.read_target(journal, task_id)
    except Damaged as problem:  # it is shown all the same, with the reason, and hides no other item
        return _Seen(None, TargetView(), EffectPlan({}, [], problem.sentence), None, waits)
    plan = EffectPlan({}, [])
    if not state.decided and not waits:
        plan = effect.plan(action, target_view, task_id, item.base, lens.policy[placed.set.agent_id])
    name = action.name(target_view) or lens.ledger.planned_name(action, lens.actions)
    return _Seen(action, target_view, plan, name, waits)


def shown_after(shown: str, decision: str) -> str:
    """The digest of an item that was shown with the digest `shown`, after the decision with this id, if nothing else
    has changed."""
    content, _ = shown.split(".")
    return f"{content}.{_sha256([decision])}"


def _digest(view: ItemView, placed: Placed, seen: _Seen) -> str:
    """`<SHA-256 of the content>.<SHA-256 of the decisions>`. The status and whether it is contested follow from the
    decisions."""
    action, target_view = seen.action, seen.target_view
    held = effect.base(action, target_view, view.task_id) if action is not None else []
    content = [
        [view.id, view.tool, view.args, view.expired, view.satisfied],
        [[change.path, change.before, change.after] for change in view.changes],
        [[field.entity, field.path, field.value, [list(dot) for dot in field.dots]] for field in held],
        [[cited.id, cited.text or ""] for cited in view.cited],
        [view.task_title or "", seen.name, view.depends_on, None if view.failure is None else str(view.failure)],
    ]
    return f"{_sha256(content)}.{_sha256(sorted(head.id for head in placed.state.heads))}"


def _sha256(value: Any) -> str:
    return sha256(canonical.encode(value)).hex()
