"""`review --interactive`: each item that waits, one by one, as in `git add -p`. Each answer is carried out at once."""

import sys
from collections.abc import Iterable
from typing import Any

import click
import msgspec

from lottisync.cli.review_items import inbox_of, remember_shown, verdicts_of, waiting
from lottisync.cli.review_page import CHANGED, show_item, show_outcomes
from lottisync.cli.terminal import Terminal
from lottisync.device import clock
from lottisync.journal.toolbox import ACTIONS
from lottisync.language import marked, say
from lottisync.problem import Usage
from lottisync.review import shown_items as printed
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome

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
DAY_MILLIS = 86_400_000


class KeyInput:
    """What the person answers: in a terminal one key a decision, without Enter; from a pipe a line each. `heard` says
    whether there was an answer."""

    def __init__(self) -> None:
        self.heard = sys.stdin is not None and sys.stdin.isatty()

    def key(self) -> str:
        """The next key; `q` at the end of the input."""
        if sys.stdin is None or not sys.stdin.isatty():
            typed = "" if sys.stdin is None else sys.stdin.readline()
            self.heard |= bool(typed)
            return (typed or "q").strip()[:1].lower()
        try:
            return click.getchar().lower() or "q"
        except EOFError:
            return "q"

    def line(self) -> str:
        """A line of text, without its end."""
        return sys.stdin.readline().rstrip("\n")


def go_through(terminal: Terminal, task_id: str | None) -> None:
    """Ask about each open item, in order."""
    if terminal.as_json:
        raise Usage("bad-usage", "--interactive asks a person; it goes with no --json")
    keys = KeyInput()
    failed = False
    open_items = waiting(terminal, task_id)
    if not open_items:
        terminal.line(say("Nothing waits for you."), "green")
    index = 0
    while index < len(open_items):
        terminal.line(f"({index + 1}/{len(open_items)})", "dim")
        answer = _ask_about(terminal, open_items[index].id, keys)
        if answer == "q":
            break
        failed |= answer == "failed"
        index = max(index - 1, 0) if answer == "b" else index + 1
    if open_items and not keys.heard:
        raise Usage(
            "nobody-answers",
            "nobody is here to answer, so nothing was decided. Run it in a terminal, or decide by name: "
            "lottisync review confirm NAME",
        )
    if failed:
        raise click.exceptions.Exit(1)


def _ask_about(terminal: Terminal, item_id: str, keys: KeyInput) -> str:
    """Ask until there is an answer: `s`, `b`, `q`, `done` or `failed`. An item that has changed meanwhile is shown
    again, and the next answer is about what it is now."""
    item = _page_of(terminal, item_id)
    args, seen_stale = dict(item.args), False
    while True:
        terminal.line(say("Confirm this?") + " [y,n,e,d,s,b,q,?]", "cyan")
        key = keys.key()
        if key in ("s", "b", "q"):
            return key
        if key not in ("y", "n", "e", "d"):
            for known, meaning in KEYS.items():
                terminal.line(f"{known}  {say(meaning)}")
            continue
        if key == "e" and not _editable(item.tool, args):
            terminal.line(say("There is nothing to edit in this proposal."))
            continue
        if key == "e":
            args = _edited(terminal, item.tool, args, keys)
        outcome = _decided(terminal, key, item, args, keys, seen_stale=seen_stale)
        show_outcomes(terminal, [outcome], inbox_of(terminal), [item])
        printed.follow(terminal.home.agent, [outcome], clock.now())
        if outcome.result == "stale":
            item = outcome.view or _page_of(terminal, item_id)
            remember_shown(terminal, [item])
            seen_stale = item.stale
        elif not (key == "e" and outcome.result == "failed"):  # the person corrects what was typed
            return "done" if outcome.result in CHANGED else "failed"


def _decided(
    terminal: Terminal, key: str, item: ItemView, args: dict[str, Any], keys: KeyInput, *, seen_stale: bool
) -> Outcome:
    """The verdict of a key, on what was shown. `args` are those of an edit."""
    verdicts, seen = verdicts_of(terminal), {item.id: item.shown}
    if key == "n":
        terminal.line(say("Why? (may be left out)"))
        return verdicts.reject_selected(seen, clock.now(), keys.line().strip(), shown=seen)[0]
    if key == "d":
        return verdicts.defer_selected(seen, clock.now() + DAY_MILLIS, clock.now(), shown=seen)[0]
    against: Any = "current" if seen_stale else "base"
    edited = args if key == "e" else None
    return verdicts.confirm(item.id, clock.now(), edited_args=edited, against=against, shown=item.shown)


def _page_of(terminal: Terminal, item_id: str) -> ItemView:
    """Show an item as it is now."""
    item = inbox_of(terminal).item(item_id, clock.now())
    show_item(terminal, item)
    remember_shown(terminal, [item])
    return item


def _editable(tool: str, args: Iterable[str]) -> list[str]:
    """The arguments that a person is asked for."""
    return [name for name in args if name not in ACTIONS.unasked(tool)]


def _edited(terminal: Terminal, tool: str, before: dict[str, Any], keys: KeyInput) -> dict[str, Any]:
    """The arguments as the person typed them; an empty line leaves one as it was."""
    args = dict(before)
    for name in _editable(tool, before):
        terminal.line(f"{name} [{args[name]}]:")
        typed = keys.line().strip()
        if typed:
            args[name] = typed_over(args[name], typed)
    return args


def typed_over(before: Any, text: str) -> Any:
    """What a person typed in place of a value: text stays text, anything else is JSON if it can be."""
    try:
        return text if isinstance(before, str) else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
