"""What an agent wakes for: subscriptions as data, and how a write matches one (docs/specs/09-agents.md, section 9).

A subscription is a few lists in a field of the agent, so it replicates, outlives every process, and moves to
another device with its agent. A predicate in memory would do neither: a function cannot be read, stored or moved
(S3-52).

An entity is in a subscription's reach if its id, its owner or one end of it (a link) is among `ids`; with `linked`,
if a link leads from it to one of `ids`. What belongs to a task is found when a change comes, not when the subscription
is made. So an item that is added later, or a task that is linked later, is in reach like any other (S3-53).

Within reach, single *writes* match, by their dots. That is what makes suppression exact (S3-54, S3-55):

- a write that the agent has seen, by its watermark, is not news;
- an agent's write (precedence 0) wakes nobody, or two agents of linked tasks would wake each other for ever;
- the effect of a confirmed proposal carries its receipt in the same write, which what a person types does not. It does
  not wake the agent whose proposal it was; that agent's next wake reads the decision.

No time is in this: what a person writes in the same millisecond as any of those has a dot of its own.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from lottisync.agents.seen import Seen
from lottisync.agents.types import Agent
from lottisync.causality.vector_clock import Dot
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.path import split
from lottisync.journal.types import ENTRY_LINK
from lottisync.review.precedence import PERSON
from lottisync.store import lookups
from lottisync.store.reader import Reader

SILENT = frozenset({"receipts", "rank", "knowledge", "createdAt", "suppressedLabels"})
"""Fields that are the program's bookkeeping: nobody is woken to look at them."""


class Subscription(msgspec.Struct, frozen=True):
    """`types` and `fields` name what matches; an empty list means all. `linked`: the tasks that are linked with
    `ids`, instead of what belongs to `ids`."""

    types: list[str] = []
    ids: list[str] = []
    fields: list[str] = []
    linked: bool = False


def of_task(task_id: str) -> dict[str, Any]:
    """What the agent of a task subscribes to: everything of the task; and of the tasks linked with it, whether their
    title or status has changed, or they are gone."""
    task = Subscription(types=["task", "checklist", "checklistItem", "entry", ENTRY_LINK], ids=[task_id])
    linked = Subscription(types=["task"], ids=[task_id], fields=["title", "status", DELETED_AT], linked=True)
    return {"task": msgspec.to_builtins(task), "linked": msgspec.to_builtins(linked)}


def of_agent(agent: Agent) -> dict[str, Subscription]:
    """The agent's subscriptions by id. Entries that are not subscriptions are left out."""
    found = {}
    for ident, fields in sorted(agent.subscriptions.items()):
        try:
            found[ident] = msgspec.convert(fields, Subscription)
        except msgspec.ValidationError:
            continue
    return found


class MatchIds(msgspec.Struct, frozen=True):
    """The ids by which subscriptions match an entity: directly, and over a link."""

    near: frozenset[str]
    linked: frozenset[str]


def match_ids(reader: Reader, entity: Entity) -> MatchIds:
    near = {entity.id, *(str(entity.value(path)) for path in ("taskId", FROM_ID, TO_ID) if entity.value(path))}
    linked = {*lookups.ends_from(reader, entity.id, ENTRY_LINK), *lookups.ends_to(reader, entity.id, ENTRY_LINK)}
    return MatchIds(frozenset(near), frozenset(linked - {entity.id}))


def matching(
    subscription: Subscription, entity: Entity, where: MatchIds, seen: Seen, is_own: Callable[[str], bool]
) -> frozenset[Dot]:
    """The writes held by the entity that the subscription wakes its agent for. `seen` is the agent's watermark,
    `is_own` says whether an operation was proposed by that agent."""
    if subscription.types and entity.type not in subscription.types:
        return frozenset()
    if not (where.linked if subscription.linked else where.near).intersection(subscription.ids):
        return frozenset()
    fields = frozenset(subscription.fields)
    news = {
        write.stamp.dot
        for path, writes in entity.registers.items()
        if _is_reported(split(path)[0], fields)
        for write in writes
        if write.stamp.precedence >= PERSON and not seen.has(write.stamp.dot)
    }
    if not news:
        return frozenset()
    return frozenset(news - _effects(entity, is_own))


def _is_reported(field: str, fields: frozenset[str]) -> bool:
    return field in fields if fields else field not in SILENT


def _effects(entity: Entity, is_own: Callable[[str], bool]) -> set[Dot]:
    """The writes that were effects of the agent's own proposals."""
    return {
        write.stamp.dot
        for path, writes in entity.registers.items()
        if split(path)[0] == "receipts" and is_own(split(path)[1] or "")
        for write in writes
    }
