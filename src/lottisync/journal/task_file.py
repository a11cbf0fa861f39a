"""Task lists as a file (docs/specs/08-journal.md, section 5; the format `lottisync-tasks/1`).

Ids derive from the keys in the file, so importing a file twice, or on two devices, makes nothing
twice. A record may also name the id of its entity: a file that was written from a journal does, so that it adds nothing
to that journal. What exists is left alone, also where the person has edited or deleted it since: an import adds,
it never takes a person's change back, and adds nothing to what was deleted. A label that is here under its name is used
as it is. The file is read whole and checked whole before the first row is written, and all of it is one transaction.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Literal

import msgspec

from lottisync.entities.entity import is_deleted
from lottisync.entities.schema import derived_id
from lottisync.entities.version import ENTITY_ID
from lottisync.journal import names, repetition, task_values, tasks, time_entry
from lottisync.journal.types import Task
from lottisync.language import marked
from lottisync.problem import Marked, Problem, Sentence
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis
from lottisync.store.transaction import Transaction

FORMAT = "lottisync-tasks/1"
MAX_BYTES = 64 * 1024 * 1024
TOGETHER = 1_000
"""How many entities are gathered before they are written: the progress bar moves on, and little memory is used."""
Key = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
_MISSING = re.compile("Object missing required field `(.+)`")
_UNKNOWN = re.compile("Object contains unknown field `(.+)`")
_BYTE = re.compile(r"\(byte (\d+)\)")
Id = Annotated[str, msgspec.Meta(pattern=ENTITY_ID.pattern)]
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=task_values.MAX_TITLE)]
Minutes = Annotated[int, msgspec.Meta(ge=1, le=task_values.MAX_MINUTES)]


class LabelRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    name: Title
    color: str = ""
    id: Id | None = None


class ItemRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    key: Key
    title: Title
    checked: bool = False
    checked_at: str | None = None
    id: Id | None = None


class NoteRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    at: str
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=task_values.MAX_TEXT)]
    minutes: Annotated[int, msgspec.Meta(ge=0, le=task_values.MAX_MINUTES)] | None = None
    id: Id | None = None


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
    category: Title | None = None
    remind_at: str | None = None
    repeat: str | None = None
    id: Id | None = None


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
    """The file's content, checked whole; `Problem` says where it is wrong."""
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
        number = line_of(error, raw)
        if number is not None:
            raise Problem(
                "bad-file",
                "{name}: line {line}: this is no JSON, or its end is missing. Nothing was imported",
                hint="format",
                name=name,
                line=number,
            ) from None
        raise Problem(
            "bad-file",
            "{name} is not a {format} file: {error}. Nothing was imported",
            name=name,
            format=FORMAT,
            error=_mistake(error),
        ) from None
    _check(file, name)
    return file


def _mistake(error: Exception) -> Sentence:
    """What is wrong with a file that is JSON: where, and what. The decoder says it in English alone; what it says of a
    value stays as a detail."""
    if isinstance(error, UnicodeDecodeError):
        return Sentence("it is not UTF-8")
    said, _, place = str(error).partition(" - at `$")
    fault = Sentence("the value is not one that the format has ({detail})", detail=said)
    if found := _MISSING.fullmatch(said):
        fault = Sentence("the field {field} is missing", field=found[1])
    elif found := _UNKNOWN.fullmatch(said):
        fault = Sentence("there is no field {field}", field=found[1])
    where = place.rstrip("`").removeprefix(".")
    return Sentence("{path}: {why}", path=where, why=fault) if where else fault


def line_of(error: Exception, raw: bytes) -> int | None:
    """The line on which a decoder stopped, if it says at which byte that was, or that the end was missing."""
    found = _BYTE.search(str(error))
    if found is None:
        return raw.count(bytes([10])) + 1 if "truncated" in str(error) else None
    return raw[: int(found[1])].count(bytes([10])) + 1


def _check(file: TaskFile, name: str) -> None:
    labels = {label.key for label in file.labels}
    _unique([label.key for label in file.labels], marked("label"), name)
    _unique([task.key for task in file.tasks], marked("task"), name)
    for label in file.labels:
        with refused_at(Sentence("{name}: label {key}", name=name, key=quoted(label.key))):
            task_values.checked_title(label.name)
    for task in file.tasks:
        where = Sentence("{name}: task {key}", name=name, key=quoted(task.key))
        with refused_at(where):
            _check_values(task)
        _unique([item.key for item in task.checklist], marked("checklist item"), where)
        _unique([note.key for note in task.notes], marked("note"), where)
        for key in task.labels:
            if key not in labels:
                raise Problem(
                    "bad-file",
                    "{where} has a label {quoted} that the file does not define. Nothing was imported",
                    where=where,
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
                    "{where}: {quoted} is not a time like 2026-11-02T18:30:00Z. Nothing was imported",
                    where=where,
                    quoted=quoted(instant),
                ) from None


@contextlib.contextmanager
def refused_at(where: Sentence) -> Iterator[None]:
    """A context in which an error says where in the file it is."""
    try:
        yield
    except Problem as problem:
        raise Problem(
            "bad-file", "{where}: {message_}. Nothing was imported", where=where, message_=problem.sentence
        ) from None


def _check_values(task: TaskRecord) -> None:
    """What the types above cannot say: the rules for values that a person types hold for a file, too."""
    task_values.checked_title(task.title)
    task_values.checked_status(task.status, task.status_reason)
    if task.language is not None:
        task_values.checked_language(task.language)
    if task.remind_at is not None:
        time_entry.checked_instant(task.remind_at)
    if task.repeat is not None:
        repetition.checked_rule(task.repeat)
    for item in task.checklist:
        task_values.checked_title(item.title)
    for note in task.notes:
        task_values.checked_text(note.text)


def _unique(keys: list[str], what: Marked, where: str) -> None:
    doubled = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    if doubled:
        raise Problem(
            "bad-file",
            "{where}: the {what} key {quoted} is used twice. Nothing was imported",
            where=where,
            what=Sentence(what),
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


def add(tx: Transaction, file: TaskFile, progress: Callable[[int], object] = lambda done: None) -> Added:
    """Write the missing entities. `progress(n)` is called with the number of entities that were checked."""
    importing = _Import(tx, progress)
    for label in file.labels:
        importing.add_label(label)
    for task in file.tasks:
        importing.add_task(task)
        importing.write_if_many()
    importing.write()
    return importing.added


class _Import:
    """Gathers what is missing, and writes it many at once: that counts as one moment. Notes are written last, since
    each records what the journal knew then, and that includes the items of its task."""

    def __init__(self, tx: Transaction, progress: Callable[[int], object]) -> None:
        self.added = Added()
        self._tx, self._progress = tx, progress
        self._labels: dict[str, str] = {}
        self._categories: dict[str, str] = {}
        self._missing: dict[str, tuple[str, dict[str, Any]]] = {}
        self._notes: dict[str, tuple[str, dict[str, Any]]] = {}

    def write_if_many(self) -> None:
        if len(self._missing) + len(self._notes) >= TOGETHER:
            self.write()

    def write(self) -> None:
        tx = self._tx
        tx.put_all((ident, type_name, fields) for ident, (type_name, fields) in self._missing.items())
        known = tx.knowledge() if self._notes else {}
        tx.put_all(
            (ident, time_entry.ENTRY, tasks.entry_fields(task, fields, "user", known, tx.now))
            for ident, (task, fields) in self._notes.items()
        )
        self._missing.clear()
        self._notes.clear()

    def add_label(self, record: LabelRecord) -> None:
        """Add a label. One that is here under this id or this name is used as it is."""
        ident = record.id or label_id(record.key)
        named = names.find(self._tx, "label", record.name) if self._tx.version(ident) is None else None
        self._labels[record.key] = ident = named or ident
        if self._absent(ident):
            name, created = task_values.checked_title(record.name), iso(self._tx.now)
            self._tx.put(ident, "label", {"name": name, "color": record.color, "createdAt": created})
            self.added.labels += 1
        self._progress(1)

    def add_task(self, record: TaskRecord) -> None:
        ident = record.id or task_id(record.key)
        if self._absent(ident):
            self._gather(ident, "task", self._task_fields(record))
            self.added.tasks += 1
            new = True
        else:
            if (entity := self._tx.entity(ident)) is not None and is_deleted(entity):
                self._keep(len(record.checklist) + len(record.notes))
                return
            if record.checklist or record.notes:
                tasks.read(self._tx, ident, "task", Task)
            new = False
        self._progress(1)
        if record.checklist:
            self._add_items(record, ident, new=new)
        for note in record.notes:
            self._add_note(record, note, ident)

    def _absent(self, ident: str) -> bool:
        if ident in self._missing or ident in self._notes:
            self.write()  # the file names an id twice; what comes second finds the first
        if self._tx.version(ident) is None:
            return True
        self.added.kept += 1
        return False

    def _gather(self, ident: str, type_name: str, fields: dict[str, Any]) -> None:
        if ident in self._missing or ident in self._notes:
            self.write()  # an item with the id of its checklist is refused by the store
        self._missing[ident] = (type_name, fields)

    def _keep(self, count: int) -> None:
        """Count as kept, beside the present record, the `count` records that belong to what is deleted."""
        self.added.kept += count
        self._progress(1 + count)

    def _task_fields(self, record: TaskRecord) -> dict[str, Any]:
        optional = {
            **task_values.checked_status(record.status, record.status_reason),
            "due": record.due.isoformat() if record.due else None,
            "estimate": record.estimate,
            "remindAt": time_entry.checked_instant(record.remind_at) if record.remind_at else None,
            "repeat": record.repeat,
            "languageCode": task_values.checked_language(record.language) if record.language else None,
            "categoryId": self._category(record.category) if record.category else None,
        }
        fields = {
            "priority": record.priority,
            "createdAt": iso(millis(record.created_at)),
            "labels": {self._labels[key]: True for key in record.labels},
            **{name: value for name, value in optional.items() if value is not None},
        }
        return tasks.task_fields(record.title, fields, self._tx.now)

    def _category(self, name: str) -> str:
        if name not in self._categories:
            self._categories[name] = names.find_or_make(self._tx, "category", name)
        return self._categories[name]

    def _add_items(self, record: TaskRecord, task: str, *, new: bool) -> None:
        """The missing items, into the task's default checklist. If that was deleted, none."""
        checklist = derived_id("checklist", task)
        created = iso(millis(record.created_at))
        rank = ""
        takes: bool | None = None
        for item in record.checklist:
            rank = tasks.rank_after(rank)
            ident = item.id or item_id(record.key, item.key)
            if self._absent(ident):
                takes = self._has_checklist(checklist, task, new=new) if takes is None else takes
                if takes:
                    position = {"taskId": task, "checklistId": checklist, "rank": rank}
                    self._gather(ident, "checklistItem", _item_fields(item, position, created, self._tx.now))
                    self.added.items += 1
                else:
                    self.added.kept += 1
            self._progress(1)

    def _has_checklist(self, ident: str, task: str, *, new: bool) -> bool:
        """Whether there is a checklist to add to. It is made if it was never there, and not brought back if it was
        deleted."""
        checklist = None if ident in self._missing else self._tx.entity(ident)
        if ident not in self._missing and checklist is None:
            beside = [] if new else tasks.page(self._tx, task).checklists
            rank = tasks.rank_after(*(one.rank for one in beside))
            fields = tasks.checklist_fields(task, tasks.DEFAULT_CHECKLIST, rank, self._tx.now)
            self._gather(ident, "checklist", fields)
        return checklist is None or not is_deleted(checklist)

    def _add_note(self, record: TaskRecord, note: NoteRecord, task: str) -> None:
        ident = note.id or derived_id("import", "note", record.key, note.key)
        if self._absent(ident):
            self._notes[ident] = (task, _note_fields(note))
            self.added.notes += 1
        self._progress(1)


def _item_fields(item: ItemRecord, position: Mapping[str, str], created: str, now: int) -> dict[str, Any]:
    checked_at = iso(millis(item.checked_at)) if item.checked_at else created if item.checked else None
    said = {"isChecked": item.checked, "checkedAt": checked_at, "createdAt": created}
    return tasks.item_fields(position, item.title, said, now)


def _note_fields(note: NoteRecord) -> dict[str, Any]:
    at = millis(note.at)
    if note.minutes is None:
        return tasks.note_fields(note.text, iso(at))
    span = time_entry.checked_span(iso(at), iso(at + note.minutes * 60_000))
    return time_entry.fields(note.text, span)
