"""Two daemons that were paired by a code, without mDNS: MEET-6, MEET-26, and what was found before (REL-D3)."""

import json
import re
from pathlib import Path

from tests.support.command_line import eventually, run, run_here, started
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.addresses import renew
from lottisync.net.address import Address

ALONE = ("--no-discovery", "--listen", "127.0.0.1:0")


def test_meet_6_rel_d3_two_that_were_paired_by_a_code_meet_without_mdns(tmp_path: Path) -> None:
    """MEET-243: Pairing hands over the daemon's port. Before, it was forgotten, and the two never met."""
    laptop, phone = tmp_path / "laptop", tmp_path / "phone"
    for home in (laptop, phone):
        assert run_here("init", "--name", home.name, home=home).code == 0
    with daemon(laptop) as first, daemon(phone) as second:
        with started("pair", "--json", *ALONE, home=laptop) as showing:
            assert showing.stdout is not None
            shown = json.loads(showing.stdout.readline())
            assert run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", home=phone).code == 0
            assert showing.wait(BOUND_SECONDS) == 0
        first.event("connected")
        second.event("connected")
        eventually(lambda: run_here("status", "--json", home=laptop).json["peers"][0]["inStep"])


def test_meet_26_status_says_why_a_device_is_away(tmp_path: Path) -> None:
    """MEET-309"""
    home = tmp_path / "laptop"
    assert run_here("init", "--name", "laptop", home=home).code == 0
    with daemon(home):
        pass  # so that pairing hands over its port, and not the usual one, where another program may listen
    other = tmp_path / "phone"
    assert run_here("init", "--name", "phone", home=other).code == 0
    with started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", home=home) as showing:
        assert showing.stdout is not None
        assert run("pair", json.loads(showing.stdout.readline())["uri"], home=other).code == 0
        assert showing.wait(BOUND_SECONDS) == 0
    with daemon(other):
        eventually(lambda: "not reachable at" in run_here("status", home=other).out)
        [peer] = run_here("status", "--json", home=other).json["peers"]
        assert peer["away"]["reason"] == "unreachable"
        assert any(each["failure"] == "nothing listens there" for each in peer["addresses"])
        assert "nothing listens there" in run_here("devices", home=other).out
    # MEET-33, MEET-310: and when no daemon runs any more.
    said = r"not reachable at \S+.* since \S+ \S+, last tried \S+ \S+: nothing listens there"
    assert re.search(said, run_here("status", home=other).out)
    assert re.search(said, run_here("devices", home=other).out)


def test_meet_44_why_a_device_is_away_is_said_with_and_without_a_daemon(tmp_path: Path) -> None:
    """And MEET-47. `stopped` and `no-address` were forgotten when the daemon ended, and `devices` never said them."""
    laptop, phone, unheard = (tmp_path / name for name in ("laptop", "phone", "unheard-of"))
    for home in (laptop, phone, unheard):
        assert run_here("init", "--name", home.name, home=home).code == 0
    opened, other = TaskHome.open(laptop), TaskHome.open(unheard)
    opened.members.add("unheard-of", other.key.certificate, 1)
    other.close()
    opened.close()

    def said(home: Path) -> list[str]:
        return [run_here(command, home=home).out for command in ("status", "devices")]

    words = ("it was stopped at", "no address known. Add one: lottisync devices address unheard-of HOST:PORT")
    with daemon(laptop) as first:
        with daemon(phone), started("pair", "--invite", "--json", home=laptop) as showing:
            assert showing.stdout is not None
            assert run("pair", json.loads(showing.stdout.readline())["uri"], home=phone).code == 0
            first.event("connected")
        eventually(lambda: all(word in text for text in said(laptop) for word in words), "both reasons, twice")
        away = {
            peer["name"]: peer["away"]["reason"] for peer in run_here("status", "--json", home=laptop).json["peers"]
        }
        assert away == {"phone": "stopped", "unheard-of": "no-address"}
    assert all(word in text for text in said(laptop) for word in words)
    opened = TaskHome.open(laptop)
    renew(opened.space, opened.id, [Address("192.0.2.7", 4000)], b"s" * 16, clock.now())
    opened.close()
    assert "laptop  192.0.2.7:4000  named by itself" in run_here("devices", home=laptop).out
