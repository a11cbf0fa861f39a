"""Two real daemons on loopback: CLI-8 to CLI-12."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.review.reviewer import DAY
from tests.support.command_line import environment, eventually, run, run_here
from tests.support.daemons import daemon, introduce
from tests.support.event_loop import BOUND_SECONDS
from tests.support.proposals import propose

from lottisync import wording
from lottisync.cli.terminal import listen_at
from lottisync.daemon.daemon import _kept_up, one_problem
from lottisync.daemon.home import TaskHome
from lottisync.daemon.log import entries
from lottisync.daemon.status import DaemonStatus, read_status
from lottisync.device import clock
from lottisync.device.alone import LOCK_FILE, STATUS_FILE, alone
from lottisync.journal import tasks
from lottisync.net.listener import Listen
from lottisync.problem import Problem
from lottisync.review.cleanup import RETENTION
from lottisync.review.precedence import PERSON
from lottisync.store.lock import Lock

NOW = 1_764_590_400_000
REVOKED = re.compile("no longer one of|does not know this device|not paired with this one")
"""What a device reads that was revoked, in turn: as it is cut off, and each time that it dials."""


def status(home: Path) -> Any:
    result = run_here("status", "--json", home=home)
    assert result.code == 0, result
    return result.json


def titles(home: Path) -> set[str]:
    return {task["title"] for task in run_here("task", "list", "--json", home=home).json["tasks"]}


def gone(peer: Any) -> Any:
    """It, if the daemon knows more of it than that nothing listens where it was looked for first."""
    return peer if peer["away"] and peer["away"]["reason"] != "unreachable" else None


def test_cli_8_what_one_process_writes_arrives_at_the_other_device(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone) as second:
            second.event("connected")
            first.event("connected")
            assert run_here("task", "add", "Milk", home=laptop).code == 0
            eventually(lambda: "Milk" in titles(phone))
            assert run_here("task", "add", "Bread", home=phone).code == 0
            eventually(lambda: "Bread" in titles(laptop))
            seen = eventually(lambda: (found := status(phone))["peers"][0]["inStep"] and found, "in step")
            (peer,) = seen["peers"]
            assert (peer["name"], peer["connected"], peer["failure"], peer["diverged"]) == ("laptop", True, None, [])
            assert peer["lacks"] == {"space": 0, "journal": 0, "agent": 0}
            assert seen["daemon"]["pid"] == second.process.pid
            digests = [{name: s["digest"] for name, s in status(home)["stores"].items()} for home in homes]
            assert digests[0] == digests[1]
        first.event("disconnected")
        # MEET-26: after a goodbye it is not an error that nothing listens there, however often it is dialled. (Another
        # program of this machine may have the port by now. It answers with another key, and that is an error.)
        left = eventually(lambda: gone(status(laptop)["peers"][0]), "gone")
        if all(each["code"] != "refused" for each in left["addresses"]):
            assert (left["away"]["reason"], left["failure"]) == ("stopped", None)
            assert "it was stopped at" in run("status", home=laptop).out
    assert status(phone)["daemon"] is None
    # CLI-29: also while no daemon runs, and on the device that was dialled.
    assert all(status(home)["daemon"] is None for home in homes)
    seen_last = [status(home)["peers"][0]["lastSeenAt"] for home in homes]
    assert None not in seen_last


def test_cli_25_a_device_that_is_connected_can_be_revoked_and_not_be_retired(homes: tuple[Path, Path]) -> None:
    """CLI-25, CLI-83"""
    laptop, phone = homes
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone):
            first.event("connected")
            eventually(lambda: status(laptop)["peers"][0]["connected"])
            refused = run("devices", "retire", "phone", home=laptop)
            assert refused.code == 1
            assert "connected now" in refused.err
            assert run("devices", "revoke", "phone", "--yes", home=laptop).code == 0
            eventually(lambda: not status(phone)["peers"][0]["connected"])
            assert run_here("task", "add", "Secret", home=laptop).code == 0
            assert status(laptop)["peers"] == []
            eventually(lambda: REVOKED.search(status(phone)["peers"][0]["failure"] or ""))
            assert titles(phone) == set()


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


def test_cli_321_a_daemon_starts_while_another_program_asks_for_its_status(tmp_path: Path) -> None:
    """It tries the lock for an instant; a daemon that starts in that instant tries again."""
    order: list[str] = []

    async def start() -> None:
        async with alone(tmp_path):
            order.append("started")

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            with Lock(tmp_path / LOCK_FILE) as asking:
                assert asking.take()
                tasks.start_soon(start)
                await anyio.lowlevel.checkpoint()  # the first attempt fails here
                order.append("answered")

    anyio.run(both)
    assert order == ["answered", "started"]


def test_cli_11_after_kill_9_it_starts_again_and_connects_again(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(phone) as second:
        introduce(laptop, phone, second.event("started")["port"])
        with daemon(laptop) as first:
            first.event("connected")
            first.stop(signal.SIGKILL)
            assert (laptop / STATUS_FILE).exists()
        # An old file is not remote.
        assert status(laptop)["daemon"] is None
        assert run_here("task", "add", "Milk", home=laptop).code == 0
        with daemon(laptop) as again:
            again.event("connected")
            eventually(lambda: "Milk" in titles(phone))


def test_cli_12_a_status_file_that_is_damaged_is_as_good_as_none(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    home = TaskHome.open(laptop)
    assert read_status(home) is None
    with daemon(laptop) as running:
        found = read_status(home)
        assert found is not None
        written = msgspec.json.decode((laptop / STATUS_FILE).read_bytes(), type=DaemonStatus, dec_hook=wording.decoded)
        assert written.pid == found.pid
        (laptop / STATUS_FILE).write_bytes(b"\xff")
        assert read_status(home) is None
        assert running.stop()[0] == 0


FULL, FAULT = Problem("disk-full", "the disk is full"), ZeroDivisionError()
NO_FILE = OSError(24, os.strerror(24))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ExceptionGroup("", [FULL]), FULL),
        (ExceptionGroup("", [ExceptionGroup("", [FULL]), Problem("busy", "later")]), FULL),
        (ExceptionGroup("", [ExceptionGroup("", [NO_FILE])]), NO_FILE),
        (ExceptionGroup("", [NO_FILE, ExceptionGroup("", [FULL])]), FULL),
        (ExceptionGroup("", [NO_FILE, FAULT]), None),
        (ExceptionGroup("", [FULL, FAULT]), None),
        (ExceptionGroup("", [FAULT]), None),
        (FAULT, None),
    ],
)
def test_cli_3_a_problem_raised_by_a_task_is_reported_and_a_fault_stays_whole(
    raised: Exception, expected: Exception | None
) -> None:
    """CLI-3: a bug of this program is not shown as an error of the person's."""
    with pytest.raises(Exception) as caught, one_problem():  # noqa: PT011 - which it is, is what is asked
        raise raised
    assert caught.value is (raised if expected is None else expected)


@pytest.mark.parametrize("limit", [12, 14, 16])
def test_cli_753_a_daemon_without_a_free_file_descriptor_says_so_and_waits(
    homes: tuple[Path, Path], limit: int
) -> None:
    """CLI-750, CLI-753: between 16 and 20 it was a traceback; below, the advice was to look whose the folder is."""
    call = [sys.executable, "-m", "lottisync", "daemon", "--no-discovery", "--no-web", "--listen", "127.0.0.1:0"]
    limited = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *call, "--home", str(homes[0])]
    with subprocess.Popen(limited, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            assert (process.wait(BOUND_SECONDS), process.stderr.read()) == (0, "")
        finally:
            process.kill()
    assert os.strerror(24) in line
    assert "The daemon waits" in line
    assert run_here("task", "list", home=homes[0]).code == 0


@pytest.mark.parametrize("form", [["--json"], []])
def test_cli_756_a_daemon_whose_output_is_full_goes_on(homes: tuple[Path, Path], form: list[str]) -> None:
    """CLI-756: its first line ended it. What it says is in its log all the same."""
    call = [sys.executable, "-m", "lottisync", "daemon", *form, "--no-discovery", "--no-web"]
    call += ["--no-agents", "--listen", "127.0.0.1:0", "--home", str(homes[0])]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(call, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            eventually(lambda: process.poll() is not None or "started" in [each.event for each in entries(homes[0])])
            process.send_signal(signal.SIGTERM)
            assert (process.wait(BOUND_SECONDS), process.communicate()[1]) == (0, "")
        finally:
            process.kill()


def test_cli_49_what_the_system_refuses_one_task_is_said_once_and_tried_again() -> None:
    """CLI-49, REL-D5: an `OSError` of one task ended the daemon."""
    errors: list[Exception] = [OSError(24, os.strerror(24)), OSError(24, os.strerror(24)), Problem("disk-full", "full")]
    said: list[str] = []

    async def work() -> None:
        if errors:
            raise errors.pop(0)

    anyio.run(_kept_up, "tidying", work, lambda code, text: said.append(text), 0.0)
    assert said == [
        "tidying failed, and is tried again: Too many open files",
        "tidying failed, and is tried again: full",
    ]


def proposed(home: TaskHome, run_key: str, now: int) -> None:
    """A proposal of that wake, for a task `t1`."""
    propose(home, ("update_task_estimate", {"minutes": 60 if run_key == "old" else 90}), run=run_key, now=now)


def sets_of(home: TaskHome) -> list[str]:
    """The runs whose sets are there."""
    with home.agent.reading() as reader:
        return sorted(str(one.value("runKey")) for one in reader.by_type("changeSet"))


def test_s1_56_a_daemon_removes_a_set_that_expired_long_ago(tmp_path: Path) -> None:
    """S1-56, REV-36: a daemon as people start it, and only what is old enough."""
    home = TaskHome.create(tmp_path / "laptop", "laptop")
    old = clock.now() - RETENTION - 8 * DAY
    with home.journal.transaction(old, PERSON) as tx:
        tasks.add_task(tx, "t1", "Repair the bicycle", {})
    proposed(home, "old", old)
    proposed(home, "new", clock.now())
    assert sets_of(home) == ["new", "old"]
    with daemon(home.path):
        eventually(lambda: sets_of(home) == ["new"])
    home.close()


def test_meet_63_without_a_port_another_one_will_do() -> None:
    """`--listen [::]` was refused."""
    assert listen_at("[::]") == listen_at(None) == Listen("::", 22067, firm=False)
    assert listen_at("[::]:22067") == Listen("::", 22067, firm=True)
