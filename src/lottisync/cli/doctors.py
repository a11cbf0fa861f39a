"""`doctor`."""

import os

import click

from lottisync.answers.care import Diagnosis, Finding
from lottisync.cli.hints import with_hint
from lottisync.cli.terminal import Cell, Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.device import clock
from lottisync.language import say
from lottisync.problem import Problem

STYLES = {"good": "green", "unknown": "dim", "warning": "yellow", "fault": "bold red"}


@click.command()
@common
def doctor(terminal: Terminal) -> None:
    """Look at all that this device needs, and say what to do. Exit code 1 if there is a fault.

    Reads only.

    \b
    lottisync doctor
    """
    findings = _of_the_home(terminal) + _of_the_machine()
    terminal.emit(Diagnosis(findings), lambda: shown_findings(terminal, findings))
    if any(each.state == "fault" for each in findings):
        raise click.exceptions.Exit(1)


def _of_the_home(terminal: Terminal) -> list[Finding]:
    from lottisync.cli.diagnosis import examine_home

    try:
        return examine_home(terminal.home, clock.now(), os.environ, str if terminal.as_json else _local)
    except Problem as problem:
        return [Finding("home", "fault", with_hint(problem), say("Name another home with --home, or mend this one"))]


def _local(instant: str) -> str:
    return local(instant, SECONDS)


def _of_the_machine() -> list[Finding]:
    from lottisync.cli.diagnosis import examine_machine

    return examine_machine(os.environ)


def shown_findings(terminal: Terminal, findings: list[Finding]) -> None:
    terminal.table(
        ["part", "", "found", say("what to do")],
        [(each.part, Cell(each.state, STYLES[each.state]), each.text, each.advice or "") for each in findings],
    )
