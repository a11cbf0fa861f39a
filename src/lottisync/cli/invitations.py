"""Invitations: `pair --invite`, `pair URI`, and `LOTTISYNC_INVITE` at `init` (docs/specs/16-meeting.md, section 6)."""

import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import click

from lottisync.answers.devices import Invitations, InvitationShown, InvitationState
from lottisync.cli.paired import own_side, tell_paired
from lottisync.cli.terminal import Terminal
from lottisync.cli.times import local
from lottisync.daemon.home import TaskHome
from lottisync.daemon.overview import invitation_states
from lottisync.device import clock
from lottisync.identity.invitation import SECRET_BYTES, parse_invitation
from lottisync.language import marked, say, several
from lottisync.net.address import Address
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso

if TYPE_CHECKING:
    from lottisync.device.invitations import Given
    from lottisync.identity.pairing import Paired
    from lottisync.net.pairing import Self

VARIABLE = "LOTTISYNC_INVITE"
"""Where `init` finds an invitation, on a server that is set up by a script."""
LISTENING_FAILS = (
    marked("Address already in use"),
    marked("Cannot assign requested address"),
    marked("Permission denied"),
)
"""What the system says where nothing can listen, in its words, for the catalogue."""
OPEN_SECONDS = 10.0
"""Seconds within which the daemon listens for a new invitation."""


def invite(terminal: Terminal, where: Address, minutes: int, *, takes_back: bool, wait: bool) -> None:
    """Give an invitation out, show it, and wait until it was used. Raises `Problem` if that does not happen."""

    from lottisync.daemon.status import read_status
    from lottisync.device.invitations import give_out

    home = terminal.home
    daemon = read_status(home) is not None
    if not wait and not daemon:
        raise Problem(
            "no-daemon", "no daemon runs here, so nobody would answer without this command", hint="daemon-or-wait"
        )
    now = clock.now()
    until = now + minutes * 60_000
    made = give_out(home.space, clock.draw(SECRET_BYTES), until, where, now, takes_back=takes_back)

    def show(given: "Given") -> None:
        uri = given.invitation(home.id).uri
        terminal.emit(
            InvitationShown(given.number, uri, given.port, iso(until)),
            lambda: _show(terminal, given.number, uri, minutes, daemon=daemon),
        )

    own_name = home.name
    try:
        used = anyio.run(lambda: _given(home, made, show, daemon=daemon, wait=wait))
    except KeyboardInterrupt:
        who = say("the daemon answers it") if daemon else say("a daemon, once one runs here, answers it")
        terminal.line(
            say(
                "The invitation is good until {until}: {who}. {number}",
                until=_time(until),
                who=who,
                number=_taking_back(made.number),
            ),
            "dim",
        )
        raise
    if used is not None:
        _show_used(terminal, used, own_name)


async def _given(
    home: TaskHome, made: "Given", show: "Callable[[Given], None]", *, daemon: bool, wait: bool
) -> "Given | None":
    """Show the invitation when a program listens for it, and give it again once it was used; None without `wait`."""
    from lottisync.daemon.daemon import one_problem
    from lottisync.device.invitation_server import InvitationServer

    with one_problem():
        async with anyio.create_task_group() as tasks:
            if not daemon:
                tasks.start_soon(InvitationServer(home, lambda code, text: None, made.number).run)
            show(await _opened(home, made))
            used = await _ended(home, made.number) if wait else None
            tasks.cancel_scope.cancel()
    return used


async def _opened(home: TaskHome, made: "Given") -> "Given":
    """The invitation, once a program listens for it. If none can, the invitation is taken back."""
    from lottisync.device.invitations import take_back

    failure = say("the daemon does not answer. See its log")
    with anyio.move_on_after(OPEN_SECONDS):
        async for given in _rows(home, made.number):
            if given.port and not given.failure:
                return given
            if given.failure:
                failure = given.failure
                break
    take_back(home.space, made.number, clock.now())
    raise Problem(
        "cannot-listen", "cannot listen on {listen} ({strerror})", listen=_wanted(made), strerror=Sentence(failure)
    )


def _wanted(made: "Given") -> Address:
    return Address(made.host, made.wanted)


async def _ended(home: TaskHome, number: int) -> "Given":
    """The invitation, once it was used. Raises `Problem` if it has expired."""
    async for given in _rows(home, number):
        state = given.state_at(clock.now())
        if state == "used":
            return given
        if state == "expired":
            break
    raise Problem("expired", "the invitation has expired", hint="invite-again")


async def _rows(home: TaskHome, number: int) -> "AsyncIterator[Given]":
    """The invitation as it is now, and again whenever something was committed, until it is forgotten."""
    from lottisync.device.invitations import given

    async with _ringing(home) as rung:
        while (row := await anyio.to_thread.run_sync(given, home.space, number)) is not None:
            yield row
            await rung()


@asynccontextmanager
async def _ringing(home: TaskHome) -> AsyncIterator[Callable[[], Any]]:
    """Gives a function that waits for the next commit, or for the time after which one looks anyway."""

    from lottisync.store.doorbell import FALLBACK_SECONDS, Bell

    bell = Bell(home.bells, f"invite-{clock.token(6)}")

    async def rung() -> None:
        with anyio.move_on_after(FALLBACK_SECONDS):
            await anyio.wait_readable(bell)
        bell.clear()

    try:
        yield rung
    finally:
        bell.close()


def accepted(me: "Self", uri: str) -> "Paired":
    """Pair with the device that made an invitation. Raises `PairingError` and `Problem`."""
    from lottisync.net.pairing import accept

    invitation = parse_invitation(uri)
    return anyio.run(lambda: accept(me, invitation))


def join(home: TaskHome, uri: str, *, keep_folder: bool) -> "Paired":
    """Pair a home that was just made. If that fails, the home is deleted: `init` does all or nothing, and can be
    tried again. With `keep_folder` its folder stays, empty: it was there before."""
    import shutil

    from lottisync.device.home import LOST_AND_FOUND
    from lottisync.device.pairing import admit

    try:
        paired = accepted(own_side(home), uri)
    except BaseException:  # raised again, also an interrupt: no home that is half made must stay
        home.close()
        for each in home.path.iterdir() if keep_folder else ():
            if each.name != LOST_AND_FOUND:
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        if not keep_folder:
            shutil.rmtree(home.path)
        raise
    admit(home, paired)
    return paired


# -- those that were given out


def take_back(terminal: Terminal, number: int) -> None:
    """End an invitation. Raises `Problem` if it is not open."""
    from lottisync.device import invitations

    invitations.take_back(terminal.home.space, number, clock.now())
    [row] = [row for row in invitation_states(terminal.home, clock.now()) if row.number == number]
    terminal.emit(row, lambda: terminal.line(say("Invitation {number} is no longer good.", number=number), "green"))


def show_invitations(terminal: Terminal) -> None:
    rows = invitation_states(terminal.home, clock.now())

    def shown() -> None:
        if not rows:
            terminal.line(say("No invitation is open, and none ended within a day. Make one: lottisync pair --invite"))
            return
        terminal.table(["invitation", "", ""], [(str(row.number), row.state, _note(row)) for row in rows])

    terminal.emit(Invitations(rows), shown)


def invitation_line(row: InvitationState) -> str | None:
    """A line of `status`: what is open, and which device joined. An invitation that has expired is not shown."""
    if row.state == "expired":
        return None
    return say("Invitation {number}: {row}", number=row.number, row=_note(row))


def _note(row: InvitationState) -> str:
    if row.joined_at is not None:
        return say("{device_name} joined at {joined_at}", device_name=row.device_name, joined_at=_shown(row.joined_at))
    if row.state == "expired":
        return say("ended {until}, and nobody joined", until=_shown(row.until))
    until = say("until {until}", until=_shown(row.until))
    return (
        say("{until}; nobody can answer it now: {failure}", until=until, failure=row.failure) if row.failure else until
    )


def _shown(at: str) -> str:
    return local(at)


def _time(millis: int) -> str:
    return _shown(iso(millis))


def _taking_back(number: int) -> str:
    return say("To take it back: lottisync pair --take-back {number}", number=number)


def _show(terminal: Terminal, number: int, uri: str, minutes: int, *, daemon: bool) -> None:
    import segno

    drawn = io.StringIO()
    segno.make(uri, error="l", micro=False).terminal(drawn, border=2, compact=True)
    terminal.line(
        several(
            "Good once, for {count} minute. On the other device:  lottisync pair '{uri}'",
            "Good once, for {count} minutes. On the other device:  lottisync pair '{uri}'",
            minutes,
            uri=uri,
        )
    )
    terminal.line(
        say("(or, when it is set up:  {variable}='{uri}' lottisync init --name NAME)", variable=VARIABLE, uri=uri),
        "dim",
    )
    for line in drawn.getvalue().splitlines():
        click.echo(line)
    terminal.line(say("Anyone who has this invitation before it is used can join."), "dim")
    if daemon:
        terminal.line(
            say("The daemon answers it, also when this command has ended. {number}", number=_taking_back(number)), "dim"
        )
    else:
        terminal.line(say("No daemon runs here: it is answered while this command runs. Waiting ..."), "dim")


def _show_used(terminal: Terminal, used: "Given", was: str) -> None:
    assert used.device is not None
    assert used.name is not None
    assert used.words is not None
    members = terminal.home.roster().members
    now_called = members[used.device].name if used.device in members else used.name
    tell_paired(terminal, used.device, used.words.split(), (used.name, now_called), (was, terminal.home.name))
