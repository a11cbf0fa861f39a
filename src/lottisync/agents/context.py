"""The context: what an agent knows when it wakes (docs/specs/09-agents.md, section 4).

Its report, its own notes, the changes since its last wake, the person's decisions, and the task. The conversations of
earlier wakes are not part of it. They are kept for people; report and notes have what mattered (S3-45).

The journal's part is read in one read transaction, together with the journal's knowledge. This vector makes the rest
exact. *Delta*: exactly those entities of the task have changed whose clock has a component beyond the knowledge of the
last wake. Dates do not matter, also not the old date of an entity that arrived by sync. *Staleness*: a proposal for a
field that was written beyond this knowledge was made without that write, and is refused.

The agent store is read first. A decision is written after its effect, so for every decision that is read here, the
effect is in the journal that is read after it.

Each part is cut to its share of the budget (`lottisync.agents.budget`). What goes first is what the person wrote: their
newest note, their ticks, their rejections.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from functools import partial
from typing import Any, NamedTuple

import msgspec

from lottisync.agents import admission, attention, lifecycle, memory, report, seen, thread
from lottisync.agents.budget import (
    CONTEXT_TOKENS,
    MOST_TOKENS,
    Budget,
    chosen,
    newest,
    rate_of,
    size,
    squeezed,
)
from lottisync.agents.endpoint import choice
from lottisync.agents.memory import Memory
from lottisync.agents.seen import Seen
from lottisync.agents.types import Agent, AgentReport, AgentState, AttentionRequest
from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.path import split
from lottisync.entities.view import view
from lottisync.journal import never_sent, tasks
from lottisync.journal.tasks import TaskPage
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import ENTRY_LINK, Label, Task
from lottisync.review import history, retraction
from lottisync.review.ledger import Ledger, Placed
from lottisync.review.precedence import PERSON
from lottisync.review.proposal import created_id
from lottisync.store import lookups
from lottisync.store.instant import there
from lottisync.store.reader import Reader
from lottisync.store.store import Store

RATES = "bytesPerToken"
"""The slot of the agent's state with the rate of its model (`lottisync.agents.budget`)."""
BEYOND = "processedBeyond"
"""The slot of the agent's state that belongs to `processedCounterByHost` (`seen.Seen`)."""
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_BOOKKEEPING = frozenset(
    {"receipts", "rank", "knowledge", "createdAt", "taskId", "checklistId", "suppressedLabels", "neverSend"}
)
"""Fields that are the program's bookkeeping and mean nothing to a reader of the task."""


class Context(NamedTuple):
    """`seen` is what the journal held at the moment of the reading. `waiting` are the agent's own proposals that
    the person has not decided on, which it may take back. `delta` is empty on a first wake, where all is
    new. `left_out` counts, by part, what there was no room for; `withheld` is what it could have named and did not.
    `attention` is the last time that it asked the person to look. `told_of` are the other tasks of which the model is
    told, in whichever part."""

    agent: Agent
    state: AgentState
    page: TaskPage
    seen: Seen
    report: AgentReport | None
    memory: Memory
    decisions: str
    waiting: list[dict[str, Any]]
    delta: list[dict[str, Any]]
    task: dict[str, Any]
    linked: list[dict[str, Any]]
    moment: str
    attention: AttentionRequest | None
    budget: Budget
    left_out: dict[str, int]
    withheld: tuple[str, ...]
    told_of: frozenset[str]

    @property
    def is_first(self) -> bool:
        """True if no wake of this agent was completed yet. Failed ones do not count."""
        return self.state.last_wake_at is None


def read(journal: Store, agent_store: Store, agent_id: str, now: int, zone: tzinfo | None = None) -> Context:
    """The context of a wake at `now` (ms), on a device in that zone (None: in this machine's). `Problem("unknown-id")`
    if the agent or its task is not here."""
    with agent_store.reading() as remembered, journal.reading() as current:
        agent = lifecycle.read(remembered, agent_id)
        state = lifecycle.read_state(remembered, agent_id)
        task_id = lifecycle.task_of(state)
        budget = budget_of(agent, state)
        decided = history.recent_decisions(
            agent_store,
            ACTIONS,
            now,
            agent_id=agent_id,
            task_id=task_id,
            room=budget.share("decisions"),
            hidden=hides(current),
        )
        waiting = [
            {"id": proposal.id, "summary": proposal.summary, "proposedAt": proposal.created_at}
            for proposal in retraction.open_proposals(
                agent_store, ACTIONS, now, agent_id=agent_id, task_id=task_id, hidden=hides(current)
            )
        ]
        page = tasks.page(current, task_id)
        everything = _entities(current, page)
        changes = [] if state.last_wake_at is None else delta(everything, processed(state))
        said = _own_report(current, remembered, agent_id)
        remembers = memory.read(remembered, state, budget, partial(_may_not_say, current))
        linked, told_of = _linked(current, remembered, agent, task_id)
        left_out: dict[str, int] = {}
        return Context(
            agent=agent,
            state=state,
            page=page,
            seen=seen.of(current.knowledge(), everything),
            report=None if said is None else _squeezed_report(said, budget),
            memory=remembers,
            decisions=decided,
            waiting=_fitting("waiting", waiting, budget, left_out),
            delta=_fitting("delta", changes, budget, left_out, _by_person_first(changes)),
            task=task_json(current, page, budget, left_out),
            linked=_fitting("linked", linked, budget, left_out),
            moment=moment(now, zone),
            attention=attention.read(remembered, agent_id),
            budget=budget,
            left_out=left_out,
            withheld=withheld(current, remembered, agent_id, task_id, now),
            told_of=told_of | remembers.told_of | _reported(said),
        )


def budget_of(agent: Agent, state: AgentState) -> Budget:
    """What the agent's model may be told in one wake."""
    tokens = lifecycle.setting(agent, "contextTokens", CONTEXT_TOKENS, MOST_TOKENS)
    return Budget(tokens, rate_of(state.slots.get(RATES), choice(agent).model))


def _squeezed_report(said: AgentReport, budget: Budget) -> AgentReport:
    return msgspec.structs.replace(said, content=squeezed(said.content, budget.share("report")))


def _fitting(
    part: str, elements: list[dict[str, Any]], budget: Budget, left_out: dict[str, int], order: list[int] | None = None
) -> list[dict[str, Any]]:
    """Those elements of a part for which there is room, the newest first if no order is given."""
    room = budget.share(part)
    small = [squeezed(each, room // 4) for each in elements]
    indexes = chosen(small, room, range(len(small) - 1, -1, -1) if order is None else order)
    left_out[part] = len(small) - len(indexes)
    return [small[index] for index in indexes]


def _by_person_first(changes: list[dict[str, Any]]) -> list[int]:
    """The person's changes before the agents', each from the newest entity to the oldest."""
    newest_first = range(len(changes) - 1, -1, -1)
    return sorted(newest_first, key=lambda index: "user" not in changes[index]["by"])


def moment(now: int, zone: tzinfo | None) -> str:
    """The day, the time and the zone at `now` (ms): `Sunday, 2026-11-22, 18:43 (CET, UTC+01:00)`."""
    here = there(now, zone)
    offset = f"{here:%z}"
    return f"{_WEEKDAYS[here.weekday()]}, {here:%Y-%m-%d, %H:%M} ({here.tzname()}, UTC{offset[:3]}:{offset[3:5]})"


def processed(state: AgentState) -> Seen:
    """What the last completed wake had seen."""
    return seen.stored(state.processed_counter_by_host, state.slots.get(BEYOND))


# -- the task


def task_json(reader: Reader, page: TaskPage, budget: Budget, left_out: dict[str, int]) -> dict[str, Any]:
    """The task with its checklists (each item with who set it, and when; S0-34), log entries, labels, estimate
    and time spent (S3-62, S3-66), each part in its share of the budget."""
    found = tasks.as_json(page)
    for bookkeeping in ("suppressedLabels", "neverSend", "createdAt"):
        found.pop(bookkeeping, None)
    entries, checklists, archived = found.pop("entries"), found.pop("checklists"), found.pop("archivedItems")
    found["labels"] = [{"id": label.id, "name": label.name} for label in page.labels]
    found["labelsToChooseFrom"] = [
        {"id": label.id, "name": label.name}
        for label in (view(entity, Label) for entity in reader.by_type("label"))
        if not page.task.labels.get(label.id) and not page.task.suppressed_labels.get(label.id) and not label.never_send
    ]
    found = squeezed(found, budget.share("task"))
    found |= _items(checklists, archived, budget.share("items"), left_out)
    found["logEntries"] = _log(entries, budget.share("log"))
    left_out["log"] = len(entries) - len(found["logEntries"])
    return dict(found)


def _log(entries: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The newest entries. The person's newest one is there, however many came after it."""
    small = [squeezed(entry, room // 4) for entry in entries]
    written = [index for index, entry in enumerate(entries) if entry["author"] == "user"]
    first = newest(small, room - room // 4)
    before = [small[written[-1]]] if written and written[-1] < first else []
    return before + small[first:]


def _items(
    checklists: list[dict[str, Any]], archived: list[dict[str, Any]], room: int, left_out: dict[str, int]
) -> dict[str, Any]:
    """The checklists with the items for which there is room: what the person ticked, the newest first, in up to half of
    it; then what is open; then all others."""
    heads = [squeezed({"id": each["id"], "title": each["title"]}, room // 8) for each in checklists]
    shown = chosen(heads, room // 4, range(len(heads)))
    items = [(index, squeezed(item, room // 8)) for index in shown for item in checklists[index]["items"]]
    items += [(-1, squeezed(item, room // 8)) for item in archived]
    small = [item for _, item in items]
    ticked = [index for index, item in enumerate(small) if item["isChecked"] and item["checkedBy"] == "user"]
    ticked.sort(key=lambda index: str(small[index]["checkedAt"]), reverse=True)
    kept = chosen(small, room // 2, ticked)
    rest = sorted(
        set(range(len(small))).difference(kept), key=lambda index: (items[index][0] < 0, _is_ticked(small[index]))
    )
    used = sum(size(small[index]) for index in kept)
    fitting = {*kept, *chosen(small, room - room // 4 - used, rest)}
    left_out["checklists"] = len(heads) - len(shown)
    left_out["items"] = sum(len(each["items"]) for each in checklists) + len(archived) - len(fitting)
    return {
        "checklists": [
            {**heads[index], "items": [small[at] for at in sorted(fitting) if items[at][0] == index]} for index in shown
        ],
        "archivedItems": [small[at] for at in sorted(fitting) if items[at][0] < 0],
    }


def _is_ticked(item: dict[str, Any]) -> bool:
    return bool(item["isChecked"])


def _may_not_say(journal: Reader, told_of: Iterable[str]) -> bool:
    """Whether words that may speak of these tasks are left out, because one of them is never sent (AGENT-123)."""
    return any(never_sent.is_withheld(journal, ident) for ident in told_of)


def _reported(said: AgentReport | None) -> frozenset[str]:
    """The other tasks of which a report may speak."""
    return frozenset(thread.listed(said.provenance.get(thread.TOLD_OF))) if said is not None else frozenset()


def _own_report(journal: Reader, agents: Reader, agent_id: str) -> AgentReport | None:
    """The agent's last report, unless it may speak of what is never sent."""
    said = report.latest_report(agents, agent_id)
    return None if _may_not_say(journal, _reported(said)) else said


def _linked(journal: Reader, agents: Reader, agent: Agent, task_id: str) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """Tasks that the task is linked with and that the agent may see, with what their agents say (S3-63); and the ids of
    all tasks of which that may speak."""
    told_of: set[str] = set()
    ends = [("linkedTo", end) for end in lookups.ends_from(journal, task_id, ENTRY_LINK)]
    ends += [("linkedFrom", end) for end in lookups.ends_to(journal, task_id, ENTRY_LINK)]
    found = []
    for direction, other_id in ends:
        entity = journal.entity(other_id)
        if entity is None or entity.type != "task" or is_deleted(entity):
            continue
        task = view(entity, Task)
        if not admission.may_see(journal, agent, task):
            continue
        others = lookups.ends_to(agents, other_id, "agent_task")
        reports = [said for other in others if (said := _own_report(journal, agents, other)) is not None]
        told_of |= {other_id, *(_reported(reports[0]) if reports else ())}
        found.append(
            {
                "id": task.id,
                "title": task.title,
                "status": task.status,
                "direction": direction,
                "summary": reports[0].content["tldr"] if reports else None,
            }
        )
    return found, frozenset(told_of)


def hides(journal: Reader) -> Callable[[Placed], bool]:
    """Gives a function that says whether a proposal names, or has made, something of which no model is told."""

    def hidden(placed: Placed) -> bool:
        arguments = [placed.item.args, *(head.args for head in placed.state.heads)]
        return any(never_sent.is_withheld(journal, ident) for ident in (*texts(arguments), _made(placed)))

    return hidden


def texts(value: object) -> Iterator[str]:
    """All texts in plain JSON."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for each in value.values() for text in texts(each))
        case list() | tuple():
            yield from (text for each in value for text in texts(each))


def withheld(journal: Reader, agents: Reader, agent_id: str, task_id: str, now: int) -> tuple[str, ...]:
    """The ids of all that a context could name and of which no model is told: tasks that the task is linked with, and
    what proposals of the agent are about. If another id has come to them while a wake is under way, what its model was
    told may not be sent again."""
    proposed = (placed for placed in Ledger.read(agents, now, task_id).placed() if placed.set.agent_id == agent_id)
    named = {ident for placed in proposed for ident in (*texts(placed.item.args), _made(placed))}
    named |= {*lookups.ends_from(journal, task_id, ENTRY_LINK), *lookups.ends_to(journal, task_id, ENTRY_LINK)}
    # The last report lists all that the agent's other words may speak of.
    named |= _reported(report.latest_report(agents, agent_id))
    return tuple(ident for ident in sorted(named) if never_sent.is_withheld(journal, ident))


def _made(placed: Placed) -> str:
    """The id of the task that the proposal makes, if it makes one."""
    return created_id(placed.item.operation_id, "task")


# -- what has changed


def delta(entities: list[Entity], before: Seen) -> list[dict[str, Any]]:
    """Those of a task's entities that were written beyond what was seen before, in the given order (AGENT-11, S3-05).

    Per entity: type, id, `change` (added, edited or deleted), `by` (who wrote: user, agent, or both) and, unless
    it was deleted, the fields written since, with their values now."""
    return [_change(entity, before) for entity in entities if not before.has_all_of(entity)]


def _entities(reader: Reader, page: TaskPage) -> list[Entity]:
    """All that belongs to the task: itself, what it owns in the order in which it was made, deleted or not, and
    its labels."""
    task = reader.entity(page.task.id)
    labels = [reader.entity(label.id) for label in page.labels]
    # A task owns itself in the store's index.
    owned = [entity for entity in reader.owned_by(page.task.id, deleted=True) if entity.id != page.task.id]
    return [entity for entity in (task, *owned, *labels) if entity is not None]


def _change(entity: Entity, before: Seen) -> dict[str, Any]:
    written = {
        path: writes[0]
        for path, writes in sorted(entity.registers.items())
        if any(not before.has(write.stamp.dot) for write in writes)
    }
    authors = {write.stamp.precedence for write in written.values()}
    change = {
        "type": entity.type,
        "id": entity.id,
        "by": ["user" if author == PERSON else "agent" for author in sorted(authors, reverse=True)],
    }
    if is_deleted(entity):
        return change | {"change": "deleted", "title": entity.value("title") or entity.value("text")}
    fields = {path: entity.value(path) for path in written if split(path)[0] not in _BOOKKEEPING}
    is_new = not any(before.has(write.stamp.dot) for writes in entity.registers.values() for write in writes)
    return change | {"change": "added" if is_new else "edited", "fields": fields}


def is_current(journal: Store, task_id: str, before: Seen) -> bool:
    """Whether nobody but an agent wrote to the task since a context that had seen that much. (What the killed
    wake did at once, and recorded, is not news to it.)"""
    with journal.reading() as reader:
        changes = delta(_entities(reader, tasks.page(reader, task_id)), before)
    return all(change["by"] == ["agent"] for change in changes)
