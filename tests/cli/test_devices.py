"""`devices revoke | rename`: taking a device out for good, and whom it brought in (CLI-25, ROSTER-18)."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import Result, contents, run_here
from tests.support.stores import NOON

from lottisync.daemon.home import TaskHome
from lottisync.device.membership import put_membership
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.roster import MembershipRecord

PHONE, TABLET, WATCH = (DeviceKey.from_seed(letter * 32) for letter in (b"p", b"t", b"w"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A laptop that was paired with a phone, to which a tablet and a watch were paired."""
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    opened = TaskHome.open(folder)
    opened.members.add("phone", PHONE.certificate, NOON)
    with opened.space.transaction(NOON, HIGH) as tx:
        for key, name in ((TABLET, "tablet"), (WATCH, "watch")):
            put_membership(tx, MembershipRecord.adding(PHONE, certificate=key.certificate, name=name, at_ms=NOON + 1))
    opened.close()
    return folder


def statuses(home: Path) -> dict[str, str]:
    return {row["name"]: row["status"] for row in run_here("devices", "--json", home=home).json}


def refused(result: Result, home: Path, before: Any) -> str:
    assert result.code != 0
    assert contents(home) == before
    return result.err


def test_cli_25_who_rests_on_a_device_stays_or_goes_as_the_person_says(home: Path) -> None:
    before = contents(home)
    assert "alone brought in" in refused(run_here("devices", "revoke", "phone", home=home), home, before)
    done = run_here("devices", "revoke", "phone", "--keep", "tablet", "--json", home=home)
    assert done.json == {"name": "phone", "device": PHONE.device_id, "status": "revoked", "alsoOut": ["watch"]}
    assert statuses(home) == {"laptop": "active", "phone": "revoked", "tablet": "active", "watch": "unvouched"}
    assert run_here("devices", "revoke", "tablet", home=home).out.startswith("tablet out: ")


def test_cli_25_none_that_rest_on_it_stay(home: Path) -> None:
    said = run_here("devices", "revoke", "phone", "--keep-none", home=home).out
    assert "recalled" in said
    assert {name for name, status in statuses(home).items() if status == "active"} == {"laptop"}


def test_cli_25_what_cannot_be_revoked_is_said(home: Path) -> None:
    before = contents(home)
    assert "this device" in refused(run_here("devices", "revoke", "laptop", home=home), home, before)
    assert "no device is called" in refused(run_here("devices", "revoke", "desk", home=home), home, before)
    keep_itself = run_here("devices", "revoke", "phone", "--keep", "laptop", home=home)
    assert "laptop stays anyway" in refused(keep_itself, home, before)
    assert run_here("devices", "revoke", "phone", "--keep-none", home=home).code == 0
    before = contents(home)
    assert "revoked already" in refused(run_here("devices", "revoke", "phone", home=home), home, before)


def test_a_device_is_renamed(home: Path) -> None:
    """ROSTER-13: the latest name counts."""
    assert run_here("devices", "rename", "phone", "old phone", home=home).out == "phone is called old phone now.\n"
    assert "old phone" in statuses(home)
    before = contents(home)
    assert refused(run_here("devices", "rename", "tablet", "a\nb", home=home), home, before)
