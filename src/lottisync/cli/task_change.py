"""How a verb of `task` changes what was named, and what it answers.

A task is named by its id, by the beginning or end of it, or by a piece of its title that no other task has. Each
command is one transaction: if one of several names does not fit, nothing is changed. The answer has one object for each
task or item that was named; `changed` says whether it was changed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from lottisync.answers.tasks import ChangedItem, ChangedItems, ChangedTask, ChangedTasks
from lottisync.cli import completion
from lottisync.cli.acts import acting
from lottisync.cli.terminal import Terminal, judging_the_call, short
from lottisync.journal import finding, task_values
from lottisync.language import say, translated
from lottisync.problem import Usage
from lottisync.shown import quoted
from lottisync.store.transaction import Transaction

_SPAN = re.compile(r"\A(?:(\d{1,3})\s*h(?:ours?)?)?\s*(?:(\d{1,4})\s*(?:m|min|minutes?)?)?\Z", re.ASCII)

Verb = Callable[[Transaction, str], bool]
"""Does something to the task (item) with this id; False if it is so already."""

many_tasks = click.argument("named", metavar="TASK...", nargs=-1, required=True, shell_complete=completion.tasks)
one_task = click.argument("named", metavar="TASK", shell_complete=completion.tasks)


def spent(text: str) -> int:
    """How long, in minutes, a person typed: `90`, `90m`, `1h`, `1h 30m`."""
    fitting = _SPAN.match(text.strip().lower())
    if fitting is None or not any(fitting.groups()):
        raise Usage("bad-value", "a time is minutes, or like 1h30m; got {quoted}", quoted=quoted(text))
    with judging_the_call():
        return task_values.checked_minutes(int(fitting[1] or 0) * 60 + int(fitting[2] or 0))


def change_tasks(terminal: Terminal, named: Sequence[str], verb: Verb, said: str, *, deleted: bool = False) -> None:
    changed = [
        ChangedTask(
            ident,
            fields.get("title") or "",
            fields.get("status", "OPEN"),
            fields.get("priority", "P2"),
            fields.get("due"),
            fields.get("estimate"),
            changed,
        )
        for ident, fields, changed in _change(terminal, named, "task", verb, said, deleted=deleted)
    ]
    terminal.emit(ChangedTasks(changed), lambda: _show(terminal, changed, said))


def change_items(terminal: Terminal, named: Sequence[str], verb: Verb, said: str) -> None:
    changed = [
        ChangedItem(
            ident,
            fields.get("title") or "",
            str(fields.get("taskId")),
            str(fields.get("checklistId")),
            bool(fields.get("isChecked")),
            bool(fields.get("isArchived")),
            changed,
        )
        for ident, fields, changed in _change(terminal, named, "checklistItem", verb, said)
    ]
    terminal.emit(ChangedItems(changed), lambda: _show(terminal, changed, said))


class _Changed(NamedTuple):
    id: str
    fields: Mapping[str, Any]
    """As they are stored now."""
    changed: bool


def _change(
    terminal: Terminal, named: Sequence[str], type_name: str, verb: Verb, said: str, *, deleted: bool = False
) -> list[_Changed]:
    """Do the verb to each that is named, in one transaction."""
    answers = []
    with acting(terminal, said) as tx:
        for ident in dict.fromkeys(finding.resolve(tx, name, type_name, deleted=deleted) for name in named):
            changed = verb(tx, ident)
            document = tx.document(ident)
            assert document is not None, "it was found, and is at most marked as deleted"
            answers.append(_Changed(ident, document.document(), changed))
    return answers


def _show(terminal: Terminal, answers: Sequence[ChangedTask | ChangedItem], said: str) -> None:
    for answer in answers:
        style = "green" if answer.changed else "dim"
        terminal.line(f"{quoted(answer.title)}  {short(answer.id)}  {as_done(said, answer.changed)}", style)


def as_done(said: str, changed: bool) -> str:
    """What was done, in the reader's language, or that it was so before."""
    done = translated(said)
    return done if changed else say("{done} already", done=done)
