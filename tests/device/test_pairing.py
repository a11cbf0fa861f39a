"""Pairing from a program."""

from pathlib import Path

import anyio
import pytest

from lottisync.device.home import Home
from lottisync.device.pairing import offering, pair
from lottisync.identity.pairing import PairingError
from lottisync.net.address import Address

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


def test_a_wrong_code_pairs_nobody(tmp_path: Path) -> None:
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
