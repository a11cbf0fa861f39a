"""Syncing from a program."""

import socket
from pathlib import Path

import anyio
import pytest

from lottisync.device.home import Home
from lottisync.net.address import Address
from lottisync.problem import Problem
from lottisync.sync.syncing import syncing


def test_an_address_that_is_taken_is_a_sentence(tmp_path: Path) -> None:
    """It was a group of errors. The home is free again after it."""

    async def scenario(home: Home, port: int) -> None:
        with pytest.raises(Problem, match=r"cannot listen on 127\.0\.0\.1"):
            async with syncing(home, Address("127.0.0.1", port), discover=False):
                pytest.fail("it listens")
        async with syncing(home, Address("127.0.0.1", 0), discover=False):
            pass

    with Home.create(tmp_path / "home", "laptop") as home, socket.create_server(("127.0.0.1", 0)) as taken:
        anyio.run(scenario, home, taken.getsockname()[1])
