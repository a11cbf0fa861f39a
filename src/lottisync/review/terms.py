"""On what terms an agent may propose (docs/specs/10-review.md, REV-5, SOV-11).

They are the person's to set, with the agent, and replicate with it: whoever builds a proposal and
whoever confirms it, on whichever device, asks the same terms.
"""

from typing import Literal, NamedTuple

from lottisync.entities.agent import Agent
from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.store.reader import Reader

Sovereignty = Literal["reason", "evidence"]


class Terms(NamedTuple):
    """`categories` are those whose tasks the agent may touch; `sovereignty` is what it takes to override
    what the user set; `auto_check` whether completions are ticked at once where an agent set the item."""

    categories: frozenset[str] = frozenset()
    sovereignty: Sovereignty = "reason"
    auto_check: bool = False

    def allows(self, task: Entity) -> bool:
        """A task in no category is open to every agent."""
        category = task.value("categoryId")
        return category is None or (isinstance(category, str) and category in self.categories)


def terms_of(agents: Reader, agent_id: str, sovereignty: Sovereignty = "reason") -> Terms:
    """The terms of an agent; `sovereignty` is what this device asks for at least. Of an agent that is not
    known here nothing is known to be allowed."""
    entity = agents.entity(agent_id)
    agent = view(entity, Agent) if entity is not None and entity.type == "agent" else Agent(agent_id)
    strict = sovereignty == "evidence" or agent.sovereignty == "evidence"
    return Terms(
        frozenset(category for category, allowed in agent.allowed_category_ids.items() if allowed),
        "evidence" if strict else "reason",
        agent.auto_check,
    )
