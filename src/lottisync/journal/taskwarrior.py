"""Tasks of Taskwarrior, as `task export` writes them (docs/specs/08-journal.md, section 5).

Each task becomes a record of a task file (`lottisync.journal.task_file`), under its own uuid. So an import that is
repeated adds nothing, and all rules of task files hold.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, tzinfo
from typing import Annotated, Literal

import msgspec

from lottisync.causality.digest import sha256
from lottisync.journal.task_file import (
    FORMAT,
    MAX_BYTES,
    LabelRecord,
    NoteRecord,
    TaskFile,
    TaskRecord,
    Title,
    line_of,
    parse,
)
from lottisync.journal.task_values import MAX_TEXT
from lottisync.problem import Problem, Sentence

STATUS = {"pending": "OPEN", "waiting": "ON HOLD", "completed": "DONE"}
PRIORITY = {"H": "P1", "M": "P2", "L": "P3"}
_INSTANT = "%Y%m%dT%H%M%SZ"


class _Annotation(msgspec.Struct, frozen=True):
    entry: str
    description: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]


class _Task(msgspec.Struct, frozen=True):
    """What is read of a task. `project` becomes a label, like the tags."""

    uuid: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-fA-F-]{36}\Z")]
    entry: str
    description: Title
    status: Literal["pending", "waiting", "completed", "deleted", "recurring"]
    start: str | None = None
    wait: str | None = None
    due: str | None = None
    priority: str = ""
    project: str = ""
    tags: list[str] = []
    annotations: list[_Annotation] = []

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys([*self.tags, *([self.project] if self.project else [])]))


def is_taskwarrior(raw: bytes) -> bool:
    """Whether a file looks like an export of Taskwarrior: an array of objects, or an object a line."""
    head = raw[:4096]
    return FORMAT.encode() not in head and head.lstrip(b" \t\r\n[").startswith(b"{") and b'"description"' in head


def read(raw: bytes, name: str, zone: tzinfo | None = None) -> TaskFile:
    """The tasks of an export as a task file, checked whole. Days are those of `zone` (None: this machine's). Deleted
    tasks and the templates of recurring ones are left out. Raises `Problem` with the number of the line, or of the task
    where a task takes several lines."""
    if len(raw) > MAX_BYTES:
        return parse(raw, name)  # which says how large a file may be
    records: dict[str, TaskRecord] = {}
    labels: dict[str, LabelRecord] = {}
    for where, text in _pieces(raw, name):
        try:
            task = msgspec.json.decode(text, type=_Task)
            if task.status not in STATUS:
                continue
            record, own = _record(task, zone), [LabelRecord(_label_key(each), each) for each in task.labels]
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
            raise _bad(name, where, error) from None
        whole = Sentence("{name}: {where}", name=name, where=where)
        if record.key in records:
            raise Problem(
                "bad-file", "{where}: the uuid {uuid} is used twice. Nothing was imported", where=whole, uuid=record.key
            )
        labels |= {each.key: each for each in own}
        records |= {each.key: each for each in parse(_file([record], own), whole).tasks}
    return TaskFile("lottisync-tasks/1", list(records.values()), list(labels.values()))


def _file(records: list[TaskRecord], labels: list[LabelRecord]) -> bytes:
    return msgspec.json.encode(TaskFile("lottisync-tasks/1", records, labels))


def _pieces(raw: bytes, name: str) -> Iterable[tuple[Sentence, bytes]]:
    """Each task, with its place in the file."""
    lines = [(number, line.strip().rstrip(b",")) for number, line in enumerate(raw.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line not in (b"", b"[", b"]")]
    if all(line.startswith(b"{") and line.endswith(b"}") for _, line in lines):
        return [(Sentence("line {number}", number=number), line) for number, line in lines]
    return _array(raw, name)


def _array(raw: bytes, name: str) -> Iterator[tuple[Sentence, bytes]]:
    try:
        tasks = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        number = line_of(error, raw)
        where = Sentence("it") if number is None else Sentence("line {number}", number=number)
        raise _bad(name, where, error) from None
    for number, task in enumerate(tasks, 1):
        yield Sentence("task {number}", number=number), bytes(task)


def _bad(name: str, where: Sentence, error: Exception) -> Problem:
    return Problem(
        "bad-file",
        "{name}: {where} is not a task of Taskwarrior: {error}. Nothing was imported",
        name=name,
        where=where,
        error=error,
    )


def _record(task: _Task, zone: tzinfo | None) -> TaskRecord:
    status = "IN PROGRESS" if task.start and task.status == "pending" else STATUS[task.status]
    reason = f"waits until {_day(task.wait, zone)}" if task.wait and status == "ON HOLD" else None
    return TaskRecord(
        task.uuid,
        task.description,
        _iso(task.entry),
        status=status,  # type: ignore[arg-type]
        status_reason=reason or ("waits" if status == "ON HOLD" else None),
        priority=PRIORITY.get(task.priority, "P2"),  # type: ignore[arg-type]
        due=_day(task.due, zone) if task.due else None,
        labels=[_label_key(each) for each in task.labels],
        notes=[NoteRecord(str(n), _iso(each.entry), each.description) for n, each in enumerate(task.annotations)],
    )


def _label_key(name: str) -> str:
    return sha256(name.encode()).hex()[:32]


def _instant(text: str) -> datetime:
    return datetime.strptime(text, _INSTANT).replace(tzinfo=UTC)


def _iso(text: str) -> str:
    return _instant(text).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _day(text: str, zone: tzinfo | None) -> date:
    return _instant(text).astimezone(zone).date()
