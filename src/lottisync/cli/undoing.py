"""`lottisync undo`: taking back what was done last (docs/specs/11-command-line.md, section 6)."""

from typing import Literal

import click

from lottisync.agents import creation
from lottisync.answers.stores import ActDone, Acts, TakenBack
from lottisync.cli.acts import this_terminal
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.overview import device_names
from lottisync.device import acts, clock, reversal
from lottisync.device.acts import Act
from lottisync.entities.registers import Stamp
from lottisync.language import marked, say, several, translated
from lottisync.problem import Marked, Usage
from lottisync.review.precedence import is_persons
from lottisync.store.instant import iso

ORIGINS: dict[Literal["here", "terminal", "browser"], Marked] = {
    "here": marked("here"),
    "terminal": marked("another terminal"),
    "browser": marked("a browser"),
}


@click.command()
@click.argument("number", type=int, required=False, metavar="[NUMBER]")
@click.option("--list", "listing", is_flag=True, help="Show what was done on this device, and the numbers.")
@click.option("-n", "limit", type=click.IntRange(1, acts.KEPT_ACTS), default=20, show_default=True, help="How many.")
@common
def undo(terminal: Terminal, number: int | None, listing: bool, limit: int) -> None:
    """Take back what was done last from this terminal; with NUMBER, what `--list` shows under it.

    What somebody has written since is left alone: then nothing is taken back. To take back an undo is to do it again.

    \b
    lottisync undo
    lottisync undo --list
    lottisync undo 12
    """
    if listing:
        if number is not None:
            raise Usage("bad-call", "--list takes no number")
        _list(terminal, limit)
        return
    with terminal.home.journal.reading() as reader:
        act = acts.last_of(reader, this_terminal()) if number is None else acts.numbered(reader, number)
    taken = TakenBack(_take_back(terminal, act), _answer(act))
    terminal.emit(taken, lambda: terminal.line(say("Took back act {n} ({said})", n=act.n, said=act.said), "green"))


def _list(terminal: Terminal, limit: int) -> None:
    with terminal.home.journal.reading() as reader:
        newest = acts.newest(reader, limit)
    found, said = [_answer(act) for act in newest], [translated(act.said) for act in newest]

    def shown() -> None:
        if not found:
            terminal.line(say("Nothing was done here yet."))
            return
        rows = [
            (str(each.number), local(each.at, SECONDS), say(ORIGINS[each.origin]), what, _fate(each))
            for each, what in zip(found, said, strict=True)
        ]
        terminal.table(["", "when", "where", "what", ""], rows)

    terminal.emit(Acts(found), shown)


def _fate(act: ActDone) -> str:
    if act.left:
        return several(
            "{count} entity is still to be taken back; this goes on: {command}",
            "{count} entities are still to be taken back; this goes on: {command}",
            act.left,
            command=f"lottisync undo {act.number}",
        )
    return say("taken back by {undone_by}", undone_by=act.undone_by) if act.undone_by is not None else ""


def _answer(act: Act) -> ActDone:
    origin: Literal["here", "terminal", "browser"] = "browser" if act.origin.startswith("browser") else "terminal"
    if act.origin == this_terminal():
        origin = "here"
    return ActDone(act.n, iso(act.at), origin, str(act.said), act.undoes, act.undone_by, act.left)


def _take_back(terminal: Terminal, act: Act) -> int:
    from lottisync.journal.toolbox import ACTIONS
    from lottisync.review.acts import take_back
    from lottisync.review.verdict import Verdicts

    home, now = terminal.home, clock.now()
    if creation.is_creation(home.agent, act):
        return creation.take_back(home.journal, home.agent, act, now, this_terminal())
    names = device_names(home)

    def writer(path: str, stamp: Stamp) -> str:
        device = names.get(stamp.host, say("another device"))
        return device if is_persons(path, stamp.precedence) else say("an agent on {device}", device=device)

    verdicts = Verdicts(home.journal, home.agent, ACTIONS, device_id=home.key.device_id, new_id=clock.new_id)
    if act.about:
        verdicts.recover(now)
    label = say("taking back")
    with terminal.gauge(label) as show:
        progress: reversal.UndoProgress = lambda done, of: show(label, done / of)  # noqa: E731
        return take_back(home.journal, verdicts, act, now, this_terminal(), writer, progress)
