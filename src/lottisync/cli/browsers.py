"""`open`: the pages of this home in a browser."""

import os

import click

from lottisync.answers.devices import Pages
from lottisync.cli.terminal import Terminal, common
from lottisync.problem import Problem

PAGE = "open.html"


@click.command("open")
@click.option("--print", "printed", is_flag=True, help="Print the address, which lets one browser in once.")
@common
def open_pages(terminal: Terminal, printed: bool) -> None:
    """Open the inbox in a browser. A daemon has to run."""
    from lottisync.daemon.pages import address_of
    from lottisync.daemon.status import read_status

    home = terminal.home
    if read_status(home) is None:
        raise Problem("not-running", "no daemon runs for {path}. Start one: lottisync daemon", path=home.path)
    address = address_of(home.path)
    if printed or terminal.as_json:
        terminal.emit(Pages(address), lambda: terminal.line(address))
        return
    import webbrowser

    # The address goes by a file that only this user reads: the arguments of a program can be read by every user.
    file = home.path / PAGE
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        opened.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">')
    if not webbrowser.open(file.as_uri()):
        raise Problem(
            "no-browser", "no browser could be started. Open this address yourself: {address}", address=address
        )
    terminal.line("The inbox opens in your browser.", "green")
