"""How a device stands, as a struct for every program that shows it: `lottisync status`, a page, a program.

Everything here only reads. That a device was copied or restored is shown until the person says that they know
(`acknowledge`)."""

from collections.abc import Callable, Mapping

from lottisync.answers.devices import AsleepAgent, Copy, Daemon, InvitationState, Overview, Peer, StoreState
from lottisync.causality.vector_clock import Host
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, lacked, last_seen, read_status
from lottisync.device import clock, purging
from lottisync.device.invitations import given_out
from lottisync.device.peers import LastFailure, last_failures
from lottisync.identity.roster import Member
from lottisync.store import notice
from lottisync.store.chain import roots
from lottisync.store.instant import iso, millis
from lottisync.store.store import Store
from lottisync.sync.duplicate_key import REMEMBERED_MS
from lottisync.sync.peer import PeerState

UNKNOWN_DEVICE = "A device that is not known here"


def overview(home: TaskHome, now: int, proposals_waiting: Callable[[], int | None]) -> Overview:
    """How this device stands at `now` (ms). `proposals_waiting` counts them; None if a full disk prevents it."""
    running, roster = read_status(home), home.roster()
    return Overview(
        id=home.key.device_id,
        name=roster.members[home.key.device_id].name,
        home=str(home.path),
        daemon=Daemon(running.pid, running.port, running.started_at) if running else None,
        nearby=running.nearby if running else None,
        damaged=running.damaged if running else [],
        runs_twice=bool(running and _recent(running.twice, now)),
        copies=copies(home),
        stores={name: _store_state(store) for name, store in home.stores.items()},
        peers=_peers(home, running, now),
        invitations=invitation_states(home, now),
        asleep=_asleep(home),
        proposals_waiting=proposals_waiting(),
        clock_doubt=clock.doubt(now),
    )


def _store_state(store: Store) -> StoreState:
    with store.reading() as reader:
        knowledge = {str(host): end for host, end in reader.knowledge().items()}
        return StoreState(reader.count(), reader.digest().hex(), knowledge, reader.count_quarantined())


def _peers(home: TaskHome, running: DaemonStatus | None, now: int) -> list[Peer]:
    states = {state.device: state for state in running.peers} if running else {}
    lacks, seen, held_back = lacked(home, running), last_seen(home, running), purging.held_back(home, now)
    with home.space.reading() as reader:
        failures = last_failures(reader)
    return [
        _peer(
            member,
            states.get(member.device) or PeerState(member.device, member.name),
            lacks.get(member.device),
            held_back.get(member.device, 0),
            seen.get(member.device),
            failures.get(member.device),
            now,
        )
        for member in home.roster().active_peers()
    ]


def _peer(
    member: Member,
    state: PeerState,
    lacks: dict[str, int] | None,
    holds_back: int,
    seen: str | None,
    failure: LastFailure | None,
    now: int,
) -> Peer:
    stale = failure is not None and (state.connected or failure.tried_at < (seen or ""))
    return Peer(
        id=member.device,
        name=member.name,
        connected=state.connected,
        in_step=bool(state.in_step) and all(state.in_step.values()),
        lacks=lacks,
        holds_back=holds_back,
        address=state.address,
        addresses=state.addresses,
        last_seen_at=seen,
        away=state.away,
        error=state.error,
        diverged=state.diverged,
        mended=state.mended,
        comparing=state.comparing,
        only_here=state.only_here,
        only_there=state.only_there,
        runs_twice=_recent(state.twice, now),
        clock_said=state.ahead,
        left_at=state.left_at,
        last_failure=None if stale else failure,
    )


def invitation_states(home: TaskHome, now: int) -> list[InvitationState]:
    """The invitations that are open, or ended less than a day before `now` (ms); no secrets."""
    members = home.roster().members
    return [
        InvitationState(
            number=each.number,
            state=each.state_at(now),
            until=iso(each.until),
            port=each.port or None,
            failure=each.failure or None,
            device_id=each.device,
            device_name=members[each.device].name if each.device in members else each.name,
            joined_at=iso(each.joined_at) if each.joined_at else None,
        )
        for each in given_out(home.space, now)
    ]


def _recent(moment: str | None, now: int) -> bool:
    return moment is not None and now - millis(moment) < REMEMBERED_MS


def _asleep(home: TaskHome) -> list[AsleepAgent]:
    """The agents that gave up by themselves, and why."""
    with home.agent.reading() as reader:
        return [
            AsleepAgent(entity.id, str(entity.value("displayName") or ""), why)
            for entity in reader.by_type("agent")
            if (state := reader.entity(str(entity.value("currentStateId")))) is not None
            and isinstance(why := state.value("slots/asleepBecause"), str)
        ]


# -- copies and restored backups


def copies(home: TaskHome) -> list[Copy]:
    """The devices that were copied or restored from a backup. What happened to the stores of one device on one day is
    one thing to a person."""
    names = device_names(home)
    found: dict[tuple[str, str], list[notice.Notice]] = {}
    for store in home.stores.values():
        with store.reading() as reader:
            for each in notice.read_notices(reader):
                key = names.get(each.host, UNKNOWN_DEVICE), iso(each.noticed)[:10]
                found.setdefault(key, []).append(each)
    return sorted((_copy(name, each) for (name, _), each in found.items()), key=lambda c: (c.noticed_at, c.device_name))


def _copy(device_name: str, notices: list[notice.Notice]) -> Copy:
    written = [each.at for each in notices if each.at]
    return Copy(
        device_name,
        iso(max(written)) if written else None,
        sum(each.kept for each in notices),
        iso(notices[0].noticed),
        all(each.shown for each in notices),
    )


def acknowledge(home: TaskHome, now: int) -> int:
    """Note that the person knows of all copies and restored backups that `copies` gives now; how many were new."""
    new = sum(not copy.acknowledged for copy in copies(home))
    for store in home.stores.values() if new else ():
        with store.transaction(now, None) as tx:
            notice.mark_shown(tx, tx.execute)
    return new


def device_names(home: TaskHome) -> Mapping[Host, str]:
    """Host -> what people call its device; a branch has the name of the host that it was cut from."""
    roster = home.roster()
    names = {}
    for store in home.stores.values():
        with store.reading() as reader:
            for host, root in roots(reader).items():
                member = roster.members.get(roster.host_owner.get(root, ""))
                if member is not None:
                    names[host] = member.name
    return names
