"""`review`: what agents propose, and the person's word on it."""

import re
from collections.abc import Callable
from typing import Any

import click
import msgspec

from lottisync.cli.terminal import Terminal, common
from lottisync.config import clock
from lottisync.problem import Problem, Usage
from lottisync.review import inbox
from lottisync.review.inbox import ItemView, SetView
from lottisync.review.verdict import Outcome, Verdicts

CHANGED = ("applied", "no-op", "already", "rejected", "deferred")
_SPAN = re.compile(r"\A(\d{1,4})([hdw])\Z")
_SPAN_MILLIS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


@click.group(invoke_without_command=True)
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also what is put off or expired.")
@common
@click.pass_context
def review(context: click.Context, terminal: Terminal, task_id: str | None, everything: bool) -> None:
    """Without a verb: list what waits for you. ITEM is an item's id, or its number in the list."""
    if context.invoked_subcommand is not None:
        return
    sets = _listed(terminal, task_id, everything)
    terminal.emit([msgspec.to_builtins(one) for one in sets], lambda: _show(terminal, sets))


def _listed(terminal: Terminal, task_id: str | None = None, everything: bool = False) -> list[SetView]:
    from lottisync.journal import tasks

    home = terminal.home
    if task_id is not None:
        with home.journal.reading() as reader:
            task_id = tasks.resolve(reader, task_id, "task")
    listing = inbox.unsettled_sets if everything else inbox.open_sets
    return listing(home.journal, home.agent, clock.now(), task_id)


def _show(terminal: Terminal, sets: list[SetView]) -> None:
    from rich.text import Text

    if not sets:
        terminal.line("Nothing waits for you.", "green")
        return
    number = 0
    for one in sets:
        terminal.line(f"{one.agent_name} suggests {one.waiting} changes to {one.task_title!r}", "bold")
        rows = []
        for item in one.items:
            number += 1
            rows.append((Text(str(number), "dim"), _summary(item), _change(item), _state(item)))
        terminal.table(["", "", "now → then", ""], rows)
    terminal.line("lottisync review confirm N · edit N FIELD=VALUE · reject N --reason WHY · confirm --all", "dim")


def _summary(item: ItemView) -> Any:
    from rich.text import Text

    return Text(item.summary, "dim strike" if item.status in ("confirmed", "rejected", "retracted") else "")


def _change(item: ItemView) -> Any:
    from rich.text import Text

    text = Text()
    for change in item.changes:
        if text:
            text.append(", ")
        if item.tool != "add_checklist_item":
            text.append(_plain(change.before), "red")
            text.append(" → ")
        text.append(_plain(change.after), "green")
    return text


def _plain(value: Any) -> str:
    """A value as people say it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "done" if value else "not done"
    return str(value)


def _state(item: ItemView) -> Any:
    from rich.text import Text

    if item.contested:
        return Text("contested", "bold red")
    if item.stale:
        return Text("changed since", "yellow")
    if item.satisfied:
        return Text("already so", "dim")
    if item.error:
        return Text(item.error, "red")
    if item.expired:
        return Text("expired", "dim")
    return Text("" if item.status == "pending" else item.status, "dim")


@review.command("show")
@click.argument("item", metavar="ITEM")
@common
def show(terminal: Terminal, item: str) -> None:
    """Show one proposal whole."""
    found = _find(terminal, item)
    terminal.emit(msgspec.to_builtins(found), lambda: _show_item(terminal, found))


def _show_item(terminal: Terminal, item: ItemView) -> None:
    terminal.line(item.summary, "bold")
    terminal.line(f"{item.tool} {msgspec.json.encode(item.args).decode()}")
    for change in item.changes:
        terminal.line(f"  {change.path}: {change.before} → {change.after}")
    for field in item.stale_fields:
        terminal.line(f"  {msgspec.json.encode(field).decode()}", "yellow")
    terminal.line(f"{item.status}  {item.id}", "dim")


@review.command("confirm")
@click.argument("item", metavar="ITEM", required=False)
@click.option("--all", "everything", is_flag=True, help="Confirm every item that waits, in order.")
@click.option("--anyway", is_flag=True, help="Confirm although the field was changed since, having seen its value now.")
@common
def confirm(terminal: Terminal, item: str | None, everything: bool, anyway: bool) -> None:
    """Confirm ITEM: what it proposes is done."""
    if everything == (item is not None):
        raise Usage("bad-usage", "give an ITEM, or --all")
    verdicts = _verdicts(terminal)
    if item is not None:
        found = _find(terminal, item)
        against: Any = "current" if anyway else "base"
        _report(terminal, [verdicts.confirm(found.id, clock.now(), against=against)])
        return
    outcomes = [outcome for one in _listed(terminal) for outcome in verdicts.confirm_all(one.id, clock.now())]
    _report(terminal, outcomes)


@review.command("edit")
@click.argument("item", metavar="ITEM")
@click.argument("changes", metavar="FIELD=VALUE...", nargs=-1, required=True)
@common
def edit(terminal: Terminal, item: str, changes: tuple[str, ...]) -> None:
    """Change what ITEM proposes, and confirm it so. VALUE is JSON, or text as it stands."""
    found = _find(terminal, item)
    args = dict(found.args)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in args:
            raise Usage("bad-usage", f"this item has the fields {', '.join(args)}, as FIELD=VALUE; got {change!r}")
        try:
            args[name] = msgspec.json.decode(value) if not isinstance(args[name], str) else value
        except msgspec.DecodeError:
            args[name] = value
    _report(terminal, [_verdicts(terminal).confirm(found.id, clock.now(), edited_args=args)])


@review.command("reject")
@click.argument("item", metavar="ITEM")
@click.option("--reason", help="Why; the agent learns from it.")
@common
def reject(terminal: Terminal, item: str, reason: str | None) -> None:
    """Reject ITEM."""
    found = _find(terminal, item)
    _report(terminal, [_verdicts(terminal).reject(found.id, clock.now(), reason)])


@review.command("defer")
@click.argument("item", metavar="ITEM")
@click.option("--for", "span", default="1d", show_default=True, metavar="SPAN", help="Like 4h, 2d or 1w.")
@common
def defer(terminal: Terminal, item: str, span: str) -> None:
    """Put ITEM off: it leaves the list and comes back later."""
    match = _SPAN.match(span)
    if match is None:
        raise Usage("bad-usage", f"--for is a number with h, d or w, like 2d; got {span!r}")
    found = _find(terminal, item)
    until = clock.now() + int(match[1]) * _SPAN_MILLIS[match[2]]
    _report(terminal, [_verdicts(terminal).defer(found.id, until, clock.now())])


@review.command("log")
@click.argument("task_id", metavar="TASK")
@common
def log(terminal: Terminal, task_id: str) -> None:
    """Show every decision on the proposals for TASK, oldest first."""
    from lottisync.journal import tasks

    home = terminal.home
    with home.journal.reading() as reader:
        resolved = tasks.resolve(reader, task_id, "task")
    found = inbox.decisions(home.agent, resolved)
    rows = [(d.created_at[:16].replace("T", " "), d.verdict, d.human_summary, d.reason or "") for d in found]
    terminal.emit(
        [msgspec.to_builtins(d) for d in found], lambda: terminal.table(["when", "verdict", "proposal", "reason"], rows)
    )


def _verdicts(terminal: Terminal) -> Verdicts:
    home = terminal.home
    return Verdicts(home.journal, home.agent, device_id=home.key.device_id, new_id=clock.new_id)


def _find(terminal: Terminal, which: str) -> ItemView:
    """The item a person means: its id, the end of its id, or its number in the list."""
    items = [item for one in _listed(terminal, everything=True) for item in one.items]
    if which.isdigit() and len(which) <= 4:
        shown = [item for one in _listed(terminal) for item in one.items]
        if 1 <= int(which) <= len(shown):
            return shown[int(which) - 1]
        raise Problem("unknown-id", f"the list has {len(shown)} items; got {which}. See: lottisync review")
    fitting = [item for item in items if item.id == which] or [item for item in items if item.id.endswith(which)]
    if len(fitting) != 1:
        what = "no proposal has" if not fitting else f"{len(fitting)} proposals have"
        raise Problem("unknown-id", f"{what} the id {which!r}. See: lottisync review")
    return fitting[0]


def _report(terminal: Terminal, outcomes: list[Outcome]) -> None:
    """Tell what became of each; exit code 1 if one of them could not be done."""
    terminal.emit([msgspec.to_builtins(o) for o in outcomes], lambda: _show_outcomes(terminal, outcomes))
    if any(outcome.result not in CHANGED for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _show_outcomes(terminal: Terminal, outcomes: list[Outcome]) -> None:
    style: Callable[[str], str] = lambda result: "green" if result in CHANGED else "yellow"  # noqa: E731
    if not outcomes:
        terminal.line("Nothing waits for you.", "green")
    for outcome in outcomes:
        terminal.line(f"{outcome.result}  {outcome.message}".rstrip(), style(outcome.result))
        for field in outcome.stale:
            terminal.line(f"  {msgspec.json.encode(field).decode()}", "yellow")
