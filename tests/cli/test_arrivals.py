"""`sync --wait`: CLI-153, CLI-1530, CLI-1531."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.command_line import run_here
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus
from lottisync.device import clock
from lottisync.device.alone import LOCK_FILE, STATUS_FILE
from lottisync.identity.device_key import DeviceKey
from lottisync.store.forgetting import note
from lottisync.store.lock import Lock
from lottisync.sync.peer import PeerState

PHONE = DeviceKey.from_seed(b"p" * 32)


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """A home that is paired with a phone, of which nothing is known yet."""
    path = tmp_path / "laptop"
    with closing(TaskHome.create(path, "laptop")) as home:
        home.members.add("phone", PHONE.certificate, clock.now())
    return path


def acknowledges(path: Path) -> None:
    """The phone says that it knows all that is here."""
    with closing(TaskHome.open(path)) as home:
        for store in home.stores.values():
            with store.transaction(clock.now(), None) as tx:
                note(tx, PHONE.device_id, tx.knowledge(), direct=True)


def refused(path: Path, *arguments: str) -> str:
    done = run_here("sync", *arguments, home=path)
    assert (done.code, done.out) == (1, "")
    return done.err


def test_cli_153_a_device_has_everything_or_it_says_what_is_missing(laptop: Path) -> None:
    """CLI-153, CLI-1530"""
    assert "phone was not reached yet, and no daemon runs here" in refused(laptop)
    assert run_here("task", "add", "Bake bread", home=laptop).code == 0
    acknowledges(laptop)
    there: Any = run_here("sync", "phone", "--json", home=laptop)
    assert there.code == 0, there
    there = there.json
    assert [each["name"] for each in there["devices"]] == ["phone"]
    assert run_here("sync", home=laptop).out == "Everything is on phone.\n"
    assert run_here("task", "add", "Buy milk", home=laptop).code == 0
    assert "phone lacks 1 change," in refused(laptop, "--wait", "--seconds", "0")


def test_cli_1530_each_device_is_named_with_what_it_lacks(laptop: Path) -> None:
    """CLI-153, CLI-1530: one that has everything does not speak for the others, of which one is not known."""
    with closing(TaskHome.open(laptop)) as home:
        for number, name in enumerate(("tablet", "desk")):
            home.members.add(name, DeviceKey.from_seed(bytes([number]) * 32).certificate, clock.now())
    assert run_here("task", "add", "Bake bread", home=laptop).code == 0
    acknowledges(laptop)
    assert run_here("sync", "phone", home=laptop).code == 0
    assert run_here("sync", "tablet", home=laptop).code == 1
    said = refused(laptop)
    assert "tablet was not reached yet" in said
    assert "desk was not reached yet" in said
    assert "phone" not in said
    assert run_here("task", "add", "Buy milk", home=laptop).code == 0
    assert "phone lacks 1 change" in refused(laptop)


def test_cli_1531_a_wait_ends_when_its_time_is_over(laptop: Path) -> None:
    """CLI-1531: and no sooner, as long as something is missing."""
    begun = time.monotonic()
    refused(laptop, "--wait", "--seconds", "2")
    assert 2 <= time.monotonic() - begun < BOUND_SECONDS


def test_cli_153_the_device_that_is_named_must_be_another_one(laptop: Path, tmp_path: Path) -> None:
    """CLI-153"""
    assert "not another device that is in use" in run_here("sync", "laptop", home=laptop).err
    assert run_here("init", "--name", "alone", home=tmp_path / "alone").code == 0
    assert "no other device" in refused(tmp_path / "alone")


def test_a_store_that_the_device_does_not_have_is_named(laptop: Path) -> None:
    """SYNC-284: "Everything is on phone." was said of it, too."""
    acknowledges(laptop)
    peer = PeerState(PHONE.device_id, "phone", connected=True, only_here=["journal"])
    (laptop / STATUS_FILE).write_bytes(msgspec.json.encode(DaemonStatus(1, 2, "", [peer])))
    with Lock(laptop / LOCK_FILE) as lock:
        assert lock.take()
        said = run_here("sync", home=laptop)
    assert (said.code, said.out) == (
        0,
        "Everything is on phone.\nphone does not have journal: it syncs everything else.\n",
    )
