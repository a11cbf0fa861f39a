"""`make bench`: what the library costs, as a ratio to what SQLite alone costs in the same run.

Prints a table and writes it to docs/specs/benchmarks.md. What the bare figures contain is told in
`tools.bench.store`, how the two are measured side by side in `tools.bench.figure`.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tools.bench.figure import Figure
from tools.bench.store import Bench

REPORT = Path("docs/specs/benchmarks.md")
INTRODUCTION = """# Benchmarks

Written by `make bench`. Compare ratios, not seconds: ours and the bare way take turns, slice by slice, and the
median slice of each counts. Records have 15 fields and about 400 bytes; WAL, `synchronous=FULL`.

The bare figure of a write has every row ready made and inserts it, one prepared statement a row, into the same
tables (rows, components, chain, and the row of `state` once a commit) with the same indexes, on a connection that
is as durable. It looks up, checks, encodes and hashes nothing. The bare figure of a read is one query that finds
the same rows, and a JSON decoder over their documents; three times its time is a ratio of 0.33.

"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder:
        bench = Bench(Path(folder))
        makers: list[Callable[[], list[Figure]]] = [
            lambda: [bench.write("local write, a transaction each", 30, 100, 1, 0.7)],
            lambda: [bench.write("bulk import, 10,000 in one", 5, 1, 10_000, 0.6)],
            lambda: [bench.round("first round, 10,000 entities, store to store", 3, 10_000, 0.5)],
            lambda: bench.reading("task with ten items among 100,000 entities", 15, 100_000, 0.33),
        ]
        console = Console(stderr=True)
        figures = [figure for make in track(makers, "measuring", console=console, transient=True) for figure in make()]
    table = Table("figure", "library /s", "bare SQLite /s", "ratio", "goal")
    lines = ["| figure | library /s | bare SQLite /s | ratio | goal |", "|---|---|---|---|---|"]
    for figure in figures:
        cells = [figure.name, f"{figure.ours:,.0f}", f"{figure.bare:,.0f}", f"{figure.ratio:.2f}", f"{figure.goal}"]
        table.add_row(*cells, style="green" if figure.ratio >= figure.goal else "yellow")
        lines.append("| " + " | ".join(cells) + " |")
    Console().print(table)
    REPORT.write_text(INTRODUCTION + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
