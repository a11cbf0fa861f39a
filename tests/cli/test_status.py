"""What `status` and `check` say of rows that came bad, or went bad: STORE-24, STORE-28."""

import fcntl
import os
from pathlib import Path

import msgspec
import pytest
from tests.support.command_line import run

from lottisync.config.home import Home
from lottisync.daemon.status import LOCK_FILE, STATUS_FILE, DaemonStatus
from lottisync.entities.version import Version

BAD = Version("t1", "task", b'{"aaaaaaaaaaaaaaaa":1}', b"[]", b"{}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    assert run("init", "--name", "laptop", home=folder).code == 0
    return folder


def test_store_24_status_counts_what_is_in_quarantine_and_check_names_it(home: Path) -> None:
    with Home.open(home).journal.transaction(1) as tx:
        tx.quarantine(BAD, "version of 't1': no register")
    status = run("status", home=home)
    assert "journal: 1 came that cannot be taken here. See: lottisync check" in status.out
    stores = run("status", "--json", home=home).json["stores"]
    assert {name: store["quarantined"] for name, store in stores.items()} == {"journal": 1, "agent": 0, "space": 0}
    check = run("check", home=home)
    assert check.code == 1
    assert "t1: in quarantine, kept as it came: version of 't1': no register" in check.out


def test_store_28_status_names_what_the_daemon_found_damaged(home: Path) -> None:
    lock = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00Z", damaged=["journal/t1"])
        (home / STATUS_FILE).write_bytes(msgspec.json.encode(said))
        assert "journal/t1 is not what was stored. See: lottisync check" in run("status", home=home).out
        assert run("status", "--json", home=home).json["damaged"] == ["journal/t1"]
    finally:
        os.close(lock)
