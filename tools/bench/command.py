"""What the program costs before and beside its work: how fast a command is there, what an idle daemon takes."""

import os
import subprocess
import sys
import time

from lottisync.daemon.home import TaskHome
from tools.bench.devices import HERE, Pair, fill
from tools.bench.figure import Figure, at_most, value_at_most
from tools.bench.process import running
from tools.bench.setting import Setting

RUNS = 7
BARE = ("-c", "import msgspec, apsw")


def start(setting: Setting) -> list[Figure]:
    """Commands beside a Python that loads the two libraries that nothing here does without."""
    home = TaskHome.create(setting.folder / "start", "a")
    fill(home, range(setting.sizes.few))
    home.close()
    commands = {
        "lottisync --help": ("-m", "lottisync", "--help"),
        f"lottisync task list, {setting.sizes.few:,}": ("-m", "lottisync", "task", "list", "--home", str(home.path)),
    }
    setting.doing("start of commands", RUNS)
    # A program that is installed has its bytecode; a sandbox may be told to write none.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    best: dict[str, float] = {}
    for run in range(RUNS):
        for name, arguments in ({"bare": BARE} | commands).items():
            started = time.perf_counter()
            command = [sys.executable, *arguments]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
            best[name] = min(time.perf_counter() - started, best.get(name, 1e9))
        setting.done(run)
    return [
        Figure(name, best[name] * 1e3, "ms", best["bare"] * 1e3, "python, msgspec, apsw", at_most(3))
        for name in commands
    ]


def idle(setting: Setting) -> list[Figure]:
    """A daemon that looks for others by mDNS, is connected to one, and has nothing to do."""
    seconds = setting.sizes.idle_seconds
    pair = Pair.made(setting.folder / "idle", setting.sizes.few)
    with pair.daemons() as (_, second):
        second.event("connected")
        pair.until_in_step()
    options = ("--listen", f"{HERE}:0", "--json")
    with running(
        *(("-m", "lottisync", "daemon", "--home", str(home.path), *options) for home in (pair.a, pair.b))
    ) as two:
        two[0].event("connected")
        setting.doing("an idle daemon", seconds)
        time.sleep(2)
        began, before = time.monotonic(), [child.cpu_seconds for child in two]
        for second_number in range(seconds):
            time.sleep(1)
            setting.done(second_number)
        took = time.monotonic() - began
        cpu = max(child.cpu_seconds - was for child, was in zip(two, before, strict=True)) / took
        resident = max(child.resident for child in two)
    pair.close()
    return [
        Figure("idle daemon, of one core", cpu * 100, "%", goal=value_at_most(0.5)),
        Figure("idle daemon, resident memory", resident / 1e6, "MB", goal=value_at_most(80)),
    ]
