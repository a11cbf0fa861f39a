"""A value that a person typed for a field in conflict, in the form that the field stores."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import msgspec

from lottisync.cli.dates import MORNING, REMINDERS, day, moment, today
from lottisync.cli.task_change import spent
from lottisync.cli.terminal import judging_the_call
from lottisync.device import clock
from lottisync.journal import names as label_names
from lottisync.journal import repetition, task_values, tasks
from lottisync.journal.types import Task
from lottisync.store.conflict import Conflict
from lottisync.store.transaction import Transaction

Read = Callable[[Transaction, str, str], Any]
"""Takes the id of an entity and the text that was typed for one of its fields; gives what the field stores."""


def typed(tx: Transaction, conflict: Conflict, text: str, *, journal: bool) -> Any:
    """The value that a person typed for a field, as it is stored: a field of a task as its verb takes it, text where
    the field holds text, else JSON."""
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        decoded = text
    said = decoded if isinstance(decoded, str) else text
    checked = _CHECKED.get((conflict.type, conflict.path)) if journal else None
    if checked is not None:
        with judging_the_call():
            return checked(tx, conflict.entity, said)
    holds_text = decoded is not None and any(isinstance(one.value, str) for one in conflict.candidates)
    return said if holds_text else decoded


def _of_text(checked: Callable[[str], Any]) -> Read:
    return lambda tx, ident, text: checked(text)


def _or_none(checked: Read) -> Read:
    return lambda tx, ident, text: None if text.strip().lower() in ("none", "null") else checked(tx, ident, text)


def _rule(tx: Transaction, task: str, text: str) -> str:
    due = tasks.read(tx, task, "task", Task).due
    return repetition.said(text, date.fromisoformat(task_values.checked_day(due or today(tx.now)))).stored()


_CHECKED: Mapping[tuple[str, str], Read] = {
    **{(name, "title"): _of_text(task_values.checked_title) for name in ("task", "checklist", "checklistItem")},
    ("entry", "text"): _of_text(task_values.checked_text),
    ("task", "priority"): _of_text(task_values.checked_priority),
    ("task", "due"): _or_none(_of_text(lambda text: day(text, clock.now()))),
    ("task", "remindAt"): _or_none(_of_text(lambda text: moment(text, clock.now(), at=MORNING, like=REMINDERS))),
    ("task", "estimate"): _or_none(_of_text(spent)),
    ("task", "repeat"): _or_none(_rule),
    ("task", "categoryId"): _or_none(lambda tx, ident, text: label_names.find_or_make(tx, "category", text)),
    ("task", "languageCode"): _or_none(_of_text(task_values.checked_language)),
}
"""What brings a typed value into the form in which the field holds it, or refuses it; by type and path."""
