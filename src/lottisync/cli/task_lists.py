"""`task list`: a page of the tasks, filtered and sorted."""

import sys
from collections.abc import Sequence
from datetime import date
from typing import Any

import click

from lottisync.answers.tasks import ListedTask, Tasks
from lottisync.cli.columns import NARROW, Cell
from lottisync.cli.dates import day, today
from lottisync.cli.hints import with_hint
from lottisync.cli.output import writing
from lottisync.cli.terminal import Terminal, common, judging_the_call, short
from lottisync.cli.times import DATE, local, minutes
from lottisync.cli.watch import watchable
from lottisync.device import clock
from lottisync.journal import names, task_values, words
from lottisync.journal.task_list import FILE, SORTS, Page, Wanted, forgotten_from, page_of
from lottisync.language import marked, say, translated
from lottisync.store.instant import later

PER_PAGE = 50
MAX_FOUND = 10_000
"""Entities that `--search` looks at, the best matches first."""
STYLED = {"P0": Cell("P0", "bold red"), "P1": Cell("P1", "yellow")}


@click.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what is done or rejected.")
@click.option("--status", metavar="STATUS", help="Only those of this status.")
@click.option("--due", metavar="DAY", help="Due on DAY or before: tomorrow, fri, 2026-12-01; or week, or overdue.")
@click.option("--label", metavar="LABEL", help="Only those with this label.")
@click.option("--search", "words", metavar="WORDS", help="Only those that have all WORDS, in items and notes, too.")
@click.option("--deleted", is_flag=True, help="Those that were deleted; `task undelete` brings them back.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="priority", show_default=True)
@click.option("--page", "number", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help=f"Tasks on a page; {PER_PAGE} if you do not say, and with --json all.",
)
@common
@watchable
def list_tasks(terminal: Terminal, number: int, limit: int | None, **given: Any) -> None:
    """List the open tasks, the most urgent first.

    \b
    lottisync task list --due week --sort due
    lottisync task list --status on-hold
    lottisync task list --label shopping --search oat
    """
    limit = limit or (None if terminal.as_json and number == 1 else PER_PAGE)
    wanted = _wanted(terminal, **given)
    if limit is not None:
        wanted = wanted._replace(limit=limit, skip=(number - 1) * limit)
    home = terminal.home
    with home.journal.reading():  # a store that cannot be read is named, and no index is made beside it
        pass
    page = page_of(home.path / FILE, home.journal, wanted)
    for problem in page.damaged:
        terminal.warn(with_hint(problem))
    terminal.emit(_answer(page, wanted), lambda: _show(terminal, page, wanted, number))


def _wanted(
    terminal: Terminal,
    *,
    everything: bool,
    status: str | None,
    due: str | None,
    label: str | None,
    words: str | None,
    deleted: bool,
    sort: str,
) -> Wanted:
    """What the options say. Raises `Problem` with exit code 2 for a value that cannot be read."""
    with judging_the_call():
        statuses = None if status is None else (task_values.checked_status_name(status.replace("-", " ")),)
        until = None if due is None else _until(due, clock.now())
    wanted = Wanted(sort, statuses, everything, deleted, until)
    if label is not None:
        with terminal.home.journal.reading() as reader, judging_the_call():
            wanted = wanted._replace(label=names.find_known(reader, "label", label))
    if words is not None:
        from lottisync.cli.searches import found_in

        found = found_in(terminal.home, words, MAX_FOUND)
        wanted = wanted._replace(ids=list(dict.fromkeys(one.task_id for one in found)))
    return wanted


def _until(text: str, now: int) -> str:
    """The last day of a span that ends with a day: `week` is the next seven days, `overdue` ends yesterday."""
    spans = {"overdue": -1, "week": 6}
    span = spans.get(text.strip().lower())
    if span is None:
        return day(text, now)
    return later(date.fromisoformat(today(now)), span).isoformat()


def _answer(page: Page, wanted: Wanted) -> Tasks:
    return Tasks(
        [
            ListedTask(
                *(t.id, t.title, t.status, t.priority, t.due, t.estimate),
                forgotten_from(page.changed[t.id]) if wanted.deleted else None,
            )
            for t in page.lines
        ]
    )


def _show(terminal: Terminal, page: Page, wanted: Wanted, number: int) -> None:
    if not page.lines:
        plain = wanted == Wanted(wanted.sort, limit=wanted.limit)
        terminal.line(say("No open task. Add one with: lottisync task add TITLE") if plain else say("No task fits."))
        return
    now = today(clock.now())
    if terminal.width() < NARROW:
        _show_narrow(terminal, page, wanted, now)
    else:
        _show_wide(terminal, page, wanted, now)
    if wanted.until is not None:
        _note(terminal, say("Due on {until} or before.", until=wanted.until))
    if page.more:
        _note(terminal, say("There are more: --page {number}", number=number + 1))


def _note(terminal: Terminal, text: str) -> None:
    """A line below the list; in a pipe it loads nothing (CLI-2)."""
    if sys.stdout.isatty():
        terminal.line(text, "dim")
    else:
        with writing():
            sys.stdout.write(f"{text}\n")


def _show_wide(terminal: Terminal, page: Page, wanted: Wanted, now: str) -> None:
    rows: list[Sequence[Any]] = [
        (
            short(t.id),
            STYLED.get(t.priority, t.priority),
            Cell(t.due, "red") if t.due and t.due < now else t.due or "",
            translated(words.status(t.status)),
            minutes(t.estimate),
            *((local(forgotten_from(page.changed[t.id]), DATE),) if wanted.deleted else ()),
            t.title,
        )
        for t in page.lines
    ]
    extra = [marked("forgotten from")] if wanted.deleted else []
    terminal.table(["id", "", "due", "status", "estimate", *extra, "title"], rows)


def _show_narrow(terminal: Terminal, page: Page, wanted: Wanted, now: str) -> None:
    for t in page.lines:
        terminal.line(t.title)
        facts = [short(t.id), t.priority, t.due or "", "" if t.status == "OPEN" else translated(words.status(t.status))]
        facts += [minutes(t.estimate)]
        at = forgotten_from(page.changed[t.id]) if wanted.deleted else None
        facts += [say("forgotten from {changed}", changed=local(at, DATE))] if at else []
        late = t.due is not None and t.due < now
        terminal.line(f"  {'  '.join(filter(None, facts))}", "red" if late else "dim", further="  ")
