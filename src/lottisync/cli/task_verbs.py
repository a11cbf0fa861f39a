"""What a person does to tasks that are there: `task done`, `edit`, `due`, `item`, `label` and the others.

A task is named by its id, by the beginning or end of it, or by a piece of its title that no other task has. Each
command is one transaction: if one of several names does not fit, nothing is changed. Each answer names the task. With
`--json` it has an object for each task (or item) that was named; `changed` says whether it was changed.
"""

import sys
from collections.abc import Mapping
from datetime import date
from typing import Any

import click

from lottisync.answers.tasks import ChangedTasks
from lottisync.cli import checklist_verbs, searches, task_lists, time_verbs
from lottisync.cli.dates import today
from lottisync.cli.help_pages import Group
from lottisync.cli.next_tasks import show_next
from lottisync.cli.options import everywhere
from lottisync.cli.task_change import Verb, change_tasks, many_tasks, one_task
from lottisync.cli.task_form import NONE, due_fields, edited, estimate_fields, parsed, remind_fields, status_fields
from lottisync.cli.tasks import task
from lottisync.cli.terminal import Terminal, common, judging_the_call
from lottisync.cli.times import local
from lottisync.device import clock
from lottisync.journal import finding, names, repetition, task_values, tasks, words
from lottisync.journal.types import CLOSED, INVERSES, PRIORITIES, RELATIONS, Task
from lottisync.language import say
from lottisync.problem import Sentence, Usage
from lottisync.store.transaction import Transaction

task.add_command(task_lists.list_tasks)
task.add_command(checklist_verbs.item)
task.add_command(checklist_verbs.checklist)
task.add_command(time_verbs.spent_time)
task.add_command(searches.search)


# -- done, reopen, status, due, priority, estimate, edit


@task.command()
@many_tasks
@common
def done(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Finish tasks. Of a task that repeats, the next one is made.

    \b
    lottisync task done milk
    lottisync task done 4f0c a1b2
    """
    made: list[Task] = []
    set_done = _setting(task_values.checked_status("DONE", None))

    def verb(tx: Transaction, task_id: str) -> bool:
        changed = set_done(tx, task_id)
        following = repetition.next_task(tx, task_id) if changed else None
        made.extend([following] if following is not None else [])
        return changed

    change_tasks(terminal, named, verb, Sentence("done"))
    for following in made:
        show_next(terminal, following)


@task.command()
@many_tasks
@common
def reopen(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Open tasks again that are done or rejected.

    \b
    lottisync task reopen milk
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        closed = tasks.read(tx, task_id, "task", Task).status in CLOSED
        return closed and _setting(task_values.checked_status("OPEN", None))(tx, task_id)

    change_tasks(terminal, named, verb, Sentence("open"))


@task.command()
@many_tasks
@click.argument("status", metavar="STATUS")
@click.option("--reason", metavar="TEXT", help="Why; BLOCKED and ON HOLD need it.")
@common
def status(terminal: Terminal, named: tuple[str, ...], status: str, reason: str | None) -> None:
    """Set the status: open, groomed, in-progress, blocked, on-hold, done or rejected.

    \b
    lottisync task status milk in-progress
    lottisync task status 4f0c blocked --reason "the shop is closed"
    """
    fields = status_fields(status, reason)
    change_tasks(terminal, named, _setting(fields), words.status(str(fields["status"])))


@task.command()
@many_tasks
@click.argument("day", metavar="DAY")
@common
def due(terminal: Terminal, named: tuple[str, ...], day: str) -> None:
    """Set the day on which tasks are due: a day as you say it, or `none`.

    \b
    lottisync task due milk "in 2 weeks"
    lottisync task due milk 2026-12-01
    lottisync task due milk none
    """
    fields = due_fields(day)
    change_tasks(
        terminal,
        named,
        _setting(fields),
        Sentence("due {day}", day=fields["due"]) if fields["due"] else Sentence("without a due date"),
    )


@task.command()
@many_tasks
@click.argument("when", metavar="WHEN")
@common
def remind(terminal: Terminal, named: tuple[str, ...], when: str) -> None:
    """Be reminded of tasks: `status` and `task show` say so from then on. WHEN is a time as you say it, or `none`.

    A day without a time is 9:00 of that day.

    \b
    lottisync task remind milk "tomorrow 17:30"
    lottisync task remind milk "in 2 hours"
    lottisync task remind milk none
    """
    fields = remind_fields(when)
    said = (
        Sentence("reminds you on {fields}", fields=local(fields["remindAt"]))
        if fields["remindAt"]
        else Sentence("without a reminder")
    )
    change_tasks(terminal, named, _setting(fields), said)


@task.command()
@many_tasks
@click.argument("rule", metavar="RULE")
@common
def repeat(terminal: Terminal, named: tuple[str, ...], rule: str) -> None:
    """Let tasks repeat: daily, weekly, monthly, yearly, or like "every 2 weeks"; or `none`.

    They repeat from the day on which they are due, or from today. To finish one makes the next, with its checklist.

    \b
    lottisync task repeat bins weekly
    lottisync task repeat rent "every 3 months"
    """
    if rule.strip().lower() in NONE:
        change_tasks(terminal, named, _setting({"repeat": None}), Sentence("does not repeat"))
        return
    with judging_the_call():
        spoken = repetition.said(rule, date.fromisoformat(today(clock.now())))

    def verb(tx: Transaction, task_id: str) -> bool:
        due = tasks.read(tx, task_id, "task", Task).due
        start = date.fromisoformat(task_values.checked_day(due)) if due else spoken.start
        return _setting({"repeat": spoken._replace(start=start).stored()})(tx, task_id)

    change_tasks(terminal, named, verb, Sentence("repeats {rule}", rule=repetition.how_often(spoken)))


@task.command()
@many_tasks
@click.argument("priority", type=click.Choice(PRIORITIES, case_sensitive=False))
@common
def priority(terminal: Terminal, named: tuple[str, ...], priority: str) -> None:
    """Set the priority, P0 (now) to P3 (some day).

    \b
    lottisync task priority milk p1
    """
    change_tasks(terminal, named, _setting({"priority": task_values.checked_priority(priority)}), priority)


@task.command()
@many_tasks
@click.argument("span", metavar="TIME")
@common
def estimate(terminal: Terminal, named: tuple[str, ...], span: str) -> None:
    """Set how long tasks will take: minutes, or like 1h30m, or `none`.

    \b
    lottisync task estimate milk 45
    lottisync task estimate milk 1h30m
    """
    fields = estimate_fields(span)
    said = (
        Sentence("estimated at {minutes} min", minutes=fields["estimate"])
        if fields["estimate"]
        else Sentence("without an estimate")
    )
    change_tasks(terminal, named, _setting(fields), said)


@task.command()
@one_task
@click.option("--title", metavar="TEXT")
@click.option("--status", metavar="STATUS")
@click.option("--reason", metavar="TEXT", help="Of the status.")
@click.option("--priority", metavar="P0..P3")
@click.option("--due", metavar="DAY", help="Like 2026-12-01 or tomorrow, or none.")
@click.option("--estimate", metavar="TIME", help="Minutes, or like 1h30m, or none.")
@common
def edit(terminal: Terminal, named: str, reason: str | None, **given: str | None) -> None:
    """Change a task. Without options, your editor ($EDITOR) opens with its fields.

    \b
    lottisync task edit milk
    lottisync task edit milk --title "Oat milk" --due 2026-12-01
    """
    values = {name: value for name, value in given.items() if value is not None}
    if reason is not None:
        if "status" not in values:
            raise Usage("bad-call", "--reason belongs to --status; give both")
        values["reason"] = reason
    fields = parsed(values) if values else edited(terminal, named)
    if not fields:
        terminal.emit(ChangedTasks([]), lambda: terminal.line(say("Nothing was changed.")))
        return
    change_tasks(terminal, (named,), _setting(fields), Sentence("changed"))


def _setting(fields: Mapping[str, Any]) -> Verb:
    """The verb that gives a task these fields."""

    def verb(tx: Transaction, task_id: str) -> bool:
        document = tx.document(task_id)
        held = document.document() if document is not None else {}
        changed = {name: value for name, value in fields.items() if held.get(name) != value}
        if "status" in changed or "statusReason" in changed:  # they are written together
            changed |= {name: fields[name] for name in ("status", "statusReason")}
        if changed:
            repetition.edit_task(tx, task_id, changed)
        return bool(changed)

    return verb


# -- note, delete, undelete


@task.command()
@one_task
@click.argument("text", required=False)
@common
def note(terminal: Terminal, named: str, text: str | None) -> None:
    """Write a note on a task. Without TEXT it is read from standard input ('-'), or your editor opens.

    \b
    lottisync task note milk "the shop has none"
    """
    if text is None:
        text = click.edit("") or ""
    elif text == "-":
        text = sys.stdin.read()
    with judging_the_call():
        checked = task_values.checked_text(text)

    def verb(tx: Transaction, task_id: str) -> bool:
        tasks.add_note(tx, clock.new_id(tx.now), task_id, checked)
        return True

    change_tasks(terminal, (named,), verb, Sentence("noted"))


@task.command()
@many_tasks
@common
def delete(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Delete tasks. `task undelete` brings them back, as long as they are not forgotten.

    \b
    lottisync task delete milk
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        tasks.delete_task(tx, task_id)
        return True

    change_tasks(terminal, named, verb, Sentence("deleted"))


@task.command()
@many_tasks
@common
def undelete(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Bring deleted tasks back, with their checklists and notes.

    \b
    lottisync task undelete milk
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        tasks.undelete_task(tx, task_id)
        return True

    change_tasks(terminal, named, verb, Sentence("back"), deleted=True)


# -- label, category, link


@task.group(cls=Group)
@everywhere
def label(home: str | None, as_json: bool) -> None:
    """Put labels on tasks, and take them off."""


@label.command("add")
@one_task
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@common
def add_labels(terminal: Terminal, named: str, labels: tuple[str, ...]) -> None:
    """Put labels on a task. A label that is not there yet is made.

    \b
    lottisync task label add milk shopping
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        return names.label_task(tx, task_id, [names.find_or_make(tx, "label", name) for name in labels])

    change_tasks(terminal, (named,), verb, Sentence("labelled {labels}", labels=", ".join(labels)))


@label.command("remove")
@one_task
@click.argument("labels", metavar="LABEL...", nargs=-1, required=True)
@common
def remove_labels(terminal: Terminal, named: str, labels: tuple[str, ...]) -> None:
    """Take labels off a task.

    \b
    lottisync task label remove milk shopping
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        return names.label_task(tx, task_id, [names.find_known(tx, "label", name) for name in labels], on=False)

    change_tasks(terminal, (named,), verb, Sentence("without {labels}", labels=", ".join(labels)))


@task.command()
@many_tasks
@click.argument("category")
@common
def category(terminal: Terminal, named: tuple[str, ...], category: str) -> None:
    """Put tasks into a category, or into `none`. One that is not there yet is made.

    \b
    lottisync task category milk household
    """
    nowhere = category.strip().lower() in NONE

    def verb(tx: Transaction, task_id: str) -> bool:
        ident = None if nowhere else names.find_or_make(tx, "category", category)
        return _setting({"categoryId": ident})(tx, task_id)

    change_tasks(
        terminal,
        named,
        verb,
        Sentence("without a category") if nowhere else Sentence("in {category}", category=category),
    )


@task.command()
@many_tasks
@click.argument("code", metavar="LANGUAGE")
@common
def language(terminal: Terminal, named: tuple[str, ...], code: str) -> None:
    """Say which language tasks are written in, as a code like en or de, or `none`. No agent changes what you said.

    \b
    lottisync task language milk de
    """
    with judging_the_call():
        fields = task_values.language_fields("" if code.strip().lower() in NONE else code)
    spoken = fields["languageCode"]
    said = Sentence("language: {code}", code=spoken) if spoken else Sentence("without a language")
    change_tasks(terminal, named, _setting(fields), said)


@task.command()
@one_task
@click.argument("relation", metavar="RELATION", type=click.Choice((*RELATIONS, *INVERSES), case_sensitive=False))
@click.argument("other", metavar="OTHER")
@click.option("--remove", is_flag=True, help="Take the relation away.")
@common
def link(terminal: Terminal, named: str, relation: str, other: str, remove: bool) -> None:
    """Say how a task stands to another one.

    \b
    lottisync task link milk blocks breakfast
    lottisync task link milk blocks breakfast --remove
    """

    def verb(tx: Transaction, task_id: str) -> bool:
        return tasks.set_link(tx, task_id, relation, other_id, on=not remove) is not None

    with terminal.home.journal.reading() as reader:
        other_id = finding.resolve(reader, other, "task")
        title = tasks.read(reader, other_id, "task", Task).title
    change_tasks(terminal, (named,), verb, words.linked(relation, title, on=not remove))
