"""Answers about tasks."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from lottisync.answers.form import Day, Instant
from lottisync.answers.stores import ConflictAnswer
from lottisync.journal.task_links import LinkedTask
from lottisync.journal.tasks import TaskPage
from lottisync.journal.types import ChecklistItem, Entry


class TaskRow(msgspec.Struct, frozen=True, gc=False):
    """What a list shows of a task; `estimate` is in minutes."""

    id: str
    title: str
    status: str
    priority: str
    due: Day | None
    estimate: int | None


class ListedTask(TaskRow, frozen=True, gc=False, rename="camel"):
    """A task of a list. `forgottenAt` is said of a deleted one: it is not forgotten before that."""

    forgotten_at: Instant | None


class Tasks(msgspec.Struct, frozen=True):
    """A page of tasks, in the order that was asked for."""

    tasks: list[ListedTask]


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
    checklist_id: str
    is_checked: bool
    is_archived: bool
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

    @classmethod
    def of(cls, item: ChecklistItem) -> "Item":
        return cls(item.id, item.title, item.is_checked, "user" if item.set_by_user else "agent", item.checked_at)


class ChecklistAnswer(msgspec.Struct, frozen=True):
    """A checklist, its items in order."""

    id: str
    title: str
    items: list[Item]


class Note(msgspec.Struct, frozen=True):
    """`kind` is `note`, written at `at`, or `time`, spent from `at` to `end`. `runs`: a timer that runs, without `end`
    and `minutes`. `by` is the author that is stored with it: `user`, `agent`, or what another program wrote."""

    id: str
    at: Instant
    end: Instant | None
    kind: str
    text: str
    by: str
    minutes: int | None
    runs: bool

    @classmethod
    def of(cls, entry: Entry) -> "Note":
        return cls(entry.id, entry.at, entry.end, entry.kind, entry.text, entry.author, entry.minutes, entry.runs)


class Minder(msgspec.Struct, frozen=True, rename="camel"):
    """The agent that minds a task, and how many of its proposals wait for the person."""

    id: str
    name: str
    lifecycle: str
    proposals_waiting: int


class LinkAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A relation to another task, as it reads from this one: `blocks`, `is_blocked_by`."""

    relation: str
    task_id: str
    task_title: str


class TaskAnswer(TaskRow, frozen=True, rename="camel", gc=True):
    """A task with all that belongs to it. `labels` are names; `estimate` and `minutesSpent` are minutes; `repeat` is a
    rule of ISO 8601, like `R/2026-12-01/P1W`; `agent` is null if none minds it. `neverSentReason` says why no model is
    told of the task, and is null if it may be. `conflicts` are those of the task and of what belongs to it."""

    status_reason: str | None
    remind_at: Instant | None
    repeat: str | None
    category_id: str | None
    language_code: str | None
    language_source: str
    labels: list[str]
    links: list[LinkAnswer]
    checklists: list[ChecklistAnswer]
    archived_items: list[Item]
    entries: list[Note]
    minutes_spent: int
    created_at: Instant
    agent: Minder | None
    never_sent_reason: str | None
    conflicts: list[ConflictAnswer]

    @classmethod
    def of(
        cls,
        page: TaskPage,
        agent: Minder | None,
        conflicts: list[ConflictAnswer],
        never_sent: str | None = None,
        linked: Sequence[LinkedTask] = (),
    ) -> "TaskAnswer":
        task = page.task
        return cls(
            task.id,
            task.title,
            task.status,
            task.priority,
            task.due,
            task.estimate,
            task.status_reason,
            task.remind_at,
            task.repeat,
            task.category_id,
            task.language_code,
            task.language_source,
            [label.name for label in page.labels],
            [LinkAnswer(one.word, one.task, one.title) for one in linked],
            [ChecklistAnswer(c.id, c.title, _items(page, c.id)) for c in page.checklists],
            [Item.of(item) for item in page.archived],
            [Note.of(entry) for entry in page.entries],
            page.minutes_spent,
            task.created_at,
            agent,
            never_sent,
            conflicts,
        )


def _items(page: TaskPage, checklist_id: str) -> list[Item]:
    return [Item.of(item) for item in page.items if item.checklist_id == checklist_id]


class TimeRow(msgspec.Struct, frozen=True, rename="camel"):
    """Time that was spent on a task, from `at` to `end`. `runs`: a timer that runs, without `end` and
    `minutes`."""

    id: str
    task_id: str
    task_title: str
    text: str
    at: Instant
    end: Instant | None
    minutes: int | None
    runs: bool


class Times(msgspec.Struct, frozen=True):
    """The time entries of a task, or the timers that run; oldest first."""

    times: list[TimeRow]


class ChangedTime(TimeRow, frozen=True):
    """A time entry that was named; `changed` is false if it was so already."""

    changed: bool


class ChangedTimes(msgspec.Struct, frozen=True):
    """The time entries that were named, as they are now; one that was removed, as it was."""

    times: list[ChangedTime]


class ImportedAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """How many entities the file added, and how many were here already. `byType`: what was added, by type, where the
    file says it. With `dryRun` nothing was added, and this is what would have been."""

    added: int
    present: int
    by_type: dict[str, int]
    dry_run: bool


class HitAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A task, item or note that has all the words, with its task; `piece` is the text around them."""

    id: str
    type: str
    task_id: str
    task_title: str
    piece: str


class Hits(msgspec.Struct, frozen=True):
    """What was found, the best first."""

    hits: list[HitAnswer]
