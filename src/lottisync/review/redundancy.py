"""Proposals that would change nothing (ADR 0009; docs/specs/10-review.md, section 4).

A model that asks for what is so already gets told so, in ADR 0009's words, and nobody is asked to
review it. The comparisons are pure: the current values are arguments, in the form of the journal's
views. Whoever cannot find out the current value keeps the proposal (`looked_up`): a needless question
costs a tap, a swallowed one is never missed by anybody.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from lottisync.review.proposal import minutes

QUEUED = "Proposal queued for user review."
T = TypeVar("T")

FIELDS: Mapping[str, tuple[str, str, str]] = {
    "update_task_estimate": ("minutes", "estimate", "estimate"),
    "update_task_priority": ("priority", "priority", "priority"),
    "update_task_due_date": ("dueDate", "due", "due date"),
    "set_task_status": ("status", "status", "status"),
    "set_task_title": ("title", "title", "title"),
}
"""Tool -> the argument, the field of the task that it is compared with, and the field's name in a sentence."""


def looked_up(resolve: Callable[[], T]) -> T | None:
    """What `resolve` finds, or None if it cannot say (S4-12, S4-13)."""
    try:
        return resolve()
    except Exception:  # noqa: BLE001 - S4-13: whatever goes wrong in a look-up, the proposal is kept
        return None


def task_field(tool: str, args: Mapping[str, Any], current: Mapping[str, Any]) -> str | None:
    """`estimate is already 120 minutes`, or None if the proposal would change something."""
    argument, field, name = FIELDS[tool]
    if not same(args[argument], current.get(field)):
        return None
    return f"{name} is already {worded(field, args[argument])}"


def checklist_item(args: Mapping[str, Any], title: str, is_checked: bool) -> str | None:
    """`"Buy groceries" is already checked`: suppressed if neither the tick nor the title would change."""
    checked, new_title = args.get("isChecked"), args.get("title")
    if new_title is not None and not same(new_title, title):
        return None
    if checked is None:
        return f'"{title}" has that title already'
    if checked != is_checked:
        return None
    return f'"{title}" is already {"checked" if is_checked else "unchecked"}'


def addition(title: str, existing: Iterable[str], place: str = "on the checklist") -> str | None:
    """An item of that title is there, whatever its capitals."""
    if any(title.casefold() == other.strip().casefold() for other in existing):
        return f'"{title}" is already {place}'
    return None


def same(proposed: Any, current: Any) -> bool:
    if isinstance(proposed, str) and isinstance(current, str):
        return proposed.strip() == current.strip()
    return type(proposed) is type(current) and bool(proposed == current)


def worded(field: str, value: Any) -> str:
    """A field's value as it stands in a sentence."""
    if value is None:
        return "empty"
    if field == "estimate" and isinstance(value, int):
        return minutes(value)
    return f'"{value}"' if field == "title" else str(value)


def skipped(phrase: str) -> str:
    return f"Skipped: {phrase}" if phrase.endswith(".") else f"Skipped: {phrase}."


def batch_answer(queued: int, redundant: list[str], refused: list[str], notes: list[str]) -> str:
    """What the model is told about a batch: how many items are queued, of the others why not (S0-16), and
    what else there is to say of the queued ones."""
    lines = []
    if queued:
        lines.append(f"Proposal queued for user review ({queued} item(s) queued).")
    if redundant:
        lines.append(f"Skipped {len(redundant)} redundant update(s): {'; '.join(redundant)}.")
    if refused:
        lines.append(f"Skipped {len(refused)} item(s):")
        lines += [f"- {reason}" for reason in refused]
    lines += notes
    return "\n".join(lines)
