"""The same on a real NATS server, with JetStream (docs/specs/19-relay.md, section 10)."""

import random
import shutil
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import PubAck, RawStreamMsg, StreamConfig
from nats.js.errors import BadRequestError, NotFoundError
from tests.support.event_loop import BOUND_SECONDS, until
from tests.support.household import Member, in_step, inline
from tests.support.nats_server import WHERE, Server
from tests.support.relay import chance, introduce

from lottisync.daemon.stores import STORES
from lottisync.entities.schema import EntityType, schema
from lottisync.problem import Problem
from lottisync.relay import jetstream, ledger, setting, stream, visits
from lottisync.relay.deletion import Purge
from lottisync.relay.header import Name, parts_of
from lottisync.relay.jetstream import JetStream
from lottisync.relay.lane import Moved, Publication
from lottisync.relay.recording import PART_BYTES
from lottisync.relay.setting import RelaySetting
from lottisync.relay.visits import Visits

pytestmark = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")
BOOK = schema("book", [EntityType("recipe")])
SPACE, LANE, TAG = bytes(range(16)), bytes([1]) * 8, bytes([2]) * 8


@pytest.fixture
def three(paired: Path, tmp_path: Path) -> list[Member]:
    shutil.copytree(paired, tmp_path / "household")
    return [Member(tmp_path / "household" / f"device-{number}", number) for number in (1, 2, 3)]


def visit(member: Member, server: Server, seed: int = 0) -> list[tuple[str, str]]:
    """The device is up for as long as it takes. What its program reports."""
    said: list[tuple[str, str]] = []
    member.now += 60_000
    visits = Visits(member, chance(100 * member.number + member.now % 99_991 + seed), _collect(said), inline)
    anyio.run(visits.once, RelaySetting(server.url, SPACE))
    return said


def _collect(said: list[tuple[str, str]]) -> Callable[[str, str], None]:
    return lambda code, sentence: said.append((code, sentence))


def at(server: Server, work: Callable[[JetStream], Awaitable[None]]) -> None:
    async def run() -> None:
        relay = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        try:
            await work(relay)
        finally:
            await relay.close()

    anyio.run(run)


def message(number: int, channel: str = "log", data: bytes = b"x") -> Publication:
    return Publication(Name(LANE, channel, number), data)


def test_relay_41_what_was_put_there_is_listed_fetched_and_deleted(server: Server) -> None:
    """RELAY-41"""

    async def work(relay: JetStream) -> None:
        assert await relay.names() == []
        for number in (1, 2, 3):
            await relay.put(message(number, data=bytes([number])))
        await relay.put(message(1, "snap.1"))
        assert await relay.fetch(Name(LANE, "log", 2)) == b"\x02"
        await relay.purge(Purge(LANE, "log", 3))
        await relay.purge(Purge(LANE, "snap.1", 2))
        assert await relay.names() == [Name(LANE, "log", 3)]
        assert await relay.fetch(Name(LANE, "log", 2)) is None

    at(server, work)


def test_relay_1180_devices_that_come_to_an_empty_server_at_once_are_all_let_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1180: another device makes the stream after this one has looked, and before it makes it itself. In one of
    ten times the server refuses the second then."""
    add = JetStreamContext.add_stream

    async def second(context: JetStreamContext, config: StreamConfig) -> None:
        await add(context, config)
        raise BadRequestError(code=400, err_code=10_065, description="subjects overlap with an existing stream")

    monkeypatch.setattr(JetStreamContext, "add_stream", second)

    async def work(relay: JetStream) -> None:
        await relay.put(message(1))

    at(server, work)


def test_relay_1180_what_another_stream_has_is_not_a_race(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-1180: a server that gives the subjects to another stream is named with what it says."""
    monkeypatch.setattr(jetstream, "STORED_WITHIN", (0.0,))

    async def work(relay: JetStream) -> None:
        await relay._context.delete_stream(relay._stream)
        await relay._context.add_stream(name="all", subjects=["ls.>"])
        with pytest.raises(Problem, match="subjects overlap"):
            await JetStream.connect(RelaySetting(server.url, SPACE), TAG)

    at(server, work)


def test_relay_1181_what_a_server_stores_late_is_looked_for_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1181: it was heard of, and is stored when nobody waits for it any more."""
    monkeypatch.setattr(jetstream, "STORED_WITHIN", (0.0,))
    monkeypatch.setattr(jetstream, "STORED_LATER", (0.5,))

    async def work(relay: JetStream) -> None:
        other = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        await relay.put(message(1))
        with pytest.raises(Moved):  # the server passes on what it refuses
            await other.put(message(2))
        await relay.changed.wait()
        relay.changed.clear()
        assert await relay.news() == [message(1).name]
        await relay.put(message(2))  # a client does not hear its own
        with anyio.fail_after(BOUND_SECONDS):
            await relay.changed.wait()
        assert await relay.news() == [message(2).name]
        await other.close()

    at(server, work)


def test_relay_1183_a_channel_goes_on_whose_last_message_somebody_has_deleted(
    server: Server, three: list[Member]
) -> None:
    """RELAY-1183: nats-server 2.9 says then that nothing lies in that channel, and the device looked again and again
    without end. It says that something is gone, and all of it comes again."""
    laptop, phone, _ = three
    for title in ("one", "two"):
        laptop.put("t1", title)
        visit(laptop, server)

    async def delete_the_last(relay: JetStream) -> None:
        logs = [name for name in await relay.names() if name.channel == "log"]
        await stream.delete(relay._context, relay._stream, relay._positions[max(logs)].sequence)

    at(server, delete_the_last)
    assert {code for code, _ in visit(laptop, server)} == {"relay-went-back"}
    visit(phone, server)
    assert phone.title("t1") == "two"


def test_relay_1185_a_device_does_not_look_again_without_end(
    server: Server, three: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1185: somebody publishes in its channel whenever it has looked. What it has found is said all the same."""
    laptop = three[0]
    laptop.put("t1", "one")
    visit(laptop, server)
    server.wipe()

    async def moved(relay: JetStream, publication: Publication) -> None:
        raise Moved

    monkeypatch.setattr(JetStream, "put", moved)
    said: list[tuple[str, str]] = []
    with pytest.raises(Problem, match="in the place of this device's next one"):
        anyio.run(Visits(laptop, chance(1), _collect(said), inline).once, RelaySetting(server.url, SPACE))
    assert {code for code, _ in said} == {"relay-went-back"}


@pytest.mark.parametrize("lags", [False, True])
def test_relay_982_a_copy_that_lags_behind_is_asked_again(server: Server, *, lags: bool) -> None:
    """RELAY-982: another node that has a copy of the stream answers first. One that has no others is asked once."""

    async def work(relay: JetStream) -> None:
        await relay.put(message(1))
        relay._copied_within = jetstream.COPIED_WITHIN if lags else ()
        ask, asked = relay._context.get_msg, 0

        async def lagging(*given: Any, **more: Any) -> RawStreamMsg:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise NotFoundError
            return await ask(*given, **more)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(relay._context, "get_msg", lagging)
            assert await relay.fetch(message(1).name) == (b"x" if lags else None)
        await relay.purge(Purge(LANE, "log", 2))
        assert await relay.fetch(message(1).name) is None

    at(server, work)


def test_relay_42_a_repetition_is_stored_once_and_another_message_in_its_place_not_at_all(server: Server) -> None:
    """RELAY-42"""

    async def work(relay: JetStream) -> None:
        await relay.put(message(1))
        stale = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        await stale.put(message(1))
        assert await relay.names() == [Name(LANE, "log", 1)]
        await relay.put(message(2))
        with pytest.raises(Moved):
            await stale.put(message(3, data=b"other"))
        await stale.close()

    at(server, work)


@pytest.mark.parametrize("place", ["there", "deleted", "elsewhere"])
@pytest.mark.parametrize("channel", ["log", "state"])
def test_relay_572_what_a_thief_has_put_in_the_place_of_a_message_is_not_taken_for_it(
    server: Server, three: list[Member], channel: str, place: str
) -> None:
    """RELAY-572, RELAY-1240: the id of the next message can be guessed, and for two minutes the server goes by it
    alone. So it did when the device was held up for as long."""
    laptop, phone, tablet = three
    laptop.put("t1", "one")
    visit(laptop, server)
    with laptop.space.reading() as reader:
        lane = ledger.lane(reader) or b""
        number, _ = ledger.end_of(reader, channel)

    async def squat(relay: JetStream) -> None:
        await relay.names()
        [subject] = {at.subject for name, at in relay._positions.items() if name[:2] == (lane, channel)}
        put = await relay._context.publish(
            subject if place != "elsewhere" else f"{relay._prefix}.{relay._tag.hex()}.probe", b"nothing",
            headers={"Nats-Msg-Id": f"{lane.hex()}-{channel}-{number + 1}"},
        )  # fmt: skip
        if place == "deleted":
            await stream.delete(relay._context, relay._stream, put.seq)

    async def look(relay: JetStream) -> None:
        assert squatted in await relay.names()
        assert parts_of(await relay.fetch(squatted) or b"").header.number == squatted.number

    squatted = Name(lane, channel, number + 1)
    at(server, squat)
    laptop.put("t1", "two")
    visit(laptop, server)
    at(server, look)
    visit(phone, server)
    assert phone.title("t1") == "two"
    for member in (tablet, laptop, phone, tablet):
        visit(member, server)
    assert in_step(*three)
    with laptop.space.reading() as reader:
        assert (ledger.lane(reader), ledger.unacknowledged(reader)) == (lane, None)


def test_relay_42_what_was_found_there_is_not_put_there_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-42: the acknowledgement was lost, and the server has forgotten the id meanwhile, or holds something else
    under it."""

    async def work(relay: JetStream) -> None:
        published = relay._context.publish

        async def under_another_id(subject: str, data: bytes, **more: Any) -> PubAck:
            more["headers"]["Nats-Msg-Id"] += ".0"
            return await published(subject, data, **more)

        with monkeypatch.context() as patched:
            patched.setattr(relay._context, "publish", under_another_id)
            await relay.put(message(1))
        again = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        assert await again.names() == [message(1).name]
        await again.put(message(1))
        assert (await again.info()).state.messages == 1
        await again.put(message(2))
        assert (await again.info()).state.messages == 2
        await again.close()

    at(server, work)


def test_relay_572_what_a_copy_of_this_device_has_published_is_not_overwritten(server: Server) -> None:
    """RELAY-572, RELAY-42, RELAY-21: it is not junk. The device looks first, and finds that it runs twice."""

    async def work(relay: JetStream) -> None:
        copy = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        await copy.put(message(1, data=b"of the copy"))
        with pytest.raises(Moved):
            await relay.put(message(1))
        assert await relay.names() == [message(1).name]
        assert await relay.fetch(message(1).name) == b"of the copy"
        await copy.close()

    at(server, work)


@pytest.mark.parametrize("ident", ["", "{lane}-{channel}-1000", "{lane}-{channel}-{next}"])
@pytest.mark.parametrize("channel", ["log", "state", "keys"])
def test_relay_1184_what_a_thief_has_put_into_a_channel_does_not_stop_its_device(
    server: Server, three: list[Member], monkeypatch: pytest.MonkeyPatch, channel: str, ident: str
) -> None:
    """RELAY-1184: it has no name, or one that is far ahead, or that of the next message. The server has forgotten its
    id: within two minutes it would not take another message under it (RELAY-572)."""
    monkeypatch.setattr(stream, "DUPLICATE_SECONDS", 0.1)
    laptop, phone, tablet = three
    laptop.put("t1", "one")
    visit(laptop, server)
    with laptop.space.reading() as reader:
        lane = ledger.lane(reader) or b""
        number, _ = ledger.end_of(reader, channel)

    async def squat(relay: JetStream) -> None:
        await relay.names()
        [subject] = {at.subject for name, at in relay._positions.items() if name[:2] == (lane, channel)}
        name = ident.format(lane=lane.hex(), channel=channel, next=number + 1)
        await relay._context.publish(subject, b"nothing", headers={"Nats-Msg-Id": name})
        later = {"Nats-Msg-Id": "later"}
        await relay._context.publish(f"{relay._prefix}.{relay._tag.hex()}.probe", b"", headers=later)
        while (await relay._context.publish(f"{relay._prefix}.{relay._tag.hex()}.probe", b"", headers=later)).duplicate:
            pass

    at(server, squat)
    laptop.put("t1", "two")
    for member in (laptop, phone, tablet, laptop, phone, tablet):
        visit(member, server)
    assert in_step(*three)
    assert phone.title("t1") == "two"
    found = anyio.run(Visits(phone, chance(7), _collect([]), inline).once, RelaySetting(server.url, SPACE))
    assert {each.in_step for each in found.standing} == {True}


def test_relay_831_what_was_replaced_at_a_server_is_noticed_by_its_number(server: Server) -> None:
    """RELAY-831: a thief deletes a message, and waits until the server has forgotten its id."""

    async def work(relay: JetStream) -> None:
        await relay._context.delete_stream(relay._stream)
        await relay._context.add_stream(
            name=relay._stream, subjects=[f"{relay._prefix}.>"], allow_direct=True, duplicate_window=0.1
        )
        for number in (1, 2):
            await relay.put(message(number))
        assert len(await relay.names()) == 2
        assert relay.replaced == set()
        await relay._context.purge_stream(relay._stream, seq=2, subject=relay._subject(LANE, "log"))
        subject, headers = relay._subject(LANE, "log"), {"Nats-Msg-Id": f"{LANE.hex()}-log-1"}
        while (await relay._context.publish(subject, b"nothing", headers=headers)).duplicate:
            pass
        assert len(await relay.names()) == 2
        assert relay.replaced == {Name(LANE, "log", 1)}

    at(server, work)


def test_relay_1120_what_another_device_deletes_meanwhile_hides_nothing_in_a_list(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1120: the relay showed none of a device's log for one look, and devices said that it had gone back."""
    some = jetstream._some

    async def work(relay: JetStream) -> None:
        other = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        for number in (1, 2):
            await other.put(message(number))
            await other.put(message(number, "state"))

        async def meanwhile(listing: JetStreamContext.PullSubscription, count: int) -> list[Msg]:
            await other.purge(Purge(LANE, "state", 2))
            return await some(listing, count)

        monkeypatch.setattr(jetstream, "_some", meanwhile)
        assert set(await relay.names()) == {message(1).name, message(2).name, message(2, "state").name}
        await other.close()

    at(server, work)


def test_relay_41_what_is_gone_already_is_deleted_without_a_word(server: Server) -> None:
    """RELAY-41: a device that was restored from a backup may have deleted it."""

    async def work(relay: JetStream) -> None:
        other = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        for number in range(1, 200):
            await relay.put(message(number))
        await other.names()
        for each in (relay, other):
            await each.purge(Purge(LANE, "log", 199))
            assert await each.names() == [message(199).name]
        await other.close()

    at(server, work)


def test_relay_836_only_what_came_since_the_last_look_is_listed(server: Server) -> None:
    """RELAY-836"""

    async def work(relay: JetStream) -> None:
        other = await JetStream.connect(RelaySetting(server.url, SPACE), TAG)
        await relay.put(message(1))
        assert await relay.names() == [Name(LANE, "log", 1)]
        await other.names()
        await other.put(message(2))
        assert await relay.news() == [Name(LANE, "log", 2)]
        assert await relay.news() == []
        assert await relay.fetch(Name(LANE, "log", 1)) == b"x"
        await other.close()

    at(server, work)


def test_relay_902_what_is_on_its_way_is_not_missing_in_a_list(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-902: the server has sent all of it, and nothing of it has come yet."""
    some, late = jetstream._some, list[Msg]()

    async def slow(listing: JetStreamContext.PullSubscription, count: int) -> list[Msg]:
        come = late[:]
        late[:] = await some(listing, count)
        return come

    async def work(relay: JetStream) -> None:
        for number in (1, 2):
            await relay.put(message(number))
        monkeypatch.setattr(jetstream, "_some", slow)
        assert await relay.names() == [Name(LANE, "log", 1), Name(LANE, "log", 2)]

    at(server, work)


def test_relay_836_a_running_program_looks_at_all_of_it_once_a_minute(
    server: Server, three: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-836: the minute does not pass here."""
    monkeypatch.setattr(visits, "VISIT_SECONDS", 3_600.0)
    looks: Counter[JetStream] = Counter()
    names = JetStream.names

    async def counted(relay: JetStream) -> list[Name]:
        looks[relay] += 1
        return await names(relay)

    monkeypatch.setattr(JetStream, "names", counted)
    laptop, phone, _ = three
    for member in (laptop, phone):
        setting.write(member.space, server.url, SPACE, member.now)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for member in (laptop, phone):
                tasks.start_soon(Visits(member, chance(member.number), _collect([]), inline).run)
            for number in range(4):
                writer, reader = (laptop, phone) if number % 2 else (phone, laptop)
                writer.put("t1", str(number))
                await until(lambda: reader.title("t1") == str(number), "the change's arrival")  # noqa: B023
            tasks.cancel_scope.cancel()

    anyio.run(run)
    assert set(looks.values()) == {1}, "once at the start of each connection"


def test_relay_43_three_devices_that_are_never_up_together_share_everything(
    server: Server, three: list[Member]
) -> None:
    """RELAY-43, RELAY-1"""
    laptop, phone, tablet = three
    laptop.put("t1", "Repair the bicycle")
    visit(laptop, server)
    phone.put("t2", "Buy milk")
    visit(phone, server)
    tablet.put("t1", "Repair the red bicycle")
    tablet.put("decision", "confirmed", store="agent", kind="agentMessage")
    said = visit(tablet, server)
    for _ in range(3):
        for member in three:
            said += visit(member, server)
    assert in_step(*three)
    assert laptop.title("t2") == "Buy milk"
    assert phone.title("decision", store="agent") == "confirmed"
    assert said == []
    setting_ = RelaySetting(server.url, SPACE)
    found = anyio.run(Visits(laptop, chance(7), _collect([]), inline).once, setting_)
    assert [(each.name, each.in_step) for each in found.standing] == [("device 2", True), ("device 3", True)]
    stored = b"".join(file.read_bytes() for file in (server.folder / "store").rglob("*") if file.is_file())
    assert stored
    for secret in (b"bicycle", b"Buy milk", b"device 1", laptop.id.encode(), bytes.fromhex(laptop.id)):
        assert secret not in stored


def test_relay_18_a_server_that_lost_everything_is_filled_again(server: Server, three: list[Member]) -> None:
    """RELAY-18"""
    laptop, phone, tablet = three
    laptop.put("t1", "one")
    visit(laptop, server)
    visit(phone, server)
    server.wipe()
    said = [said for member in (phone, laptop, tablet, phone, laptop, tablet) for said in visit(member, server)]
    assert tablet.title("t1") == "one"
    assert {code for code, _ in said} == {"relay-went-back"}


def test_relay_20_a_newcomer_joins_from_a_snapshot(server: Server, three: list[Member], tmp_path: Path) -> None:
    """RELAY-20, RELAY-28"""
    laptop, phone, _ = three
    for number in range(6):
        laptop.put(f"large{number}", "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4)))
    visit(laptop, server)
    newcomer = Member(tmp_path / "newcomer", 9)
    laptop.admit(newcomer)
    newcomer.admit(laptop)
    introduce(laptop, newcomer)
    for member in (newcomer, laptop, newcomer):
        visit(member, server)
    assert newcomer.title("large5") == laptop.title("large5")
    visit(phone, server)
    assert phone.title("large5") == laptop.title("large5")


def test_a_server_that_is_killed_keeps_what_it_acknowledged(server: Server, three: list[Member]) -> None:
    """RELAY-43"""
    laptop, phone, _ = three
    laptop.put("t1", "one")
    visit(laptop, server)
    server.stop(signal.SIGKILL)
    with pytest.raises(Problem, match="cannot be used"):
        visit(phone, server)
    server.start()
    assert visit(phone, server) == []
    assert phone.title("t1") == "one"


def test_relay_44_a_full_relay_is_said_and_nothing_is_lost(
    server: Server, three: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-44"""
    laptop, _, _ = three
    monkeypatch.setattr(stream, "STREAM_BYTES", 100_000)
    visit(laptop, server)
    laptop.put("large", random.Random(1).randbytes(100_000).hex())
    with pytest.raises(Problem, match="the relay is full"):
        visit(laptop, server)
    assert laptop.title("large") is not None


def test_relay_45_a_running_program_visits_when_something_was_committed_or_published(
    server: Server, three: list[Member]
) -> None:
    """RELAY-45"""
    laptop, phone, _ = three
    for member in (laptop, phone):
        setting.write(member.space, server.url, SPACE, member.now)

    async def run() -> None:
        said: list[tuple[str, str]] = []
        async with anyio.create_task_group() as tasks:
            for member in (laptop, phone):
                tasks.start_soon(Visits(member, chance(member.number), _collect(said), inline).run)
            laptop.put("t1", "one")
            await until(lambda: phone.title("t1") == "one", "the task's arrival")
            tasks.cancel_scope.cancel()
        assert said == []

    anyio.run(run)


def test_relay_1200_what_is_there_of_a_store_that_is_added_is_read(server: Server, three: list[Member]) -> None:
    """RELAY-1200: this device had passed it over, for it had no such store."""
    laptop, phone = Member(three[0].folder, 1, [*STORES, BOOK]), three[1]
    laptop.put("r1", "Soup", store="book", kind="recipe")
    visit(laptop, server)
    setting.write(phone.space, server.url, SPACE, phone.now)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Visits(phone, chance(2), _collect([]), inline).run)
            laptop.put("t1", "one")
            await anyio.to_thread.run_sync(visit, laptop, server)
            await until(lambda: phone.title("t1") == "one", "what is beside it")
            Member(phone.folder, phone.number, [*STORES, BOOK]).close()
            phone.files.look()
            phone.put("t2", "rings the bell")
            await until(lambda: phone.title("r1", store="book") == "Soup", "the recipe")
            tasks.cancel_scope.cancel()

    anyio.run(run)


def test_relay_1182_a_device_notices_when_the_server_goes(server: Server) -> None:
    """RELAY-1182: though nothing is asked of it."""

    async def work(relay: JetStream) -> None:
        relay.changed.clear()
        server.stop()
        with anyio.fail_after(BOUND_SECONDS):
            await relay.changed.wait()
        with pytest.raises(Problem, match="cannot be used"), relay.asking():
            await relay.news()

    at(server, work)


def test_relay_1182_a_server_that_was_started_again_is_visited_within_seconds(
    server: Server, three: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1182: the minute after which a device looks by itself does not pass here."""
    monkeypatch.setattr(visits, "VISIT_SECONDS", 3_600.0)
    laptop, phone, _ = three
    setting.write(phone.space, server.url, SPACE, phone.now)
    said: list[tuple[str, str]] = []

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Visits(phone, chance(2), _collect(said), inline).run)
            for title in ("one", "two"):
                laptop.put("t1", title)
                await anyio.to_thread.run_sync(visit, laptop, server)
                await until(lambda: phone.title("t1") == title, f"the arrival of {title}")  # noqa: B023
                server.stop()
                await until(lambda: said, "the device's word that the relay is away")
                server.start()
            tasks.cancel_scope.cancel()

    anyio.run(run)
    assert {code for code, _ in said} == {"relay-away"}


def test_relay_1182_each_failed_visit_in_a_row_is_tried_again_later() -> None:
    """RELAY-1182: twice as late, up to a minute, and not all devices at once."""
    last, first = (lambda count: bytes(count)), (lambda count: b"\xff" * count)
    assert [visits.pause_after(failures, last) for failures in (1, 2, 3, 7, 1_000_000)] == [1, 2, 4, 60, 60]
    assert 0.5 < visits.pause_after(1, first) < 0.51
    assert 30 < visits.pause_after(99, first) < 30.01


@pytest.mark.parametrize("moved", [True, False])
def test_relay_896_devices_that_come_to_the_old_relay_alone_hear_of_the_new_one(
    server: Server, three: list[Member], *, moved: bool
) -> None:
    """RELAY-896: or that none is used any more."""
    laptop, phone, _ = three
    used = setting.write(laptop.space, server.url, SPACE, laptop.now)
    there = Visits(phone, chance(2), _collect([]), inline)

    async def seen(condition: Callable[[], bool]) -> None:
        with anyio.fail_after(BOUND_SECONDS):
            while not condition():
                phone.now += 60_000
                await there.once(used)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Visits(laptop, chance(1), _collect([]), inline).run)
            await seen(lambda: setting.read(phone.space) == used)
            laptop.now += 60_000
            if moved:
                setting.write(laptop.space, "nats://127.0.0.1:9", bytes(16), laptop.now)
            else:
                setting.remove(laptop.space, laptop.now)
            await seen(lambda: setting.read(phone.space) != used)
            tasks.cancel_scope.cancel()

    anyio.run(run)
    assert setting.read(phone.space) == setting.read(laptop.space)


def test_the_setting_replicates_and_shows_no_password(three: list[Member]) -> None:
    """RELAY-46: also one that was set after none was used any more."""
    laptop, phone, _ = three
    assert setting.read(laptop.space) is None
    made = setting.write(laptop.space, "nats://me:secret@relay.example:4222", SPACE, laptop.now)
    assert made.shown == "nats://relay.example:4222"
    introduce(laptop, phone)
    assert setting.read(phone.space) == made
    assert setting.write(phone.space, "tls://elsewhere.example", bytes(16), phone.now).space == SPACE
    assert setting.remove(phone.space, phone.now)
    assert not setting.remove(phone.space, phone.now)
    again = setting.write(phone.space, "nats://relay.example:4222", bytes(16), phone.now + 1)
    assert setting.read(phone.space) == again
    introduce(laptop, phone)
    assert setting.read(laptop.space) == again
    with pytest.raises(Problem, match="not the address"):
        setting.parse_url("http://relay.example")


def test_names_that_are_not_ours_are_passed_over() -> None:
    for subject, ident in (("ls.a.b", "x"), (f"ls.a.b.{LANE.hex()}.log", f"{LANE.hex()}-state-1"), ("a.b.c.d.e", "")):
        assert jetstream._name(subject, ident) is None
    name = jetstream._name(f"ls.a.b.{LANE.hex()}.snap.1", f"{LANE.hex()}-snap.1-7")
    assert name == Name(LANE, "snap.1", 7)
