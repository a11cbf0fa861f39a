"""`make bench`: what everything costs, as ratios to what was measured beside it in the same run.

python -m tools.bench                  all figures; writes docs/specs/benchmarks.md and its plot
python -m tools.bench --quick          all of them, small: whether they run, not what they are
python -m tools.bench initial change   some of them, by name: "relay" and "relay-many" run only if they are
                                       named, and draw what they count
python -m tools.bench --million        of a million entities what is to be the same for them; once, to a page of its own
python -m tools.bench --times 5        each of them five times; without this three times
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tools import interpreter
from tools.bench import (
    at_relay,
    command,
    growth,
    live,
    machine,
    many_at_relay,
    mending,
    million,
    pages,
    report,
    review,
    round,
    store,
    wake,
)
from tools.bench.figure import Figure, median_of
from tools.bench.plot import Curve
from tools.bench.setting import FULL, QUICK, Setting

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
    "relay-many": many_at_relay.many_at_relay,
}
BY_NAME_ONLY = {"relay", "relay-many"}
"""What takes longer than all the others together; the figures stand in 19-relay.md."""


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description="What everything costs, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHES)} (all but relay)")
    parser.add_argument("--quick", action="store_true", help="small numbers: shows that it runs, and writes no report")
    parser.add_argument(
        "--million",
        action="store_true",
        help="those figures alone that are to be the same for a million entities; writes a page of their own",
    )
    parser.add_argument(
        "--times", type=int, help="how often each is run; the middle one counts (3, a million entities once)"
    )
    options = parser.parse_args(given)
    if options.million and options.names:
        parser.error("--million is a bench of its own, and takes no names")
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no bench called {unknown[0]!r}; there are {', '.join(BENCHES)}")
    machine.compile_bytecode()
    print(interpreter.described(), file=sys.stderr)
    wanted = options.names or BENCHES.keys() - BY_NAME_ONLY
    page, chosen = report.ALL, {name: bench for name, bench in BENCHES.items() if name in wanted}
    if options.million:
        page, chosen = report.MILLION, {"million": million.million}
    loads, paces = [machine.load()], list[float]()
    writes = not options.quick and not options.names
    if writes and (refused := machine.refusal(loads)) is not None:
        Console(stderr=True).print(refused)
        return 1
    runs: dict[tuple[str, str], list[Figure]] = {}
    curves: dict[str, list[Curve]] = {}
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        sizes = QUICK if options.quick else FULL
        times = 1 if options.quick else options.times or (1 if options.million else 3)
        benches = progress.add_task("benches", total=len(chosen) * times)
        bar = progress.add_task("")
        for _ in range(times):
            with tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder:
                setting = Setting(Path(folder), sizes, progress, bar)
                for name, bench in chosen.items():
                    paces.append(machine.pace())
                    found = bench(setting)
                    if isinstance(found, tuple):
                        found, curves[name] = found
                    for figure in found:
                        runs.setdefault((figure.name, figure.what), []).append(figure)
                    progress.advance(benches)
            loads.append(machine.load())
    figures = list(map(median_of, runs.values()))
    report.show(figures)
    if options.quick:
        return 0
    if options.names:
        report.draw({name: drawn for name, drawn in curves.items() if name in BY_NAME_ONLY})
        return 0
    if (refused := machine.refusal(loads)) is not None:
        Console(stderr=True).print(refused)
        return 1
    report.write(page, figures, curves, paces)
    return 0


if __name__ == "__main__":
    sys.exit(main())
