"""Two real daemons on loopback: CLI-8 to CLI-12."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.support.command_line import eventually, run, started

from lottisync.config.home import Home
from lottisync.daemon.daemon import alone
from lottisync.daemon.status import LOCK_FILE, STATUS_FILE, DaemonStatus, read_status
from lottisync.net.discovery import Address
from lottisync.sync.engine import remember_address

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
        code = self.process.wait(20)
        self._reader.join(20)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@contextmanager
def daemon(home: Path, port: int = 0) -> Iterator[Daemon]:
    arguments = ("daemon", "--json", "--no-discovery", "--listen", f"127.0.0.1:{port}")
    with started(*arguments, home=home) as process:
        running = Daemon(home, process)
        running.event("started")
        yield running
        if process.poll() is None:
            assert running.stop() == (0, "")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two homes that were paired over the real command line."""
    folder = tmp_path_factory.mktemp("paired")
    laptop, phone = folder / "laptop", folder / "phone"
    assert run("init", "--name", "laptop", home=laptop).code == 0
    assert run("init", "--name", "phone", home=phone).code == 0
    with started("pair", "--json", "--no-discovery", "--listen", "127.0.0.1:0", home=laptop) as showing:
        assert showing.stdout is not None
        shown = json.loads(showing.stdout.readline())
        typed = run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", "--json", home=phone)
        assert typed.code == 0, typed
        told = json.loads(showing.stdout.readline())
        assert showing.wait(20) == 0
    assert typed.json["name"] == "laptop"
    assert told["name"] == "phone"
    assert typed.json["words"] == told["words"]
    return laptop, phone


@pytest.fixture
def homes(template: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    for home in template:
        shutil.copytree(home, tmp_path / home.name, ignore=shutil.ignore_patterns("bells"))
    return tmp_path / "laptop", tmp_path / "phone"


def introduce(home: Path, other: Path, port: int) -> None:
    """Let a home know where the other one listens, as after an earlier link."""
    mine, theirs = Home.open(home), Home.open(other)
    try:
        remember_address(mine.space, theirs.key.device_id, Address("127.0.0.1", port), NOW)
    finally:
        mine.close()
        theirs.close()


def status(home: Path) -> Any:
    result = run("status", "--json", home=home)
    assert result.code == 0, result
    return result.json


def titles(home: Path) -> set[str]:
    return {task["title"] for task in run("task", "list", "--json", home=home).json}


def test_cli_8_what_one_process_writes_arrives_at_the_other_device(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone) as second:
            second.event("linked")
            first.event("linked")
            assert run("task", "add", "Milk", home=laptop).code == 0
            eventually(lambda: "Milk" in titles(phone))
            assert run("task", "add", "Bread", home=phone).code == 0
            eventually(lambda: "Bread" in titles(laptop))
            seen = eventually(lambda: (found := status(phone))["peers"][0]["inStep"] and found, "in step")
            (peer,) = seen["peers"]
            assert (peer["name"], peer["linked"], peer["error"], peer["diverged"]) == ("laptop", True, None, [])
            assert peer["lacks"] == {"space": 0, "journal": 0, "agent": 0}
            assert seen["daemon"]["pid"] == second.process.pid
            digests = [{name: s["digest"] for name, s in status(home)["stores"].items()} for home in homes]
            assert digests[0] == digests[1]
        first.event("unlinked")
        assert eventually(lambda: not (found := status(laptop)["peers"][0])["linked"] and found)["error"] is None


def test_cli_9_sigterm_and_ctrl_c_end_it_well_and_leave_nothing_behind(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    for number in (signal.SIGTERM, signal.SIGINT):
        with daemon(laptop) as running:
            assert (laptop / STATUS_FILE).exists()
            assert running.stop(number) == (0, "")
        assert not (laptop / STATUS_FILE).exists()
        assert list((laptop / "bells").iterdir()) == []
    assert status(laptop)["daemon"] is None


def test_cli_10_there_is_one_daemon_for_a_home(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    with daemon(laptop) as running:
        second = run("daemon", "--no-discovery", "--listen", "127.0.0.1:0", "--json", home=laptop)
        assert second.code == 1
        assert json.loads(second.out)["error"]["code"] == "running"
        assert second.err.count("\n") == 1
        assert status(laptop)["daemon"]["pid"] == running.process.pid


def test_cli_10_who_asks_for_the_status_keeps_no_daemon_from_starting(tmp_path: Path) -> None:
    """It tries the lock for an instant; a daemon that starts in that instant tries again."""
    asking = os.open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(asking, fcntl.LOCK_EX)
    order: list[str] = []

    async def start() -> None:
        async with alone(Home(tmp_path)):
            order.append("started")

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await anyio.lowlevel.checkpoint()  # the first attempt fails here
            order.append("answered")
            os.close(asking)

    anyio.run(both)
    assert order == ["answered", "started"]


def test_cli_11_after_kill_9_it_starts_again_and_links_again(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(phone) as second:
        introduce(laptop, phone, second.event("started")["port"])
        with daemon(laptop) as first:
            first.event("linked")
            first.stop(signal.SIGKILL)
            assert (laptop / STATUS_FILE).exists()
        # An old file is not believed.
        assert status(laptop)["daemon"] is None
        assert run("task", "add", "Milk", home=laptop).code == 0
        with daemon(laptop) as again:
            again.event("linked")
            eventually(lambda: "Milk" in titles(phone))


def test_cli_12_a_status_file_that_is_damaged_is_as_good_as_none(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    home = Home.open(laptop)
    assert read_status(home) is None
    with daemon(laptop) as running:
        found = read_status(home)
        assert found is not None
        assert msgspec.json.decode((laptop / STATUS_FILE).read_bytes(), type=DaemonStatus).pid == found.pid
        (laptop / STATUS_FILE).write_bytes(b"\xff")
        assert read_status(home) is None
        assert running.stop()[0] == 0
