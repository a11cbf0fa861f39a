"""Two engines on loopback, with real sockets and TLS, without mDNS: SYNC-35 to SYNC-40, SYNC-350 to SYNC-352."""

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteStream
from tests.support.engines import (
    HERE,
    NoStream,
    announced,
    connected,
    engine_of,
    exchange_secrets,
    introduce,
    running,
)
from tests.support.event_loop import BOUND_SECONDS, until
from tests.support.household import Member, household, in_step
from tests.support.messages import hello as greeting
from tests.support.ports import free_port

from lottisync.device.absence import Away, shown_away
from lottisync.device.addresses import give
from lottisync.device.peers import last_absences, last_clocks, remembered_addresses
from lottisync.entities.entity import HIGH
from lottisync.identity.statement import MembershipRecord
from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.net.listener import Listen
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame
from lottisync.store import doorbell
from lottisync.store.instant import iso
from lottisync.sync import commits, dialling, trust
from lottisync.sync.engine import Engine
from lottisync.sync.event import OverAllowance
from lottisync.sync.meeting import MAX_STRANGERS
from lottisync.sync.peer import PeerState, is_far

pytestmark = pytest.mark.anyio
GONE = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""How a connection ends for the servers of these tests, whose peers stop when they have what they want."""


def peer(engine: Engine, member: Member) -> PeerState:
    return engine.peers[member.device]


async def test_a_commit_whose_bell_is_lost_is_noticed_at_the_next_look(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = members
    monkeypatch.setattr(commits, "LOOK_SECONDS", 0.01)
    async with connected(a, b, tasks=1):
        monkeypatch.setattr(doorbell, "ring", lambda bells: None)
        a.put("t0", "Without a bell")
        await until(lambda: b.title("t0") == "Without a bell")


async def test_sync_35_two_engines_find_each_other_by_a_remembered_address(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: in_step(a, b))
            assert peer(first, b).connected
            assert peer(second, a).connected
            b.put("t", "Oat milk")
            await until(lambda: a.title("t") == "Oat milk")
            await until(lambda: in_step(a, b))
            await until(lambda: remembered_addresses(a.stores["space"], b.device))
            # The stores are equal before the last `Ack` has come back.
            acknowledged = first.connections[b.device].status.acknowledged
            every = list(a.stores)
            await until(lambda: all(acknowledged.get(name) == a.knowledge(name) for name in every), "the last Ack")
            (state,) = await first.snapshot()
            assert (state.name, state.in_step, state.diverged, state.failure) == (
                "device 2",
                {"space": True, "journal": True, "agent": True},
                [],
                None,
            )
            assert state.address == f"{HERE}:{second.port}"
            assert state.acknowledged == {name: b.knowledge(name) for name in b.stores}
    assert [code for code, _ in a.reports] == ["connected", "disconnected"]


async def test_sync_350_where_a_device_was_reached_is_remembered(members: list[Member]) -> None:
    """SYNC-350, SYNC-35: it was in the roster's space alone, as a person has typed it somewhere."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        give(a.space, b.device, Address(HERE, second.port), a.now)
        assert remembered_addresses(a.space, b.device) == []
        async with running(first):
            await until(lambda: remembered_addresses(a.space, b.device) == [Address(HERE, second.port)])


async def test_sync_351_what_a_device_has_acknowledged_is_kept_when_it_goes(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    known = a.knowledge()
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b) and first.connections)
        await until(lambda: not peer(first, b).connected)
        for title in ("Oat milk", "Soy milk"):
            (state,) = await first.snapshot()
            assert state.acknowledged["journal"] == known
            a.put("t", title)


async def test_sync_352_what_a_device_that_is_away_has_grows_old(members: list[Member]) -> None:
    """SYNC-352: it had everything when it went, and has it no more."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b) and first.connections)
        await until(lambda: not peer(first, b).connected)
        (state,) = await first.snapshot()
        assert state.in_step["journal"]
        a.put("t", "Milk")
        (state,) = await first.snapshot()
        assert not state.in_step["journal"]


async def test_net_11_when_both_dial_at_once_one_connection_is_left(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(a, b, second.port)
        introduce(b, a, first.port)
        await until(lambda: in_step(a, b))
        for _ in range(3):
            # Both hear at the same moment that the network has changed.
            first.dialling.retry_all()
            second.dialling.retry_all()
            await until(lambda: first.connections and second.connections)
        (mine,), (theirs,) = first.connections.values(), second.connections.values()
        await until(lambda: {id(connection) for connection in first.connections.values()} == {id(mine)})
        assert mine.dialled is not theirs.dialled
        b.put("t", "Oat milk")
        await until(lambda: a.title("t") == "Oat milk")


def connected_last(member: Member, other: Member) -> str | None:
    with member.stores["space"].reading() as reader:
        [(at,)] = reader.local("select max(seen_at) from peers where device = ?", (other.device,))
    return None if at is None else str(at)


async def test_cli_29_when_a_device_was_connected_is_on_record_on_both(members: list[Member]) -> None:
    """CLI-29: from the beginning of the connection, on the one that was dialled, too; at its end; never else."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: connected_last(b, a) == iso(b.now), "a record on the device that was dialled")
            assert remembered_addresses(b.stores["space"], a.device) == []
            began = b.now
            for number in range(5):
                a.put(f"t{number}", "Milk")
                b.now += 1000
            await until(lambda: in_step(a, b))
            assert connected_last(b, a) == iso(began)
        await until(lambda: connected_last(b, a) == iso(b.now), "the end of the connection")
        assert connected_last(a, b) == iso(a.now)
        assert [address.port for address in remembered_addresses(a.stores["space"], b.device)] == [second.port]


@contextlib.asynccontextmanager
async def met(first: Engine, a: Member, b: Member) -> AsyncIterator[None]:
    """`b` runs until the block ends. It dials `a`, whose engine is `first`, and both have noted the connection."""
    introduce(b, a, first.port)
    async with running(engine_of(b)):
        await until(lambda: connected_last(b, a) and connected_last(a, b))
        yield


async def test_cli_84_a_device_that_stops_records_its_last_connections(members: list[Member]) -> None:
    a, b = members
    first = engine_of(a)
    async with running(first):
        async with met(first, a, b):
            a.now += 60_000
            b.now += 120_000
        # What is written in the end is there when the engine has ended.
        assert connected_last(b, a) == iso(b.now)
    assert connected_last(a, b) == iso(a.now)


def away(member: Member) -> dict[str, Away]:
    with member.stores["space"].reading() as reader:
        return last_absences(reader)


async def test_meet_62_a_device_that_stops_does_not_record_that_the_others_stopped(members: list[Member]) -> None:
    """Before, its own goodbye was taken for theirs: `status` called a running device stopped."""
    a, b = members
    first = engine_of(a)
    async with running(first):
        async with met(first, a, b):
            pass
        assert away(b) == {}
    assert away(a)[b.device].reason == "stopped"


@pytest.mark.parametrize("first_arrives", ["favoured", "other"])
async def test_net_11_both_ends_keep_the_connection_that_the_smaller_device_dialled(
    members: list[Member], first_arrives: str
) -> None:
    """NET-11, NET-54: judged alike by both ends, in whichever order the greetings come in."""
    small, large = sorted(members, key=lambda member: member.device)
    for own, other in ((small, large), (large, small)):
        engine = engine_of(own)
        async with running(engine):
            favoured = own.connection(NoStream(), other, dialled=own is small)
            unwanted = own.connection(NoStream(), other, dialled=own is large)
            hello = greeting(other.device, b"same program....")
            order = [favoured, unwanted] if first_arrives == "favoured" else [unwanted, favoured]
            verdicts = []
            for connection in order:
                connection.peer_boot = hello.boot
                verdicts.append(engine._connections.admit(connection, hello.boot, None))
            assert engine.connections[other.device] is favoured
            if order[0] is favoured:
                assert verdicts == [None, m.Close("duplicate-connection", "there is a connection already")]
                assert favoured.ended is None
            else:
                assert verdicts == [None, None]
                assert unwanted.ended == m.Close("duplicate-connection", "a newer connection takes over")
            # NET-308: a program that was started again is another one: its connection wins, whichever side dialled.
            restarted = own.connection(NoStream(), other, dialled=own is large)
            assert engine._connections.admit(restarted, b"started again...", None) is None
            assert engine.connections[other.device] is restarted
            assert [code for code, _ in own.reports].count("connected") == 1, "NET-54: it was connected all the time"
            engine.connections.clear()
            own.connections.clear()


async def test_net_42_a_dead_connection_gives_way_to_the_one_that_was_dialled_after_it(members: list[Member]) -> None:
    small, large = sorted(members, key=lambda member: member.device)
    engine = engine_of(small)
    async with running(engine):
        hello = greeting(large.device, b"same program....")
        for _ in range(2):
            connection = small.connection(NoStream(), large, dialled=False)
            connection.peer_boot = hello.boot
            assert engine._connections.admit(connection, hello.boot, None) is None
            assert engine.connections[large.device] is connection
        engine.connections.clear()
        small.connections.clear()


async def test_net_5_a_device_that_is_not_paired_is_refused_with_the_reason(tmp_path: Path) -> None:
    a, b = Member(tmp_path / "a", 1), Member(tmp_path / "b", 2)
    a.admit(b)  # and b has never heard of a
    b.put("t", "secret")
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(a, b, second.port)
        await until(lambda: peer(first, b).failure)
        error = peer(first, b).failure
        assert error is not None
        assert "Pair the two again" in error or "not paired with this one" in error
        await until(lambda: any(code == "refused" for code, _ in b.reports))
        assert second.peers == {}
        assert a.title("t") is None
    a.close()
    b.close()


async def test_net_4_a_device_that_is_revoked_is_dropped_at_once_and_stays_out(members: list[Member]) -> None:
    """NET-302"""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(b, a, first.port)
        await until(lambda: in_step(a, b) and first.connections)
        a.revoke(b)
        await until(lambda: not first.connections)
        await until(lambda: not second.connections)
        a.put("secret", "not for b")
        assert first.peers == {}
        # The last word is waited for a second, no longer: who is busy for that long hears with the next attempt.
        await until(lambda: peer(second, a).failure is not None, "the reason")
        b.reports.clear()
        await until(lambda: any(code == "refused" for code, _ in a.reports), "another attempt")
        assert b.title("secret") is None


async def test_net_50_a_device_that_was_revoked_while_it_was_off_hears_of_it(tmp_path: Path) -> None:
    """NET-305, NET-306: before, it heard "does not know this device. Pair the two again"."""
    a, b = household(tmp_path, 2)
    a.revoke(b)
    a.put("secret", "not for b")
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(b, a, first.port)
        await until(lambda: any("was revoked; it connected" in text for _, text in a.reports))
        await until(lambda: peer(second, a).failure)
        await second.snapshot()
        away = peer(second, a).away
        assert away is not None
        assert away.reason == "refused"
        assert "this device was revoked there" in shown_away(away)
        assert b.title("secret") is None
    a.close()
    b.close()


async def test_net_4_a_device_that_is_revoked_while_it_greets_is_refused(members: list[Member]) -> None:
    a, b = members
    engine = engine_of(a)
    async with running(engine):
        connection = a.connection(NoStream(), b, dialled=False)
        a.revoke(b)
        await until(lambda: engine.peers == {})
        verdict = engine._connections.admit(connection, b.boot, None)
        assert verdict is not None
        assert verdict.code == "revoked"
        assert engine.connections == {}
    a.connections.clear()


async def test_sync_36_a_port_that_is_taken_is_a_problem(members: list[Member]) -> None:
    a, b = members
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Problem, match=f"cannot listen on {HERE}:{port}") as raised:
            await engine_of(a, port=port).run()
        assert (raised.value.code, raised.value.hint) == ("cannot-listen", "other-port")
        engine = engine_of(b, port=port, firm=False)
        async with running(engine):
            assert engine.port not in (0, port)


async def test_sync_37_a_device_that_was_restarted_is_connected_again(members: list[Member]) -> None:
    a, b = members
    first = engine_of(a)
    port = free_port()
    async with running(first):
        introduce(a, b, port)
        for turn in range(3):
            second = engine_of(b, port=port, seed=turn)
            async with running(second):
                a.put("t", f"turn {turn}")
                await until(lambda second=second: second.connections and in_step(a, b))  # type: ignore[misc]
            await until(lambda: not first.connections)
            assert peer(first, b).failure is None
    assert [code for code, _ in a.reports] == ["connected", "disconnected"] * 3


async def test_sync_38_a_peer_that_always_hangs_up_is_not_dialled_in_a_storm(members: list[Member]) -> None:
    a, b = members
    greetings = 0

    async def hang_up(stream: ByteStream) -> None:
        nonlocal greetings
        context = tls.sync_context(b.key, [a.key.certificate], server=True)
        try:
            secured = await tls.secured(stream, context, server=True)
            greetings += 1
            hello = greeting(b.device, greetings.to_bytes(16))
            await secured.send(frame(m.encode(hello)) + frame(m.encode(m.Close("fork", "no"))))
        except GONE:
            pass
        finally:
            await anyio.aclose_forcefully(stream)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    introduce(a, b, port)
    engine = engine_of(a)
    engine._chance = Least(1)
    began = anyio.current_time()
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        async with running(engine):
            await until(lambda: greetings >= 4)
            spent = anyio.current_time() - began
            await until(lambda: peer(engine, b).failure == "the other device ended the connection: 'no'")
        tasks.cancel_scope.cancel()
    # Without growing, three pauses would take 0.6 s at the least.
    assert spent >= 0.7 * (0.3 + 0.6 + 1.2)


class Least(Random):
    """Chance that always takes the least."""

    def uniform(self, a: float, b: float) -> float:
        return a


async def test_sync_38_pauses_grow_while_a_device_is_away_and_announcements_do_not_make_a_storm(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialling, "STAGGER_SECONDS", 0.3)
    a, b = members
    attempts = 0

    async def count(stream: ByteStream) -> None:
        nonlocal attempts
        attempts += 1
        await stream.aclose()

    listener = await anyio.create_tcp_listener(local_host=HERE)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    introduce(a, b, port)
    engine = engine_of(a)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, count)
        async with running(engine):
            began = anyio.current_time()
            while attempts < 4:
                announced(engine, b, port)
                await anyio.lowlevel.checkpoint()
            spent = anyio.current_time() - began
        tasks.cancel_scope.cancel()
    assert spent >= 3 * 0.3


async def test_sync_39_announcements_that_strangers_invent_are_bounded(members: list[Member]) -> None:
    engine = engine_of(members[0])
    async with running(engine):
        assert not any(engine.meeting._asks(f"{number:032x}") for number in range(1000))
        assert engine.nearby() == MAX_STRANGERS
        engine.meeting._lost(f"{0:032x}")
        assert engine.nearby() == MAX_STRANGERS - 1


@pytest.mark.parametrize("said", [b"\x16", b"\x16\x03\x01\x02\x00\x01"])
async def test_net_51_a_peer_that_hangs_up_has_not_been_refused(members: list[Member], said: bytes) -> None:
    """Of two devices that dial each other at once one hangs up. The other one's log said that it is not paired."""
    a, _ = members
    first = engine_of(a)
    async with running(first):
        for _ in range(3):
            async with await anyio.connect_tcp(HERE, first.port) as other:
                await other.send(said)
                await until(lambda: first.reception.unproved)
            await until(lambda: not first.reception.unproved)
        assert a.reports == []


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", bytes(5000)])
async def test_net_6_sync_39_garbage_at_the_port_does_no_harm(members: list[Member], garbage: bytes) -> None:
    """NET-303"""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        async with await anyio.connect_tcp(HERE, first.port) as stranger:
            await stranger.send(garbage)
            await until(lambda: any(code == "refused" for code, _ in a.reports))
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b))


async def test_sync_76_bytes_damaged_on_the_way_end_one_connection_and_no_other(members: list[Member]) -> None:
    """An attacker on the line can break a connection, but not the daemon."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    damage = False

    async def between(near: ByteStream) -> None:
        async with near, await anyio.connect_tcp(HERE, second.port) as far, anyio.create_task_group() as tasks:

            async def forward(source: ByteStream, target: ByteStream) -> None:
                with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in source:
                        await target.send(bytes(255 - byte for byte in data) if damage else data)
                tasks.cancel_scope.cancel()

            tasks.start_soon(forward, near, far)
            tasks.start_soon(forward, far, near)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, between)
        async with running(second):
            introduce(a, b, port)
            async with running(first):
                await until(lambda: in_step(a, b) and first.connections)
                damage = True
                a.put("t", "Milk")
                await until(lambda: not first.connections and not second.connections)
                damage = False
                await until(lambda: in_step(a, b))
                assert b.title("t") == "Milk"
        tasks.cancel_scope.cancel()


async def test_sync_40_a_version_that_we_do_not_speak_is_said_in_words(members: list[Member]) -> None:
    a, b = members

    async def newer(stream: ByteStream) -> None:
        context = tls.sync_context(b.key, [a.key.certificate], server=True)
        try:
            secured = await tls.secured(stream, context, server=True)
            await secured.send(frame(m.encode(greeting(b.device, b.boot, version=2))))
            await secured.receive()
        except GONE:
            pass
        finally:
            await anyio.aclose_forcefully(stream)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    introduce(a, b, listener.extra(anyio.abc.SocketAttribute.local_port))
    engine = engine_of(a)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, newer)
        async with running(engine):
            await until(lambda: peer(engine, b).failure)
            error = peer(engine, b).failure
        tasks.cancel_scope.cancel()
    assert error is not None
    assert "it speaks version 2 of the sync protocol, this device version 1: update this device first" in error


async def test_meet_474_a_version_is_shown_where_only_the_other_device_dials(members: list[Member]) -> None:
    """MEET-474: before, it was shown as a device of which nothing is known."""
    a, b = members
    engine = engine_of(a)
    why = "it speaks version 2 of the sync protocol, this device version 1: update this device first"
    async with running(engine):
        context = tls.sync_context(b.key, [a.key.certificate], server=False)
        raw = await anyio.connect_tcp(HERE, engine.port)
        stream = await tls.secured(raw, context, server=False)
        await stream.receive()
        await stream.send(frame(m.encode(m.Close("version", why))))
        await until(lambda: peer(engine, b).failure)
        (state,) = await engine.snapshot()
        await anyio.aclose_forcefully(stream)
    assert state.failure == why
    assert state.away is not None
    assert why in shown_away(state.away)


async def test_sync_41_a_search_for_one_device_that_finds_another_goes_on(tmp_path: Path) -> None:
    a, b, c = household(tmp_path, 3)
    first, second, third = engine_of(a), engine_of(b), engine_of(c)
    async with running(second):
        # Of c nothing is known but what is announced, and the first that is found is b.
        introduce(a, c, second.port)
        a.admit(b)
        async with running(first):
            await until(lambda: b.device in first.connections)
            async with running(third):
                announced(first, c, third.port)
                await until(lambda: c.device in first.connections and b.device in first.connections)
                await until(lambda: in_step(a, b) and in_step(a, c))
    for member in (a, b, c):
        member.close()


async def test_sync_42_a_store_that_minted_a_host_has_it_bound(members: list[Member]) -> None:
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        introduce(a, b, second.port)
        await until(lambda: in_step(a, b) and first.connections)
        for name in ("journal", "agent", "space"):  # space last: nothing else then gives a reason to look
            with a.stores[name].transaction(a.now, HIGH) as tx:
                host = tx.new_host()
            await until(lambda host=host: b.stores["space"].read(f"host-{host}"), f"the binding for {name}")  # type: ignore[misc]
            await until(lambda: in_step(a, b))
    assert not any(code == "refused" for code, _ in [*a.reports, *b.reports])


async def test_sync_43_another_process_that_writes_for_long_does_not_stop_the_engine(members: list[Member]) -> None:
    """The address of a new connection is written down off the event loop."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first, second):
        other = Member(a.folder, a.number)
        with other.stores["space"].transaction(a.now, HIGH):
            introduce_later = Address(HERE, second.port)
            announced(first, b, second.port)
            await until(lambda: first.connections)
        other.close()
        await until(lambda: remembered_addresses(a.stores["space"], b.device) == [introduce_later])


async def test_roster_20_a_retired_device_that_connects_is_taken_and_comes_back(members: list[Member]) -> None:
    """ROSTER-30, ROSTER-41: until then no device dials it."""
    a, b = members
    a.sign(MembershipRecord.retiring(a.key, device=b.device, at_ms=30))
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        assert [member.status for member in first._trust.roster.trusted_peers()] == ["retired"]
        assert set(first.dialling._searches) == set()
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: [member.device for member in first._trust.roster.active_peers()] == [b.device])
            await until(lambda: in_step(a, b))
            await until(lambda: set(first.dialling._searches) == {b.device})


async def test_cli_302_a_device_that_takes_another_name_says_so(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _ = members
    monkeypatch.setattr(trust, "tell_apart", lambda *_: "laptop 2")
    async with running(engine_of(a)):
        pass
    assert any(code == "renamed" and "laptop 2" in text for code, text in a.reports)


def test_a_renamed_device_keeps_its_state(members: list[Member]) -> None:
    a, b = members
    a.sign(MembershipRecord.renaming(a.key, device=b.device, name="tablet", at_ms=30))

    async def look() -> str:
        engine = engine_of(a)
        async with running(engine):
            return peer(engine, b).name

    assert anyio.run(look) == "tablet"


async def test_net_10_a_paired_device_that_is_found_is_dialled_and_a_stranger_is_only_counted(
    members: list[Member], tmp_path: Path
) -> None:
    """NET-307"""
    a, b = members
    stranger = Member(tmp_path / "stranger", 9)
    exchange_secrets(a, b)
    engines = [engine_of(member, discover=True) for member in (a, b, stranger)]
    async with running(*engines):
        await until(lambda: in_step(a, b) and engines[0].connections and engines[1].connections)
        await until(lambda: engines[0].nearby() >= 1 and engines[2].nearby() >= 2)
        assert engines[2].connections == {}
    stranger.close()


async def test_net_6_an_unfinished_handshake_is_dropped_and_others_are_served(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NET-303"""
    a, b = members
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 0.5)
    first, second = engine_of(a), engine_of(b)
    async with running(first), await anyio.connect_tcp(HERE, first.port) as silent:
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b))
        with anyio.fail_after(BOUND_SECONDS), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await silent.receive()
        assert first.reception.unproved == 0


async def test_sync_886_what_was_refused_is_in_status_without_another_change(members: list[Member]) -> None:
    a, b = members
    async with connected(a, b) as (first, _):
        shown: list[list[str]] = []
        first._incidents._changed = lambda: shown.append([each.kind for each in peer(first, b).refusals])
        await first._happened(first.connections[b.device], OverAllowance("journal"), None)
        assert shown == [["comparison"]]


async def test_caus_11_a_device_that_was_never_met_before_is_named_too(members: list[Member]) -> None:
    """Its hosts are not in the roster yet when its first writes come in."""
    a, b = members
    b.now += 3 * 24 * 3_600_000
    b.put("t1", "from the future")
    async with connected(a, b, tasks=1) as (first, _):
        await until(lambda: first.peers[b.device].ahead)


async def test_meet_420_a_daemon_whose_only_address_has_gone_says_so_once(members: list[Member]) -> None:
    """And again after the address was back. To listen on all addresses, or on the loopback, loses nothing."""
    a, _ = members
    engine = engine_of(a)
    async with running(engine):
        for host in ("192.0.2.7", "::", HERE, "desk.example"):
            engine._listen = Listen(host, 1)
            for hosts in (set[str](), set[str](), {"192.0.2.7"}, set[str]()):
                engine._network_changed(hosts)
    said = [text for code, text in a.reports if code == "no-listen-address"]
    assert len(said) == 2
    assert "no longer has the address 192.0.2.7" in said[0]


async def test_caus_421_two_devices_whose_clocks_are_a_year_apart_sync_and_both_say_so(members: list[Member]) -> None:
    """CAUS-423, CAUS-670. A ping says what a clock says; here one goes out of turn, so that the test need not wait for
    it."""
    a, b = members
    year = 365 * 24 * 3_600_000
    a.now, b.now = b.now + year, b.now
    a.put("t1", "now")
    async with connected(a, b, tasks=1) as (first, second):
        assert await first.connections[b.device].lives(BOUND_SECONDS)
        assert await second.connections[a.device].lives(BOUND_SECONDS)
        offs = [first.peers[b.device].clock_off or 0, second.peers[a.device].clock_off or 0]
        assert [round(off / year) for off in offs] == [-1, 1]
        b.now += year
        assert await second.connections[a.device].lives(BOUND_SECONDS)
        assert not is_far(first.peers[b.device].clock_off)
        b.put("t2", "set again")
        await until(lambda: in_step(a, b))
    for member in members:
        assert len([text for code, text in member.reports if code == "clock-differs"]) == 1
    with a.space.reading() as reader:
        heard = last_clocks(reader)[b.device]
    assert not is_far(heard.off), "as it was last"


async def test_caus_11_a_device_whose_clock_is_far_ahead_is_named_once(members: list[Member]) -> None:
    """CAUS-9, CAUS-12: its writes are kept, the clock here does not follow, and `status` names the device to be set."""
    a, b = members
    async with connected(a, b, tasks=1) as (first, second):
        b.now += 3 * 24 * 3_600_000
        b.put("t1", "from the future")
        b.put("t2", "and again")
        state = first.peers[b.device]
        await until(lambda: in_step(a, b) and state.ahead == iso(b.now))
        reported = [text for code, text in a.reports if code == "clock-ahead"]
        assert [text.partition("'s clock")[0] for text in reported] == [state.name]
        assert second.peers[a.device].ahead is None
        a.put("t3", "now")
        entity = a.stores["journal"].read("t3")
        assert entity is not None
        assert max(stamp.millis for stamp in entity.registers.all_stamps()) < b.now - 24 * 3_600_000
