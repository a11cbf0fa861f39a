"""An agent asks for the person's attention (docs/specs/09-agents.md, section 13).

It changes nothing of the task, so it is not a proposal: it is shown where the person looks first, until they settle
it. An agent has one request at most, so that one that asks in every wake is shown once. While its task is done or
deleted, or the agent ended, nothing is asked.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lottisync.agents import lifecycle
from lottisync.agents.types import AttentionRequest
from lottisync.entities.schema import derived_id
from lottisync.entities.view import view
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.store.beside import beside
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TYPE = "attentionRequest"


class Open(NamedTuple):
    """A request that waits, with the name of its agent and the title of its task."""

    request: AttentionRequest
    agent_name: str
    task_title: str


def request_id(agent_id: str) -> str:
    return derived_id(TYPE, agent_id)


def read(reader: Reader, agent_id: str) -> AttentionRequest | None:
    """The last request of the agent, settled or not; None if it never asked."""
    entity = reader.entity(request_id(agent_id))
    return view(entity, AttentionRequest) if entity is not None and entity.type == TYPE else None


def ask(tx: Transaction, agent_id: str, task_id: str, said: Mapping[str, Any]) -> None:
    """Ask, with the arguments of the tool. What waits already is replaced, and keeps its time."""
    before = read(tx, agent_id)
    waits = before is not None and before.settled_at is None
    fields = {"agentId": agent_id, "taskId": task_id, **said}
    if not waits:
        fields |= {"createdAt": iso(tx.now), "settledAt": None}
    tx.put(request_id(agent_id), TYPE, fields)


def settle(tx: Transaction, agent_id: str) -> None:
    """Note that the person has looked. `Problem` if the agent did not ask."""
    asked = read(tx, agent_id)
    if asked is None or asked.settled_at is not None:
        name = lifecycle.read(tx, agent_id).display_name
        raise Problem("not-asked", "{name} does not ask for your attention", name=name)
    tx.put(asked.id, TYPE, {"settledAt": iso(tx.now)})


def open_requests(reader: Reader, journal: Reader, damaged: list[Problem]) -> list[Open]:
    """The requests that wait, the most urgent first, then those with the greatest impact, then the oldest. `damaged`
    gets why any is left out."""
    asked = [view(entity, AttentionRequest) for entity in reader.by_type(TYPE)]
    found = beside(asked, lambda each: _open(reader, journal, each), damaged)
    return sorted(
        filter(None, found), key=lambda one: (-one.request.urgency, -one.request.impact, one.request.created_at)
    )


def open_request(reader: Reader, journal: Reader, agent_id: str) -> Open | None:
    """The request of the agent, if one waits."""
    asked = read(reader, agent_id)
    return _open(reader, journal, asked) if asked is not None else None


def _open(reader: Reader, journal: Reader, asked: AttentionRequest) -> Open | None:
    if asked.settled_at is not None:
        return None
    state = lifecycle.read_state(reader, asked.agent_id)
    living, task = reader.entity(asked.agent_id), journal.entity(asked.task_id)
    if living is None or task is None or living.value("lifecycle") == lifecycle.DESTROYED:
        return None
    if lifecycle.asleep_without_task(journal, state) or lifecycle.asleep_after_task(journal, state):
        return None
    return Open(asked, str(living.value("displayName") or ""), view(task, Task).title)
