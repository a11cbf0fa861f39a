"""The index of change sets: which sets need a person, without reading all sets (docs/specs/10-review.md, section 7).

A status is computed from sets, decisions and time (`lottisync.review.projection`). The result is cached in a
local table with a row for each live set. So the cost of listing open sets does not grow with the settled
ones. The rows are only a cache. They never replicate, no verdict relies on them, and every list is computed
again from the sets that they point to.

A row becomes outdated in two ways. Something was written: then the change feed names it, and the table has a
cursor in that feed. Or time has passed: each row holds between two times, so it is also outdated when the
clock is set back. Outdated rows are computed again for the whole task, because a decision on one twin counts
for all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import msgspec

from lottisync.entities.version import Damaged
from lottisync.entities.view import view
from lottisync.problem import Fault, Problem
from lottisync.review.change import ChangeDecision, ChangeSet
from lottisync.review.ledger import DECISION, SET, Ledger, UnreadDecision, change_set
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import set_of
from lottisync.store import lookups
from lottisync.store.database import NOT_WRITTEN
from lottisync.store.feed import BATCH, advance, begin_again
from lottisync.store.merge import Merge
from lottisync.store.reader import Change, Reader
from lottisync.store.store import Store

TABLE = """
create table if not exists change_set_index (set_id text not null primary key, task_id text not null,
    status text not null, resolved_at text, items text not null, decisions text not null, open integer not null,
    settled integer not null,
    since integer not null, until integer not null) strict;
create index if not exists idx_change_set_index_task on change_set_index(task_id);
create index if not exists idx_change_set_index_resolved on change_set_index(resolved_at) where resolved_at is not null;
create index if not exists idx_change_set_index_open on change_set_index(open, task_id) where not settled;
create index if not exists idx_change_set_index_since on change_set_index(since) where not settled;
create index if not exists idx_change_set_index_until on change_set_index(until) where not settled;
"""
"""The statuses of the sets when they were last computed (S1-08); local."""

CONSUMER = "change-set-index"
OUTDATED = "outdated-index"


class ItemEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item's status in the index."""

    id: str
    status: ItemStatus
    contested: bool = False
    expired: bool = False


class IndexRow(NamedTuple):
    """A row. `items` are `ItemEntry` as JSON. `decisions` are the ids of all decisions on the set's operations.
    `open`: an item waits or is contested. `settled`: it will never be open again. The row holds from `since` (ms)
    until before `until` (ms)."""

    set_id: str
    task_id: str
    status: str
    resolved_at: str | None
    items: str
    decisions: str
    open: int
    settled: int
    since: int
    until: int


_COLUMNS = ", ".join(IndexRow._fields)
_PARAMETERS = ", ".join("?" * len(IndexRow._fields))


def refresh(agent_store: Store, now: int) -> None:
    """Bring the index up to date. If it is, nothing is written."""
    with agent_store.reading() as reader:
        behind = bool(_changes(reader, 1) or _lapsed(reader, now))
    if behind:
        with agent_store.caching(now) as tx:
            _catch_up(tx, now)


@contextmanager
def reading(agent_store: Store, now: int) -> Iterator[Reader]:
    """A moment of the store in which the index is up to date. If the disk does not take the index, it is computed for
    this moment only (REV-160)."""
    try:
        refresh(agent_store, now)
    except Problem as problem:
        if problem.code not in NOT_WRITTEN:
            raise
        with agent_store.draft(now) as tx:
            _catch_up(tx, now)
            yield tx
    else:
        with agent_store.reading() as reader:
            yield reader


def rebuild(agent_store: Store, now: int) -> None:
    """Compute all rows again."""
    with agent_store.caching(now) as tx:
        tx.execute("delete from change_set_index")
        begin_again(tx, CONSUMER)
        _catch_up(tx, now)


def entries(reader: Reader, task_id: str | None = None, *, only_open: bool = False) -> list[IndexRow]:
    """The sets that are not settled, or only the open ones, of one task or of all. `reader` is one of `reading`."""
    where, bindings = "not settled", []
    if only_open:
        where += " and open = 1"
    if task_id is not None:
        where, bindings = where + " and task_id = ?", [task_id]
    return _entries(reader, where, tuple(bindings))


def task_of(reader: Reader, set_id: str) -> str | None:
    """The task of a set that is in the index."""
    return next((entry.task_id for entry in _entries(reader, "set_id = ?", (set_id,))), None)


def page_of(
    reader: Reader, task_id: str | None = None, *, only_open: bool, skip: int, limit: int
) -> tuple[list[str], bool]:
    """The ids of the sets of `entries` on one page, in the order in which they were proposed, and whether others
    follow. The order of sets that were made in the same millisecond is read from the sets themselves."""
    where = "not settled" + (" and open = 1" if only_open else "") + (" and task_id = ?" if task_id is not None else "")
    made = lookups.made_at(reader, f"select set_id from change_set_index where {where}", (task_id,) if task_id else ())
    page = made[skip : skip + limit]
    if not page:
        return [], False
    began, ended = page[0][0], page[-1][0]
    first = next(number for number, (at, _) in enumerate(made) if at >= began)
    tied = [ident for at, ident in made if began <= at <= ended]
    ordered = [one.id for one in Ledger([*_sets(reader, tied)], [], 0).sets]
    return ordered[skip - first : skip - first + limit], len(made) > skip + limit


def _sets(reader: Reader, ids: Iterable[str]) -> Iterator[ChangeSet]:
    """The sets that can be read."""
    for ident in ids:
        with suppress(Damaged):
            if (entity := reader.entity(ident)) is not None:
                yield change_set(entity)


def items_of(entry: IndexRow) -> list[ItemEntry]:
    """The items of a set as they are in the index."""
    return msgspec.json.decode(entry.items, type=list[ItemEntry])


def resolved(reader: Reader, since: str, task_id: str | None = None) -> list[IndexRow]:
    """The sets, of one task or of all, whose last item was decided at `since` (ISO 8601) or later."""
    where, bindings = "resolved_at >= ?", [since]
    if task_id is not None:
        where, bindings = where + " and task_id = ?", [since, task_id]
    return _entries(reader, where, tuple(bindings))


def decided_since(reader: Reader, since: str) -> set[str]:
    """The sets on which something was decided at `since` (ISO 8601) or later."""
    found: set[str] = set()
    for decision, task_id in lookups.made_since(reader, DECISION, since):
        found |= {row.set_id for row in _entries(reader, "task_id = ? and instr(decisions, ?)", (task_id, decision))}
    return found


def open_sets(reader: Reader) -> list[str]:
    """The sets in which something waits or is contested."""
    return [ident for (ident,) in reader.local("select set_id from change_set_index where open = 1 and not settled")]


def position(reader: Reader) -> int:
    """Up to where in the change feed the index is right."""
    return reader.cursor(CONSUMER)


def concerned(reader: Reader, after: int) -> set[str]:
    """The tasks of the sets and decisions that were written behind that position of the feed."""
    return set(_tasks_of(reader, _all_changes(reader, after)))


def aside(reader: Reader) -> set[str]:
    """The sets with an item that was put off, or has expired."""
    maybe = _entries(reader, "not settled and (instr(items, ?) or instr(items, 'expired'))", (ItemStatus.DEFERRED,))
    return {
        row.set_id for row in maybe if any(item.status == ItemStatus.DEFERRED or item.expired for item in items_of(row))
    }


def waiting(agent_store: Store, now: int, task_id: str | None = None) -> int:
    """How many items wait (twins counted once) or are contested, of one task or of all. Reads only the open sets, after
    the index was brought up to date."""
    return sum(waiting_by_task(agent_store, now, task_id).values())


def waiting_by_task(agent_store: Store, now: int, task_id: str | None = None) -> dict[str, int]:
    """How many items wait, for each task; tasks without such items are left out."""
    with reading(agent_store, now) as reader:
        wanted = {entry.set_id for entry in entries(reader, task_id, only_open=True)}
        ledger = ledger_of(reader, wanted, now)
    return Counter(
        placed.set.task_id
        for placed in ledger.placed()
        if placed.set.id in wanted and (placed.state.contested or (placed.state.open and ledger.is_shown(placed)))
    )


def holds_until(reader: Reader) -> int | None:
    """Until when (ms) no set changes by time alone; None if none ever does. The index has to be up to date."""
    [(until,)] = reader.local("select min(until) from change_set_index where not settled")
    return None if until is None else int(until)


def ledger_of(reader: Reader, set_ids: Iterable[str], now: int) -> Ledger:
    """A ledger of these sets and of those on which their items depend."""
    sets: dict[str, ChangeSet] = {}
    wanted = list(set_ids)
    while wanted:
        try:
            entity = reader.entity(ident := wanted.pop())
        except Damaged:
            continue
        if ident in sets or entity is None or entity.type != SET:
            continue
        sets[ident] = change_set(entity)
        wanted += [set_of(other) for item in sets[ident].items for other in item.depends_on]
    tasks = {
        ident: entry.task_id
        for set_id in sets
        for entry in _entries(reader, "set_id = ?", (set_id,))
        for ident in msgspec.json.decode(entry.decisions, type=list[str])
    }
    decisions, missing = [], []
    for ident, task_id in sorted(tasks.items()):
        if (decision := _decision(reader, ident)) is not None:
            decisions.append(decision)
        else:
            missing.append(UnreadDecision(ident, task_id, frozenset()))
    named = {task_id: Ledger.read(reader, now, task_id).unread for task_id in {lost.task_id for lost in missing}}
    unread = [one for lost in missing for one in named[lost.task_id] or [lost]]
    return Ledger(list(sets.values()), decisions, now, unread)


def _decision(reader: Reader, ident: str) -> ChangeDecision | None:
    """The decision with this id; None if it cannot be read, or is not found any more under its id."""
    try:
        entity = reader.entity(ident)
    except Damaged:
        return None
    return None if entity is None else view(entity, ChangeDecision)


def faults(reader: Reader, now: int) -> Iterator[Fault]:
    """One message per row that differs from the computed one. Rows that are known to be outdated are skipped."""
    behind = set(_tasks_of(reader, _all_changes(reader))) | set(_lapsed(reader, now))
    held = {entry.set_id: entry for entry in _entries(reader, "1", ())}
    meant: dict[str, IndexRow] = {}
    for task_id in _tasks(reader) - behind:
        meant |= {entry.set_id: entry for entry in _computed(reader, task_id, now)}
    for ident in sorted(held.keys() | meant.keys()):
        entry, computed = held.get(ident), meant.get(ident)
        if entry == computed or (entry is not None and entry.task_id in behind):
            continue
        yield _difference(ident, entry and entry.status, computed and computed.status)


def _difference(ident: str, held: str | None, computed: str | None) -> Fault:
    words: dict[str, object] = {"set": ident, "held": held, "computed": computed}
    if computed is None:
        return Fault(OUTDATED, "{set}: the index of change sets says {held}, and there is no such set", **words)
    if held is None:
        return Fault(OUTDATED, "{set}: the index of change sets does not have it, and it is {computed}", **words)
    if held != computed:
        return Fault(OUTDATED, "{set}: the index of change sets says {held}, and it is {computed}", **words)
    return Fault(OUTDATED, "{set}: the index of change sets says {held}, with other items or times", **words)


# -- outdated rows


def _catch_up(tx: Merge, now: int) -> None:
    changes = list(_all_changes(tx))
    for task_id in dict.fromkeys([*_tasks_of(tx, changes), *_lapsed(tx, now)]):
        tx.execute("delete from change_set_index where task_id = ?", (task_id,))
        for entry in _computed(tx, task_id, now):
            tx.execute(f"insert or replace into change_set_index({_COLUMNS}) values ({_PARAMETERS})", entry)
    if changes:
        advance(tx, CONSUMER, changes[-1].feed)


def _changes(reader: Reader, limit: int, after: int | None = None) -> list[Change]:
    return reader.changes(reader.cursor(CONSUMER) if after is None else after, limit)


def _all_changes(reader: Reader, after: int | None = None) -> Iterator[Change]:
    while changes := _changes(reader, BATCH, after):
        yield from changes
        after = changes[-1].feed


def _tasks_of(reader: Reader, changes: Iterable[Change]) -> Iterator[str]:
    """The tasks that changes concern: those that sets and decisions name now, and those that their rows named
    before."""
    for change in changes:
        if change.type not in (SET, DECISION):
            continue
        named = lookups.subtype(reader, change.id)
        if named is not None:
            yield named
        for entry in _entries(reader, "set_id = ?", (change.id,)):
            yield entry.task_id


def _lapsed(reader: Reader, now: int) -> list[str]:
    rows = reader.local(
        """select task_id from change_set_index where not settled and until <= ?
           union all select task_id from change_set_index where not settled and since > ?""",
        (now, now),
    )
    return list(dict.fromkeys(task_id for (task_id,) in rows))


def _tasks(reader: Reader) -> set[str]:
    indexed = {task_id for (task_id,) in reader.local("select task_id from change_set_index")}
    return lookups.subtypes(reader, SET) | indexed


# -- rows


def _entries(reader: Reader, where: str, bindings: tuple[str, ...]) -> list[IndexRow]:
    return [IndexRow(*row) for row in reader.local(f"select {_COLUMNS} from change_set_index where {where}", bindings)]


def _computed(reader: Reader, task_id: str, now: int) -> Iterator[IndexRow]:
    ledger = Ledger.read(reader, now, task_id)
    for one in ledger.sets:
        state = ledger.states[one.id]
        items = [ItemEntry(ident, it.status, it.contested, it.expired) for ident, it in state.items.items()]
        decisions = [d.id for item in one.items for d in ledger.on_operation(item.operation_id)]
        decisions += [unread.id for unread in ledger.unread]
        yield IndexRow(
            one.id,
            task_id,
            state.status,
            state.resolved_at,
            msgspec.json.encode(items).decode(),
            msgspec.json.encode(list(dict.fromkeys(decisions))).decode(),
            int(state.open),
            int(state.settled),
            state.since,
            state.until,
        )
