"""`devices`: who belongs to this person, and what may be done to each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click

from lottisync.answers import devices as answers
from lottisync.answers.devices import (
    Acknowledged,
    AddressGiven,
    DeviceAnswer,
    DeviceChanged,
    Devices,
    Named,
)
from lottisync.cli import completion
from lottisync.cli.help_pages import Group
from lottisync.cli.hints import away_text
from lottisync.cli.terminal import Terminal, address, common, remote_address
from lottisync.cli.times import ago, local
from lottisync.device import clock
from lottisync.device.membership import SHOWN_OF_AN_ID
from lottisync.identity.device_key import IdentityError, grouped
from lottisync.language import marked, say, several, translated
from lottisync.net.address import Address
from lottisync.problem import Problem, Sentence, Usage
from lottisync.store.instant import iso
from lottisync.sync.peer import AddressState

if TYPE_CHECKING:
    from lottisync.web.admission import Browser, Browsers

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def identity_problems() -> Iterator[None]:
    """An invalid name, id or code on the command line is a wrong call: exit code 2."""
    try:
        yield
    except IdentityError as error:
        if error.code in ("bad-value", "malformed-code"):
            error.exit_code = Usage.exit_code
        raise


def sure(function: F) -> F:
    """Give a command that cannot be taken back `--yes`."""
    return click.option("--yes", is_flag=True, help="Do it without asking.")(function)


@click.group(cls=Group, invoke_without_command=True)
@common
@click.pass_context
def devices(context: click.Context, terminal: Terminal) -> None:
    """Without a verb: list this person's devices, as far as this one knows them.

    \b
    lottisync devices
    """
    if context.invoked_subcommand is not None:
        return
    from lottisync.daemon.status import absences, clocks_heard, known_addresses, lacked, read_status
    from lottisync.sync.peer import clock_trouble

    home = terminal.home
    roster = home.roster()
    running = read_status(home)
    connected = {state.device for state in running.peers if state.connected} if running else set()
    ahead = {state.device: state.ahead for state in running.peers} if running else {}
    heard = clocks_heard(home, running)
    lacks, where, away = lacked(home, running), known_addresses(home, running), absences(home, running)
    rows = [
        DeviceAnswer(
            member.device,
            member.name,
            member.status,
            member.device == home.key.device_id,
            member.device in connected,
            lacks.get(member.device),
            where.get(member.device, []),
            ahead.get(member.device) or (away[member.device].clock_said if member.device in away else None),
            away.get(member.device) if member.status == "active" else None,
        )
        for member in roster.members.values()
    ]

    def shown() -> None:
        terminal.table(
            ["name", "status", "", "device"],
            [
                (row.name, say(STATUSES[row.status]), _note(row), grouped(row.id))
                for row in rows
            ],
        )  # fmt: skip
        for row in rows:
            off, at = heard.get(row.id, (None, None))
            silent_since = None if row.connected else at
            trouble = clock_trouble(row.name, off, row.clock_said, clock.now(), heard_at=silent_since)
            if row.status == "active" and trouble is not None:
                terminal.line(translated(trouble) + ".", "yellow")
            if row.away and (said := away_text(row.away, row.name)):
                terminal.line(f"{row.name}  {said}", "dim")
            for each in row.addresses:
                terminal.line(f"{row.name}  {_shown_address(row, each)}", "dim")

    terminal.emit(Devices(rows), shown)


STATUSES = {
    "active": marked("active"),
    "retired": marked("retired"),
    "revoked": marked("revoked"),
    "unvouched": marked("unvouched"),
}
SAID_BY = {
    "announced": marked("announced now"),
    "handed-over": marked("handed over at pairing"),
    "given": marked("added by hand"),
    "recorded": marked("named by itself"),
}


def _shown_address(row: DeviceAnswer, each: AddressState) -> str:
    sources = ", ".join(say(SAID_BY[source]) for source in each.sources if source in SAID_BY)
    if row.this:
        return f"{each.address}  {sources}"
    worked = (
        say("worked {worked_at}", worked_at=ago(each.worked_at, clock.now()))
        if each.worked_at
        else say("never worked from here")
    )
    failed = f"; {translated(each.failure)}" if each.failure else ""
    return f"{each.address}  {', '.join(filter(None, (sources, worked)))}{failed}"


def _note(row: DeviceAnswer) -> str:
    if row.this:
        return say("this device")
    missing = sum((row.lacks or {}).values())
    lacks = several("lacks {count} change", "lacks {count} changes", missing) if missing else ""
    return ", ".join(filter(None, (say("connected") if row.connected else "", lacks)))


@devices.command("address")
@click.argument("name")
@click.argument("where", metavar="HOST:PORT", required=False)
@click.option("--remove", metavar="HOST:PORT", help="Take away an address that was entered by hand.")
@common
def device_address(terminal: Terminal, name: str, where: str | None, remove: str | None) -> None:
    """Say where the device NAME is reached, on all your devices: a VPN's address, say, or a name in DNS.

    The port is that of its daemon. Its own addresses a device tells the others by itself.

    \b
    lottisync devices address phone 100.64.0.7:22067
    lottisync devices address phone --remove 100.64.0.7:22067
    """
    from lottisync.device.addresses import give, take_away
    from lottisync.device.membership import member_named

    if (where is None) is (remove is None):
        raise Usage("bad-usage", "give either HOST:PORT or --remove HOST:PORT")
    home = terminal.home
    member = member_named(home.roster(), name)
    if where is not None:
        at = remote_address(where, what=Sentence("the address of {name}", name=member.name)).within("")
        give(home.space, member.device, at, clock.now())
        found = {"name": member.name, "at": at}
        said = (
            say("{name} is looked for at {at}, too, on every interface.", **found)
            if at.link_local
            else say("{name} is looked for at {at}, too.", **found)
        )
    else:
        at = Address(*address(str(remove), what="--remove")).within("")
        if not take_away(home.space, member.device, at, clock.now()):
            raise Problem("unknown-address", "{at} was not entered for {name}", hint="devices", at=at, name=member.name)
        said = say("{name} is no longer looked for at {at}.", name=member.name, at=at)
    value = AddressGiven(member.device, member.name, str(at), where is not None)
    terminal.emit(value, lambda: terminal.line(said, "green"))


@devices.command()
@common
def acknowledge(terminal: Terminal) -> None:
    """Say that you know which devices were copied or restored from a backup: `status` no longer shows them.

    \b
    lottisync devices acknowledge
    """
    from lottisync.daemon.overview import acknowledge as note

    new = note(terminal.home, clock.now())
    said = say("Noted.") if new else say("There is nothing that you have not acknowledged.")
    terminal.emit(Acknowledged(new), lambda: terminal.line(said))


@devices.command()
@click.argument("name", shell_complete=completion.devices)
@common
def retire(terminal: Terminal, name: str) -> None:
    """Put the device NAME away: nobody waits for it any more.

    It stays one of yours. When it is used again it comes back by itself, and what was written on it
    meanwhile is kept. One that was lost or stolen is revoked instead.

    \b
    lottisync devices retire phone
    """
    from lottisync.daemon.status import read_status
    from lottisync.device import roster_verbs

    home = terminal.home
    running = read_status(home)
    connected = {peer.device for peer in running.peers if peer.connected} if running else set()
    with identity_problems():
        member = roster_verbs.retire(home, name, connected)
    value = DeviceChanged(member.device, member.name, "retired")
    terminal.emit(
        value, lambda: terminal.line(say("{name} is retired: nobody waits for it any more.", name=member.name), "green")
    )


@devices.command()
@click.argument("name", shell_complete=completion.devices)
@click.option("--keep", multiple=True, metavar="NAME", help="A device that it brought in, and that stays.")
@click.option("--keep-none", is_flag=True, help="All that it alone brought in go with it.")
@sure
@common
def revoke(terminal: Terminal, name: str, keep: tuple[str, ...], keep_none: bool, yes: bool) -> None:
    """Take the device NAME out for good: it was lost, stolen or sold.

    No device of yours talks to it from the moment it hears of this. What it already holds can't be recalled.

    \b
    lottisync devices revoke phone
    lottisync devices revoke phone --keep tablet
    """
    from lottisync.device import roster_verbs
    from lottisync.device.membership import member_named

    home = terminal.home
    roster = home.roster()
    out = roster_verbs.leaving(home, name)
    member, resting = out
    kept = {member_named(roster, each).device for each in keep}
    if stray := kept - {each.device for each in resting}:
        raise Usage(
            "bad-value",
            "{name} stays anyway; --keep is for whom {name2} brought in",
            name=roster.members[min(stray)].name,
            name2=name,
        )
    if resting and not keep and not keep_none:
        names = ", ".join(each.name for each in resting)
        raise Problem(
            "others-rest-on-it",
            "{name} alone brought in {names}, and a person who has stolen it may have done that. Say who stays: --keep "
            "NAME for each of them, or --keep-none",
            name=member.name,
            names=names,
        )
    gone = [Named(each.device, each.name) for each in resting if each.device not in kept]
    names = " and ".join([member.name, *(each.name for each in gone)])
    terminal.confirm(
        say("Take out {names} ({device}) for good?", names=names, device=grouped(member.device)[:SHOWN_OF_AN_ID]),
        yes=yes,
    )
    with identity_problems():
        roster_verbs.revoke(home, out, kept)
    value = DeviceChanged(member.device, member.name, "revoked", also_revoked=gone)

    def said() -> None:
        terminal.line(say("{names} out: no device of yours talks to it any more.", names=names), "green")
        terminal.line(say("What it already holds can't be recalled."), "dim")

    terminal.emit(value, said)


@devices.command("browsers")
@common
def list_browsers(terminal: Terminal) -> None:
    """List the browsers of your network that see the pages of this device.

    \b
    lottisync devices browsers
    """
    found = [_answer(one) for one in _browsers(terminal).all()]

    def shown() -> None:
        rows = [(one.name, local(one.last_seen_at), local(one.admitted_at), one.id) for one in found]
        terminal.table(["name", "last seen", "let in", "id"], rows)
        if not rows:
            terminal.line(say("None is let in. Let one in: lottisync open --phone"), "dim")

    terminal.emit(answers.BrowsersAnswer(found), shown)


@devices.command("revoke-browser")
@click.argument("name")
@common
def revoke_browser(terminal: Terminal, name: str) -> None:
    """Put out the browser NAME (or id), at once.

    \b
    lottisync devices revoke-browser "Firefox on Android"
    """
    out = _answer(_browsers(terminal).revoke(name))
    terminal.emit(out, lambda: terminal.line(say("{name} sees nothing any more.", name=out.name), "green"))


def _answer(one: "Browser") -> answers.BrowserAnswer:
    return answers.BrowserAnswer(one.id, one.name, iso(one.admitted), iso(one.seen))


def _browsers(terminal: Terminal) -> "Browsers":
    from lottisync.daemon.pages import new_secret
    from lottisync.web.admission import Browsers

    return Browsers(terminal.home.path, clock.now, new_secret)


@devices.command()
@click.argument("name", shell_complete=completion.devices)
@click.argument("new_name")
@common
def rename(terminal: Terminal, name: str, new_name: str) -> None:
    """Call the device NAME something else, on all your devices.

    \b
    lottisync devices rename phone "old phone"
    """
    from lottisync.device import roster_verbs

    with identity_problems():
        member = roster_verbs.rename(terminal.home, name, new_name)
    value = DeviceChanged(member.device, new_name, member.status, former_name=member.name)
    terminal.emit(
        value,
        lambda: terminal.line(say("{name} is called {new_name} now.", name=member.name, new_name=new_name), "green"),
    )


@devices.command()
@click.argument("name")
@sure
@common
def renew(terminal: Terminal, name: str, yes: bool) -> None:
    """Make this home, a copy of another device's, a device of its own called NAME.

    For a home that was copied to a second machine, where both are used: a device can't run twice. All that the
    copy holds stays. Pair it with one of your devices afterwards. Stop its daemon before.

    \b
    lottisync devices renew desktop
    """
    from lottisync.device.alone import alone
    from lottisync.device.roster_verbs import refuse_taken

    home = terminal.home
    was = home.name
    refuse_taken(home, name)
    terminal.confirm(
        say("Make this home, a copy of {was}'s, a device of its own called {name}?", was=was, name=name), yes=yes
    )

    async def change() -> None:
        async with alone(home.path):
            home.renew(name)

    with identity_problems():
        anyio.run(change)
    value = DeviceChanged(home.key.device_id, name, "active", former_name=was)
    terminal.emit(
        value,
        lambda: terminal.line(
            say(
                "This home is a device of its own now, {name}, no more {was}. "
                "Bring it back to the others: lottisync pair",
                name=name,
                was=was,
            )
        ),
    )
