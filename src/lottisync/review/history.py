"""The user's recent decisions, for the model to learn from (docs/specs/10-review.md, section 8).

The section is in the prompt of every wake. It is short by law (20 entries, 500 tokens), and when something must go it
is the oldest, and rejections go last. A proposal that expired is there too, as *no decision*: silence is not a no, and
not a yes either. Where the person edited before confirming, the model is shown what they made of it. Words of people
and models are quoted as JSON on one line, so that a title can't pass for an instruction or an entry.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lottisync.entities import canonical
from lottisync.review.action import Actions
from lottisync.review.change import ChangeDecision, ChangeItem
from lottisync.review.ledger import Ledger, Placed, shows_all
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective
from lottisync.store.store import Store

MAX_ENTRIES = 20
MAX_TOKENS = 500
CHARACTERS_PER_TOKEN = 4
MAX_BYTES = MAX_TOKENS * CHARACTERS_PER_TOKEN
MAX_QUOTE = 120
"""Characters of one quoted value, so that one long title does not push out earlier decisions."""

HEADING = "## Recent User Decisions"
LESSON = (
    "The following shows how the user responded to your recent suggestions.\n"
    "Learn from rejections — avoid repeating rejected patterns."
)
MARKS = {"confirmed": "✓", "rejected": "✗", "deferred": "…", "retracted": "↶"}


def recent_decisions(
    agent_store: Store,
    actions: Actions,
    now: int,
    *,
    agent_id: str,
    task_id: str | None = None,
    room: int = MAX_BYTES,
    hidden: Callable[[Placed], bool] = shows_all,
) -> str:
    """The prompt's section in at most `room` bytes, the newest entry last; '' if there is nothing to say.

    When something must go, rejections stay longest. `task_id` None takes the agent's decisions on all its tasks.
    Those on a proposal that is `hidden` are left out."""
    with agent_store.reading() as reader:
        ledger = Ledger.read(reader, now, task_id)
    entries: list[tuple[str, str]] = []
    listed: set[str] = set()
    for placed in ledger.placed():
        if placed.set.agent_id == agent_id and placed.item.operation_id not in listed and not hidden(placed):
            listed.add(placed.item.operation_id)
            entries += _entries(actions, placed)
    budget = min(room, MAX_BYTES) - _size(HEADING) - _size(LESSON) - 4
    kept: list[tuple[str, str]] = []
    for entry in sorted(entries, key=lambda each: (_is_rejection(each[1]), each), reverse=True)[:MAX_ENTRIES]:
        budget -= _size(entry[1]) + 1
        if budget < 0:
            break
        kept.append(entry)
    return "\n".join([HEADING, "", LESSON, "", *(line for _, line in sorted(kept))]) if kept else ""


def _is_rejection(line: str) -> bool:
    return line.startswith(f"- {MARKS['rejected']}")


def _size(line: str) -> int:
    """The bytes that a text takes in the prompt, where `<` is escaped."""
    return len(line.encode()) + 3 * line.count("<")


def _entries(actions: Actions, placed: Placed) -> list[tuple[str, str]]:
    """The lines of an item, each with its time."""
    item, state = placed.item, placed.state
    if state.expired:
        return [(placed.set.created_at, f"- · {_call(actions, item.tool_name, item.args)} — no decision (expired)")]
    if state.status is ItemStatus.PENDING:
        return []
    return [(head.created_at, _line(actions, item, head)) for head in state.heads if head.verdict in MARKS]


def _line(actions: Actions, item: ChangeItem, head: ChangeDecision) -> str:
    undone = head.verdict == ItemStatus.RETRACTED and head.actor == "user"
    said = "confirmed, then undone by the user" if undone else head.verdict
    line = f"- {MARKS[head.verdict]} {_call(actions, item.tool_name, item.args)} — {said}"
    if head.reason:
        line += f" (reason: {_quoted(head.reason)})"
    if head.edited:
        line += f", but the user changed it to {_call(actions, item.tool_name, head.args)}"
    return line


def _call(actions: Actions, tool: str, args: Mapping[str, Any]) -> str:
    """`TOOL(120 min)` if there is one argument; of several each has its name: `TOOL(id: "abc", done: true)`."""
    shown = effective(args)
    if len(shown) == 1:
        [value] = shown.values()
        unit = actions.unit(tool)
        return f"{tool}({value} {unit})" if unit else f"{tool}({_quoted(value)})"
    return f"{tool}({', '.join(f'{name}: {_quoted(value)}' for name, value in shown.items())})"


def _quoted(value: Any) -> str:
    if isinstance(value, str) and len(value) > MAX_QUOTE:
        value = value[: MAX_QUOTE - 1] + "…"
    return canonical.encode(value).decode()
