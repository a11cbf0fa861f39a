"""The user's recent decisions, for the model to learn from (docs/specs/10-review.md, section 8).

The section is part of the prompt of every wake. It has at most 20 entries and 500 tokens; if there are
more, the oldest are left out. A proposal that expired is listed as *no decision*: silence is neither a
yes nor a no. If the person edited a proposal before confirming it, the model sees the edited values.
Words of people and models are quoted as JSON on one line, so that a title cannot pass for an
instruction or an entry.
"""

from collections.abc import Mapping
from typing import Any

from lottisync.entities import canonical
from lottisync.review.change import ChangeDecision, ChangeItem
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective
from lottisync.store.store import Store

MAX_ENTRIES = 20
MAX_TOKENS = 500
CHARACTERS_PER_TOKEN = 4
MAX_QUOTE = 120
"""Characters of one quoted value, so that one long title does not push out earlier decisions."""

HEADING = "## Recent User Decisions"
LESSON = (
    "The following shows how the user responded to your recent suggestions.\n"
    "Learn from rejections — avoid repeating rejected patterns."
)
MARKS = {"confirmed": "✓", "rejected": "✗", "deferred": "…", "retracted": "↶"}


def recent_decisions(agents: Store, now: int, *, agent_id: str, task_id: str | None = None) -> str:
    """The section of the prompt, the newest entry last; '' if it is empty. With `task_id=None`, of all tasks of the
    agent."""
    with agents.reading() as reader:
        ledger = Ledger.read(reader, now, task_id)
    entries: list[tuple[str, str]] = []
    listed: set[str] = set()
    for placed in ledger.placed():
        if placed.set.agent_id == agent_id and placed.item.operation_id not in listed:
            listed.add(placed.item.operation_id)
            entries += _entries(placed)
    budget = MAX_TOKENS * CHARACTERS_PER_TOKEN - len(HEADING) - len(LESSON) - 4
    kept: list[str] = []
    for _, line in sorted(entries, reverse=True)[:MAX_ENTRIES]:
        budget -= len(line) + 1
        if budget < 0:
            break
        kept.append(line)
    return "\n".join([HEADING, "", LESSON, "", *reversed(kept)]) if kept else ""


def _entries(placed: Placed) -> list[tuple[str, str]]:
    """The lines of an item, each with its time."""
    item, state = placed.item, placed.state
    if state.expired:
        return [(placed.set.created_at, f"- · {_call(item.tool_name, item.args)} — no decision (expired)")]
    if state.status is ItemStatus.PENDING:
        return []
    return [(head.created_at, _line(item, head)) for head in state.heads if head.verdict in MARKS]


def _line(item: ChangeItem, head: ChangeDecision) -> str:
    undone = head.verdict == ItemStatus.RETRACTED and head.actor == "user"
    said = "confirmed, then undone by the user" if undone else head.verdict
    line = f"- {MARKS[head.verdict]} {_call(item.tool_name, item.args)} — {said}"
    if head.reason:
        line += f" (reason: {_quoted(head.reason)})"
    if head.edited:
        line += f", but the user changed it to {_call(item.tool_name, head.args)}"
    return line


def _call(tool: str, args: Mapping[str, Any]) -> str:
    """`update_task_estimate(120 min)`, `update_checklist_item(id: "abc", isChecked: true)`."""
    shown = effective(args)
    if len(shown) == 1:
        [(name, value)] = shown.items()
        return f"{tool}({value} min)" if name == "minutes" else f"{tool}({_quoted(value)})"
    return f"{tool}({', '.join(f'{name}: {_quoted(value)}' for name, value in shown.items())})"


def _quoted(value: Any) -> str:
    if isinstance(value, str) and len(value) > MAX_QUOTE:
        value = value[: MAX_QUOTE - 1] + "…"
    return canonical.encode(value).decode()
