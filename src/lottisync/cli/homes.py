"""`init` and `status`."""

import os
import socket
from datetime import datetime
from typing import Any

import click
import msgspec

from lottisync.cli.hints import told
from lottisync.cli.invitations import described, told_of
from lottisync.cli.stores import device_names
from lottisync.cli.terminal import Terminal, common, waits_for_you
from lottisync.cli.watch import watchable
from lottisync.daemon.home import TaskHome
from lottisync.device import clock, purging
from lottisync.device.peers import last_failures
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.store import notice
from lottisync.store.instant import iso
from lottisync.sync.duplicate_key import REMEMBERED_MS, warning
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

    value = {"home": str(home.path), "device": device, "name": name}
    terminal.emit(value | ({"paired": paired.peer_name} if paired else {}), shown)


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

    terminal.emit({"home": str(terminal.path), "made": made}, shown)


@click.command()
@common
@watchable
def status(terminal: Terminal) -> None:
    """Show the stores, whether a daemon runs, and the state of the other devices."""
    from lottisync.daemon.status import lacked, last_seen, read_status

    home = terminal.home
    running = read_status(home)
    with home.space.reading() as reader:
        failures = last_failures(reader)
    roster = home.roster()
    states = {state.device: state for state in running.peers} if running else {}
    stores: dict[str, Any] = {}
    lacks, seen = lacked(home, running), last_seen(home, running)
    for name, store in home.stores.items():
        with store.reading() as reader:
            stores[name] = {
                "entities": reader.count(),
                "digest": reader.digest().hex(),
                "knowledge": reader.knowledge(),
                "quarantined": reader.count_quarantined(),
            }
    copies = _copies(home)
    held_back = purging.held_back(home, clock.now())
    peers = []
    for member in roster.active_peers():
        state = states.get(member.device)
        peers.append(
            {
                "name": member.name,
                "device": member.device,
                "connected": bool(state and state.connected),
                "inStep": bool(state and state.in_step and all(state.in_step.values())),
                "lacks": lacks.get(member.device),
                "holdsBack": held_back.get(member.device, 0),
                "address": state.address if state else None,
                "lastSeen": seen.get(member.device),
                "diverged": state.diverged if state else [],
                "mended": state.mended if state else {},
                "onlyHere": state.only_here if state else [],
                "onlyThere": state.only_there if state else [],
                "comparing": state.comparing if state else {},
                "twice": bool(state and _recent(state.twice)),
                "ahead": state.ahead if state else None,
                "error": state.error if state else None,
                "away": state.away if state else None,
                "lastFailure": msgspec.to_builtins(failures.get(member.device)),
                "leftAt": state.left_at if state else None,
                "addresses": msgspec.to_builtins(state.addresses) if state else [],
            }
        )
    value = {
        "home": str(home.path),
        "name": roster.members[home.key.device_id].name,
        "device": home.key.device_id,
        "daemon": {"pid": running.pid, "port": running.port, "startedAt": running.started_at} if running else None,
        "nearby": running.nearby if running else None,
        "damaged": running.damaged if running else [],
        "twice": bool(running and _recent(running.twice)),
        "copies": copies,
        "stores": stores,
        "peers": peers,
        "invitations": described(home),
        "asleep": _asleep(home),
        "waiting": _waiting(terminal),
    }
    terminal.emit(value, lambda: _show(terminal, value))
    if not terminal.as_json and not all(copy["shown"] for copy in copies):
        for store in home.stores.values():
            with store.transaction(clock.now(), None) as tx:
                notice.mark_shown(tx, tx.execute)


def _recent(moment: str | None) -> bool:
    return moment is not None and clock.now() - datetime.fromisoformat(moment).timestamp() * 1000 < REMEMBERED_MS


def _copies(home: TaskHome) -> list[dict[str, Any]]:
    """The devices that were copied or restored from a backup. What befell the stores of one device on one day is
    one thing to a person."""
    names = device_names(home)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for store in home.stores.values():
        with store.reading() as reader:
            for each in notice.read_notices(reader):
                name, noticed = names.get(each.host, "A device that is not known here"), iso(each.noticed)
                copy = found.setdefault(
                    (name, noticed[:10]), {"name": name, "at": None, "kept": 0, "noticed": noticed, "shown": True}
                )
                copy["at"] = max(filter(None, (copy["at"], each.at and iso(each.at))), default=None)
                copy["kept"] += each.kept
                copy["shown"] = copy["shown"] and each.shown
    return sorted(found.values(), key=lambda copy: (copy["noticed"], copy["name"]))


def _told_of(copy: dict[str, Any]) -> str:
    """In the person's words: what happened, and that nothing is lost."""
    backup = "a backup"
    if copy["at"]:
        made = datetime.fromisoformat(copy["at"]).astimezone()
        backup += f" of {made.day} {made:%B %Y}"
    if not copy["kept"]:
        rest = "no change made since then is known here"
    elif copy["kept"] == 1:
        rest = "1 change made since then was kept"
    else:
        rest = f"{copy['kept']:,} changes made since then were kept"
    return f"{copy['name']} was restored from {backup} (or copied); {rest}."


def _waiting(terminal: Terminal) -> int | None:
    """How many proposals want the person's word; None where the index of them can't be kept, on a full disk say."""
    try:
        return index.waiting(terminal.home.agent, clock.now())
    except Problem as problem:
        terminal.warn(f"the proposals that wait for you could not be counted: {told(problem)}")
        return None


def _asleep(home: TaskHome) -> list[dict[str, str]]:
    """The agents that gave up by themselves, and why."""
    with home.agent.reading() as reader:
        return [
            {"agent": entity.id, "name": str(entity.value("displayName") or ""), "why": why}
            for entity in reader.by_type("agent")
            if (state := reader.entity(str(entity.value("currentStateId")))) is not None
            and isinstance(why := state.value("slots/asleepBecause"), str)
        ]


def _show(terminal: Terminal, value: dict[str, Any]) -> None:
    daemon = value["daemon"]
    terminal.line(f"{value['name']}  {value['home']}", "bold")
    terminal.line(
        f"daemon  running on port {daemon['port']} (pid {daemon['pid']})" if daemon else "daemon  not running"
    )
    if value["waiting"]:
        terminal.line(f"{waits_for_you(value['waiting'])}: lottisync review", "yellow")
    terminal.table(
        ["store", "entities", "digest"],
        [(name, f"{store['entities']:,}", store["digest"][:16]) for name, store in value["stores"].items()],
    )
    for name, store in value["stores"].items():
        if store["quarantined"]:
            terminal.line(
                f"{name}: {store['quarantined']} came that cannot be taken here. See: lottisync check", "yellow"
            )
    for copy in value["copies"]:
        if not copy["shown"]:
            terminal.line(_told_of(copy), "yellow")
    for row in value["damaged"]:
        terminal.line(f"{row} is not what was stored. See: lottisync check", "bold red")
    if value["twice"]:
        terminal.line(warning(None) + ".", "bold red")
    for peer in value["peers"]:
        if peer["twice"]:
            terminal.line(warning(peer["name"]) + ".", "bold red")
        if peer["ahead"]:
            terminal.line(clock_warning(peer["name"], peer["ahead"]) + ".", "yellow")
        for line in not_shared(peer["name"], peer["onlyHere"], peer["onlyThere"]):
            terminal.line(line, "yellow")
        for name, count in peer["mended"].items():
            entities = "1 entity" if count == 1 else f"{count:,} entities"
            terminal.line(
                f"{entities} of {name} differed from {peer['name']}'s although nothing was missing: mended.", "yellow"
            )
    if not value["peers"]:
        terminal.line("No other device yet. Run: lottisync pair")
    else:
        terminal.table(["device", "state", "", "last seen"], [_peer_row(peer) for peer in value["peers"]])
    for line in filter(None, map(told_of, value["invitations"])):
        terminal.line(line)
    for agent in value["asleep"]:
        terminal.line(f"{agent['name']} gave up: {agent['why']}  (lottisync agent resume)", "yellow")
    if value["nearby"]:
        terminal.line(f"{value['nearby']} more nearby that this device is not paired with. Pair with: lottisync pair")


def why(peer: dict[str, Any]) -> str:
    """Why a device is away, in the person's words (MEET-26)."""
    if peer["away"] == "stopped":
        return f"it was stopped at {peer['leftAt'][:16].replace('T', ' ')}"
    if peer["away"] == "no-address":
        return "no address known. Add one: lottisync devices address NAME HOST:PORT"
    failing = [each for each in peer["addresses"] if each["failingSince"]]
    if not failing:
        return str(peer["error"] or "") or _last_failure(peer)
    since = min(each["failingSince"] for each in failing)
    others = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return (
        f"not reachable at {failing[0]['address']}{others} since {since[:16].replace('T', ' ')}: {failing[0]['error']}"
    )


def _last_failure(peer: dict[str, Any]) -> str:
    """What was written down when the device was tried last, unless it was connected since."""
    last = peer["lastFailure"]
    if last is None or peer["connected"] or last["triedAt"] < (peer["lastSeen"] or ""):
        return ""
    return f"when last tried, {last['triedAt'][:16].replace('T', ' ')}, at {last['address']}: {last['error']}"


def _percent(done: int, of: int) -> str:
    return f"{100 * done // max(1, of)} %"


def _peer_row(peer: dict[str, Any]) -> tuple[Any, ...]:
    from rich.text import Text

    if peer["diverged"]:
        state = Text(f"differs in {', '.join(peer['diverged'])}", "bold red")
    elif peer["connected"]:
        state = Text("in step", "green") if peer["inStep"] else Text("syncing", "yellow")
    else:
        state = Text("away", "dim")
    lacks = sum((peer["lacks"] or {}).values())
    notes = [f"lacks {lacks:,} changes"] if lacks else []
    if peer["holdsBack"]:
        notes.append(f"holds back {peer['holdsBack']:,} deleted")
    notes += [f"comparing {name}: {_percent(done, of)}" for name, (done, of) in peer["comparing"].items()]
    note = "; ".join(notes) or (peer["error"] if peer["away"] in ("refused", "version") else why(peer)) or ""
    return peer["name"], state, note, peer["lastSeen"] or "unknown"
