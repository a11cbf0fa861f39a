"""`daemon stop`: CLI-116, CLI-117."""

import os
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.support.command_line import run_here
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, read_status
from lottisync.device.alone import STATUS_FILE, alone


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    return folder


def test_cli_116_stop_ends_the_daemon_and_a_second_stop_says_that_none_runs(home: Path) -> None:
    """CLI-309"""
    with daemon(home) as running:
        done = run_here("daemon", "stop", "--json", home=home)
        assert (done.code, done.json["pid"]) == (0, running.process.pid)
        assert running.process.wait(BOUND_SECONDS) == 0
    again = run_here("daemon", "stop", home=home)
    assert (again.code, again.out) == (1, "")
    assert "no daemon runs" in again.err


def test_cli_117_a_file_that_a_killed_daemon_left_does_not_name_the_holder_of_the_lock(home: Path) -> None:
    """`verify` and `devices renew` hold the lock, too; the pid in the file may be another program's by now."""
    left = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00.000Z")
    (home / STATUS_FILE).write_bytes(msgspec.json.encode(left))
    opened = TaskHome.open(home)

    async def hold() -> None:
        async with alone(home):
            assert read_status(opened) is None
            assert run_here("doctor", home=home).code == 0

    try:
        anyio.run(hold)
    finally:
        opened.close()
