"""`init` and `status`."""

import os
import shlex
import socket
from typing import Any

import click

from lottisync.answers.devices import Copy, Made, Overview, Peer, RelayReached, StoresMade, UnfinishedVerdict
from lottisync.cli.attention import show_attention
from lottisync.cli.columns import Cell
from lottisync.cli.hints import HINTS, away_text, event_text, hints_of, refusal_hint, with_hint
from lottisync.cli.invitations import invitation_line
from lottisync.cli.terminal import Terminal, common, short, waits_for_you
from lottisync.cli.times import ago, local
from lottisync.cli.watch import watchable
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.language import headed, long_day, number, say, several, translated
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.review.not_carried_out import NotCarriedOut, not_carried_out
from lottisync.shown import quoted
from lottisync.store.instant import millis, there
from lottisync.sync.duplicate_key import warning
from lottisync.sync.peer import Receiving, clock_trouble, not_shared


@click.command()
@click.option("--name", help="What people call this device, like laptop; the name of this machine if not given.")
@click.option("--missing", is_flag=True, help="Of a home: make the stores that are missing, for the others to fill.")
@common
def init(terminal: Terminal, name: str | None, missing: bool) -> None:
    """Make this device's home: its key and its three stores.

    With an invitation in LOTTISYNC_INVITE it joins at once.

    \b
    lottisync init --name laptop
    LOTTISYNC_INVITE=URI lottisync init --name phone
    """
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
        was_there = terminal.path.exists()
        home = TaskHome.create(terminal.path, name)
        paired = join(home, uri, keep_folder=was_there) if uri else None
    device = home.key.device_id

    def shown() -> None:
        terminal.line(say("{name} is ready in {path}", name=name, path=home.path), "green")
        terminal.fact("device", grouped(device))
        if paired is not None:
            terminal.fact("paired", f"{paired.peer_name} ({' '.join(paired.words)})")
        then = "lottisync daemon"
        terminal.fact("next", then if paired else say("{command}, and on another device: lottisync pair", command=then))

    peer = (paired.peer_id, paired.peer_name) if paired else (None, None)
    terminal.emit(Made(device, name, str(home.path), *peer), shown)


def machine_name() -> str:
    """The first part of this machine's host name; `device` if no device can have that name."""
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
        terminal.line(say("Made, empty: {made}. The other devices fill what they have.", made=", ".join(made)), "green")
        if "space" in made:
            terminal.line(
                say("This device is called {name} and knows no other. Pair it again: lottisync pair", name=name),
                "yellow",
            )

    terminal.emit(StoresMade(str(terminal.path), made), shown)


@click.command()
@common
@watchable
def status(terminal: Terminal) -> None:
    """Show the stores, whether a daemon runs, and the state of the other devices. Changes nothing.

    \b
    lottisync status
    lottisync status --watch
    """
    from lottisync.daemon.overview import overview

    found = overview(terminal.home, clock.now(), lambda: _waiting(terminal), lambda: _unfinished(terminal.home))
    terminal.emit(found, lambda: _show(terminal, found))


def _waiting(terminal: Terminal) -> int | None:
    """How many proposals wait for a verdict; None if their index cannot be kept, for example on a full disk."""
    try:
        return index.waiting(terminal.home.agent, clock.now())
    except Problem as problem:
        terminal.warn(
            say("the proposals that wait for you could not be counted: {problem}", problem=with_hint(problem))
        )
        return None


def _unfinished(home: TaskHome) -> list[NotCarriedOut]:
    """The verdicts that were not carried out; none if the index of proposals cannot be kept, which `_waiting` says."""
    try:
        return not_carried_out(home.agent, clock.now())
    except Problem:
        return []


def _show(terminal: Terminal, found: Overview) -> None:
    daemon = found.daemon
    terminal.line(f"{found.name}  {found.home}", "bold")
    terminal.fact(
        "daemon",
        say("running on port {port} (pid {pid})", port=daemon.port, pid=daemon.pid) if daemon else say("not running"),
    )
    if found.relay is not None:
        _show_relay(terminal, found.relay, visited=daemon is not None)
    if found.proposals_waiting:
        terminal.line(
            headed(waits_for_you(found.proposals_waiting), "lottisync review"),
            "yellow",
        )
    _show_unfinished(terminal, found.unfinished)
    if found.conflicts_waiting:
        said = several(
            "{count} conflict is to be settled", "{count} conflicts are to be settled", found.conflicts_waiting
        )
        terminal.line(headed(said, "lottisync conflicts"), "yellow")
    show_attention(terminal, found.attention)
    for one in found.reminders:
        said = say("Reminder: {task_title}, {at}", task_title=quoted(one.task_title), at=ago(one.at, clock.now()))
        terminal.line(say("{said}  (lottisync task show {task_id})", said=said, task_id=short(one.task_id)), "yellow")
    if found.agents_off:
        terminal.fact("agents", say("off on all devices; again: lottisync agent on"), "yellow")
    terminal.table(
        ["store", "entities", "digest"],
        [(name, f"{store.entities:,}", store.digest[:16]) for name, store in found.stores.items()],
    )
    _show_trouble(terminal, found)
    for peer in found.peers:
        _show_trouble_with(terminal, peer)
    if not found.peers:
        terminal.line(say("No other device yet. Run: lottisync pair"))
    else:
        terminal.table(["device", "state", "", "last seen"], [_peer_row(peer) for peer in found.peers])
    for line in filter(None, map(invitation_line, found.invitations)):
        terminal.line(line)
    for agent in found.asleep:
        who = {"name": agent.agent_name, "because": translated(agent.reason)}
        said = (
            say("{name} of {title} gave up: {because}", title=quoted(agent.task_title), **who)
            if agent.task_title
            else say("{name} gave up: {because}", **who)
        )
        terminal.line(f"{said}  (lottisync agent resume {short(agent.agent_id)})", "yellow")
    for paused in found.paused:
        terminal.line(translated(paused.reason), "yellow")
    if found.nearby:
        terminal.line(
            several(
                "{count} more nearby that this device is not paired with. Pair with: lottisync pair",
                "{count} more nearby that this device is not paired with. Pair with: lottisync pair",
                found.nearby,
            )
        )


def _show_relay(terminal: Terminal, relay: RelayReached, *, visited: bool) -> None:
    at = local(relay.state_since)
    if relay.failure is not None:
        why = translated(relay.failure)
        terminal.fact("relay", say("not reached since {at}: {why}", at=at, why=why), "yellow")
        terminal.line(say(HINTS["relay-doctor"]), "dim")
    elif relay.state_since is not None:
        terminal.fact("relay", say("{url}, reached since {at}", url=relay.url, at=at))
    elif visited:
        terminal.fact("relay", say("{url}, not tried yet", url=relay.url))
    else:
        terminal.fact("relay", say("{url}, which a daemon visits", url=relay.url))


def _show_unfinished(terminal: Terminal, verdicts: list[UnfinishedVerdict]) -> None:
    for one in verdicts:
        said = say("The verdict on {item} was begun, and is not finished yet", item=one.item)
        helps = "lottisync review"
        if one.failure:
            why = translated(one.failure)
            said = say("The verdict on {item} was not carried out: {because}", item=one.item, because=why)
            helps = f"lottisync review show {one.item}"
        terminal.line(f"{said}  ({helps})", "yellow")


def _show_trouble(terminal: Terminal, found: Overview) -> None:
    if found.clock_doubt:
        terminal.line(translated(found.clock_doubt) + ".", "bold red")
    for name, store in found.stores.items():
        if store.quarantined:
            terminal.line(
                say(
                    "{name}: {quarantined} came that cannot be taken here. See: lottisync check",
                    name=name,
                    quarantined=store.quarantined,
                ),
                "yellow",
            )
    new = [copy for copy in found.copies if not copy.acknowledged]
    for copy in new:
        terminal.line(_restored(copy), "yellow")
    if new:
        terminal.line(say("When you have read this: lottisync devices acknowledge"), "dim")
    for name, why in found.unusable.items():
        terminal.line(say("{name} does not sync: {why}", name=name, why=translated(why)), "bold red")
    for hint in hints_of(terminal.home.folder.unusable.values()):
        terminal.line(hint, "dim")
    for row in found.damaged:
        terminal.line(say("{row} is not what was stored. See: lottisync check", row=row), "bold red")
    for why in found.left_out:
        terminal.line(f"{translated(why)}. {say(HINTS['mend'])}", "bold red")
    if found.runs_twice:
        terminal.line(event_text("duplicate-key", translated(warning(None))) + ".", "bold red")


def _restored(copy: Copy) -> str:
    """In the person's words: what happened, and that nothing is lost."""
    backup = say("a backup")
    if copy.backup_at:
        made = there(millis(copy.backup_at))
        backup = say("a backup of {day}", day=long_day(made.date()))
    if not copy.kept:
        rest = say("no change made since then is known here")
    else:
        rest = several(
            "{count} change made since then was kept", "{count} changes made since then were kept", copy.kept
        )
    return say(
        "{device_name} was restored from {backup} (or copied); {rest}.",
        device_name=copy.device_name,
        backup=backup,
        rest=rest,
    )


def _show_trouble_with(terminal: Terminal, peer: Peer) -> None:
    if peer.runs_twice:
        terminal.line(event_text("duplicate-key", translated(warning(peer.name))) + ".", "bold red")
    silent_since = None if peer.connected else peer.clock_heard_at
    trouble = clock_trouble(peer.name, peer.clock_off, peer.clock_said, clock.now(), heard_at=silent_since)
    if trouble is not None:
        terminal.line(translated(trouble) + ".", "yellow")
    for line in not_shared(peer.name, peer.only_here, peer.only_there, peer.failing_there):
        terminal.line(translated(line), "yellow")
    if peer.failing_there:
        terminal.line(say("To see why, run on {name}: lottisync status", name=peer.name), "dim")
    _show_refusals(terminal, peer)
    for name, count in peer.mended_by_store.items():
        terminal.line(
            several(
                "{count} entity of {store} differed from {name}'s although nothing was missing: mended.",
                "{count} entities of {store} differed from {name}'s although nothing was missing: mended.",
                count,
                store=name,
                name=peer.name,
            ),
            "yellow",
        )


def _show_refusals(terminal: Terminal, peer: Peer) -> None:
    """Each kind of what was refused, with the command that helps (SYNC-880)."""
    for each in peer.refusals:
        at = ago(each.last_at, clock.now())
        times = several("refused once, {at}", "refused {count} times, last {at}", each.count, at=at)
        terminal.line(f"{translated(each.reason)} ({times}). {refusal_hint(each.kind)}", "yellow")
    if peer.refusals:
        called = shlex.quote(peer.name)
        terminal.line(say("If it is in other hands: lottisync devices revoke {name}", name=called), "dim")


def _percent(done: int, of: int) -> str:
    return f"{100 * done // max(1, of)} %"


BAR_CHARACTERS = 20


def _received(round_: Receiving) -> str:
    """`journal [#####...............] 1,000 of 4,000, 250 a second`."""
    done, of = round_.entities, max(1, round_.of)
    filled = min(BAR_CHARACTERS, BAR_CHARACTERS * done // of)
    said = say(
        "receiving {store} [{bar}] {done} of {of}",
        store=round_.store,
        bar="#" * filled + "." * (BAR_CHARACTERS - filled),
        done=number(done),
        of=number(round_.of),
    )
    if round_.per_second is None:
        return said
    return said + say(", {rate} a second", rate=number(round_.per_second))


def _peer_row(peer: Peer) -> tuple[Any, ...]:
    if peer.diverged:
        state = Cell(say("differs in {diverged}", diverged=", ".join(peer.diverged)), "bold red")
    elif peer.connected:
        state = Cell(say("in step"), "green") if peer.in_step else Cell(say("syncing"), "yellow")
    else:
        state = Cell(say("away"), "dim")
    lacks = sum((peer.lacks or {}).values())
    notes = [several("lacks {count} change", "lacks {count} changes", lacks)] if lacks else []
    if peer.holds_back:
        notes.append(say("holds back {holds_back} deleted", holds_back=number(peer.holds_back)))
    notes += [
        say("comparing {name}: {done}", name=name, done=_percent(one.done, one.of))
        for name, one in peer.comparing.items()
    ]
    notes += [_received(peer.receiving)] if peer.receiving else []
    away = away_text(peer.away, peer.name) if peer.away else ""
    return (
        peer.name,
        state,
        "; ".join([*notes, *([away] if away else [])]),
        ago(peer.last_seen_at, clock.now()) if peer.last_seen_at else say("unknown"),
    )
