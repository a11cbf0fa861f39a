"""Who is let in at the engine's port, with real sockets: NET-6, NET-22 to NET-24, NET-220, NET-222, NET-52, NET-53,
SYNC-39."""

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream
from tests.net.test_doorway import no_free_descriptor
from tests.support.engines import HERE, engine_of, introduce, running
from tests.support.event_loop import until
from tests.support.household import Member, household, in_step

from lottisync.device.addresses import give
from lottisync.device.peers import known_hosts
from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.net.doorway import EACH, KEPT, SLOTS
from lottisync.protocol import session
from lottisync.sync.engine import Engine
from lottisync.sync.reception import EACH_DEVICE

pytestmark = pytest.mark.anyio
GONE = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


@contextlib.asynccontextmanager
async def stranger(port: int, host: str, connections: int = 50) -> AsyncIterator[None]:
    """Opens connections from `host`, says nothing, and opens each again that was closed."""

    def opened() -> socket.socket:
        raw = socket.socket()
        raw.settimeout(0)
        raw.bind((host, 0))
        raw.connect_ex((HERE, port))
        return raw

    async def hold() -> None:
        """One connection. The listener says nothing first: what comes is its end."""
        while True:
            with contextlib.closing(opened()) as raw:
                await anyio.wait_readable(raw)
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as tasks:
        for _ in range(connections):
            tasks.start_soon(hold)
        yield
        tasks.cancel_scope.cancel()


async def test_rel_d4_one_stranger_that_holds_connections_keeps_no_device_from_linking(members: list[Member]) -> None:
    """NET-220, NET-222, SYNC-39, REL-D4: before, one address took all the slots, for as long as it liked."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    async with running(first), stranger(first.port, "127.0.0.2"):
        await until(lambda: first.reception.unproved == EACH)
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b))
            assert first.connections
            assert first.reception.unproved <= EACH, "the strangers' others were closed"


async def test_rel_d4_many_strangers_leave_places_for_addresses_that_are_known(members: list[Member]) -> None:
    """NET-22, NET-222, NET-40, REL-D4: the address replicates, as every device's does."""
    a, b = members
    give(a.space, b.device, Address(HERE, 1), a.now)
    first, second = engine_of(a), engine_of(b)
    async with running(first), contextlib.AsyncExitStack() as strangers:
        for number in range(2, 2 + SLOTS // EACH + 1):
            await strangers.enter_async_context(stranger(first.port, f"127.0.0.{number}", 2 * EACH))
        await until(lambda: first.reception.unproved == SLOTS - KEPT)
        introduce(b, a, first.port)
        async with running(second):
            await until(lambda: in_step(a, b))
            assert first.connections
            assert first.reception.unproved <= SLOTS - KEPT, "the strangers' others were closed"


def test_net_40_known_hosts_are_those_that_worked_and_those_that_replicate(members: list[Member]) -> None:
    a, b = members
    give(a.space, b.device, Address("192.0.2.7", 1), a.now)
    introduce(a, b, 4711)
    with a.space.reading() as reader:
        assert known_hosts(reader) == {"192.0.2.7", HERE}


async def silent(engine: Engine, own: Member, other: Member) -> TLSStream:
    """A connection that has proved its device, and says nothing."""
    raw: SocketStream = await anyio.connect_tcp(HERE, engine.port)
    return await tls.secured(raw, tls.sync_context(own.key, [other.key.certificate], server=False), server=False)


async def test_rel_d5_a_paired_device_that_says_nothing_gets_a_few_connections(tmp_path: Path) -> None:
    """NET-24, NET-52, REL-D5: before, 373 of them used up the file descriptors, and the daemon ended; and nothing said
    which device it was."""
    a, b, c = members = household(tmp_path, 3)
    first, third = engine_of(a), engine_of(c)
    open_ones = 0

    async def hold() -> None:
        nonlocal open_ones
        stream = await silent(first, b, a)
        open_ones += 1
        try:
            with contextlib.suppress(*GONE):
                while True:
                    await stream.receive()
        finally:
            open_ones -= 1
            await anyio.aclose_forcefully(stream)

    async with running(first), anyio.create_task_group() as tasks:
        for _ in range(3 * EACH_DEVICE):
            tasks.start_soon(hold)
        await until(lambda: open_ones == first.reception.connections(b.device) == EACH_DEVICE)
        introduce(c, a, first.port)
        async with running(third):
            await until(lambda: in_step(a, c))
        name = first.peers[b.device].name
        reason = f"{name} opened more than {EACH_DEVICE} connections at one time: it gets no more of them"
        [found] = first.peers[b.device].refusals
        assert (found.kind, found.count, found.reason) == ("connection", 2 * EACH_DEVICE, reason)
        assert a.reports.count(("refused", reason)) == found.count
        assert not first.peers[c.device].refusals
        tasks.cancel_scope.cancel()
    for member in members:
        member.close()


async def test_net_53_a_paired_device_that_does_not_greet_is_named(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NET-53, NET-6: before, it left no trace. A device that hangs up by itself is not refused."""
    monkeypatch.setattr(session, "GREETING_SECONDS", 0.5)
    a, b = members
    first = engine_of(a)
    async with running(first):
        async with await silent(first, b, a):
            pass
        await until(lambda: first.reception.connections(b.device) == 0)
        assert not first.peers[b.device].refusals
        async with await silent(first, b, a) as stream:
            with contextlib.suppress(*GONE):
                while True:
                    await stream.receive()
        await until(lambda: bool(first.peers[b.device].refusals))
        [found] = first.peers[b.device].refusals
        reason = f"{first.peers[b.device].name} opened a connection and said nothing: it was closed"
        assert (found.kind, found.count, found.reason) == ("connection", 1, reason)
        assert ("refused", reason) in a.reports


async def test_rel_d5_without_a_free_descriptor_the_engine_goes_on(members: list[Member]) -> None:
    """NET-23, SYNC-39, REL-D5: before, EMFILE at the listener ended the daemon."""
    a, b = members
    first, second = engine_of(a), engine_of(b)
    with socket.socket() as caller:
        caller.settimeout(0)
        async with running(first):
            with no_free_descriptor():
                caller.connect_ex((HERE, first.port))
                await until(lambda: any("no connection can be taken" in text for _, text in a.reports))
            introduce(b, a, first.port)
            async with running(second):
                await until(lambda: in_step(a, b))
    said = [text for code, text in a.reports if "no connection can be taken" in text]
    assert said == ["no connection can be taken, and it is tried again: Too many open files"]


async def test_net_3_recorded_traffic_that_is_sent_again_gets_nothing(members: list[Member]) -> None:
    """NET-1, NET-3: what a paired device said in a whole connection, byte for byte, in one piece and as it came."""
    a, b = members
    b.put("t1", "Milk")
    said: list[bytes] = []
    first, second = engine_of(a), engine_of(b)

    async def record(from_b: SocketStream) -> None:
        async with from_b, await anyio.connect_tcp(HERE, first.port) as to_a, anyio.create_task_group() as tasks:
            tasks.start_soon(_pump, from_b, to_a, said)
            tasks.start_soon(_pump, to_a, from_b, [])

    async with running(first):
        listener = await anyio.create_tcp_listener(local_host=HERE)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, record)
            introduce(b, a, listener.extra(SocketAttribute.local_port))
            async with running(second):
                await until(lambda: in_step(a, b))
            tasks.cancel_scope.cancel()
        before, served = a.state(), len(a.reports)
        assert len(b"".join(said)) > 1_000
        for pieces in (said, [b"".join(said)]):
            async with await anyio.connect_tcp(HERE, first.port) as again:
                with contextlib.suppress(*GONE):
                    for piece in pieces:
                        await again.send(piece)
                answer = b""
                with contextlib.suppress(*GONE), anyio.fail_after(2 * tls.HANDSHAKE_SECONDS):
                    while True:
                        answer += await again.receive()
            assert first.reception.connections(b.device) == 0
        await until(lambda: any(code == "refused" for code, _ in a.reports[served:]))
        assert a.state() == before


async def _pump(source: SocketStream, target: SocketStream, said: list[bytes]) -> None:
    with contextlib.suppress(*GONE):
        while True:
            piece = await source.receive()
            said.append(piece)
            await target.send(piece)
    await anyio.aclose_forcefully(target)
