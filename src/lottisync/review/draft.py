"""A proposal of the wake that runs, before it is an item of a change set."""

from typing import Any, NamedTuple

from lottisync.review.action import Action
from lottisync.review.change import SeenField
from lottisync.review.proposal import likeness


class Draft(NamedTuple):
    """An item that will be in a set of this wake. `depends_on` names operations of this wake, or items of
    earlier ones."""

    action: Action
    args: dict[str, Any]
    summary: str
    digest: str
    operation: str
    target: str | None
    base: list[SeenField]
    registers: frozenset[tuple[str, str]]
    identity: str
    group_id: str | None = None
    depends_on: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


def registers_of(action: Action, target: str | None) -> frozenset[tuple[str, str]]:
    """The registers that an action would write, each with the id of its entity."""
    return frozenset((target or "", path) for path in action.values())


def identity_of(action: Action) -> str:
    """A value that is equal for two proposals of the same change, whatever the capitals of their titles and their
    details."""
    return likeness(action.tool, action.identity(), action.titles)
