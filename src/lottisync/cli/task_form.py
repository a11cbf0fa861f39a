"""The form of a task: its fields as lines of text, which a person changes in $EDITOR, and what is stored of what a
person typed for a field."""

from collections.abc import Mapping
from typing import Any

import click

from lottisync.cli.dates import MORNING, REMINDERS, day, moment
from lottisync.cli.task_change import spent
from lottisync.cli.terminal import Terminal, judging_the_call
from lottisync.device import clock
from lottisync.journal import finding, task_values, tasks
from lottisync.journal.types import Task
from lottisync.language import say, translated
from lottisync.problem import Problem, Usage
from lottisync.shown import one_line, quoted

NONE = ("none", "-", "")
"""What takes a value away."""
_FORM = ("title", "status", "reason", "priority", "due", "estimate")


def _form(held: Task) -> str:
    values = (held.title, held.status, held.status_reason, held.priority, held.due, held.estimate)
    lines = [
        f"{name}: {'' if value is None else one_line(str(value))}" for name, value in zip(_FORM, values, strict=True)
    ]
    return "\n".join([say("# Save to change the task. Lines that begin with # do not count."), *lines, ""])


def edited(terminal: Terminal, named: str) -> dict[str, Any]:
    """The fields as a person left them in the editor; only those that were changed there. A form that cannot be read is
    offered again, with the reason at its top. If a person closes the editor and has changed nothing, the command
    ends."""
    with terminal.home.journal.reading() as reader:
        held = tasks.read(reader, finding.resolve(reader, named, "task"), "task", Task)
    offered = form = _form(held)
    while True:
        # A file that was saved with the same text is unchanged, too.
        typed = click.edit(offered, extension=".txt", require_save=False)
        if typed is None or typed.rstrip() == form.rstrip():
            return {}
        try:
            return parsed(_differing(_read_form(typed), _read_form(form)))
        except Problem as problem:
            if typed.rstrip() == offered.rstrip():
                raise
            wrong = say("# Wrong:")
            kept = [line for line in typed.splitlines() if not line.startswith(wrong)]
            offered = "\n".join([f"{wrong} {translated(problem)}", *kept, ""])


def _read_form(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not line.strip() or line.startswith("#"):
            continue
        if not colon or name not in _FORM or name in values:
            expected = ", ".join(_FORM)
            raise Usage(
                "bad-form",
                "{quoted} is not a field; there is one line for each of {expected}",
                quoted=quoted(line),
                expected=expected,
            )
        values[name] = value.strip()
    return values


def _differing(typed: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    """The fields that the person changed; all others stay as another device may have changed them meanwhile. A line
    that was removed removes the value."""
    changed = {name: typed.get(name, "") for name in _FORM if typed.get(name, "") != before[name]}
    if changed.keys() & {"status", "reason"}:
        changed |= {name: typed.get(name, "") for name in ("status", "reason")}
    return changed


# -- values as people type them


def parsed(values: Mapping[str, str]) -> dict[str, Any]:
    """Stored fields of what was typed, by the names of the form."""
    fields: dict[str, Any] = {}
    with judging_the_call():
        for name, value in values.items():
            if name == "title":
                fields["title"] = task_values.checked_title(value)
            elif name == "status":
                fields |= status_fields(value, values.get("reason"))
            elif name == "priority":
                fields["priority"] = task_values.checked_priority(value)
            elif name == "due":
                fields |= due_fields(value)
            elif name == "estimate":
                fields |= estimate_fields(value)
    return fields


def status_fields(text: str, reason: str | None) -> dict[str, str | None]:
    with judging_the_call():
        return task_values.checked_status(text.replace("-", " "), reason)


def due_fields(text: str) -> dict[str, str | None]:
    with judging_the_call():
        return {"due": None if text.strip().lower() in NONE else day(text, clock.now())}


def remind_fields(text: str) -> dict[str, str | None]:
    if text.strip().lower() in NONE:
        return {"remindAt": None}
    with judging_the_call():
        return {"remindAt": moment(text, clock.now(), at=MORNING, like=REMINDERS)}


def estimate_fields(text: str) -> dict[str, int | None]:
    return {"estimate": None if text.strip().lower() in NONE else spent(text)}
