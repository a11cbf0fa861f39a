"""A daemon with a relay beside one without: memory, and time on a core with nothing to do."""

import time
from pathlib import Path

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.relay import setting as settings
from tools.bench.counting import Counting, counting
from tools.bench.devices import HERE, fill
from tools.bench.figure import Figure, value_at_most
from tools.bench.process import Child, running
from tools.bench.setting import Setting

FEW = 10
START_SECONDS = 10.0
"""For what a start leaves behind."""
BYTES = 50
"""Of a task, at least, at the relay."""
IDLE_SECONDS = 180
"""A look at all that lies there comes once a minute, and time on a core is counted in hundredths of a second."""


def beside_daemon(setting: Setting) -> list[Figure]:
    """With few tasks, and right after many were put there."""
    figures = []
    folder = setting.folder / "relay-daemon"
    folder.mkdir()
    with counting(folder / "server") as server:
        for count in (FEW, setting.sizes.few):
            homes = [_home(folder / f"{name}-{count}", count, server, name) for name in ("with", "without")]
            with running(*map(_command, homes)) as (child, bare):
                before = server.stored
                for each in (child, bare):
                    each.event("started")
                while server.stored < before + BYTES * count:
                    time.sleep(0.5)
                time.sleep(START_SECONDS)
                more = child.resident - bare.resident
                name = f"a relay in a daemon with {count:,} tasks"
                figures.append(Figure(f"{name}, memory", more / 1e6, "MB", goal=value_at_most(10)))
                if count == FEW:
                    figures.append(_idle(child, bare, setting))
    return figures


def _home(path: Path, count: int, server: Counting, name: str) -> Path:
    home = TaskHome.create(path, name)
    fill(home, range(count))
    if name == "with":
        space = bytes([count % 256]) * 16
        settings.write(home.space, server.server.url, space, clock.now())
    home.close()
    return path


def _command(home: Path) -> tuple[str, ...]:
    return ("-m", "lottisync", "daemon", "--home", str(home), "--listen", f"{HERE}:0", "--no-discovery", "--json")


def _idle(child: Child, bare: Child, setting: Setting) -> Figure:
    seconds = setting.sizes.idle_seconds if setting.sizes.quick else IDLE_SECONDS
    setting.doing("a daemon with a relay, with nothing to do", seconds)
    before = [each.cpu_seconds for each in (child, bare)]
    began = time.monotonic()
    for number in range(seconds):
        time.sleep(1)
        setting.done(number)
    took = time.monotonic() - began
    ours, without = ((each.cpu_seconds - was) / took for each, was in zip((child, bare), before, strict=True))
    return Figure("a relay in an idle daemon, of one core", (ours - without) * 100, "%", goal=value_at_most(0.1))
