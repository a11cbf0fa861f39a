"""Pairing over real sockets: NET-free of mDNS, both sides in one program. See PAIR-5, PAIR-6, PAIR-12, PAIR-14."""

import contextlib
import gc
import random
import socket
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from tests.support.household import until
from tests.support.showing import one_code_at_a_time

from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing import CodeOffer, Paired, PairingError
from lottisync.net import tls
from lottisync.net.discovery import Address
from lottisync.net.pairing import Self, show_code, type_code
from lottisync.problem import Problem
from lottisync.protocol.framing import frame

pytestmark = pytest.mark.anyio
HERE = "127.0.0.1"
CODE = "12345678"
NOW = 1_000_000


def named(name: str, number: int) -> Self:
    return Self(DeviceKey.from_seed(bytes([number]) * 32), name, random.Random(number).randbytes)


SHOWS, TYPES = named("laptop", 1), named("phone", 2)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Shown(NamedTuple):
    at: Address
    outcome: list[Paired | Problem]


@contextlib.asynccontextmanager
async def shown(offer: CodeOffer, clock: Callable[[], int] = lambda: NOW) -> AsyncIterator[Shown]:
    """A device that shows a code, until it has paired or given up."""
    ports: list[int] = []
    outcome: list[Paired | Problem] = []

    async def show() -> None:
        try:
            outcome.append(
                await show_code(SHOWS, offer, Address(HERE, 0), discover=False, clock=clock, ready=ports.append)
            )
        except Problem as problem:
            outcome.append(problem)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(show)
        await until(lambda: ports or outcome)
        yield Shown(Address(HERE, ports[0] if ports else 0), outcome)
        tasks.cancel_scope.cancel()


def offer() -> CodeOffer:
    return CodeOffer(CODE, NOW + 120_000)


async def test_pair_1_the_right_code_pairs_and_both_see_the_same_words() -> None:
    async with shown(offer()) as showing:
        typed = await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
        await until(lambda: showing.outcome)
    (told,) = showing.outcome
    assert isinstance(told, Paired)
    assert (typed.peer_name, typed.peer_id) == ("laptop", SHOWS.key.device_id)
    assert (told.peer_name, told.peer_id) == ("phone", TYPES.key.device_id)
    assert typed.words == told.words


async def test_pair_6_three_wrong_codes_end_the_offer() -> None:
    async with shown(offer()) as showing:
        for _ in range(3):
            with pytest.raises(PairingError) as raised:
                await type_code(TYPES, "87654321", at=showing.at, search_from=HERE)
            assert raised.value.code == "wrong-code"
        await until(lambda: showing.outcome)
        with pytest.raises(Problem, match="no device shows a code"):
            await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
    (problem,) = showing.outcome
    assert isinstance(problem, Problem)
    assert problem.code == "too-many-runs"


async def test_pair_6_after_a_wrong_code_the_right_one_still_pairs() -> None:
    async with shown(offer()) as showing:
        with pytest.raises(PairingError):
            await type_code(TYPES, "87654321", at=showing.at, search_from=HERE)
        assert (await type_code(TYPES, CODE, at=showing.at, search_from=HERE)).peer_name == "laptop"


async def test_pair_6_a_code_that_has_expired_pairs_nobody() -> None:
    now = [NOW]
    async with shown(offer(), lambda: now[0]) as showing:
        now[0] += 120_001
        with pytest.raises(PairingError) as raised:
            await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
        assert raised.value.code == "expired"
        await until(lambda: showing.outcome)
    (problem,) = showing.outcome
    assert isinstance(problem, Problem)
    assert problem.code == "expired"


async def test_pair_6_an_offer_nobody_takes_ends_by_itself() -> None:
    async with shown(CodeOffer(CODE, NOW + 50)) as showing:
        await until(lambda: showing.outcome)
    (problem,) = showing.outcome
    assert isinstance(problem, Problem)
    assert problem.code == "expired"


@pytest.mark.parametrize(
    "garbage",
    [
        frame(b"\xc1 no message"),
        b"\xff\xff\xff\xff",
        frame(bytes(4097)),
        b"",
        frame(b"\x91" * 4000),
    ],
    ids=["no-message", "too-long", "over-the-limit", "nothing", "nested"],
)
async def test_pair_13_garbage_costs_nobody_a_run(garbage: bytes) -> None:
    given = offer()
    async with shown(given) as showing:
        raw = await anyio.connect_tcp(HERE, showing.at.port)
        stream = await tls.secured(raw, tls.pairing_context(None), server=False)
        if garbage:
            await stream.send(garbage)
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await stream.receive()
        await anyio.aclose_forcefully(stream)
        assert given.runs_left == 3
        assert (await type_code(TYPES, CODE, at=showing.at, search_from=HERE)).peer_name == "laptop"


async def test_pair_13_what_speaks_no_tls_costs_nobody_a_run() -> None:
    given = offer()
    async with shown(given) as showing:
        async with await anyio.connect_tcp(HERE, showing.at.port) as raw:
            await raw.send(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await raw.receive()
        assert (await type_code(TYPES, CODE, at=showing.at, search_from=HERE)).peer_name == "laptop"


async def test_pair_12_who_sits_in_between_pairs_with_neither() -> None:
    """It passes the messages on, but it can end TLS only with a key of its own."""
    eve = named("eve", 3)
    async with shown(offer()) as showing:

        async def between(raw: SocketStream) -> None:
            near = await tls.secured(raw, tls.pairing_context(eve.key), server=True)
            there = await anyio.connect_tcp(HERE, showing.at.port)
            far = await tls.secured(there, tls.pairing_context(None), server=False)
            async with near, far, anyio.create_task_group() as tasks:

                async def forward(source: anyio.abc.ByteStream, target: anyio.abc.ByteStream) -> None:
                    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                        async for data in source:
                            await target.send(data)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(forward, near, far)
                tasks.start_soon(forward, far, near)

        listener = await anyio.create_tcp_listener(local_host=HERE)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, between)
            port = int(listener.extra(SocketAttribute.local_port))
            with pytest.raises(PairingError) as raised:
                await type_code(TYPES, CODE, at=Address(HERE, port), search_from=HERE)
            assert raised.value.code == "channel"
            tasks.cancel_scope.cancel()
        assert showing.outcome == []


async def test_pair_a_device_that_hangs_up_in_the_middle_is_a_problem() -> None:
    async def hang_up(raw: SocketStream) -> None:
        async with raw:
            stream = await tls.secured(raw, tls.pairing_context(SHOWS.key), server=True)
            await stream.receive()

    listener = await anyio.create_tcp_listener(local_host=HERE)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        port = int(listener.extra(SocketAttribute.local_port))
        with pytest.raises(Problem) as raised:
            await type_code(TYPES, CODE, at=Address(HERE, port), search_from=HERE)
        assert raised.value.code == "broken-off"
        tasks.cancel_scope.cancel()


async def test_pair_what_listens_there_and_is_no_lottisync_is_a_problem_and_leaves_nothing_open() -> None:
    async def answer(raw: SocketStream) -> None:
        async with raw:
            await raw.send(b"220 mail.example ready\r\n")
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await raw.receive()

    listener = await anyio.create_tcp_listener(local_host=HERE)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        port = int(listener.extra(SocketAttribute.local_port))
        with pytest.raises(Problem) as raised:
            await type_code(TYPES, CODE, at=Address(HERE, port), search_from=HERE)
        assert raised.value.code == "unreachable"
        del raised
        tasks.cancel_scope.cancel()
    gc.collect()  # an open socket would warn here


async def test_pair_a_port_that_is_taken_is_a_problem() -> None:
    with socket.create_server((HERE, 0)) as taken:
        at = Address(HERE, taken.getsockname()[1])
        with pytest.raises(Problem) as raised:
            await show_code(SHOWS, offer(), at, discover=False, clock=lambda: NOW, ready=lambda port: None)
        assert raised.value.code == "cannot-listen"


async def test_pair_a_code_is_found_by_mdns_on_loopback() -> None:
    ports: list[int] = []
    outcome: list[Paired] = []

    async def show() -> None:
        outcome.append(
            await show_code(SHOWS, offer(), Address(HERE, 0), discover=True, clock=lambda: NOW, ready=ports.append)
        )

    with one_code_at_a_time():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(show)
            typed = await type_code(TYPES, CODE, at=None, search_from=HERE)
    assert typed.words == outcome[0].words
