"""The state of a device, as a struct for every program that shows it: `lottisync status`, a page, a program.

Everything here only reads. That a device was copied or restored is shown until the person says that they know
(`acknowledge`)."""

from collections.abc import Callable, Iterable, Mapping

from lottisync.agents import admission, lifecycle, switch
from lottisync.agents.types import Agent
from lottisync.answers.devices import (
    AsleepAgent,
    Compared,
    Copy,
    Daemon,
    InvitationState,
    Overview,
    PausedAgent,
    Peer,
    RelayReached,
    Reminder,
    StoreAnswer,
    UnfinishedVerdict,
)
from lottisync.causality.vector_clock import Host
from lottisync.daemon.agent_page import here_of
from lottisync.daemon.attention import attention_wanted
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import (
    DaemonStatus,
    absences,
    clocks_heard,
    known_addresses,
    lacked,
    last_seen,
    read_status,
)
from lottisync.device import clock, purging
from lottisync.device.absence import Away
from lottisync.device.invitations import given_out
from lottisync.device.peers import ClockHeard
from lottisync.identity.roster import Member
from lottisync.journal import task_list, time_entry
from lottisync.problem import Problem, Sentence
from lottisync.relay import setting
from lottisync.review.not_carried_out import NotCarriedOut
from lottisync.store import conflict, notice
from lottisync.store.beside import beside
from lottisync.store.chain import roots
from lottisync.store.instant import iso, millis
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.sync.duplicate_key import REMEMBERED_MS
from lottisync.sync.peer import AddressState, PeerState, own_clock_doubt
from lottisync.sync.refusal import recent

UNKNOWN_DEVICE = "A device that is not known here"


def overview(
    home: TaskHome,
    now: int,
    proposals_waiting: Callable[[], int | None],
    unfinished: Callable[[], Iterable[NotCarriedOut]] = tuple,
) -> Overview:
    """The state of this device at `now` (ms). `proposals_waiting` counts them; None if a full disk prevents it.
    `unfinished` finds the verdicts that were not carried out. What would need a store whose file is damaged is empty;
    `unusable` says why."""
    running, roster = read_status(home), home.roster()
    damaged: list[Problem] = []
    tasks = "journal" not in home.folder.unusable
    agents = tasks and "agent" not in home.folder.unusable
    return Overview(
        id=home.key.device_id,
        name=roster.members[home.key.device_id].name,
        home=str(home.path),
        daemon=Daemon(running.pid, running.port, running.started_at) if running else None,
        nearby=running.nearby if running else None,
        damaged=running.damaged if running else [],
        unusable={**unusable_stores(home), **(running.unusable if running else {})},
        runs_twice=bool(running and _recent(running.duplicate_key_at, now)),
        copies=copies(home),
        stores={name: _store_state(store) for name, store in home.stores.items()},
        peers=_peers(home, running, now),
        invitations=invitation_states(home, now),
        asleep=_asleep(home, damaged) if agents else [],
        agents_off=agents and any(beside([home], switched_off, damaged)),
        paused=_paused(home, now, damaged) if agents else [],
        attention=attention_wanted(home, damaged) if agents else [],
        reminders=reminders(home, now) if tasks else [],
        proposals_waiting=proposals_waiting() if agents else None,
        conflicts_waiting=conflicts(home),
        clock_doubt=clock.doubt(now) or own_clock_doubt(running.peers if running else [], now),
        unfinished=[UnfinishedVerdict(*one) for one in unfinished()] if agents else [],
        left_out=list(dict.fromkeys(problem.sentence for problem in damaged)),
        relay=_relay(home, running),
    )


def _relay(home: TaskHome, running: DaemonStatus | None) -> RelayReached | None:
    """The relay in the settings, and how it was reached, if that is known."""
    used = setting.read(home.space)
    if used is None:
        return None
    found = running.relay if running else None
    if found is None or found.url != used.shown:
        return RelayReached(used.shown, None, None)
    return RelayReached(found.url, found.since, found.failure)


def unusable_stores(home: TaskHome) -> dict[str, Sentence]:
    """The files of this home that cannot be used, and why, by name."""
    return {name: problem.sentence for name, problem in home.folder.unusable.items()}


def _store_state(store: Store) -> StoreAnswer:
    with store.reading() as reader:
        knowledge = {str(host): end for host, end in reader.knowledge().items()}
        return StoreAnswer(reader.count(), reader.digest().hex(), knowledge, reader.count_quarantined())


def _peers(home: TaskHome, running: DaemonStatus | None, now: int) -> list[Peer]:
    states = {state.device: state for state in running.peers} if running else {}
    lacks, seen, held_back = lacked(home, running), last_seen(home, running), purging.held_back(home, now)
    away, where, heard = absences(home, running), known_addresses(home, running), clocks_heard(home, running)
    return [
        _peer(
            member,
            states.get(member.device) or PeerState(member.device, member.name),
            lacks.get(member.device),
            held_back.get(member.device, 0),
            seen.get(member.device),
            away.get(member.device),
            where.get(member.device, []),
            heard.get(member.device),
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
    away: Away | None,
    addresses: list[AddressState],
    heard: ClockHeard | None,
    now: int,
) -> Peer:
    return Peer(
        id=member.device,
        name=member.name,
        connected=state.connected,
        in_step=_in_step(state, lacks or {}),
        lacks=lacks,
        holds_back=holds_back,
        address=state.address,
        addresses=addresses,
        last_seen_at=seen,
        away=away,
        failure=state.failure,
        diverged=state.diverged,
        mended_by_store=state.mended,
        comparing={store: Compared(*counts) for store, counts in state.comparing.items()},
        receiving=state.receiving,
        only_here=state.only_here,
        only_there=state.only_there,
        failing_there=state.failing_there,
        refusals=recent(state.refusals, now),
        runs_twice=_recent(state.duplicate_key_at, now),
        clock_said=state.ahead or (away.clock_said if away else None),
        clock_off=heard.off if heard else None,
        clock_heard_at=heard.at if heard else None,
        left_at=state.left_at,
    )


def _in_step(state: PeerState, lacks: Mapping[str, int]) -> bool:
    """Whether a device has all that is here, and the same (CLI-482). The last write may be newer than what the daemon
    says."""
    return bool(state.in_step) and all(equal and not lacks.get(name) for name, equal in state.in_step.items())


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


def _asleep(home: TaskHome, damaged: list[Problem]) -> list[AsleepAgent]:
    """The agents that gave up by themselves, and why."""

    def gave_up(each: Agent) -> AsleepAgent | None:
        why = lifecycle.asleep_because(lifecycle.read_state(reader, each.id))
        return None if why is None else AsleepAgent(each.id, each.display_name, _task_title(home, each.id), why)

    with home.agent.reading() as reader:
        return [one for one in beside(lifecycle.list_agents(reader), gave_up, damaged) if one is not None]


def switched_off(home: TaskHome) -> bool:
    with home.agent.reading() as reader:
        return switch.read(reader).off


def _paused(home: TaskHome, now: int, damaged: list[Problem]) -> list[PausedAgent]:
    """The agents that wait for an endpoint, or have used their tokens of the day, and that nothing else keeps asleep
    (AGENT-153)."""
    here = here_of(home, now)

    def waiting(each: Agent) -> PausedAgent | None:
        if each.lifecycle not in (lifecycle.CREATED, lifecycle.ACTIVE):
            return None
        why = _waits(journal, reader, each, here)
        if why is None or _kept_asleep(journal, reader, each, here):
            return None
        until = iso(why.until) if why.until else None
        return PausedAgent(each.id, each.display_name, _task_title(home, each.id), why.sentence, until)

    with home.agent.reading() as reader, home.journal.reading() as journal:
        return [one for one in beside(lifecycle.list_agents(reader), waiting, damaged) if one is not None]


def _waits(journal: Reader, reader: Reader, living: Agent, here: admission.Here) -> admission.Withheld | None:
    who = admission.called(journal, living, lifecycle.read_state(reader, living.id))
    return admission.waits(reader, living, here, who)


def _kept_asleep(journal: Reader, reader: Reader, living: Agent, here: admission.Here) -> bool:
    """Whether the agent sleeps for its task, or as the person said, whatever it waits for beside that."""
    state = lifecycle.read_state(reader, living.id)
    if lifecycle.asleep_without_task(journal, state) or lifecycle.asleep_after_task(journal, state) is not None:
        return True
    because = admission.withheld(journal, reader, living, state, here)
    return because is not None and because.code in ("agents-off", "never-sent")


def _task_title(home: TaskHome, agent_id: str) -> str | None:
    """The title of the agent's task; None if it is not here."""
    with home.agent.reading() as reader:
        task_id = lifecycle.task_of(lifecycle.read_state(reader, agent_id))
    with home.journal.reading() as reader:
        task = reader.entity(task_id) if task_id else None
    title = task.value("title") if task is not None else None
    return title if isinstance(title, str) else None


def reminders(home: TaskHome, now: int) -> list[Reminder]:
    """The open tasks with a reminder that is over, the oldest first. What is not an instant reminds of nothing."""
    found = task_list.reminded(home.path / task_list.FILE, home.journal, iso(now))
    return [Reminder(task.id, task.title, at) for task in found if (at := time_entry.instant(task.remind_at or ""))]


def conflicts(home: TaskHome) -> int:
    """How many conflicts the person has to settle, each decision once."""
    count = 0
    for store in home.stores.values():
        with store.reading() as reader:
            count += len(conflict.decisions_of_store(reader))
    return count


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
