"""`python -m tests.simulation --kind all --seeds 1000 --first 1`: many schedules, and what they show.

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

from rich.console import Console
from rich.progress import Progress
from tests.simulation import pool
from tests.simulation.schedule import KINDS, Schedule, generate
from tests.simulation.shrink import shrink, verdict
from tests.simulation.world import run

Seed = tuple[str, int]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--kind", default="every", choices=["every", *KINDS])
    parser.add_argument("--seeds", type=int, default=100, help="how many of each kind")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=Path, help="run the schedule in this file and show what it raises")
    asked = parser.parse_args(arguments)
    if asked.replay is not None:
        for line in run(Schedule.parsed(asked.replay.read_bytes())).trace:
            print(line)
        return 0
    kinds = list(KINDS) if asked.kind == "every" else [asked.kind]
    seeds = [(kind, seed) for seed in range(asked.first, asked.first + asked.seeds) for kind in kinds]
    started = time.perf_counter()
    wrong = _broken(seeds, asked.jobs)
    minutes = (time.perf_counter() - started) / 60
    pool.forget()
    print(f"{len(seeds)} schedules of {', '.join(kinds)}: {len(wrong)} broken; {len(seeds) / minutes:,.0f} a minute")
    for said, count in Counter(said for _, said in wrong).most_common():
        print(f"  {count} x {said}")
    if wrong:
        (kind, seed), said = wrong[0]
        print(f"{said}, the shortest found:\n{shrink(generate(seed, kind)).printed()}")
        print(f"again: python -m tests.simulation --kind {kind} --first {seed} --seeds 1")
    return 1 if wrong else 0


def _broken(seeds: list[Seed], jobs: int) -> list[tuple[Seed, str]]:
    """The seeds whose schedules go wrong, with how. The workers have their stores in the folder that is made here."""
    pool.folder()
    forking = multiprocessing.get_context("fork")
    with Progress(console=Console(stderr=True), transient=True) as progress, forking.Pool(jobs) as workers:
        bar = progress.add_task("schedules", total=len(seeds))
        wrong = []
        for seed, said in workers.imap(_judged, seeds, chunksize=4):
            progress.advance(bar)
            if said:
                wrong.append((seed, said))
        return wrong


def _judged(seed: Seed) -> tuple[Seed, str]:
    return seed, verdict(generate(seed[1], seed[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
