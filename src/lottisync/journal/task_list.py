"""Pages of the list of tasks: filtered and sorted in SQL (docs/specs/08-journal.md, section 6).

What tasks are sorted and filtered by is kept in an index of its own, `task-list.index`, which follows the journal's
feed (`lottisync.store.feed_index`). So a page of the open tasks costs the same among a thousand tasks and among a
hundred thousand. The index only says which tasks are on the page, and in which order. What is shown of each is read
from the journal.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from lottisync.entities.version import Damaged
from lottisync.journal.tasks import TaskLine
from lottisync.journal.types import Task
from lottisync.store import lookups
from lottisync.store.feed_index import UNWRITABLE, FeedIndex
from lottisync.store.forgetting import MIN_AGE
from lottisync.store.instant import is_instant, iso, millis
from lottisync.store.reader import Change, Reader
from lottisync.store.store import Store

T = TypeVar("T")
FILE = "task-list.index"
VERSION = 2
"""The version of the tables below."""
OPEN_STATUSES = ("OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD")
SORTS = {
    "priority": "priority, due, created, id",
    "due": "due, priority, created, id",
    "title": "title, id",
    "created": "created desc, id",
    "changed": "changed desc, id",
}
"""What a list is sorted by -> columns. The newest first, and what is due soonest; what is never due comes last."""
NEVER = "9999"
"""Stands for no due date; it is after every day."""
_INDEXES = "".join(
    f"create index by_{name} on tasks(deleted, open, {columns}) where damaged = 0;" for name, columns in SORTS.items()
)
_TABLES = f"""
    create table tasks (id text primary key, title text not null, status text not null, priority text not null,
        due text not null, remind text not null, created text not null, changed text not null, open integer not null,
        deleted integer not null, damaged integer not null) strict;
    {_INDEXES}
    create index by_damage on tasks(id) where damaged;
    create index by_reminder on tasks(remind) where open and not deleted and not damaged and remind < '9999';
    create table labels (task text not null, label text not null, primary key (task, label)) strict, without rowid
"""


class Wanted(NamedTuple):
    """What a list shows. Without `statuses`, the open ones, or all with `everything`. `until` is a day: what is due by
    then. `label` is an id, `ids` are those of tasks, `piece` is in the title, in capitals or not. At most `limit` (-1:
    all), behind the first `skip`, and behind the task `after`: that is for sorts that only ascend."""

    sort: str = "priority"
    statuses: Sequence[str] | None = None
    everything: bool = False
    deleted: bool = False
    until: str | None = None
    label: str | None = None
    ids: Sequence[str] | None = None
    piece: str | None = None
    limit: int = -1
    skip: int = 0
    after: str | None = None


class Page(NamedTuple):
    """`lines` in order; `changed`: id -> when it was changed last (ISO); `damaged`: what cannot be read; `more`:
    whether others follow."""

    lines: list[TaskLine]
    changed: dict[str, str]
    damaged: list[Damaged]
    more: bool


class Indexed(NamedTuple):
    """What is indexed of a task: `changed` is when it was written last (ISO)."""

    task: Task
    changed: str
    damaged: bool = False


class TaskList(FeedIndex[Indexed]):
    """See the module. `file` is made if it is not there."""

    def __init__(self, file: Path, journal: Store) -> None:
        super().__init__(file, {journal.schema.name: journal}, _TABLES, VERSION)
        self._journal = journal

    def page(self, wanted: Wanted) -> Page:
        """The tasks that fit, as they are now in the journal. An id that leads to no row any more was forgotten, or the
        disk has damaged it: then all is indexed once more, and the row is found under what its id is now (JOUR-661)."""
        self.catch_up()
        page, missing = self._page(wanted)
        if missing:
            self.build_again()
            page, _ = self._page(wanted)
        return page

    def _page(self, wanted: Wanted) -> tuple[Page, bool]:
        """A page by the index, and whether it has an id that leads to no row."""
        ids = self._ids(*selection(wanted))
        more = 0 <= wanted.limit < len(ids)
        ids = ids[: wanted.limit] if more else ids
        unreadable = self._ids("select id from tasks where damaged", ())
        with self._journal.reading() as reader:
            lines, changed, damaged = _read(reader, ids)
            damaged += _damage(reader, unreadable)
        return Page(lines, changed, damaged, more), len(lines) + len(damaged) < len(ids) + len(unreadable)

    def count(self, wanted: Wanted) -> int:
        """How many fit, on all pages."""
        self.catch_up()
        where, bindings = _where(wanted._replace(after=None))
        [(count,)] = self._execute(f"select count(*) from tasks where {where}", bindings)
        return int(count)

    def reminded(self, until: str) -> list[Task]:
        """The open tasks with a reminder at `until` (an instant) or before, the oldest reminder first."""
        self.catch_up()
        ids = self._ids(
            "select id from tasks where open and not deleted and not damaged and remind < '9999' and remind <= ?"
            " order by remind, id",
            (until,),
        )
        with self._journal.reading() as reader:
            found = [document for ident in ids if (document := reader.document(ident)) is not None]
            return [document.view(Task) for document in found]

    def look(self, reader: Reader, change: Change) -> Indexed | None:
        if change.type != "task":
            return None
        changed = lookups.updated_at(reader, change.id)
        try:
            document = reader.document(change.id)
            if document is not None:
                return Indexed(document.view(Task), changed)
            return Indexed(Task(change.id), changed, damaged=True)  # no id that is text leads to it
        except Damaged:
            return Indexed(Task(change.id), changed, damaged=True)

    def take(self, store: str, change: Change, seen: Indexed) -> None:
        task = seen.task
        self._execute("delete from labels where task = ?", (change.id,))
        self._execute(
            "replace into tasks values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(change.id, task.title.casefold(), task.status, task.priority, task.due or NEVER),
                *(task.remind_at or NEVER, task.created_at, seen.changed),
                *(task.status in OPEN_STATUSES, change.deleted, seen.damaged),
            ),
        )
        for label in (ident for ident, on in task.labels.items() if on):
            self._execute("insert into labels values (?, ?)", (change.id, label))

    def drop(self, store: str) -> None:
        self._execute("delete from tasks", ())
        self._execute("delete from labels", ())

    def _ids(self, sql: str, bindings: tuple[Any, ...]) -> list[str]:
        return [str(ident) for (ident,) in self._execute(sql, bindings)]

    def _execute(self, sql: str, bindings: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, bindings).fetchall()


def forgotten_from(changed: str) -> str | None:
    """When a deleted task may be forgotten at the earliest: 30 days after it was deleted, if every device has seen
    it. None if the disk has damaged the time of that."""
    return iso(millis(changed) + MIN_AGE) if is_instant(changed) else None


def page_of(file: Path, journal: Store, wanted: Wanted) -> Page:
    """A page, by the index in `file`. Where the disk takes no index, it is built in memory, and forgotten."""
    return _by_index(file, journal, lambda listed: listed.page(wanted))


def counted_page_of(file: Path, journal: Store, wanted: Wanted) -> tuple[Page, int]:
    """A page, as `page_of` gives it, and how many tasks there are on all pages."""
    return _by_index(file, journal, lambda listed: (listed.page(wanted), listed.count(wanted)))


def reminded(file: Path, journal: Store, until: str) -> list[Task]:
    """What `TaskList.reminded` gives, by the index in `file`."""
    return _by_index(file, journal, lambda listed: listed.reminded(until))


def _by_index(file: Path, journal: Store, ask: Callable[[TaskList], T]) -> T:
    try:
        with closing(TaskList(file, journal)) as listed:
            return ask(listed)
    except UNWRITABLE:
        with closing(TaskList(Path(":memory:"), journal)) as listed:
            return ask(listed)


def selection(wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
    """The query for the ids of a page and for one more, and its bindings."""
    where, bindings = _where(wanted)
    limit = wanted.limit if wanted.limit < 0 else wanted.limit + 1
    return f"select id from tasks where {where} order by {SORTS[wanted.sort]} limit ? offset ?", (
        *bindings,
        limit,
        wanted.skip,
    )


def _where(wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
    """The condition. It begins with the columns with which the indexes begin."""
    parts: list[tuple[str, tuple[Any, ...]]] = [("damaged = 0 and deleted = ?", (wanted.deleted,))]
    if wanted.statuses is not None:
        parts += [("status in (select value from json_each(?))", (_json(wanted.statuses),))]
    elif not wanted.everything and not wanted.deleted:
        parts += [("open = 1", ())]
    if wanted.until is not None:
        parts += [("due <= ?", (wanted.until,))]
    if wanted.label is not None:
        parts += [("exists (select 1 from labels where task = id and label = ?)", (wanted.label,))]
    if wanted.ids is not None:
        parts += [("id in (select value from json_each(?))", (_json(wanted.ids),))]
    if wanted.piece is not None:
        parts += [("instr(title, ?)", (wanted.piece.casefold(),))]
    if wanted.after is not None:
        columns = SORTS[wanted.sort]
        assert "desc" not in columns, "a page by key is for a sort that only ascends"
        parts += [(f"({columns}) > (select {columns} from tasks where id = ?)", (wanted.after,))]
    return " and ".join(sql for sql, _ in parts), tuple(value for _, values in parts for value in values)


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()


def _read(reader: Reader, ids: Sequence[str]) -> tuple[list[TaskLine], dict[str, str], list[Damaged]]:
    """What the tasks show now, when they were changed, and what can't be read. One that is not here is left out."""
    lines, changed, damaged = [], {}, []
    for ident in ids:
        try:
            document = reader.document(ident)
            if document is not None:
                lines.append(document.view(TaskLine))
                changed[ident] = lookups.updated_at(reader, ident)
        except Damaged as problem:
            damaged.append(problem)
    return lines, changed, damaged


def _damage(reader: Reader, ids: Sequence[str]) -> list[Damaged]:
    """What is wrong with tasks that could not be read when they were indexed. One that is here no more, or in order
    again, is left out."""
    if not ids:
        return []
    _, damaged = reader.views("task", Task)
    return [problem for problem in damaged if problem.arguments["entity"] in ids]
