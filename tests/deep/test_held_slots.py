"""Strangers hold slots at the ports of two devices, in random patterns, and the two link all the same.

Real sockets and real engines on loopback (docs/specs/05-store.md, section 19). The law in memory is
`tests/sync/test_held_slots.py`.

`HELD=n` says how many patterns are tried; `HELD_FIRST=n` with `HELD=1` repeats one that failed.
"""

import contextlib
import os
import random
import ssl
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream
from tests.support.engines import HERE, engine_of, introduce, running
from tests.support.event_loop import until
from tests.support.household import household, in_step
from tests.sync.test_held_slots import FEW, GONE, MANNERS, behave

from lottisync.device.addresses import give
from lottisync.net.address import Address
from lottisync.net.doorway import EACH, SLOTS

FIRST, COUNT = int(os.environ.get("HELD_FIRST", "0")), int(os.environ.get("HELD", "20"))
PAUSE_SECONDS = 0.3
BUSY = 4
"""Strangers that use the processor at once. They share it with the two engines: on a busy machine, hundreds of them
would leave none for a handshake of five seconds."""


async def stranger(ports: list[int], host: str, manner: str, chance: random.Random, turns: anyio.Semaphore) -> None:
    """Opens connections to the ports for ever, one after the other. What costs the processor time has its turn."""
    while True:
        await anyio.sleep(chance.uniform(0.1, 1) * PAUSE_SECONDS)
        with contextlib.suppress(*GONE, ssl.SSLError):
            async with turns:
                there = await anyio.connect_tcp(HERE, chance.choice(ports), local_host=host)
                if manner in ("garbage", "foreign key"):
                    await to_its_end(there, manner, chance)
                    continue
            await to_its_end(there, manner, chance)


async def to_its_end(there: SocketStream, manner: str, chance: random.Random) -> None:
    try:
        await behave(there, manner, chance)
    finally:
        await anyio.aclose_forcefully(there)


@pytest.mark.deep
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
async def test_rel_d4_whatever_strangers_hold_two_devices_link(number: int, tmp_path: Path) -> None:
    """NET-222, NET-40, NET-303, SYNC-39, REL-D4: in half of the patterns the address is known, and strangers take all
    other slots. Otherwise they are at a few addresses."""
    chance, known = random.Random(number), number % 2 == 0
    members = a, b = household(tmp_path)
    if known:
        for one, other in ((a, b), (b, a)):
            give(one.space, other.device, Address(HERE, 1), one.now)
    first, second = engine_of(a), engine_of(b)
    networks = chance.randint(FEW, 3 * SLOTS // EACH) if known else FEW
    turns = anyio.Semaphore(BUSY)
    async with running(first, second), anyio.create_task_group() as strangers:
        for network in range(networks):
            for _ in range(2 * chance.randint(1, 2 * EACH)):
                host, manner = f"127.0.1.{network + 1}", chance.choice(MANNERS)
                strangers.start_soon(stranger, [first.port, second.port], host, manner, chance, turns)
        await until(lambda: first.reception.unproved and second.reception.unproved, "strangers there")
        await anyio.sleep(chance.random())
        introduce(b, a, first.port)
        introduce(a, b, second.port)
        try:
            await until(lambda: in_step(a, b) and first.connections and second.connections, "a link")
            a.put("t1", "Milk")
            first.look_again()
            await until(lambda: in_step(a, b), "a change")
        finally:
            for engine, member, other in ((first, a, b), (second, b, a)):
                print(engine.dialling.known(other.device), engine.reception.unproved, member.reports[-5:])
        assert max(first.reception.unproved, second.reception.unproved) <= SLOTS
        strangers.cancel_scope.cancel()
    for member in members:
        member.close()
