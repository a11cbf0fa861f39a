"""Discovery on loopback."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import anyio
import pytest
from tests.support.event_loop import until
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from lottisync.net import discovery, interfaces
from lottisync.net.address import Address
from lottisync.net.discovery import Announcement, DiscoveredService, discovering, spoken_on
from lottisync.net.interfaces import Interface

pytestmark = pytest.mark.anyio
HERE = "127.0.0.1"
LOOPBACK = Interface(HERE, "", 1)


def named(role: str, port: int, name: str, digit: str = "") -> Announcement:
    return Announcement(role, port, lambda: name, digit)


async def test_net_9_two_that_announce_themselves_find_each_other_and_hear_the_goodbye() -> None:
    first, second = "aa" * 16, "bb" * 16
    seen: tuple[dict[str, DiscoveredService], dict[str, DiscoveredService]] = ({}, {})
    lost: list[str] = []

    def note(place: int) -> Callable[[DiscoveredService], None]:
        return lambda found: seen[place].__setitem__(found.name, found)

    async with discovering(HERE, named("sync", 4711, first), note(0), lost.append):
        async with discovering(HERE, named("pair", 4712, second, "7"), note(1)):
            await until(lambda: second in seen[0] and first in seen[1], "to find each other")
        await until(lambda: second in lost, "the goodbye")
    assert seen[0][second] == DiscoveredService(second, "pair", (Address(HERE, 4712),), "7")
    assert seen[1][first] == DiscoveredService(first, "sync", (Address(HERE, 4711),))
    # Nobody finds itself.
    assert first not in seen[0]
    assert second not in seen[1]


async def test_meet_9_a_name_that_is_not_recognised_is_asked_nothing() -> None:
    ours, stranger = "aa" * 16, "bb" * 16
    names: list[str] = []
    found: list[DiscoveredService] = []

    def asks(name: str) -> bool:
        names.append(name)
        return name == ours

    async with (
        discovering(HERE, named("sync", 4715, stranger), lambda found: None),
        discovering(HERE, named("sync", 4716, ours), lambda found: None),
        discovering(HERE, None, found.append, asks=asks),
    ):
        await until(lambda: {ours, stranger} <= set(names) and found)
    assert {each.name for each in found} == {ours}


async def test_meet_8_a_second_announcement_has_another_name() -> None:
    names = iter(["aa" * 16, "bb" * 16])
    found: list[str] = []
    lost: list[str] = []
    announcement = Announcement("sync", 4717, lambda: next(names))
    async with (
        discovering(HERE, None, lambda service: found.append(service.name), lost.append),
        discovering(HERE, announcement, lambda found: None) as again,
    ):
        await until(lambda: "aa" * 16 in found)
        again()
        await until(lambda: "bb" * 16 in found and "aa" * 16 in lost)


PAIR_ELSEWHERE = """
import sys
import anyio
from lottisync.net.discovery import Announcement, discovering

async def main():
    met = anyio.Event()
    async with discovering("127.0.0.1", Announcement("sync", 4715, lambda: "ee" * 16), lambda found: None):
        async with discovering("127.0.0.1", Announcement("sync", 4716, lambda: "ff" * 16), lambda found: met.set()):
            await met.wait()
            print("met", end="", flush=True)
            await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(main)
"""


async def test_net_13_programs_with_another_service_are_not_found() -> None:
    """Two of them announce themselves here: they find each other, and are not found by others."""
    environment = os.environ | {"LOTTISYNC_SERVICE": "lt-elsewhere"}
    call = [sys.executable, "-c", PAIR_ELSEWHERE]
    found: list[str] = []
    async with await anyio.open_process(call, env=environment, stderr=None) as elsewhere:
        assert elsewhere.stdout is not None
        assert elsewhere.stdin is not None
        assert await elsewhere.stdout.receive() == b"met"
        announced = named("sync", 4717, "aa" * 16)
        async with (
            discovering(HERE, None, lambda service: found.append(service.name)),
            discovering(HERE, announced, lambda service: None),
        ):
            await until(lambda: "aa" * 16 in found)
        await elsewhere.stdin.aclose()
    assert set(found) == {"aa" * 16}


def test_net_13_the_service_is_taken_from_the_environment() -> None:
    program = "from lottisync.net import discovery; print(discovery.SERVICE)"
    plain = {name: value for name, value in os.environ.items() if name != "LOTTISYNC_SERVICE"}
    for environment, service in (
        (plain, "_lottisync._tcp.local."),
        (plain | {"LOTTISYNC_SERVICE": "lt-x"}, "_lt-x._tcp.local."),
    ):
        call = [sys.executable, "-c", program]
        done = subprocess.run(call, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.strip() == service


async def test_net_12_interfaces_that_change_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was started while the link was down never sees any device; so everything is made again."""
    here: list[Interface] = []
    looks: list[str] = []
    listening: list[Callable[[], None]] = []

    async def watching(changed: Callable[[], None]) -> None:
        listening.append(changed)
        await anyio.sleep_forever()

    def spoken(host: str) -> list[Interface]:
        looks.append(host)
        return list(here)

    monkeypatch.setattr(discovery, "spoken_on", spoken)
    monkeypatch.setattr(discovery, "watch", watching)
    found: list[str] = []
    async with discovering(HERE, named("sync", 4713, "cc" * 16), lambda found: None):
        await until(lambda: looks and listening, "the first look, and to watch the interfaces")
        here.append(LOOPBACK)
        listening[0]()
        async with discovering(HERE, None, lambda service: found.append(service.name)):
            await until(lambda: "cc" * 16 in found)


async def test_net_309_an_interface_that_went_away_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def vanishing(host: str) -> list[Interface]:
        nonlocal asked
        asked += 1
        return [Interface("192.0.2.1", "", 9)]  # nobody's, so it cannot be spoken on

    monkeypatch.setattr(discovery, "spoken_on", vanishing)
    monkeypatch.setattr(discovery, "RETRY_SECONDS", 0.01)
    async with discovering(HERE, named("sync", 4714, "dd" * 16), lambda found: None):
        await until(lambda: asked > 3)


@pytest.mark.parametrize("failing", [None, "async_register_service", "async_unregister_service"])
async def test_net_12_whatever_fails_the_sockets_are_closed(
    monkeypatch: pytest.MonkeyPatch, failing: str | None
) -> None:
    """They stayed open where the program stopped while they were opened, and where an interface had gone before the
    goodbye was said."""
    made: list[AsyncZeroconf] = []
    begun = anyio.Event()

    class Failing(AsyncZeroconf):
        def __init__(self, *, interfaces: list[str]) -> None:
            super().__init__(interfaces=interfaces)
            made.append(self)
            begun.set()

    async def fail(self: AsyncZeroconf, *arguments: object, **options: object) -> None:
        raise OSError(19, "no such device")

    if failing is not None:
        monkeypatch.setattr(Failing, failing, fail)
    monkeypatch.setattr(discovery, "AsyncZeroconf", Failing)
    async with discovering(HERE, named("sync", 4716, "cc" * 16), lambda found: None):
        await begun.wait()
    assert [each.zeroconf.done for each in made] == [True]


def test_net_8_where_mdns_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """On each interface once in each family, from its link-local address if it has one."""
    ethernet = [Interface("192.0.2.2", "", 2), Interface("2001:db8::2", "", 2), Interface("fe80::2", "eth0", 2)]
    monkeypatch.setattr(interfaces, "interfaces", lambda: [LOOPBACK, Interface("::1", "", 1), *ethernet])
    assert spoken_on("::") == [ethernet[0], ethernet[2]]
    assert spoken_on("0.0.0.0") == [ethernet[0]]
    assert spoken_on(HERE) == [LOOPBACK]
    assert spoken_on("::1") == []


def test_net_7_an_announcement_holds_no_name() -> None:
    name = f"{'aa' * 16}.{discovery.SERVICE}"
    info = discovery._info([LOOPBACK], named("sync", 4711, "aa" * 16), name)
    assert info.properties == {b"role": b"sync", b"v": b"1"}
    info = discovery._info([LOOPBACK], named("pair", 4711, "aa" * 16, "7"), name)
    assert info.properties == {b"role": b"pair", b"v": b"1", b"digit": b"7"}
    assert (info.name, info.server) == (name, f"{'aa' * 16}.local.")


def test_meet_45_what_is_heard_of_a_link_local_address_names_the_interface() -> None:
    info = AsyncServiceInfo(
        discovery.SERVICE,
        f"x.{discovery.SERVICE}",
        22067,
        addresses=[socket.inet_pton(socket.AF_INET6, "fe80::1")],
        interface_index=1,
    )
    [address] = discovery._found(f"x.{discovery.SERVICE}", info).addresses
    assert address == Address(f"fe80::1%{socket.if_indextoname(1)}", 22067)
