"""What a person does with time that was spent: `task time add | start | stop | edit | list | remove`.

A person types times as a clock shows them: `14:00` is today, `2026-12-01T14:00` another day, both in this device's
zone. They are stored as instants.
"""

from collections.abc import Iterable

import click
import msgspec

from lottisync.answers.tasks import ChangedTime, ChangedTimes, TimeRow, Times
from lottisync.cli import completion
from lottisync.cli.acts import acting
from lottisync.cli.dates import moment
from lottisync.cli.help_pages import Group
from lottisync.cli.options import everywhere
from lottisync.cli.task_change import as_done, change_tasks, one_task, spent
from lottisync.cli.terminal import Terminal, common, judging_the_call, short
from lottisync.cli.times import local, minutes
from lottisync.device import clock
from lottisync.journal import finding, task_values, tasks, time_entry
from lottisync.journal.time_entry import DEFAULT_TEXT, ENTRY, Span
from lottisync.journal.types import Entry, Task
from lottisync.language import say
from lottisync.problem import Problem, Sentence, Usage
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

one_entry = click.argument("named", metavar="ENTRY")
begin = click.option("--from", "begin", metavar="WHEN", help="Like 14:00 (today), yesterday 14:00 or 2026-12-01T14:00.")
end = click.option("--to", "end", metavar="WHEN", help="Like 15:30 (today), yesterday 15:30 or 2026-12-01T15:30.")


@click.group("time", cls=Group)
@everywhere
def spent_time(home: str | None, as_json: bool) -> None:
    """Write down time that was spent, or run a timer."""


@spent_time.command("add")
@one_task
@click.argument("span", metavar="[TIME]", required=False)
@click.argument("text", default="")
@begin
@end
@common
def add_time(terminal: Terminal, named: str, span: str | None, text: str, begin: str | None, end: str | None) -> None:
    """Write down time that was spent on a task: how long (minutes, or like 1h30m, up to now or --to, or from --from),
    or '-' with --from and --to.

    \b
    lottisync task time add milk 25 "walked to the shop"
    lottisync task time add milk - "walked to the shop" --from 14:00 --to 14:25
    """
    now = clock.now()
    with judging_the_call():
        checked = task_values.checked_text(text or say(DEFAULT_TEXT))
        written = _span(span, begin, end, now)

    def verb(tx: Transaction, task_id: str) -> bool:
        time_entry.add(tx, clock.new_id(tx.now), task_id, checked, written)
        return True

    length = round((millis(written.end or written.at) - millis(written.at)) / 60_000)
    change_tasks(terminal, (named,), verb, Sentence("{minutes} min noted", minutes=length))


@spent_time.command("start")
@one_task
@click.argument("text", default="")
@click.option("--at", metavar="WHEN", help="When it began: like 14:00 (today) or 10 min ago. Now, if left out.")
@common
def start_timer(terminal: Terminal, named: str, text: str, at: str | None) -> None:
    """Start a timer on a task. The timer that runs is stopped.

    \b
    lottisync task time start milk "walking to the shop"
    """
    now = clock.now()
    with judging_the_call():
        checked = task_values.checked_text(text or say(DEFAULT_TEXT))
        began = _past(at, now) if at is not None else iso(now)

    stopped: list[Entry] = []

    def verb(tx: Transaction, task_id: str) -> bool:
        stopped.extend(time_entry.start(tx, clock.new_id(tx.now), task_id, checked, began))
        return True

    change_tasks(terminal, (named,), verb, Sentence("timer started"))
    for each in stopped:
        terminal.line(f"{quoted(each.text)}  {short(each.id)}  {say('stopped')}", "green")


@spent_time.command("stop")
@click.argument("named", metavar="[TASK or ENTRY...]", nargs=-1, shell_complete=completion.tasks)
@click.option("--at", metavar="WHEN", help="When it ended: like 15:30 (today) or 10 min ago. Now, if left out.")
@common
def stop_timers(terminal: Terminal, named: tuple[str, ...], at: str | None) -> None:
    """Stop the timer that runs, or those that are named, each by itself or by its task.

    \b
    lottisync task time stop
    lottisync task time stop milk
    """
    now = clock.now()
    with judging_the_call():
        ended = _past(at, now) if at is not None else iso(now)
    with acting(terminal, Sentence("stopped"), now=now) as tx:
        runs = list(time_entry.running(tx))
        chosen = [ident for name in named for ident in _timers(tx, name, runs)] or [each.id for each in runs]
        answers = [
            _answer(tx, ident, changed=time_entry.stop(tx, ident, ended) is not None) for ident in dict.fromkeys(chosen)
        ]
    _emit(terminal, answers, Sentence("stopped"), nothing=say("No timer runs."))


@spent_time.command("edit")
@one_entry
@click.argument("text", required=False)
@begin
@end
@common
def edit_time(terminal: Terminal, named: str, text: str | None, begin: str | None, end: str | None) -> None:
    """Change the words, the start or the end of a time entry.

    \b
    lottisync task time edit 4f0c "walked there and back" --to 15:10
    """
    if text is None and begin is None and end is None:
        raise Usage("bad-call", "say what changes: TEXT, --from or --to")
    now = clock.now()
    with judging_the_call():
        text = task_values.checked_text(text) if text is not None else None
        began = _instant(begin, now) if begin is not None else None
        ended = _instant(end, now) if end is not None else None
    with acting(terminal, Sentence("changed"), now=now) as tx:
        ident = finding.resolve(tx, named, ENTRY)
        held = time_entry.read(tx, ident)
        span = time_entry.checked_span(began or held.at, ended or held.end) if began or ended else None
        answers = [_answer(tx, ident, changed=time_entry.edit(tx, ident, text=text, span=span) is not None)]
    _emit(terminal, answers, Sentence("changed"))


@spent_time.command("remove")
@click.argument("named", metavar="ENTRY...", nargs=-1, required=True)
@common
def remove_time(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Remove time entries.

    \b
    lottisync task time remove 4f0c
    """
    with acting(terminal, Sentence("removed")) as tx:
        chosen = dict.fromkeys(finding.resolve(tx, name, ENTRY) for name in named)
        answers = [_answer(tx, ident, changed=True) for ident in chosen]
        for ident in chosen:
            time_entry.remove(tx, ident)
    _emit(terminal, answers, Sentence("removed"))


@spent_time.command("list")
@click.argument("named", metavar="[TASK]", required=False, shell_complete=completion.tasks)
@common
def list_times(terminal: Terminal, named: str | None) -> None:
    """List the time that was spent on a task; without TASK, the timers that run.

    \b
    lottisync task time list milk
    """
    with terminal.home.journal.reading() as reader:
        if named is None:
            found: Iterable[Entry] = time_entry.running(reader)
        else:
            found = tasks.page(reader, finding.resolve(reader, named, "task")).times
        listed = [_row(reader, entry) for entry in found]
    nothing = say("No timer runs.") if named is None else say("No time was written down.")
    terminal.emit(Times(listed), lambda: _table(terminal, listed, nothing))


def _timers(tx: Transaction, name: str, runs: list[Entry]) -> list[str]:
    """The entries that are meant: one that has this name, or those that run of the task that has it."""
    try:
        return [finding.resolve(tx, name, ENTRY)]
    except Problem as problem:
        if problem.code != "unknown-id":
            raise
    task_id = finding.resolve(tx, name, "task")
    if meant := [each.id for each in runs if each.task_id == task_id]:
        return meant
    title = tasks.read(tx, task_id, "task", Task).title
    raise Problem("unknown-id", "no timer runs for {quoted}", quoted=quoted(title))


# -- times as people type them


def _span(length: str | None, begin: str | None, end: str | None, now: int) -> Span:
    """What a length, a start and an end say together: two of the three, or a length up to now."""
    long = None if length in (None, "-") else spent(str(length)) * 60_000
    if long is None and (begin is None or end is None):
        raise Usage("bad-call", "say how long it took, or from when to when: --from and --to")
    if long is not None and begin is not None and end is not None:
        raise Usage("bad-call", "two of the time, --from and --to are enough; got all three")
    if long is None:
        return time_entry.checked_span(_instant(str(begin), now), _instant(str(end), now))
    if begin is not None:
        began = _instant(begin, now)
        return time_entry.checked_span(began, iso(millis(began) + long))
    ended = _instant(end, now) if end is not None else iso(now)
    return time_entry.checked_span(iso(millis(ended) - long), ended)


def _instant(text: str, now: int) -> str:
    """The instant that a person typed, in this device's zone unless it has an offset."""
    return time_entry.checked_instant(moment(text, now, ahead=False))


def _past(text: str, now: int) -> str:
    instant = _instant(text, now)
    if millis(instant) > now:
        raise Usage("bad-value", "{quoted} has not come yet: a timer starts and stops in the past", quoted=quoted(text))
    return instant


# -- the answer


def _row(reader: Reader, entry: Entry) -> TimeRow:
    document = reader.document(entry.task_id)
    title = document.view(Task).title if document is not None else ""
    return TimeRow(entry.id, entry.task_id, title, entry.text, entry.at, entry.end, entry.minutes, entry.runs)


def _answer(tx: Transaction, entry_id: str, *, changed: bool) -> ChangedTime:
    return ChangedTime(**msgspec.structs.asdict(_row(tx, time_entry.read(tx, entry_id))), changed=changed)


def _emit(terminal: Terminal, answers: list[ChangedTime], said: str, nothing: str = "") -> None:
    def shown() -> None:
        if not answers:
            terminal.line(nothing)
        for answer in answers:
            words = f"{quoted(answer.task_title)}  {quoted(answer.text)}  {short(answer.id)}"
            done = as_done(said, answer.changed)
            terminal.line(f"{words}  {minutes(answer.minutes)}  {done}", "green" if answer.changed else "dim")

    terminal.emit(ChangedTimes(answers), shown)


def _table(terminal: Terminal, listed: list[TimeRow], nothing: str) -> None:
    if not listed:
        terminal.line(nothing)
        return
    rows = [
        (short(each.id), _local(each.at), _local(each.end), minutes(each.minutes), each.task_title, each.text)
        for each in listed
    ]
    terminal.table(["id", "from", "to", "time", "task", "text"], rows)


def _local(instant: str | None) -> str:
    """An instant as this device's clock showed it."""
    return say("runs") if instant is None else local(instant)
