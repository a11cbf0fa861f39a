"""`verify`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import click

from lottisync.answers.devices import ComparedStore, Named, VerifiedAnswer
from lottisync.cli import completion
from lottisync.cli.terminal import Terminal, common, listen_at
from lottisync.language import marked, say, several
from lottisync.net.listener import DEFAULT_PORT
from lottisync.problem import Problem, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from lottisync.sync.verification_request import VerificationRequest

SAID = {
    "equal": marked("the same"),
    "differs": marked("differs, and could not be mended. See: lottisync check, on both"),
    "unsettled": marked("could not be compared: it is written to all the time. Try again later"),
    "refused": marked("not compared: the other device has been asked too often. Try again in an hour"),
    "waiting": marked("could not be compared: the two do not know the same yet. Try again when they are in step"),
    "away": marked("not compared"),
    "left-out": marked("not compared: one of the two devices cannot use its file. See: lottisync status, on both"),
    "not-shared": marked("the other device does not have this store: nothing to compare"),
}


@click.command()
@click.argument("peer", required=False, shell_complete=completion.devices)
@click.option(
    "--wait",
    type=click.IntRange(0, 86_400),
    default=15,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a device.",
)
@click.option("--listen", metavar="HOST[:PORT]", help=f"Where to listen if no daemon runs; else [::]:{DEFAULT_PORT}.")
@click.option("--no-discovery", is_flag=True, help="If no daemon runs, do not look for others by mDNS.")
@common
def verify(terminal: Terminal, peer: str | None, wait: int, listen: str | None, no_discovery: bool) -> None:
    """Compare all that is stored here with the device PEER, row by row, and mend what differs.

    Without PEER, with every device that can be reached. It needs no daemon here, but one there. Exit code 1 if
    something could not be compared or mended.

    \b
    lottisync verify
    lottisync verify phone --wait 60
    """
    from lottisync.daemon.status import read_status
    from lottisync.daemon.verification import verify as compare
    from lottisync.device.membership import member_named

    home = terminal.home
    roster = home.roster()
    running = read_status(home)
    active = {member.device: member.name for member in roster.active_peers()}
    if peer is not None:
        member = member_named(roster, peer)
        if member.device == home.key.device_id:
            raise Usage(
                "this-device", "{name} is this device. Name another one. See: lottisync devices", name=member.name
            )
        if member.device not in active:
            raise Problem(
                "not-active", "{name} is {status}. See: lottisync devices", name=member.name, status=member.status
            )
        asked = [member.device]
    else:
        connected = {state.device for state in running.peers if state.connected} if running else set(active)
        asked = [device for device in active if device in connected]
    if not active:
        raise Problem("no-peer", "there is no other device to compare with. Pair one with: lottisync pair")
    where = listen_at(listen)
    with _bar(terminal, active) as progress:
        found = anyio.run(
            lambda: compare(
                home,
                asked,
                listen=where,
                discover=not no_discovery,
                wait=wait,
                report=lambda code, text: None,
                progress=progress,
            )
        )
    rows = [_row(request, active[request.device]) for request in found]
    away = {
        device
        for device in active
        if device in asked and all(row.outcome == "away" for row in rows if row.device_id == device)
    }
    unasked = [] if peer is not None else [device for device in active if device not in asked]
    if away == set(asked):
        names = ", ".join(active[device] for device in (*asked, *unasked))
        raise Problem(
            "not-reachable",
            "not reachable now: {names}. Nothing was compared. Start there: lottisync daemon",
            names=names,
        )
    rows = [row for row in rows if row.device_id not in away]

    def shown() -> None:
        terminal.table(["device", "store", ""], [(row.device_name, row.store, _said(row)) for row in rows])
        for device in (*away, *unasked):
            terminal.line(
                say("{active} is not reachable now: nothing was compared with it.", active=active[device]), "yellow"
            )

    terminal.emit(VerifiedAnswer(rows, [Named(device, active[device]) for device in (*away, *unasked)]), shown)
    if any(row.outcome not in ("equal", "not-shared") for row in rows):
        raise click.exceptions.Exit(1)


def _row(request: "VerificationRequest", name: str) -> ComparedStore:
    outcome: Any = "away" if request.state in ("asked", "comparing") else str(request.state)
    return ComparedStore(request.device, name, request.store, outcome, request.mended)


def _said(row: ComparedStore) -> str:
    if not row.mended:
        return say(SAID[row.outcome])
    was = several("{count} entity differed and was mended", "{count} entities differed and were mended", row.mended)
    return was if row.outcome == "equal" else say("{one}; {other}", one=was, other=say(SAID[row.outcome]))


@contextmanager
def _bar(terminal: Terminal, names: dict[str, str]) -> "Iterator[Callable[[list[VerificationRequest]], None]]":
    """One bar over everything that is read here; what the other device reads meanwhile is not known."""
    with terminal.gauge(say("comparing")) as show:

        def progress(found: "list[VerificationRequest]") -> None:
            now = next((request for request in found if request.state == "comparing"), None)
            what = (
                say("comparing {store} with {names}", store=now.store, names=names[now.device])
                if now
                else say("comparing")
            )
            total = max(1, len(found))
            done = sum(
                1.0 if not request.open else min(0.9, request.done / request.total) if request.total else 0.0
                for request in found
            )
            show(what, done / total)

        yield progress
