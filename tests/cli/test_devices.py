"""`devices revoke | rename`: taking a device out for good, and whom it brought in (CLI-25, ROSTER-18)."""

import io
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import Result, contents, run_here
from tests.support.stores import NOON

from lottisync.daemon.home import TaskHome
from lottisync.device.membership import put_membership
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing import Paired
from lottisync.identity.statement import MembershipRecord
from lottisync.net.pairing import NotWanted, Self
from lottisync.problem import Problem

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
    return {row["name"]: row["status"] for row in run_here("devices", "--json", home=home).json["devices"]}


def refused(result: Result, home: Path, before: Any) -> str:
    assert result.code != 0
    assert contents(home) == before
    return result.err


def test_cli_25_the_devices_that_a_revoked_one_added_stay_or_go_as_the_person_says(home: Path) -> None:
    before = contents(home)
    assert "alone brought in" in refused(run_here("devices", "revoke", "phone", "--yes", home=home), home, before)
    done = run_here("devices", "revoke", "phone", "--keep", "tablet", "--json", "--yes", home=home)
    assert done.json == {
        "id": PHONE.device_id,
        "name": "phone",
        "status": "revoked",
        "formerName": None,
        "alsoRevoked": [{"id": WATCH.device_id, "name": "watch"}],
    }
    assert statuses(home) == {"laptop": "active", "phone": "revoked", "tablet": "active", "watch": "unvouched"}
    assert run_here("devices", "revoke", "tablet", "--yes", home=home).out.startswith("tablet out: ")


def test_cli_25_none_that_rest_on_it_stay(home: Path) -> None:
    said = run_here("devices", "revoke", "phone", "--keep-none", "--yes", home=home).out
    assert "recalled" in said
    assert {name for name, status in statuses(home).items() if status == "active"} == {"laptop"}


def test_cli_25_what_cannot_be_revoked_is_said(home: Path) -> None:
    before = contents(home)
    assert "this device" in refused(run_here("devices", "revoke", "laptop", "--yes", home=home), home, before)
    assert "no device is called" in refused(run_here("devices", "revoke", "desk", "--yes", home=home), home, before)
    keep_itself = run_here("devices", "revoke", "phone", "--keep", "laptop", "--yes", home=home)
    assert "laptop stays anyway" in refused(keep_itself, home, before)
    assert run_here("devices", "revoke", "phone", "--keep-none", "--yes", home=home).code == 0
    before = contents(home)
    assert "revoked already" in refused(run_here("devices", "revoke", "phone", "--yes", home=home), home, before)


def test_a_device_is_renamed(home: Path) -> None:
    """ROSTER-13: the latest name counts."""
    assert run_here("devices", "rename", "phone", "old phone", home=home).out == "phone is called old phone now.\n"
    assert "old phone" in statuses(home)
    before = contents(home)
    assert refused(run_here("devices", "rename", "tablet", "a\nb", home=home), home, before)


def test_cli_48_two_devices_are_never_called_alike(home: Path) -> None:
    """CLI-48, F9: a lost phone could not be revoked, since two devices had its name."""
    before = contents(home)
    for name in ("phone", "Phone", "ph\u200bone", " phone"):
        assert "is called 'phone' already" in refused(
            run_here("devices", "rename", "watch", name, home=home), home, before
        )
    assert run_here("devices", "rename", "phone", "Phone", home=home).code == 0


def test_cli_88_of_two_that_pair_under_one_name_both_say_the_same_one_is_another(tmp_path: Path) -> None:
    """CLI-88, F9: both were made with `init --name mac`."""
    homes = [TaskHome.create(tmp_path / number, "mac") for number in "12"]
    small, great = sorted(homes, key=lambda each: each.key.device_id)
    assert small.members.add_paired("mac", great.key.certificate, NOON) == ("mac 2", "mac")
    assert great.members.add_paired("mac", small.key.certificate, NOON) == ("mac", "mac 2")
    assert [member.name for member in small.roster().members.values()].count("mac") == 1
    assert great.name == "mac 2"
    for each in homes:
        each.close()


def test_cli_47_what_cannot_be_taken_back_is_asked_or_refused(home: Path) -> None:
    """CLI-47, F9"""
    before = contents(home)
    for call in (("revoke", "phone", "--keep-none"), ("renew", "desk")):
        result = run_here("devices", *call, home=home)
        assert result.code == 2
        assert "--yes" in refused(result, home, before)


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
def test_cli_47_a_person_is_asked(home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    class Keyboard(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Keyboard(answer))
    done = run_here("devices", "revoke", "tablet", home=home)
    assert (done.code, "for good?" in done.err) == (code, True)
    assert (statuses(home)["tablet"] == "revoked") is (code == 0)


def test_cli_47_a_revoked_device_that_pairs_again_is_shown_as_such(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-47, F9: before, it was taken back silently."""
    assert run_here("devices", "revoke", "tablet", "--yes", home=home).code == 0

    async def paired(me: Self, *arguments: object, **options: object) -> Paired:
        try:
            me.consent(TABLET.device_id)
        except Problem as problem:
            raise NotWanted(problem) from None
        return Paired("tablet", TABLET.device_id, TABLET.certificate, ("a", "b", "c", "d"))

    monkeypatch.setattr("lottisync.net.pairing.type_code", paired)
    before = contents(home)
    result = run_here("pair", "123456789", home=home)
    assert result.code == 2
    said = refused(result, home, before)
    assert "taken out for good" in said
    assert "--yes" in said
    assert run_here("pair", "123456789", "--yes", home=home).code == 0
    assert statuses(home)["tablet"] == "active"


def test_meet_40_an_address_alone_in_the_settings_is_enough_to_pair(home: Path) -> None:
    """MEET-40, CLI-3: where no daemon ran, `pair` ended with a traceback."""
    (home / "config.toml").write_text('listen = "127.0.0.1"\n')
    refused = run_here("pair", "123-456-789", "--at", "127.0.0.1:9", home=home)
    assert (refused.code, "no device shows a code at 127.0.0.1:9" in refused.err) == (1, True)
