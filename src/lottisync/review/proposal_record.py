"""The record of every proposal, for a person to look up (docs/specs/10-review.md, sections 7 and 10).

It lists all proposals, oldest first, also the settled ones. It is the only view whose cost grows with the number of
all proposals ever made.
"""

from typing import Any

import msgspec

from lottisync.entities.version import Damaged
from lottisync.review import effect
from lottisync.review.action import Actions, TargetView, Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.item_names import short
from lottisync.review.ledger import Ledger
from lottisync.review.policy import agent_name
from lottisync.store.store import Store


class ProposalRecord(msgspec.Struct, frozen=True, rename="camel"):
    """One proposal and its result. `summary` names the value that took effect, if the person edited it. `agent_reason`
    is the reason that the agent gave, `reason` the one that the person gave, of a decision that counts. `outcome` is
    `ItemState.shown_status`. `decisions` are those on its operation, oldest first."""

    id: str
    name: str
    change_set: str
    agent_name: str
    task_id: str
    tool: str
    args: dict[str, Any]
    summary: str
    proposed_at: str
    outcome: str
    agent_reason: str | None = None
    reason: str | None = None
    decisions: list[ChangeDecision] = []


def proposal_records(
    journal: Store,
    agent_store: Store,
    actions: Actions,
    now: int,
    task_id: str | None = None,
    *,
    about: str | None = None,
    language: str = "en",
) -> list[ProposalRecord]:
    """Every proposal, oldest first. With `about` only those on one thing: its history (S0-45)."""
    with agent_store.reading() as reader:
        held = Ledger.read(reader, now, task_id)
        short_ids = {one.id: short(reader, one.id) for one in held.sets}
        names = {one.agent_id: agent_name(reader, one.agent_id, language) for one in held.sets}
    found = []
    with journal.reading() as reader:
        for placed in held.placed():
            item, taken = placed.item, placed.taken
            action = actions.read(item.tool_name, item.args)
            if about is not None and (isinstance(action, Unreadable) or not action.is_about(about)):
                continue
            try:
                target_view = effect.read_target(actions, taken, placed.set.task_id, reader)
            except Damaged:  # its sentence goes without what the target holds, and the record hides no other
                target_view = TargetView()
            edits = None if taken is item else item.args
            found.append(
                ProposalRecord(
                    item.id,
                    f"{short_ids[placed.set.id]}.{placed.ordinal}",
                    placed.set.id,
                    names[placed.set.agent_id],
                    placed.set.task_id,
                    item.tool_name,
                    item.args,
                    held.summary(actions, taken, target_view, language=language, edits=edits),
                    placed.set.created_at,
                    placed.state.shown_status,
                    item.args.get("reason"),
                    next((head.reason for head in reversed(placed.state.heads) if head.reason), None),
                    held.on_operation(item.operation_id),
                )
            )
    return found


def decisions(agent_store: Store, task_id: str) -> list[ChangeDecision]:
    """Every decision on a task's proposals, oldest first; those of one call in the order of their items."""
    with agent_store.reading() as reader:
        held = Ledger.read(reader, 0, task_id)
    indexes = {placed.item.id: index for index, placed in enumerate(held.placed())}
    return sorted(held.decisions, key=lambda one: (one.created_at, indexes.get(one.item_id, len(indexes)), one.id))
