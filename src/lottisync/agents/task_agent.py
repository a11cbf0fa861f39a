"""The task agent: one agent that looks after one task (docs/specs/09-agents.md, section 2).

Its id is derived from the task's. Two devices that create an agent for the same task at the same time have
made one, when they meet, and not two that propose against each other.
"""

from lottisync.agents import lifecycle, subscription
from lottisync.agents.lifecycle import CREATED, DESTROYED, checked_name, state_id
from lottisync.agents.types import Agent
from lottisync.entities.schema import derived_id
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.types import Task
from lottisync.review.precedence import PERSON
from lottisync.store import lookups
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store

KIND = "taskAgent"
MAX_TURNS = 5
"""Turns of one wake, unless the agent's `config.maxTurns` says otherwise (S3-59). Four are enough to propose,
read what was refused, correct it and report; the fifth is for what goes wrong."""


def agent_id(task_id: str) -> str:
    return derived_id("agent", KIND, task_id)


def create_task_agent(
    journal: Store, agent_store: Store, task_id: str, *, name: str, home_device: str, model: str, now: int
) -> str:
    """Make the agent of a task, with its state and links, in one transaction; returns its id (S3-56, S3-73).

    `home_device` is the id of the device it wakes on, `model` the name under which the model is asked for.
    If there is one already, only the task's present category is added to those that it may see;
    a destroyed one comes back with all that it remembers. `Problem("unknown-id")` if there is no such task."""
    with journal.reading() as reader:
        category = tasks.read(reader, task_id, "task", Task).category_id
    ident = agent_id(task_id)
    allowed = {"allowedCategoryIds": {category: True}} if category else {}
    at = iso(now)
    with agent_store.transaction(now, PERSON) as tx:
        if tx.entity(ident) is not None:
            existing = lifecycle.read(tx, ident)
            changes: dict[str, object] = {}
            if category and not existing.allowed_category_ids.get(category):
                changes |= allowed
            if existing.lifecycle == DESTROYED:
                changes |= {"lifecycle": lifecycle.after(existing, "create"), "destroyedAt": None}
            if changes:
                tx.put(ident, "agent", changes)
            return ident
        tx.put(
            ident,
            "agent",
            {
                "agentId": ident,
                "kind": KIND,
                "displayName": checked_name(name),
                "lifecycle": CREATED,
                "mode": "autonomous",
                "currentStateId": state_id(ident),
                "config": {"model": model, "maxTurns": MAX_TURNS},
                "subscriptions": subscription.of_task(task_id),
                "homeDevice": home_device,
                "createdAt": at,
                **allowed,
            },
        )
        tx.put(
            state_id(ident),
            "agentState",
            {"agentId": ident, "revision": 0, "consecutiveFailureCount": 0, "slots": {"activeTaskId": task_id}},
        )
        tx.link("agent_state", ident, state_id(ident))
        tx.link("agent_task", ident, task_id)
    return ident


def agent_for_task(reader: Reader, task_id: str) -> Agent | None:
    """The agent that minds the task, found by its `agent_task` link; a destroyed one minds nothing. If there are
    several (another program may link more), it is the newest, then the one with the greatest id."""
    linked = [reader.entity(end) for end in lookups.ends_to(reader, task_id, "agent_task")]
    minding = [view(entity, Agent) for entity in linked if entity is not None and entity.type == "agent"]
    living = [found for found in minding if found.lifecycle != DESTROYED]
    return max(living, key=lambda found: (found.created_at, found.id), default=None)
