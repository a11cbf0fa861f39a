"""What one real NATS server, or three, may go through without anything being lost. Most of it is for `make deep`."""

import base64
import json
import random
import re
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import StreamInfo
from nats.js.errors import APIError
from tests.support.command_line import eventually
from tests.support.household import Member, in_step, inline
from tests.support.nats_server import WHERE, Server
from tests.support.ports import free_port
from tests.support.recorded_wire import RecordedWire

from lottisync.problem import Problem
from lottisync.relay import connection, stream
from lottisync.relay.setting import RelaySetting
from lottisync.relay.visits import Visits

pytestmark = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")
SPACE = bytes(range(16))
STREAM = f"LS-{SPACE.hex()}"
MINUTE = 60_000


class House:
    """Three devices that are never up at the same time, at servers that fail. `reports` are the codes of what was
    said."""

    def __init__(self, members: list[Member], *servers: Server) -> None:
        self.members, self.servers = members, list(servers)
        self.chance = random.Random(1)
        self.reports: list[str] = []
        self.count = 0

    def write(self, member: Member) -> None:
        self.count += 1
        member.put(f"t{self.count}", f"Secretword{self.count}")

    def visit(self, member: Member, server: Server | RecordedWire | None = None) -> bool:
        """Whether the visit came to its end."""
        member.now += MINUTE
        at = server or self.servers[0]
        visits = Visits(member, self.chance.randbytes, lambda code, _: self.reports.append(code), inline)
        try:
            anyio.run(visits.once, RelaySetting(at.url, SPACE))
        except (Problem, TimeoutError, NatsError, APIError, OSError):
            return False
        return True

    def settle(self) -> None:
        """Everything works again: after a few rounds all have everything. Servers that have just begun may have no
        leader yet, or read from a node that is behind, so a visit is tried, and rounds are made, until that is over."""
        if len(self.servers) == 1:
            for _ in range(3):
                self._after_a_round()
            assert self._after_a_round()
        else:
            eventually(self._after_a_round, "that all are in step")
        for number in range(1, self.count + 1):
            assert self.members[0].title(f"t{number}") == f"Secretword{number}"

    def _after_a_round(self) -> bool:
        """Whether all are in step then."""
        for member in self.members:
            eventually(partial(self.visit, member), "a visit that comes to its end")
        return in_step(*self.members)

    def stored(self) -> bytes:
        return b"".join(
            file.read_bytes() for s in self.servers for file in (s.folder / "store").rglob("*") if file.is_file()
        )


@pytest.fixture
def members(paired: Path, tmp_path: Path) -> list[Member]:
    shutil.copytree(paired, tmp_path / "household")
    return [Member(tmp_path / "household" / f"device-{number}", number) for number in (1, 2, 3)]


@pytest.fixture
def house(members: list[Member], tmp_path: Path) -> Iterator[House]:
    server = Server(tmp_path / "server")
    yield House(members, server)
    server.stop(signal.SIGKILL)


def test_relay_545_a_stolen_credential_can_delete_and_flood_and_devices_take_nothing_false(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-545, RELAY-44"""
    monkeypatch.setattr(stream, "STREAM_BYTES", 100_000)
    laptop, phone, _ = house.members
    house.write(laptop)
    assert house.visit(laptop)

    async def steal() -> None:
        client = await connection.connect(RelaySetting(house.servers[0].url, SPACE))
        context = client.jetstream()
        await context.purge_stream(STREAM)
        for size in (20_000, 400):
            with suppress(APIError):  # it is full
                await flood(context, size)
        await client.close()

    async def clear() -> None:
        client = await connection.connect(RelaySetting(house.servers[0].url, SPACE))
        await client.jetstream().purge_stream(STREAM)
        await client.close()

    async def flood(stream: JetStreamContext, size: int) -> None:
        for number in range(1, 1_000):
            lane = (1_000 * size + number).to_bytes(8, "big").hex()
            ident = {"Nats-Msg-Id": f"{lane}-log-1"}
            await stream.publish(f"ls.{SPACE.hex()}.{bytes(8).hex()}.{lane}.log", bytes(size), headers=ident)

    anyio.run(steal)
    house.write(phone)
    assert not house.visit(phone)  # there is no room
    assert phone.title("t1") is None
    anyio.run(clear)
    house.settle()
    assert b"Secretword" not in house.stored()


def secrets_of(house: House) -> list[bytes]:
    """What nobody else may read, as text, as bytes, in hexadecimal and in base64 (at each place where it may begin)."""
    found = [f"Secretword{number}".encode() for number in range(1, house.count + 1)]
    for member in house.members:
        found += [member.id.encode(), bytes.fromhex(member.id), f"device {member.number}".encode()]
        for store in member.stores.values():
            with store.reading() as reader:
                found += [reader.host.encode(), bytes.fromhex(reader.host)]
    found += [f"entity-{number}-of-the-household".encode() for number in range(1, house.count + 1)]
    shifted = [base64.b64encode(bytes(shift) + each)[4 * (shift > 0) : -4] for each in found for shift in range(3)]
    forms = [*found, *(each.hex().encode() for each in found), *shifted]
    return [form for form in forms if len(form) >= 8]  # less is found by chance in what is sealed


def test_relay_7_neither_the_wire_nor_the_stream_holds_a_word_a_name_an_id_or_a_host(house: House) -> None:
    """RELAY-7, RELAY-43: everything that passes on the socket, and every byte that the server has written."""
    wire = RecordedWire(house.servers[0].port)
    try:
        for member in house.members:
            house.count += 1
            member.put(f"entity-{house.count}-of-the-household", f"Secretword{house.count}")
            assert house.visit(member, wire)
        for _ in range(3):
            for member in house.members:
                assert house.visit(member, wire)
    finally:
        wire.close()
    assert in_step(*house.members)
    said, stored = wire.directions, house.stored()
    lane = re.search(rb"ls\.[0-9a-f]{32}\.[0-9a-f]{16}\.([0-9a-f]{16})\.log", b"".join(said))
    assert lane is not None
    assert lane[1] in stored  # it looks where everything lies
    assert not [secret for secret in secrets_of(house) for text in (*said, stored) if secret in text]
    assert house.reports == []


def test_relay_24_a_revoked_device_that_publishes_reads_and_deletes_at_the_server(house: House) -> None:
    """RELAY-24, RELAY-10, RELAY-25: it still knows the password, and nobody has told it."""
    laptop, phone, tablet = house.members
    for member in 2 * [tablet, laptop, phone]:
        house.write(member)
        assert house.visit(member)
    before = house.count
    laptop.members.revoke(tablet.id, [], laptop.now)
    laptop.put("secret", "Secretword of those who stay")
    assert house.visit(laptop)
    tablet.put("late", "of the revoked")
    assert house.visit(tablet)
    assert tablet.title("secret") is None
    assert house.visit(phone)

    async def delete() -> None:
        client = await connection.connect(RelaySetting(house.servers[0].url, SPACE))
        await client.jetstream().purge_stream(STREAM)
        await client.close()

    anyio.run(delete)
    for member in (tablet, phone, laptop, tablet, phone, laptop):
        assert house.visit(member)
    assert in_step(laptop, phone)
    assert tablet.title("secret") is None
    for member in (laptop, phone):
        titles = [member.title(f"t{number}") for number in range(1, before + 1)]
        assert titles == [f"Secretword{number}" for number in range(1, before + 1)]
        assert (member.title("secret"), member.title("late")) == ("Secretword of those who stay", None)


@pytest.mark.deep
def test_relay_43_a_connection_that_ends_in_the_middle_of_a_long_catching_up_loses_nothing(house: House) -> None:
    """RELAY-43, RELAY-13: as when the server cuts a client off that reads too slowly."""
    laptop, phone, _ = house.members
    for number in range(6):
        laptop.put(f"large{number}", house.chance.randbytes(120_000).hex())
    assert house.visit(laptop)
    house.write(laptop)
    assert house.visit(laptop)
    wire = RecordedWire(house.servers[0].port)
    try:
        for _ in range(3):
            wire.cut_after = 400_000
            assert not house.visit(phone, wire)
        assert wire.cuts == 3
        assert phone.title("t1") is None
    finally:
        wire.close()
    house.settle()
    assert phone.title("large5") == laptop.title("large5")


@pytest.mark.deep
def test_relay_43_a_server_killed_ten_times_and_set_back_to_a_copy_of_its_files(house: House) -> None:
    """RELAY-43, RELAY-17, RELAY-18"""
    server = house.servers[0]
    copy = server.folder.parent / "copy"
    for number in range(10):
        member = house.members[number % 3]
        house.write(member)
        assert house.visit(member)
        server.stop(signal.SIGKILL)
        if number == 4:
            shutil.copytree(server.folder / "store", copy)
        if number == 7:
            shutil.rmtree(server.folder / "store")
            shutil.copytree(copy, server.folder / "store")
        server.start()
    house.settle()
    assert "relay-went-back" in house.reports
    server.wipe()
    house.settle()
    assert b"Secretword" not in house.stored()


@pytest.fixture
def cluster(members: list[Member], tmp_path: Path) -> Iterator[House]:
    """Three nodes, and a stream with three replicas, as the person who runs them has set it."""
    ports = [free_port() for _ in range(3)]
    routes = json.dumps([f"nats://127.0.0.1:{port}" for port in ports])
    servers = []
    for number, port in enumerate(ports):
        more = f"server_name: n{number}\ncluster {{ name: C, listen: '127.0.0.1:{port}', routes: {routes} }}"
        servers.append(Server(tmp_path / f"node-{number}", more=more))
    house = House(members, *servers)
    eventually(lambda: answer(servers[0], replicated), "that the nodes elect a leader, and make a stream")
    yield house
    for server in servers:
        server.stop(signal.SIGKILL)


Question = Callable[[JetStreamContext], Awaitable[StreamInfo]]


def answer(server: Server, question: Question) -> StreamInfo | None:
    """What the stream is, as this node knows it; None while the nodes have elected no leader, who would answer."""

    async def ask() -> StreamInfo | None:
        try:
            client = await connection.connect(RelaySetting(server.url, SPACE))
        except Problem:
            return None
        try:
            return await question(client.jetstream(timeout=2))
        except (TimeoutError, NatsError):
            return None
        finally:
            await client.close()

    return anyio.run(ask)


def replicated(stream: JetStreamContext) -> Awaitable[StreamInfo]:
    return stream.add_stream(
        name=STREAM, subjects=[f"ls.{SPACE.hex()}.>"], num_replicas=3, allow_direct=True, max_bytes=64_000_000
    )


def leader(house: House, asked: Server) -> Server | None:
    info = answer(asked, lambda stream: stream.stream_info(STREAM))
    name = info.cluster.leader if info is not None and info.cluster is not None else None
    return next((s for number, s in enumerate(house.servers) if f"n{number}" == name), None)


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_relay_43_three_nodes_whose_leader_is_killed_ten_times(cluster: House) -> None:
    """RELAY-43, RELAY-1"""
    for number in range(10):
        member = cluster.members[number % 3]
        cluster.write(member)
        asked = cluster.servers[number % 3]
        killed = eventually(partial(leader, cluster, asked), "that the stream has a leader")
        killed.stop(signal.SIGKILL)
        others = [server for server in cluster.servers if server is not killed]
        cluster.visit(member, others[number % 2])  # it may come to its end, or to none
        if number == 5:
            shutil.rmtree(killed.folder / "store")
        killed.start()
    for server in cluster.servers:
        server.stop()
    for server in cluster.servers:
        server.start()
    cluster.settle()
    assert b"Secretword" not in cluster.stored()
    assert "relay-refused" not in cluster.reports
