"""What the program costs before and beside its work: how fast a command is there, what an idle daemon takes."""

import subprocess
import sys
import time
from pathlib import Path

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
    """Two daemons that look for others by mDNS, are connected, and have nothing to do; one of them has pages, which
    nobody opens."""
    seconds = setting.sizes.idle_seconds
    pair = Pair.made(setting.folder / "idle", setting.sizes.few)
    with pair.daemons() as (_, second):
        second.event("connected")
        pair.until_in_step()
    with running(_daemon(pair.a.path), _daemon(pair.b.path, "--no-web")) as two:
        two[0].event("connected")
        setting.doing("an idle daemon", seconds)
        time.sleep(2)
        began, before = time.monotonic(), [child.cpu_seconds for child in two]
        for second_number in range(seconds):
            time.sleep(1)
            setting.done(second_number)
        took = time.monotonic() - began
        cpu, bare_cpu = ((child.cpu_seconds - was) / took for child, was in zip(two, before, strict=True))
        resident, bare_resident = (child.resident for child in two)
    listening, bare, libraries = _until_listening(pair)
    pair.close()
    return [
        Figure("idle daemon, of one core", cpu * 100, "%", bare_cpu * 100, WITHOUT, value_at_most(0.2)),
        Figure("idle daemon, resident memory", resident / 1e6, "MB", bare_resident / 1e6, WITHOUT, value_at_most(68)),
        Figure(
            "daemon, from start to listening", listening * 1e3, "ms", libraries * 1e3, "its libraries", at_most(1.5)
        ),
        Figure("the same", listening * 1e3, "ms", bare * 1e3, WITHOUT, at_most(1.1)),
    ]


WITHOUT = "one with --no-web"


def _daemon(home: Path, *options: str) -> tuple[str, ...]:
    return ("-m", "lottisync", "daemon", "--home", str(home), "--listen", f"{HERE}:0", "--json", *options)


def _until_listening(pair: Pair) -> tuple[float, float, float]:
    """Seconds from the start of a daemon until it listens, with pages and without, and of importing its libraries; the
    least of some."""
    best = {"pages": 1e9, "bare": 1e9, "libraries": 1e9}
    for _ in range(RUNS):
        for name, options in (("pages", ()), ("bare", ("--no-web",))):
            began = time.perf_counter()
            with running(_daemon(pair.a.path, *options)) as (one,):
                one.event("started")
                best[name] = min(best[name], time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run([sys.executable, *LIBRARIES], check=True, env=environment())
        best["libraries"] = min(best["libraries"], time.perf_counter() - began)
    return best["pages"], best["bare"], best["libraries"]
