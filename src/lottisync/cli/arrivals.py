"""`sync --wait`: whether everything of this device is on another one."""

import time
from collections.abc import Iterator

import click

from lottisync.answers.devices import Arrived, Named
from lottisync.cli import completion
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.watch import changes
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import lacked, read_status
from lottisync.language import listed, say, several
from lottisync.problem import Problem, Usage
from lottisync.store.store import Store
from lottisync.sync.peer import not_shared

SECONDS = 60


@click.command()
@click.argument("device", required=False, shell_complete=completion.devices)
@click.option("--wait", "waits", is_flag=True, help="Wait until everything is there.")
@click.option(
    "--seconds", type=click.IntRange(0, 86_400), default=SECONDS, show_default=True, help="How long to wait for it."
)
@common
def sync(terminal: Terminal, device: str | None, waits: bool, seconds: int) -> None:
    """Say whether DEVICE has everything that is on this device; without DEVICE, each of your devices.

    The daemon brings it there. The exit code is 1 if something is missing in the end, or if a device was not reached.

    \b
    lottisync sync --wait phone
    lottisync sync --wait --seconds 600
    """
    home = terminal.home
    names = _asked(home, device)
    until = time.monotonic() + (seconds if waits else 0)
    missing = most = _missing(home, names)
    with terminal.gauge(say("waiting")) as show:
        for missing in _looks(home, names, until):
            left = _total(missing)
            most = missing if left > _total(most) else most
            show(several("{count} change to go", "{count} changes to go", left), 1 - left / max(1, _total(most)))
    if late := {names[ident]: count for ident, count in missing.items() if count != 0}:
        raise _late(home, late)
    there = Arrived([Named(ident, name) for ident, name in names.items()])
    terminal.emit(there, lambda: _say_there(terminal, home, names))


def _say_there(terminal: Terminal, home: TaskHome, names: dict[str, str]) -> None:
    """Print that everything is there, and which stores are left out because a device does not have them."""
    terminal.line(say("Everything is on {names}.", names=listed(list(names.values()))), "green")
    running = read_status(home)
    for peer in running.peers if running else []:
        if peer.device in names:
            for sentence in not_shared(peer.name, peer.only_here, (), peer.failing_there):
                terminal.line(sentence, "yellow")


def _asked(home: TaskHome, device: str | None) -> dict[str, str]:
    """The devices that are waited for, by id, with their names."""
    from lottisync.device.membership import member_named

    roster = home.roster()
    active = {member.device: member.name for member in roster.active_peers()}
    if not active:
        raise Problem("no-peer", "there is no other device. Pair one with: lottisync pair")
    if device is None:
        return active
    member = member_named(roster, device)
    if member.device not in active:
        raise Usage("not-active", "{name} is not another device that is in use", name=member.name)
    return {member.device: member.name}


def _looks(home: TaskHome, names: dict[str, str], until: float) -> Iterator[dict[str, int | None]]:
    """Yields what is missing, whenever that may have changed, until nothing is missing or the time is over."""
    for _ in changes(home, until):
        missing = _missing(home, names)
        yield missing
        if not any(count != 0 for count in missing.values()) or time.monotonic() >= until:
            return


def _missing(home: TaskHome, names: dict[str, str]) -> dict[str, int | None]:
    """How many changes each device lacks, of the stores that it has; None if that is not known."""
    running = read_status(home)
    lacks = lacked(home, running)
    not_there = {peer.device: set(peer.only_here) for peer in running.peers} if running else {}
    empty = {name: 0 for name, store in home.stores.items() if _is_empty(store)}
    found: dict[str, int | None] = {}
    for ident in names:
        of_stores = empty | lacks.get(ident, {})
        wanted = set(home.stores) - not_there.get(ident, set())
        found[ident] = sum(of_stores[name] for name in wanted) if wanted <= of_stores.keys() else None
    return found


def _is_empty(store: Store) -> bool:
    with store.reading() as reader:
        return reader.count() == 0


def _total(missing: dict[str, int | None]) -> int:
    return sum(count or 0 for count in missing.values())


def _late(home: TaskHome, late: dict[str, int | None]) -> Problem:
    said = ", ".join(_said(name, count) for name, count in late.items())
    if read_status(home) is None:
        return Problem("not-there-yet", "{said}, and no daemon runs here", hint="daemon", said=said)
    return Problem("not-there-yet", "{said}", hint="status", said=said)


def _said(name: str, count: int | None) -> str:
    if count is None:
        return say("{name} was not reached yet", name=name)
    return several("{name} lacks {count} change", "{name} lacks {count} changes", count, name=name)
