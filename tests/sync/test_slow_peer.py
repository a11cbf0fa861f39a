"""A peer that is slow, greedy or silent: SYNC-45 to SYNC-47. What needs minutes runs under a virtual clock."""

import contextlib
from collections.abc import Callable

import anyio
import pytest
from tests.support.household import Cable, Member, in_step, meet, quiet
from tests.support.messages import SUMMARY, hello
from tests.support.script import kinds, last_word, speaking, wanting, written

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, frame
from lottisync.store import forgetting
from lottisync.sync.connection import MAX_QUEUED_FRAMES, STUCK_SECONDS

pytestmark = pytest.mark.anyio
STRANGE = Host("5" * 16)


# -- a slow or greedy peer


def many(member: Member, count: int) -> None:
    """So many batches of entities of which each takes only three."""
    with member.stores["journal"].transaction(member.now, HIGH) as tx:
        for number in range(3 * count):
            tx.put(f"large{number:03}", "task", {"title": f"{number:03}" + "x" * 200_000})


async def test_sync_45_no_more_batches_are_under_way_than_were_granted(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    many(a, 30)
    cable = Cable()
    end = cable.ends[1]
    connection = a.connection(cable.ends[0], b, dialled=False)

    async def read_on() -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                await end.receive()

    def large() -> int:
        return sum(isinstance(message, m.Large) for message in cable.said(0))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.start_soon(read_on)
        for message in (hello(b.device, b.boot, ENCODINGS), wanting(b)):
            await end.send(frame(m.encode(message)))
        await quiet([cable])
        assert large() == m.FIRST_CREDIT
        await end.send(frame(m.encode(m.Credit(3))))
        await quiet([cable])
        assert large() == m.FIRST_CREDIT + 3
        # A new request ends the wait: no batch is needed for that.
        await end.send(frame(m.encode(m.Want({}))))
        await quiet([cable])
        assert "Abort" in kinds(cable.said(0))
        assert large() == m.FIRST_CREDIT + 3
        tasks.cancel_scope.cancel()
    await end.aclose()


async def test_sync_45_credit_comes_back_and_a_long_round_goes_through(members: list[Member]) -> None:
    a, b = members
    many(a, 40)
    cable = await meet(a, b)
    assert in_step(a, b)
    assert kinds(cable.said(0)).count("Batch") > 3 * m.FIRST_CREDIT
    granted = sum(message.batches for message in cable.said(1) if isinstance(message, m.Credit))
    large = sum(isinstance(message, m.Large) for message in cable.said(0))
    assert 0 <= large - granted < m.FIRST_CREDIT


async def test_sync_45_batches_of_a_round_that_was_refused_are_granted_again(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    await meet(a, b)
    version = written(a, "t")
    rounds_of_one: list[m.AnyMessage] = []
    for number in range(1, 2 * m.FIRST_CREDIT + 1):
        rounds_of_one += [
            m.Begin(number, "journal", {STRANGE: 7}, {}, behind=False, count=1),
            m.Batch(number, 0, [version]),
            m.End(number, SUMMARY),
        ]
    half = 3 * m.FIRST_CREDIT
    cable = await speaking(b, a, rounds_of_one[:half], agreed=False)
    assert kinds(cable.said(1)).count("Credit") == 2
    cable = await speaking(b, a, rounds_of_one, agreed=False)
    assert last_word(cable).code == "illegal"
    assert "without credit" in last_word(cable).reason


async def test_sync_46_a_peer_that_asks_and_does_not_read_is_not_read_either(members: list[Member]) -> None:
    a, b = members
    cable = Cable()
    connection = b.connection(cable.ends[1], a, dialled=False)
    sent = 0

    async def ask() -> None:
        nonlocal sent
        await cable.ends[0].send(frame(m.encode(hello(a.device, a.boot))))
        while True:
            await cable.ends[0].send(frame(m.encode(m.Ping(sent))))
            sent += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.start_soon(ask)
        await quiet([cable])
        assert len(connection._sender) <= MAX_QUEUED_FRAMES + 1
        assert MAX_QUEUED_FRAMES < sent < 2 * MAX_QUEUED_FRAMES
        tasks.cancel_scope.cancel()
    await cable.ends[0].aclose()


# -- time


@pytest.mark.parametrize("anyio_backend", ["trio-virtual"], indirect=True)
class TestTime:
    """Under trio's virtual clock: minutes pass in no time."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, object]]:
        from trio.testing import MockClock

        return "trio", {"clock": MockClock(autojump_threshold=0)}

    async def test_sync_78_a_dead_peer_is_noticed_although_the_wall_clock_is_set_back(
        self, members: list[Member]
    ) -> None:
        a, b = members
        cable = Cable()
        connection = b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await cable.ends[0].send(frame(m.encode(hello(a.device, a.boot))))
            await anyio.sleep(1)
            b.now -= 3_600_000
        assert connection.ended is not None
        assert connection.ended.code == "timeout"
        assert 15 <= anyio.current_time() % 1000 < 20
        await cable.ends[0].aclose()

    async def test_sync_23_a_connection_that_is_quiet_lives_on(self, members: list[Member]) -> None:
        a, b = members
        cable = Cable()
        connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            for connection in connections:
                tasks.start_soon(connection.run)
            await anyio.sleep(600)
            assert [connection.ended for connection in connections] == [None, None]
            tasks.cancel_scope.cancel()
        assert in_step(a, b)

    async def test_sync_78_a_store_that_is_busy_for_long_is_not_the_peers_silence(self, members: list[Member]) -> None:
        a, b = members
        a.put("t", "Milk")
        slow = b.connection

        async def waiting(work: Callable[[], object]) -> object:
            await anyio.sleep(20)
            return work()

        cable = Cable()
        mine, theirs = a.connection(cable.ends[0], b, dialled=True), slow(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mine.run)
            tasks.start_soon(theirs.run)
            await anyio.sleep(1)
            theirs._call = waiting  # type: ignore[assignment]
            a.put("u", "Bread")
            await anyio.sleep(300)
            assert theirs.ended is None
            tasks.cancel_scope.cancel()
        assert in_step(a, b)

    async def test_sync_49_what_is_heard_of_a_third_is_passed_on_at_most_once_a_minute(
        self, members: list[Member]
    ) -> None:
        a, b = members
        a.put("t", "Milk")
        await meet(a, b)
        third, clock = "d" * 64, a.knowledge()
        [(host, counter)] = clock.items()

        def heard() -> dict[str, dict[Host, int]]:
            with b.stores["journal"].reading() as reader:
                return forgetting.acknowledged(reader)

        with a.stores["journal"].transaction(a.now, HIGH) as tx:
            forgetting.note(tx, third, clock, direct=True)
        cable = await meet(a, b)
        assert heard()[third] == clock
        assert kinds(cable.said(0)).count("Gossip") == 1
        cable = Cable()
        connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            for connection in connections:
                tasks.start_soon(connection.run)
            await anyio.sleep(5)
            greeted = kinds(cable.said(0)).count("Gossip")
            for number in range(20):
                with a.stores["journal"].transaction(a.now, HIGH) as tx:
                    forgetting.note(tx, third, {host: counter + 1 + number}, direct=False)
                await anyio.sleep(1)
            assert kinds(cable.said(0)).count("Gossip") == greeted
            await anyio.sleep(60)
            assert kinds(cable.said(0)).count("Gossip") == greeted + 1
            assert heard()[third] == {host: counter + 20}
            tasks.cancel_scope.cancel()
        a.connections.clear()
        b.connections.clear()

    async def test_sync_47_a_peer_that_reads_too_slowly_is_disconnected(self, members: list[Member]) -> None:
        a, b = members
        await meet(a, b)
        many(a, 30)
        cable = Cable()
        end = cable.ends[1]
        connection = a.connection(cable.ends[0], b, dialled=False)

        async def beat() -> None:
            await end.send(frame(m.encode(hello(b.device, b.boot))))
            await end.send(frame(m.encode(wanting(b))))
            for number in range(100):
                await anyio.sleep(4)
                await end.send(frame(m.encode(m.Ping(number))))

        async def read_on() -> None:
            with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
                while True:
                    await end.receive()

        began_at = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            tasks.start_soon(read_on)
            await connection.run()
            tasks.cancel_scope.cancel()
        assert STUCK_SECONDS <= anyio.current_time() - began_at < STUCK_SECONDS + 10
        assert connection.ended is not None
        assert connection.ended.code == "stuck"
        await end.aclose()

    async def test_sync_21_a_peer_that_says_nothing_is_dropped_after_five_seconds(self, members: list[Member]) -> None:
        a, b = members
        cable = Cable()
        connection = b.connection(cable.ends[1], a, dialled=False)
        began_at = anyio.current_time()
        await connection.run()
        assert 5 <= anyio.current_time() - began_at <= 7
        assert last_word(cable).code == "timeout"
        await cable.ends[0].aclose()
