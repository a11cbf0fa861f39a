"""What the person allows an agent to propose (docs/specs/10-review.md, REV-5, SOV-11).

The person sets the policy. It is stored with the agent and replicates with it. So the device that builds a
proposal and the device that confirms it apply the same policy.

The engine reads only how strict it is to be. What else the person allows, the actions read from the agent.
"""

from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.entities.entity import Entity
from lottisync.entities.version import Damaged
from lottisync.entities.view import view
from lottisync.language import OURS, marked
from lottisync.store.reader import Reader

Sovereignty = Literal["reason", "evidence"]


class Proposer(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an agent that review reads."""

    id: str
    display_name: str = ""
    config: dict[str, Any] = {}

    @property
    def sovereignty(self) -> Sovereignty:
        """`evidence` if an override must cite entries (SOV-11), else `reason`."""
        return "evidence" if self.config.get("sovereignty") == "evidence" else "reason"


class Policy(NamedTuple):
    """`sovereignty` says what an override of the user needs. `agent` is the agent as it is stored: an action reads from
    it what else the person allows (`lottisync.review.action`). None: an agent that is unknown here, or damaged. It is
    allowed nothing that a person has to allow."""

    sovereignty: Sovereignty = "reason"
    agent: Entity | None = None


def policy_of(agents: Reader, agent_id: str, sovereignty: Sovereignty = "reason") -> Policy:
    """The policy of an agent. `sovereignty` is the least that this device requires."""
    agent = _agent(agents, agent_id)
    strict = sovereignty == "evidence" or (agent is not None and view(agent, Proposer).sovereignty == "evidence")
    return Policy("evidence" if strict else "reason", agent)


def agent_name(agents: Reader, agent_id: str, language: str) -> str:
    """What a person calls an agent; one that is unknown here, in their language."""
    agent = _agent(agents, agent_id)
    return (view(agent, Proposer).display_name if agent is not None else "") or OURS.say(marked("agent"), language)


def _agent(agents: Reader, agent_id: str) -> Entity | None:
    try:
        entity = agents.entity(agent_id)
    except Damaged:
        return None
    return entity if entity is not None and entity.type == "agent" else None
