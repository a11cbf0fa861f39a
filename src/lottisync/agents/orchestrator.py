"""Which agent wakes when: a consumer of the journal's change feed (docs/specs/09-agents.md, section 9).

    feed of the journal -> matching subscriptions -> queue        `hear`
    queue, timers, run log, states -> rules -> who wakes now      `look`

All its state is in the stores. `hear` puts a match into the queue before it moves the feed's cursor, so no change is
lost. The queue holds dots, so none counts twice. `look` reads the stores and applies the rules (`schedule`), which are
pure. So a killed process has nothing to recover except the open runs in the log, which are started again under their
keys.

An agent that was moved to this device, or whose process has just started, may have missed changes in the feed. So the
entities that it subscribes to are compared with its watermark once.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from lottisync.agents import admission, context, lifecycle, queue, run_key, run_log, schedule, subscription
from lottisync.agents.admission import Here
from lottisync.agents.lifecycle import CREATED, DESTROYED
from lottisync.agents.run_log import COMPLETED
from lottisync.agents.schedule import Cause, Readiness, WakeLimits, WakePlan
from lottisync.agents.seen import Seen
from lottisync.agents.subscription import Subscription
from lottisync.agents.types import Agent, AgentState
from lottisync.causality.vector_clock import Dot
from lottisync.entities.entity import Entity
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.view import view
from lottisync.journal.types import ENTRY_LINK, Task
from lottisync.problem import Sentence
from lottisync.review.change import ChangeSet
from lottisync.store.feed import BATCH, Feed
from lottisync.store.instant import millis, millis_or_none
from lottisync.store.reader import Reader
from lottisync.store.store import Store

CONSUMER = "agents"
NOT_AT_HOME = Sentence("it was killed, and the agent is not at home here any more")
MAX_COOL_DOWN = 86_400_000
MAX_WAKES_PER_HOUR = 3_600
RECENT = 200
"""How many of an agent's runs are read: more than can begin in an hour."""
CREATION = "created"
"""The session of an agent's first wake, which starts by itself."""


class Living(NamedTuple):
    """An agent whose home is this device, with its subscriptions, its watermark, and the dot of its lifecycle."""

    agent: Agent
    state: AgentState
    subscriptions: dict[str, Subscription]
    seen: Seen
    made_by: str

    @property
    def is_new(self) -> bool:
        return self.agent.lifecycle == CREATED or self.state.last_wake_at is None


class Orchestrator:
    """Decides for the agents whose home is `device`. `endpoints` gives the names of those that this device has now, or
    None if they are not to be looked at."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        device: str,
        endpoints: Callable[[], Collection[str] | None] = lambda: None,
    ) -> None:
        self._journal, self._agent_store, self._device, self._endpoints = journal, agent_store, device, endpoints
        self._feed = Feed(journal, CONSUMER)
        self._heard_of: set[str] = set()
        self._living: dict[str, Living] = {}
        self._read_to = 0

    # -- what changed

    def hear(self, now: int) -> None:
        """Queue each change in the journal for which an agent has to wake."""
        at_home = self._at_home()
        self._close_orphans({living.agent.id for living in at_home}, now)
        newcomers = [living for living in at_home if living.agent.id not in self._heard_of]
        if newcomers:
            with self._journal.reading() as reader:
                matches = [match for living in newcomers for match in self._missed(reader, living)]
            self._queue(matches, now)
        self._heard_of = {living.agent.id for living in at_home}
        listening = _listening(at_home)
        while changes := self._feed.take():
            if at_home:
                with self._journal.reading() as reader:
                    changed = (entity for change in changes if (entity := reader.entity(change.id)) is not None)
                    matches = [match for entity in changed for match in self._matches(reader, entity, listening)]
                self._queue(matches, now)
            self._feed.done(changes[-1], now)

    def _close_orphans(self, at_home: set[str], now: int) -> None:
        """Runs that were killed and whose agents have moved away or were destroyed: nobody here goes on with them."""
        with self._agent_store.reading() as reader:
            orphaned = run_log.agents_with_open_runs(reader) - at_home
        for agent_id in sorted(orphaned):
            run_log.abandon(self._agent_store, agent_id, NOT_AT_HOME, now)

    def _at_home(self) -> list[Living]:
        """The agents whose home is this device. They are cached, and read again when the store's feed says so: a look
        has to cost what changed, not what there is."""
        with self._agent_store.reading() as reader:
            while changes := reader.changes(self._read_to, BATCH):
                for change in changes:
                    if change.type == "agent":
                        self._read(reader, change.id)
                    elif change.type == "agentState":
                        state = reader.entity(change.id)
                        self._read(reader, str(state.value("agentId")) if state is not None else "")
                self._read_to = changes[-1].feed
        return list(self._living.values())

    def _read(self, reader: Reader, agent_id: str) -> None:
        self._living.pop(agent_id, None)
        entity = reader.entity(agent_id)
        if entity is None or entity.type != "agent":
            return
        found, state = view(entity, Agent), lifecycle.read_state(reader, agent_id)
        if found.home_device == self._device and found.lifecycle != DESTROYED and lifecycle.task_of(state):
            made = entity.winner("lifecycle")
            self._living[agent_id] = Living(
                found,
                state,
                subscription.of_agent(found),
                context.processed(state),
                # Named by the write of its lifecycle, so that it is the same wake on every device.
                f"{made.stamp.host}:{made.stamp.counter}" if made is not None else "0",
            )

    def _missed(self, reader: Reader, living: Living) -> list["Match"]:
        """What was written to anything within the agent's reach since its last wake. Before its first there is
        nothing to catch up with."""
        if living.state.last_wake_at is None:
            return []
        found: dict[str, Entity] = {}
        for ident in sorted({ident for each in living.subscriptions.values() for ident in each.ids}):
            links = [*reader.links_from(ident, ENTRY_LINK), *reader.links_to(ident, ENTRY_LINK)]
            ends = [reader.entity(str(link.value(end))) for link in links for end in (FROM_ID, TO_ID)]
            for entity in [reader.entity(ident), *reader.owned_by(ident, deleted=True), *links, *ends]:
                if entity is not None:
                    found[entity.id] = entity
        return [match for entity in found.values() for match in self._matches(reader, entity, _listening([living]))]

    def _matches(self, reader: Reader, entity: Entity, listening: "Listening") -> list["Match"]:
        where = subscription.match_ids(reader, entity)
        listeners = {
            (living.agent.id, ident): (living, each)
            for name in where.near | where.linked
            for living, ident, each in listening.get(name, ())
        }
        return [
            Match(agent_id, ident, dots)
            for (agent_id, ident), (living, each) in listeners.items()
            if _may_hear_of(reader, living, entity)
            and (dots := subscription.matching(each, entity, where, living.seen, self._proposals_of(living.agent.id)))
        ]

    def _proposals_of(self, agent_id: str) -> "ProposedBy":
        return ProposedBy(self._agent_store, agent_id)

    def _queue(self, matches: list["Match"], now: int) -> None:
        if matches:
            with self._agent_store.transaction(now, None) as tx:
                for match in matches:
                    queue.add(tx, match.agent_id, match.subscription_id, match.dots)

    # -- who wakes

    def look(self, now: int, awake: Collection[str]) -> WakePlan:
        """Who is to wake now, and when to look again. `awake` are the agents whose wakes this process has begun."""
        return schedule.plan(self.standings(now, awake), now)

    def standings(self, now: int, awake: Collection[str] = ()) -> list[Readiness]:
        """The state of every agent at home here that has anything to wake for."""
        at_home = self._at_home()
        here = Here(self._device, now, endpoints=self._endpoints())
        with self._agent_store.reading() as reader, self._journal.reading() as journal:
            busy = queue.agents(reader) | run_log.agents_with_open_runs(reader) | set(awake)
            return [
                standing
                for living in at_home
                if living.agent.id in busy or living.is_new or living.agent.timers
                if (standing := self._standing(reader, journal, living, here, awake)).causes or standing.awake
            ]

    def _standing(
        self, reader: Reader, journal: Reader, living: Living, here: Here, awake: Collection[str]
    ) -> Readiness:
        ident, state, now = living.agent.id, living.state, here.now
        runs = run_log.runs(reader, ident, RECENT)
        is_begun = any(run.is_open for run in runs)
        ended = [millis(run.completed_at) for run in runs if run.completed_at and run.status != run_log.SKIPPED]
        not_before = millis_or_none(state.next_wake_at) or 0
        return Readiness(
            agent_id=ident,
            causes=tuple(_causes(reader, living, runs, now)),
            # An open run is under way while its lock is held, by whichever process.
            awake=ident in awake or (is_begun and run_log.is_awake(self._agent_store, ident)),
            asleep=admission.refusal(journal, reader, living.agent, state, here) is not None,
            # Clocks are set back at times. An instant that a clock far ahead wrote down holds no agent back. Cut to
            # now, it would be cut again at every look, and the agent would wait until the old instant has come.
            not_before=not_before if not_before <= now + schedule.MAX_BACKOFF else 0,
            last_end=max((end for end in ended if end <= now), default=None),
            starts=tuple(sorted(_own_starts(runs, now))),
            limits=WakeLimits(
                lifecycle.setting(living.agent, "coolDownMillis", schedule.COOL_DOWN, MAX_COOL_DOWN),
                lifecycle.setting(living.agent, "wakesAnHour", schedule.WAKES_PER_HOUR, MAX_WAKES_PER_HOUR),
            ),
        )


def _may_hear_of(reader: Reader, living: Living, entity: Entity) -> bool:
    """A linked task that the agent may not be told of does not wake it (AGENT-7, AGENT-82). Its own task is queued:
    what was written while it was withheld is sent when that ends."""
    is_own = entity.id == lifecycle.task_of(living.state)
    return is_own or entity.type != "task" or admission.may_see(reader, living.agent, view(entity, Task))


Listening = dict[str, list[tuple[Living, str, Subscription]]]
"""Who subscribes to an id, so that a change asks those and not everybody."""


def _listening(agents: Iterable[Living]) -> Listening:
    found: Listening = {}
    for living in agents:
        for ident, each in living.subscriptions.items():
            for name in each.ids:
                found.setdefault(name, []).append((living, ident, each))
    return found


class Match(NamedTuple):
    agent_id: str
    subscription_id: str
    dots: frozenset[Dot]


class ProposedBy:
    """Whether an operation was proposed by an agent. The store is asked at the first question only: few changes
    are effects."""

    def __init__(self, agent_store: Store, agent_id: str) -> None:
        self._agent_store, self._agent_id = agent_store, agent_id
        self._operations: frozenset[str] | None = None

    def __call__(self, operation: str) -> bool:
        if self._operations is None:
            with self._agent_store.reading() as reader:
                sets = [view(entity, ChangeSet) for entity in reader.by_type("changeSet", owner=self._agent_id)]
            self._operations = frozenset(item.operation_id for each in sets for item in each.items)
        return operation in self._operations


def _causes(reader: Reader, living: Living, runs: list[run_log.Run], now: int) -> list[Cause]:
    """All that the agent would wake for, what must come first in front."""
    ident = living.agent.id
    causes = [Cause(run.trigger, 0, urgent=True) for run in runs if run.is_open]
    if living.is_new:
        causes.append(Cause(run_key.user_initiated(ident, CREATION, living.made_by), 0, urgent=True))
    causes += [
        Cause(run_key.timer(ident, timer_id, at), millis(at))
        for timer_id, at in sorted(lifecycle.timers(living.agent).items())
    ]
    causes += [
        Cause(
            run_key.subscription(ident, each.subscription_id, each.dots),
            each.since + schedule.BATCH if each.since <= now else now,
        )
        for each in queue.waiting(reader, ident)
    ]
    return [cause for cause in causes if not _is_done(reader, cause)]


def _is_done(reader: Reader, cause: Cause) -> bool:
    run = run_log.find(reader, cause.trigger.run_key)
    return run is not None and run.status == COMPLETED


def _own_starts(runs: list[run_log.Run], now: int) -> list[int]:
    """When its wakes of the last hour began that no person asked for."""
    started = [millis(run.started_at) for run in runs if run.started_at and run.reason != "userInitiated"]
    return [at for at in started if now - schedule.HOUR < at <= now]
