"""What became of everything that was proposed, for a person to look up (docs/specs/10-review.md, sections 7 and 10).

All of it, oldest first, settled or not: the one view whose cost grows with what was ever proposed.
"""

from typing import Any

import msgspec

from lottisync.review import effect
from lottisync.review.change import ChangeDecision
from lottisync.review.inbox import planned_title
from lottisync.review.ledger import Ledger, agent_name
from lottisync.review.proposal import summary
from lottisync.store.store import Store


class Fate(msgspec.Struct, frozen=True, rename="camel"):
    """A line of the ledger: what was proposed and what became of it. `why` is the agent's reason for it,
    `fate` as in `ItemState`; the decisions are those on its operation, oldest first."""

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


def fates(
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
    found = []
    with journal.reading() as reader:
        for placed in held.placed():
            item = placed.item
            if about is not None and item.args.get("id") != about:
                continue
            sight = effect.look(reader, item.tool_name, item.args, placed.set.task_id)
            name = effect.named(sight) or planned_title(item.args, held)
            found.append(
                Fate(
                    item.id,
                    placed.set.id,
                    names[placed.set.agent_id],
                    placed.set.task_id,
                    item.tool_name,
                    item.args,
                    summary(item.tool_name, item.args, item_title=name, written=item.human_summary, language=language),
                    placed.set.created_at,
                    placed.state.fate,
                    item.args.get("reason"),
                    held.on_operation(item.operation_id),
                )
            )
    return found


def decisions(agents: Store, task_id: str) -> list[ChangeDecision]:
    """Every decision on a task's proposals, oldest first."""
    with agents.reading() as reader:
        return Ledger.read(reader, 0, task_id).decisions
