"""Invitations: `pair --invite`, `pair URI`, and `LOTTISYNC_INVITE` at `init` (docs/specs/16-meeting.md, section 6)."""

import io
import os
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from lottisync.answers.devices import InvitationShown
from lottisync.cli.terminal import Terminal
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.identity.invitation import MOST_ADDRESSES, SECRET_BYTES, Invitation, InvitationOffer, parse_invitation
from lottisync.net.address import Address
from lottisync.store.instant import iso

if TYPE_CHECKING:
    from lottisync.identity.pairing import Paired
    from lottisync.net.pairing import Self

VARIABLE = "LOTTISYNC_INVITE"
"""Where `init` finds an invitation, on a server that is set up by a script."""


def own_side(home: TaskHome) -> "Self":
    """This device in a pairing, with where its daemon is reached."""
    from lottisync.daemon.status import read_status
    from lottisync.device.pairing import introduction
    from lottisync.net.pairing import Self

    running = read_status(home)
    return Self(home.key, home.name, os.urandom, introduction(home, running.port if running else None))


def shown_invitation(terminal: Terminal, me: "Self", where: Address, minutes: int) -> "Paired":
    """Show an invitation and wait until it was used or has expired. Raises `Problem`."""
    from lottisync.net.interfaces import listened_on
    from lottisync.net.pairing import show

    expires = clock.now() + minutes * 60_000
    secret = os.urandom(SECRET_BYTES)

    def make(port: int) -> InvitationOffer:
        reached = sorted(listened_on(where.host), key=lambda each: (each.link_local, each.host))
        at = tuple(dict.fromkeys(str(Address(each.host, port)) for each in reached))[:MOST_ADDRESSES]
        invitation = Invitation(me.key.device_id, secret, expires // 1000, at)
        value = InvitationShown(invitation.uri, port, list(at), iso(expires))
        terminal.emit(value, partial(_show, terminal, invitation.uri, minutes))
        return InvitationOffer(invitation, expires)

    return anyio.run(lambda: show(me, make, where, digit=None, clock=clock.now, ready=lambda port: None))


def accepted(me: "Self", uri: str) -> "Paired":
    """Pair with the device that made an invitation. Raises `PairingError` and `Problem`."""
    from lottisync.net.pairing import accept

    invitation = parse_invitation(uri)
    return anyio.run(lambda: accept(me, invitation))


def join(home: TaskHome, uri: str) -> "Paired":
    """Pair a home that was just made. If that fails the home goes: `init` is all or nothing, and can be tried again."""
    import shutil

    from lottisync.device.pairing import admit

    try:
        paired = accepted(own_side(home), uri)
    except BaseException:
        home.close()
        shutil.rmtree(home.path)
        raise
    admit(home, paired)
    return paired


def _show(terminal: Terminal, uri: str, minutes: int) -> None:
    import segno

    drawn = io.StringIO()
    segno.make(uri, error="l", micro=False).terminal(drawn, border=2, compact=True)
    terminal.line(f"Good once, for {minutes} minutes. On the other device:  lottisync pair '{uri}'")
    terminal.line(f"(or, when it is set up:  {VARIABLE}='{uri}' lottisync init --name NAME)", "dim")
    for line in drawn.getvalue().splitlines():
        click.echo(line)
    terminal.line("Anyone who has this link before it is used can join. Waiting ...", "dim")
