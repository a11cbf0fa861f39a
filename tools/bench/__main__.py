"""`make bench`: what the library costs, as a ratio to what SQLite alone costs in the same run.

Seconds depend on the machine, ratios hardly do; the table says both and the ratio is what counts. The bare
figure inserts the very same rows, ready made, into the same tables with the same indexes.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from rich.console import Console
from rich.progress import track
from rich.table import Table

from lottisync.causality.vector_clock import Host
from lottisync.entities import version
from lottisync.entities.journal import JOURNAL
from lottisync.store.store import Store

SINGLE, BULK, ROUNDS = 1_000, 10_000, 3
REPORT = Path("docs/specs/benchmarks.md")


class Figure(NamedTuple):
    name: str
    ours: float
    bare: float
    goal: float

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


def task(number: int) -> dict[str, Any]:
    """A record of fifteen fields and about 400 bytes."""
    return {
        "title": f"Task number {number} with a title of usual length",
        "status": "OPEN",
        "priority": f"P{number % 4}",
        "due": f"2026-12-{number % 28 + 1:02d}",
        "estimate": number % 480 + 1,
        "languageCode": "en",
        "categoryId": f"category-{number % 7}",
        "createdAt": "2026-11-20T18:30:00.000Z",
        "statusReason": None,
        "labels": {"home": True, "garden": number % 2 == 0},
        "suppressedLabels": {"work": True},
        "languageSource": "user",
        "note": "A line of text, as long as people write them into such fields.",
        "source": "bench",
    }


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = itertools.count(1)
        self.hosts = itertools.count(1)

    def store(self) -> Store:
        return Store.create(
            self.folder / f"{next(self.names)}.sqlite", JOURNAL, lambda: Host(f"{next(self.hosts):016x}")
        )

    def statements_of(self, source: Store) -> list[tuple[str, list[tuple[Any, ...]]]]:
        """Everything that the library wrote for each entity, ready made: statement and rows."""
        found = []
        with source.reading() as reader:
            for table in ("journal_entities", "components", "chain"):
                rows = reader.local(f"select * from {table}")
                columns = [name for (name,) in reader.local(f"select name from pragma_table_info('{table}')")]
                found.append(
                    (f"insert into {table}({', '.join(columns)}) values ({', '.join('?' * len(columns))})", rows)
                )
        return found

    def bare(self, source: Store, per_commit: int) -> float:
        """Entities a second when SQLite alone inserts what `source` holds, row by row as a program does that writes
        them as they come, with one prepared statement for each table."""
        statements = self.statements_of(source)
        count = len(statements[0][1])
        target = self.store()
        connection: apsw.Connection = target._connection
        execute = connection.execute
        started = time.perf_counter()
        for start in range(0, count, per_commit):
            execute("begin immediate").fetchall()
            for number in range(start, min(start + per_commit, count)):
                for insert, rows in statements:
                    if number < len(rows):
                        execute(insert, rows[number]).fetchall()
            execute("commit").fetchall()
        took = time.perf_counter() - started
        target.close()
        return count / took

    def library(self, count: int, per_commit: int) -> tuple[Store, float]:
        """Rows a second through the library."""
        target = self.store()
        records = [(f"task-{number:08d}", task(number)) for number in range(count)]
        started = time.perf_counter()
        for start in range(0, count, per_commit):
            with target.transaction(1_763_000_000_000 + start) as tx:
                for ident, fields in records[start : start + per_commit]:
                    tx.put(ident, "task", fields)
        return target, count / (time.perf_counter() - started)

    def applied(self, source: Store) -> float:
        """Rows a second when an empty store takes all of `source` in one round, in frames of 1,000."""
        target = self.store()
        snapshot = source.snapshot()
        started = time.perf_counter()
        numbers = snapshot.lacking({}, [])
        for start in range(0, len(numbers), 1_000):
            frame = snapshot.versions(numbers[start : start + 1_000])
            with target.transaction(1_763_000_000_000) as tx:
                tx.apply([(v, version.open_foreign(v)) for v in frame])
        with target.transaction(1_763_000_000_000) as tx:
            tx.adopt(snapshot.knowledge())
        took = time.perf_counter() - started
        snapshot.close()
        target.close()
        return len(numbers) / took

    def write(self, name: str, count: int, per_commit: int, goal: float) -> Figure:
        source, ours = self.library(count, per_commit)
        bare = self.bare(source, per_commit)
        source.close()
        return Figure(name, ours, bare, goal)

    def round(self) -> Figure:
        source, _ = self.library(BULK, BULK)
        ours, bare = self.applied(source), self.bare(source, 1_000)
        source.close()
        return Figure(f"first round, {BULK:,} entities, store to store", ours, bare, 0.5)


def median(make: Callable[[], Figure], label: str) -> Figure:
    runs = [make() for _ in track(range(ROUNDS), label, console=Console(stderr=True), transient=True)]
    return sorted(runs, key=lambda figure: figure.ratio)[ROUNDS // 2]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder:
        bench = Bench(Path(folder))
        figures = [
            median(lambda: bench.write("local write, a transaction each", SINGLE, 1, 0.7), "local writes"),
            median(lambda: bench.write(f"bulk import, {BULK:,} in one", BULK, BULK, 0.6), "bulk import"),
            median(bench.round, "first round"),
        ]
    table = Table("figure", "library /s", "bare SQLite /s", "ratio", "goal")
    lines = ["| figure | library /s | bare SQLite /s | ratio | goal |", "|---|---|---|---|---|"]
    for figure in figures:
        cells = [figure.name, f"{figure.ours:,.0f}", f"{figure.bare:,.0f}", f"{figure.ratio:.2f}", f"{figure.goal}"]
        table.add_row(*cells, style="green" if figure.ratio >= figure.goal else "yellow")
        lines.append("| " + " | ".join(cells) + " |")
    Console().print(table)
    REPORT.write_text(
        "# Benchmarks\n\nWritten by `make bench`: median ratio of "
        f"{ROUNDS} runs, records of 15 fields and about 400 bytes, WAL with `synchronous=FULL`. The bare figure inserts"
        " the same rows, ready made, into the same tables and indexes. Compare ratios, not seconds.\n\n"
        + "\n".join(lines)
        + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
