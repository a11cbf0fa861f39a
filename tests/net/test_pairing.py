"""Pairing over real sockets, both sides in one program; at the end found by mDNS. See PAIR-5, PAIR-6, PAIR-12, PAIR-14,
PAIR-21, PAIR-22, PAIR-220, PAIR-221."""

import contextlib
import gc
import os
import random
import socket
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from tests.support.event_loop import until

from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_message import PairingError
from lottisync.identity.pairing_offer import OFFER_LIFETIME_MS, CodeOffer, new_code
from lottisync.language import speaking, translated
from lottisync.net import pairing, tls
from lottisync.net.address import Address
from lottisync.net.discovery import DiscoveredService, discovering
from lottisync.net.pairing import NotWanted, Self, show_code, type_at_one_of, type_code
from lottisync.problem import Problem, Usage
from lottisync.protocol.framing import frame

pytestmark = pytest.mark.anyio
HERE = "127.0.0.1"
CODE = "123456789"
NOW = 1_000_000


def named(name: str, number: int, chance: Callable[[int], bytes] | None = None) -> Self:
    return Self(DeviceKey.from_seed(bytes([number]) * 32), name, chance or random.Random(number).randbytes)


SHOWS, TYPES = named("laptop", 1), named("phone", 2)


class Shown(NamedTuple):
    at: Address
    outcome: list[Paired | Problem]


@contextlib.asynccontextmanager
async def shown(
    offer: CodeOffer,
    clock: Callable[[], int] = lambda: NOW,
    *,
    by: Self = SHOWS,
    discover: bool = False,
    tell: Callable[[PairingError], None] = lambda error: None,
) -> AsyncIterator[Shown]:
    """A device that shows a code, until it has paired or given up."""
    ports: list[int] = []
    outcome: list[Paired | Problem] = []

    async def show() -> None:
        try:
            where = Address(HERE, 0)
            outcome.append(
                await show_code(by, offer, where, discover=discover, clock=clock, ready=ports.append, tell=tell)
            )
        except Problem as problem:
            outcome.append(problem)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(show)
        await until(lambda: ports or outcome)
        yield Shown(Address(HERE, ports[0] if ports else 0), outcome)
        tasks.cancel_scope.cancel()


def offer(code: str = CODE) -> CodeOffer:
    return CodeOffer(code, NOW + 120_000)


async def test_pair_1_the_right_code_pairs_and_both_see_the_same_words() -> None:
    async with shown(offer()) as showing:
        typed = await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
        await until(lambda: showing.outcome)
    (result,) = showing.outcome
    assert isinstance(result, Paired)
    assert (typed.peer_name, typed.peer_id) == ("laptop", SHOWS.key.device_id)
    assert (result.peer_name, result.peer_id) == ("phone", TYPES.key.device_id)
    assert typed.words == result.words


async def test_pair_6_three_wrong_codes_end_the_offer() -> None:
    async with shown(offer()) as showing:
        for _ in range(3):
            with pytest.raises(PairingError) as raised:
                await type_code(TYPES, "123456788", at=showing.at, search_from=HERE)
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
            await type_code(TYPES, "123456788", at=showing.at, search_from=HERE)
        assert (await type_code(TYPES, CODE, at=showing.at, search_from=HERE)).peer_name == "laptop"


async def test_pair_6_a_code_that_has_expired_pairs_no_device() -> None:
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


async def test_pair_6_an_offer_that_is_not_used_ends_by_itself() -> None:
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
async def test_pair_13_garbage_uses_up_no_attempt(garbage: bytes) -> None:
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


async def test_pair_13_a_client_without_tls_uses_up_no_attempt() -> None:
    given = offer()
    async with shown(given) as showing:
        async with await anyio.connect_tcp(HERE, showing.at.port) as raw:
            await raw.send(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await raw.receive()
        assert (await type_code(TYPES, CODE, at=showing.at, search_from=HERE)).peer_name == "laptop"


async def test_pair_12_a_program_between_the_two_pairs_with_neither() -> None:
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


async def test_pair_what_listens_there_and_is_not_lottisync_is_a_problem_and_leaves_nothing_open() -> None:
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


# Several devices that show a code at once.

ALIKE = "123456788"


def unwilling(me: Self, asked: list[str]) -> Self:
    """A device whose person has taken out the other one, and does not take it back in."""

    def refuse(device: str) -> None:
        asked.append(device)
        raise Usage("not-confirmed", "nothing was changed")

    return me._replace(consent=refuse)


async def test_pair_680_the_device_that_types_waits_for_the_word_of_the_one_that_shows() -> None:
    """PAIR-680, PAIR-6800, PAIR-6801: it said "Paired" while the other person still had the question before them."""
    asked: list[str] = []
    async with shown(offer(), by=unwilling(SHOWS, asked)) as showing:
        with pytest.raises(PairingError) as refused:
            await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
        await until(lambda: showing.outcome)
    assert (refused.value.code, refused.value.from_peer) == ("revoked", True)
    [ended] = showing.outcome
    assert isinstance(ended, NotWanted)
    assert isinstance(ended.problem, Usage)
    assert asked == [TYPES.key.device_id]


async def test_pair_680_the_device_that_types_says_no_before_it_proves_anything() -> None:
    """PAIR-680, PAIR-6801: the one that shows has paired with nobody, and goes on to show its code."""
    asked: list[str] = []
    async with shown(offer()) as showing:
        with pytest.raises(NotWanted):
            await type_code(unwilling(TYPES, asked), CODE, at=showing.at, search_from=HERE)
        assert asked == [SHOWS.key.device_id]
        assert showing.outcome == []
        paired = await type_code(named("tablet", 3), CODE, at=showing.at, search_from=HERE)
        assert paired.peer_name == "laptop"


async def test_cli_863_the_device_that_shows_hears_at_once_that_it_was_taken_out() -> None:
    """CLI-863, PAIR-6800: it was said when the code had expired, two minutes later. A second attempt with the same end
    is not said again."""
    errors: list[PairingError] = []
    async with shown(offer(), tell=errors.append) as showing:
        for _ in range(2):
            with pytest.raises(NotWanted):
                await type_code(unwilling(TYPES, []), CODE, at=showing.at, search_from=HERE)
        await until(lambda: errors)
        assert showing.outcome == []
        await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
    [error] = errors
    assert (error.code, error.from_peer) == ("revoked", True)
    with speaking("de"):
        assert translated(error).startswith(
            "das andere Gerät hat abgelehnt: dieses Gerät wurde dort endgültig entfernt"
        )


async def test_pair_680_a_no_ends_the_search(quick: None) -> None:
    """PAIR-680: where several devices show codes that begin alike, the person was asked about the one they meant."""
    asked: list[str] = []
    async with shown(offer()) as first, shown(offer(), by=named("desk", 4)) as second:
        outcome = await typed_at(announced(first), announced(second), me=unwilling(TYPES, asked))
        assert isinstance(outcome, NotWanted)
        assert asked == [SHOWS.key.device_id]


async def test_pair_681_a_person_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """PAIR-681: Hello and Reply come from a machine, Confirm and Confirmed perhaps from a person."""
    waits: list[float] = []
    receive = pairing._Channel.receive

    async def noted(channel: pairing._Channel, seconds: float = pairing.MESSAGE_SECONDS) -> bytes:
        waits.append(seconds)
        return await receive(channel, seconds)

    monkeypatch.setattr(pairing._Channel, "receive", noted)
    async with shown(offer()) as showing:
        await type_code(TYPES, CODE, at=showing.at, search_from=HERE)
    machine, person = pairing.MESSAGE_SECONDS, OFFER_LIFETIME_MS / 1_000
    assert sorted(waits) == [machine, machine, person, person]


def announced(showing: Shown, code: str = CODE) -> DiscoveredService:
    return DiscoveredService(f"at {showing.at}", "pair", (showing.at,), code[0])


async def typed_at(*services: DiscoveredService, me: Self = TYPES) -> Paired | PairingError | Problem:
    """What comes of typing CODE where these services are found, in this order."""
    send, receive = anyio.create_memory_object_stream[DiscoveredService](64)
    for service in services:
        send.send_nowait(service)
    async with send, receive:
        return await type_at_one_of(me, CODE, receive)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is found later."""
    monkeypatch.setattr(pairing, "SEARCH_SECONDS", 0.05)
    monkeypatch.setattr(pairing, "ANOTHER_SECONDS", 0.01)


async def test_pair_41_a_device_that_announces_another_digit_is_not_asked() -> None:
    other = offer("923456789")
    async with shown(other, by=named("neighbour", 3)) as theirs, shown(offer()) as ours:
        assert isinstance(paired := await typed_at(announced(theirs, "9"), announced(ours)), Paired)
    assert paired.peer_name == "laptop"
    assert other.runs_left == 3


async def test_pair_22_where_two_codes_begin_alike_each_device_is_asked() -> None:
    other = offer(ALIKE)
    async with shown(other, by=named("neighbour", 3)) as theirs, shown(offer()) as ours:
        assert isinstance(paired := await typed_at(announced(theirs), announced(ours)), Paired)
    assert paired.peer_name == "laptop"
    assert other.runs_left == 2


@pytest.mark.usefixtures("quick")
async def test_pair_220_a_device_that_has_refused_is_not_asked_again() -> None:
    """It is found again when its addresses change, and may be found at several."""
    other = offer(ALIKE)
    async with shown(other) as theirs:
        found = announced(theirs)
        outcome = await typed_at(found._replace(addresses=found.addresses * 2), found, found)
    assert isinstance(outcome, PairingError)
    assert outcome.code == "wrong-code"
    assert other.runs_left == 2


async def test_pair_221_after_three_refusals_no_other_device_is_asked() -> None:
    """An attacker who announces many codes gets as few attempts as one who types them."""
    given = offer()
    async with contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(shown(offer(ALIKE))) for _ in range(3)]
        ours = await stack.enter_async_context(shown(given))
        outcome = await typed_at(*map(announced, others), announced(ours))
    assert isinstance(outcome, PairingError)
    assert given.runs_left == 3


@pytest.mark.usefixtures("quick")
async def test_pair_22_a_wrong_code_is_said_before_what_others_say() -> None:
    spent = offer(ALIKE)
    spent.runs_left = 0
    async with shown(offer(ALIKE)) as near, shown(spent) as far:
        outcome = await typed_at(announced(far), announced(near))
    assert isinstance(outcome, PairingError)
    assert outcome.code == "wrong-code"


async def test_pair_22_a_device_is_asked_at_the_address_that_answers() -> None:
    async with shown(offer()) as showing:
        found = announced(showing)
        gone = DiscoveredService("gone", "pair", (Address(HERE, 1),), CODE[0])
        assert isinstance(await typed_at(gone, found._replace(addresses=(Address(HERE, 1), showing.at))), Paired)


@pytest.mark.usefixtures("quick")
async def test_pair_21_if_no_device_is_found_the_error_says_whether_another_code_is_shown() -> None:
    daemon = DiscoveredService("daemon", "sync", (Address(HERE, 1),))
    neighbour = DiscoveredService("neighbour", "pair", (Address(HERE, 1),), "9")
    for services, said in (
        ((daemon,), "no device that shows a code"),
        ((daemon, neighbour), "a code beginning with 1"),
    ):
        outcome = await typed_at(*services)
        assert isinstance(outcome, Problem)
        assert said in outcome.message


async def test_pair_two_pairs_find_each_other_by_mdns_at_once() -> None:
    """Codes and instance names are new ones each time: whatever else is shown on this machine's network meanwhile,
    others' tests with it, does no harm."""
    laptop, phone, desk, tablet = (
        named(name, number, os.urandom) for number, name in enumerate(("laptop", "phone", "desk", "tablet"), 1)
    )
    pairs = [(laptop, phone), (desk, tablet)]
    met: dict[str, Paired] = {}

    async def type_it(me: Self, code: str) -> None:
        met[me.name] = await type_code(me, code, at=None, search_from=HERE)

    offers = [offer(new_code(os.urandom(64))) for _ in pairs]
    async with contextlib.AsyncExitStack() as stack:
        for given, (shows, _) in zip(offers, pairs, strict=True):
            await stack.enter_async_context(shown(given, by=shows, discover=True))
        async with anyio.create_task_group() as tasks:
            for given, (_, types) in zip(offers, pairs, strict=True):
                tasks.start_soon(type_it, types, given.code)
    assert {name: paired.peer_name for name, paired in met.items()} == {"phone": "laptop", "tablet": "desk"}


async def test_pair_21_an_announcement_holds_the_first_digit_and_nothing_else_of_the_code() -> None:
    given = offer("7" + new_code(os.urandom(64))[1:])
    seen: dict[Address, DiscoveredService] = {}

    def note(found: DiscoveredService) -> None:
        seen.update((address, found) for address in found.addresses)

    me = named("laptop", 1, os.urandom)
    async with discovering(HERE, None, note), shown(given, by=me, discover=True) as showing:
        await until(lambda: showing.at in seen)
    found = seen[showing.at]
    assert (found.role, found.digit) == ("pair", "7")
    assert given.code[1:] not in repr(found)
