"""Tasks, their checklists, notes and labels: the verbs that a person or a tool uses (docs/specs/08-journal.md).

Each verb works inside a transaction that the caller opened, so that several of them, or a verb and a
receipt, are one commit. Whose word it is, the transaction says. A verb
names only the fields that it changes; fields that belong together are written together.

A verb that is given an id which does not exist, or one of another type, raises `Problem` and writes
nothing.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from fractional_indexing import FIError, generate_key_between

from lottisync.causality.vector_clock import Clock, Dot
from lottisync.entities import path as paths
from lottisync.entities.schema import derived_id, link_id
from lottisync.entities.version import Damaged
from lottisync.entities.view import T
from lottisync.journal import task_values
from lottisync.journal.types import (
    ENTRY_LINK,
    INVERSES,
    NOTE,
    RELATIONS,
    TIME,
    Checklist,
    ChecklistItem,
    Entry,
    EntryLink,
    Label,
    Task,
    link_ends,
)
from lottisync.language import marked
from lottisync.problem import Problem, Sentence
from lottisync.shown import quoted
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

DEFAULT_CHECKLIST = "Todos"


class TaskLine(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a list shows of a task."""

    id: str
    title: str = ""
    status: str = "OPEN"
    priority: str = "P2"
    due: str | None = None
    estimate: int | None = None
    created_at: str = ""


class TaskPage(NamedTuple):
    """One task with all that belongs to it, items and checklists by rank, entries by time. `archived` are the
    items that were put away; `damaged` says what cannot be read."""

    task: Task
    checklists: list[Checklist]
    items: list[ChecklistItem]
    entries: list[Entry]
    labels: list[Label]
    archived: list[ChecklistItem]
    damaged: Sequence[Damaged] = ()

    @property
    def ticked(self) -> int:
        """How many of the items are ticked."""
        return sum(item.is_checked for item in self.items)

    @property
    def times(self) -> list[Entry]:
        """The entries that are time that was spent, timers that run included."""
        return [entry for entry in self.entries if entry.kind == TIME]

    @property
    def minutes_spent(self) -> int:
        return sum(entry.minutes or 0 for entry in self.entries)

    @property
    def has_times(self) -> bool:
        """Whether time was written down, though it may be less than a minute."""
        return any(entry.minutes is not None for entry in self.entries)


# -- reading


def read(reader: Reader, entity_id: str, type_name: str, kind: type[T]) -> T:
    """The typed view of a live entity; `Problem` if there is no live entity of that type with this id."""
    document = reader.document(entity_id)
    if document is None or document.type != type_name:
        raise Problem("unknown-id", "there is no {word} {entity_id}", word=word_of(type_name), entity_id=entity_id)
    if document.deleted:
        raise Problem("unknown-id", "the {word} {entity_id} is deleted", word=word_of(type_name), entity_id=entity_id)
    return document.view(kind)


def all_tasks(reader: Reader) -> tuple[list[TaskLine], list[Damaged]]:
    """All that can be read, in no order, and what can't."""
    return reader.views("task", TaskLine)


def page(reader: Reader, task_id: str) -> TaskPage:
    """A task with its checklists, items, entries and labels."""
    owned, damaged = reader.documents_beside_damage(owner=task_id)

    def of(type_name: str, kind: type[T]) -> list[T]:
        found = []
        for document in owned:
            if document.type == type_name:
                try:
                    found.append(document.view(kind))
                except Damaged as problem:
                    damaged.append(problem)
        return found

    def label(key: str) -> list[Label]:
        try:
            document = reader.document(key)
            return [document.view(Label)] if document and document.type == "label" and not document.deleted else []
        except Damaged as problem:
            damaged.append(problem)
            return []

    # A task owns itself, so one query finds it with all that it owns; `read` says what is wrong if it did not.
    task = next(iter(of("task", Task)), None) or read(reader, task_id, "task", Task)
    items = sorted(of("checklistItem", ChecklistItem), key=lambda item: (item.checklist_id, item.rank, item.id))
    return TaskPage(
        task,
        sorted(of("checklist", Checklist), key=lambda checklist: (checklist.rank, checklist.id)),
        [item for item in items if not item.is_archived],
        sorted(of("entry", Entry), key=lambda entry: (entry.at, entry.id)),
        [found for key, on in sorted(task.labels.items()) if on for found in label(key)],
        [item for item in items if item.is_archived],
        damaged,
    )


def whole_page(reader: Reader, task_id: str) -> TaskPage:
    """`page`, for what copies it: raises `Damaged` if something of the task cannot be read, and would be left out."""
    found = page(reader, task_id)
    for problem in found.damaged:
        raise problem
    return found


WORDS = {
    "task": marked("task"),
    "checklist": marked("checklist"),
    "checklistItem": marked("checklist item"),
    "entry": marked("note or time entry"),
    "label": marked("label"),
    "category": marked("category"),
}


def word_of(type_name: str) -> Sentence:
    """What a person calls an entity of this type."""
    return Sentence(WORDS.get(type_name, type_name))


# -- writing


def task_fields(title: str, fields: Mapping[str, Any], now: int) -> dict[str, Any]:
    """What is stored of a new task; `fields` are stored fields that were checked."""
    usual = {"status": "OPEN", "priority": "P2", "createdAt": iso(now)}
    return {"title": task_values.checked_title(title), **usual, **fields}


def add_task(tx: Transaction, task_id: str, title: str, fields: Mapping[str, Any] = {}) -> Dot:
    """A new task; `fields` are stored fields that were checked."""
    return tx.put(task_id, "task", task_fields(title, fields, tx.now))


def edit_task(tx: Transaction, task_id: str, fields: Mapping[str, Any]) -> Dot:
    """Change fields of a task (checked by the caller, with `task_values`)."""
    read(tx, task_id, "task", Task)
    return tx.put(task_id, "task", fields)


def delete_task(tx: Transaction, task_id: str) -> Dot:
    """Delete a task. Its items and notes stay as they are, so that they come back with it."""
    read(tx, task_id, "task", Task)
    return tx.delete(task_id)


def undelete_task(tx: Transaction, task_id: str) -> Dot:
    """Bring a deleted task back, with all that it has. One that is not deleted is refused."""
    document = tx.document(task_id)
    if document is None or document.type != "task" or not document.deleted:
        raise Problem("unknown-id", "there is no deleted task {quoted}", quoted=quoted(task_id))
    return tx.undelete(task_id)


def set_link(tx: Transaction, task_id: str, relation: str, other_id: str, *, on: bool = True) -> Dot | None:
    """Say that a task blocks (fixes, duplicates ...) another one, or no longer; None if it is so already. The word may
    be that of either end, and is stored under one (`link_ends`). A link that was deleted comes back without the words
    that it had."""
    if relation not in (*RELATIONS, *INVERSES):
        words = ", ".join((*RELATIONS, *INVERSES))
        raise Problem("bad-value", "a relation is one of {words}; got {quoted}", words=words, quoted=quoted(relation))
    if task_id == other_id:
        raise Problem("bad-value", "a task is not linked to itself ({task_id})", task_id=task_id)
    for end in (task_id, other_id):
        read(tx, end, "task", Task)
    stored, from_id, to_id = link_ends(relation, task_id, other_id)
    document = tx.document(link_id(ENTRY_LINK, from_id, to_id))
    had = document.view(EntryLink).relations if document is not None else {}
    live = document is not None and not document.deleted
    if (live and had.get(stored) is True) == on:
        return None
    said: dict[str, bool | None] = {} if live else dict.fromkeys(had)
    said[stored] = True if on else None
    fields = {paths.join("relations", word): value for word, value in said.items()}
    return tx.link(ENTRY_LINK, from_id, to_id, fields)


def default_checklist(tx: Transaction, task_id: str, *, precedence: int | None = None) -> str:
    """The task's first checklist, made if it has none. Its id is derived from the task's, so that two
    devices that make it at the same time make one; if that one was deleted, it is brought back (JOUR-7)."""
    lists = page(tx, task_id).checklists
    if lists:
        return lists[0].id
    checklist_id = derived_id("checklist", task_id)
    if tx.version(checklist_id) is None:
        add_checklist(tx, checklist_id, task_id, DEFAULT_CHECKLIST, precedence=precedence)
    else:
        tx.undelete(checklist_id, precedence=precedence)
    return checklist_id


def add_checklist(
    tx: Transaction, checklist_id: str, task_id: str, title: str, *, precedence: int | None = None
) -> Dot:
    ranks = [checklist.rank for checklist in page(tx, task_id).checklists]
    fields = checklist_fields(task_id, title, rank_after(*ranks), tx.now)
    return tx.put(checklist_id, "checklist", fields, precedence=precedence)


def checklist_fields(task_id: str, title: str, rank: str, now: int) -> dict[str, Any]:
    """What is stored of a new checklist."""
    return {"taskId": task_id, "title": task_values.checked_title(title), "rank": rank, "createdAt": iso(now)}


def add_item(
    tx: Transaction,
    item_id: str,
    task_id: str,
    title: str,
    extra: Mapping[str, Any] = {},
    *,
    checklist_id: str | None = None,
) -> Dot:
    """A new item at the end of a checklist, the task's first if none is given, unticked and set by the user (S0-10)."""
    position = position_in(tx, task_id, checklist_id or default_checklist(tx, task_id))
    return tx.put(item_id, "checklistItem", item_fields(position, title, extra, tx.now))


def item_fields(position: Mapping[str, str], title: str, extra: Mapping[str, Any], now: int) -> dict[str, Any]:
    """What is stored of a new item, which is unticked by the user if `extra` does not say otherwise."""
    return {
        **position,
        "title": task_values.checked_title(title),
        "isChecked": False,
        "checkedBy": "user",
        "checkedAt": None,
        "createdAt": iso(now),
        **extra,
    }


def position_in(reader: Reader, task_id: str, checklist_id: str) -> dict[str, str]:
    """The fields of a position at the end of a checklist: those of `POSITION`."""
    held = page(reader, task_id)
    ranks = [item.rank for item in (*held.items, *held.archived) if item.checklist_id == checklist_id]
    return {"taskId": task_id, "checklistId": checklist_id, "rank": rank_after(*ranks)}


def rank_after(*ranks: str) -> str:
    """A rank behind all of `ranks`. One that is not a fractional index, as another program may write it, counts as
    absent."""
    for last in sorted(ranks, reverse=True):
        with contextlib.suppress(FIError):
            return str(generate_key_between(last or None, None))
    return str(generate_key_between(None, None))


def check_item(tx: Transaction, item_id: str, checked: bool) -> Dot | None:
    """The user's own tick or untick, always allowed (S0-07, S0-28). None if it is so already: provenance
    moves only when the state does (S0-25)."""
    item = read(tx, item_id, "checklistItem", ChecklistItem)
    if item.is_checked == checked:
        return None
    return tx.put(
        item_id,
        "checklistItem",
        {"isChecked": checked, "checkedBy": "user", "checkedAt": iso(tx.now), "checkReason": None},
    )


def rename_item(tx: Transaction, item_id: str, title: str) -> Dot:
    """A new title. The tick and its provenance stay (S0-21)."""
    read(tx, item_id, "checklistItem", ChecklistItem)
    return tx.put(item_id, "checklistItem", {"title": task_values.checked_title(title)})


def move_item(tx: Transaction, item_id: str, steps: int) -> Dot | None:
    """Move a checklist item up (-1) or down (1) by one position; None if it is the first or the last already."""
    item = read(tx, item_id, "checklistItem", ChecklistItem)
    beside = [one for one in page(tx, item.task_id).items if one.checklist_id == item.checklist_id]
    at = [one.id for one in beside].index(item_id)
    others = [one.rank for one in beside if one.id != item_id]
    wanted = at + steps
    if not 0 <= wanted <= len(others):
        return None
    before, after = (others[wanted - 1] if wanted else None), (others[wanted] if wanted < len(others) else None)
    return tx.put(item_id, "checklistItem", {"rank": str(generate_key_between(before, after))})


def remove_item(tx: Transaction, item_id: str) -> Dot:
    """Delete a checklist item."""
    read(tx, item_id, "checklistItem", ChecklistItem)
    return tx.delete(item_id)


def add_note(
    tx: Transaction, entry_id: str, task_id: str, text: str, *, at: str | None = None, author: str = "user"
) -> Dot:
    """Something written down."""
    return add_entry(tx, entry_id, task_id, note_fields(text, at or iso(tx.now)), author)


def note_fields(text: str, at: str) -> dict[str, Any]:
    return {"kind": NOTE, "text": task_values.checked_text(text), "at": at}


def add_entry(tx: Transaction, entry_id: str, task_id: str, fields: Mapping[str, Any], author: str) -> Dot:
    """A new entry of checked `fields`."""
    read(tx, task_id, "task", Task)
    return tx.put(entry_id, "entry", entry_fields(task_id, fields, author, tx.knowledge(), tx.now))


def entry_fields(task_id: str, fields: Mapping[str, Any], author: str, knowledge: Clock, now: int) -> dict[str, Any]:
    """What is stored of a new entry. It records what the journal knew at that moment: that, and not a wall clock, is
    how an entry is shown to come after something else (S0-02)."""
    return {"taskId": task_id, "author": author, "knowledge": knowledge, "createdAt": iso(now), **fields}


def as_json(page: TaskPage) -> dict[str, Any]:
    """A task page as plain JSON, as an agent and the conformance adapter get it."""
    task = msgspec.to_builtins(page.task)
    task.pop("receipts", None)
    task["labels"] = [label.name for label in page.labels]
    task["checklists"] = [
        {
            "id": checklist.id,
            "title": checklist.title,
            "items": [_item_json(item) for item in page.items if item.checklist_id == checklist.id],
        }
        for checklist in page.checklists
    ]
    task["entries"] = [
        {
            "id": e.id,
            "at": e.at,
            "end": e.end,
            "kind": e.kind,
            "text": e.text,
            "author": e.author,
            "minutes": e.minutes,
            "runs": e.runs,
        }
        for e in page.entries
    ]
    task["minutesSpent"] = page.minutes_spent
    task["archivedItems"] = [_item_json(item) for item in page.archived]
    return dict(task)


def _item_json(item: ChecklistItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "isChecked": item.is_checked,
        "checkedBy": "user" if item.set_by_user else "agent",
        "checkedAt": item.checked_at,
    }
