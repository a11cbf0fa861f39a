"""`pair`: two devices come to trust each other, by a code or an invitation."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import click

from lottisync.answers.devices import (
    CodeAnswer,
)
from lottisync.cli.devices import identity_problems
from lottisync.cli.paired import listens_at, own_side, tell_paired
from lottisync.cli.terminal import Terminal, address, common, remote_address
from lottisync.device import clock
from lottisync.device.membership import SHOWN_OF_AN_ID
from lottisync.identity.device_key import grouped
from lottisync.identity.pairing_message import PairingError
from lottisync.identity.pairing_offer import OFFER_LIFETIME_MS, CodeOffer, new_code, parse_code
from lottisync.language import say
from lottisync.net.address import Address
from lottisync.problem import Problem, Usage
from lottisync.store.instant import iso


@click.command()
@click.argument("code", required=False)
@click.option("--at", "at", metavar="HOST:PORT", help="Where the device that shows the code listens.")
@click.option("--invite", is_flag=True, help="Show an invitation instead of a code: as text, and as a QR code.")
@click.option("--minutes", type=click.IntRange(1, 1440), default=15, help="How long the invitation is good.")
@click.option("--no-wait", is_flag=True, help="Give the invitation to the daemon, and do not wait until it was used.")
@click.option("--invitations", "listed", is_flag=True, help="List the invitations that were given out, and who joined.")
@click.option("--take-back", type=int, metavar="NUMBER", help="End the invitation of this number.")
@click.option("--listen", metavar="HOST[:PORT]", help="Where to wait for the other device; else where the daemon does.")
@click.option("--no-discovery", is_flag=True, help="Do not announce this device by mDNS while the code is shown.")
@click.option("--yes", is_flag=True, help="Also take back a device that was taken out for good.")
@common
def pair(
    terminal: Terminal,
    code: str | None,
    at: str | None,
    invite: bool,
    minutes: int,
    no_wait: bool,
    listed: bool,
    take_back: int | None,
    listen: str | None,
    no_discovery: bool,
    yes: bool,
) -> None:
    """Without CODE, show one and wait; with CODE, or the invitation that another device shows, pair with it.

    An invitation is answered by the daemon; where none runs, by this command while it runs.

    \b
    lottisync pair
    lottisync pair 123-456-789 --at 192.168.1.5:22067
    lottisync pair --invite
    """
    from lottisync.cli import invitations
    from lottisync.identity.invitation import is_invitation

    if at is not None and (code is None or is_invitation(code)):
        raise Usage("bad-usage", "--at goes with the CODE that the other device shows, as in: pair CODE --at HOST:PORT")
    if sum((invite, listed, take_back is not None, code is not None)) > 1:
        raise Usage("bad-usage", "--invite, --invitations and --take-back go without a CODE, and one at a time")
    if no_wait and not invite:
        raise Usage("bad-usage", "--no-wait goes with --invite")
    if listed:
        invitations.show_invitations(terminal)
    elif take_back is not None:
        invitations.take_back(terminal, take_back)
    elif invite:
        invitations.invite(terminal, _meeting_place(terminal, listen), minutes, takes_back=yes, wait=not no_wait)
    else:
        _pair(terminal, code, at, _meeting_place(terminal, listen), discover=not no_discovery, yes=yes)


def _meeting_place(terminal: Terminal, listen: str | None) -> Address:
    """Where to wait for the other device: without --listen on any port, at the addresses of the daemon (MEET-40)."""
    return Address(*address(listen, what="--listen", usual=0)) if listen else Address(listens_at(terminal.home).host, 0)


def _pair(terminal: Terminal, code: str | None, at: str | None, where: Address, *, discover: bool, yes: bool) -> None:
    """Show a code; or join with the code or the invitation that another device shows."""
    from lottisync.cli.invitations import accepted
    from lottisync.device.pairing import admit
    from lottisync.identity.invitation import is_invitation
    from lottisync.net.pairing import show_code, type_code

    home = terminal.home
    me = own_side(home)._replace(consent=lambda device: _ask_about_revoked(terminal, device, yes=yes))
    with identity_problems(), _as_the_person_said():
        if code is not None and is_invitation(code):
            paired = accepted(me, code)
        elif code is None:
            expires = clock.now() + OFFER_LIFETIME_MS
            offer = CodeOffer(new_code(clock.draw(64)), expires)

            def ready(port: int) -> None:
                shown = CodeAnswer(offer.shown, port, iso(expires))
                terminal.emit(shown, lambda: _show_code(terminal, offer.shown, port))

            def tell(error: PairingError) -> None:
                terminal.warn(say("not paired: {why}", why=error))

            paired = anyio.run(
                lambda: show_code(me, offer, where, discover=discover, clock=clock.now, ready=ready, tell=tell)
            )
        else:
            digits = parse_code(code)
            target = remote_address(at, what="--at") if at else None
            paired = anyio.run(lambda: type_code(me, digits, at=target, search_from=where.host))
        name, own = admit(home, paired)
    tell_paired(terminal, paired.peer_id, paired.words, (paired.peer_name, name), (me.name, own))


@contextmanager
def _as_the_person_said() -> Iterator[None]:
    """A pairing that the person of this device did not want ends with the answer to the question."""
    from lottisync.net.pairing import NotWanted

    try:
        yield
    except NotWanted as error:
        raise error.problem from None


def _ask_about_revoked(terminal: Terminal, device: str, *, yes: bool) -> None:
    """Ask, because the person has revoked this device (lost, stolen, sold): another person may have it now. The other
    device waits for the answer."""
    member = terminal.home.roster().members.get(device)
    if member is not None and member.status == "revoked":
        was = f"{member.name} ({grouped(member.device)[:SHOWN_OF_AN_ID]})"
        with _interruptible():
            terminal.confirm(
                say("{was} was taken out for good. It has this code now. Take it back in?", was=was), yes=yes
            )


@contextmanager
def _interruptible() -> Iterator[None]:
    """A question that Ctrl-C answers with no. (The event loop waits for the answer, and would look at Ctrl-C only after
    it.)"""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except click.Abort:
        raise Problem("not-confirmed", "nothing was changed") from None
    finally:
        signal.signal(signal.SIGINT, before)


def _show_code(terminal: Terminal, code: str, port: int) -> None:
    terminal.line(say("On the other device, within two minutes:  lottisync pair {code}", code=code))
    terminal.line(
        say("(if it finds nothing:  lottisync pair {code} --at THIS-MACHINE:{port})", code=code, port=port), "dim"
    )
