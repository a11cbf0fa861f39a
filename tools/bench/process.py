"""Processes that are measured from outside: what they use, and when they have said something."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

BOUND_SECONDS = 3_600.0
"""Nothing that is measured here takes longer; what does is stuck."""
SCHEDULED = 2
"""In the number of a process's clock (Linux): the time that the scheduler gave it, to the nanosecond. `/proc` counts in
hundredths of a second, and an idle daemon takes six of them in half a minute."""


def environment() -> dict[str, str]:
    """That of this process, without what would change what is measured: a program that is installed has its bytecode (a
    sandbox may be told to write none), and a daemon that has a model's address runs agents."""
    ours = os.environ.items()
    return {
        name: value for name, value in ours if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("LOTTISYNC_")
    }


class Child:
    """A Python process that says JSON, one value a line."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=environment(),
        )
        assert self.process.stdout is not None
        self._lines = self.process.stdout

    def said(self) -> dict[str, Any]:
        """The next thing that it says."""
        line = self._lines.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} ended with {self.process.wait()} before it said anything")
        found: dict[str, Any] = msgspec.json.decode(line)
        return found

    def event(self, name: str) -> dict[str, Any]:
        """Pass over what it says until an event of that name (`lottisync daemon --json`)."""
        while (said := self.said()).get("event") != name:
            pass
        return said

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._lines.close()
        if self.process.stdin is not None:
            self.process.stdin.close()

    # -- what it uses

    @property
    def resident(self) -> int:
        """Bytes of memory that it has now."""
        return memory(self.process.pid)[0]

    @property
    def peak(self) -> int:
        """Bytes of memory that it had at most, since `forget_peak`."""
        return memory(self.process.pid)[1]

    def forget_peak(self) -> None:
        with contextlib.suppress(PermissionError):
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    @property
    def cpu_seconds(self) -> float:
        """Time on a core, user and system."""
        return cpu_seconds(self.process.pid)


def cpu_seconds(process: int) -> float:
    """Time on a core of a process and of all threads that it has had, user and system."""
    return time.clock_gettime((~process << 3) | SCHEDULED)


def memory(process: int | str = "self") -> tuple[int, int]:
    """Resident bytes of a process: now, and at most."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
    now, most = (int(fields[name].removesuffix("kB")) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, most


@contextlib.contextmanager
def running(*commands: Sequence[str]) -> Iterator[list[Child]]:
    """Start children, and stop them all at the end, whatever happens."""
    with contextlib.ExitStack() as stack:
        children = []
        for command in commands:
            children.append(child := Child(*command))
            stack.callback(child.stop)
        yield children
