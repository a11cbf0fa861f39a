"""A daemon in a process of its own, and what it says."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.command_line import eventually, started
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome
from lottisync.device.addresses import give
from lottisync.net.address import Address

NOW = 1_764_590_400_000


class Daemon:
    """A running daemon and what it says, line by line."""

    def __init__(self, home: Path, process: "subprocess.Popen[str]") -> None:
        self.home, self.process = home, process
        self.events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def event(self, code: str) -> dict[str, Any]:
        found: dict[str, Any] = eventually(
            lambda: next((event for event in self.events if event["event"] == code), None), code
        )
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        code = self.process.wait(BOUND_SECONDS)
        self._reader.join(BOUND_SECONDS)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@contextmanager
def daemon(home: Path, port: int = 0, *, web: str | bool = False) -> Iterator[Daemon]:
    """A daemon in a process of its own, on the loopback address. `web`: whether it has pages, or at which address."""
    pages = ("--web", web) if isinstance(web, str) else () if web else ("--no-web",)
    arguments = ("daemon", "--json", "--no-discovery", "--listen", f"127.0.0.1:{port}", *pages)
    with started(*arguments, home=home) as process:
        running = Daemon(home, process)
        running.event("started")
        yield running
        if process.poll() is None:
            assert running.stop() == (0, "")


def introduce(home: Path, other: Path, port: int) -> None:
    """Tell a home where the other one listens, as `lottisync devices address` does."""
    mine, theirs = TaskHome.open(home), TaskHome.open(other)
    try:
        give(mine.space, theirs.key.device_id, Address("127.0.0.1", port), NOW)
    finally:
        mine.close()
        theirs.close()
