"""A disk that answers EIO, under one store of a running daemon (docs/specs/05-store.md, section 14): real
processes, one of which opens its files through a file system that fails on demand."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.beside import opened
from tests.support.command_line import eventually, program, run_here
from tests.support.daemons import Daemon, daemon, introduce

from lottisync.device import clock
from lottisync.entities.entity import HIGH

CALL = ("daemon", "--json", "--no-discovery", "--no-web", "--no-agents", "--listen", "127.0.0.1:0")
pytestmark = pytest.mark.deep


@contextmanager
def on_a_disk_that_fails(laptop: Path, phone: Path, control: Path) -> Iterator[Daemon]:
    """The laptop's daemon, connected with the phone's. What is written to `control` says which of its files fail."""
    with daemon(phone) as other:
        introduce(laptop, phone, other.event("started")["port"])
        failing_disk = (sys.executable, "-m", "tests.support.failing_disk")
        with program(*failing_disk, str(control), *CALL, "--home", str(laptop)) as process:
            running = Daemon(laptop, process)
            running.event("connected")
            yield running


def titles(home: Path) -> set[str]:
    return {task["title"] for task in run_here("task", "list", "--json", home=home).json["tasks"]}


def say(home: Path, ident: str) -> None:
    """Write a record into another store."""
    with opened(home) as device, device.stores["agent"].transaction(clock.now(), HIGH) as tx:
        tx.put(ident, "agentMessage", {"text": "beside the failing disk"})


def said(home: Path, ident: str) -> bool:
    with opened(home) as device:
        return device.stores["agent"].read(ident) is not None


@pytest.mark.parametrize("failing", ["journal.sqlite write", "journal.sqlite"])
def test_store_750_a_disk_that_fails_under_one_store_stops_no_other(
    homes: tuple[Path, Path], tmp_path: Path, failing: str
) -> None:
    """STORE-750, STORE-751, STORE-752: one that takes no write, and one that answers nothing."""
    laptop, phone = homes
    control = tmp_path / "control"
    with on_a_disk_that_fails(laptop, phone, control) as running:
        control.write_text(failing)
        assert run_here("task", "add", "There", home=phone).code == 0
        assert run_here("task", "add", "Here", home=laptop).code == 0
        # On a busy machine another reader of the store meets the failure first, and says it in other words.
        eventually(lambda: failed(running, "journal does not sync: the disk failed"), "the failure is said")

        say(phone, "to")
        eventually(lambda: said(laptop, "to"), "what stands beside arrives")
        say(laptop, "fro")
        eventually(lambda: said(phone, "fro"), "what stands beside is sent")
        eventually(lambda: run_here("status", "--json", home=laptop).json["unusable"].get("journal"), "status")
        assert "journal does not sync: the disk failed" in run_here("status", home=laptop).out
        assert "There" not in titles(laptop)

        control.unlink()
        running.event("works-again")
        eventually(lambda: {"There", "Here"} <= titles(laptop) & titles(phone), "both have both")
        eventually(lambda: run_here("status", "--json", home=laptop).json["unusable"] == {}, "status")
        assert run_here("check", home=laptop).code == 0
        assert running.stop() == (0, "")
    texts = [event["text"] for event in running.events]
    assert len([text for text in texts if "does not sync" in text]) == 1, texts
    assert len([text for text in texts if "answers again" in text]) == 1, texts
    assert "fault" not in [event["event"] for event in running.events]


@pytest.mark.parametrize("failing", ["space.sqlite", "agent.sqlite"])
def test_store_941_a_disk_that_fails_under_a_store_that_is_only_read_ends_no_daemon(
    homes: tuple[Path, Path], tmp_path: Path, failing: str
) -> None:
    """STORE-941, STORE-752: what looks for damage by itself reads each store, and meets the failure first."""
    laptop, phone = homes
    control = tmp_path / "control"
    with on_a_disk_that_fails(laptop, phone, control) as running:
        control.write_text(failing)
        eventually(lambda: failed(running, failing) or running.process.poll() is not None, "the failure is said")
        assert running.process.poll() is None
        control.unlink()
        assert run_here("task", "add", "There", home=phone).code == 0
        eventually(lambda: "There" in titles(laptop) or running.process.poll() is not None, "the task arrives")
        assert running.stop() == (0, "")


def failed(running: Daemon, text: str) -> bool:
    return any(event["event"] == "failed" and text in event["text"] for event in running.events)
