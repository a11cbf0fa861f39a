"""`daemon` and `daemon stop`."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import anyio
import click

from lottisync.answers.care import Stopped
from lottisync.answers.devices import Event
from lottisync.cli.hints import event_text
from lottisync.cli.terminal import Terminal, address, common
from lottisync.device import clock
from lottisync.net.address import Address
from lottisync.net.listener import DEFAULT_PORT, EVERYWHERE
from lottisync.problem import Problem
from lottisync.store.instant import iso

STOP_SECONDS = 30.0
LOOK_SECONDS = 0.05


@click.group(invoke_without_command=True)
@click.option("--listen", metavar="HOST:PORT", help=f"Where to listen; else [::]:{DEFAULT_PORT}, IPv4 and IPv6.")
@click.option("--no-agents", is_flag=True, help="Do not wake the agents that are at home on this device.")
@click.option("--no-discovery", is_flag=True, help="Neither announce this device by mDNS nor look for others.")
@click.option(
    "--web", metavar="HOST:PORT", help="Where to serve the pages: 127.0.0.1:PORT, or 0.0.0.0:PORT for your network."
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

    What no option says, the settings say: lottisync config list"""
    if context.invoked_subcommand is not None:
        return
    from lottisync.daemon.daemon import run
    from lottisync.daemon.pages import Where, where_of
    from lottisync.daemon.settings import OFF, read_settings
    from lottisync.sync.engine import Listen

    home = terminal.home
    settings = read_settings(home.path)
    listen, web = listen or settings.listen, web or settings.web
    no_web = no_web or web == OFF
    where = Listen(*address(listen, what="--listen")) if listen else Listen(EVERYWHERE, DEFAULT_PORT, firm=False)
    pages = None if no_web else where_of(*address(web, what="--web"), web_cert, web_key) if web else Where()

    def say(code: str, text: str, port: int | None = None) -> None:
        text = event_text(code, text)
        at, style = iso(clock.now()), {"connected": "green", "diverged": "bold red"}.get(code)
        terminal.emit(Event(at, code, text, port), lambda: terminal.line(f"{at[11:19]}  {text}", style))

    def started(port: int) -> None:
        say("started", f"{home.name} listens on {Address(where.host, port)}", port)

    anyio.run(
        lambda: run(
            home,
            listen=where,
            discover=settings.discovery and not no_discovery,
            agents=settings.agents and not no_agents,
            pages=pages,
            say=say,
            started=started,
        )
    )


@daemon.command()
@common
def stop(terminal: Terminal) -> None:
    """Stop the daemon of this home, and wait until it has ended. Example: lottisync daemon stop"""
    from lottisync.daemon.status import LOCK_FILE, read_status
    from lottisync.store.lock import is_held

    home = terminal.home
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
    terminal.emit(Stopped(running.pid), lambda: terminal.line(f"The daemon (pid {running.pid}) has ended.", "green"))
