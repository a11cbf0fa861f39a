"""Tasks that repeat (docs/specs/08-journal.md, section 8).

A rule is a repeating interval of ISO 8601: `R/2026-12-01/P1W` is every week from 1 December 2026 on. To finish a task
with a rule makes the next one: the same task, open, with its checklist unticked, due on the next day of the rule. Its
id and the ids of its items are derived from those of the task. So two devices that finish a task at the same time make
one.
"""

import calendar
import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from lottisync.entities.entity import DELETED_AT, is_deleted
from lottisync.entities.schema import derived_id
from lottisync.journal import task_values, tasks
from lottisync.journal.types import Checklist, ChecklistItem, Task
from lottisync.problem import Problem, Sentence, counted
from lottisync.shown import quoted
from lottisync.store.instant import iso, later, millis, since_1970, there
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

_STORED = re.compile(r"R/(\d{4}-\d{2}-\d{2})/P([1-9]\d{0,2})([DWMY])", re.ASCII)
_SAID = re.compile(r"(?:every )?(?:(\d{1,3}) )?(day|week|month|year)s?", re.ASCII)
_ADVERBS = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
_UNITS = {"D": "day", "W": "week", "M": "month", "Y": "year"}
_DAYS = {"D": 1, "W": 7}
_MONTHS = {"M": 1, "Y": 12}


class Rule(NamedTuple):
    """Each time `every` of the `unit`s have passed (D, W, M or Y), from the day `start` on."""

    start: date
    every: int
    unit: str

    def stored(self) -> str:
        return f"R/{self.start.isoformat()}/P{self.every}{self.unit}"

    def after(self, day: date) -> date:
        """The first day of the rule that is after `day`. A month without the day of the start ends sooner. Raises
        `ValueError` or `OverflowError` behind the year 9999."""
        if self.unit in _DAYS:
            step = _DAYS[self.unit] * self.every
            return self.start + timedelta(step * max(0, (day - self.start).days // step + 1))
        step = _MONTHS[self.unit] * self.every
        number = max(0, _months(self.start, day) // step)
        return next(found for n in (number, number + 1) if (found := _later(self.start, n * step)) > day)

    def __str__(self) -> str:
        """`every week`, `every 2 weeks`."""
        unit = _UNITS[self.unit]
        return f"every {unit}" if self.every == 1 else f"every {self.every} {unit}s"


def _months(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month


def _later(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def rule_of(stored: str | None) -> Rule | None:
    """The rule that is stored; None if there is none, or none that can be read."""
    found = _STORED.fullmatch(stored or "")
    if found is None:
        return None
    try:
        return Rule(date.fromisoformat(found[1]), int(found[2]), found[3])
    except ValueError:
        return None


def checked_rule(text: str) -> str:
    """A rule in its stored form; `Problem` if it is none."""
    rule = rule_of(text.strip())
    if rule is None:
        raise Problem("bad-value", "a rule is like R/2026-12-01/P1W; got {quoted}", quoted=quoted(text))
    return rule.stored()


def said(text: str, start: date) -> Rule:
    """The rule that a person typed: `weekly`, `every 2 weeks`, `month`. Raises `Problem`."""
    typed = " ".join(text.lower().split())
    found = _SAID.fullmatch(_ADVERBS.get(typed, typed))
    if found is None or (found[1] and int(found[1]) == 0):
        raise Problem(
            "bad-value",
            "a task repeats daily, weekly, monthly, yearly, or every 2 weeks; got {quoted}",
            quoted=quoted(text),
        )
    return Rule(start, int(found[1] or 1), found[2][0].upper())


def how_often(rule: Rule) -> Sentence:
    """`every week`, `every 2 weeks`."""
    match rule.unit:
        case "D":
            return counted("every day", "every {count} days", rule.every)
        case "W":
            return counted("every week", "every {count} weeks", rule.every)
        case "M":
            return counted("every month", "every {count} months", rule.every)
        case _:
            return counted("every year", "every {count} years", rule.every)


# -- finishing


def edit_task(tx: Transaction, task_id: str, fields: Mapping[str, Any]) -> str | None:
    """Change fields of a task, as `tasks.edit_task`. If that finishes a task that repeats, the next one is made: its
    id."""
    was = tasks.read(tx, task_id, "task", Task).status
    tasks.edit_task(tx, task_id, fields)
    return finished(tx, task_id, at=tx.now) if finishes(was, fields.get("status")) else None


def finishes(was: Any, status: Any) -> bool:
    """Whether a change of the status finishes a task that was not done yet."""
    return bool(status == "DONE" != was)


def next_id(task_id: str) -> str:
    """The id of the task that follows a task."""
    return derived_id("repetition", task_id)


def finished(tx: Transaction, task_id: str, *, at: int, kept: Mapping[str, Any] = {}) -> str | None:
    """Make the task that follows one that was finished at a time (ms), if that one repeats: its id. If it is there, it
    stays as it is; if it was deleted, it comes back, for the person has finished this one again. `kept` is written with
    each entity that is made or comes back."""
    following = _following(tasks.read(tx, task_id, "task", Task), at)
    if following is None:
        return None
    page = tasks.whole_page(tx, task_id)
    there = tx.document(next_id(task_id))
    if there is None or there.deleted:
        _make(tx, next_id(task_id), page, following, kept)
    return next_id(task_id)


def next_task(reader: Reader, task_id: str) -> Task | None:
    """The task that was made when this one was finished."""
    document = reader.document(next_id(task_id))
    return document.view(Task) if document is not None and not document.deleted else None


class _Following(NamedTuple):
    """The day on which the next task is due, the day of the one before it, and from one to the other."""

    due: date
    since: date

    @property
    def days(self) -> timedelta:
        return self.due - self.since


def _following(task: Task, now: int) -> _Following | None:
    """The day for the task after this one. If this one was finished late, days that are over are left out."""
    rule, due = rule_of(task.repeat), _day(task.due)
    if rule is None:
        return None
    today = there(now).date()
    try:
        next_due = rule.after(today if due is None else max(due, later(today, -1)))
    except (ValueError, OverflowError):
        return None
    return _Following(next_due, due or today)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _make(tx: Transaction, made: str, page: tasks.TaskPage, following: _Following, kept: Mapping[str, Any]) -> None:
    """Make the next task. Everything in it follows from the task before it, and not from when or where that was
    finished: otherwise two devices would make one task with two values in a field."""
    created = f"{following.since.isoformat()}T00:00:00.000Z"
    task = page.task
    optional = {
        "estimate": task.estimate,
        "languageCode": task.language_code,
        "categoryId": task.category_id,
        "neverSend": task.never_send or None,
        "remindAt": _reminder(task.remind_at, following.days),
    }
    fields = {
        "title": task_values.checked_title(task.title or "(no title)"),
        "status": "OPEN",
        "priority": task.priority,
        "due": following.due.isoformat(),
        "repeat": task.repeat,
        "labels": {label: True for label, on in task.labels.items() if on},
        "createdAt": created,
        **{name: value for name, value in optional.items() if value is not None},
    }
    _write(tx, made, "task", fields, kept)
    for checklist in page.checklists:
        items = [item for item in page.items if item.checklist_id == checklist.id]
        _make_checklist(tx, made, checklist, items, created, kept)


def _make_checklist(
    tx: Transaction, made: str, held: Checklist, items: list[ChecklistItem], created: str, kept: Mapping[str, Any]
) -> None:
    default = held.id == derived_id("checklist", held.task_id)
    checklist_id = derived_id("checklist", made) if default else derived_id("repetition", held.id)
    values = {"taskId": made, "title": held.title, "rank": held.rank, "createdAt": created}
    _write(tx, checklist_id, "checklist", values, kept)
    for item in items:
        values = {"taskId": made, "checklistId": checklist_id, "title": item.title, "rank": item.rank}
        unticked = {"isChecked": False, "checkedBy": "user", "checkedAt": None, "createdAt": created}
        _write(tx, derived_id("repetition", item.id), "checklistItem", {**values, **unticked}, kept)


def _write(tx: Transaction, ident: str, type_name: str, fields: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    """Make an entity, or bring it back as it was when it was deleted; one that is there stays as it is."""
    there = tx.entity(ident)
    if there is None:
        tx.put(ident, type_name, {**fields, **kept})
    elif is_deleted(there):
        tx.put(ident, type_name, {**there.document(), **kept, DELETED_AT: None})


def _reminder(instant: str | None, days: timedelta) -> str | None:
    """A reminder that is as many days later, at the same time of the clock in this device's zone."""
    try:
        return iso(since_1970(there(millis(instant or "")).replace(tzinfo=None) + days))
    except (ValueError, OverflowError):
        return None
