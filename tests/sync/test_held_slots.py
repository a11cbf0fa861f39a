"""Strangers hold slots at the engine's port in every pattern, and the person's devices get in all the same.

A law of the real reception and real TLS, in memory and under trio's virtual clock. The same with real sockets and real
engines is in `tests/deep/test_held_slots.py`.
"""

import contextlib
import random
import ssl
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anyio
from anyio.abc import ByteStream, SocketAttribute, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.streams.tls import TLSStream
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from lottisync.identity.device_key import DeviceKey
from lottisync.net import tls
from lottisync.net.doorway import EACH, KEPT, SLOTS
from lottisync.sync.reception import Reception

ENGINE, DEVICE, FOREIGN = (DeviceKey.from_seed(bytes([number]) * 32) for number in (1, 2, 3))
GONE = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
MANNERS = ("silent", "one byte at a time", "garbage", "foreign key", "hangs up")
TURNS = 8
"""More pieces than a handshake sends, each of which takes `delay`: in this time a device is in."""


class Crowd(NamedTuple):
    """Strangers that share an address, or a /64: `connections` at once, each opened again `pause` seconds after it was
    closed."""

    network: int
    connections: int
    manner: str
    pause: float


class Device(NamedTuple):
    """A device of the person, that dials once: `at` seconds after the beginning, over a network with this `delay`. It
    is where it was reached before, or it is `new` there."""

    at: float
    delay: float
    new: bool = False


class End(ByteStream):
    """One end of a connection in memory; what is sent arrives after `delay` seconds."""

    def __init__(
        self, host: str, out: MemoryObjectSendStream[bytes], into: MemoryObjectReceiveStream[bytes], delay: float
    ) -> None:
        self._host, self._out, self._into, self._delay = host, out, into, delay

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return {SocketAttribute.remote_address: lambda: (self._host, 4711)}

    async def receive(self, max_bytes: int = 65536) -> bytes:
        piece = await self._into.receive()
        await anyio.sleep(self._delay)
        return piece

    async def send(self, item: bytes) -> None:
        await self._out.send(item)

    async def send_eof(self) -> None:
        self._out.close()

    def close(self) -> None:
        self._out.close()
        self._into.close()

    async def aclose(self) -> None:
        self.close()


def ends(host: str, delay: float = 0.0) -> tuple[End, End]:
    """Ours, at which `host` shows, and the one there."""
    there, here = (anyio.create_memory_object_stream[bytes](64) for _ in range(2))
    return End(host, there[0], here[1], delay), End("", here[0], there[1], delay)


class World:
    """A reception, and all who dial it."""

    def __init__(self, crowds: list[Crowd], devices: list[Device], seed: int) -> None:
        self._chance = random.Random(seed)
        self._crowds, self._devices = crowds, devices
        self._reception = Reception(lambda code, text: None, lambda device: None)
        self._reception.know(place(number, device) for number, device in enumerate(devices) if not device.new)
        self._own = tls.sync_context(ENGINE, [DEVICE.certificate], server=True)
        self.in_after: dict[int, float] = {}
        self.most = 0

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as devices:
                for crowd in self._crowds:
                    for _ in range(crowd.connections):
                        tasks.start_soon(self._stranger, tasks, crowd)
                for number, device in enumerate(self._devices):
                    devices.start_soon(self._device, tasks, number, device)
            tasks.cancel_scope.cancel()

    def left(self) -> int:
        return self._reception.unproved

    async def _let_in(self, raw: End) -> None:
        with contextlib.closing(raw):
            await self._reception.receive(raw, self._own, self._serve)  # type: ignore[arg-type]  # it is like a socket

    async def _serve(self, stream: TLSStream, device: str) -> None:
        assert device == DEVICE.device_id
        await stream.send(b"in")
        await stream.transport_stream.aclose()

    async def _device(self, tasks: TaskGroup, number: int, device: Device) -> None:
        await anyio.sleep(device.at)
        ours, theirs = ends(place(number, device), device.delay)
        tasks.start_soon(self._let_in, ours)
        context = tls.sync_context(DEVICE, [ENGINE.certificate], server=False)
        limit = anyio.move_on_after(2 * tls.HANDSHAKE_SECONDS)
        with contextlib.closing(theirs), contextlib.suppress(*GONE), limit:
            stream = await tls.secured(theirs, context, server=False)
            assert await stream.receive() == b"in"
            self.in_after[number] = anyio.current_time() - device.at

    async def _stranger(self, tasks: TaskGroup, crowd: Crowd) -> None:
        while True:
            ours, theirs = ends(self._stranger_address(crowd.network))
            tasks.start_soon(self._let_in, ours)
            self.most = max(self.most, self._reception.unproved)
            with contextlib.closing(theirs), contextlib.suppress(*GONE, ssl.SSLError):
                await behave(theirs, crowd.manner, self._chance)
            await anyio.sleep(crowd.pause)

    def _stranger_address(self, network: int) -> str:
        """Every third network is one of IPv6, in which each connection has another address. The first of them is the
        one that the devices are in."""
        if network % 3:
            return f"198.51.100.{network}"
        return f"2001:db8::{network}:0:0:0:{self._chance.randrange(1, 0xFFFF):x}"


async def behave(there: ByteStream, manner: str, chance: random.Random) -> None:
    """What a stranger does until it is hung up on."""
    match manner:
        case "silent":
            await there.receive()
        case "one byte at a time":
            for byte in b"\x16\x03\x01\x02\x00\x01\x00":
                await there.send(bytes([byte]))
                await anyio.sleep(0.9)
            await there.receive()
        case "garbage":
            await there.send(chance.randbytes(40))
            await there.receive()
        case "foreign key":
            context = tls.sync_context(FOREIGN, [ENGINE.certificate], server=False)
            await (await tls.secured(there, context, server=False)).receive()
        case _:
            await anyio.sleep(chance.random())


def place(number: int, device: Device) -> str:
    """Where a device is. Half of those that are known there are in a /64 that a crowd may be in, too."""
    return f"2001:db8::{number + 1:x}" if number % 2 and not device.new else f"192.0.2.{number + 1}"


FEW = (SLOTS - KEPT) // EACH - 1
"""So many networks of strangers leave `EACH` of the slots that are for everybody."""


def crowds(networks: int) -> st.SearchStrategy[list[Crowd]]:
    counts, pauses = st.integers(1, EACH + 2), st.sampled_from([1.0, 4.0])
    crowd = st.builds(Crowd, st.integers(0, networks - 1), counts, st.sampled_from(MANNERS), pauses)
    return st.lists(crowd, max_size=8)


def devices(most: int, *, new: bool) -> st.SearchStrategy[list[Device]]:
    return st.lists(st.builds(Device, st.floats(0, 6), st.floats(0, 0.25), st.just(new)), min_size=1, max_size=most)


def let_in(crowds: list[Crowd], devices: list[Device], seed: int) -> None:
    """The law: each device is in at its first try, in the time that its network takes. No pattern takes more places
    than there are, and all are given back."""
    world = World(crowds, devices, seed)
    anyio.run(world.run, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})
    for number, device in enumerate(devices):
        assert number in world.in_after, (number, device)
        assert world.in_after[number] <= TURNS * device.delay + 0.001
    assert world.most <= SLOTS
    assert world.left() == 0


@settings(max_examples=settings().max_examples // 10)
@example([Crowd(network, EACH + 2, "silent", 1.0) for network in range(8)], [Device(3.0, 0.25)] * KEPT, 0)
@example([Crowd(0, EACH + 2, "silent", 1.0)], [Device(3.0, 0.25)] * 2, 0)  # in the /64 of the second
@given(crowds(40), devices(KEPT, new=False), st.integers(0, 2**32))
def test_net_40_whatever_strangers_hold_a_device_that_is_known_there_gets_in_at_its_first_try(
    crowds: list[Crowd], devices: list[Device], seed: int
) -> None:
    """NET-22, NET-222, NET-41, NET-303, REL-D4: strangers at up to 40 addresses."""
    let_in(crowds, devices, seed)


@settings(max_examples=settings().max_examples // 10)
@example([Crowd(network, EACH + 2, "silent", 1.0) for network in range(FEW)], [Device(3.0, 0.25, new=True)] * EACH, 0)
@given(crowds(FEW), devices(EACH, new=True), st.integers(0, 2**32))
def test_net_222_what_strangers_of_a_few_networks_hold_leaves_room_for_a_device_at_a_new_address(
    crowds: list[Crowd], devices: list[Device], seed: int
) -> None:
    """NET-220, NET-222, NET-303, REL-D4"""
    let_in(crowds, devices, seed)
