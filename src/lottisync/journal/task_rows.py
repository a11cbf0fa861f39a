"""Tasks as rows of text, for files that people read and edit (docs/specs/08-journal.md, section 5).

A row is a task, a checklist item, a note, or time that was spent. What follows a task belongs to it. Markdown
(`task_markdown`) and CSV (`task_csv`) are two ways to write the same rows. A row that was written from a journal has
the id of its entity. A row of another program has none. Its key then follows from its text, so that a file that is
imported twice adds nothing the second time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from typing import Literal, TypeVar

import msgspec

from lottisync.causality.digest import sha256
from lottisync.entities.schema import derived_id
from lottisync.entities.version import ENTITY_ID
from lottisync.journal import repetition, task_values, tasks, time_entry
from lottisync.journal.task_file import (
    MAX_BYTES,
    ItemRecord,
    LabelRecord,
    NoteRecord,
    TaskFile,
    TaskRecord,
    parse,
    refused_at,
)
from lottisync.journal.types import TIME, Category, ChecklistItem, Entry
from lottisync.problem import Problem, Sentence
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis, since_1970, there
from lottisync.store.reader import Reader

T = TypeVar("T")
Kind = Literal["task", "item", "note", "time"]
UNTITLED = "(no title)"
FIELDS: dict[Kind, tuple[str, ...]] = {
    "task": (
        "status",
        "reason",
        "priority",
        "due",
        "remind",
        "repeat",
        "minutes",
        "labels",
        "category",
        "language",
        "at",
    ),
    "item": ("status", "at"),
    "note": ("at",),
    "time": ("at", "minutes"),
}
"""What a row of each kind may have beside its text and its id."""


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a list. `text` is the title or the note. An item that is ticked has the status DONE. `at` is when a
    task was added, an item was ticked, a note was written, or time began to be spent; `minutes` is the estimate of a
    task, or the time that was spent. `line` is where the row begins in the file, from 1. Without a value: empty."""

    kind: Kind
    text: str
    status: str = ""
    reason: str = ""
    priority: str = ""
    due: str = ""
    remind: str = ""
    repeat: str = ""
    minutes: str = ""
    labels: tuple[str, ...] = ()
    category: str = ""
    language: str = ""
    at: str = ""
    id: str = ""
    line: int = 0


# -- from a journal


def rows(
    reader: Reader, listed: Sequence[tasks.TaskLine], progress: Callable[[int, int], None] = lambda done, of: None
) -> Iterator[FileRow]:
    """These tasks, oldest first, each followed by what belongs to it: its items without the archived ones, its notes
    and the time that was spent. A timer that runs is left out. A value that no verb would take is left out, too."""
    for done, line in enumerate(sorted(listed, key=lambda line: (line.created_at, line.id)), 1):
        page = tasks.whole_page(reader, line.id)
        yield _task_row(reader, page)
        for item in page.items:
            yield _item_row(item)
        for entry in page.entries:
            yield from _entry_rows(entry)
        progress(done, len(listed))


def _task_row(reader: Reader, page: tasks.TaskPage) -> FileRow:
    task = page.task
    status = _or(dict[str, str | None](), lambda: task_values.checked_status(task.status, task.status_reason))
    return FileRow(
        kind="task",
        text=_title(task.title),
        status=status.get("status") or "OPEN",
        reason=_line(status.get("statusReason") or ""),
        priority=_or("", lambda: task_values.checked_priority(task.priority)),
        due=_or("", lambda: task_values.checked_day(task.due or "")),
        remind=_instant(task.remind_at or ""),
        repeat=_or("", lambda: repetition.checked_rule(task.repeat or "")),
        minutes=_or("", lambda: str(task_values.checked_minutes(task.estimate or 0))),
        labels=tuple(_title(label.name) for label in page.labels),
        category=_category(reader, task.category_id),
        language=_or("", lambda: task_values.checked_language(task.language_code or "")),
        at=_instant(task.created_at),
        id=task.id,
    )


def _category(reader: Reader, ident: str | None) -> str:
    return _or("", lambda: _title(tasks.read(reader, ident, "category", Category).name)) if ident else ""


def _item_row(item: ChecklistItem) -> FileRow:
    at = _instant(item.checked_at or "") if item.is_checked else ""
    status = "DONE" if item.is_checked else "OPEN"
    return FileRow(kind="item", text=_title(item.title), status=status, at=at, id=item.id)


def _entry_rows(entry: Entry) -> Iterator[FileRow]:
    text = _or("", lambda: task_values.checked_text(_newlines(entry.text)))
    if entry.runs or not text:
        return
    spent = entry.minutes
    minutes = "" if spent is None else _or("", lambda: str(task_values.checked_minutes_spent(spent)))
    kind: Kind = "time" if entry.kind == TIME and minutes else "note"
    yield FileRow(kind=kind, text=text, at=_instant(entry.at), minutes=minutes, id=entry.id)


def _or(otherwise: T, checked: Callable[[], T]) -> T:
    """A value of a journal, which another program may have written; what no verb would take counts as absent."""
    with suppress(Problem):
        return checked()
    return otherwise


def _instant(text: str) -> str:
    return time_entry.instant(text) or ""


def by_the_clock(instant: str, zone: tzinfo | None) -> str:
    """An instant of a row as the clock in that zone (None: this machine's) says it, with the offset, so that it is the
    same instant everywhere: `2026-12-01T09:00:00+01:00`."""
    moment = there(millis(instant), zone)
    if since_1970(moment) != millis(instant):
        return instant  # at the end of the calendar, where not each zone has a time for it
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _line(text: str) -> str:
    return " ".join(text.split())


def _title(text: str) -> str:
    return _line(text)[: task_values.MAX_TITLE].strip() or UNTITLED


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# -- from a file


def decoded(raw: bytes, name: str) -> str:
    """The text of a file, its lines ended by `\\n`. Raises `Problem`, with the number of the line."""
    if len(raw) > MAX_BYTES:
        parse(raw, name)  # which says how large a file may be
    try:
        return _newlines(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise bad_line(name, raw[: error.start].count(b"\n") + 1, Sentence("it is not UTF-8")) from None


def bad_line(name: str, line: int, what: Sentence) -> Problem:
    return Problem("bad-file", "{name}: line {line}: {what}. Nothing was imported", name=name, line=line, what=what)


def file_of(found: Iterable[FileRow], name: str, now: int) -> TaskFile:
    """The rows as a task file, checked whole. What has no instant gets `now` (ms). Raises `Problem` with the number of
    the line."""
    made = _Made(name, iso(now))
    for row in found:
        with refused_at(Sentence("{name}: line {line}", name=name, line=row.line)):
            made.take(row)
    return parse(msgspec.json.encode(made.file()), name)


class _Made:
    """A task file in the making."""

    def __init__(self, name: str, now: str) -> None:
        self._name, self._now = name, now
        self._tasks: list[TaskRecord] = []
        self._labels: dict[str, LabelRecord] = {}
        self._ids: set[str] = set()
        self._same: Counter[tuple[str, ...]] = Counter()

    def file(self) -> TaskFile:
        return TaskFile("lottisync-tasks/1", self._tasks, list(self._labels.values()))

    def take(self, row: FileRow) -> None:
        self._check_fields(row)
        if row.kind == "task":
            self._tasks.append(self._task(row))
        elif not self._tasks:
            raise Problem("bad-file", "the {kind} stands before the first task", kind=row.kind)
        elif row.kind == "item":
            self._tasks[-1].checklist.append(self._item(row, self._tasks[-1]))
        else:
            self._tasks[-1].notes.append(self._note(row, self._tasks[-1]))

    def _check_fields(self, row: FileRow) -> None:
        allowed = {*FIELDS[row.kind], "kind", "text", "id", "line"}
        for field in (name for name in FileRow.__struct_fields__ if name not in allowed and getattr(row, name)):
            raise Problem("bad-file", "a row of the type {kind} has no {field}", kind=row.kind, field=field)
        if row.id and ENTITY_ID.match(row.id) is None:
            raise Problem("bad-file", "{quoted} is not an id", quoted=quoted(row.id))
        if row.id and row.id in self._ids:
            raise Problem("bad-file", "the id {quoted} is used twice", quoted=quoted(row.id))
        self._ids.add(row.id)

    def _task(self, row: FileRow) -> TaskRecord:
        status = task_values.checked_status(row.status or "OPEN", row.reason)
        title = task_values.checked_title(row.text)
        return TaskRecord(
            self._key(row, "task", title),
            title,
            time_entry.checked_instant(row.at or self._now),
            status=status["status"],  # type: ignore[arg-type]
            status_reason=status["statusReason"],
            priority=task_values.checked_priority(row.priority or "P2"),  # type: ignore[arg-type]
            due=task_values.checked_day(row.due) if row.due else None,  # type: ignore[arg-type]
            estimate=_minutes(row.minutes) if row.minutes else None,
            labels=list(dict.fromkeys(self._label(label) for label in row.labels)),
            language=task_values.checked_language(row.language) if row.language else None,
            checklist=[],
            notes=[],
            category=task_values.checked_title(row.category) if row.category else None,
            remind_at=time_entry.checked_instant(row.remind) if row.remind else None,
            repeat=repetition.checked_rule(row.repeat) if row.repeat else None,
            id=row.id or None,
        )

    def _label(self, text: str) -> str:
        label = task_values.checked_title(text)
        key = _hashed(label.casefold())
        self._labels.setdefault(key, LabelRecord(key, label, id=derived_id("label", label.casefold())))
        return key

    def _item(self, row: FileRow, task: TaskRecord) -> ItemRecord:
        title = task_values.checked_title(row.text)
        checked = task_values.checked_status_name(row.status or "OPEN") == "DONE"
        at = time_entry.checked_instant(row.at) if row.at else None
        return ItemRecord(self._key(row, task.key, title), title, checked, at, row.id or None)

    def _note(self, row: FileRow, task: TaskRecord) -> NoteRecord:
        text = task_values.checked_text(row.text)
        at = time_entry.checked_instant(row.at or self._now)
        if row.kind == "time" and not row.minutes:
            raise Problem("bad-file", "time that was spent has minutes")
        minutes = task_values.checked_minutes_spent(_number(row.minutes)) if row.minutes else None
        return NoteRecord(self._key(row, task.key, text), at, text, minutes, row.id or None)

    def _key(self, row: FileRow, *of: str) -> str:
        """The key of a row: from its id, else from its text and how many rows with the same text come before it."""
        if row.id:
            return _hashed("id", row.id)
        self._same[of] += 1
        return _hashed(*of, row.kind, str(self._same[of]))


def _minutes(text: str) -> int:
    return task_values.checked_minutes(_number(text))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Problem("bad-value", "minutes are a number; got {quoted}", quoted=quoted(text))
    return int(text[:9])


def _hashed(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hex()[:32]
