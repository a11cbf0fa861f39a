"""`open`: the pages of this home in a browser."""

import io
import os
from typing import TYPE_CHECKING

import click

from lottisync.answers.devices import Admission, Pages
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock
from lottisync.language import say
from lottisync.problem import Problem
from lottisync.store.instant import iso

if TYPE_CHECKING:
    from lottisync.web.access import Door

PAGE = "open.html"


@click.command("open")
@click.option("--print", "printed", is_flag=True, help="Print the address, which lets one browser in once.")
@click.option("--phone", is_flag=True, help="Show a QR code that lets one browser of your network in.")
@common
def open_pages(terminal: Terminal, printed: bool, phone: bool) -> None:
    """Open the inbox in a browser. A daemon has to run.

    \b
    lottisync open
    lottisync open --phone
    """
    from lottisync.daemon.pages import door_of

    home = terminal.home
    door = door_of(home)
    if phone:
        _let_in(terminal, door)
        return
    address = door.address
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
        terminal.line(address)
        raise Problem("no-browser", "no browser could be started. Open the address above yourself")
    terminal.line(say("The inbox opens in your browser."), "green")


def _let_in(terminal: Terminal, door: "Door") -> None:
    """Show the code that lets one browser in. Raises `Problem` if the network is not served."""
    from lottisync.daemon.pages import new_secret
    from lottisync.web.admission import Browsers, admission_address

    if not door.network:
        raise Problem(
            "not-on-network",
            "the pages are served on this machine only. Start the daemon so: lottisync daemon --web 0.0.0.0:22443",
        )
    made = Browsers(terminal.home.path, clock.now, new_secret).offer()
    address = admission_address(door.network[0], made.code)
    value = Admission(address, made.code, iso(made.until), door.network, door.fingerprint or None)
    terminal.emit(value, lambda: _shown(terminal, value))


def _shown(terminal: Terminal, value: Admission) -> None:
    import segno

    drawn = io.StringIO()
    segno.make_qr(value.address).terminal(drawn, border=2, compact=True)
    terminal.line(say("Scan this with the phone, and press the button there. It lets in one browser, for ten minutes."))
    for line in drawn.getvalue().splitlines():
        click.echo(line)
    terminal.line(say("Or open this address there, and type {code}", code=value.code))
    terminal.line(f"{value.origins[0]}/enter")
    if value.fingerprint:
        terminal.line(
            say("The phone has to trust this home's certificate once: the page says how. Compare its fingerprint:")
        )
        terminal.line(f"  {value.fingerprint}")
