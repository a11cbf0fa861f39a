"""A server that has no room, and one that cuts off a slow client: what is reported to the person, and that everything
arrives afterwards (docs/specs/19-relay.md, section 10)."""

import json
import random
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
from nats.js.errors import APIError
from tests.support.command_line import eventually
from tests.support.event_loop import until
from tests.support.household import Member, in_step, inline
from tests.support.nats_server import WHERE, Server
from tests.support.ports import free_port
from tests.support.recorded_wire import RecordedWire
from tests.support.small_disk import CAN_MOUNT, SmallDisk

from lottisync.cli.relay_diagnosis import examine
from lottisync.device import clock
from lottisync.problem import Problem
from lottisync.relay import connection, visits
from lottisync.relay import setting as settings
from lottisync.relay.setting import RelaySetting
from lottisync.relay.trial import Trial
from lottisync.relay.visits import Visits

pytestmark = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")
SPACE, TAG = bytes(range(16)), bytes(8)
STREAM = f"LS-{SPACE.hex()}"
ROOM = "max_file_store: 268435456"
"""What a server promises, however large its disk is: as `relay server-config` writes it for one person."""
ACCOUNT = "accounts {{ ada: {{ jetstream: {{ max_file: {most} }}, users: [ {{ user: ada, password: secret }} ] }} }}"


@pytest.fixture
def two(paired: Path, tmp_path: Path) -> list[Member]:
    shutil.copytree(paired, tmp_path / "household")
    return [Member(tmp_path / "household" / f"device-{number}", number) for number in (1, 2)]


def visit(member: Member, url: str, *, publish: bool = True) -> None:
    member.now += 60_000
    at = Visits(member, random.Random(member.now + member.number).randbytes, lambda *said: None, inline)
    anyio.run(partial(at.once, RelaySetting(url, SPACE), publish=publish))


def refused(member: Member, url: str, *, publish: bool = True) -> Problem:
    """A visit fails; the problem that is reported to the person."""
    with pytest.raises(Problem) as problem:
        visit(member, url, publish=publish)
    return problem.value


def faults(url: str) -> dict[str, str]:
    """What the doctor finds, and says to do, part by part."""
    found = anyio.run(examine, RelaySetting(url, SPACE), TAG, clock.now)
    return {each.part: f"{each.text}. {each.advice}" for each in found if each.state == "fault"}


def arrives(url: str, *members: Member) -> None:
    """There is room again: all have everything after a few visits, and the doctor finds nothing."""
    for _ in range(3):
        for member in members:
            visit(member, url)
    assert in_step(*members)
    assert members[0].title("of-phone") is not None
    eventually(lambda: not faults(url), "a server without a fault")


@contextmanager
def serving_ada(folder: Path, most: int) -> Iterator[tuple[Server, str]]:
    """A server whose one account may store so many bytes, and its URL for the user of that account."""
    server = Server(folder, more=ACCOUNT.format(most=most))
    try:
        yield server, server.url.replace("//", "//ada:secret@")
    finally:
        server.stop()


def give_room(server: Server, most: int) -> None:
    """The account may store a hundred megabytes."""
    server.stop()
    server.change(f"max_file: {most}", "max_file: 100000000")
    server.start()


def large(member: Member, entity: str) -> None:
    """More than a page of a disk has left over."""
    member.put(entity, random.Random(1).randbytes(60_000).hex())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "server" / "store", "16m")
    yield disk
    disk.close()


@pytest.mark.deep
@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
def test_relay_834_a_disk_that_is_full_is_said_and_nothing_is_lost(
    two: list[Member], tmp_path: Path, small_disk: SmallDisk
) -> None:
    """RELAY-834: nats-server 2.9 then answers to nothing that is asked of its streams, until it is killed."""
    laptop, phone = two
    server = Server(tmp_path / "server", storage=ROOM, within=small_disk.within)
    try:
        laptop.put("t1", "one")
        visit(laptop, server.url)
        visit(phone, server.url)
        small_disk.fill()
        large(phone, "of-phone")
        assert refused(phone, server.url).code in ("relay-stalled", "relay-no-room", "relay-full")
        message = refused(laptop, server.url, publish=False).message
        assert "disk may be full" in message
        assert "Make room, and start the server again" in faults(server.url)["stream"]
        small_disk.clear()
        server.stop(signal.SIGKILL)
        server.start()
        arrives(server.url, laptop, phone)
    finally:
        server.stop(signal.SIGKILL)


def test_relay_834_an_account_without_room_for_a_stream_is_said(two: list[Member], tmp_path: Path) -> None:
    """RELAY-834"""
    laptop, phone = two
    with serving_ada(tmp_path / "server", 1_000_000) as (server, url):
        phone.put("of-phone", "one")
        problem = refused(phone, url)
        assert (problem.code, "secret" in problem.message) == ("relay-no-room", False)
        assert "Give the account and the server more room: max_file" in faults(url)["stream"]
        give_room(server, 1_000_000)
        arrives(url, laptop, phone)


def test_relay_834_an_account_that_is_full_is_said_and_nothing_is_lost(two: list[Member], tmp_path: Path) -> None:
    """RELAY-834, RELAY-44: the stream has no bound of its own, and the account has."""
    laptop, phone = two

    async def fill(url: str) -> None:
        client = await connection.connect(RelaySetting(url, SPACE))
        await client.jetstream().add_stream(name=STREAM, subjects=[f"ls.{SPACE.hex()}.>"], allow_direct=True)
        with suppress(APIError):
            while await client.jetstream().publish(f"ls.{SPACE.hex()}.other", bytes(100)):
                pass
        await client.close()

    with serving_ada(tmp_path / "server", 50_000) as (server, url):
        anyio.run(fill, url)
        large(phone, "of-phone")
        problem = refused(phone, url)
        assert problem.code == "relay-full", problem
        visit(laptop, url, publish=False)
        assert "the relay is full" in faults(url)["storage"]
        give_room(server, 50_000)
        arrives(url, laptop, phone)


@pytest.mark.parametrize(
    ("description", "code", "advice"),
    [
        ("open store/msgs/1.blk: no such file or directory", "relay-not-storing", "Look at the server's log"),
        ("input/output error", "relay-not-storing", "Look at the server's log"),
        ("write store/msgs/1.blk: no space left on device", "relay-no-room", "Give the stream more room"),
        ("maximum bytes exceeded", "relay-no-room", "Give the stream more room"),
    ],
)
def test_relay_1247_a_server_whose_disk_fails_is_not_called_full(
    two: list[Member], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, description: str, code: str, advice: str
) -> None:
    """RELAY-1247, RELAY-1248: what a server says of a message that it did not store, as it was seen."""
    said = APIError(code=503, err_code=10_077, description=description)

    async def refuse(_: Trial) -> None:
        raise said

    problem = connection.stalled(RelaySetting("nats://127.0.0.1:9", SPACE), said)
    assert (problem.code, description in problem.message) == (code, True)
    server = Server(tmp_path / "server")
    try:
        visit(two[0], server.url)
        monkeypatch.setattr(Trial, "put", refuse)
        found = faults(server.url)["storage"]
        assert advice in found
        assert description in found
        assert ("full" in found) == (code == "relay-no-room")
    finally:
        server.stop()


def _slow_consumers(monitor: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{monitor}/varz") as answer:
        return int(json.load(answer)["slow_consumers"])


@pytest.mark.deep
def test_relay_835_a_device_that_was_cut_off_for_slow_reading_comes_again(
    two: list[Member], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-835"""
    monkeypatch.setattr(visits, "AGAIN_SECONDS", 0.1)
    laptop, phone = two
    monitor = free_port()
    more = f"max_pending: 1048576\nwrite_deadline: '500ms'\nhttp: '127.0.0.1:{monitor}'"
    server = Server(tmp_path / "server", more=more)
    wire = RecordedWire(server.port)
    said: list[tuple[str, str]] = []
    settings.write(phone.space, wire.url, SPACE, phone.now)

    async def flood() -> None:
        """More than lies between the two unread."""
        client = await connection.connect(RelaySetting(server.url, SPACE))
        for _ in range(12):
            await client.publish(f"ls.{SPACE.hex()}.flood", bytes(900_000))
        await client.flush(60)
        await client.close()

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            report = lambda code, sentence: said.append((code, sentence))  # noqa: E731
            tasks.start_soon(Visits(phone, random.Random(1).randbytes, report, inline).run)
            laptop.put("t1", "one")
            await anyio.to_thread.run_sync(visit, laptop, server.url)
            await until(lambda: phone.title("t1") == "one", "the first change")
            wire.reading.clear()
            await flood()
            cut_off = partial(_slow_consumers, monitor)
            await anyio.to_thread.run_sync(eventually, cut_off, "that the server has cut it off")
            wire.reading.set()
            laptop.put("t2", "two")
            await anyio.to_thread.run_sync(visit, laptop, server.url)
            await until(lambda: phone.title("t2") == "two", "the change after it was cut off")
            tasks.cancel_scope.cancel()

    try:
        anyio.run(run)
    finally:
        wire.close()
        server.stop()
    assert {code for code, _ in said} == {"relay-away"}
