"""`pair --invite`, `pair URI`, `LOTTISYNC_INVITE` at `init`, and `devices address`: MEET-5, MEET-21 to MEET-25."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.command_line import contents, run, run_here, started
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS

from lottisync.cli.paired import listens_at
from lottisync.daemon.home import TaskHome
from lottisync.device.peers import remembered_addresses
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.invitation import Invitation, parse_invitation
from lottisync.net.address import Address


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("laptop", "phone"):
        assert run_here("init", "--name", name, home=tmp_path / name).code == 0
    return tmp_path / "laptop", tmp_path / "phone"


@contextmanager
def invited(home: Path, *more: str) -> Iterator[str]:
    """A device that shows an invitation, until it was used."""
    with started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", *more, home=home) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["uri"]


def names(home: Path) -> set[str]:
    return {row["name"] for row in run_here("devices", "--json", home=home).json["devices"]}


def test_meet_21_an_invitation_pairs_two_devices_and_is_used_up(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """MEET-306: no daemon runs here, so the command answers."""
    laptop, phone = homes
    with started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", home=laptop) as process:
        assert process.stdout is not None
        uri = json.loads(process.stdout.readline())["uri"]
        done = run("pair", uri, "--json", home=phone)
        assert done.code == 0, done
        assert json.loads(process.stdout.readline())["words"] == done.json["words"]
        assert process.wait(BOUND_SECONDS) == 0
    assert names(laptop) == names(phone) == {"laptop", "phone"}
    # The invitation has told the phone where the laptop's daemon will be.
    opened = TaskHome.open(phone)
    assert "127.0.0.1" in {address.host for address in remembered_addresses(opened.space, done.json["id"])}
    opened.close()
    again = run("pair", uri, home=phone)
    assert (again.code, "no daemon runs there" in again.err) == (1, True)


def test_meet_31_a_daemon_answers_an_invitation_whose_command_has_ended(homes: tuple[Path, Path]) -> None:
    """MEET-32, MEET-307, MEET-308"""
    laptop, phone = homes
    refused = run_here("pair", "--invite", "--no-wait", home=laptop)
    assert (refused.code, "no daemon runs here" in refused.err) == (1, True)
    with daemon(laptop) as running:
        with started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", home=laptop) as waiting:
            assert waiting.stdout is not None
            first = json.loads(waiting.stdout.readline())
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(BOUND_SECONDS) == 130
        second = run("pair", "--invite", "--no-wait", "--json", "--listen", "127.0.0.1:0", home=laptop).json
        assert run_here("pair", "--take-back", str(second["number"]), home=laptop).code == 0
        assert "has expired" in run("pair", second["uri"], home=phone).err
        assert run("pair", first["uri"], home=phone).code == 0
        assert running.event("joined")["text"] == f"phone joined by invitation {first['number']}"
        assert "has paired a device already" in run("pair", first["uri"], home=phone).err
        listed = run_here("pair", "--invitations", "--json", home=laptop)
        assert [(row["state"], row["deviceName"]) for row in listed.content] == [("used", "phone"), ("expired", None)]
        seen = run_here("status", home=laptop)
        assert f"Invitation {first['number']}: phone joined at" in seen.out
        secret = first["uri"].partition("secret=")[2].partition("&")[0]
        assert all(secret not in text for text in (listed.out, seen.out, str(running.events)))


def test_meet_31_a_waiting_command_hears_which_device_joined_by_the_daemon(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    with daemon(laptop), started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", home=laptop) as waiting:
        assert waiting.stdout is not None
        uri = json.loads(waiting.stdout.readline())["uri"]
        joined = run("pair", uri, "--json", home=phone)
        answer = json.loads(waiting.stdout.readline())
        assert (answer["name"], answer["words"]) == ("phone", joined.json["words"])
        assert waiting.wait(BOUND_SECONDS) == 0


def test_cli_952_the_reason_of_a_taken_port_is_in_the_readers_language(homes: tuple[Path, Path]) -> None:
    """CLI-952: the system's own English words stood in a German sentence."""
    laptop, _ = homes
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        for call in (("--invite",), ()):
            refused = run_here("pair", *call, "--listen", where, "--language", "de", home=laptop)
            assert refused.code == 1
            assert "die Adresse ist schon in Gebrauch" in refused.err


def test_meet_31_a_port_that_is_taken_ends_the_command_and_the_invitation(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run_here("pair", "--invite", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", home=laptop)
    assert (refused.code, "cannot listen on" in refused.err) == (1, True)
    assert [row["state"] for row in run_here("pair", "--invitations", "--json", home=laptop).content] == ["expired"]


def test_meet_23_a_device_of_another_fingerprint_is_named_and_learns_nothing(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    before = contents(phone)
    with invited(laptop) as uri:
        real = parse_invitation(uri)
        other = Invitation(DeviceKey.from_seed(b"o" * 32).device_id, real.secret, real.until, real.at)
        refused = run("pair", other.uri, home=phone)
        assert refused.code == 1
        assert "is not the one that made the invitation" in refused.err
        assert contents(phone) == before
        # It is as good as before.
        assert run("pair", uri, home=phone).code == 0


def test_meet_25_a_device_that_is_set_up_by_a_script_joins_by_itself(
    homes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = homes
    with invited(laptop) as uri:
        monkeypatch.setenv("LOTTISYNC_INVITE", uri)
        done = run("init", "--name", "server", "--json", home=tmp_path / "server")
        assert (done.code, done.json["peerName"]) == (0, "laptop")
    monkeypatch.delenv("LOTTISYNC_INVITE")
    assert names(tmp_path / "server") == {"laptop", "server"}
    assert names(laptop) == {"laptop", "server"}


@pytest.mark.parametrize("uri", ["lottisync://invite/1?device=x", "used"])
def test_meet_25_an_invitation_that_is_not_valid_leaves_no_home(
    homes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    gone = Invitation(DeviceKey.from_seed(b"o" * 32).device_id, bytes(16), 0, ("127.0.0.1:1",)).uri
    monkeypatch.setenv("LOTTISYNC_INVITE", gone if uri == "used" else uri)
    refused = run("init", "--name", "server", home=tmp_path / "server")
    assert refused.code in (1, 2)
    assert "invitation" in refused.err
    assert not (tmp_path / "server").exists()


def test_meet_25_a_folder_that_was_there_stays_when_an_invitation_is_not_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has made it, perhaps with rights of its own."""
    gone = Invitation(DeviceKey.from_seed(b"o" * 32).device_id, bytes(16), 0, ("127.0.0.1:1",)).uri
    monkeypatch.setenv("LOTTISYNC_INVITE", gone)
    (tmp_path / "server").mkdir()
    refused = run_here("init", "--name", "server", home=tmp_path / "server")
    assert refused.code == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "server"]
    assert list((tmp_path / "server").iterdir()) == []


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (("192.168.1",), "this is not a whole invitation (192.168.1 is not an address)"),
        (("127.0.0.1:1", "192.168.1"), "at 127.0.0.1:1 (192.168.1 is not an address: is the invitation whole?)"),
    ],
)
def test_meet_21_an_invitation_whose_last_address_is_cut_off_says_so(
    tmp_path: Path, at: tuple[str, ...], said: str
) -> None:
    """Before, it said that no device answers, and named no address."""
    assert run_here("init", "--name", "phone", home=tmp_path / "phone").code == 0
    cut = Invitation(DeviceKey.from_seed(b"o" * 32).device_id, bytes(16), 0, at).uri
    refused = run_here("pair", cut, home=tmp_path / "phone")
    assert refused.code == 1
    assert said in refused.err


def test_meet_20_for_people_there_is_a_qr_code(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    with started("pair", "--invite", "--listen", "127.0.0.1:0", home=laptop) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(20)]
    assert "lottisync pair 'lottisync://invite/1?device=" in lines[0]
    assert any("▄" in line for line in lines)


def test_cli_3_an_address_without_a_code_is_refused_at_once(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    for call, word in (
        (("pair", "--at", "127.0.0.1:1"), "--at goes with the CODE"),
        (("pair", "123-456-789", "--invite"), "go without a CODE"),
        (("pair", "--no-wait"), "goes with --invite"),
        (("pair", "--listen", "2001:db8::1:22067"), "in brackets"),
    ):
        refused = run_here(*call, home=laptop)
        assert refused.code == 2
        assert word in refused.err


def test_meet_5_an_address_is_entered_and_taken_away(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    opened = TaskHome.open(laptop)
    opened.members.add("phone", TaskHome.open(phone).key.certificate, 1)
    opened.close()
    call = ("devices", "address", "phone")
    assert run_here(*call, "Phone.Tailnet.example:22067", home=laptop).out == (
        "phone is looked for at phone.tailnet.example:22067, too.\n"
    )
    [row] = [row for row in run_here("devices", "--json", home=laptop).json["devices"] if row["name"] == "phone"]
    assert [(each["address"], each["sources"]) for each in row["addresses"]] == [
        ("phone.tailnet.example:22067", ["given"])
    ]
    assert "phone.tailnet.example:22067  added by hand, never worked from here" in run_here("devices", home=laptop).out
    assert run_here(*call, "--remove", "phone.tailnet.example:22067", home=laptop).code == 0
    before = contents(laptop)
    for refused, word in (
        (run_here(*call, "--remove", "phone.tailnet.example:22067", home=laptop), "was not entered"),
        (run_here(*call, "phone:0", home=laptop), "1 to 65535"),
        (run_here(*call, home=laptop), "either HOST:PORT or --remove"),
        (run_here("devices", "address", "nobody", "a:1", home=laptop), "nobody"),
    ):
        assert refused.code != 0
        assert word in refused.err
    assert contents(laptop) == before


def test_meet_32_without_an_invitation_it_says_how_to_make_one(homes: tuple[Path, Path]) -> None:
    assert "Make one: lottisync pair --invite" in run_here("pair", "--invitations", home=homes[0]).out
    refused = run_here("pair", "--take-back", "1", home=homes[0])
    assert (refused.code, "no open invitation 1. See: lottisync pair --invitations" in refused.err) == (1, True)


def test_meet_46_what_is_not_a_machine_is_refused_with_a_sentence(homes: tuple[Path, Path]) -> None:
    laptop, phone = homes
    opened = TaskHome.open(laptop)
    opened.members.add("phone", TaskHome.open(phone).key.certificate, 1)
    opened.close()
    for text in ("0.0.0.0:22067", "[::]:22067", "224.0.0.1:22067", "255.255.255.255:1", "a:0", "[fe80::1%25eth0]:1"):
        refused = run_here("devices", "address", "phone", text, home=laptop)
        assert (refused.code, "the address of phone: " in refused.err) == (2, True), text
    said = run_here("devices", "address", "phone", "[fe80::1%eth0]:22067", home=laptop)
    assert said.out == "phone is looked for at [fe80::1]:22067, too, on every interface.\n"


def test_meet_40_an_invitation_and_a_code_are_shown_where_the_daemon_listens(homes: tuple[Path, Path]) -> None:
    """MEET-300: Both listened on all interfaces, and the invitation named them all."""
    laptop, _ = homes
    with daemon(laptop):
        made = run("pair", "--invite", "--no-wait", "--json", home=laptop).json
        assert [at.rpartition(":")[0] for at in parse_invitation(made["uri"]).at] == ["127.0.0.1"]
    # And so it is while none runs; unless the settings say otherwise.
    opened = TaskHome.open(laptop)
    assert listens_at(opened).host == "127.0.0.1"
    (laptop / "config.toml").write_text('listen = "127.0.0.2:4000"\n')
    assert listens_at(opened) == Address("127.0.0.2", 4000)
    opened.close()


def test_meet_32_an_invitation_that_has_ended_does_not_read_as_if_it_were_good(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    with daemon(laptop):
        made = run("pair", "--invite", "--no-wait", "--json", home=laptop).json
        run("pair", "--take-back", str(made["number"]), home=laptop)
        listed = run("pair", "--invitations", home=laptop).out
        assert "ended" in listed
        assert "until" not in listed


def test_meet_31_without_a_daemon_no_wait_is_explained_once(homes: tuple[Path, Path]) -> None:
    assert run_here("pair", "--invite", "--no-wait", home=homes[0]).err.count("--no-wait") == 1
