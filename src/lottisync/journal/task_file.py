"""Task lists as a file (docs/specs/08-journal.md, section 5; the format `lottisync-tasks/1`).

Ids derive from the keys in the file, so importing a file twice, or on two devices, makes nothing
twice. What exists is left alone, also where the person has edited or deleted it since: an import adds,
it never takes a person's change back, and adds nothing to what was deleted. The file is read whole and
checked whole before the first row is written, and all of it is one transaction.
"""

import contextlib
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

import msgspec

from lottisync.entities.entity import is_deleted
from lottisync.entities.schema import derived_id
from lottisync.journal import tasks, time_entry
from lottisync.problem import Problem
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis
from lottisync.store.transaction import Transaction

FORMAT = "lottisync-tasks/1"
MAX_BYTES = 64 * 1024 * 1024
Key = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=tasks.MAX_TITLE)]
Minutes = Annotated[int, msgspec.Meta(ge=1, le=tasks.MAX_MINUTES)]


class LabelRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    name: Title
    color: str = ""


class ItemRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    key: Key
    title: Title
    checked: bool = False
    checked_at: str | None = None


class NoteRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    at: str
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=tasks.MAX_TEXT)]
    minutes: Minutes | None = None


class TaskRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    key: Key
    title: Title
    created_at: str
    status: Literal["OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD", "DONE", "REJECTED"] = "OPEN"
    status_reason: str | None = None
    priority: Literal["P0", "P1", "P2", "P3"] = "P2"
    due: date | None = None
    estimate: Minutes | None = None
    labels: list[str] = []
    language: str | None = None
    checklist: list[ItemRecord] = []
    notes: list[NoteRecord] = []


class TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["lottisync-tasks/1"]
    tasks: list[TaskRecord]
    labels: list[LabelRecord] = []


class Added(msgspec.Struct):
    """How many of each the import made; what was there already is `kept`."""

    tasks: int = 0
    items: int = 0
    notes: int = 0
    labels: int = 0
    kept: int = 0


def parse(raw: bytes, name: str) -> TaskFile:
    """The file's content, checked whole; `Problem` names the place that is wrong."""
    if len(raw) > MAX_BYTES:
        raise Problem(
            "bad-file",
            "{name} has {count:,} bytes; a task file may have {max_bytes:,}",
            name=name,
            count=len(raw),
            max_bytes=MAX_BYTES,
        )
    try:
        file = msgspec.json.decode(raw, type=TaskFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(
            "bad-file",
            "{name} is not a {format} file: {error}. Nothing was imported",
            name=name,
            format=FORMAT,
            error=error,
        ) from None
    _check(file, name)
    return file


def _check(file: TaskFile, name: str) -> None:
    labels = {label.key for label in file.labels}
    _unique([label.key for label in file.labels], "label", name)
    _unique([task.key for task in file.tasks], "task", name)
    for label in file.labels:
        with _placed(f"{name}: label {quoted(label.key)}"):
            tasks.checked_title(label.name)
    for task in file.tasks:
        place = f"{name}: task {quoted(task.key)}"
        with _placed(place):
            _check_values(task)
        _unique([item.key for item in task.checklist], "checklist item", place)
        _unique([note.key for note in task.notes], "note", place)
        for key in task.labels:
            if key not in labels:
                raise Problem(
                    "bad-file",
                    "{place} has a label {quoted} that the file does not define. Nothing was imported",
                    place=place,
                    quoted=quoted(key),
                )
        for instant in [
            task.created_at,
            *(n.at for n in task.notes),
            *(i.checked_at for i in task.checklist if i.checked_at),
        ]:
            try:
                millis(instant)
            except ValueError:
                raise Problem(
                    "bad-file",
                    "{place}: {quoted} is not a time like 2026-11-02T18:30:00Z. Nothing was imported",
                    place=place,
                    quoted=quoted(instant),
                ) from None


@contextlib.contextmanager
def _placed(place: str) -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        raise Problem(
            "bad-file", "{place}: {message_}. Nothing was imported", place=place, message_=problem.message
        ) from None


def _check_values(task: TaskRecord) -> None:
    """What the types above cannot say: the rules for values that a person types hold for a file, too."""
    tasks.checked_title(task.title)
    tasks.checked_status(task.status, task.status_reason)
    if task.language is not None:
        tasks.checked_language(task.language)
    for item in task.checklist:
        tasks.checked_title(item.title)
    for note in task.notes:
        tasks.checked_text(note.text)


def _unique(keys: list[str], what: str, place: str) -> None:
    doubled = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    if doubled:
        raise Problem(
            "bad-file",
            "{place}: the {what} key {quoted} is used twice. Nothing was imported",
            place=place,
            what=what,
            quoted=quoted(doubled[0]),
        )


def size(file: TaskFile) -> int:
    """How many entities the file describes (what a progress bar counts)."""
    return len(file.labels) + sum(1 + len(task.checklist) + len(task.notes) for task in file.tasks)


def task_id(key: str) -> str:
    return derived_id("import", "task", key)


def item_id(task_key: str, key: str) -> str:
    return derived_id("import", "item", task_key, key)


def label_id(key: str) -> str:
    return derived_id("import", "label", key)


def add(tx: Transaction, file: TaskFile, progress: Any = lambda done: None) -> Added:
    """Write the missing entities. `progress(n)` is called with the number of entities that were checked."""
    added = Added()
    for label in file.labels:
        if _absent(tx, label_id(label.key), added):
            tx.put(
                label_id(label.key),
                "label",
                {"name": tasks.checked_title(label.name), "color": label.color, "createdAt": iso(tx.now)},
            )
            added.labels += 1
        progress(1)
    for task in file.tasks:
        _add_task(tx, task, added, progress)
    return added


def _absent(tx: Transaction, entity_id: str, added: Added) -> bool:
    if tx.version(entity_id) is None:
        return True
    added.kept += 1
    return False


def _add_task(tx: Transaction, record: TaskRecord, added: Added, progress: Any) -> None:
    ident = task_id(record.key)
    existing = tx.entity(ident)
    if existing is not None and is_deleted(existing):
        looked_at = 1 + len(record.checklist) + len(record.notes)
        added.kept += looked_at
        progress(looked_at)
        return
    if _absent(tx, ident, added):
        status = tasks.checked_status(record.status, record.status_reason)
        fields: dict[str, Any] = {
            "status": status["status"],
            "priority": record.priority,
            "createdAt": iso(millis(record.created_at)),
            "labels": {label_id(key): True for key in record.labels},
        }
        optional = {
            "statusReason": status["statusReason"],
            "due": record.due.isoformat() if record.due else None,
            "estimate": record.estimate,
            "languageCode": tasks.checked_language(record.language) if record.language else None,
        }
        tasks.add_task(tx, ident, record.title, fields | {k: v for k, v in optional.items() if v is not None})
        added.tasks += 1
    progress(1)
    if record.checklist:
        _add_items(tx, record, added, progress)
    for note in record.notes:
        entry_id = derived_id("import", "note", record.key, note.key)
        if _absent(tx, entry_id, added):
            _add_note(tx, entry_id, ident, note)
            added.notes += 1
        progress(1)


def _add_note(tx: Transaction, entry_id: str, task_id: str, note: NoteRecord) -> None:
    at = millis(note.at)
    if note.minutes is None:
        tasks.add_note(tx, entry_id, task_id, note.text, at=iso(at))
    else:
        span = time_entry.checked_span(iso(at), iso(at + note.minutes * 60_000))
        time_entry.add(tx, entry_id, task_id, note.text, span)


def _add_items(tx: Transaction, record: TaskRecord, added: Added, progress: Any) -> None:
    ident = task_id(record.key)
    checklist_id = derived_id("checklist", ident)
    created = iso(millis(record.created_at))
    checklist = tx.entity(checklist_id)
    if checklist is None:
        tasks.add_checklist(tx, checklist_id, ident, tasks.DEFAULT_CHECKLIST)
    elif is_deleted(checklist):
        added.kept += len(record.checklist)
        progress(len(record.checklist))
        return
    rank = ""
    for item in record.checklist:
        rank = tasks.rank_after(rank)
        entity_id = item_id(record.key, item.key)
        if _absent(tx, entity_id, added):
            checked_at = iso(millis(item.checked_at)) if item.checked_at else created if item.checked else None
            tx.put(
                entity_id,
                "checklistItem",
                {
                    "taskId": ident,
                    "checklistId": checklist_id,
                    "title": tasks.checked_title(item.title),
                    "rank": rank,
                    "isChecked": item.checked,
                    "checkedBy": "user",
                    "checkedAt": checked_at,
                    "createdAt": created,
                },
            )
            added.items += 1
        progress(1)
