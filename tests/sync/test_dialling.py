"""The search for a device, on a clock that jumps: MEET-11 to MEET-15, SYNC-38."""

import contextlib
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from random import Random
from typing import Any, cast

import anyio
import pytest
from anyio.streams.tls import TLSStream
from trio.testing import MockClock

from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.sync.dial_plan import DIAL_SECONDS, MAX_AT_ONCE, Failure, Source
from lottisync.sync.dialling import Connected, Dialling, Met, Unreachable

pytestmark = pytest.mark.anyio
B, C = "b" * 64, "c" * 64
HUNG_UP = Failure("refused", Sentence("it hung up"))
RIGHT = Address("192.0.2.1", 22067)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


def dead(count: int, net: int = 0) -> list[Address]:
    """Packets to it are lost, without an error."""
    return [Address(f"198.51.{net}.{n}", 22067) for n in range(count)]


class World:
    """Who answers where, after how long; what was dialled and when; which connections there are."""

    def __init__(self) -> None:
        self.answers: dict[Address, str] = {}
        self.closed: set[Address] = set()
        self.dials: list[tuple[float, Address]] = []
        self.at_once = self.most_at_once = 0
        self.connections: dict[str, anyio.Event] = {}
        self.met: dict[str, float] = {}
        self.lasts = True
        self.dialling: Dialling
        self.began = 0.0

    async def connect(self, device: str, address: Address) -> Connected:
        self.dials.append((anyio.current_time() - self.began, address))
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            if address in self.closed:
                raise Unreachable(Failure("unreachable", Sentence("nothing listens there")))
            if address not in self.answers:
                await anyio.sleep(DIAL_SECONDS)
                raise Unreachable(Failure("unreachable", Sentence("no answer in time")))
            await anyio.sleep(0.02)
            return Connected(cast(TLSStream, None), self.answers[address])
        finally:
            self.at_once -= 1

    async def meet(self, stream: TLSStream, device: str, address: Address) -> Met:
        if device in self.connections:
            return Met(Failure("refused", Sentence("there is a connection already")))
        if not self.lasts:
            return Met(HUNG_UP)
        over = self.connections[device] = anyio.Event()
        self.met.setdefault(device, anyio.current_time() - self.began)
        self.dialling.connected(device)
        await over.wait()
        del self.connections[device]
        self.dialling.disconnected(device, lasted=True)
        return Met()


@contextlib.asynccontextmanager
async def searching(world: World, polite: Callable[[str], bool] = lambda device: False) -> AsyncIterator[Dialling]:
    async with anyio.create_task_group() as tasks:
        world.dialling = Dialling(
            tasks,
            connect=world.connect,
            meet=world.meet,
            is_connected=lambda device: device in world.connections,
            is_polite=polite,
            chance=Random(1),
        )
        world.began = anyio.current_time()
        yield world.dialling
        tasks.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def closed_door() -> AsyncIterator[tuple[World, Dialling]]:
    """Looking for a device at the one address that worked, where nothing listens now."""
    world = World()
    world.closed = {RIGHT}
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        yield world, dialling


async def test_meet_11_forty_dead_addresses_do_not_delay_a_meeting() -> None:
    """Before, they were tried one after the other, three to five seconds each."""
    world = World()
    world.answers[RIGHT] = B
    async with searching(world) as dialling:
        dialling.search([B])
        known = [*((each, Source.WORKED) for each in dead(40)), (RIGHT, Source.RECORDED)]
        dialling.know(B, known)
        await anyio.sleep(3)
        assert world.met[B] < 1
        # It stays one connection, and nothing more is dialled.
        dialled = len(world.dials)
        await anyio.sleep(60)
        assert len(world.dials) == dialled
        assert world.at_once == 0


async def test_meet_12_no_more_attempts_are_under_way_than_the_limit() -> None:
    world = World()
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(each, source) for source in Source for each in dead(30, int(source))])
        await anyio.sleep(30)
        assert world.most_at_once == MAX_AT_ONCE
        times = [at for at, _ in world.dials]
        assert all(later - earlier >= 0.06 for earlier, later in pairwise(times))


async def test_meet_13_an_address_that_fails_is_left_in_peace_longer_and_longer() -> None:
    async with closed_door() as (world, dialling):
        await anyio.sleep(600)
        times = [at for at, _ in world.dials]
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert 0.2 <= gaps[0] <= 0.4
        assert max(gaps) <= 39.1
        assert len(world.dials) < 40
        (known,) = dialling.known(B)
        assert (known.failures, known.failure) == (
            len(world.dials),
            Failure("unreachable", Sentence("nothing listens there")),
        )
        assert known.since is not None
        assert known.since - world.began < 0.1


async def test_meet_13_news_end_the_pause() -> None:
    async with closed_door() as (world, dialling):
        await anyio.sleep(300)
        world.closed, world.answers[RIGHT] = set(), B
        heard = anyio.current_time()
        dialling.retry(B, [RIGHT])
        await anyio.sleep(0.2)
        assert world.met[B] + world.began - heard < 0.2
        dialling.retry(C, [RIGHT])  # nobody that is looked for


async def test_meet_16_a_change_of_network_ends_all_pauses() -> None:
    world = World()
    world.closed = set(dead(3))
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(each, Source.WORKED) for each in dead(3)])
        await anyio.sleep(300)
        before = len(world.dials)
        dialling.retry_all()
        await anyio.sleep(0.25)
        assert [address for _, address in world.dials[before:]] == dead(3)


async def test_meet_15_a_connection_that_the_other_made_ends_what_is_under_way() -> None:
    world = World()
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(each, Source.WORKED) for each in dead(5)])
        await anyio.sleep(1)
        assert world.at_once == 5
        world.connections[B] = anyio.Event()
        dialling.connected(B)
        await anyio.sleep(0.01)
        assert world.at_once == 0
        assert [known.failures for known in dialling.known(B)] == [0] * 5


async def test_meet_15_two_addresses_of_one_device_make_one_connection() -> None:
    world = World()
    other = Address("192.0.2.2", 22067)
    world.answers = {RIGHT: B, other: B}
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED), (other, Source.ANNOUNCED)])
        await anyio.sleep(20)
        assert list(world.connections) == [B]
        assert len(world.dials) == 1


async def test_sync_41_another_of_ours_that_answers_gets_a_connection_and_the_search_goes_on() -> None:
    world = World()
    other = Address("192.0.2.2", 22067)
    world.answers = {RIGHT: C, other: B}
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED), (other, Source.RECORDED)])
        await anyio.sleep(2)
        assert set(world.connections) == {B, C}
        assert [known.failure for known in dialling.known(B)] == [None, None]


async def test_sync_38_a_connection_that_does_not_last_is_dialled_with_growing_pauses() -> None:
    world = World()
    world.answers[RIGHT], world.lasts = B, False
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        await anyio.sleep(100)
        assert len(world.dials) < 12
        assert dialling.known(B)[0].failure == HUNG_UP


async def test_sync_37_after_a_connection_that_lasted_the_device_is_dialled_again_at_once() -> None:
    world = World()
    world.answers[RIGHT] = B
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        await anyio.sleep(30)
        world.connections[B].set()
        await anyio.sleep(0.6)
        assert B in world.connections
        assert len(world.dials) == 2


async def test_meet_14_a_device_that_is_no_longer_active_is_not_dialled() -> None:
    world = World()
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        await anyio.sleep(1)
        dialling.search([])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        before = len(world.dials)
        await anyio.sleep(60)
        assert len(world.dials) == before
        assert dialling.known(B) == []


async def test_meet_11_the_device_with_the_larger_id_lets_the_other_one_begin() -> None:
    world = World()
    world.answers[RIGHT] = B
    async with searching(world, polite=lambda device: True) as dialling:
        dialling.search([B])
        dialling.know(B, [(RIGHT, Source.WORKED)])
        await anyio.sleep(0.2)
        assert world.dials == []
        await anyio.sleep(0.2)
        assert B in world.connections


async def test_meet_313_a_connection_ends_what_is_said_of_addresses_that_fail() -> None:
    """Before, they stood in the status of a device that was connected."""
    world = World()
    closed = Address("192.0.2.2", 22067)
    world.closed = {closed}
    async with searching(world) as dialling:
        dialling.search([B])
        dialling.know(B, [(closed, Source.WORKED)])
        await anyio.sleep(1)
        [known] = dialling.known(B)
        assert known.failure is not None
        assert known.tried is not None
        world.answers[RIGHT] = B
        dialling.know(B, [(closed, Source.WORKED), (RIGHT, Source.RECORDED)])
        await anyio.sleep(1)
        assert set(world.connections) == {B}
        assert [(each.since, each.failure) for each in dialling.known(B)] == [(None, None), (None, None)]


async def test_meet_43_each_attempt_is_the_last_one() -> None:
    async with closed_door() as (world, dialling):
        await anyio.sleep(120)
        [known] = dialling.known(B)
        assert known.tried == world.began + world.dials[-1][0]
        assert known.since == world.began + world.dials[0][0]
