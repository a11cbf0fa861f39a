"""`doctor`."""

import os

import click

from lottisync.answers.care import Diagnosis, Finding
from lottisync.cli.columns import Cell
from lottisync.cli.hints import with_hint
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.device import clock
from lottisync.language import marked, say
from lottisync.problem import Problem

STATES = {
    "good": (marked("good"), "green"),
    "unknown": (marked("unknown"), "dim"),
    "warning": (marked("warning"), "yellow"),
    "fault": (marked("fault"), "bold red"),
}
"""The word for the state of a part, and its style."""
PARTS = (
    *(marked("addresses"), marked("clock"), marked("credentials"), marked("daemon"), marked("devices"), marked("disk")),
    *(
        marked("encryption"),
        marked("endpoint"),
        marked("home"),
        marked("message size"),
        marked("model"),
        marked("multicast"),
    ),
    *(marked("permissions"), marked("port"), marked("relay"), marked("server"), marked("storage"), marked("stores")),
    marked("stream"),
)
"""What is looked at, here and at a relay."""


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
        [(say(each.part), _state(each.state), each.text, each.advice or "") for each in findings],
    )


def _state(state: str) -> Cell:
    word, style = STATES[state]
    return Cell(say(word), style)
