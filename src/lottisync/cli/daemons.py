"""`daemon`."""

from pathlib import Path

import anyio
import click

from lottisync.answers.devices import Event
from lottisync.cli.terminal import Terminal, address, common
from lottisync.device import clock
from lottisync.net.listener import DEFAULT_PORT, EVERYWHERE
from lottisync.store.instant import iso


@click.command()
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
def daemon(
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
        at, style = iso(clock.now()), {"connected": "green", "diverged": "bold red"}.get(code)
        terminal.emit(Event(at, code, text, port), lambda: terminal.line(f"{at[11:19]}  {text}", style))

    def started(port: int) -> None:
        say("started", f"{home.name} listens on {where.host}:{port}", port)

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
