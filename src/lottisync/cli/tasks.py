"""`task show | add | check`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from lottisync.answers.stores import ConflictAnswer
from lottisync.answers.tasks import ChangedItem, ChangedItems, Minder, TaskAnswer
from lottisync.cli import completion
from lottisync.cli.acts import acting
from lottisync.cli.dates import day
from lottisync.cli.help_pages import Group
from lottisync.cli.hints import with_hint
from lottisync.cli.options import everywhere
from lottisync.cli.task_change import as_done, spent
from lottisync.cli.terminal import Terminal, common, judging_the_call, short, waits_for_you
from lottisync.cli.times import local, minutes
from lottisync.cli.watch import watchable
from lottisync.device import clock
from lottisync.journal import finding, names, never_sent, repetition, task_values, tasks, words
from lottisync.journal.task_links import LinkedTask, linked_tasks
from lottisync.journal.types import PRIORITIES, ChecklistItem
from lottisync.language import say, translated
from lottisync.problem import Sentence
from lottisync.shown import quoted


@click.group(cls=Group)
@everywhere
def task(home: str | None, as_json: bool) -> None:
    """List, show, add and change tasks."""


@task.command("show")
@click.argument("task_id", metavar="TASK", shell_complete=completion.tasks)
@common
@watchable
def show_task(terminal: Terminal, task_id: str) -> None:
    """Show a task with its checklist and notes. TASK is an id, its beginning or end, or a piece of the title.

    \b
    lottisync task show milk
    """
    with terminal.home.journal.reading() as reader:
        page = tasks.page(reader, finding.resolve(reader, task_id, "task"))
        withheld = never_sent.withheld_because(reader, page.task)
        linked = list(linked_tasks(reader, page.task.id))
        named = names.of_all(reader, "category") if page.task.category_id else {}
        category = named.get(page.task.category_id or "", "")
    for problem in page.damaged:
        terminal.warn(with_hint(problem))
    from lottisync.cli.conflicts import of_task
    from lottisync.daemon.agent_page import minder

    agent = minder(terminal.home, page.task.id, clock.now())
    conflicts = of_task(terminal.home, page.task.id)
    terminal.emit(
        TaskAnswer.of(page, agent, conflicts, withheld, linked),
        lambda: _show_task(terminal, page, _Beside(linked, category, withheld), agent, conflicts),
    )


class _Beside(NamedTuple):
    """What is known of a task beside its page: what it is linked with, the name of its category, and why no model sees
    it."""

    linked: Sequence[LinkedTask]
    category: str
    withheld: Sentence | None


def _show_task(
    terminal: Terminal,
    page: tasks.TaskPage,
    beside: _Beside,
    agent: Minder | None,
    conflicts: list[ConflictAnswer],
) -> None:
    """The page of a task; below it its conflicts, and what waits for a verdict, as `lottisync review --task` shows
    it."""
    from lottisync.cli.conflicts import show_of_task

    show_page(terminal, page, beside, agent)
    if beside.withheld is not None:
        terminal.line(say("Never sent to a model: {withheld}", withheld=beside.withheld), "yellow")
    show_of_task(terminal, conflicts)
    if agent is not None and agent.proposals_waiting:
        from lottisync.cli.reviews import show_waiting

        terminal.line()
        show_waiting(terminal, page.task.id)


def show_page(terminal: Terminal, page: tasks.TaskPage, beside: _Beside, agent: Minder | None) -> None:
    t = page.task
    terminal.line(t.title, "bold")
    facts = [translated(words.status(t.status)) + (f" ({t.status_reason})" if t.status_reason else ""), t.priority]
    facts += [say("due {due}", due=t.due)] if t.due else []
    rule = repetition.rule_of(t.repeat)
    facts += [say("repeats {rule}", rule=repetition.how_often(rule))] if rule is not None else []
    facts += [say("reminder {remind_at}", remind_at=local(t.remind_at))] if t.remind_at else []
    facts += [say("estimate {estimate}", estimate=minutes(t.estimate))] if t.estimate is not None else []
    facts += [say("spent {minutes_spent}", minutes_spent=minutes(page.minutes_spent))] if page.has_times else []
    facts += [beside.category] if beside.category else []
    facts += [label.name for label in page.labels]
    terminal.line("  ".join(facts), "dim")
    if agent is not None:
        terminal.line(say("{name} minds it: lottisync agent show {id}", name=agent.name, id=short(t.id)), "cyan")
    if agent is not None and agent.proposals_waiting:
        terminal.line(
            say(
                "{proposals_waiting}: lottisync review --task {id}",
                proposals_waiting=waits_for_you(agent.proposals_waiting),
                id=short(t.id),
            ),
            "yellow",
        )
    for checklist in page.checklists:
        items = [item for item in page.items if item.checklist_id == checklist.id]
        done = sum(item.is_checked for item in items)
        terminal.heading(f"{checklist.title}  {done}/{len(items)}")
        for item in items:
            terminal.line(f"  {'✓' if item.is_checked else '·'} {item.title}  {_origin(item)}")
    if page.archived:
        terminal.heading(say("Archived"))
    for item in page.archived:
        terminal.line(f"  {'✓' if item.is_checked else '·'} {item.title}  {_origin(item)}", "dim")
    if beside.linked:
        terminal.heading(say("Linked tasks"))
    for link in beside.linked:
        terminal.line(f"  {translated(link.relation)} {quoted(link.title)}  [{short(link.task)}]")
    if page.entries:
        terminal.heading(say("Notes"))
    for entry in page.entries:
        spent = say(" (runs)") if entry.runs else f" ({minutes(entry.minutes)})" if entry.minutes is not None else ""
        terminal.text(entry.text, f"  {local(entry.at)}{spent}  ")
    terminal.line()
    terminal.line(f"id {t.id}", "dim")


def _origin(item: ChecklistItem) -> str:
    who = "" if item.set_by_user else say("by the agent") + " "
    proposed = say("proposed by an agent") + " " if item.proposed_by and item.set_by_user else ""
    return f"[{short(item.id)} {proposed}{who}]".replace(" ]", "]")


@task.command("add")
@click.argument("title")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), default="P2", show_default=True)
@click.option("--due", metavar="DAY", help="Like 2026-12-01, tomorrow, fri or 'in 2 weeks'.")
@click.option("--estimate", metavar="TIME", help="Minutes, or like 1h30m.")
@click.option("--item", "items", multiple=True, metavar="TITLE", help="A checklist item; may be given several times.")
@common
def add_task(
    terminal: Terminal, title: str, priority: str, due: str | None, estimate: str | None, items: tuple[str, ...]
) -> None:
    """Add a task.

    \b
    lottisync task add "Buy milk" --due fri --item "Look into the fridge"
    """
    with judging_the_call():
        title, items = task_values.checked_title(title), tuple(task_values.checked_title(item) for item in items)
        fields: dict[str, Any] = {"priority": task_values.checked_priority(priority)}
        if due is not None:
            fields["due"] = day(due, clock.now())
        if estimate is not None:
            fields["estimate"] = spent(estimate)
    now = clock.now()
    task_id = clock.new_id(now)
    with acting(terminal, Sentence("added"), now=now) as tx:
        tasks.add_task(tx, task_id, title, fields)
        for item in items:
            tasks.add_item(tx, clock.new_id(now), task_id, item)
        page = tasks.page(tx, task_id)
    until = "  " + say("due {day}", day=page.task.due) if page.task.due else ""
    terminal.emit(
        TaskAnswer.of(page, None, []),
        lambda: terminal.line(
            say("Added {title}  {task_id}{until}", title=quoted(page.task.title), task_id=short(task_id), until=until),
            "green",
        ),
    )


@task.command("check")
@click.argument("item_id", metavar="ITEM")
@click.option("--off", is_flag=True, help="Untick instead.")
@common
def check_item(terminal: Terminal, item_id: str, off: bool) -> None:
    """Tick a checklist item (or untick it with --off). ITEM is an id, its beginning or end, or a piece of its title.

    \b
    lottisync task check fridge
    lottisync task check fridge --off
    """
    with acting(terminal, Sentence("not ticked") if off else Sentence("ticked")) as tx:
        resolved = finding.resolve(tx, item_id, "checklistItem")
        changed = tasks.check_item(tx, resolved, not off) is not None
        item = tasks.read(tx, resolved, "checklistItem", ChecklistItem)
    state = Sentence("ticked") if item.is_checked else Sentence("not ticked")
    answer = ChangedItem(
        item.id, item.title, item.task_id, item.checklist_id, item.is_checked, item.is_archived, changed
    )
    terminal.emit(
        ChangedItems([answer]),
        lambda: terminal.line(f"{quoted(item.title)}  {short(item.id)}  {as_done(state, changed)}"),
    )
