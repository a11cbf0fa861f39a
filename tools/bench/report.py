"""The table on the terminal, and the pages docs/specs/benchmarks.md and benchmarks-million.md with their plots."""

import os
import textwrap
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools import interpreter
from tools.bench.figure import Figure
from tools.bench.plot import Curve, svg

FOLDER = Path("docs/specs")
HEAD = ("figure", "ours", "beside", "ratio", "least to greatest", "goal")
ALL, MILLION = "benchmarks.md", "benchmarks-million.md"
INTRODUCTIONS = {
    ALL: """# Benchmarks

Written by `make bench`, on a quiet machine only. Compare ratios, not seconds: what stands beside was measured in the
same run, and what takes long in turns with it. Everything is run several times; a row is the run in the middle, and
says the least and the greatest of what is judged. Records have 15 fields and about 400 bytes; WAL, `synchronous=FULL`.

- *Bare SQLite*: every row ready made, inserted by one prepared statement a row into the same tables with the same
  indexes, the chain's values of a commit together, on a connection that is as durable. It looks up, checks, encodes and
  hashes nothing. For a read, the query that finds the same rows, and a JSON decoder over their documents; three times
  its time is a ratio of 0.33.
- *floor*: two processes, msgspec frames over TLS 1.3 into one table with three indexes, no merge; rows in no order, one
  statement each, a commit for each thousand. *floor-bulk*: the same with 64 MB of page cache, rows sorted,
  `executemany`, a commit for each ten thousand, a checkpoint every 10,000 pages.
- *loro, pycrdt*: in one process, without a network; what they would send is made durable in a file.
- Ours: two daemons in processes of their own, over TLS on loopback, from the connection to both being in step.
- What differs among many is found and mended between two stores in one process, the frames counted as they would cross.
- What a relay costs stands in [19](19-relay.md#12-figures): a change for 2 to 100 devices, a join, many persons.

""",
    MILLION: """# A million entities

Written by `make bench BENCH=--million`, on a quiet machine only: what is to be the same for a million entities as for a
hundred thousand. Run once, unless it says least and greatest. How things are measured, and all else, is in
[benchmarks](benchmarks.md).

""",
}


def show(figures: list[Figure]) -> None:
    table = Table(*HEAD)
    for figure in figures:
        style = {True: "green", False: "yellow", None: None}[figure.met]
        table.add_row(*figure.cells(), style=style)
    Console().print(table)


PLOTS = {
    "initial": ("benchmarks.svg", "Initial sync: what an entity costs among N", "entities"),
    "million": ("million.svg", "A million: what one thing costs among N entities", "entities"),
    "growth": ("growth.svg", "Growth: what one thing costs where there are N", "how many there are"),
    "relay": ("relay.svg", "A change at a relay: what the server counts until N devices have it", "devices", ""),
    "relay-many": ("relay-many.svg", "A relay: what one costs among N", "how many there are"),
}
"""Of a bench with curves: the file, its title, what is counted, and the unit if it is not a time."""


def draw(curves: dict[str, list[Curve]]) -> list[str]:
    """The plots of these benches, and how a page shows each."""
    shown = []
    for name, drawn in curves.items():
        file, title, *axis = PLOTS[name]
        (FOLDER / file).write_text(svg(title, drawn, *axis))
        shown.append(f"\n![{title}]({file})\n")
    return shown


def write(page: str, figures: list[Figure], curves: dict[str, list[Curve]], paces: list[float]) -> None:
    """`paces` are how many milliseconds the same piece of work took before each bench."""
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(figure.cells())} |" for figure in figures]
    machine = (
        f"{os.cpu_count()} cores, {interpreter.described()}. Before each bench the same loop was run: it took"
        f" {min(paces):.0f} to {max(paces):.0f} ms, so fast and so slow was the machine."
    )
    text = INTRODUCTIONS[page] + "\n".join(lines) + f"\n\n{textwrap.fill(machine, 120)}\n"
    text += "".join(draw(curves))
    if page == ALL and (FOLDER / MILLION).exists():
        text += f"\nOf a million entities: [{MILLION}]({MILLION}).\n"
    (FOLDER / page).write_text(text + _profile(FOLDER / page))


def _profile(old: Path) -> str:
    """What people have written below the figures stays."""
    _, heading, rest = old.read_text().partition("\n## Where the time goes") if old.exists() else ("", "", "")
    return heading + rest
