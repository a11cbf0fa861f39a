"""Answers about tasks."""

from typing import Literal

import msgspec

from lottisync.answers.form import Day, Instant
from lottisync.journal.tasks import TaskPage


class TaskRow(msgspec.Struct, frozen=True, gc=False):
    """What a list shows of a task; `estimate` is in minutes."""

    id: str
    title: str
    status: str
    priority: str
    due: Day | None
    estimate: int | None


class Tasks(msgspec.Struct, frozen=True):
    """Tasks, the most urgent first."""

    tasks: list[TaskRow]


class ChangedTask(TaskRow, frozen=True):
    """A task that was named; `changed` is false if it was so already."""

    changed: bool


class ChangedTasks(msgspec.Struct, frozen=True):
    """The tasks that were named, as they are now."""

    tasks: list[ChangedTask]


class ChangedItem(msgspec.Struct, frozen=True, rename="camel"):
    """A checklist item that was named; `changed` is false if it was so already."""

    id: str
    title: str
    task_id: str
    is_checked: bool
    changed: bool


class ChangedItems(msgspec.Struct, frozen=True):
    """The checklist items that were named, as they are now."""

    items: list[ChangedItem]


class Item(msgspec.Struct, frozen=True, rename="camel"):
    """`checkedBy` says who set or removed the tick last."""

    id: str
    title: str
    is_checked: bool
    checked_by: Literal["user", "agent"]
    checked_at: Instant | None


class ChecklistAnswer(msgspec.Struct, frozen=True):
    """A checklist, its items in order."""

    id: str
    title: str
    items: list[Item]


class Note(msgspec.Struct, frozen=True):
    """`kind` is `note` or `time`; `minutes` is set for `time`."""

    id: str
    at: Instant
    kind: str
    text: str
    author: str
    minutes: int | None


class Minder(msgspec.Struct, frozen=True, rename="camel"):
    """The agent that minds a task, and how many of its proposals wait for the person."""

    id: str
    name: str
    lifecycle: str
    proposals_waiting: int


class TaskAnswer(TaskRow, frozen=True, rename="camel", gc=True):
    """A task with all that belongs to it. `labels` are names; `estimate` and `minutesSpent` are minutes; `agent` is
    null if none minds it."""

    status_reason: str | None
    category_id: str | None
    language_code: str | None
    language_source: str
    labels: list[str]
    checklists: list[ChecklistAnswer]
    entries: list[Note]
    minutes_spent: int
    created_at: Instant
    agent: Minder | None

    @classmethod
    def of(cls, page: TaskPage, agent: Minder | None) -> "TaskAnswer":
        task = page.task
        return cls(
            task.id,
            task.title,
            task.status,
            task.priority,
            task.due,
            task.estimate,
            task.status_reason,
            task.category_id,
            task.language_code,
            task.language_source,
            [label.name for label in page.labels],
            [ChecklistAnswer(c.id, c.title, _items(page, c.id)) for c in page.checklists],
            [Note(e.id, e.at, e.kind, e.text, e.author, e.minutes) for e in page.entries],
            page.minutes_spent,
            task.created_at,
            agent,
        )


def _items(page: TaskPage, checklist_id: str) -> list[Item]:
    return [
        Item(one.id, one.title, one.is_checked, "user" if one.set_by_user else "agent", one.checked_at)
        for one in page.items
        if one.checklist_id == checklist_id
    ]


class Imported(msgspec.Struct, frozen=True, rename="camel"):
    """How many entities the file added, and how many were here already. `byType`: what was added, by type, where the
    file says it. With `dryRun` nothing was added, and this is what would have been."""

    added: int
    present: int
    by_type: dict[str, int]
    dry_run: bool


class Hit(msgspec.Struct, frozen=True, rename="camel"):
    """A task, item or note that has all the words, with its task; `piece` is the text around them."""

    id: str
    type: str
    task_id: str
    task_title: str
    piece: str


class Hits(msgspec.Struct, frozen=True):
    """What was found, the best first."""

    hits: list[Hit]
