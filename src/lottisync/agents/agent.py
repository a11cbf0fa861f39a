"""What an agent is, and the life it leads (docs/specs/09-agents.md, section 2).

An agent is three entities that replicate: who it is (`agent`), where it stands (`agentState`) and what it has
said (messages, reports, proposals). Who it is belongs to the person: every verb here writes with the person's
precedence. Where it stands belongs to its wakes.

The lifecycle is one table. What is *not* in it is an agent whose task was deleted: that is not written
anywhere, it is read off the task (`asleep_without_task`). A deletion on one device and an edit on another may
bring the task back when they meet, and then the agent goes on as if nothing had been (S3-88).
"""

from collections.abc import Mapping

from lottisync.entities.agent import Agent, AgentState
from lottisync.entities.entity import AGENT, is_deleted
from lottisync.entities.schema import derived_id
from lottisync.entities.view import view
from lottisync.problem import Problem
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

MAX_NAME = 80
CREATED, ACTIVE, DORMANT, DESTROYED = "created", "active", "dormant", "destroyed"

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (CREATED, "wake"): ACTIVE,
    (ACTIVE, "wake"): ACTIVE,
    (CREATED, "pause"): DORMANT,
    (ACTIVE, "pause"): DORMANT,
    (DORMANT, "resume"): ACTIVE,
    (CREATED, "destroy"): DESTROYED,
    (ACTIVE, "destroy"): DESTROYED,
    (DORMANT, "destroy"): DESTROYED,
    (DESTROYED, "create"): CREATED,
}
"""(lifecycle, event) -> lifecycle (AGENT-5). A pair that is missing cannot happen and is told to the person."""

_ADVICE = {
    CREATED: "It has not been awake yet",
    ACTIVE: "It is active already",
    DORMANT: "It is paused; resume it first: lottisync agent resume",
    DESTROYED: "It was destroyed; make it anew: lottisync agent create",
}


def state_id(agent_id: str) -> str:
    return derived_id("agentState", agent_id)


def report_head_id(agent_id: str, scope: str) -> str:
    return derived_id("agentReportHead", agent_id, scope)


# -- reading


def read(reader: Reader, agent_id: str) -> Agent:
    """The agent; `Problem("unknown-id")` if this device knows none of that id."""
    entity = reader.entity(agent_id)
    if entity is None or entity.type != "agent":
        raise Problem("unknown-id", f"there is no agent {agent_id}. See: lottisync agent list")
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


def after(agent: Agent, event: str) -> str:
    """The lifecycle that `event` leads to (`TRANSITIONS`); `Problem` if it leads nowhere."""
    following = TRANSITIONS.get((agent.lifecycle, event))
    if following is None:
        advice = _ADVICE.get(agent.lifecycle, "This program does not know that state; install a newer lottisync")
        raise Problem("wrong-lifecycle", f"{agent.display_name} is {agent.lifecycle}; cannot {event}. {advice}")
    return following


def checked_name(text: str) -> str:
    name = " ".join(text.split())
    if not 1 <= len(name) <= MAX_NAME:
        raise Problem("bad-value", f"an agent's name has 1 to {MAX_NAME} characters; got {len(name)}")
    return name


# -- the person's verbs


def pause(tx: Transaction, agent_id: str) -> None:
    """No wakes until it is resumed. What it has proposed stays open."""
    tx.put(agent_id, "agent", {"lifecycle": after(read(tx, agent_id), "pause")})


def resume(tx: Transaction, agent_id: str) -> None:
    """Wakes again; what happened meanwhile is the delta of its next wake."""
    tx.put(agent_id, "agent", {"lifecycle": after(read(tx, agent_id), "resume")})


def destroy(tx: Transaction, agent_id: str) -> None:
    """The end of its wakes. Nothing is deleted: what it said and proposed stays readable."""
    tx.put(agent_id, "agent", {"lifecycle": after(read(tx, agent_id), "destroy"), "destroyedAt": iso(tx.now)})


def move(tx: Transaction, agent_id: str, device: str) -> None:
    """Give the agent another home device, the only one where it wakes."""
    read(tx, agent_id)
    tx.put(agent_id, "agent", {"homeDevice": device})


# -- the wake's verb


def woken(tx: Transaction, agent: Agent) -> None:
    """Record the first completed wake. With the agent's precedence: a pause on another device beats it."""
    following = after(agent, "wake")
    if following != agent.lifecycle:
        tx.put(agent.id, "agent", {"lifecycle": following}, precedence=AGENT)
