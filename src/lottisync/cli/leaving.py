"""`leave`: taking this device out, and deleting what is on it."""

import shutil

import anyio
import click

from lottisync.answers.devices import Left
from lottisync.cli.daemons import stop_daemon
from lottisync.cli.devices import sure
from lottisync.cli.terminal import Terminal, common, listen_at
from lottisync.daemon.status import read_status
from lottisync.language import say
from lottisync.net.listener import DEFAULT_PORT
from lottisync.problem import Problem


@click.command()
@click.option("--wait", type=click.IntRange(0, 86_400), default=30, show_default=True, metavar="SECONDS")
@click.option("--listen", metavar="HOST[:PORT]", help=f"Where to listen meanwhile; else [::]:{DEFAULT_PORT}.")
@click.option("--no-discovery", is_flag=True, help="Do not look for others by mDNS.")
@click.option("--untold", is_flag=True, help="Delete everything also if no other device has it. It is lost then.")
@sure
@common
def leave(terminal: Terminal, wait: int, listen: str | None, no_discovery: bool, untold: bool, yes: bool) -> None:
    """Take this device out of your devices, and delete everything of lottisync on it.

    First it is retired, and another device gets everything that is here, within --wait seconds. If none does,
    nothing is deleted, and the device comes back when its daemon starts.

    \b
    lottisync leave
    lottisync leave --untold --yes
    """
    from lottisync.daemon.leaving import leave as take_out

    home = terminal.home
    terminal.confirm(
        say("Take {name} out of your devices, and delete everything in {path}?", name=home.name, path=home.path),
        yes=yes,
    )
    if read_status(home) is not None:
        stop_daemon(home)
    where = listen_at(listen)
    with terminal.waiting(say("waiting for another device")):
        there = anyio.run(
            lambda: take_out(home, listen=where, discover=not no_discovery, wait=wait, report=lambda code, text: None)
        )
    if there is None and not untold:
        raise Problem(
            "not-there-yet",
            "no other device has everything that is here, so nothing was deleted. Start one, and try again; "
            "or lose it with --untold",
        )
    home.close()
    shutil.rmtree(home.path)
    said = say("{there} has everything.", there=there) if there else say("No other device was told.")
    terminal.emit(
        Left(str(home.path), there),
        lambda: terminal.line(say("Deleted {path}. {said}", path=home.path, said=said), "green"),
    )
