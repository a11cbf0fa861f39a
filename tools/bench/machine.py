"""What a bench runs on, and whether its figures would mean anything: bytecode, a disk in memory, the load."""

import compileall
import os
import shutil
import time
from pathlib import Path

LOOK_SECONDS = 3.0
PIECE = 2_000_000
QUIET = 0.15
"""The share of all cores that others may take while nothing is measured."""


def compile_bytecode() -> None:
    """An installed program has its bytecode. A process may be told to write none, and would compile it each time."""
    compileall.compile_dir(Path(__file__).parents[2] / "src", quiet=2)
    compileall.compile_dir(Path(__file__).parent, quiet=2)


def memory_disk() -> Path | None:
    """A folder in memory, where a commit waits for no disk."""
    path = Path("/dev/shm")
    return path if path.is_dir() and os.access(path, os.W_OK) and shutil.disk_usage(path).free > 2**29 else None


def load() -> float:
    """The share of all cores that is in use now, while this process does nothing."""
    if not Path("/proc/stat").exists():
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    before = _ticks()
    time.sleep(LOOK_SECONDS)
    idle, total = (after - was for after, was in zip(_ticks(), before, strict=True))
    return 1 - idle / max(total, 1)


def pace() -> float:
    """Milliseconds that the same piece of work takes now. On a machine that is shared it changes, and with it all that
    is measured."""
    began = time.perf_counter()
    for number in range(PIECE):
        _ = number
    return (time.perf_counter() - began) * 1e3


def _ticks() -> tuple[int, int]:
    """Of all cores: idle, and in all."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def refusal(loads: list[float]) -> str | None:
    """Why no table is written; None if the machine was quiet."""
    if max(loads) <= QUIET:
        return None
    return (
        f"others take {max(loads):.0%} of this machine, and {QUIET:.0%} is the most under which figures mean anything: "
        "no table was written. Try again when it is quiet"
    )
