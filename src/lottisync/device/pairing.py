"""Pairing from a program: one device shows a code, the other one types it (docs/specs/06-identity-and-pairing.md).

    async with offering(laptop) as offer:          on one device
        print(offer.code)
        paired = await offer.paired()

    paired = await pair(phone, "123-456-789")       on the other one

Afterwards each of the two knows the other, and so does, once it has synced, every device that knows one of them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import TaskStatus

from lottisync.device.addresses import Reach, read_reach
from lottisync.device.device import Device
from lottisync.device.peers import remember_introduction
from lottisync.identity.announcement import announcement_secret
from lottisync.identity.pairing import OFFER_LIFETIME_MS, CodeOffer, Introduction, Paired, new_code, parse_code
from lottisync.net.address import Address
from lottisync.net.interfaces import reached_at
from lottisync.net.listener import DEFAULT_PORT, EVERYWHERE
from lottisync.net.pairing import Self, show_code, type_code
from lottisync.problem import Problem

ANYWHERE = Address(EVERYWHERE, 0)
"""All interfaces, any port."""
LOOPBACK = Address("127.0.0.1", 0)
"""This machine alone, any port."""


class Offer:
    """A code that is being shown: `code` as people read it, and the port where the other device can reach it."""

    def __init__(self, code: str, port: int) -> None:
        self.code, self.port = code, port
        self._done = anyio.Event()
        self._outcome: Paired | Problem | None = None

    async def paired(self) -> Paired:
        """Wait for the other device. Raises `Problem` if the code expires, or was tried too often."""
        await self._done.wait()
        assert self._outcome is not None, "it is set before the event"
        if isinstance(self._outcome, Problem):
            raise self._outcome
        return self._outcome

    def _end(self, outcome: Paired | Problem) -> None:
        self._outcome = outcome
        self._done.set()


@asynccontextmanager
async def offering(device: Device, listen: Address = ANYWHERE, *, discover: bool = True) -> AsyncIterator[Offer]:
    """Show a code, for two minutes and one device, until the block ends. With `discover` it is announced by mDNS."""
    now = device.environment.now
    code = CodeOffer(new_code(_random(device, 64)), now() + OFFER_LIFETIME_MS)

    async def serve(*, task_status: TaskStatus[Offer]) -> None:
        offers: list[Offer] = []

        def ready(port: int) -> None:
            offers.append(Offer(code.shown, port))
            task_status.started(offers[0])

        try:
            paired = await show_code(own_side(device), code, listen, discover=discover, clock=now, ready=ready)
        except Problem as problem:
            if not offers:
                raise
            offers[0]._end(problem)
        else:
            admit(device, paired)
            offers[0]._end(paired)

    async with anyio.create_task_group() as tasks:
        offer = await tasks.start(serve)
        yield offer
        if code.used:  # the other device has paired: it must not be left alone with that
            await offer.paired()
        tasks.cancel_scope.cancel()


async def pair(device: Device, code: str, *, at: Address | None = None) -> Paired:
    """Pair with the device that shows `code`: at an address, or wherever mDNS finds it.

    Raises `Problem` if there is none, `PairingError` with what the other device says."""
    paired = await type_code(own_side(device), parse_code(code), at=at, search_from=ANYWHERE.host)
    admit(device, paired)
    return paired


def admit(device: Device, paired: Paired) -> tuple[str, str]:
    """Take a device in that was paired with, and remember where it is; what it and this device are called then."""
    now = device.environment.now()
    remember_introduction(device.space, paired.peer_id, paired.introduction, now)
    return device.members.add_paired(paired.peer_name, paired.peer_certificate, now)


def introduction(device: Device, port: int | None = None) -> Introduction:
    """What the device hands over at pairing (MEET-6): where its daemon is reached, at `port` or at the one that it had
    last, and the secret of its announcements."""
    with device.space.reading() as reader:
        known = read_reach(reader).get(device.id, Reach())
    port = port or next((address.port for address in known.addresses), DEFAULT_PORT)
    ways = [address.uri for address in reached_at(EVERYWHERE, port)]
    return Introduction(ways, announcement_secret(device.key, device.roster().revoked()), port)


def own_side(device: Device, port: int | None = None) -> Self:
    """This device in a pairing, with where its daemon is reached: at `port`, or at the one that it had last."""
    return Self(device.key, device.name, partial(_random, device), introduction(device, port))


def _random(device: Device, size: int) -> bytes:
    seeds = [device.environment.new_seed() for _ in range(0, size, 32)]
    return b"".join(seeds)[:size]
