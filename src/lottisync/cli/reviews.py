"""`review`: what agents propose, and the person's word on it.

Every verb takes items by their id, by the end of it, or by their number in the list. What is said here
is said in the reader's language (`--language`, else the environment's); `--json` is for programs and is
the same in all of them.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
import msgspec

from lottisync.cli.terminal import Terminal, common, short
from lottisync.cli.watch import watchable
from lottisync.device import clock
from lottisync.problem import Problem, Usage
from lottisync.review import index
from lottisync.review.effect import StaleField
from lottisync.review.fate import Fate, decisions, fates
from lottisync.review.inbox import Inbox, ItemView, SetView
from lottisync.review.language import LANGUAGES, chosen, marked, words
from lottisync.review.ledger import SET
from lottisync.review.outcome import Outcome
from lottisync.review.verdict import Verdicts

F = TypeVar("F", bound=Callable[..., Any])

CHANGED = ("applied", "no-op", "already", "rejected", "deferred", "undone", "kept")
_NUMBER = re.compile(r"\A[0-9]{1,4}\Z")
_SPAN = re.compile(r"\A(\d{1,4})([hdw])\Z")
_SPAN_MILLIS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_LANGUAGE = "lottisync.language"
KEYS = {
    "y": marked("confirm it"),
    "n": marked("reject it"),
    "e": marked("edit it, then confirm"),
    "d": marked("put it off for a day"),
    "s": marked("skip it: decide later"),
    "q": marked("quit: what is left waits"),
    "?": marked("show these keys"),
}
"""Of the interactive mode, as in `git add -p`."""
STATES = {
    "applied": marked("applied"),
    "no-op": marked("already so"),
    "stale": marked("changed since"),
    "failed": marked("could not be done"),
    "already": marked("left as it is"),
    "rejected": marked("rejected"),
    "deferred": marked("put off"),
    "undone": marked("undone"),
    "kept": marked("kept"),
    "pending": marked("waits"),
    "confirmed": marked("confirmed"),
    "retracted": marked("retracted"),
    "expired": marked("expired, no decision"),
    "contested": marked("contested: devices decided differently"),
}


def _say(text: str, **values: Any) -> str:
    """A sentence in the reader's language."""
    return words(_language()).gettext(text).format(**values)


def _word(state: str) -> str:
    """A status or a result."""
    return words(_language()).gettext(STATES[state])


def _language() -> str:
    context = click.get_current_context(silent=True)
    given = context.meta.get(_LANGUAGE) if context is not None else None
    return chosen(given, os.environ)


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[_LANGUAGE] = value


def spoken(function: F) -> F:
    """Give a command `--language`; one that was given to `review` itself counts as well."""
    return click.option(
        "--language",
        type=click.Choice(LANGUAGES),
        callback=_remember,
        expose_value=False,
        help="The language of what is shown; else that of LANG.",
    )(function)


@click.group(invoke_without_command=True)
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also what is put off or expired.")
@click.option("-i", "--interactive", is_flag=True, help="Go through them one by one.")
@spoken
@common
@click.pass_context
def review(
    context: click.Context, terminal: Terminal, task_id: str | None, everything: bool, interactive: bool
) -> None:
    """Without a verb: list what waits for you. ITEM is an item's id, or its number in the list."""
    if context.invoked_subcommand is not None:
        return
    if interactive:
        _go_through(terminal, task_id)
        return
    _list(terminal, task_id, everything=everything)


@review.command("list")
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also what is put off or expired.")
@spoken
@common
@watchable
def list_(terminal: Terminal, task_id: str | None, everything: bool) -> None:
    """List what waits for you."""
    _list(terminal, task_id, everything=everything)


def _list(terminal: Terminal, task_id: str | None, *, everything: bool) -> None:
    sets = _listed(terminal, task_id, everything)
    terminal.emit([msgspec.to_builtins(one) for one in sets], lambda: _show(terminal, sets, numbered=not everything))


def _task(terminal: Terminal, task_id: str | None) -> str | None:
    from lottisync.journal import tasks

    if task_id is None:
        return None
    with terminal.home.journal.reading() as reader:
        return tasks.resolve(reader, task_id, "task")


def _listed(terminal: Terminal, task_id: str | None = None, everything: bool = False) -> list[SetView]:
    inbox, task = _inbox(terminal), _task(terminal, task_id)
    return inbox.unsettled_sets(clock.now(), task) if everything else inbox.open_sets(clock.now(), task)


def _show(terminal: Terminal, sets: list[SetView], *, numbered: bool) -> None:
    from rich.text import Text

    if not sets:
        terminal.line(_say("Nothing waits for you."), "green")
        return
    number = 0
    for one in sets:
        terminal.line(_heading(one), "bold")
        rows = []
        for item in one.items:
            number += 1
            name = str(number) if numbered else short(item.id)
            rows.append((Text(name, "dim"), _summary(item), _change(item), _state(item)))
        terminal.table(["", "", _say("now → then"), ""], rows)
    verbs = "lottisync review -i · confirm N... · edit N FIELD=VALUE · reject N --reason ... · confirm --all"
    terminal.line(verbs, "dim")


def _heading(one: SetView) -> str:
    text = words(_language()).ngettext(
        'For "{task}" {agent} suggests {count} change', 'For "{task}" {agent} suggests {count} changes', one.waiting
    )
    return text.format(task=one.task_title, agent=one.agent_name, count=one.waiting)


def _summary(item: ItemView) -> Any:
    from rich.text import Text

    return Text(item.summary, "dim strike" if item.status in ("confirmed", "rejected", "retracted") else "")


def _change(item: ItemView) -> Any:
    from rich.text import Text

    text = Text()
    for change in item.changes:
        if text:
            text.append(", ")
        if item.tool not in ("add_checklist_item", "create_follow_up_task"):
            text.append(_plain(change.before), "red")
            text.append(" → ")
        text.append(_plain(change.after), "green")
    return text


def _plain(value: Any) -> str:
    """A value as people say it."""
    if value is None:
        return _say("none")
    if isinstance(value, bool):
        return _say("done") if value else _say("not done")
    return str(value)


def _state(item: ItemView) -> Any:
    from rich.text import Text

    if item.contested:
        return Text(_word("contested"), "bold red")
    if item.stale:
        return Text(_say("changed since"), "yellow")
    if item.depends_on:
        return Text(_say("waits for another item"), "dim")
    if item.satisfied:
        return Text(_say("already so"), "dim")
    if item.error:
        return Text(item.error, "red")
    if item.expired:
        return Text(_word("expired"), "dim")
    if item.order_unknown:
        return Text(_say("what it cites was written beside your change, not after it"), "yellow")
    if item.undone:
        return Text(_word("undone"), "dim")
    return Text("" if item.status == "pending" else _word(item.status), "dim")


@review.command("show")
@click.argument("item", metavar="ITEM")
@spoken
@common
def show(terminal: Terminal, item: str) -> None:
    """Show one proposal whole."""
    found = _find(terminal, item)
    terminal.emit(msgspec.to_builtins(found), lambda: _show_item(terminal, found))


def _show_item(terminal: Terminal, item: ItemView) -> None:
    terminal.line(item.summary, "bold")
    change = _change(item)
    if change.plain:
        terminal.line(_indented(change))
    if item.args.get("reason"):
        terminal.line("  " + _say("why: {reason}", reason=item.args["reason"]))
    for field in item.stale_fields:
        terminal.line("  " + _stale(field), "yellow")
    state = _state(item)
    if state.plain:
        terminal.line(_indented(state))
    terminal.line(f"  {item.tool} {msgspec.json.encode(item.args).decode()}  {item.id}", "dim")


def _indented(text: Any) -> Any:
    from rich.text import Text

    return Text("  ").append_text(text)


def _stale(field: StaleField) -> str:
    by = _say("the user") if field.by == "user" else _say("an agent")
    return _say(
        "{field}: it was {was} and is now {now}, by {by}; proposed is {proposed}",
        field=field.path,
        was=_plain(field.was),
        now=_plain(field.now),
        by=by,
        proposed=_plain(field.proposed),
    )


# -- verdicts


@review.command("confirm")
@click.argument("items", metavar="ITEM...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Confirm every item that waits, in order.")
@click.option("--anyway", is_flag=True, help="Confirm although the field was changed since, having seen its value now.")
@spoken
@common
def confirm(terminal: Terminal, items: tuple[str, ...], everything: bool, anyway: bool) -> None:
    """Confirm ITEM: what it proposes is done. Several are done in the order of the list."""
    if everything == bool(items):
        raise Usage("bad-usage", "give an ITEM, or --all")
    verdicts = _verdicts(terminal)
    if everything:
        outcomes = [outcome for one in _listed(terminal) for outcome in verdicts.confirm_all(one.id, clock.now())]
    elif anyway:
        found = [_find(terminal, item) for item in items]
        outcomes = [verdicts.confirm(item.id, clock.now(), against="current") for item in found]
    else:
        outcomes = verdicts.confirm_selected([_find(terminal, item).id for item in items], clock.now())
    _report(terminal, outcomes)


@review.command("edit")
@click.argument("item", metavar="ITEM")
@click.argument("changes", metavar="FIELD=VALUE...", nargs=-1, required=True)
@spoken
@common
def edit(terminal: Terminal, item: str, changes: tuple[str, ...]) -> None:
    """Change what ITEM proposes, and confirm it so. VALUE is JSON, or text as it stands."""
    found = _find(terminal, item)
    args = dict(found.args)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in args:
            raise Usage("bad-usage", f"this item has the fields {', '.join(args)}, as FIELD=VALUE; got {change!r}")
        args[name] = _typed(args[name], value)
    _report(terminal, [_verdicts(terminal).confirm(found.id, clock.now(), edited_args=args)])


def _typed(before: Any, text: str) -> Any:
    """What a person typed in place of a value: text stays text, anything else is JSON if it can be."""
    try:
        return text if isinstance(before, str) else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


@review.command("reject")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@click.option("--reason", help="Why; the agent learns from it.")
@spoken
@common
def reject(terminal: Terminal, items: tuple[str, ...], reason: str | None) -> None:
    """Reject ITEM."""
    found, verdicts = [_find(terminal, item) for item in items], _verdicts(terminal)
    _report(terminal, [verdicts.reject(item.id, clock.now(), reason) for item in found])


@review.command("defer")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@click.option("--for", "span", default="1d", show_default=True, metavar="SPAN", help="Like 4h, 2d or 1w.")
@spoken
@common
def defer(terminal: Terminal, items: tuple[str, ...], span: str) -> None:
    """Put ITEM off: it leaves the list and comes back later."""
    match = _SPAN.match(span)
    if match is None:
        raise Usage("bad-usage", f"--for is a number with h, d or w, like 2d; got {span!r}")
    found, verdicts = [_find(terminal, item) for item in items], _verdicts(terminal)
    until = clock.now() + int(match[1]) * _SPAN_MILLIS[match[2]]
    _report(terminal, [verdicts.defer(item.id, until, clock.now()) for item in found])


@review.command("undo")
@click.argument("item", metavar="ITEM")
@spoken
@common
def undo(terminal: Terminal, item: str) -> None:
    """Take your verdict on ITEM back. What somebody has written since is left as it is."""
    _report(terminal, [_verdicts(terminal).undo(_find(terminal, item).id, clock.now())])


@review.command("keep")
@click.argument("item", metavar="ITEM")
@spoken
@common
def keep(terminal: Terminal, item: str) -> None:
    """Settle ITEM, on which devices decided differently: its effect stays."""
    _report(terminal, [_verdicts(terminal).keep(_find(terminal, item).id, clock.now())])


@review.command("dismiss")
@click.argument("item", metavar="ITEM")
@click.option("--reason", help="Why; the agent learns from it.")
@spoken
@common
def dismiss(terminal: Terminal, item: str, reason: str | None) -> None:
    """Reject all that waits in the set of ITEM."""
    change_set = _find(terminal, item).id.rpartition(".")[0]
    _report(terminal, _verdicts(terminal).dismiss(change_set, clock.now(), reason))


@review.command("ledger")
@click.argument("task_id", metavar="TASK", required=False)
@click.option("--item", "about", metavar="CHECKLIST_ITEM", help="Only what concerns this checklist item.")
@spoken
@common
def ledger(terminal: Terminal, task_id: str | None, about: str | None) -> None:
    """Show all that was proposed (for TASK) and what became of it, oldest first."""
    from lottisync.journal import tasks

    home = terminal.home
    if about is not None:
        with home.journal.reading() as reader:
            about = tasks.resolve(reader, about, "checklistItem")
    found = fates(home.journal, home.agent, clock.now(), _task(terminal, task_id), about=about, language=_language())
    terminal.emit([msgspec.to_builtins(one) for one in found], lambda: _show_ledger(terminal, found))


def _show_ledger(terminal: Terminal, found: list[Fate]) -> None:
    if not found:
        terminal.line(_say("Nothing was proposed."))
        return
    rows = []
    for one in found:
        why = next((d.reason for d in reversed(one.decisions) if d.reason), one.why)
        rows.append((_minute(one.proposed_at), one.agent_name, one.summary, _word(one.fate), why or ""))
    terminal.table(["", "", "", "", ""], rows)


@review.command("log")
@click.argument("task_id", metavar="TASK")
@spoken
@common
def log(terminal: Terminal, task_id: str) -> None:
    """Show every decision on the proposals for TASK, oldest first."""
    found = decisions(terminal.home.agent, _task(terminal, task_id) or task_id)
    rows = [(_minute(d.created_at), _word(d.verdict), d.human_summary, d.reason or "") for d in found]
    terminal.emit([msgspec.to_builtins(d) for d in found], lambda: terminal.table(["", "", "", ""], rows))


@review.command("reindex")
@common
def reindex(terminal: Terminal) -> None:
    """Compute the index of change sets anew, where `lottisync check` has found it wrong."""
    index.rebuild(terminal.home.agent, clock.now())
    terminal.emit({"reindexed": True}, lambda: terminal.line(_say("The index was computed anew."), "green"))


def _minute(instant: str) -> str:
    return instant[:16].replace("T", " ")


# -- one by one


def _go_through(terminal: Terminal, task_id: str | None) -> None:
    """Ask about each item that waits, in order; what is answered is done at once."""
    if terminal.as_json:
        raise Usage("bad-usage", "--interactive asks a person; it goes with no --json")
    keys = _keys()
    failed = False
    waiting = [item for one in _listed(terminal, task_id) for item in one.items if item.status == "pending"]
    waiting = [item for item in waiting if not item.expired]
    if not waiting:
        terminal.line(_say("Nothing waits for you."), "green")
    for number, item in enumerate(waiting, start=1):
        terminal.line(f"({number}/{len(waiting)})", "dim")
        answer = _ask_about(terminal, item, keys)
        if answer == "q":
            break
        failed |= answer == "failed"
    if failed:
        raise click.exceptions.Exit(1)


def _ask_about(terminal: Terminal, item: ItemView, keys: Iterator[str]) -> str:
    """Go on until there is an answer. What turned out to have changed is shown, and confirmed over that the
    next time."""
    verdicts, seen_stale = _verdicts(terminal), False
    _show_item(terminal, item)
    while True:
        terminal.line(_say("Confirm this?") + " [y,n,e,d,s,q,?]", "cyan")
        key = next(keys, "q").strip()[:1].lower()
        against: Any = "current" if seen_stale else "base"
        match key:
            case "y":
                outcome = verdicts.confirm(item.id, clock.now(), against=against)
            case "n":
                terminal.line(_say("Why? (may be left out)"))
                outcome = verdicts.reject(item.id, clock.now(), next(keys, "").strip())
            case "e":
                edited = _edited(terminal, item, keys)
                outcome = verdicts.confirm(item.id, clock.now(), edited_args=edited, against=against)
            case "d":
                outcome = verdicts.defer(item.id, clock.now() + _SPAN_MILLIS["d"], clock.now())
            case "s" | "q":
                return key
            case _:
                for known, meaning in KEYS.items():
                    terminal.line(f"{known}  {_say(meaning)}")
                continue
        _show_outcomes(terminal, [outcome])
        if outcome.result == "stale":
            seen_stale = True
            continue
        return "done" if outcome.result in CHANGED else "failed"


def _edited(terminal: Terminal, item: ItemView, keys: Iterator[str]) -> dict[str, Any]:
    args = dict(item.args)
    for name in [name for name in args if name not in ("id", "targetTaskId", "evidenceEntryIds")]:
        terminal.line(f"{name} [{args[name]}]:")
        typed = next(keys, "").strip()
        if typed:
            args[name] = _typed(args[name], typed)
    return args


def _keys() -> Iterator[str]:
    """What the person answers, a line each."""
    while line := sys.stdin.readline():
        yield line


# -- what they all share


def _inbox(terminal: Terminal) -> Inbox:
    _verdicts(terminal)
    return Inbox(terminal.home.journal, terminal.home.agent, language=_language())


def _verdicts(terminal: Terminal) -> Verdicts:
    """Those of this device; what an earlier command or another process left half done is finished first."""
    home = terminal.home
    verdicts = Verdicts(home.journal, home.agent, device_id=home.key.device_id, new_id=clock.new_id)
    verdicts.recover(clock.now())
    return verdicts


def _find(terminal: Terminal, which: str) -> ItemView:
    """The item a person means: its id, the end of its id, or its number in the list."""
    if _NUMBER.match(which):
        shown = [item for one in _listed(terminal) for item in one.items]
        if 1 <= int(which) <= len(shown):
            return shown[int(which) - 1]
        raise Problem("unknown-id", f"the list has {len(shown)} items; got {which}. See: lottisync review")
    of_set, _, ordinal = which.rpartition(".")
    with terminal.home.agent.reading() as reader:
        sets = reader.ids_like(of_set, 2, SET) if of_set and of_set.isascii() and _NUMBER.match(ordinal) else []
    if len(sets) != 1:
        what = "several proposals have" if sets else "no proposal has"
        raise Problem("unknown-id", f"{what} the id {which[:80]!r}. See: lottisync review")
    return _inbox(terminal).item(f"{sets[0]}.{ordinal}", clock.now())


def _report(terminal: Terminal, outcomes: list[Outcome]) -> None:
    """Tell what became of each; exit code 1 if one of them could not be done."""
    terminal.emit([msgspec.to_builtins(o) for o in outcomes], lambda: _show_outcomes(terminal, outcomes))
    if any(outcome.result not in CHANGED for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _show_outcomes(terminal: Terminal, outcomes: list[Outcome]) -> None:
    if not outcomes:
        terminal.line(_say("Nothing waits for you."), "green")
    for outcome in outcomes:
        style = "green" if outcome.result in CHANGED else "yellow"
        terminal.line(f"{_word(outcome.result)}  {outcome.message}".rstrip(), style)
        for field in outcome.stale:
            terminal.line("  " + _stale(field), "yellow")
