"""On what terms an agent may propose (docs/specs/10-review.md, REV-5, SOV-11).

They are the person's to set, with the agent, and replicate with it: whoever builds a proposal and
whoever confirms it, on whichever device, asks the same terms.
"""

from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.entities.view import view
from lottisync.store.reader import Reader

Sovereignty = Literal["reason", "evidence"]


class Proposer(msgspec.Struct, frozen=True, rename="camel"):
    """What the review reads of the entity that proposes: its name, and what the person has allowed it."""

    id: str
    display_name: str = ""
    allowed_category_ids: dict[str, bool] = {}
    config: dict[str, Any] = {}

    @property
    def sovereignty(self) -> Sovereignty:
        """`evidence` if an override has to cite entries (SOV-11), else `reason`."""
        return "evidence" if self.config.get("sovereignty") == "evidence" else "reason"

    @property
    def auto_check(self) -> bool:
        """Whether completions may be ticked without a verdict, on items that an agent set last (S0-53)."""
        return self.config.get("autoCheck") is True


def proposer_of(agents: Reader, agent_id: str) -> Proposer:
    """The proposer called `agent_id`; one that is not known here has no name, and nothing is allowed it."""
    entity = agents.entity(agent_id)
    return view(entity, Proposer) if entity is not None and entity.type == "agent" else Proposer(agent_id)


class Terms(NamedTuple):
    """`categories` are those in which the agent may act; `sovereignty` is what it takes to override
    what the user set; `auto_check` whether completions are ticked at once where an agent set the item."""

    categories: frozenset[str] = frozenset()
    sovereignty: Sovereignty = "reason"
    auto_check: bool = False


def terms_of(agents: Reader, agent_id: str, sovereignty: Sovereignty = "reason") -> Terms:
    """The terms of an agent; `sovereignty` is what this device asks for at least. Of an agent that is not
    known here nothing is known to be allowed."""
    agent = proposer_of(agents, agent_id)
    strict = sovereignty == "evidence" or agent.sovereignty == "evidence"
    return Terms(
        frozenset(category for category, allowed in agent.allowed_category_ids.items() if allowed),
        "evidence" if strict else "reason",
        agent.auto_check,
    )
