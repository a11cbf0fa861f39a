"""What `review` costs beside the libraries that it loads, and a page of many proposals beside one of few."""

import subprocess
import sys
import time

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.journal.actions.update_task_estimate import UpdateTaskEstimate
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.builder import Builder
from tools.bench.figure import Figure, at_most
from tools.bench.process import environment
from tools.bench.setting import Setting

RUNS = 7
PROBE = """
import atexit, runpy, sys

def tell():
    files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
    print(*(name for name, file in files.items() if "site-packages" in file), file=sys.stderr)

atexit.register(tell)
runpy.run_module("lottisync", run_name="__main__")
"""
"""Says which modules of other packages a command has loaded when it ends, in the order in which it did."""


def review(setting: Setting) -> list[Figure]:
    """The command for people, in a process of its own; the least of some runs, taken in turn."""
    few, many = 100, 300 if setting.sizes.quick else 10_000
    homes = {count: _home(setting, count) for count in (few, many)}
    commands: dict[str, tuple[str, ...]] = {
        str(count): ("-m", "lottisync", "review", "--home", str(home)) for count, home in homes.items()
    }
    for arguments in commands.values():  # builds the indexes
        _timed(arguments)
    calls: dict[str, tuple[str, ...]] = {"libraries": _libraries(homes[few])} | commands
    best: dict[str, float] = {}
    setting.doing("review", RUNS)
    for run in range(RUNS):
        for name, arguments in calls.items():
            best[name] = min(_timed(arguments), best.get(name, 1e9))
        setting.done(run)
    ours, page = best[str(few)] * 1e3, best[str(many)] * 1e3
    return [
        Figure("lottisync review, a page", ours, "ms", best["libraries"] * 1e3, "its libraries", at_most(2)),
        Figure(f"lottisync review, {many:,} proposals", page, "ms", ours, f"{few} proposals", at_most(1.5)),
    ]


def _libraries(home: str) -> tuple[str, str]:
    """A program that imports what the command does of other packages, and does nothing else."""
    command = [sys.executable, "-c", PROBE, "review", "--home", home]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, env=environment(), text=True
    )
    return "-c", f"import {', '.join(name for name in done.stderr.split() if not name.startswith('_'))}"


def _home(setting: Setting, proposals: int) -> str:
    """A home in which so many proposals wait, each of a wake of its own, for a task of its own."""
    home = TaskHome.create(setting.folder / f"review-{proposals}", "a")
    setting.doing(f"{proposals:,} proposals", proposals)
    with home.journal.transaction(clock.now(), HIGH) as tx:
        for number in range(proposals):
            tasks.add_task(tx, f"t{number}", f"Task {number}")
    with home.journal.reading() as reader:
        knowledge = reader.knowledge()
    with home.agent.transaction(clock.now(), LOW) as tx:
        for number in range(proposals):
            builder = Builder(
                home.journal,
                home.agent,
                agent_id="laura",
                task_id=f"t{number}",
                run_key=f"r{number}",
                thread_id=f"r{number}",
                actions=ACTIONS,
                context_knowledge=knowledge,
            )
            builder.propose(UpdateTaskEstimate(minutes=30), clock.now())
            builder.build(tx, clock.now())
            setting.done(number)
    home.close()
    return str(home.path)


def _timed(arguments: tuple[str, ...]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=environment())
    return time.perf_counter() - began
