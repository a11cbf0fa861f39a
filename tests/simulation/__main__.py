"""`python -m tests.simulation --kind all --seeds 1000 --first 1`: many schedules, and whether every law held.

What they did is printed, too: the mean of a schedule of each kind.

The first that breaks a law is made as short as it gets and printed, with the command that repeats it. A printed
schedule is run again with `--replay FILE`.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress
from tests.simulation import pool, relayed
from tests.simulation.schedule import KINDS, Schedule, generate
from tests.simulation.shrink import named, shrink
from tests.simulation.world import COUNTED, run

ALL_KINDS = (*KINDS, relayed.KIND)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--kind", default="every", choices=["every", *ALL_KINDS])
    parser.add_argument("--seeds", type=int, default=100, help="how many of each kind")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=Path, help="run the schedule in this file and show what it raises")
    asked = parser.parse_args(arguments)
    if asked.replay is not None:
        for line in run(Schedule.parsed(asked.replay.read_bytes())).trace:
            print(line)
        return 0
    kinds = list(ALL_KINDS) if asked.kind == "every" else [asked.kind]
    seeds = [(kind, seed) for seed in range(asked.first, asked.first + asked.seeds) for kind in kinds]
    started = time.perf_counter()
    verdicts = _judged(seeds, asked.jobs)
    minutes = (time.perf_counter() - started) / 60
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    rate = f"{len(seeds) / minutes:,.0f} a minute, {len(seeds) / minutes / asked.jobs:,.0f} a minute and process"
    print(_table(kinds, verdicts))
    print(f"{len(seeds)} schedules of {', '.join(kinds)}, from seed {asked.first}: {len(wrong)} broken; {rate}")
    for said, count in Counter(verdict.wrong for verdict in wrong).most_common():
        seeds_of_it = ", ".join(f"{verdict.kind} {verdict.seed}" for verdict in wrong if verdict.wrong == said)
        print(f"  {count} x {said} ({seeds_of_it})")
    if wrong:
        kind, seed = wrong[0].kind, wrong[0].seed
        print(f"{wrong[0].wrong}, the shortest found:\n{_shortest(kind, seed)}")
        print(f"again: python -m tests.simulation --kind {kind} --first {seed} --seeds 1")
    return 1 if wrong else 0


def _lived(kind: str, seed: int) -> Counter[str]:
    """What was done in the schedule of a seed. Raises what went wrong."""
    return relayed.run(relayed.generate(seed)).count if kind == relayed.KIND else run(generate(seed, kind)).count


def _shortest(kind: str, seed: int) -> str:
    if kind == relayed.KIND:
        return shrink(relayed.generate(seed), relayed.run).printed()
    return shrink(generate(seed, kind), run).printed()


class Verdict(NamedTuple):
    """How a seed's schedule ended: what went wrong ("" if nothing), what was done in it, and the time it took."""

    kind: str
    seed: int
    wrong: str
    counts: Counter[str]
    seconds: float


def _judged(seeds: list[tuple[str, int]], jobs: int) -> list[Verdict]:
    """The workers have their stores in the folder that is made here."""
    pool.folder()
    forking = multiprocessing.get_context("fork")
    with Progress(console=Console(stderr=True), transient=True) as progress, forking.Pool(jobs) as workers:
        bar = progress.add_task("schedules", total=len(seeds))
        verdicts = []
        for verdict in workers.imap(_judge, seeds, chunksize=4):
            progress.advance(bar)
            verdicts.append(verdict)
        return verdicts


def _judge(asked: tuple[str, int]) -> Verdict:
    kind, seed = asked
    started, wrong, counts = time.process_time(), "", Counter[str]()
    try:
        counts = _lived(kind, seed)
    except Exception as error:  # noqa: BLE001 - whatever a device raises is what went wrong
        wrong = named(error)
    return Verdict(kind, seed, wrong, counts, time.process_time() - started)


def _table(kinds: list[str], verdicts: list[Verdict]) -> str:
    """What the schedules of each kind did on average, so that nobody takes for proof what never happened."""
    by_kind = {kind: [verdict for verdict in verdicts if verdict.kind == kind] for kind in kinds} | {"mean": verdicts}
    columns = list(by_kind) if len(kinds) > 1 else kinds
    lines = [f"{'a schedule':16}" + "".join(f"{kind:>8}" for kind in columns)]
    for name in COUNTED:
        means = [sum(v.counts[name] for v in by_kind[kind]) / len(by_kind[kind]) for kind in columns]
        if any(means):
            lines.append(f"{name.lower():16}" + "".join(f"{mean:8.2f}" if mean else " " * 8 for mean in means))
    millis = [1_000 * sum(v.seconds for v in by_kind[kind]) / len(by_kind[kind]) for kind in columns]
    lines.append(f"{'ms':16}" + "".join(f"{mean:8.0f}" for mean in millis))
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    finally:
        pool.forget()
