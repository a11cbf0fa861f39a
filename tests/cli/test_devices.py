"""`devices revoke | rename`: taking a device out for good, and whom it brought in (CLI-25, ROSTER-18)."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import Result, contents, run_here
from tests.support.stores import NOON

from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, encoded
from lottisync.device import clock
from lottisync.device.absence import Away
from lottisync.device.addresses import give
from lottisync.device.alone import LOCK_FILE, STATUS_FILE
from lottisync.device.membership import put_membership
from lottisync.device.peers import remember_absences, remember_address, remember_introduction
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_message import Introduction
from lottisync.identity.statement import MembershipRecord
from lottisync.net.address import Address
from lottisync.net.pairing import NotWanted, Self
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso
from lottisync.store.lock import Lock
from lottisync.sync.peer import AddressState, PeerState

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


HOUR = 3_600_000


def test_meet_3090_without_a_daemon_devices_shows_who_says_an_address_and_when_it_worked_last(home: Path) -> None:
    """MEET-3090, MEET-301: of an address that works, of one that was typed, and of one that was named at pairing."""
    opened = TaskHome.open(home)
    now, worked = clock.now(), Address("192.0.2.7", 22067)
    remember_introduction(opened.space, PHONE.device_id, Introduction(["tcp://192.0.2.9:22067"]), now)
    remember_address(opened.space, PHONE.device_id, worked, now - 2 * HOUR)
    for at in (worked, Address("192.0.2.8", 22067)):
        give(opened.space, PHONE.device_id, at, now)
    opened.close()
    lines = run_here("devices", home=home).out.splitlines()
    assert [line for line in lines if line.startswith("phone  192.")] == [
        "phone  192.0.2.7:22067  added by hand, worked 2 hours ago",
        "phone  192.0.2.9:22067  handed over at pairing, never worked from here",
        "phone  192.0.2.8:22067  added by hand, never worked from here",
    ]


def test_meet_3090_devices_shows_what_a_daemon_knows_of_each_address(home: Path) -> None:
    """MEET-3090, MEET-301: also why one fails that worked before, and who has announced it."""
    addresses = [
        AddressState("192.0.2.7:22067", ["announced", "given"], iso(clock.now() - HOUR), failure=Sentence("no route")),
        AddressState("192.0.2.8:22067", ["recorded"], failure=Sentence("nothing listens there")),
    ]
    said = DaemonStatus(
        os.getpid(), 1, "2025-12-01T12:00:00Z", [PeerState(PHONE.device_id, "phone", addresses=addresses)]
    )
    with Lock(home / LOCK_FILE) as lock:
        assert lock.take()
        (home / STATUS_FILE).write_bytes(encoded(said))
        shown, as_json = run_here("devices", home=home), run_here("devices", "--json", home=home).json
    assert [line for line in shown.out.splitlines() if line.startswith("phone  192.")] == [
        "phone  192.0.2.7:22067  announced now, added by hand, worked 1 hour ago; no route",
        "phone  192.0.2.8:22067  named by itself, never worked from here; nothing listens there",
    ]
    [phone] = [row for row in as_json["devices"] if row["name"] == "phone"]
    assert [(each["sources"], each["workedAt"]) for each in phone["addresses"]] == [
        (["announced", "given"], addresses[0].worked_at),
        (["recorded"], None),
    ]


@pytest.mark.parametrize("running", [False, True])
def test_meet_3091_a_clock_that_is_far_ahead_is_shown_beside_why_a_device_is_away(home: Path, running: bool) -> None:
    """MEET-3091, MEET-309: neither sentence takes the place of the other."""
    ahead, now = "2031-01-01T00:00:00.000Z", iso(clock.now())
    away = Away("unreachable", now, now, "192.0.2.1:22067", failure=Sentence("nothing listens there"), clock_said=ahead)
    opened = TaskHome.open(home)
    remember_absences(opened.space, {PHONE.device_id: away}, clock.now())
    opened.close()
    with Lock(home / LOCK_FILE) as lock:
        if running:
            assert lock.take()
            state = PeerState(PHONE.device_id, "phone", ahead=ahead, away=away)
            (home / STATUS_FILE).write_bytes(encoded(DaemonStatus(os.getpid(), 1, now, [state])))
        shown = [run_here(command, home=home) for command in ("status", "devices")]
    for each in shown:
        said = " ".join(each.out.split())
        assert f"phone's clock is ahead: it said {ahead}" in said
        assert "not reachable at 192.0.2.1:22067" in said
