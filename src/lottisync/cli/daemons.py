"""`daemon` and `daemon stop`."""

import gc
import os
import signal
import sys
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import click

from lottisync.answers.care import Stopped
from lottisync.answers.devices import Event
from lottisync.cli.help_pages import Group
from lottisync.cli.hints import event_text, system_text, with_hint
from lottisync.cli.terminal import Terminal, address, common, listen_at
from lottisync.cli.times import TIME_OF_DAY, local
from lottisync.daemon.home import TaskHome
from lottisync.daemon.log import LogEntry, LogFile
from lottisync.daemon.starting import Backoff, refuse_full_disk
from lottisync.device import clock
from lottisync.device.alone import LOCK_FILE
from lottisync.language import say
from lottisync.net.address import Address
from lottisync.net.listener import DEFAULT_PORT
from lottisync.problem import Problem
from lottisync.shown import one_line
from lottisync.store.instant import iso

COLLECTED_TOGETHER = 20_000
"""Objects after which the garbage collector looks for cycles. A batch of a round makes several times the 700 of its
default, and no cycle."""
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.05


@click.group(cls=Group, invoke_without_command=True)
@click.option("--listen", metavar="HOST[:PORT]", help=f"Where to listen; else [::]:{DEFAULT_PORT}, IPv4 and IPv6.")
@click.option("--no-agents", is_flag=True, help="Do not wake the agents that are at home on this device.")
@click.option("--no-discovery", is_flag=True, help="Neither announce this device by mDNS nor look for others.")
@click.option(
    "--web", metavar="HOST[:PORT]", help="Where to serve the pages: 127.0.0.1:PORT, or 0.0.0.0 for your network."
)
@click.option("--web-cert", type=click.Path(path_type=Path), help="The network's certificate (PEM), with --web-key.")
@click.option("--web-key", type=click.Path(path_type=Path), help="The key of --web-cert (PEM).")
@click.option("--no-web", is_flag=True, help="Serve no pages.")
@common
@click.pass_context
def daemon(
    context: click.Context,
    terminal: Terminal,
    listen: str | None,
    no_discovery: bool,
    no_agents: bool,
    web: str | None,
    web_cert: Path | None,
    web_key: Path | None,
    no_web: bool,
) -> None:
    """Keep in step with the other devices, and wake this device's agents when their tasks change, until stopped
    (Ctrl-C). With --json, one event a line.

    What no option says, the settings say: lottisync config list

    \b
    lottisync daemon
    lottisync daemon --web 0.0.0.0:22443
    """
    if context.invoked_subcommand is not None:
        return
    given = _Given(listen, no_discovery, no_agents, web, web_cert, web_key, no_web)
    waiting = Backoff(partial(_tell, terminal))
    waiting.until_it_runs(partial(_run, terminal, given, waiting))


class _Given(NamedTuple):
    """The options of a call."""

    listen: str | None
    no_discovery: bool
    no_agents: bool
    web: str | None
    web_cert: Path | None
    web_key: Path | None
    no_web: bool


def _run(terminal: Terminal, given: _Given, waiting: Backoff) -> None:
    """Run the daemon until it is stopped, or cannot go on."""
    refuse_full_disk(terminal.path)
    if not terminal.as_json:
        _ = terminal.console  # loads modules: a daemon for which no file may be opened is not to begin without them
    home = TaskHome.open(terminal.path)
    try:
        _serve(terminal, given, home, waiting)
    except (OSError, Problem):
        home.close()  # what comes next opens it again
        raise


def _serve(terminal: Terminal, given: _Given, home: TaskHome, waiting: Backoff) -> None:
    from lottisync.daemon.daemon import run
    from lottisync.daemon.pages import DEFAULT_PORT as WEB_PORT
    from lottisync.daemon.pages import Where, where_of
    from lottisync.daemon.settings import OFF, read_settings

    settings = read_settings(home.path)
    where = listen_at(given.listen or settings.listen)
    web = given.web or settings.web
    if given.no_web or web == OFF:
        pages = None
    elif web:
        pages = where_of(*address(web, what="--web", usual=WEB_PORT), given.web_cert, given.web_key)
    else:
        pages = Where()

    log = LogFile(home.path)
    say = partial(_say, terminal, log)

    def started(port: int) -> None:
        waiting.forget()
        gc.freeze()  # what was loaded stays: no collection has to look through it, which takes 12 ms
        gc.set_threshold(COLLECTED_TOGETHER)
        say("started", f"{home.name} listens on {Address(where.host, port)}", port)

    with closing(log):
        anyio.run(
            lambda: run(
                home,
                listen=where,
                discover=settings.discovery and not given.no_discovery,
                agents=settings.agents and not given.no_agents,
                pages=pages,
                say=say,
                started=started,
            )
        )


def _tell(terminal: Terminal, code: str, error: OSError | Problem) -> None:
    """Say why the daemon waits. Its output may lie on the same disk: then nobody hears it."""
    reason = with_hint(error) if isinstance(error, Problem) else system_text(error)
    text = say("{reason}. The daemon waits, and starts when it can", reason=reason)
    with suppress(OSError):
        if terminal.as_json:
            _say(terminal, None, code, text)
        else:  # a page for people loads modules, for which no file may be opened now
            sys.stderr.write(f"lottisync: {one_line(text)}\n")


def _say(terminal: Terminal, log: LogFile | None, code: str, text: str, port: int | None = None) -> None:
    entry = LogEntry(iso(clock.now()), code, event_text(code, text))
    if log is not None:
        log.write(entry)
    style = {"connected": "green", "diverged": "bold red"}.get(code)
    with suppress(Problem):  # a full disk takes no output: the rest of it is dropped, and the daemon goes on
        terminal.emit(
            Event(entry.at, code, entry.text, port),
            lambda: terminal.line(f"{local(entry.at, TIME_OF_DAY)}  {entry.text}", style),
        )


@daemon.command()
@common
def stop(terminal: Terminal) -> None:
    """Stop the daemon of this home, and wait until it has ended.

    \b
    lottisync daemon stop
    """
    pid = stop_daemon(terminal.home)
    terminal.emit(Stopped(pid), lambda: terminal.line(say("The daemon (pid {pid}) has ended.", pid=pid), "green"))


def stop_daemon(home: TaskHome) -> int:
    """Stop the daemon of a home, wait until it has ended, and give its pid. Raises `Problem` if there is none."""
    from lottisync.daemon.status import read_status
    from lottisync.store.lock import is_held

    running = read_status(home)
    if running is None:
        raise Problem("not-running", "no daemon runs for {path}; there is nothing to stop", path=home.path)

    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGTERM)
    for _ in range(round(STOP_SECONDS / LOOK_SECONDS)):
        if not is_held(home.path / LOCK_FILE):
            break
        time.sleep(LOOK_SECONDS)
    else:
        raise Problem(
            "still-running",
            "the daemon (pid {pid}) did not end within {seconds:.0f} s. It may be at a long write: try again",
            pid=running.pid,
            seconds=STOP_SECONDS,
        )
    return running.pid
