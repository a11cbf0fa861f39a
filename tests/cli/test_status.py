"""What `status` and `check` say of rows that came bad, or went bad, of copies, and of devices that are away: STORE-24,
STORE-28, COPY-8, MEET-26."""

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.command_line import contents, run_here
from tests.support.rounds import send

from lottisync import wording
from lottisync.answers.devices import Peer
from lottisync.cli.homes import _peer_row
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, encoded, last_seen
from lottisync.device import clock
from lottisync.device.alone import LOCK_FILE, STATUS_FILE
from lottisync.device.peers import (
    ClockHeard,
    known_hosts,
    remember_address,
    remember_clocks,
    remember_connections,
    remember_introduction,
)
from lottisync.entities.entity import HIGH
from lottisync.entities.version import Version
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing_message import Introduction
from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.store import chain, fork
from lottisync.store.instant import iso, millis, to_the_minute
from lottisync.store.lock import Lock
from lottisync.sync.event import OverAllowance, words
from lottisync.sync.peer import PeerState, Receiving, clock_difference
from lottisync.sync.refusal import Refusal

PHONE = DeviceKey.from_seed(b"p" * 32)
BAD = Version("t1", "task", b'{"aaaaaaaaaaaaaaaa":1}', b"[]", b"{}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    return folder


def test_cli_66_a_device_that_was_paired_and_never_connected_was_seen_at_no_time(home: Path) -> None:
    """It was an empty text. Its addresses are known since it was paired."""
    opened = TaskHome.open(home)
    remember_introduction(opened.space, "ab" * 32, Introduction(["tcp://192.0.2.1:22067"]), clock.now())
    with opened.space.reading() as reader:
        assert "192.0.2.1" in known_hosts(reader)
    assert last_seen(opened, None) == {}
    opened.close()


def test_caus_880_what_was_seen_while_the_clock_said_2125_is_not_the_last_for_a_century(home: Path) -> None:
    """CAUS-880: `status` said so of a device that was connected now, and `doctor` called the right clock wrong."""
    opened = TaskHome.open(home)
    opened.members.add("phone", PHONE.certificate, clock.now())
    address = Address("192.0.2.1", 22067)
    remember_address(opened.space, PHONE.device_id, address, 4_891_363_200_000)
    assert last_seen(opened, None) == {}
    now = clock.now()
    remember_connections(opened.space, {PHONE.device_id: iso(now)}, now)
    assert last_seen(opened, None) == {PHONE.device_id: iso(now)}
    opened.close()
    assert "a device was connected at" not in run_here("doctor", home=home).out


def test_store_24_status_counts_what_is_in_quarantine_and_check_names_it(home: Path) -> None:
    with TaskHome.open(home).journal.transaction(1, HIGH) as tx:
        tx.quarantine(BAD, Sentence("version of 't1': no register"))
    status = run_here("status", home=home)
    assert "journal: 1 came that cannot be taken here. See: lottisync check" in status.out
    stores = run_here("status", "--json", home=home).json["stores"]
    assert {name: store["quarantined"] for name, store in stores.items()} == {"journal": 1, "agent": 0, "space": 0}
    check = run_here("check", home=home)
    assert check.code == 1
    assert "t1: in quarantine, kept as it came: version of 't1': no register" in check.out


def test_store_28_status_names_what_the_daemon_found_damaged(home: Path) -> None:
    with Lock(home / LOCK_FILE) as lock:
        assert lock.take()
        said = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00Z", damaged=["journal/t1"])
        (home / STATUS_FILE).write_bytes(msgspec.json.encode(said))
        assert "journal/t1 is not what was stored. See: lottisync check" in run_here("status", home=home).out
        assert run_here("status", "--json", home=home).json["damaged"] == ["journal/t1"]


def test_copy_8_status_says_that_a_device_was_restored_until_the_person_knows(home: Path, tmp_path: Path) -> None:
    """Also that the copy is noticed at all: a home is opened where it lies (COPY-7)."""
    run_here("task", "add", "Milk", home=home)
    copied = tmp_path / "copy"
    shutil.copytree(home, copied)
    run_here("task", "add", "Bread", home=copied)
    today = datetime.fromtimestamp(clock.now() / 1000).astimezone()
    sentence = f"laptop was restored from a backup of {today.day} {today:%B %Y} (or copied); "
    as_json = run_here("status", "--json", home=copied).json["copies"]
    assert [(copy["deviceName"], copy["kept"], copy["acknowledged"]) for copy in as_json] == [("laptop", 0, False)]
    assert sentence + "no change made since then is known here." in run_here("status", home=copied).out
    assert "restored" in run_here("status", home=copied).out
    assert acknowledged(copied) == 1
    assert "restored" not in run_here("status", home=copied).out
    assert [copy["acknowledged"] for copy in run_here("status", "--json", home=copied).json["copies"]] == [True]
    for expected in ("1 change made since then was kept.", "2 changes made since then were kept."):
        run_here("task", "add", "Butter", home=home)
        at_home, at_copy = TaskHome.open(home), TaskHome.open(copied)
        send(at_home.journal, at_copy.journal)
        at_home.close()
        at_copy.close()
        assert sentence + expected in run_here("status", home=copied).out
        assert acknowledged(copied) == 1
    assert acknowledged(copied) == 0
    assert "restored" not in run_here("status", home=copied).out + run_here("status", home=home).out
    assert run_here("status", "--json", home=home).json["copies"] == []


def acknowledged(home: Path) -> int:
    found: int = run_here("devices", "acknowledge", "--json", home=home).json["newlyAcknowledged"]
    return found


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_cli_69_a_command_that_reads_changes_nothing(home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """CLI-69: not what was noticed about a copy, either."""
    run_here("task", "add", "Milk", home=home)
    copied = tmp_path / "copy"
    shutil.copytree(home, copied)
    run_here("task", "add", "Bread", home=copied)
    run_here("review", home=copied)  # brings the index of proposals up to date
    before = contents(copied)
    assert run_here("status", *options, home=copied).code == 0
    assert run_here("devices", *options, home=copied).code == 0
    assert contents(copied) == before


def test_copy_8_history_says_which_device_wrote_what_is_on_a_branch(home: Path) -> None:
    run_here("task", "add", "Milk", home=home)
    run_here("task", "add", "Bread", home=home)
    opened = TaskHome.open(home)
    with opened.journal.transaction(1, HIGH) as tx:
        value = chain.value_at(tx, tx.host, 1)
        assert value is not None
        assert fork.split(tx, [value])
        ident = tx.by_type("task")[-1].id
    opened.close()
    rows = run_here("history", ident, "--json", home=home).json["writes"]
    assert {row["deviceName"] for row in rows} == {"laptop"}


def test_rel_d8_status_says_that_this_devices_own_clock_is_wrong(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CAUS-17, CAUS-300"""
    assert run_here("status", "--json", home=home).json["clockDoubt"] is None
    monkeypatch.setattr(clock, "now", lambda: 86_400_000)
    status = run_here("status", home=home)
    assert status.code == 0
    assert "this device's clock is wrong: it says 1970-01-02" in status.out
    assert run_here("task", "add", "Bake bread", home=home).code == 0
    [found] = [part for part in run_here("doctor", "--json", home=home).json["findings"] if part["part"] == "clock"]
    assert (found["state"], "1970-01-02" in found["text"]) == ("fault", True), found


YEAR = 365 * 24 * 3_600_000


@pytest.mark.parametrize(
    ("offs", "own", "differ"),
    [
        ({"phone": YEAR}, False, ["phone"]),
        ({"phone": YEAR, "tablet": YEAR + 1000}, True, ["phone", "tablet"]),
        ({"phone": -YEAR, "tablet": -YEAR, "desk": 0}, True, ["phone", "tablet"]),
        ({"phone": YEAR, "tablet": 0, "desk": None}, False, ["phone"]),
    ],
)
def test_caus_421_status_says_whose_clock_differs_and_whose_is_probably_wrong(
    home: Path, offs: dict[str, int | None], own: bool, differ: list[str]
) -> None:
    """CAUS-422: before, a clock that was a year off was reported by no device."""
    keys = {name: DeviceKey(bytes([number]) * 32) for number, name in enumerate(offs, 1)}
    opened = TaskHome.open(home)
    for name, key in keys.items():
        opened.members.add(name, key.certificate, clock.now())
    opened.close()
    peers = [
        PeerState(
            keys[name].device_id,
            name,
            connected=True,
            clock_off=off,
            clock_heard_at=None if off is None else "2025-12-01T12:00:00Z",
        )
        for name, off in offs.items()
    ]
    with Lock(home / LOCK_FILE) as lock:
        assert lock.take()
        said = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00Z", peers=peers)
        (home / STATUS_FILE).write_bytes(msgspec.json.encode(said))
        status = run_here("status", home=home)
        listed = run_here("devices", home=home)
        as_json = run_here("status", "--json", home=home).json
    assert status.code == 0
    assert ("this device's clock is probably wrong" in status.out) is own
    assert ("probably wrong" in (as_json["clockDoubt"] or "")) is own
    for said_there in (status.out, listed.out):
        assert [name for name in offs if f"{name}'s clock and this device's differ" in said_there] == differ
    assert {peer["name"]: peer["clockOff"] for peer in as_json["peers"]} == offs


@pytest.mark.parametrize("running", [False, True])
def test_caus_671_a_difference_of_clocks_is_shown_as_of_when_it_was_heard(home: Path, running: bool) -> None:
    """CAUS-671: without a daemon, `status` knew nothing of it; with one that has not heard the device since its start,
    neither. A row that nobody can read hides no other."""
    keys = {name: DeviceKey(bytes([number]) * 32) for number, name in enumerate(("phone", "tablet", "desk"), 1)}
    opened = TaskHome.open(home)
    for name, key in keys.items():
        opened.members.add(name, key.certificate, clock.now())
    ids = {name: key.device_id for name, key in keys.items()}
    at = "2025-12-01T12:00:00.000Z"
    heard = {
        ids["phone"]: ClockHeard(YEAR, at),
        ids["tablet"]: ClockHeard(1, at),
        ids["desk"]: ClockHeard(YEAR, "some day"),
    }
    remember_clocks(opened.space, heard, clock.now())
    opened.close()
    with Lock(home / LOCK_FILE) as lock:
        if running:
            assert lock.take()
            said = DaemonStatus(os.getpid(), 1, at, peers=[PeerState(ids["phone"], "phone")])
            (home / STATUS_FILE).write_bytes(msgspec.json.encode(said))
        shown = [run_here(command, home=home) for command in ("status", "devices")]
        as_json = run_here("status", "--json", home=home).json["peers"]
    for each in shown:
        assert each.code == 0
        assert each.out.count("differ, as of") == 1
        then, there = to_the_minute(at), to_the_minute(iso(millis(at) + YEAR))
        sentence = f"phone's clock and this device's differ, as of {then}: there it was {there}"
        assert sentence in " ".join(each.out.split())
    assert {peer["name"]: (peer["clockOff"], peer["clockHeardAt"]) for peer in as_json} == {
        "phone": (YEAR, at),
        "tablet": (1, at),
        "desk": (None, None),
    }


@pytest.mark.parametrize("verb", ["retire", "revoke"])
def test_caus_672_the_clock_of_a_device_that_is_out_is_nobodys_trouble(home: Path, verb: str) -> None:
    """CAUS-672: `devices` asked for ever to set the clock of a device that was revoked."""
    opened = TaskHome.open(home)
    opened.members.add("phone", PHONE.certificate, clock.now())
    remember_clocks(opened.space, {PHONE.device_id: ClockHeard(YEAR, iso(clock.now()))}, clock.now())
    opened.close()
    assert "differ, as of" in run_here("devices", home=home).out
    assert run_here("devices", verb, "phone", *(["--yes"] if verb == "revoke" else []), home=home).code == 0
    shown = run_here("devices", home=home)
    assert shown.code == 0
    assert "differ, as of" not in shown.out


SINCE, TRIED = "2026-11-22T12:00:00.000Z", "2026-11-22T12:40:00.000Z"


def peer(**fields: Any) -> Peer:
    """A device that is away, because nothing listens at its one address."""
    plain = dict.fromkeys(
        ("lacks", "address", "lastSeenAt", "failure", "clockSaid", "clockOff", "clockHeardAt", "leftAt")
    )
    lists: dict[str, Any] = {
        name: [] for name in ("diverged", "onlyHere", "onlyThere", "failingThere", "refusals", "addresses")
    }
    state = {"id": "a" * 64, "name": "phone", "connected": False, "inStep": False, "holdsBack": 0, "runsTwice": False}
    where = {"address": "192.0.2.1:22067", "failure": "nothing listens there"}
    away = {"reason": "unreachable", "awaySince": SINCE, "triedAt": TRIED, **where}
    known = {**plain, **lists, **state, "mendedByStore": {}, "comparing": {}, "receiving": None, "away": away}
    return msgspec.convert(known | fields, Peer, dec_hook=wording.decoded)


def test_sync_880_status_shows_each_kind_of_refusal_with_the_command_that_helps(home: Path) -> None:
    """SYNC-880, SYNC-884, SYNC-944, NET-52: a reason is the other device's text, and forges no line."""
    opened = TaskHome.open(home)
    opened.members.add("my phone", PHONE.certificate, clock.now())
    opened.close()
    now = iso(clock.now())
    [_, often] = words(OverAllowance("journal"), "my phone") or ("", "")
    assert isinstance(often, Sentence)
    refusals = [
        Refusal("comparison", 432, now, often),
        Refusal("other", 1, now, Sentence("my phone: so\njournal: sound")),
        Refusal("connection", 3, now, Sentence("{name} opened a connection and said nothing: it was closed", name="x")),
        Refusal("illegal", 7, "2025-12-01T12:00:00.000Z", Sentence("long ago")),
    ]
    state = PeerState(PHONE.device_id, "my phone", connected=True, refusals=refusals, failing_there=["journal"])
    with Lock(home / LOCK_FILE) as lock:
        assert lock.take()
        said = DaemonStatus(os.getpid(), 1, "2025-12-01T12:00:00Z", [state])
        (home / STATUS_FILE).write_bytes(encoded(said))
        lines = run_here("status", home=home).out
        (shown,) = run_here("status", "--json", home=home).json["peers"]
        advice = run_here("doctor", home=home).out
        german = run_here("status", "--language", "de", home=home).out
    flat = " ".join(lines.split())
    assert f"{often} (refused 432 times, last just now). Run there: lottisync check" in flat
    assert "my phone hat journal zu oft vergleichen lassen" in " ".join(german.split())
    assert "(refused once, just now). Run there: lottisync doctor" in flat
    assert "it was closed (refused 3 times, last just now). End the daemon there and start it again: lottisync" in flat
    assert "x hat eine Verbindung geöffnet und nichts gesagt" in " ".join(german.split())
    assert "If it is in other hands: lottisync devices revoke 'my phone'" in flat
    assert "my phone leaves out journal, because it cannot use the file there" in flat
    assert "To see why, run on my phone: lottisync status" in flat
    assert not any(line.startswith("journal: sound") for line in lines.splitlines())
    assert [each["kind"] for each in shown["refusals"]] == ["comparison", "other", "connection"]
    assert (shown["onlyHere"], shown["failingThere"]) == ([], ["journal"])
    assert "compared too often" in " ".join(advice.split())


def test_meet_309_a_device_that_lacks_changes_says_why_it_is_away() -> None:
    """MEET-309: what it lacks hid the reason."""
    assert _peer_row(peer(lacks={"journal": 1}))[2] == (
        f"lacks 1 change; not reachable at 192.0.2.1:22067 since {to_the_minute(SINCE)},"
        f" last tried {to_the_minute(TRIED)}: nothing listens there"
    )


def test_meet_309_an_address_that_fails_is_not_news_of_a_device_that_is_connected() -> None:
    """MEET-309"""
    assert _peer_row(peer(connected=True, inStep=True, away=None))[2] == ""


def test_meet_474_a_device_of_another_version_says_so_and_not_where_it_was_tried() -> None:
    """MEET-474"""
    why = "it speaks version 2 of the sync protocol, this device version 1: update this device first"
    where = {"address": "192.0.2.1:22067", "awaySince": SINCE, "triedAt": TRIED}
    assert _peer_row(peer(away={"reason": "version", "failure": why, **where}))[2] == why
    assert _peer_row(peer(away={"reason": "version", **where}))[2] == "it speaks another version"


@pytest.mark.parametrize(
    ("far", "said"),
    [
        (Receiving("journal", 1_000, 4_000, 250), "[#####...............] 1,000 of 4,000, 250 a second"),
        (Receiving("journal", 0, 4_000, None), "[....................] 0 of 4,000"),
        (Receiving("journal", 3, 0, None), "[####################] 3 of 0"),
    ],
)
def test_cli_472_status_shows_how_far_what_comes_in_is(far: Receiving, said: str) -> None:
    """CLI-472; of a device that announced less than it sent, too."""
    coming = msgspec.to_builtins(far)
    assert _peer_row(peer(connected=True, away=None, receiving=coming))[2] == f"receiving journal {said}"


@pytest.mark.usefixtures("three_hours_east")
def test_cli_462_since_when_a_device_is_away_and_what_its_clock_says_are_in_the_zone_of_this_device() -> None:
    """CLI-462: both were said in UTC."""
    assert "since 2026-11-22 15:00, last tried 2026-11-22 15:40:" in _peer_row(peer())[2]
    assert "there it is 2026-11-22 16:00, here 2026-11-22 15:00" in clock_difference("phone", 3_600_000, millis(SINCE))
