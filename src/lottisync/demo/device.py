"""One device of the demo: a home, a daemon in a process of its own, and the command line.

Everything the demo does it does as a person would, by running `lottisync` commands; nothing reaches
into a store. So what it shows is what the commands do.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lottisync.device import clock

T = TypeVar("T")
COMMAND = (sys.executable, "-m", "lottisync")
LOOPBACK = "127.0.0.1:0"
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.05
OWN_NETWORK = {"LOTTISYNC_SERVICE": f"demo-{clock.new_host()[:8]}"}
"""The demo's devices find each other and no others (NET-13), not even those of another demo."""


class DemoFailed(Exception):
    """A step did not happen as described."""


def until(look: Callable[[], T | None], what: str, patience: float = PATIENCE_SECONDS) -> T:
    """Look until there is something; `DemoFailed` if there is nothing for too long."""
    end = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise DemoFailed(f"after {patience:.0f} s still not true: {what}")
        time.sleep(LOOK_SECONDS)


class DemoDevice:
    def __init__(self, name: str, home: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.home = home
        self._environment = {**OWN_NETWORK, **os.environ, **environment, "LOTTISYNC_HOME": str(home)}
        self._processes: list[subprocess.Popen[str]] = []

    def run(self, *arguments: str) -> Any:
        """Run a command and give back its answer (of several things, the list of them); `DemoFailed` if it failed."""
        done = self._call(arguments)
        if done.returncode != 0:
            raise DemoFailed(f"{self.name}: lottisync {' '.join(arguments)}: {done.stderr.strip()}")
        return _content(done.stdout)

    def refused(self, *arguments: str) -> str:
        """Run a command that has to fail; gives back what it said."""
        done = self._call(arguments)
        if done.returncode == 0:
            raise DemoFailed(f"{self.name}: lottisync {' '.join(arguments)} should have been refused")
        return done.stderr.strip()

    def _call(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *arguments, "--json"]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=120)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that goes on; its output is read line by line as JSON."""
        command = [*COMMAND, *arguments, "--json"]
        process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._processes.append(process)
        return process

    def start_daemon(self) -> int:
        """Start the daemon, which leaves waking to the person here; gives back its port."""
        line = self.answer(self.start("daemon", "--listen", LOOPBACK, "--no-agents"))
        return int(line["port"])

    def answer(self, process: subprocess.Popen[str]) -> Any:
        """The next line that a started command says."""
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            assert process.stderr is not None
            raise DemoFailed(f"{self.name}: {process.stderr.read().strip()}")
        return _content(line)

    def stop(self) -> None:
        """End every process that was started here and wait until it is gone."""
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._processes.clear()


def _content(line: str) -> Any:
    """An answer without its version; of one about several things, the array alone."""
    answer = json.loads(line)
    del answer["lottisync"]
    [*values] = answer.values()
    return values[0] if len(values) == 1 and isinstance(values[0], list) else answer
