"""What `doctor` finds, part by part: CLI-110, CLI-111, CLI-112."""

import socket
from pathlib import Path

import pytest
from tests.support import nats_account
from tests.support.command_line import contents, run_here

from lottisync.cli import diagnosis as doctor
from lottisync.cli.doctors import PARTS
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus
from lottisync.device import clock
from lottisync.device.absence import Away, Reason
from lottisync.identity.device_key import DeviceKey
from lottisync.net.interfaces import Interface
from lottisync.net.listener import DEFAULT_PORT, is_free
from lottisync.net.multicast import is_heard
from lottisync.problem import Sentence
from lottisync.sync.peer import PeerState

PHONE = DeviceKey.from_seed(b"p" * 32)
WIFI = Interface("192.168.7.2", "", 2)
LOOPBACK = Interface("127.0.0.1", "", 1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    return folder


def states(home: Path) -> dict[str, str]:
    return {each["part"]: each["state"] for each in run_here("doctor", "--json", home=home).json["findings"]}


def test_cli_110_a_sound_home_has_no_fault_and_stays_as_it_is(home: Path) -> None:
    """CLI-329"""
    before = contents(home)
    done = run_here("doctor", home=home)
    assert done.code == 0
    assert contents(home) == before
    for part in ("permissions", "disk", "stores", "daemon", "clock", "devices", "addresses", "multicast", "model"):
        assert f"\n{part} " in done.out
    assert "Run: lottisync daemon" in done.out


@pytest.mark.usefixtures("three_hours_east")
def test_cli_615_instants_are_shown_by_this_devices_clock(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-615: a person sees the wall clock, a program UTC."""
    monkeypatch.setattr(clock, "now", lambda: NOON)
    shown = run_here("doctor", home=home).out
    findings = run_here("doctor", "--json", home=home).json["findings"]
    daemon = doctor.daemon(DaemonStatus(1, 2, "2026-12-01T12:00:00.000Z"), lambda instant: local(instant, SECONDS))
    assert "it is 2026-12-01 15:00:00" in shown
    assert ".000Z" not in shown
    assert [each["text"] for each in findings if each["part"] == "clock"] == ["it is 2026-12-01T12:00:00.000Z"]
    assert "since 2026-12-01 15:00:00" in daemon.text


def test_cli_329_a_key_that_others_can_read_is_a_fault_with_its_remedy(home: Path) -> None:
    (home / "device.json").chmod(0o644)
    done = run_here("doctor", home=home)
    assert (done.code, done.err) == (1, "")
    assert f"chmod 600 {home / 'device.json'}" in done.out
    (home / "device.json").chmod(0o600)
    home.chmod(0o755)
    assert states(home)["permissions"] == "warning"


def test_cli_111_a_missing_home_does_not_hide_the_machine(tmp_path: Path) -> None:
    """CLI-330"""
    done = run_here("doctor", "--json", home=tmp_path / "nothing")
    assert done.code == 1
    found = {each["part"]: each for each in done.json["findings"]}
    assert "lottisync init" in found["home"]["text"]
    assert {"addresses", "multicast", "model"} <= set(found)


@pytest.mark.parametrize("file", ["journal.sqlite", "device.json", "space.sqlite"])
def test_cli_111_a_damaged_file_is_a_finding(home: Path, file: str) -> None:
    (home / file).write_bytes(b"no such thing" * 1000)
    done = run_here("doctor", "--json", home=home)
    assert done.code == 1
    assert file in done.out
    assert {"disk", "model"} & {each["part"] for each in done.json["findings"]}


@pytest.mark.parametrize("store", ["space", "journal", "agent"])
def test_cli_1103_a_missing_store_is_named_with_the_command_that_makes_it(home: Path, store: str) -> None:
    """CLI-1103, CLI-330: the clock was not looked at without `space`, and what to do was a command that failed, too."""
    for file in home.glob(f"{store}.sqlite*"):
        file.unlink()
    done = run_here("doctor", "--json", home=home)
    assert done.code == 1
    found = {each["part"]: each for each in done.json["findings"]}
    assert "init --missing" in found["stores"]["advice"], found
    assert found["clock"]["state"] == "good", found
    assert run_here("init", "--missing", home=home).code == 0
    assert "fault" not in states(home).values()


@pytest.mark.parametrize(("free", "state"), [(5 * 10**9, "good"), (10**8, "warning"), (10**6, "fault")])
def test_cli_110_little_room_is_said(free: int, state: str) -> None:
    found = doctor.disk(Path("/home/ada"), free)
    assert found.state == state
    assert (found.advice is None) is (state == "good")


YEAR = 365 * 24 * 3_600_000
NOON = 1_796_126_400_000
"""2026-12-01, 12:00 in UTC: a time that a clock may say (CAUS-17)."""


def away(why: Reason, error: str | None = None) -> PeerState:
    return PeerState(PHONE.device_id, "phone", away=Away(why, ""), failure=Sentence(error) if error else None)


def test_cli_110_each_way_a_device_can_stand(home: Path) -> None:
    opened = TaskHome.open(home)
    try:
        opened.members.add("phone", PHONE.certificate, clock.now())
        cases = [
            (PeerState(PHONE.device_id, "phone", connected=True), "good", "connected"),
            (away("version", error="it speaks 7"), "fault", "it speaks 7"),
            (away("no-address"), "warning", "no address"),
            (away("unreachable", error="timed out"), "warning", "timed out"),
        ]
        for peer, state, text in cases:
            [found] = doctor.devices(opened, DaemonStatus(1, 2, "", [peer]), 5)
            assert (found.state, text in found.text, found.advice is None) == (state, True, state == "good")
        assert doctor.devices(opened, None, 5)[0].state == "unknown"
        [own, theirs] = doctor.clocks(opened, DaemonStatus(1, 2, "", [PeerState("x", "phone", ahead="2099")]), NOON)
        assert (own.state, theirs.state) == ("good", "warning")
        off = [PeerState(name, name, clock_off=YEAR) for name in ("phone", "tablet")]
        own, *both = doctor.clocks(opened, DaemonStatus(1, 2, "", off), NOON)
        assert (own.state, "probably wrong" in own.text, len(both)) == ("fault", True, 2)
        late = DaemonStatus(1, 2, "", [PeerState("x", "phone", last_seen="2027-12-01T12:00:00.000Z")])
        assert doctor.clocks(opened, late, NOON)[0].state == "fault"
    finally:
        opened.close()


def test_relay_1245_the_relay_is_named_with_the_command_that_looks_at_it(home: Path, tmp_path: Path) -> None:
    """RELAY-1245: credentials that have expired, or that are gone, are a fault also while nobody asks the relay."""
    assert "relay" not in states(home)
    file, operator, now = tmp_path / "laptop.creds", nats_account.Operator(), clock.now() // 1000
    file.write_text(operator.credentials(3))
    url = "nats://ada:secret@127.0.0.1:9"
    assert run_here("relay", "set", url, "--credentials", str(file), home=home).code == 0
    for expires, state in ((None, "unknown"), (now + 60, "unknown"), (now - 60, "fault")):
        file.write_text(operator.credentials(3, expires))
        assert states(home)["relay"] == state
    file.unlink()
    done = run_here("doctor", home=home)
    assert (done.code, "lottisync relay doctor" in done.out, "secret" in done.out) == (1, True, False)


def test_cli_110_the_port_that_others_dial() -> None:
    assert doctor.port(DaemonStatus(1, DEFAULT_PORT, ""), free=False).advice is None
    assert "4711" in str(doctor.port(DaemonStatus(1, 4711, ""), free=True).advice)
    assert doctor.port(None, free=True).state == "good"
    assert doctor.port(None, free=False).state == "warning"
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert not is_free(other.getsockname()[1])


def test_cli_110_a_network_where_no_device_is_heard() -> None:
    assert doctor.addresses([LOOPBACK]).state == "warning"
    assert doctor.addresses([LOOPBACK, WIFI]).text == WIFI.host
    assert doctor.multicast([LOOPBACK], lambda host: True).state == "unknown"
    assert doctor.multicast([LOOPBACK, WIFI], lambda host: True).state == "good"
    silent = doctor.multicast([LOOPBACK, WIFI], lambda host: False)
    assert (silent.state, WIFI.host in silent.text) == ("warning", True)
    assert not is_heard("192.0.2.1", bytes(16))


def test_cli_112_the_model_is_connected_to_and_nothing_is_sent() -> None:
    assert doctor.model({}).state == "unknown"
    assert doctor.model({"LOTTISYNC_MODEL_URL": "nonsense"}).state == "fault"
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert doctor.model({"LOTTISYNC_MODEL_URL": url, "HTTP_PROXY": "http://proxy"}).state == "good"
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1) == b""
    assert doctor.model({"LOTTISYNC_MODEL_URL": url}).state == "warning"
    far = {"LOTTISYNC_MODEL_URL": "http://model.example/v1", "HTTP_PROXY": "http://proxy"}
    assert doctor.model(far).state == "unknown"


def test_cli_1012_what_is_looked_at_is_said_in_the_readers_language(home: Path) -> None:
    """CLI-1012: the parts and how they stand were English in every language."""
    assert {*states(home)} <= {*PARTS}
    shown = run_here("doctor", "--language", "de", home=home).out
    assert "Zugriffsrechte  gut" in shown
    assert run_here("check", "--language", "de", home=home).out.count("unversehrt") == 3
