"""`make bench`: what everything costs, as ratios to what was measured beside it in the same run.

python -m tools.bench                  all figures; writes docs/specs/benchmarks.md and its plot
python -m tools.bench --quick          all of them, small: whether they run, not what they are
python -m tools.bench initial change   some of them, by name
python -m tools.bench --million        also of a million entities what is to be the same for them
python -m tools.bench --times 5        each of them five times; without this three times
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tools.bench import at_relay, command, growth, live, machine, mending, pages, report, review, round, store, wake
from tools.bench.figure import Figure, median_of
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
    "growth": growth.growth,
    "start": command.start,
    "wake": wake.wake,
    "idle": command.idle,
    "pages": pages.pages,
    "live": live.live,
    "review": review.review,
    "relay": at_relay.at_relay,
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
    parser.add_argument("--times", type=int, default=3, help="how often each is run; the middle one counts (3)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench called {unknown[0]!r}; there are {', '.join(BENCHES)}")
    machine.compile_bytecode()
    machine.explain()
    chosen = {name: bench for name, bench in BENCHES.items() if name in (options.names or BENCHES)}
    runs: dict[tuple[str, str], list[Figure]] = {}
    curves: dict[str, list[Curve]] = {}
    loads = [machine.load()]
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        sizes = QUICK if options.quick else MILLION if options.million else FULL
        times = 1 if options.quick else options.times
        benches = progress.add_task("benches", total=len(chosen) * times)
        bar = progress.add_task("")
        for _ in range(times):
            with tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder:
                setting = Setting(Path(folder), sizes, progress, bar)
                for name, bench in chosen.items():
                    found = bench(setting)
                    if isinstance(found, tuple):
                        found, curves[name] = found
                    for figure in found:
                        runs.setdefault((figure.name, figure.what), []).append(figure)
                    progress.advance(benches)
            loads.append(machine.load())
    figures = list(map(median_of, runs.values()))
    report.show(figures)
    if options.quick or options.names:
        return 0
    if (refused := machine.refusal(loads)) is not None:
        Console(stderr=True).print(refused)
        return 1
    report.write(figures, curves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
