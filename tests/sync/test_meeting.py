"""How devices come to be connected, on real sockets on loopback: MEET-2 to 6, MEET-10, MEET-14 to 17, MEET-26."""

import contextlib

import anyio
import pytest
from anyio.abc import ByteStream
from tests.support.engines import HERE, NoStream, announced, engine_of, introduce, running
from tests.support.event_loop import until
from tests.support.household import Member, in_step
from tests.support.ports import free_port

from lottisync.device.addresses import Reach, give, read_reach, take_away
from lottisync.device.peers import last_absences, remember_address, remember_introduction, remembered_addresses
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing_message import Introduction
from lottisync.identity.statement import MembershipRecord
from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.store.instant import iso
from lottisync.sync import meeting
from lottisync.sync.engine import HOPELESS_TRIES, Engine
from lottisync.sync.peer import PeerState

pytestmark = pytest.mark.anyio


def peer(engine: Engine, other: Member) -> PeerState:
    return engine.peers[other.device]


async def addresses_of(engine: Engine, other: Member) -> list[tuple[str, str, str | None]]:
    [state] = [each for each in await engine.snapshot() if each.device == other.device]
    return [(each.address, " ".join(each.sources), each.failure) for each in state.addresses]


async def away(engine: Engine, other: Member) -> str | None:
    [state] = [each for each in await engine.snapshot() if each.device == other.device]
    return state.away.reason if state.away else None


def reach(member: Member, of: Member) -> Reach:
    with member.stores["space"].reading() as reader:
        return read_reach(reader).get(of.device, Reach())


async def test_meet_2_rel_d3_a_device_that_restarts_elsewhere_is_found_without_mdns(
    three: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B restarts on another port; A and C, who know each other by B only, find it and each other. Before, an address
    was known only from mDNS: where that does not work, paired devices never met."""
    monkeypatch.setattr(
        meeting, "reached_at", lambda host, port: [Address(HERE, port)]
    )  # others may dial loopback here
    a, b, c = three
    first, second, third = engine_of(a), engine_of(b), engine_of(c)
    async with running(first):
        async with running(second):
            introduce(a, b, second.port)
            introduce(c, b, second.port)
            async with running(third):
                await until(lambda: first.connections.keys() == {b.device, c.device} and len(third.connections) == 2)
        again = engine_of(b.restarted(), seed=7)
        async with running(again):
            await until(lambda: b.device in first.connections and again.port in [w.port for w in reach(a, b).addresses])
            # C was not there when B moved; it hears of it from A.
            later = engine_of(c, seed=8)
            async with running(later):
                await until(lambda: later.connections.keys() == {a.device, b.device})


async def test_meet_4_a_stranger_who_answers_at_a_remembered_address_gets_nothing(three: list[Member]) -> None:
    """And the device is found where it is."""
    a, b, _ = three
    stranger = DeviceKey.from_seed(b"s" * 32)

    async def answer(raw: ByteStream) -> None:
        context = tls.sync_context(stranger, [a.key.certificate], server=True)
        with contextlib.suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError):
            await (await tls.secured(raw, context, server=True)).receive()
        await anyio.aclose_forcefully(raw)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    first, second = engine_of(a), engine_of(b)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        introduce(a, b, port)
        async with running(first):
            await until(lambda: peer(first, b).failure)
            async with running(second):
                announced(first, b, second.port)
                await until(lambda: b.device in first.connections and in_step(a, b))
        tasks.cancel_scope.cancel()


async def test_meet_243_what_was_handed_over_at_pairing_is_dialled(three: list[Member]) -> None:
    a, b, _ = three
    second = engine_of(b)
    async with running(second):
        handed = Introduction([f"tcp://{HERE}:{second.port}", "relay://example"], b"b" * 16)
        remember_introduction(a.stores["space"], b.device, handed, a.now)
        assert remembered_addresses(a.stores["space"], b.device) == [Address(HERE, second.port)]
        first = engine_of(a)
        async with running(first):
            await until(lambda: b.device in first.connections)


async def test_meet_5_an_address_that_is_added_by_hand_is_dialled_at_once(three: list[Member]) -> None:
    a, b, _ = three
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        give(a.stores["space"], b.device, Address("localhost", second.port), a.now)
        await until(lambda: b.device in first.connections)
        assert ("localhost", "given") in [
            (where.rpartition(":")[0], how) for where, how, _ in await addresses_of(first, b)
        ]
        # It replicates; and it goes when another device takes it away.
        await until(lambda: reach(b, b).given == (Address("localhost", second.port),))
        take_away(b.stores["space"], b.device, Address("localhost", second.port), b.now)
        await until(lambda: reach(a, b).given == ())


async def test_meet_10_a_revoked_device_does_not_recognise_the_next_announcement(three: list[Member]) -> None:
    a, _, c = three
    first = engine_of(a)
    async with running(first):
        before = reach(a, a).secret
        assert before is not None
        a.sign(MembershipRecord.revoking(a.key, device=c.device, at_ms=a.now))
        await until(lambda: reach(a, a).secret not in (None, before))
        await until(lambda: first.meeting._secret == reach(a, a).secret, "to announce with the secret that is written")


async def test_meet_238_of_the_addresses_that_worked_eight_are_remembered(three: list[Member]) -> None:
    a, b, _ = three
    for number in range(40):
        remember_address(a.stores["space"], b.device, Address("192.0.2.1", 1000 + number), a.now + number)
    ports = [address.port for address in remembered_addresses(a.stores["space"], b.device)]
    assert ports == list(range(1039, 1031, -1))


async def test_meet_302_a_connection_from_an_address_that_is_gone_ends_and_is_dialled_again(
    three: list[Member],
) -> None:
    a, b, _ = three
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(a, b, second.port)
        await until(lambda: first.connections and second.connections)
        old = first.connections[b.device]
        first._network_changed({"192.0.2.9"})
        assert b.device not in first.connections
        first.dialling.retry_all()
        await until(lambda: first.connections.get(b.device) not in (None, old))
        # A connection that lives is left alone.
        kept = first.connections[b.device]
        first._network_changed({HERE})
        a.put("t", "Milk")
        await until(lambda: b.title("t") == "Milk")
        assert first.connections[b.device] is kept


async def test_meet_17_a_connection_takes_the_place_of_a_connection_that_is_dead(three: list[Member]) -> None:
    """The other side has moved; its old connection would be kept for fifteen seconds, since this side dialled it."""
    small, large = sorted(three[:2], key=lambda member: member.device)
    engine = engine_of(small)
    async with running(engine):
        boot = b"same program...."
        dead = small.connection(NoStream(), large, dialled=True)
        fresh = small.connection(NoStream(), large, dialled=False)
        for connection in (dead, fresh):
            connection.peer_boot = boot
        assert await engine._connections.greet(dead, boot, None) is None
        assert await engine._connections.greet(fresh, boot, None) is None
        assert engine.connections[large.device] is fresh
        engine.connections.clear()
        small.connections.clear()


async def test_meet_26_why_a_device_is_away(three: list[Member]) -> None:
    a, b, c = three
    first = engine_of(a)
    async with running(first):
        assert await away(first, b) == "no-address"
        port = free_port()
        introduce(a, b, port)
        await until(lambda: peer(first, b).failure)
        assert await away(first, b) == "unreachable"
        assert await addresses_of(first, b) == [(f"{HERE}:{port}", "worked", "nothing listens there")]
        second = engine_of(b, port=port)
        async with running(second):
            await until(lambda: first.connections)
            assert await away(first, b) is None
        third = engine_of(c)
        async with running(third):
            c.sign(MembershipRecord.revoking(c.key, device=a.device, at_ms=a.now))
            await until(lambda: a.device not in third.peers)
            introduce(a, c, third.port)
            await until(lambda: peer(first, c).failure)
            assert await away(first, c) == "refused"


async def test_meet_41_a_dead_address_of_a_pairing_goes_when_the_device_is_met_elsewhere(three: list[Member]) -> None:
    """Before, it was dialled for ever, or until eight others had worked."""
    a, b, _ = three
    dead = Address(HERE, free_port())
    remember_introduction(a.stores["space"], b.device, Introduction([dead.uri]), a.now)
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        await until(lambda: any(each.failures >= HOPELESS_TRIES for each in first.dialling.known(b.device)))
        assert remembered_addresses(a.stores["space"], b.device) == [dead]
        async with running(second):
            introduce(a, b, second.port)
            await until(lambda: remembered_addresses(a.stores["space"], b.device) == [Address(HERE, second.port)])


async def test_meet_314_the_address_of_a_connection_goes_with_it(three: list[Member]) -> None:
    a, b, _ = three
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        async with running(second):
            introduce(a, b, second.port)
            await until(lambda: peer(first, b).address == f"{HERE}:{second.port}")
        await until(lambda: not peer(first, b).connected)
        assert peer(first, b).address is None
        assert await away(first, b) == "stopped"


async def test_meet_430_another_device_at_the_address_after_a_goodbye_is_not_a_refusal(three: list[Member]) -> None:
    """MEET-430: another device has the address now."""
    a, b, c = three
    port = free_port()
    first = engine_of(a)
    async with running(first):
        async with running(engine_of(b, port=port)):
            introduce(a, b, port)
            await until(lambda: peer(first, b).connected)
        await until(lambda: not peer(first, b).connected)
        async with running(engine_of(c, port=port)):
            await until(lambda: any(each.stranger for each in first.meeting.addresses(b.device)))
            assert (await away(first, b), peer(first, b).failure) == ("stopped", None)


async def test_meet_49_a_clock_that_is_far_ahead_is_said_with_the_reason_why_the_device_is_away(
    three: list[Member],
) -> None:
    """A wrong clock keeps no device away. `status` shows it, also when no program runs any more."""
    a, b, _ = three
    b.now += 10 * 365 * 24 * 3600 * 1000
    b.put("t", "From the future")
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        async with running(second):
            introduce(a, b, second.port)
            await until(lambda: in_step(a, b) and peer(first, b).ahead)
        await until(lambda: not peer(first, b).connected)
    with a.stores["space"].reading() as reader:
        written = last_absences(reader)[b.device]
    assert (written.reason, written.clock_said) == ("stopped", iso(b.now))


async def test_meet_48_another_device_of_ours_that_answers_is_named(three: list[Member]) -> None:
    a, b, c = three
    third = engine_of(c)
    async with running(third):
        introduce(a, b, third.port)
        first = engine_of(a)
        async with running(first):
            await until(lambda: c.device in first.connections)
            await until(lambda: [e for _, _, e in first_of(first, b) if e])
            [(_, _, error)] = first_of(first, b)
            assert error == f"{peer(first, c).name} answers there, another of your devices"


def first_of(engine: Engine, other: Member) -> list[tuple[str, str, str | None]]:
    return [(each.address, "", each.failure) for each in engine.meeting.addresses(other.device)]
