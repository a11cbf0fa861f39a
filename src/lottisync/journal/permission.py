"""What a person allows an agent to do with tasks (docs/specs/10-review.md, REV-5, S0-53).

The confirmation engine hands on the agent as it is stored (`lottisync.review.policy.Policy`), and knows none of this.
"""

from typing import Any

import msgspec

from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.review.policy import Policy


class Permission(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an agent that say what it may do."""

    id: str
    allowed_category_ids: dict[str, bool] = {}
    config: dict[str, Any] = {}


def permission_of(policy: Policy) -> Permission:
    return view(policy.agent, Permission) if policy.agent is not None else Permission("")


def allows(policy: Policy, task: Entity) -> bool:
    """True if an agent with this policy may change a task. A task in no category is open to every agent."""
    category = task.value("categoryId")
    if category is None:
        return True
    return isinstance(category, str) and permission_of(policy).allowed_category_ids.get(category, False)


def may_check(policy: Policy) -> bool:
    """True if completions may be ticked without a verdict, on items that an agent set last (S0-53)."""
    return permission_of(policy).config.get("autoCheck") is True
