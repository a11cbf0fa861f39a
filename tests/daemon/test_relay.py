"""The daemons of two devices that are never up at the same time, and `relay`, on a real server."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.support import rounds
from tests.support.command_line import eventually, run_here
from tests.support.daemons import daemon, introduce
from tests.support.nats_server import WHERE, Server

import lottisync as ls
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.home import Home
from lottisync.relay import setting
from lottisync.relay.circle import Circle
from lottisync.relay.jetstream import JetStream

pytestmark = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "server")
    yield started
    started.stop()


@pytest.fixture
def homes(tmp_path: Path, server: Server) -> list[Path]:
    """Laptop and phone, paired; the relay was set on one of them before they met for the only time."""
    homes = [TaskHome.create(tmp_path / name, name) for name in ("laptop", "phone")]
    setting.write(homes[0].space, server.url, bytes(range(16)), clock.now())
    introduced(*homes)
    for home in homes:
        home.close()
    return [tmp_path / "laptop", tmp_path / "phone"]


def introduced(one: Home, other: Home) -> None:
    """They were paired, and connected once."""
    both = (one, other), (other, one)
    for each, peer in both:
        each.members.add(peer.name, peer.key.certificate, clock.now())
        Circle(each).announce(clock.now())  # as their daemons do when they start
    for each, peer in both:
        rounds.pull(each, peer, clock.now(), ["space"])


def messages(server: Server) -> int:
    """How many messages of logs lie there."""

    async def count() -> int:
        relay = await JetStream.connect(setting.RelaySetting(server.url, bytes(range(16))), bytes(8))
        try:
            return sum(name.channel == "log" for name in await relay.names())
        finally:
            await relay.close()

    return anyio.run(count)


def titles(home: Path) -> list[str]:
    return [task["title"] for task in run_here("task", "list", "--json", home=home).json["tasks"]]


def test_relay_46_daemons_that_are_never_up_together_share_tasks(homes: list[Path], server: Server) -> None:
    """RELAY-46, RELAY-45"""
    laptop, phone = homes
    assert run_here("task", "add", "Repair the bicycle", home=laptop).code == 0
    with daemon(laptop):
        eventually(lambda: messages(server) >= 1, "the laptop's visit")
    with daemon(phone):
        eventually(lambda: titles(phone) == ["Repair the bicycle"], "the phone's visit")
        before = messages(server)
        assert run_here("task", "add", "Buy milk", home=phone).code == 0
        eventually(lambda: messages(server) > before, "the change of the phone")
    shown = run_here("relay", "status", "--json", home=laptop).json
    assert (shown["url"], [each["name"] for each in shown["devices"]]) == (server.url, ["phone"])
    assert sorted(titles(laptop)) == ["Buy milk", "Repair the bicycle"]


def test_relay_1044_connected_devices_that_visit_a_relay_as_well_share_each_change_once(
    homes: list[Path], server: Server
) -> None:
    """RELAY-1044: the change is there by the connection, while the relay is stopped, and comes by the relay as well."""
    laptop, phone = homes
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone) as second:
            second.event("connected")
            eventually(lambda: messages(server) >= 1, "a visit")
            server.stop()
            assert run_here("task", "add", "Repair the bicycle", home=laptop).code == 0
            eventually(lambda: titles(phone) == ["Repair the bicycle"], "the change, by the connection")
            server.start()
            before = messages(server)
            eventually(lambda: messages(server) > before, "the change, at the relay")
            assert run_here("task", "add", "Buy milk", home=phone).code == 0
            eventually(lambda: len(titles(laptop)) == 2, "the other change")
    for home in homes:
        assert sorted(titles(home)) == ["Buy milk", "Repair the bicycle"]
        assert not run_here("conflicts", "--json", home=home).json["conflicts"]
    shown = run_here("relay", "status", "--json", home=laptop).json
    assert [(each["lacking"], each["differs"]) for each in shown["devices"]] == [(0, False)]


class Recipe(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""


COOKBOOK = ls.schema("cookbook", [ls.EntityType("recipe", Recipe)])


def test_relay_43_a_program_s_own_store_travels_like_ours(tmp_path: Path, server: Server) -> None:
    """RELAY-43: two programs on the library, whose homes the daemon brings to the relay; they are never up together."""
    devices = [ls.open(tmp_path / name, name=name, schemas=[COOKBOOK]) for name in ("laptop", "phone")]
    with closing(TaskHome.open(devices[0].path)) as home:  # as the command does that sets a relay
        setting.write(home.space, server.url, bytes(range(16)), clock.now())
    introduced(*devices)
    with devices[0].write("cookbook", ls.HIGH) as tx:
        soup = tx.add(Recipe(title="Soup"))
    for device in devices:
        device.close()
    with daemon(tmp_path / "laptop"):
        eventually(lambda: messages(server) >= 1, "the laptop's visit")
    with daemon(tmp_path / "phone"):
        eventually(lambda: "cookbook" in filled_stores(tmp_path / "phone"), "the phone's visit")
    phone = ls.open(tmp_path / "phone", name="phone", schemas=[COOKBOOK])
    with phone.read("cookbook") as book:
        assert book.get(soup, Recipe) == Recipe(soup, "Soup")
    phone.close()


def filled_stores(home: Path) -> set[str]:
    """The stores of a home that hold something."""
    stores = run_here("status", "--json", home=home).json["stores"]
    return {name for name, store in stores.items() if store["entities"] > 0}


def test_relay_46_status_says_how_devices_stand_and_off_ends_it(homes: list[Path], server: Server) -> None:
    """RELAY-46"""
    laptop, _ = homes
    said = run_here("relay", "status", home=laptop)
    assert (said.code, "nothing was ever heard of phone" in said.out) == (0, True)
    assert "No relay is used any more" in run_here("relay", "off", home=laptop).out
    assert "No relay is used. Set one" in run_here("relay", "status", home=laptop).out
    assert run_here("relay", "off", home=laptop).code == 0


def test_relay_1246_status_says_whether_the_relay_is_reached(homes: list[Path], server: Server) -> None:
    """RELAY-1246: also why not, in the daemon's words, and nothing where none is used."""
    laptop, _ = homes

    def relay() -> dict[str, Any]:
        found: dict[str, Any] = run_here("status", "--json", home=laptop).json["relay"]
        return found

    assert relay() == {"url": server.url, "stateSince": None, "failure": None}
    assert f"{server.url}, which a daemon visits" in run_here("status", home=laptop).out
    with daemon(laptop):
        eventually(lambda: relay()["stateSince"] is not None, "a visit")
        reached = relay()["stateSince"]
        assert f"{server.url}, reached since" in run_here("status", home=laptop).out
        server.stop()
        eventually(lambda: "no server answers there" in (relay()["failure"] or ""), "a visit that fails")
        assert relay()["stateSince"] > reached
        said = run_here("status", home=laptop).out
        assert "not reached since" in said
        assert "lottisync relay doctor" in said
        server.start()
        eventually(lambda: relay()["failure"] is None, "a visit")
        assert run_here("relay", "off", home=laptop).code == 0
        assert relay() is None


@pytest.mark.parametrize("command", [("off",), ("set", "nats://127.0.0.1:9")])
def test_relay_1244_a_device_without_a_daemon_leaves_word_at_the_relay_that_it_leaves(
    homes: list[Path], server: Server, command: tuple[str, ...]
) -> None:
    """RELAY-1244: the phone comes to the old relay alone. Where that is away, the person is told."""
    laptop, phone = homes
    assert run_here("relay", *command, home=laptop).code == 0
    assert run_here("relay", "status", home=phone).code == 0
    left = run_here("relay", "status", "--json", home=phone)
    assert server.url not in left.out + left.err
    other, away = "nats://127.0.0.1:10", "nats://127.0.0.1:9"
    run_here("relay", "set", away, home=laptop)
    assert f"No word of it could be left at {away}" in run_here("relay", "set", other, home=laptop).out
    assert "No word" not in run_here("relay", "set", other, home=laptop).out
    assert f"No word of it could be left at {other}" in run_here("relay", "off", home=laptop).out


def test_relay_46_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    """RELAY-46, RELAY-894"""
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    home = tmp_path / "laptop"
    url = tmp_path / "url"
    url.write_text("nats://ada:secret@127.0.0.1:9\n")
    assert run_here("relay", "set", home=home).code == 2
    done = run_here("relay", "set", "--from", str(url), home=home)
    assert (done.code, "secret" in done.out) == (0, False)
    failed = run_here("relay", "status", home=home)
    assert failed.code == 1
    assert "nats://127.0.0.1:9 cannot be used: no server answers there" in failed.err
    assert "lottisync relay doctor" in failed.err
    assert "secret" not in failed.err
    assert run_here("relay", "set", "http://relay.example", home=home).code != 0
