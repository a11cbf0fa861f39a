"""`init` and `status`."""

import os
import socket
from datetime import datetime
from typing import Any

import click

from lottisync.answers.devices import Copy, Made, Overview, Peer, StoresMade
from lottisync.cli.hints import event_text, told
from lottisync.cli.invitations import told_of
from lottisync.cli.terminal import Terminal, common, waits_for_you
from lottisync.cli.watch import watchable
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.sync.duplicate_key import warning
from lottisync.sync.peer import clock_warning, not_shared


@click.command()
@click.option("--name", help="What people call this device, like laptop; the name of this machine if not given.")
@click.option("--missing", is_flag=True, help="Of a home: make the stores that are missing, for the others to fill.")
@common
def init(terminal: Terminal, name: str | None, missing: bool) -> None:
    """Make this device's home: its key and its three stores.

    With an invitation in LOTTISYNC_INVITE it joins at once."""
    from lottisync.cli.devices import identity_problems
    from lottisync.cli.invitations import VARIABLE, join
    from lottisync.identity.device_key import grouped
    from lottisync.identity.invitation import parse_invitation

    name = name or machine_name()
    if missing:
        _make_missing(terminal, name)
        return
    with identity_problems():
        uri = os.environ.get(VARIABLE)
        if uri:
            parse_invitation(uri)  # before anything is made
        home = TaskHome.create(terminal.path, name)
        paired = join(home, uri) if uri else None
    device = home.key.device_id

    def shown() -> None:
        terminal.line(f"{name} is ready in {home.path}", "green")
        terminal.line(f"device  {grouped(device)}")
        if paired is not None:
            terminal.line(f"paired  with {paired.peer_name} ({' '.join(paired.words)})")
        terminal.line("next    lottisync daemon" + ("" if paired else ", and on another device: lottisync pair"))

    peer = (paired.peer_id, paired.peer_name) if paired else (None, None)
    terminal.emit(Made(device, name, str(home.path), *peer), shown)


def machine_name() -> str:
    """What this machine is called, as far as that is a name for a device."""
    from lottisync.identity.device_key import IdentityError
    from lottisync.identity.device_name import MAX_NAME_CHARACTERS, parse_device_name

    try:
        return parse_device_name(socket.gethostname().partition(".")[0][:MAX_NAME_CHARACTERS])
    except IdentityError:
        return "device"


def _make_missing(terminal: Terminal, name: str) -> None:
    from lottisync.cli.devices import identity_problems

    with identity_problems():
        made = terminal.home.replace_lost(name)
    if not made:
        raise Problem("nothing-missing", "no store is missing in {path}; nothing was changed", path=terminal.path)

    def shown() -> None:
        terminal.line(f"Made, empty: {', '.join(made)}. The other devices fill what they have.", "green")
        if "space" in made:
            terminal.line(f"This device is called {name} and knows no other. Pair it again: lottisync pair", "yellow")

    terminal.emit(StoresMade(str(terminal.path), made), shown)


@click.command()
@common
@watchable
def status(terminal: Terminal) -> None:
    """Show the stores, whether a daemon runs, and the state of the other devices. Changes nothing."""
    from lottisync.daemon.overview import overview

    found = overview(terminal.home, clock.now(), lambda: _waiting(terminal))
    terminal.emit(found, lambda: _show(terminal, found))


def _waiting(terminal: Terminal) -> int | None:
    """How many proposals want the person's word; None where the index of them can't be kept, on a full disk say."""
    try:
        return index.waiting(terminal.home.agent, clock.now())
    except Problem as problem:
        terminal.warn(f"the proposals that wait for you could not be counted: {told(problem)}")
        return None


def _show(terminal: Terminal, found: Overview) -> None:
    daemon = found.daemon
    terminal.line(f"{found.name}  {found.home}", "bold")
    terminal.line(f"daemon  running on port {daemon.port} (pid {daemon.pid})" if daemon else "daemon  not running")
    if found.proposals_waiting:
        terminal.line(f"{waits_for_you(found.proposals_waiting)}: lottisync review", "yellow")
    terminal.table(
        ["store", "entities", "digest"],
        [(name, f"{store.entities:,}", store.digest[:16]) for name, store in found.stores.items()],
    )
    _show_trouble(terminal, found)
    for peer in found.peers:
        _show_trouble_with(terminal, peer)
    if not found.peers:
        terminal.line("No other device yet. Run: lottisync pair")
    else:
        terminal.table(["device", "state", "", "last seen"], [_peer_row(peer) for peer in found.peers])
    for line in filter(None, map(told_of, found.invitations)):
        terminal.line(line)
    for agent in found.asleep:
        terminal.line(f"{agent.agent_name} gave up: {agent.asleep_because}  (lottisync agent resume)", "yellow")
    if found.nearby:
        terminal.line(f"{found.nearby} more nearby that this device is not paired with. Pair with: lottisync pair")


def _show_trouble(terminal: Terminal, found: Overview) -> None:
    if found.clock_doubt:
        terminal.line(found.clock_doubt + ".", "bold red")
    for name, store in found.stores.items():
        if store.quarantined:
            terminal.line(f"{name}: {store.quarantined} came that cannot be taken here. See: lottisync check", "yellow")
    new = [copy for copy in found.copies if not copy.acknowledged]
    for copy in new:
        terminal.line(_restored(copy), "yellow")
    if new:
        terminal.line("When you have read this: lottisync devices acknowledge", "dim")
    for row in found.damaged:
        terminal.line(f"{row} is not what was stored. See: lottisync check", "bold red")
    if found.runs_twice:
        terminal.line(event_text("duplicate-key", warning(None)) + ".", "bold red")


def _restored(copy: Copy) -> str:
    """In the person's words: what happened, and that nothing is lost."""
    backup = "a backup"
    if copy.backup_at:
        made = datetime.fromisoformat(copy.backup_at).astimezone()
        backup += f" of {made.day} {made:%B %Y}"
    if not copy.kept:
        rest = "no change made since then is known here"
    elif copy.kept == 1:
        rest = "1 change made since then was kept"
    else:
        rest = f"{copy.kept:,} changes made since then were kept"
    return f"{copy.device_name} was restored from {backup} (or copied); {rest}."


def _show_trouble_with(terminal: Terminal, peer: Peer) -> None:
    if peer.runs_twice:
        terminal.line(event_text("duplicate-key", warning(peer.name)) + ".", "bold red")
    if peer.clock_said:
        terminal.line(clock_warning(peer.name, peer.clock_said) + ".", "yellow")
    for line in not_shared(peer.name, peer.only_here, peer.only_there):
        terminal.line(line, "yellow")
    for name, count in peer.mended.items():
        entities = "1 entity" if count == 1 else f"{count:,} entities"
        terminal.line(
            f"{entities} of {name} differed from {peer.name}'s although nothing was missing: mended.", "yellow"
        )


def why(peer: Peer) -> str:
    """Why a device is away, in the person's words (MEET-26)."""
    if peer.away == "stopped" and peer.left_at:
        return f"it was stopped at {peer.left_at[:16].replace('T', ' ')}"
    if peer.away == "no-address":
        return "no address known. Add one: lottisync devices address NAME HOST:PORT"
    failing = [(each.failing_since, each) for each in peer.addresses if each.failing_since]
    if not failing:
        return peer.error or (peer.last_failure.text if peer.last_failure else "")
    since, others = min(at for at, _ in failing), f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    first = failing[0][1]
    return f"not reachable at {first.address}{others} since {since[:16].replace('T', ' ')}: {first.error}"


def _percent(done: int, of: int) -> str:
    return f"{100 * done // max(1, of)} %"


def _peer_row(peer: Peer) -> tuple[Any, ...]:
    from rich.text import Text

    if peer.diverged:
        state = Text(f"differs in {', '.join(peer.diverged)}", "bold red")
    elif peer.connected:
        state = Text("in step", "green") if peer.in_step else Text("syncing", "yellow")
    else:
        state = Text("away", "dim")
    lacks = sum((peer.lacks or {}).values())
    notes = [f"lacks {lacks:,} change{'s' if lacks != 1 else ''}"] if lacks else []
    if peer.holds_back:
        notes.append(f"holds back {peer.holds_back:,} deleted")
    notes += [f"comparing {name}: {_percent(done, of)}" for name, (done, of) in peer.comparing.items()]
    # A connected device may still have addresses where it was not found: that is no news.
    away = None if peer.connected else peer.error if peer.away in ("refused", "version") else why(peer)
    return peer.name, state, "; ".join([*notes, *([away] if away else [])]), peer.last_seen_at or "unknown"
