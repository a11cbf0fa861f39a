"""What the page of a task can do to it, and how its forms say what is meant."""

import re
from collections.abc import Callable, Mapping
from datetime import date

from lottisync.journal import checklist, finding, names, never_sent, repetition, task_values, tasks, time_entry
from lottisync.journal import words as task_words
from lottisync.journal.time_entry import Span
from lottisync.journal.types import Task
from lottisync.language import marked, say
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso, there
from lottisync.store.transaction import Transaction
from lottisync.web import clock_field
from lottisync.web.gate import Form

SAID = {
    "title": marked("renamed"),
    "priority": marked("priority {value}"),
    "due": marked("due {value}"),
    "estimate": marked("estimated"),
    "remind": marked("reminds you on {fields}"),
    "repeat": marked("repeats {rule}"),
    "add-item": marked("added"),
    "tick": marked("ticked"),
    "untick": marked("not ticked"),
    "rename-item": marked("renamed"),
    "remove-item": marked("removed"),
    "archive-item": marked("archived"),
    "put-back": marked("back on the checklist"),
    "move": marked("moved"),
    "move-to": marked("moved"),
    "add-checklist": marked("checklist added"),
    "rename-checklist": marked("checklist renamed"),
    "language": marked("language: {code}"),
    "start-timer": marked("timer started"),
    "stop-timer": marked("stopped"),
    "add-time": marked("noted"),
    "edit-time": marked("changed"),
    "remove-time": marked("removed"),
    "category": marked("in {category}"),
    "label": marked("label: {value}"),
    "unlabel": marked("without the label {value}"),
    "link": marked("linked"),
    "unlink": marked("no longer linked"),
    "note": marked("noted"),
    "never-send": marked("never sent to a model"),
    "send-again": marked("may be sent to a model"),
    "delete": marked("deleted"),
    "undelete": marked("back"),
}
"""What an act is called, by the name of its verb."""


def said(form: Form) -> Sentence:
    verb, value = form.one("verb"), " ".join(form.one("value").split())[:40]
    if verb == "status":
        return task_words.status(value)
    if verb == "category":
        return Sentence(SAID[verb], category=value) if value else Sentence(marked("without a category"))
    if verb == "language":
        return Sentence(SAID[verb], code=value.lower()) if value else Sentence(marked("without a language"))
    if verb == "remind":
        return Sentence(SAID[verb], fields=value.replace("T", " ")) if value else Sentence(marked("without a reminder"))
    if verb == "repeat":
        rule = repetition.said(_typed_rule(form), date.min) if value else None
        return Sentence(SAID[verb], rule=repetition.how_often(rule)) if rule else Sentence(marked("does not repeat"))
    return Sentence(SAID[verb], value=value or Sentence(marked("none")))


Verb = Callable[[Transaction, str, Form, str], object]
"""What it is done in, the task, the form, and an id for what it makes."""


def _put_into(tx: Transaction, task_id: str, category: str) -> None:
    """Put the task into a category, which is made if there is none of this name; with no name, into none."""
    ident = names.find_or_make(tx, "category", category) if category.strip() else None
    tasks.edit_task(tx, task_id, {"categoryId": ident})


def due(text: str) -> str | None:
    return task_values.checked_day(text) if text.strip() else None


def reminder(text: str) -> str | None:
    return clock_field.instant(text) if text.strip() else None


def _typed_rule(form: Form) -> str:
    return f"every {form.one('every').strip() or 1} {form.one('value').strip()}"


def _repeat(tx: Transaction, task: str, form: Form, new: str) -> object:
    """Let a task repeat, from the day on which it is due, or from today; or not any more."""
    if not form.one("value").strip():
        return tasks.edit_task(tx, task, {"repeat": None})
    due = tasks.read(tx, task, "task", Task).due
    start = task_values.checked_day(due) if due else there(tx.now).date().isoformat()
    rule = repetition.said(_typed_rule(form), date.fromisoformat(start))
    return tasks.edit_task(tx, task, {"repeat": rule.stored()})


def minutes(text: str) -> int | None:
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise Problem("bad-value", "minutes are a whole number; got {text!r}", text=text[:40])
    return task_values.checked_minutes(int(text))


def _add_item(tx: Transaction, task: str, form: Form, new: str) -> object:
    checklist_id = checklist.find(tx, task, named) if (named := form.one("checklist")) else None
    return tasks.add_item(tx, new, task, form.one("value"), checklist_id=checklist_id)


def _move_to(tx: Transaction, task: str, form: Form) -> object:
    """Move an item to the end of another checklist, or of the first one of another task, which may be named by its
    title."""
    item, named = form.one("item"), form.one("checklist")
    if named:
        return checklist.move_item(tx, item, task, checklist.find(tx, task, named))
    other = finding.resolve(tx, form.one("other"), "task")
    return checklist.move_item(tx, item, other, tasks.default_checklist(tx, other))


def _steps(text: str) -> int:
    """By how many positions an item is moved: down, or up with a minus."""
    if not re.fullmatch("-?[0-9]{1,4}", text, re.ASCII):
        raise Problem("bad-value", "an item is moved by a number of positions; got {text!r}", text=text[:40])
    return int(text)


def _link(tx: Transaction, task: str, form: Form, *, on: bool) -> object:
    """Link a task, which may be named by its title, with the one of the page; or take that back."""
    other = finding.resolve(tx, form.one("other"), "task")
    return tasks.set_link(tx, task, form.one("relation"), other, on=on)


def _label(tx: Transaction, task: str, name: str, *, on: bool) -> object:
    known = names.find_or_make(tx, "label", name) if on else names.find_known(tx, "label", name)
    return names.label_task(tx, task, [known], on=on)


def _note(tx: Transaction, task: str, new: str, text: str, minutes: int | None) -> object:
    """A note; with minutes, time that was spent until now."""
    if minutes is None:
        return tasks.add_note(tx, new, task, text)
    return time_entry.add(tx, new, task, text, Span(iso(tx.now - minutes * 60_000), iso(tx.now)))


def _add_time(tx: Transaction, task: str, form: Form, new: str) -> object:
    """Time that was spent, by the clock."""
    span = time_entry.checked_span(clock_field.instant(form.one("begin")), clock_field.instant(form.one("end")))
    return time_entry.add(tx, new, task, form.one("value").strip() or say(time_entry.DEFAULT_TEXT), span)


def _edit_time(tx: Transaction, form: Form) -> object:
    """The words and the times of an entry. A timer that runs is stopped by an end."""
    held = time_entry.read(tx, form.one("item"))
    begin = clock_field.still(held.at, form.one("begin")) or held.at
    span = time_entry.checked_span(begin, clock_field.still(held.end, form.one("end")))
    return time_entry.edit(tx, held.id, text=form.one("value"), span=span)


VERBS: Mapping[str, Verb] = {
    "title": lambda tx, task, form, new: tasks.edit_task(
        tx, task, {"title": task_values.checked_title(form.one("value"))}
    ),
    "status": lambda tx, task, form, new: repetition.edit_task(
        tx, task, task_values.checked_status(form.one("value"), form.one("reason"))
    ),
    "priority": lambda tx, task, form, new: tasks.edit_task(
        tx, task, {"priority": task_values.checked_priority(form.one("value"))}
    ),
    "due": lambda tx, task, form, new: tasks.edit_task(tx, task, {"due": due(form.one("value"))}),
    "remind": lambda tx, task, form, new: tasks.edit_task(tx, task, {"remindAt": reminder(form.one("value"))}),
    "repeat": _repeat,
    "estimate": lambda tx, task, form, new: tasks.edit_task(tx, task, {"estimate": minutes(form.one("value"))}),
    "add-item": _add_item,
    "tick": lambda tx, task, form, new: tasks.check_item(tx, form.one("item"), checked=True),
    "untick": lambda tx, task, form, new: tasks.check_item(tx, form.one("item"), checked=False),
    "rename-item": lambda tx, task, form, new: tasks.rename_item(tx, form.one("item"), form.one("value")),
    "remove-item": lambda tx, task, form, new: tasks.remove_item(tx, form.one("item")),
    "archive-item": lambda tx, task, form, new: checklist.archive_item(tx, form.one("item")),
    "put-back": lambda tx, task, form, new: checklist.archive_item(tx, form.one("item"), archived=False),
    "language": lambda tx, task, form, new: tasks.edit_task(tx, task, task_values.language_fields(form.one("value"))),
    "start-timer": lambda tx, task, form, new: time_entry.start(
        tx, new, task, form.one("value").strip() or say(time_entry.DEFAULT_TEXT), iso(tx.now)
    ),
    "stop-timer": lambda tx, task, form, new: time_entry.stop(tx, form.one("item"), iso(tx.now)),
    "add-time": _add_time,
    "edit-time": lambda tx, task, form, new: _edit_time(tx, form),
    "remove-time": lambda tx, task, form, new: time_entry.remove(tx, form.one("item")),
    "move": lambda tx, task, form, new: tasks.move_item(tx, form.one("item"), _steps(form.one("steps"))),
    "move-to": lambda tx, task, form, new: _move_to(tx, task, form),
    "add-checklist": lambda tx, task, form, new: tasks.add_checklist(tx, new, task, form.one("value")),
    "rename-checklist": lambda tx, task, form, new: checklist.rename(
        tx, checklist.find(tx, task, form.one("checklist")), form.one("value")
    ),
    "category": lambda tx, task, form, new: _put_into(tx, task, form.one("value")),
    "label": lambda tx, task, form, new: _label(tx, task, form.one("value"), on=True),
    "unlabel": lambda tx, task, form, new: _label(tx, task, form.one("value"), on=False),
    "link": lambda tx, task, form, new: _link(tx, task, form, on=True),
    "unlink": lambda tx, task, form, new: _link(tx, task, form, on=False),
    "note": lambda tx, task, form, new: _note(tx, task, new, form.one("value"), minutes(form.one("minutes"))),
    "never-send": lambda tx, task, form, new: never_sent.mark(tx, task, never=True),
    "send-again": lambda tx, task, form, new: never_sent.mark(tx, task, never=False),
    "delete": lambda tx, task, form, new: tasks.delete_task(tx, task),
    "undelete": lambda tx, task, form, new: tasks.undelete_task(tx, task),
}
"""What the page can do to a task, by the name that its forms give it."""
