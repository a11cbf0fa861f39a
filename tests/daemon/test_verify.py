"""`lottisync verify` between processes, with a daemon here and without: CLI-20 to CLI-24."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.support.command_line import environment, eventually, run, run_here, started
from tests.support.daemons import Daemon, daemon, introduce
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus
from lottisync.device import clock
from lottisync.device.alone import LOCK_FILE, STATUS_FILE
from lottisync.entities.entity import HIGH
from lottisync.store.doorbell import Bell
from lottisync.store.instant import iso
from lottisync.store.lock import Lock
from lottisync.sync.duplicate_key import REMEMBERED_MS
from lottisync.sync.peer import PeerState
from lottisync.sync.verification_request import VerificationRequest, ask, requests

ALONE = ("--no-discovery", "--listen", "127.0.0.1:0")


def tamper(home: Path, text: str = "replace(serialized, 'Milk', 'Mils')") -> None:
    connection = apsw.Connection(str(home / "journal.sqlite"))
    connection.set_busy_timeout(5_000)
    connection.execute(f"update journal_entities set serialized = {text} where type = 'task'").fetchall()
    connection.close()


def title(home: Path) -> str:
    (task,) = run_here("task", "list", "--json", home=home).json["tasks"]
    found: str = task["title"]
    return found


def verify(home: Path, *arguments: str) -> Any:
    return run_here("verify", *arguments, "--json", home=home)


@contextmanager
def two_daemons(laptop: Path, phone: Path) -> Iterator[tuple[Daemon, Daemon]]:
    assert run_here("task", "add", "Milk", home=laptop).code == 0
    with daemon(phone) as second:
        introduce(laptop, phone, second.event("started")["port"])
        with daemon(laptop) as first:
            first.event("connected")
            eventually(lambda: in_step(laptop), "in step")
            yield first, second


def in_step(home: Path) -> bool:
    found: bool = run_here("status", "--json", home=home).json["peers"][0]["inStep"]
    return found


def asked(home: Path) -> list[VerificationRequest]:
    opened = TaskHome.open(home)
    try:
        return requests(opened.space)
    finally:
        opened.close()


def test_cli_20_with_a_daemon_what_differs_is_found_mended_and_said(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with two_daemons(laptop, phone):
        same = run("verify", "phone", home=laptop)
        assert same.code == 0, same
        assert [line.split() for line in same.out.splitlines()[1:]] == [
            ["phone", name, "the", "same"] for name in ("agent", "journal", "space")
        ]
        tamper(laptop)
        assert title(laptop) == "Mils"
        found = verify(laptop)
        assert found.code == 0, found
        assert found.err == ""
        assert found.json["notReached"] == []
        assert {row["store"]: (row["deviceName"], row["outcome"], row["mended"]) for row in found.json["compared"]} == {
            "space": ("phone", "equal", 0),
            "journal": ("phone", "equal", 1),
            "agent": ("phone", "equal", 0),
        }
        assert title(laptop) == "Milk"
        assert asked(laptop) == []
        sentence = "1 entity of journal differed from phone's although nothing was missing: mended."
        eventually(lambda: sentence in run("status", home=laptop).out, "the sentence")
        assert run("check", home=laptop).code == 0
        tamper(phone, "replace(serialized, 'Milk', 'Wine')")
        assert "1 entity differed and was mended" in run("verify", "phone", home=laptop).out
        assert title(phone) == "Milk"


def test_cli_20_without_a_daemon_the_command_meets_the_device_itself(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with two_daemons(laptop, phone) as (first, second):
        assert first.stop() == (0, "")
        tamper(laptop)
        found = verify(laptop, "phone", *ALONE)
        assert found.code == 0, found
        assert sum(row["mended"] for row in found.json["compared"]) == 1
        assert title(laptop) == "Milk"
        assert second.process.poll() is None
        assert run_here("status", "--json", home=laptop).json["daemon"] is None
        assert list((laptop / "bells").iterdir()) == []
        with daemon(laptop):  # the lock is free again
            pass


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("named", [("phone",), ()])
def test_cli_21_a_device_that_is_not_there_is_said_within_the_wait(
    homes: tuple[Path, Path], named: tuple[str, ...], *, running: bool
) -> None:
    laptop, _ = homes
    if running:
        with daemon(laptop):
            found = verify(laptop, *named, "--wait", "1")
    else:
        found = verify(laptop, *named, "--wait", "1", *ALONE)
    assert found.code == 1
    assert found.json["error"] == {
        "code": "not-reachable",
        "message": "not reachable now: phone. Nothing was compared. Start there: lottisync daemon",
    }
    assert asked(laptop) == []


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (("laptop",), "this-device", 2),
        (("tablet",), "unknown-device", 1),
        (("phone", "--listen", "nowhere"), "bad-address", 2),
        (("phone", "--wait", "-1"), "usage", 2),
    ],
)
def test_cli_322_a_call_that_is_wrong_is_said(
    homes: tuple[Path, Path], arguments: tuple[str, ...], code: str, exit_code: int
) -> None:
    found = verify(homes[0], *arguments)
    assert (found.code, found.json["error"]["code"]) == (exit_code, code)
    assert asked(homes[0]) == []


def test_cli_21_a_home_without_another_device_has_nothing_to_compare_with(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=home).code == 0
    found = verify(home)
    assert (found.code, found.json["error"]["code"]) == (1, "no-peer")


def test_cli_22_a_command_that_was_killed_leaves_no_request(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(laptop) as running:
        with started("verify", "phone", "--wait", "600", home=laptop) as asking:
            eventually(lambda: len(asked(laptop)) == 3, "the request")
            asking.send_signal(signal.SIGKILL)
            asking.wait(BOUND_SECONDS)
        eventually(lambda: asked(laptop) == [], "the end of the request")
        assert running.process.poll() is None
    # Nobody was there to remove it: the next one does.
    with started("verify", "phone", "--wait", "600", *ALONE, home=laptop) as asking:
        eventually(lambda: len(asked(laptop)) == 3, "the request")
        asking.send_signal(signal.SIGKILL)
        asking.wait(BOUND_SECONDS)
    assert len(asked(laptop)) == 3
    with daemon(laptop):
        eventually(lambda: asked(laptop) == [], "the end of the request")
    del phone


def test_cli_323_a_daemon_that_is_killed_leaves_the_rest_to_the_command(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(laptop) as first, started("verify", "phone", "--json", "--wait", "600", *ALONE, home=laptop) as asking:
        eventually(lambda: len(asked(laptop)) == 3, "the request")
        first.stop(signal.SIGKILL)
        with daemon(phone) as second:
            introduce(laptop, phone, second.event("started")["port"])
            out, err = asking.communicate(timeout=BOUND_SECONDS)
    assert asking.returncode == 0, err
    assert {row["outcome"] for row in msgspec.json.decode(out)["compared"]} == {"equal"}
    assert asked(laptop) == []


def test_cli_23_how_far_it_is_is_written_beside_the_request(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    seen: set[tuple[int, int]] = set()
    with two_daemons(laptop, phone):
        opened = TaskHome.open(laptop)
        fill(opened, 4_000)
        eventually(lambda: in_step(laptop), "in step")
        bell = Bell(laptop / "bells", "watching")
        ask(opened.space, "watching", [(opened.roster().active_peers()[0].device, "journal")], 1)

        def moved() -> bool:
            (request,) = requests(opened.space, "watching")
            if request.total:
                seen.add((request.done, request.total))
            return not request.open

        eventually(moved, "the comparison")
        bell.close()
        opened.close()
    assert {of for _, of in seen} == {4_001}
    assert (4_001, 4_001) in seen


AHEAD = "2031-01-01T00:00:00.000Z"


def test_cli_23_status_shows_how_far_a_comparison_is(homes: tuple[Path, Path]) -> None:
    """COPY-9, too: which device runs twice, as long as that is not old news; and CAUS-11: whose clock is ahead."""
    laptop, _ = homes
    opened = TaskHome.open(laptop)
    phone = opened.roster().active_peers()[0].device
    opened.close()

    def shown(twice: str | None) -> str:
        peer = PeerState(
            phone, "phone", connected=True, comparing={"journal": (500, 4_000)}, duplicate_key_at=twice, ahead=AHEAD
        )
        said = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00Z", [peer], duplicate_key_at=twice)
        (laptop / STATUS_FILE).write_bytes(msgspec.json.encode(said))
        return run("status", home=laptop).out

    with Lock(laptop / LOCK_FILE) as lock:
        assert lock.take()
        now = shown(iso(clock.now()))
        later = shown(iso(clock.now() - REMEMBERED_MS))
    assert "comparing journal: 12 %" in now
    assert "phone runs twice: its home was copied to another machine" in now
    assert "This device runs twice" in now
    assert f"phone's clock is ahead: it said {AHEAD}" in now
    assert "twice" not in later


def test_cli_23_the_command_draws_a_bar_where_a_person_is_watching(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with two_daemons(laptop, phone):
        near, far = os.openpty()
        call = [sys.executable, "-m", "lottisync", "verify", "phone", "--home", str(laptop)]
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=far, env=environment())
        os.close(far)
        drawn = b""
        with contextlib.suppress(OSError):  # EIO: the other end was closed
            while some := os.read(near, 4096):
                drawn += some
        os.close(near)
        assert process.wait(BOUND_SECONDS) == 0
        assert b"compar" in drawn
        assert b"100%" in drawn


def test_cli_24_a_status_that_cannot_be_written_is_said_once_and_ends_nothing(homes: tuple[Path, Path]) -> None:
    """CLI-328"""
    laptop, phone = homes
    in_the_way = laptop / (STATUS_FILE + ".new")
    in_the_way.mkdir()
    with daemon(phone) as second:
        introduce(laptop, phone, second.event("started")["port"])
        with daemon(laptop) as first:
            first.event("connected")
            assert STATUS_FILE in first.event("failed")["text"]
            assert run_here("task", "add", "Milk", home=laptop).code == 0
            eventually(lambda: run_here("task", "list", "--json", home=phone).json["tasks"], "the task")
            assert run_here("status", "--json", home=laptop).json["daemon"] is None
            in_the_way.rmdir()
            assert run_here("task", "add", "Bread", home=laptop).code == 0
            eventually(lambda: run_here("status", "--json", home=laptop).json["daemon"], "the status")
            assert [event["event"] for event in first.events].count("failed") == 1


def test_devices_says_what_each_lacks(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with two_daemons(laptop, phone):
        pass
    assert run_here("task", "add", "Bread", home=laptop).code == 0
    rows = {row["name"]: row["lacks"] for row in run_here("devices", "--json", home=laptop).json["devices"]}
    assert rows["laptop"] is None
    assert rows["phone"]["journal"] > 0
    assert f"lacks {sum(rows['phone'].values())} change" in run("devices", home=laptop).out


def fill(home: TaskHome, count: int) -> None:
    with home.journal.transaction(1_764_590_400_000, HIGH) as tx:
        for number in range(count):
            tx.put(f"t{number}", "task", {"title": f"task {number}"})
