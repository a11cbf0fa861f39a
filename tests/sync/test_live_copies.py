"""One device's key that runs twice, and what else must not end the engine: COPY-9, COPY-10, SYNC-60, SYNC-61."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream
from tests.support.engines import HERE, codes, engine_of, faults, introduce, running
from tests.support.event_loop import until
from tests.support.household import Member, household, in_step

from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.store.reader import ChangeToken
from lottisync.sync.exchange import Exchange

pytestmark = pytest.mark.anyio


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[tuple[Member, Member, Member]]:
    """A laptop, a phone, and the phone's home on a second machine."""
    laptop, phone = household(tmp_path, 2)
    copied = phone.copied(tmp_path / "copy")
    phone = Member(phone.folder, 2)
    yield laptop, phone, copied
    for member in (laptop, phone, copied):
        member.close()


async def test_copy_9_a_second_program_with_one_key_is_refused_while_the_first_is_connected_and_all_report_it(
    trio: tuple[Member, Member, Member],
) -> None:
    """COPY-19, COPY-20"""
    laptop, phone, copied = trio
    first, second, third = engine_of(laptop), engine_of(phone), engine_of(copied, seed=7)
    async with running(first):
        introduce(phone, laptop, first.port)
        introduce(copied, laptop, first.port)
        async with running(second):
            await until(lambda: in_step(laptop, phone) and first.connections and second.connections)
            (connection,) = first.connections.values()
            phone.put("p", "Milk")
            copied.put("q", "Bread")
            async with running(third):
                # Three attempts of the copy, and the connection that was there has not moved.
                await until(lambda: codes(copied).count("disconnected") >= 3)
                assert list(first.connections.values()) == [connection]
                await until(lambda: laptop.title("p") == "Milk")
                sentence = "device 2 runs twice: its home was copied to another machine"
                assert next(text for code, text in laptop.reports if code == "duplicate-key").startswith(sentence)
                assert codes(laptop).count("duplicate-key") == 1
                assert first.peers[phone.device].duplicate_key_at is not None
                for member, engine in ((phone, second), (copied, third)):
                    await until(lambda engine=engine: engine.duplicate_key_at)  # type: ignore[misc]
                    said = [text for code, text in member.reports if code == "duplicate-key"]
                    assert [text[:23] for text in said] == ["This device runs twice:"]
                    assert "a device of its own" in said[0]
                assert codes(laptop).count("connected") == codes(phone).count("connected") == 1
                error = third.peers[laptop.device].failure
                assert error is not None
                assert error.startswith("This device runs twice")
        # The first has stopped: the other's turn, and nothing that either wrote is lost.
        async with running(third):
            await until(lambda: in_step(laptop, copied))
            assert (laptop.title("p"), laptop.title("q")) == ("Milk", "Bread")
        async with running(engine_of(phone, seed=9)):
            await until(lambda: in_step(laptop, phone))
    assert faults(laptop, phone) == []


async def test_copy_9_two_copies_that_both_wrote_past_the_mark_lose_nothing(tmp_path: Path) -> None:
    """COPY-20: in one place, so that only the chains show it. The laptop meets both branches, one after the other."""
    laptop, phone = household(tmp_path, 2)
    first = engine_of(laptop)
    async with running(first):
        introduce(phone, laptop, first.port)
        async with running(engine_of(phone)):
            await until(lambda: in_step(laptop, phone))
        phone.close()
        shutil.copytree(phone.folder, tmp_path / "backup")
        phone = Member(phone.folder, 2)
        phone.put("p", "Milk")
        async with running(engine_of(phone)):
            await until(lambda: laptop.title("p") == "Milk")
        phone.close()
        for file in (tmp_path / "backup").iterdir():
            if file.suffix == ".sqlite":
                (phone.folder / file.name).write_bytes(file.read_bytes())  # the same inode: no early mark
        phone = Member(phone.folder, 2)
        phone.put("q", "Bread")
        phone.put("r", "Butter")
        async with running(engine_of(phone)):
            await until(lambda: in_step(laptop, phone))
    assert [laptop.title(ident) for ident in ("p", "q", "r")] == ["Milk", "Bread", "Butter"]
    laptop.close()
    phone.close()


async def test_copy_10_a_program_that_was_started_again_takes_over_at_once(tmp_path: Path) -> None:
    """Its old connection is dead, and nobody has noticed: a cut cable says nothing. Within the time that a connection
    has to show life, not after the fifteen seconds of silence."""
    laptop, phone = household(tmp_path, 2)
    first = engine_of(laptop, patience=0.2)
    cut = False

    async def between(near: ByteStream) -> None:
        async with near, await anyio.connect_tcp(HERE, first.port) as far, anyio.create_task_group() as tasks:

            async def forward(source: ByteStream, target: ByteStream) -> None:
                with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in source:
                        if cut:
                            await anyio.sleep_forever()
                        await target.send(data)
                if not cut:
                    tasks.cancel_scope.cancel()
                else:
                    await anyio.sleep_forever()

            tasks.start_soon(forward, near, far)
            tasks.start_soon(forward, far, near)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, between)
        async with running(first):
            introduce(phone, laptop, listener.extra(anyio.abc.SocketAttribute.local_port))
            second = engine_of(phone)
            async with running(second):
                await until(lambda: in_step(laptop, phone) and first.connections)
                (old,) = first.connections.values()
                cut = True
            assert list(first.connections.values()) == [old]
            phone.now += 1000
            introduce(phone, laptop, first.port)  # another cable
            began = anyio.current_time()
            async with running(engine_of(phone, seed=5)):
                await until(lambda: first.connections and list(first.connections.values()) != [old])
                assert anyio.current_time() - began < 10  # the old one would have been given 15 s
                phone.put("p", "Milk")
                await until(lambda: laptop.title("p") == "Milk")
            assert "duplicate-key" not in codes(laptop) + codes(phone)
        tasks.cancel_scope.cancel()
    laptop.close()
    phone.close()


# -- what must not end the engine


async def test_sync_60_a_fault_of_ours_costs_one_connection_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, phone, tablet = household(tmp_path, 3)
    hear = Exchange.carry_out
    broken = phone.device

    def faulty(self: Exchange, messages: list[m.AnyMessage], now: int) -> list[m.Message]:
        if self.peer == broken and any(isinstance(message, m.Begin) for message in messages):
            raise RuntimeError("nobody has thought of this")
        return hear(self, messages, now)

    first, second, third = engine_of(laptop), engine_of(phone), engine_of(tablet)
    async with running(first):
        for member in (phone, tablet):
            introduce(member, laptop, first.port)
        monkeypatch.setattr(Exchange, "carry_out", faulty)
        async with running(second, third):
            phone.put("p", "Milk")
            tablet.put("t", "Bread")
            await until(lambda: laptop.title("t") == "Bread")
            await until(lambda: "fault" in codes(laptop))
            text = next(text for code, text in laptop.reports if code == "fault")
            assert text.startswith(
                "the connection to device 2 broke off: RuntimeError: nobody has thought of this (faulty"
            )
            broken = ""
            await until(lambda: laptop.title("p") == "Milk", "the next connection")
    for member in (laptop, phone, tablet):
        member.close()


async def test_sync_60_a_fault_while_it_is_looked_for_changes_costs_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle connections look for changes together, on behalf of the engine; a fault in one ends only that one."""
    laptop, phone, tablet = household(tmp_path, 3)
    more, broken = Exchange.more, ""

    def faulty(self: Exchange, credit: int) -> list[m.Message]:
        if self.peer == broken:
            raise RuntimeError("nobody has thought of this")
        return more(self, credit)

    monkeypatch.setattr(Exchange, "more", faulty)
    first = engine_of(laptop)
    async with running(first):
        for member in (phone, tablet):
            introduce(member, laptop, first.port)
        async with running(engine_of(phone), engine_of(tablet)):
            await until(lambda: len(first.connections) == 2 and in_step(laptop, phone, tablet))
            await until(lambda: all(each.idle for each in first.connections.values()), "the last word of every round")
            broken = phone.device
            laptop.put("p", "Milk")
            await until(lambda: "fault" in codes(laptop))
            await until(lambda: tablet.title("p") == "Milk")
            broken = ""
            await until(lambda: phone.title("p") == "Milk", "the next connection")
    for member in (laptop, phone, tablet):
        member.close()


async def test_sync_61_a_store_that_fails_for_a_while_does_not_end_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, phone = household(tmp_path, 2)
    first, second = engine_of(laptop), engine_of(phone)
    moments = first._commits.moments
    full = True

    def failing() -> dict[str, ChangeToken]:
        if full:
            raise Problem("disk-full", "no room")
        return moments()

    async with running(second):
        introduce(laptop, phone, second.port)
        monkeypatch.setattr(first._commits, "moments", failing)
        async with running(first):
            await until(lambda: first.connections)
            laptop.put("p", "Milk")
            await until(lambda: "failed" in codes(laptop))
            full = False
            await until(lambda: phone.title("p") == "Milk")
            assert codes(laptop).count("failed") == 1
    laptop.close()
    phone.close()
