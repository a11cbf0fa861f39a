"""`logs`: what the daemon said."""

import contextlib
import time

import click

from lottisync.answers.care import LogLine, LogLines
from lottisync.answers.devices import Event
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.log import Follower, LogEntry, newest
from lottisync.language import say

LOOK_SECONDS = 1.0


@click.command()
@click.option("-n", "count", type=click.IntRange(0, 1_000_000), default=50, show_default=True, help="How many lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@common
def logs(terminal: Terminal, count: int, follow: bool) -> None:
    """Show the newest lines of the daemon's log. With --json and --follow, one event a line.

    \b
    lottisync logs -n 200
    lottisync logs --follow
    """
    home = terminal.home.path
    follower = Follower(home) if follow else None
    found = newest(home, count)
    if follower is None:
        answer = LogLines([LogLine(one.at, one.event, one.text) for one in found])
        terminal.emit(answer, lambda: _show(terminal, found))
        return
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(follower):
        while True:
            for one in found:
                _say(terminal, one)
            time.sleep(LOOK_SECONDS)
            found = follower.read()


def _show(terminal: Terminal, found: list[LogEntry]) -> None:
    if not found:
        terminal.line(say("The daemon has said nothing yet. Start it with: lottisync daemon"))
    for one in found:
        _line(terminal, one)


def _say(terminal: Terminal, one: LogEntry) -> None:
    terminal.emit(Event(one.at, one.event, one.text), lambda: _line(terminal, one))


def _line(terminal: Terminal, one: LogEntry) -> None:
    terminal.line(f"{local(one.at, SECONDS)}  {one.event:14} {one.text}")
