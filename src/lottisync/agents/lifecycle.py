"""What an agent is, and the life it leads (docs/specs/09-agents.md, section 2).

An agent is three entities that replicate: who it is (`agent`), its state (`agentState`) and what it has said (messages,
reports, proposals). Who it is belongs to the person: every verb here writes with the person's precedence. The state
belongs to its wakes.

The lifecycle is one table. What is *not* in it is an agent whose task was deleted, or is done: that is not written
anywhere, it is read off the task (`asleep_without_task`, `asleep_after_task`). A deletion on one device and an edit on
another may bring the task back when they meet, and then the agent goes on as if nothing had been (S3-88).
"""

from collections.abc import Mapping

from lottisync import wording
from lottisync.agents.types import Agent, AgentState
from lottisync.entities.entity import is_deleted
from lottisync.entities.schema import derived_id
from lottisync.entities.view import view
from lottisync.journal.types import CLOSED, Task
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import is_instant, iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

MAX_NAME = 80
PERSONALITY, MAX_PERSONALITY = "personality", 1_000
"""A few sentences of the person on how the agent is to write; in characters."""
TOKENS_PER_DAY = "tokensADay"
"""The setting with how many tokens the agent may use in a day; without it there is no limit of its own."""
ASLEEP_BECAUSE = "asleepBecause"
"""The slot of the agent's state that tells the person why it went to sleep by itself."""
CREATED, ACTIVE, DORMANT, DESTROYED = "created", "active", "dormant", "destroyed"

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (CREATED, "wake"): ACTIVE,
    (ACTIVE, "wake"): ACTIVE,
    (CREATED, "pause"): DORMANT,
    (ACTIVE, "pause"): DORMANT,
    (CREATED, "give up"): DORMANT,
    (ACTIVE, "give up"): DORMANT,
    (DORMANT, "resume"): ACTIVE,
    (CREATED, "destroy"): DESTROYED,
    (ACTIVE, "destroy"): DESTROYED,
    (DORMANT, "destroy"): DESTROYED,
    (DESTROYED, "create"): CREATED,
}
"""(lifecycle, event) -> lifecycle (AGENT-5). A missing pair is an error for the person."""

_HINTS = {DORMANT: "resume-agent", DESTROYED: "create-agent"}


def state_id(agent_id: str) -> str:
    return derived_id("agentState", agent_id)


def report_head_id(agent_id: str, scope: str) -> str:
    return derived_id("agentReportHead", agent_id, scope)


# -- reading


def read(reader: Reader, agent_id: str) -> Agent:
    """The agent; `Problem("unknown-id")` if this device has no agent with that id."""
    entity = reader.entity(agent_id)
    if entity is None or entity.type != "agent":
        raise Problem("unknown-id", "there is no agent {agent_id}", hint="agents", agent_id=agent_id)
    return view(entity, Agent)


def read_state(reader: Reader, agent_id: str) -> AgentState:
    entity = reader.entity(state_id(agent_id))
    return AgentState(state_id(agent_id), agent_id) if entity is None else view(entity, AgentState)


def list_agents(reader: Reader, lifecycle: str | None = None) -> list[Agent]:
    """Every agent that ever was, oldest first, destroyed ones too; or those of one lifecycle (S3-72)."""
    agents = [view(entity, Agent) for entity in reader.by_type("agent")]
    return [agent for agent in agents if lifecycle is None or agent.lifecycle == lifecycle]


def task_of(state: AgentState) -> str:
    """The id of the task that the agent minds; '' for an agent without one."""
    task_id = state.slots.get("activeTaskId")
    return task_id if isinstance(task_id, str) else ""


def asleep_without_task(journal: Reader, state: AgentState) -> bool:
    """Whether the agent's task is deleted or not here: it sleeps until the task is back, unchanged itself."""
    task = journal.entity(task_of(state)) if task_of(state) else None
    return task is None or task.type != "task" or is_deleted(task)


def asleep_after_task(journal: Reader, state: AgentState) -> str | None:
    """The status of the agent's task if it is closed (DONE, REJECTED): the agent sleeps until it is opened again."""
    task = journal.entity(task_of(state)) if task_of(state) else None
    status = view(task, Task).status if task is not None and task.type == "task" else ""
    return status if status in CLOSED else None


def after(agent: Agent, event: str, who: str = "", task_id: str = "") -> str:
    """The lifecycle that `event` leads to (`TRANSITIONS`); `Problem` if it leads nowhere. In the problem the agent is
    called `who` or by its name; the hint names the task or the agent."""
    following = TRANSITIONS.get((agent.lifecycle, event))
    if following is None:
        raise Problem(
            "wrong-lifecycle",
            "{who} is {lifecycle}; cannot {event}",
            hint=_HINTS.get(agent.lifecycle, ""),
            which=task_id or agent.id,
            who=who or agent.display_name,
            lifecycle=agent.lifecycle,
            event=event,
        )
    return following


def led(reader: Reader, agent_id: str, event: str) -> str:
    """The lifecycle that `event` leads the agent with this id to; `Problem` as for `after`."""
    return after(read(reader, agent_id), event, task_id=task_of(read_state(reader, agent_id)))


def checked_name(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= MAX_NAME:
        raise Problem(
            "bad-value",
            "an agent's name has 1 to {max_name} characters; got {count}",
            max_name=MAX_NAME,
            count=len(name),
        )
    return name


# -- the person's verbs


def pause(tx: Transaction, agent_id: str) -> None:
    """No wakes until it is resumed. What it has proposed stays open."""
    tx.put(agent_id, "agent", {"lifecycle": led(tx, agent_id, "pause")})


def resume(tx: Transaction, agent_id: str) -> None:
    """Wakes again; what happened meanwhile is the delta of its next wake. Its failures are forgiven."""
    tx.put(agent_id, "agent", {"lifecycle": led(tx, agent_id, "resume")})
    forgiven = {"consecutiveFailureCount": 0, "nextWakeAt": None, f"slots/{ASLEEP_BECAUSE}": None}
    tx.put(state_id(agent_id), "agentState", {"agentId": agent_id, **forgiven})


def destroy(tx: Transaction, agent_id: str) -> None:
    """The end of its wakes. Nothing is deleted: what it said and proposed stays readable."""
    tx.put(agent_id, "agent", {"lifecycle": led(tx, agent_id, "destroy"), "destroyedAt": iso(tx.now)})


def move(tx: Transaction, agent_id: str, device: str) -> None:
    """Give the agent another home device, the only one where it wakes."""
    read(tx, agent_id)
    tx.put(agent_id, "agent", {"homeDevice": device})


def set_timer(tx: Transaction, agent_id: str, timer_id: str, at: str | None) -> None:
    """Set or remove (None) a timer: the agent wakes at that instant (ISO 8601, UTC), on the device that is its home
    then."""
    if "|" in timer_id or "/" in timer_id or not timer_id:
        raise Problem("bad-value", "a timer's name has neither '|' nor '/'; got {timer_id!r}", timer_id=timer_id)
    read(tx, agent_id)
    tx.put(agent_id, "agent", {f"timers/{timer_id}": at})


def timers(agent: Agent) -> dict[str, str]:
    """When it wakes, by the timer's name. Any device may have written it: what is not an instant counts as absent
    (ENT-1000)."""
    return {name: at for name, at in agent.timers.items() if "|" not in name and is_instant(at)}


# -- the wake's verbs


def woken(tx: Transaction, agent: Agent) -> None:
    """Record the first completed wake, with the agent's precedence. So a pause wins: one that was written on another
    device at the same time, and one that was written here during the wake."""
    following = TRANSITIONS.get((agent.lifecycle, "wake"), agent.lifecycle)
    if following != agent.lifecycle:
        tx.put(agent.id, "agent", {"lifecycle": following})


def give_up(tx: Transaction, agent: Agent, why: Sentence) -> bool:
    """Let the agent sleep after too many failures, and say why where the person looks. False if it does not wake
    any more anyway. A person's word on another device beats this one."""
    if (agent.lifecycle, "give up") not in TRANSITIONS:
        return False
    tx.put(agent.id, "agent", {"lifecycle": after(agent, "give up")})
    tx.put(state_id(agent.id), "agentState", {f"slots/{ASLEEP_BECAUSE}": wording.plain(why)})
    return True


def asleep_because(state: AgentState) -> Sentence | None:
    """Why the agent went to sleep by itself; None if it did not."""
    return wording.of_field(state.slots.get(ASLEEP_BECAUSE))


def personality(agent: Agent) -> str:
    """How the person wants the agent to be, in their words; '' if they said nothing."""
    words = agent.config.get(PERSONALITY)
    return words[:MAX_PERSONALITY] if isinstance(words, str) else ""


def setting(agent: Agent, name: str, default: int, limit: int) -> int:
    """A number of the agent's `config`, if it holds one that makes sense: any device may have written it."""
    value = agent.config.get(name)
    return min(value, limit) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
