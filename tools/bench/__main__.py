"""`make bench`: what everything costs, as ratios to what was measured beside it in the same run.

python -m tools.bench                  all figures; writes docs/specs/benchmarks.md and its plot
python -m tools.bench --quick          all of them, small: whether they run, not what they are
python -m tools.bench initial change   some of them, by name
python -m tools.bench --million        also of a million entities what is to be the same for them
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tools.bench import command, mending, report, round, store
from tools.bench.figure import Figure
from tools.bench.plot import Curve
from tools.bench.setting import FULL, MILLION, QUICK, Setting

BENCHES: dict[str, Callable[[Setting], list[Figure] | tuple[list[Figure], list[Curve]]]] = {
    "writes": store.writes,
    "reads": store.reads,
    "initial": round.initial,
    "storage": round.storage,
    "change": round.change,
    "quiet": round.quiet,
    "partition": round.partition,
    "mending": mending.mending,
    "start": command.start,
    "idle": command.idle,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description="What everything costs, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHES)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="small numbers: shows that it runs, and writes no report")
    parser.add_argument(
        "--million",
        action="store_true",
        help="also those figures that are to stay the same for a million (a quarter of an hour)",
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench called {unknown[0]!r}; there are {', '.join(BENCHES)}")
    chosen = {name: bench for name, bench in BENCHES.items() if name in (options.names or BENCHES)}
    figures: list[Figure] = []
    curves: list[Curve] = []
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        sizes = QUICK if options.quick else MILLION if options.million else FULL
        benches = progress.add_task("benches", total=len(chosen))
        setting = Setting(Path(folder), sizes, progress, progress.add_task(""))
        for bench in chosen.values():
            found = bench(setting)
            if isinstance(found, tuple):
                curves += found[1]
                found = found[0]
            figures += found
            progress.advance(benches)
    report.show(figures)
    if not options.quick and not options.names:
        report.write(figures, curves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
