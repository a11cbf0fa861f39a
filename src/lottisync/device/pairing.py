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
import msgspec
from anyio.abc import TaskStatus

from lottisync.device.device import Device
from lottisync.device.peers import listened_last, remember_introduction
from lottisync.identity.announcement import announcement_secret
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_message import Introduction
from lottisync.identity.pairing_offer import OFFER_LIFETIME_MS, CodeOffer, new_code, parse_code
from lottisync.net.address import Address
from lottisync.net.interfaces import leads_to, reached_at
from lottisync.net.listener import DEFAULT_PORT, EVERYWHERE
from lottisync.net.pairing import Self, show_code, type_code
from lottisync.problem import Problem

ANYWHERE = Address(EVERYWHERE, 0)
"""All interfaces, any port."""
LOOPBACK = Address("127.0.0.1", 0)
"""This machine alone, any port."""


class PendingPairing:
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
async def offering(
    device: Device, listen: Address | None = None, *, discover: bool = True
) -> AsyncIterator[PendingPairing]:
    """Show a code, for two minutes and one device, until the block ends. With `discover` it is announced by mDNS.
    Without `listen` it is shown on any port, at the addresses where the device's program listens."""
    now = device.environment.now
    where = listen or Address(listens_at(device).host, 0)
    code = CodeOffer(new_code(_random(device, 64)), now() + OFFER_LIFETIME_MS)

    async def serve(*, task_status: TaskStatus[PendingPairing]) -> None:
        offers: list[PendingPairing] = []

        def ready(port: int) -> None:
            offers.append(PendingPairing(code.shown, port))
            task_status.started(offers[0])

        try:
            paired = await show_code(own_side(device), code, where, discover=discover, clock=now, ready=ready)
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
    paired = await type_code(own_side(device), parse_code(code), at=at, search_from=listens_at(device).host)
    admit(device, paired)
    return paired


def admit(device: Device, paired: Paired) -> tuple[str, str]:
    """Take a device in that was paired with, and remember where it is; what it and this device are called then."""
    now = device.environment.now()
    remember_introduction(device.space, paired.peer_id, paired.introduction, now)
    return device.members.add_paired(paired.peer_name, paired.peer_certificate, now)


def listens_at(device: Device) -> Address:
    """Where the device's program listens, or listened when it ran last; where it usually does, if it never ran."""
    with device.space.reading() as reader:
        return listened_last(reader) or Address(EVERYWHERE, DEFAULT_PORT)


def introduction(device: Device, listen: Address) -> Introduction:
    """What the device hands over at pairing (MEET-6): where its program, which listens at `listen`, is reached, and
    the secret of its announcements."""
    ways = [address.uri for address in reached_at(listen.host, listen.port)]
    return Introduction(ways, announcement_secret(device.key, device.roster().revoked()), listen.port)


def own_side(device: Device, listen: Address | None = None) -> Self:
    """This device in a pairing. Its program listens at `listen`, or where it did last."""
    where = listen or listens_at(device)
    handed = introduction(device, where)

    def introduce(met: str) -> Introduction:
        """What the device hands over when the two meet at the address `met`. The port is 0 if it does not lead to the
        program at that address."""
        return handed if leads_to(met, where.host) else msgspec.structs.replace(handed, port=0)

    return Self(device.key, device.name, partial(_random, device), introduce)


def _random(device: Device, size: int) -> bytes:
    seeds = [device.environment.new_seed() for _ in range(0, size, 32)]
    return b"".join(seeds)[:size]
