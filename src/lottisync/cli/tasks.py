"""`import` and `task list | show | add | check`."""

import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click

from lottisync.answers.stores import ConflictAnswer
from lottisync.answers.tasks import ChangedItem, ChangedItems, Imported, Minder, TaskAnswer, TaskRow, Tasks
from lottisync.cli.hints import told
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Cell, Terminal, common, judging_the_call, short, waits_for_you
from lottisync.cli.watch import watchable
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.journal.types import PRIORITIES, ChecklistItem
from lottisync.problem import Problem
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store.instant import iso

OPEN_STATUSES = ("OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD")
STYLED = {"P0": Cell("P0", "bold red"), "P1": Cell("P1", "yellow")}


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Read and check the file, say what would be added, and add nothing.")
@common
def import_file(terminal: Terminal, file: Path, dry_run: bool) -> None:
    """Add what is in FILE ('-': standard input). Existing entities stay as they are.

    \b
    FILE is what `lottisync export` wrote, or tasks in JSON (format lottisync-tasks/1).
    """
    from lottisync.device import export
    from lottisync.journal import task_file

    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise Problem("no-file", "{file} cannot be read: {strerror}", file=file, strerror=error.strerror) from None
    if export.FORMAT.encode() in raw[:200]:
        _import_export(terminal, raw.splitlines(), dry_run=dry_run)
        return
    parsed = task_file.parse(raw, file.name)
    with (
        terminal.progress("importing", task_file.size(parsed)) as advance,
        suppress(_DryRun),
        terminal.home.journal.transaction(clock.now(), PERSON) as tx,
    ):
        added = task_file.add(tx, parsed, advance)
        if dry_run:
            raise _DryRun
    by_type = {"task": added.tasks, "checklistItem": added.items, "entry": added.notes, "label": added.labels}
    value = Imported(sum(by_type.values()), added.kept, by_type, dry_run)
    text = f"{added.tasks} tasks, {added.items} checklist items, {added.notes} notes, {added.labels} labels"
    said = f"{_added(dry_run)} {text}; {added.kept} were here already."
    terminal.emit(value, lambda: terminal.line(said))


def _import_export(terminal: Terminal, lines: list[bytes], *, dry_run: bool) -> None:
    from lottisync.device import export

    home = terminal.home
    stores = {name: store for name, store in home.stores.items() if name != home.space.schema.name}
    with terminal.progress("importing", len(lines)) as advance:
        found = export.take(stores, lines, clock.now(), dry_run=dry_run, progress=advance)
    value = Imported(found.added, found.present, {}, dry_run)
    said = f"{_added(dry_run)} {found.added:,} entities; {found.present:,} were here already."
    terminal.emit(value, lambda: terminal.line(said))


def _added(dry_run: bool) -> str:
    return "Would add" if dry_run else "Added"


class _DryRun(Exception):
    """Takes back the transaction of a dry run."""


@click.group()
@everywhere
def task(home: str | None, as_json: bool) -> None:
    """List, show, add and change tasks."""


@task.command("list")
@click.option("--all", "everything", is_flag=True, help="Also tasks that are done or rejected.")
@click.option("--status", metavar="STATUS", help="Only those of this status.")
@click.option("--due", metavar="YYYY-MM-DD", help="Only those that are due on this day or before.")
@click.option("--deleted", is_flag=True, help="Those that were deleted; `task undelete` brings them back.")
@common
@watchable
def list_tasks(terminal: Terminal, everything: bool, status: str | None, due: str | None, deleted: bool) -> None:
    """List the open tasks, the most urgent first.

    \b
    lottisync task list --due 2026-12-01
    lottisync task list --status on-hold
    """
    with judging_the_call():
        wanted = tasks.checked_status_name(status.replace("-", " ")) if status is not None else None
        until = tasks.checked_day(due) if due is not None else None
    with terminal.home.journal.reading() as reader:
        found, damaged = tasks.deleted_tasks(reader) if deleted else tasks.all_tasks(reader)
    for problem in damaged:
        terminal.warn(told(problem))
    statuses = {wanted} if wanted else None if everything or deleted else OPEN_STATUSES
    shown = [
        t
        for t in found
        if (statuses is None or t.status in statuses) and (until is None or (t.due is not None and t.due <= until))
    ]
    shown.sort(key=lambda t: (t.priority, t.due or "9999", t.created_at, t.id))
    if terminal.as_json:
        listed = [TaskRow(t.id, t.title, t.status, t.priority, t.due, t.estimate) for t in shown]
        terminal.emit(Tasks(listed), lambda: None)
    else:
        nothing = (
            "No task fits." if wanted or until or deleted else "No open task. Add one with: lottisync task add TITLE"
        )
        _show_list(terminal, shown, nothing, today=iso(clock.now())[:10])


def _show_list(terminal: Terminal, found: list[tasks.TaskLine], nothing: str, today: str) -> None:
    if not found:
        terminal.line(nothing)
        return
    rows = [
        (
            short(t.id),
            STYLED.get(t.priority, t.priority),
            Cell(t.due, "red") if t.due and t.due < today else t.due or "",
            t.status.lower(),
            minutes(t.estimate),
            t.title,
        )
        for t in found
    ]
    terminal.table(["id", "", "due", "status", "estimate", "title"], rows)


@task.command("show")
@click.argument("task_id", metavar="TASK")
@common
@watchable
def show_task(terminal: Terminal, task_id: str) -> None:
    """Show a task with its checklist and notes. TASK is an id, its beginning or end, or a piece of the title."""
    with terminal.home.journal.reading() as reader:
        page = tasks.page(reader, tasks.resolve(reader, task_id, "task"))
    from lottisync.cli.stores import of_task
    from lottisync.daemon.agent_page import minder

    agent = minder(terminal.home, page.task.id, clock.now())
    conflicts = of_task(terminal.home, page.task.id)
    terminal.emit(TaskAnswer.of(page, agent, conflicts), lambda: _show_task(terminal, page, agent, conflicts))


def _show_task(terminal: Terminal, page: tasks.TaskPage, agent: Minder | None, conflicts: list[ConflictAnswer]) -> None:
    """The page of a task; below it its conflicts, and what waits for a verdict, as `lottisync review --task` shows
    it."""
    from lottisync.cli.stores import show_of_task

    show_page(terminal, page, agent)
    show_of_task(terminal, conflicts)
    if agent is not None and agent.proposals_waiting:
        from lottisync.cli.reviews import show_waiting

        terminal.line()
        show_waiting(terminal, page.task.id)


def show_page(terminal: Terminal, page: tasks.TaskPage, agent: Minder | None) -> None:
    t = page.task
    terminal.line(t.title, "bold")
    facts = [t.status.lower() + (f" ({t.status_reason})" if t.status_reason else ""), t.priority]
    facts += [f"due {t.due}"] if t.due else []
    facts += [f"estimate {minutes(t.estimate)}"] if t.estimate else []
    facts += [f"spent {minutes(page.minutes_spent)}"] if page.minutes_spent else []
    facts += [label.name for label in page.labels]
    terminal.line("  ".join(facts), "dim")
    if agent is not None:
        terminal.line(f"{agent.name} minds it: lottisync agent show {short(t.id)}", "cyan")
    if agent is not None and agent.proposals_waiting:
        terminal.line(f"{waits_for_you(agent.proposals_waiting)}: lottisync review --task {short(t.id)}", "yellow")
    for checklist in page.checklists:
        items = [item for item in page.items if item.checklist_id == checklist.id]
        done = sum(item.is_checked for item in items)
        terminal.heading(f"{checklist.title}  {done}/{len(items)}")
        for item in items:
            terminal.line(f"  {'✓' if item.is_checked else '·'} {item.title}  {_origin(item)}")
    if page.archived:
        terminal.heading("Archived")
    for item in page.archived:
        terminal.line(f"  {'✓' if item.is_checked else '·'} {item.title}  {_origin(item)}", "dim")
    if page.entries:
        terminal.heading("Notes")
    for entry in page.entries:
        spent = " (runs)" if entry.runs else f" ({minutes(entry.minutes)})" if entry.minutes else ""
        terminal.text(entry.text, f"  {entry.at[:16].replace('T', ' ')}{spent}  ")
    terminal.line()
    terminal.line(f"id {t.id}", "dim")


def _origin(item: ChecklistItem) -> str:
    who = "" if item.set_by_user else "by the agent "
    proposed = "proposed by an agent " if item.proposed_by and item.set_by_user else ""
    return f"[{short(item.id)} {proposed}{who}]".replace(" ]", "]")


@task.command("add")
@click.argument("title")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), default="P2", show_default=True)
@click.option("--due", metavar="YYYY-MM-DD")
@click.option("--estimate", type=int, metavar="MINUTES")
@click.option("--item", "items", multiple=True, metavar="TITLE", help="A checklist item; may be given several times.")
@common
def add_task(
    terminal: Terminal, title: str, priority: str, due: str | None, estimate: int | None, items: tuple[str, ...]
) -> None:
    """Add a task."""
    with judging_the_call():
        title, items = tasks.checked_title(title), tuple(tasks.checked_title(item) for item in items)
        fields: dict[str, Any] = {"priority": tasks.checked_priority(priority)}
        if due is not None:
            fields["due"] = tasks.checked_day(due)
        if estimate is not None:
            fields["estimate"] = tasks.checked_minutes(estimate)
    now = clock.now()
    task_id = clock.new_id(now)
    with terminal.home.journal.transaction(now, PERSON) as tx:
        tasks.add_task(tx, task_id, title, fields)
        for item in items:
            tasks.add_item(tx, clock.new_id(now), task_id, item)
        page = tasks.page(tx, task_id)
    terminal.emit(
        TaskAnswer.of(page, None, []),
        lambda: terminal.line(f"Added {quoted(page.task.title)}  {short(task_id)}", "green"),
    )


@task.command("check")
@click.argument("item_id", metavar="ITEM")
@click.option("--off", is_flag=True, help="Untick instead.")
@common
def check_item(terminal: Terminal, item_id: str, off: bool) -> None:
    """Tick a checklist item (or untick it with --off). ITEM is an id, its beginning or end, or a piece of its title."""
    with terminal.home.journal.transaction(clock.now(), PERSON) as tx:
        resolved = tasks.resolve(tx, item_id, "checklistItem")
        changed = tasks.check_item(tx, resolved, not off) is not None
        item = tasks.read(tx, resolved, "checklistItem", ChecklistItem)
    state = "ticked" if item.is_checked else "not ticked"
    answer = ChangedItem(
        item.id, item.title, item.task_id, item.checklist_id, item.is_checked, item.is_archived, changed
    )
    terminal.emit(
        ChangedItems([answer]),
        lambda: terminal.line(f"{quoted(item.title)} is {state}{'' if changed else ' already'}."),
    )


@cache
def minutes(number: int | None) -> str:
    """`150` -> `2h 30m`."""
    if not number:
        return ""
    hours, rest = divmod(number, 60)
    return f"{hours}h {rest}m" if hours and rest else f"{hours}h" if hours else f"{rest}m"
