"""Discovery on loopback."""

import os
import subprocess
import sys
from collections.abc import Callable

import anyio
import pytest
from tests.support.household import until

from lottisync.net import discovery
from lottisync.net.discovery import Address, Announcement, Found, discovering, interfaces

pytestmark = pytest.mark.anyio
HERE = "127.0.0.1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_net_9_two_that_announce_themselves_find_each_other_and_hear_the_goodbye() -> None:
    first, second = Announcement("sync", 4711, "aa" * 8), Announcement("pair", 4712, "bb" * 8, "7")
    seen: tuple[dict[str, Found], dict[str, Found]] = ({}, {})
    lost: list[str] = []

    def note(place: int) -> Callable[[Found], None]:
        return lambda found: seen[place].__setitem__(found.nonce, found)

    async with discovering(HERE, first, note(0), lost.append):
        async with discovering(HERE, second, note(1)):
            await until(lambda: second.nonce in seen[0] and first.nonce in seen[1], "to find each other")
        await until(lambda: second.nonce in lost, "the goodbye")
    assert seen[0][second.nonce] == Found(second.nonce, "pair", (Address(HERE, 4712),), "7")
    assert seen[1][first.nonce] == Found(first.nonce, "sync", (Address(HERE, 4711),))
    # Nobody finds itself.
    assert first.nonce not in seen[0]
    assert second.nonce not in seen[1]


PAIR_ELSEWHERE = """
import sys
import anyio
from lottisync.net.discovery import Announcement, discovering

async def main():
    met = anyio.Event()
    async with discovering("127.0.0.1", Announcement("sync", 4715, "ee" * 8), lambda found: None):
        async with discovering("127.0.0.1", Announcement("sync", 4716, "ff" * 8), lambda found: met.set()):
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
        announced = Announcement("sync", 4717, "aa" * 8)
        async with (
            discovering(HERE, None, lambda service: found.append(service.nonce)),
            discovering(HERE, announced, lambda service: None),
        ):
            await until(lambda: announced.nonce in found)
        await elsewhere.stdin.aclose()
    assert set(found) == {announced.nonce}


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
    """An instance that was started while the link was down never sees anybody; it is made anew."""
    here: list[str] = []
    monkeypatch.setattr(discovery, "interfaces", lambda host: list(here))
    monkeypatch.setattr(discovery, "WATCH_SECONDS", 0.01)
    announcement = Announcement("sync", 4713, "cc" * 8)
    found: list[str] = []
    async with discovering(HERE, announcement, lambda found: None):
        here.append(HERE)
        async with discovering(HERE, None, lambda service: found.append(service.nonce)):
            await until(lambda: announcement.nonce in found)


async def test_net_12_an_interface_that_went_away_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def vanishing(host: str) -> list[str]:
        nonlocal asked
        asked += 1
        return ["192.0.2.1"]  # nobody's, so it cannot be spoken on

    monkeypatch.setattr(discovery, "interfaces", vanishing)
    monkeypatch.setattr(discovery, "WATCH_SECONDS", 0.01)
    async with discovering(HERE, Announcement("sync", 4714, "dd" * 8), lambda found: None):
        await until(lambda: asked > 3)


def test_net_8_where_mdns_is_spoken() -> None:
    assert interfaces(HERE) == [HERE]
    assert interfaces("localhost") == [HERE]
    assert interfaces("::1") == []
    assert interfaces("no.such.host.invalid") == []
    assert all(not host.startswith("127.") for host in interfaces("0.0.0.0")) or interfaces("0.0.0.0") == [HERE]


def test_net_7_what_is_announced_names_nobody() -> None:
    info = discovery._info([HERE], Announcement("sync", 4711, "aa" * 8), f"{'aa' * 8}.{discovery.SERVICE}")
    assert info.properties == {b"role": b"sync", b"v": b"1"}
    info = discovery._info([HERE], Announcement("pair", 4711, "aa" * 8, "7"), f"{'aa' * 8}.{discovery.SERVICE}")
    assert info.properties == {b"role": b"pair", b"v": b"1", b"digit": b"7"}
    assert (info.name, info.server) == (f"{'aa' * 8}.{discovery.SERVICE}", f"{'aa' * 8}.local.")
