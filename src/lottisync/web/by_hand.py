"""What a person writes in place of all values of a conflict: which fields it is typed into, and what they mean.

A field of a task is written by the verb of its page, so it means the same on both pages. An agent's state and home, a
tick and a position are not written by hand: one of their values is kept, or their own verb is used.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lottisync.agents.lifecycle import TOKENS_PER_DAY, checked_name
from lottisync.journal import task_values
from lottisync.journal import words as task_words
from lottisync.problem import Problem, Sentence
from lottisync.store import conflict as conflicts_of
from lottisync.store.conflict import Conflict
from lottisync.store.transaction import Transaction
from lottisync.web import settings_page, task_verbs
from lottisync.web.gate import Form

Write = Callable[[Transaction, Conflict, Form], object]


class ByHand(NamedTuple):
    """`field` is what the macro `typed` of `fields.html` calls the fields."""

    field: str
    write: Write


def _checked(field: str, checked: Callable[[str], Any]) -> ByHand:
    return ByHand(
        field, lambda tx, one, form: conflicts_of.combine(tx, one.entity, one.path, checked(form.one("value")))
    )


def _verb(name: str) -> ByHand:
    return ByHand(name, lambda tx, one, form: task_verbs.VERBS[name](tx, one.entity, form, ""))


_TITLE = _checked("title", task_values.checked_title)
_TOKENS = _checked("tokens", settings_page.tokens)
BY_HAND: Mapping[tuple[str, str], ByHand] = {
    **{(name, "title"): _TITLE for name in ("task", "checklist", "checklistItem")},
    **{(name, "name"): _TITLE for name in ("label", "category")},
    ("entry", "text"): _checked("lines", task_values.checked_text),
    ("task", "status"): _verb("status"),
    ("task", "statusReason"): _verb("status"),
    ("task", "priority"): _checked("priority", task_values.checked_priority),
    ("task", "due"): _checked("due", task_verbs.due),
    ("task", "estimate"): _checked("estimate", task_verbs.minutes),
    ("task", "remindAt"): _checked("remind", task_verbs.reminder),
    ("task", "repeat"): _verb("repeat"),
    ("task", "categoryId"): _verb("category"),
    ("task", "languageCode"): _verb("language"),
    ("agent", "displayName"): _checked("title", checked_name),
    ("agent", f"config/{TOKENS_PER_DAY}"): _TOKENS,
    ("agentSettings", TOKENS_PER_DAY): _TOKENS,
}
"""What may be written by hand, by type and path."""


def field_of(one: Conflict) -> str:
    """What the page calls the fields of a conflict; '' if it is not written by hand."""
    found = BY_HAND.get((one.type, one.path))
    return found.field if found is not None else ""


def write(tx: Transaction, one: Conflict, form: Form) -> None:
    """Settle a conflict with what was typed. Raises `Problem`, also for what is not written by hand."""
    found = BY_HAND.get((one.type, one.path))
    if found is None:
        called = Sentence(task_words.FIELDS.get(one.path, one.path))
        raise Problem("bad-value", "{path} cannot be written here: keep one of its values", path=called)
    found.write(tx, one, form)
