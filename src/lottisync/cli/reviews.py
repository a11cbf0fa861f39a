"""`review`: what agents propose, and the person's word on it.

Every verb takes items by the names that stand beside them, like `k7f2.3`, and ranges like `k7f2.2-5`. What is said here
is said in the reader's language (`--language`, else the environment's); `--json` is for programs and is
the same in all of them.
"""

import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from lottisync.answers import review as answers
from lottisync.answers.review import Decision, Decisions, ProposalLedger, Proposals, Reindexed
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.watch import watchable
from lottisync.device import clock
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem, Usage
from lottisync.review import index
from lottisync.review import shown_items as printed
from lottisync.review.action import FieldChange
from lottisync.review.change import ChangeDecision
from lottisync.review.effect import StaleField
from lottisync.review.inbox import Inbox, SetView
from lottisync.review.item_names import meant, name_of
from lottisync.review.item_view import ItemView
from lottisync.review.language import LANGUAGES, chosen, marked, words
from lottisync.review.outcome import Outcome
from lottisync.review.proposal import set_of
from lottisync.review.proposal_record import ProposalRecord, decisions, proposal_records
from lottisync.review.verdict import Verdicts

F = TypeVar("F", bound=Callable[..., Any])

CHANGED = ("applied", "no-op", "already", "rejected", "deferred", "undone", "kept")
_SPAN = re.compile(r"\A(\d{1,4})([hdw])\Z")
_SPAN_MILLIS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_LANGUAGE = "lottisync.language"
KEYS = {
    "y": marked("confirm it"),
    "n": marked("reject it"),
    "e": marked("edit it, then confirm"),
    "d": marked("put it off for a day"),
    "s": marked("skip it: decide later"),
    "b": marked("back to the one before"),
    "q": marked("quit: the other items wait"),
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
    "superseded": marked("another proposal took its place"),
    "expired": marked("expired, no decision"),
    "contested": marked("contested: devices decided differently"),
}


def _say(text: str, **values: Any) -> str:
    """A sentence in the reader's language."""
    return words(_language()).gettext(text).format(**values)


def _word(state: str) -> str:
    """A status or a result; one that this version does not know stands for itself."""
    return words(_language()).gettext(STATES.get(state, state))


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
        help="The language of the output; without it, that of LANG.",
    )(function)


@click.group(invoke_without_command=True)
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also deferred and expired items.")
@click.option("-i", "--interactive", is_flag=True, help="Go through them one by one.")
@spoken
@common
@click.pass_context
def review(
    context: click.Context, terminal: Terminal, task_id: str | None, everything: bool, interactive: bool
) -> None:
    """Without a verb: list what waits for you. ITEM is the name that stands beside it, like k7f2.3, or a range:
    k7f2.2-5."""
    if context.invoked_subcommand is not None:
        return
    if interactive:
        _go_through(terminal, task_id)
        return
    _list(terminal, task_id, everything=everything)


@review.command("list")
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also deferred and expired items.")
@spoken
@common
@watchable
def list_(terminal: Terminal, task_id: str | None, everything: bool) -> None:
    """List what waits for you."""
    _list(terminal, task_id, everything=everything)


def show_waiting(terminal: Terminal, task_id: str) -> None:
    """What waits for one task, for people."""
    sets = _listed(terminal, task_id)
    _show(terminal, sets)
    _remember_shown(terminal, [item for one in sets for item in one.items])


def _list(terminal: Terminal, task_id: str | None, *, everything: bool) -> None:
    sets = _listed(terminal, task_id, everything)
    terminal.emit(Proposals(sets), lambda: _show(terminal, sets))
    _remember_shown(terminal, [item for one in sets for item in one.items])


def _task(terminal: Terminal, task_id: str | None) -> str | None:
    from lottisync.journal import tasks

    if task_id is None:
        return None
    with terminal.home.journal.reading() as reader:
        return tasks.resolve(reader, task_id, "task")


def _listed(terminal: Terminal, task_id: str | None = None, everything: bool = False) -> list[SetView]:
    inbox, task = _inbox(terminal), _task(terminal, task_id)
    return inbox.unsettled_sets(clock.now(), task) if everything else inbox.open_sets(clock.now(), task)


def _waiting(terminal: Terminal, task_id: str | None = None) -> list[ItemView]:
    """The items that can be decided on now, in the order of the list."""
    items = [item for one in _listed(terminal, task_id) for item in one.items]
    return [item for item in items if item.status == "pending" and not item.expired]


def _waiting_in_set(terminal: Terminal, name: str) -> list[ItemView]:
    """Those of one set, which a person names by the beginning of its items' names, or by one of them."""
    with terminal.home.agent.reading() as reader:
        wanted = set_of(meant(reader, name if "." in name else f"{name}.0")[0])
    return [item for item in _waiting(terminal) if set_of(item.id) == wanted]


def _show(terminal: Terminal, sets: list[SetView]) -> None:

    if not sets:
        terminal.line(_say("Nothing waits for you."), "green")
        return
    show_sets(terminal, sets)
    verbs = "lottisync review -i · confirm NAME... · edit NAME FIELD=VALUE · reject NAME --reason ... · confirm --all"
    terminal.line(verbs, "dim")


def show_sets(terminal: Terminal, sets: list[SetView]) -> None:
    """Each item with all that will be written, why, and what it cites: this page is what a verdict is about."""
    for one in sets:
        terminal.line(_heading(one), "bold")
        names = max((len(item.name) for item in one.items), default=0)
        for item in one.items:
            terminal.line(_row(item, names))
            _show_ground(terminal, item, " " * names)


def _row(item: ItemView, names: int) -> Any:
    """`k7f2.3  Set estimate to 60 minutes  30 → 60  changed since`."""
    from rich.text import Text

    row = Text(item.name.ljust(names), "dim")
    for part in (_summary(item), _change(item), _state(item)):
        if part.plain:
            row.append("  ").append_text(part)
    return row


def _show_ground(terminal: Terminal, item: ItemView, margin: str = "") -> None:
    """Why the agent proposes it, the words that it cites, and what it takes the place of."""
    if item.why:
        terminal.line(f"{margin}  " + _say("why: {reason}", reason=item.why))
    for cited in item.cited:
        terminal.text(cited.text, f"{margin}  {_minute(cited.at)}  ")
    for names, sentence in (
        (item.supersedes, _say("takes the place of")),
        ([item.superseded_by] if item.superseded_by else [], _say("its place took")),
    ):
        if names:
            terminal.line(f"{margin}  {sentence} {', '.join(_names(terminal, names))}", "dim")


def _names(terminal: Terminal, ids: list[str]) -> list[str]:
    with terminal.home.agent.reading() as reader:
        return [name_of(reader, ident) for ident in ids]


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
        text.append_text(_before_and_after(item, change, named=len(item.changes) > 1))
    return text


def _before_and_after(item: ItemView, change: FieldChange, *, named: bool = False) -> Any:
    """A field now and then; with its name where there are several."""
    from rich.text import Text

    text = Text(f"{change.path}: " if named else "")
    if not item.creates:
        text.append(_plain(change.before), "red")
        text.append(" → ")
    return text.append(_plain(change.after), "green")


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
    if item.superseded_by:
        return Text(_word("superseded"), "dim")
    return Text("" if item.status == "pending" else _word(item.status), "dim")


@review.command("show")
@click.argument("item", metavar="ITEM")
@spoken
@common
def show(terminal: Terminal, item: str) -> None:
    """Show one proposal whole."""
    found = _find(terminal, item)
    terminal.emit(found, lambda: _show_item(terminal, found))
    _remember_shown(terminal, [found])


def _show_item(terminal: Terminal, item: ItemView) -> None:
    """All that would be written, why, and what it cites: what a person decides on."""
    terminal.line(f"{item.agent_name}  {item.task_title}", "dim")
    terminal.line(item.summary, "bold")
    for change in item.changes:
        terminal.line(_indented(_before_and_after(item, change, named=len(item.changes) > 1)))
    _show_ground(terminal, item)
    _show_stale(terminal, item.stale_fields)
    state = _state(item)
    if state.plain:
        terminal.line(_indented(state))
    terminal.line(f"  {item.tool} {msgspec.json.encode(item.args).decode()}  {item.name}", "dim")


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


def as_shown(function: F) -> F:
    """Give a verdict `--shown`, for a program that has kept the digest itself."""
    return click.option(
        "--shown",
        "digest",
        metavar="DIGEST",
        help="Only if ITEM is as it was shown with this digest (`shown` in --json); else as it was last shown here.",
    )(function)


@review.command("confirm")
@click.argument("items", metavar="ITEM...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Confirm every item that waits, in order.")
@click.option("--task", "task_id", metavar="TASK", help="Confirm every item that waits for this task.")
@click.option("--set", "of_set", metavar="NAME", help="Confirm every item that waits in this set, like k7f2.")
@click.option("--anyway", is_flag=True, help="Confirm although the field was changed since, having seen its value now.")
@as_shown
@spoken
@common
def confirm(
    terminal: Terminal,
    items: tuple[str, ...],
    everything: bool,
    task_id: str | None,
    of_set: str | None,
    anyway: bool,
    digest: str | None,
) -> None:
    """Confirm ITEM: what it proposes is done. Several are done in the order of the list."""
    if sum(map(bool, (items, everything, task_id, of_set))) != 1:
        raise Usage("bad-usage", "give an ITEM, or one of --all, --task and --set")
    if items:
        found = _find_all(terminal, items)
    elif of_set:
        found = _waiting_in_set(terminal, of_set)
    else:
        found = _waiting(terminal, task_id)
    seen = _seen(terminal, found, digest, _say("Confirm this?"))
    against: Any = "current" if anyway else "base"
    verdicts = _verdicts(terminal)
    _report(terminal, verdicts.confirm_selected(seen, clock.now(), against=against, shown=seen))


@review.command("edit")
@click.argument("item", metavar="ITEM")
@click.argument("changes", metavar="FIELD=VALUE...", nargs=-1, required=True)
@as_shown
@spoken
@common
def edit(terminal: Terminal, item: str, changes: tuple[str, ...], digest: str | None) -> None:
    """Change what ITEM proposes, and confirm it so. VALUE is JSON, or text as it stands."""
    found = _find(terminal, item)
    args = dict(found.args)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in args:
            raise Usage(
                "bad-usage",
                "this item has the fields {args}, as FIELD=VALUE; got {change!r}",
                args=", ".join(args),
                change=change,
            )
        args[name] = _typed(args[name], value)
    seen = _seen(terminal, [found], digest, _say("Confirm this?"))
    verdicts = _verdicts(terminal)
    _report(terminal, [verdicts.confirm(found.id, clock.now(), edited_args=args, shown=seen[found.id])])


def _typed(before: Any, text: str) -> Any:
    """What a person typed in place of a value: text stays text, anything else is JSON if it can be."""
    try:
        return text if isinstance(before, str) else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


@review.command("reject")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@click.option("--reason", help="Why; the agent learns from it.")
@as_shown
@spoken
@common
def reject(terminal: Terminal, items: tuple[str, ...], reason: str | None, digest: str | None) -> None:
    """Reject ITEM."""
    seen = _seen(terminal, _find_all(terminal, items), digest, _say("Reject this?"))
    _report(terminal, _verdicts(terminal).reject_selected(seen, clock.now(), reason, shown=seen))


@review.command("defer")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@click.option("--for", "span", default="1d", show_default=True, metavar="SPAN", help="Like 4h, 2d or 1w.")
@as_shown
@spoken
@common
def defer(terminal: Terminal, items: tuple[str, ...], span: str, digest: str | None) -> None:
    """Put ITEM off: it leaves the list and comes back later."""
    match = _SPAN.match(span)
    if match is None:
        raise Usage("bad-usage", "--for is a number with h, d or w, like 2d; got {span!r}", span=span)
    seen = _seen(terminal, _find_all(terminal, items), digest, _say("Put this off?"))
    until = clock.now() + int(match[1]) * _SPAN_MILLIS[match[2]]
    _report(terminal, _verdicts(terminal).defer_selected(seen, until, clock.now(), shown=seen))


@review.command("undo")
@click.argument("item", metavar="ITEM")
@spoken
@common
def undo(terminal: Terminal, item: str) -> None:
    """Take your verdict on ITEM back. Fields that were written since stay as they are."""
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
    waiting = _waiting_in_set(terminal, _find(terminal, item).name)
    seen = _seen(terminal, waiting, None, _say("Reject this?"))
    _report(terminal, _verdicts(terminal).reject_selected(seen, clock.now(), reason, shown=seen))


@review.command("ledger")
@click.argument("task_id", metavar="TASK", required=False)
@click.option("--item", "about", metavar="CHECKLIST_ITEM", help="Only what concerns this checklist item.")
@spoken
@common
def ledger(terminal: Terminal, task_id: str | None, about: str | None) -> None:
    """Show every proposal (for TASK) with its result, oldest first."""
    from lottisync.journal import tasks

    home = terminal.home
    if about is not None:
        with home.journal.reading() as reader:
            about = tasks.resolve(reader, about, "checklistItem")
    found = proposal_records(
        home.journal, home.agent, ACTIONS, clock.now(), _task(terminal, task_id), about=about, language=_language()
    )
    terminal.emit(ProposalLedger.of(found), lambda: _show_ledger(terminal, found))


def _show_ledger(terminal: Terminal, found: list[ProposalRecord]) -> None:
    if not found:
        terminal.line(_say("Nothing was proposed."))
        return
    rows = []
    for one in found:
        why = one.reason or one.why or ""
        rows.append((one.name, _minute(one.proposed_at), one.agent_name, one.summary, _word(one.fate), why))
    terminal.table([""] * 6, rows)


@review.command("log")
@click.argument("task_id", metavar="TASK")
@spoken
@common
def log(terminal: Terminal, task_id: str) -> None:
    """Show every decision on the proposals for TASK, oldest first."""
    found = decisions(terminal.home.agent, _task(terminal, task_id) or task_id)
    with terminal.home.agent.reading() as reader:
        names = {d.item_id: name_of(reader, d.item_id) for d in found}
    rows = [(names[d.item_id], _minute(d.created_at), _verdict(d), d.human_summary, d.reason or "") for d in found]
    listed = [Decision.of(each, names[each.item_id]) for each in found]
    terminal.emit(Decisions(listed), lambda: terminal.table([""] * 5, rows))


def _verdict(decision: ChangeDecision) -> str:
    """The word for a decision that takes another one back, in any case."""
    return _word("undone" if decision.undoes else decision.verdict)


@review.command("reindex")
@common
def reindex(terminal: Terminal) -> None:
    """Compute the index of change sets again, after `lottisync check` has found it wrong."""
    index.rebuild(terminal.home.agent, clock.now())
    terminal.emit(Reindexed(reindexed=True), lambda: terminal.line(_say("The index was computed again."), "green"))


def _minute(instant: str) -> str:
    return instant[:16].replace("T", " ")


# -- one by one


class Keys:
    """What the person answers: in a terminal one key a decision, without Enter; from a pipe a line each."""

    def key(self) -> str:
        """The next key; `q` at the end of the input."""
        if not sys.stdin.isatty():
            return self.line("q").strip()[:1].lower()
        try:
            return click.getchar().lower() or "q"
        except EOFError:
            return "q"

    def line(self, at_end: str = "") -> str:
        """A line of text, without its end."""
        return (sys.stdin.readline() or at_end).rstrip("\n")


def _go_through(terminal: Terminal, task_id: str | None) -> None:
    """Ask about each open item, in order. Each answer is carried out at once."""
    if terminal.as_json:
        raise Usage("bad-usage", "--interactive asks a person; it goes with no --json")
    keys = Keys()
    failed = False
    waiting = _waiting(terminal, task_id)
    if not waiting:
        terminal.line(_say("Nothing waits for you."), "green")
    place = 0
    while place < len(waiting):
        terminal.line(f"({place + 1}/{len(waiting)})", "dim")
        answer = _ask_about(terminal, waiting[place].id, keys)
        if answer == "q":
            break
        failed |= answer == "failed"
        place = max(place - 1, 0) if answer == "b" else place + 1
    if failed:
        raise click.exceptions.Exit(1)


def _ask_about(terminal: Terminal, item_id: str, keys: Keys) -> str:
    """Go on until there is an answer: `s`, `b`, `q`, `done` or `failed`. What turned out to have changed is shown, and
    confirmed over that the next time."""
    item = _page_of(terminal, item_id)
    args, seen_stale = dict(item.args), False
    while True:
        terminal.line(_say("Confirm this?") + " [y,n,e,d,s,b,q,?]", "cyan")
        key = keys.key()
        if key in ("s", "b", "q"):
            return key
        if key not in ("y", "n", "e", "d"):
            for known, meaning in KEYS.items():
                terminal.line(f"{known}  {_say(meaning)}")
            continue
        if key == "e":
            args = _edited(terminal, args, keys)
        outcome = _decided(terminal, key, item, args, keys, seen_stale=seen_stale)
        _show_outcomes(terminal, [outcome])
        if outcome.result == "stale":
            item = outcome.view or _page_of(terminal, item_id)
            _remember_shown(terminal, [item])
            seen_stale = item.stale
        elif not (key == "e" and outcome.result == "failed"):  # a mistyped value is typed again
            return "done" if outcome.result in CHANGED else "failed"


def _decided(
    terminal: Terminal, key: str, item: ItemView, args: dict[str, Any], keys: Keys, *, seen_stale: bool
) -> Outcome:
    """The verdict of a key, on what was shown. `args` are those of an edit."""
    verdicts, seen = _verdicts(terminal), {item.id: item.shown}
    if key == "n":
        terminal.line(_say("Why? (may be left out)"))
        return verdicts.reject_selected(seen, clock.now(), keys.line().strip(), shown=seen)[0]
    if key == "d":
        return verdicts.defer_selected(seen, clock.now() + _SPAN_MILLIS["d"], clock.now(), shown=seen)[0]
    against: Any = "current" if seen_stale else "base"
    edited = args if key == "e" else None
    return verdicts.confirm(item.id, clock.now(), edited_args=edited, against=against, shown=item.shown)


def _page_of(terminal: Terminal, item_id: str) -> ItemView:
    """Show an item as it is now."""
    item = _inbox(terminal).item(item_id, clock.now())
    _show_item(terminal, item)
    _remember_shown(terminal, [item])
    return item


def _edited(terminal: Terminal, before: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """The arguments as the person typed them; an empty line leaves one as it was."""
    args = dict(before)
    for name in [name for name in args if name not in ("id", "targetTaskId", "evidenceEntryIds")]:
        terminal.line(f"{name} [{args[name]}]:")
        typed = keys.line().strip()
        if typed:
            args[name] = _typed(args[name], typed)
    return args


# -- what they all share


def _inbox(terminal: Terminal) -> Inbox:
    _verdicts(terminal)
    return Inbox(terminal.home.journal, terminal.home.agent, ACTIONS, language=_language())


def _verdicts(terminal: Terminal) -> Verdicts:
    """Those of this device; what an earlier command or another process left half done is finished first."""
    home = terminal.home
    verdicts = Verdicts(home.journal, home.agent, ACTIONS, device_id=home.key.device_id, new_id=clock.new_id)
    verdicts.recover(clock.now())
    return verdicts


def _remember_shown(terminal: Terminal, items: list[ItemView]) -> None:
    """Store the digests of the items on a page, for a later verdict (REV-86)."""
    printed.remember(terminal.home.agent, items, clock.now())


def _seen(terminal: Terminal, items: list[ItemView], digest: str | None, question: str) -> dict[str, str]:
    """Item -> the digest of what the person was shown of it. What was never shown on this device is shown now, and
    they are asked. Raises `Usage` where nobody can be asked, and `Problem` for a no; nothing is done then."""
    if digest is not None:
        if len(items) != 1:
            raise Usage("bad-usage", "--shown is the digest of one ITEM; {count} were named", count=len(items))
        return {items[0].id: digest}
    with terminal.home.agent.reading() as reader:
        seen = printed.remembered(reader, [item.id for item in items])
    for item in items:
        if item.id not in seen:
            seen[item.id] = _shown_now(terminal, item, question)
    return {item.id: seen[item.id] for item in items}


def _shown_now(terminal: Terminal, item: ItemView, question: str) -> str:
    if terminal.as_json or not sys.stdin.isatty():
        raise Usage(
            "not-shown",
            "{name} was never shown on this device, so there is nothing to decide on yet. "
            "Look at it first: lottisync review show {name}",
            name=item.name,
        )
    _show_item(terminal, item)
    terminal.confirm(question, yes=False)
    _remember_shown(terminal, [item])
    return item.shown


def _find(terminal: Terminal, which: str) -> ItemView:
    """The one item that a person means by its name."""
    found = _find_all(terminal, (which,))
    if len(found) != 1:
        raise Problem(
            "ambiguous-id", "{which!r} means {count} proposals; name one of them", which=which[:80], count=len(found)
        )
    return found[0]


def _find_all(terminal: Terminal, names: tuple[str, ...]) -> list[ItemView]:
    """The items that a person means by their names, and by ranges of names."""
    with terminal.home.agent.reading() as reader:
        wanted = [ident for name in names for ident in meant(reader, name)]
    inbox, now = _inbox(terminal), clock.now()
    return [inbox.item(ident, now) for ident in dict.fromkeys(wanted)]


def _report(terminal: Terminal, outcomes: list[Outcome]) -> None:
    """Tell what became of each; exit code 1 if one of them could not be done. What is not as it was shown is shown as
    it is now, and the next verdict is about that."""
    answer = answers.Verdicts([answers.VerdictAnswer.of(each) for each in outcomes])
    terminal.emit(answer, lambda: _show_outcomes(terminal, outcomes))
    _remember_shown(terminal, [outcome.view for outcome in outcomes if outcome.view is not None])
    if any(outcome.result not in CHANGED for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _show_outcomes(terminal: Terminal, outcomes: list[Outcome]) -> None:
    if not outcomes:
        terminal.line(_say("Nothing waits for you."), "green")
    inbox, now = _inbox(terminal), clock.now()
    for outcome in outcomes:
        style = "green" if outcome.result in CHANGED else "yellow"
        item = inbox.item(outcome.item, now)
        said = f"{_word(outcome.result)}  {item.name}  {item.task_title}: {item.summary}"
        terminal.line(f"{said}  {outcome.message}".rstrip(), style)
        if outcome.view is not None:
            _show_item(terminal, item)
        else:
            _show_stale(terminal, outcome.stale)


def _show_stale(terminal: Terminal, fields: list[StaleField]) -> None:
    for field in fields:
        terminal.line("  " + _stale(field), "yellow")
