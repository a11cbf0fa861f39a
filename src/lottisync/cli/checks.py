"""`check`: looking through the whole home for what should not be."""

from typing import Any

import click

from lottisync.answers.stores import Accepted, Checked, FaultFound
from lottisync.cli.hints import hints_of
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock
from lottisync.language import say, several, translated
from lottisync.problem import Fault, Problem
from lottisync.review import index
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store import damage, mending
from lottisync.store.check import broken_invariants


@click.command()
@click.option("--accept", "accepted", metavar="ID", help="What the damaged row ID shows now is right: write it again.")
@common
def check(terminal: Terminal, accepted: str | None) -> None:
    """Look through the whole home for what should not be. Exit code 1 if something is wrong.

    Reads only, without --accept.

    \b
    lottisync check
    lottisync check --accept 4f0c
    """
    if accepted is not None:
        _accept(terminal, accepted)
        return
    found: dict[str, list[Fault]] = {}
    outdated = False
    left_out = terminal.home.folder.unusable
    for name, why in left_out.items():
        found[name] = [Fault(why.code, why.template, **why.arguments)]
    for name, store in terminal.home.stores.items():
        with store.reading() as reader, terminal.progress(name, reader.count()) as advance:
            done = 0

            def step(now: int, of: int, advance: Any = advance) -> None:
                nonlocal done
                advance(now - done)
                done = now

            found[name] = broken_invariants(reader, step)
            if name == "agent":
                faults_of_index = list(index.faults(reader, clock.now()))
                found[name] += faults_of_index
                outdated = bool(faults_of_index)

    def shown() -> None:
        for name, faults in found.items():
            said = several("{count} fault", "{count} faults", len(faults)) if faults else say("sound")
            terminal.line(f"{name:8} {said}", "red" if faults else "green")
            for fault in faults:
                terminal.line(f"  {translated(fault)}", "red")
        if any(found.values()):
            for hint in hints_of(left_out.values()):
                terminal.line(hint, "dim")
            if outdated:
                terminal.line(say("This computes the index of change sets again: lottisync review reindex"), "dim")
            terminal.line(say("What another device can help to mend, this mends: lottisync verify"), "dim")
            terminal.line(say("If what a damaged row shows now is right: lottisync check --accept ID"), "dim")

    listed = [FaultFound(name, each.code, str(each)) for name, faults in found.items() for each in faults]
    terminal.emit(Checked(listed, [name for name, faults in found.items() if not faults]), shown)
    if any(found.values()):
        raise click.exceptions.Exit(1)


def _accept(terminal: Terminal, ident: str) -> None:
    """Accept a damaged row, in the store where it is damaged. If it is damaged in no store, the error says so."""
    if named := _named_again(terminal, ident):
        said = say("Only the id was damaged: this is {ident} again.", ident=named)
        terminal.emit(Accepted(named), lambda: terminal.line(said, "green"))
        return
    holding = []
    for store in terminal.home.stores.values():
        with store.reading() as reader:
            row = damage.raw_row(reader, ident)
        if row is not None:
            holding.append((row.is_sound, store))
    if not holding:
        raise Problem("unknown-id", "nothing has the id {quoted}", quoted=quoted(ident))
    _, store = min(holding, key=lambda one: one[0])
    with store.transaction(clock.now(), PERSON) as tx:
        mending.accept(tx, ident)
    terminal.emit(Accepted(ident), lambda: terminal.line(say("{ident} holds what it shows now.", ident=ident), "green"))


def _named_again(terminal: Terminal, ident: str) -> str | None:
    """The id of a row that is shown under `ident`, and of which nothing else is damaged: it has its id again."""
    for store in terminal.home.stores.values():
        with store.transaction(clock.now(), None) as tx:
            if own := mending.name_again(tx, damage.shown_as(tx, ident)):
                return own[0]
    return None
