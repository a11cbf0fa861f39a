"""What the person allows an agent to propose (docs/specs/10-review.md, REV-5, SOV-11).

The person sets the policy. It is stored with the agent and replicates with it. So the device that builds a
proposal and the device that confirms it apply the same policy.
"""

from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.entities.version import Damaged
from lottisync.entities.view import view
from lottisync.store.reader import Reader

Sovereignty = Literal["reason", "evidence"]


class Proposer(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an agent that review reads: its name, and what the person allows it."""

    id: str
    display_name: str = ""
    allowed_category_ids: dict[str, bool] = {}
    config: dict[str, Any] = {}

    @property
    def sovereignty(self) -> Sovereignty:
        """`evidence` if an override must cite entries (SOV-11), else `reason`."""
        return "evidence" if self.config.get("sovereignty") == "evidence" else "reason"

    @property
    def auto_check(self) -> bool:
        """True if completions may be ticked without a verdict, on items that an agent set last (S0-53)."""
        return self.config.get("autoCheck") is True


def proposer_of(agents: Reader, agent_id: str) -> Proposer:
    """The agent `agent_id`. If it is unknown here, or damaged, it has no name, and nothing is allowed."""
    try:
        entity = agents.entity(agent_id)
    except Damaged:
        return Proposer(agent_id)
    return view(entity, Proposer) if entity is not None and entity.type == "agent" else Proposer(agent_id)


class Policy(NamedTuple):
    """`categories` are those in which the agent may act. `sovereignty` says what an override of the user needs.
    `auto_check`: completions are ticked at once if an agent set the item last."""

    categories: frozenset[str] = frozenset()
    sovereignty: Sovereignty = "reason"
    auto_check: bool = False


def policy_of(agents: Reader, agent_id: str, sovereignty: Sovereignty = "reason") -> Policy:
    """The policy of an agent. `sovereignty` is the least that this device requires. An agent that is unknown here is
    allowed nothing."""
    agent = proposer_of(agents, agent_id)
    strict = sovereignty == "evidence" or agent.sovereignty == "evidence"
    return Policy(
        frozenset(category for category, allowed in agent.allowed_category_ids.items() if allowed),
        "evidence" if strict else "reason",
        agent.auto_check,
    )
