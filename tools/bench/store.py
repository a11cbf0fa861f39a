"""What the store costs beside SQLite alone (docs/specs/05-store.md).

The *floor* of a write is a program that has everything ready made: for each entity one prepared insert into
each table that the library writes for it (the row, its component), for each commit its values of the chain and the
row of `state`, into tables with the same columns and indexes, over a connection that is as durable (WAL,
`synchronous=FULL`). It looks nothing up, checks nothing, encodes nothing and hashes nothing.

The floor of a read is the one query that finds the same rows, and a JSON decoder over their documents.
"""

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lottisync.causality.chain import VALUE_BYTES
from lottisync.causality.vector_clock import Host
from lottisync.device import clock
from lottisync.device.typed import Writing
from lottisync.entities.entity import HIGH
from lottisync.journal import task_file, tasks
from lottisync.journal.types import JOURNAL, Task
from lottisync.store.store import Store
from lottisync.sync.incoming import opened
from tools.bench import machine
from tools.bench.figure import Figure, alternately, at_least, value_at_most
from tools.bench.record import ident, task
from tools.bench.setting import Setting

NOW = 1_763_000_000_000
WRITTEN = ("journal_entities", "components")
"""The tables that get a row for every new entity; the chain gets a value, behind those that are in a row already."""
APPEND = "update chain set segment = cast(segment || ? as blob) where host = ? and first = ?"
STATE = "update state set host = ?, counter = ?, millis = ?, ticks = ?, digest = ?, n = ?, feed = ?"
ITEMS = 10
OF_A_TASK = 8
"""Entities that an imported task is: itself, its checklist, five items and a note."""
BARE = "bare SQLite"
Way = Callable[[int, int], tuple[Store, Callable[[int], None]]]
"""Makes a store for so many entities, so many in a commit, and what makes the commit of a number in it."""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = itertools.count(1)
        self.hosts = itertools.count(1)
        (folder / "bells").mkdir(parents=True)

    def mint(self) -> Host:
        return Host(f"{next(self.hosts):016x}")

    def store(self) -> Store:
        return Store.create(self.folder / f"{next(self.names)}.sqlite", JOURNAL, self.mint)

    # -- the two ways to write

    def library(self, count: int, per_commit: int) -> tuple[Store, Callable[[int], None]]:
        """A store, and what makes the commit of that number in it."""
        target = self.store()
        records = [(ident(number), "task", task(number)) for number in range(count)]

        def commit(number: int) -> None:
            start = number * per_commit
            with target.transaction(NOW + start, HIGH) as tx:
                if per_commit == 1:
                    tx.put(*records[start])
                else:
                    tx.put_all(records[start : start + per_commit])

        return target, commit

    def bare(self, source: Store, per_commit: int, target: Store) -> Callable[[int], None]:
        """What makes the commit of that number with SQLite alone: its share of what `source` holds, row by row, as
        a program does that writes them as they come."""
        statements = []
        with source.reading() as reader:
            for table in WRITTEN:
                columns = [name for (name,) in reader.local(f"select name from pragma_table_info('{table}')")]
                insert = f"insert into {table}({', '.join(columns)}) values ({', '.join('?' * len(columns))})"
                statements.append((insert, reader.local(f"select * from {table}")))
            segments = reader.local("select host, first, segment from chain order by first")
            state = reader.local("select host, counter, millis, ticks, digest, n, feed from state")[0]
        execute = target._connection.execute
        segment = _segment_writes(segments, per_commit)

        def commit(number: int) -> None:
            start = number * per_commit
            execute("begin immediate").fetchall()
            for at in range(start, start + per_commit):
                for insert, rows in statements:
                    execute(insert, rows[at]).fetchall()
            for statement, values in segment[number]:
                execute(statement, values).fetchall()
            execute(STATE, state).fetchall()
            execute("commit").fetchall()

        return commit

    def task_files(self, count: int, per_commit: int) -> tuple[Store, Callable[[int], None]]:
        """The same, of entities that an import of a task file writes: a task, its checklist, five items and a note."""
        target = self.store()
        files = [
            msgspec.convert(task_list(number, per_commit // OF_A_TASK), task_file.TaskFile)
            for number in range(count // per_commit)
        ]

        def commit(number: int) -> None:
            with target.transaction(NOW + number, HIGH) as tx:
                task_file.add(tx, files[number])

        return target, commit

    def structs(self, count: int, per_commit: int) -> tuple[Store, Callable[[int], None]]:
        """The same, of a program's own structs."""
        target = self.store()
        some = [msgspec.convert(task(number) | {"id": ""}, Task) for number in range(per_commit)]

        def commit(number: int) -> None:
            with target.transaction(NOW + number, HIGH) as tx:
                Writing(tx, clock.new_id).add_all(some)

        return target, commit

    def filled(self, count: int, per_commit: int, way: Way | None = None) -> Store:
        target, commit = (way or self.library)(count, per_commit)
        for number in range(count // per_commit):
            commit(number)
        return target

    # -- figures

    def write(
        self, name: str, slices: int, commits: int, per_commit: int, goal: float, way: Way | None = None
    ) -> Figure:
        """`slices` times `commits` commits of `per_commit` new entities each."""
        count = slices * commits * per_commit
        source = self.filled(count, per_commit, way)
        written, ours = (way or self.library)(count, per_commit)
        target = self.store()
        bare = self.bare(source, per_commit, target)

        def many(commit: Callable[[int], None]) -> Callable[[int], None]:
            def slice_of(number: int) -> None:
                for at in range(number * commits, (number + 1) * commits):
                    commit(at)

            return slice_of

        took, floor = alternately(many(ours), many(bare), slices)
        for store in (source, written, target):
            store.close()
        return Figure(name, commits * per_commit / took, "/s", commits * per_commit / floor, BARE, at_least(goal))

    def processor(self, slices: int, commits: int, per_commit: int) -> tuple[float, float]:
        """Microseconds on a core that a new entity takes in commits of so many, and that it takes bare SQLite."""
        count = slices * commits * per_commit
        source = self.filled(count, per_commit)
        written, ours = self.library(count, per_commit)
        target = self.store()
        bare = self.bare(source, per_commit, target)
        took: dict[str, list[float]] = {"ours": [], "bare": []}
        for number in range(slices):
            for way, commit in (("ours", ours), ("bare", bare)):
                began = time.process_time()
                for at in range(number * commits, (number + 1) * commits):
                    commit(at)
                took[way].append((time.process_time() - began) / (commits * per_commit) * 1e6)
        for store in (source, written, target):
            store.close()
        return statistics.median(took["ours"]), statistics.median(took["bare"])

    def round(self, name: str, slices: int, count: int, goal: float) -> Figure:
        """An empty store takes all of another in one round, in frames of 1,000."""
        source = self.filled(count, count)
        targets = [(self.store(), self.store()) for _ in range(slices)]

        def ours(number: int) -> None:
            target, snapshot = targets[number][0], source.snapshot()
            numbers = snapshot.lacking({}, [])
            for start in range(0, len(numbers), 1_000):
                frame = snapshot.versions(numbers[start : start + 1_000])
                with target.transaction(NOW, None) as tx:
                    for some in opened(frame).good:
                        tx.apply(some)
            with target.transaction(NOW, None) as tx:
                tx.adopt(snapshot.knowledge())
            snapshot.close()

        ready = [self.bare(source, 1_000, floor) for _, floor in targets]

        def bare(number: int) -> None:
            for commit in range(count // 1_000):
                ready[number](commit)

        took, floor = alternately(ours, bare, slices)
        for pair in targets:
            for store in pair:
                store.close()
        source.close()
        return Figure(name, count / took, "/s", count / floor, BARE, at_least(goal))

    def reading(self, name: str, slices: int, count: int, goal: float) -> list[Figure]:
        """A task with its checklist of ten items, among `count` entities: as a typed page, and as documents."""
        store = self.store()
        ids = [ident(number) for number in range(count // (ITEMS + 2))]
        with store.transaction(NOW, HIGH) as tx:
            for number, owner in enumerate(ids):
                tx.put(owner, "task", task(number) | {"labels": {}})
                tx.put(f"{owner}-list", "checklist", {"taskId": owner, "title": "Todos", "rank": "a0"})
                rank = ""
                for item in range(ITEMS):
                    rank = tasks.rank_after(rank)
                    tx.put(f"{owner}-{item}", "checklistItem", checklist_item(owner, item, rank))
        chance = random.Random(3)
        wanted = [chance.sample(ids, 100) for _ in range(slices)]
        decode = msgspec.json.Decoder().decode
        read: Any = store._connection.execute
        query = "select serialized from journal_entities where task_id = ? and deleted_at is null order by created_at"

        def bare(number: int) -> None:
            for owner in wanted[number]:
                assert len([decode(text) for (text,) in read(query, (owner,)).fetchall()]) == ITEMS + 2

        def page(number: int) -> None:
            for owner in wanted[number]:
                with store.reading() as reader:
                    assert len(tasks.page(reader, owner).items) == ITEMS

        def documents(number: int) -> None:
            for owner in wanted[number]:
                with store.reading() as reader:
                    assert len(reader.documents(owner=owner)) == ITEMS + 2

        figures = []
        for how, ours in (("typed page", page), ("documents", documents)):
            took, floor = alternately(ours, bare, slices)
            figures.append(Figure(f"{name}, {how}", 100 / took, "/s", 100 / floor, BARE, at_least(goal)))
        store.close()
        return figures


def _segment_writes(segments: list[tuple[Any, ...]], per_commit: int) -> list[list[tuple[str, tuple[Any, ...]]]]:
    """For each commit what writes its share of the chain: a new row, or values behind those of one."""
    count = sum(len(segment) for _, _, segment in segments) // VALUE_BYTES
    commits: list[list[tuple[str, tuple[Any, ...]]]] = [[] for _ in range(count // per_commit)]
    for host, first, segment in segments:
        end = first + len(segment) // VALUE_BYTES
        for number in range((first - 1) // per_commit, (end - 2) // per_commit + 1):
            begin = max(first, number * per_commit + 1)
            piece = segment[(begin - first) * VALUE_BYTES : ((number + 1) * per_commit + 1 - first) * VALUE_BYTES]
            insert = ("insert into chain values (?, ?, ?)", (host, first, piece))
            commits[number].append(insert if begin == first else (APPEND, (piece, host, first)))
    return commits


def writes(setting: Setting) -> list[Figure]:
    bench, few, quick = Bench(setting.folder / "writes"), setting.sizes.few, setting.sizes.quick
    setting.doing("local writes")
    figures = [bench.write("local write, a transaction each", 3 if quick else 30, 100, 1, 0.7)]
    setting.doing("bulk import")
    figures.append(bench.write(f"bulk import, {few:,} in one", 3 if quick else 5, 1, few, 0.6))
    setting.doing("imports")
    for what, way in (("import of a task file", bench.task_files), ("structs by add_all", bench.structs)):
        some = few // OF_A_TASK * OF_A_TASK
        figures.append(bench.write(f"{what}, {some:,} in one", 3 if quick else 5, 1, some, 0.3, way))
    if (memory := machine.memory_disk()) is not None:
        with tempfile.TemporaryDirectory(prefix="lottisync-bench-", dir=memory) as folder:
            figures += _in_memory(Bench(Path(folder) / "writes"), few, quick=quick)
    setting.doing("first round, store to store")
    figures.append(bench.round(f"first round, {few:,} entities, store to store", 3, few, 0.4))
    return figures


def _in_memory(bench: Bench, few: int, *, quick: bool) -> list[Figure]:
    """What the disk has no part in."""
    one, bare_one = bench.processor(3 if quick else 30, 100, 1)
    many, bare_many = bench.processor(3 if quick else 9, 1, few)
    return [
        Figure(
            f"local write, a transaction each: processor beyond {BARE}, in memory",
            one - bare_one,
            "µs",
            goal=value_at_most(110),
        ),
        Figure(f"bulk import, {few:,} in one: processor, in memory", many, "µs", bare_many, BARE),
    ]


def reads(setting: Setting) -> list[Figure]:
    bench, many = Bench(setting.folder / "reads"), setting.sizes.many
    setting.doing("reading a task")
    return bench.reading(f"task with ten items among {many:,} entities", 3 if setting.sizes.quick else 15, many, 0.33)


def task_list(number: int, tasks: int) -> dict[str, Any]:
    """A task file that shares no key with that of another number."""
    made, noted = "2026-11-20T18:30:00Z", "2026-11-21T08:00:00Z"
    items = [{"key": f"i{n}", "title": f"Item number {n}, in as many words as people use"} for n in range(5)]
    records = [
        {
            "key": f"f{number}-{at}",
            "title": f"Task number {at}, in as many words as people use",
            "createdAt": made,
            "checklist": items,
            "notes": [{"key": "n", "at": noted, "text": "What was found out about it, in a sentence or two."}],
        }
        for at in range(tasks)
    ]
    return {"format": task_file.FORMAT, "tasks": records}


def checklist_item(task_id: str, number: int, rank: str) -> dict[str, Any]:
    return {
        "taskId": task_id,
        "checklistId": f"{task_id}-list",
        "title": f"Item number {number}, in as many words as people use",
        "rank": rank,
        "isChecked": number % 3 == 0,
        "checkedBy": "user",
        "checkedAt": "2026-11-20T18:30:00.000Z" if number % 3 == 0 else None,
        "createdAt": "2026-11-20T18:30:00.000Z",
    }
