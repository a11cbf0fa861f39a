"""Pairing from a program."""

from pathlib import Path

import anyio
import pytest

from lottisync.device.home import Home
from lottisync.device.pairing import listens_at, offering, own_side, pair
from lottisync.device.peers import remember_listening
from lottisync.identity.pairing_message import PairingError
from lottisync.net import interfaces
from lottisync.net.address import Address
from lottisync.net.interfaces import Interface

HERE = Address("127.0.0.1", 0)


def homes(folder: Path) -> tuple[Home, Home]:
    return Home.create(folder / "laptop", "laptop"), Home.create(folder / "phone", "phone")


def test_two_devices_know_each_other_afterwards(tmp_path: Path) -> None:
    laptop, phone = homes(tmp_path)

    async def scenario() -> None:
        async with offering(laptop, HERE, discover=False) as offer:
            there = await pair(phone, offer.code, at=Address("127.0.0.1", offer.port))
            here = await offer.paired()
        assert there.words == here.words
        assert (there.peer_name, here.peer_name) == ("laptop", "phone")

    anyio.run(scenario)
    for home in (laptop, phone):
        assert {member.name for member in home.roster().active_peers()} == {"laptop", "phone"} - {home.name}
        home.close()


def test_a_wrong_code_pairs_no_device(tmp_path: Path) -> None:
    laptop, phone = homes(tmp_path)

    async def scenario() -> None:
        async with offering(laptop, HERE, discover=False) as offer:
            wrong = f"{offer.code[:-1]}{(int(offer.code[-1]) + 1) % 10}"
            with pytest.raises(PairingError):
                await pair(phone, wrong, at=Address("127.0.0.1", offer.port))

    anyio.run(scenario)
    assert list(laptop.roster().active_peers()) == list(phone.roster().active_peers()) == []
    laptop.close()
    phone.close()


@pytest.mark.parametrize(
    ("listening", "met", "ways", "port"),
    [
        ("::", "192.0.2.9", ["tcp://192.0.2.7:4000", "tcp://[2001:db8::7]:4000"], 4000),
        ("0.0.0.0", "2001:db8::7", ["tcp://192.0.2.7:4000"], 0),
        ("192.0.2.7", "192.0.2.7", ["tcp://192.0.2.7:4000"], 4000),
        ("192.0.2.7", "127.0.0.1", ["tcp://192.0.2.7:4000"], 0),
        ("127.0.0.1", "127.0.0.1", [], 4000),
        ("127.0.0.1", "192.0.2.7", [], 0),
    ],
)
def test_meet_40_what_is_handed_over_is_what_is_listened_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listening: str, met: str, ways: list[str], port: int
) -> None:
    """A daemon with `--listen 192.168.1.5:22067` handed over the addresses of all its interfaces."""
    here = [Interface(host, "", 2) for host in ("192.0.2.7", "2001:db8::7")] + [Interface("127.0.0.1", "", 1)]
    monkeypatch.setattr(interfaces, "interfaces", lambda: here)
    home = Home.create(tmp_path / "laptop", "laptop")
    remember_listening(home.space, Address(listening, 4000), 1)
    handed = own_side(home).introduce(met)
    home.close()
    assert (sorted(handed.ways), handed.port) == (ways, port)


def test_meet_40_a_device_that_never_ran_hands_over_the_usual_port(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "laptop", "laptop")
    assert listens_at(home) == Address("::", 22067)
    home.close()
