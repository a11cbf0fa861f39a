"""What the program costs before and beside its work: how fast a command is there, what an idle daemon takes."""

import subprocess
import sys
import time

from lottisync.daemon.home import TaskHome
from tools.bench.devices import HERE, Pair, fill
from tools.bench.figure import Figure, at_most, value_at_most
from tools.bench.process import environment, running
from tools.bench.setting import Setting

RUNS = 7
BARE = ("-c", "import msgspec, apsw")
LIBRARIES = (
    "-c",
    "import msgspec, apsw, anyio, anyio._backends._asyncio, cryptography.x509, zstandard, click, ssl, zeroconf",
)
"""What a daemon stands on."""


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
    best: dict[str, float] = {}
    for run in range(RUNS):
        for name, arguments in ({"bare": BARE} | commands).items():
            started = time.perf_counter()
            command = [sys.executable, *arguments]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment())
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
    listening, libraries = _until_listening(pair)
    pair.close()
    return [
        Figure("idle daemon, of one core", cpu * 100, "%", goal=value_at_most(0.2)),
        Figure("idle daemon, resident memory", resident / 1e6, "MB", goal=value_at_most(68)),
        Figure(
            "daemon, from start to listening", listening * 1e3, "ms", libraries * 1e3, "its libraries", at_most(1.5)
        ),
    ]


def _until_listening(pair: Pair) -> tuple[float, float]:
    """Seconds from the start of a daemon until it listens, and of importing its libraries; the least of some."""
    listening, libraries = [], []
    for _ in range(RUNS):
        began = time.perf_counter()
        with running(("-m", "lottisync", "daemon", "--home", str(pair.a.path), "--listen", f"{HERE}:0", "--json")) as (
            one,
        ):
            one.event("started")
            listening.append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run([sys.executable, *LIBRARIES], check=True, env=environment())
        libraries.append(time.perf_counter() - began)
    return min(listening), min(libraries)
