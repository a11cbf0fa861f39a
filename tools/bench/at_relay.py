"""What a relay costs: devices of one person, and many persons, at real NATS servers on this machine.

Messages and bytes are those that the server counts, in and out: they do not depend on what else the machine does.
Memory is of the server's and the daemon's processes.
"""

import contextlib
import json
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from tests.support import rounds
from tests.support.household import Member, inline
from tests.support.nats_server import Server, free_port

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import verify
from lottisync.relay import connection
from lottisync.relay import setting as settings
from lottisync.relay.epoch import Epoch
from lottisync.relay.header import FIRST, Kind, Name, link_of, parts_of
from lottisync.relay.jetstream import JetStream
from lottisync.relay.lane import Lane
from lottisync.relay.participant import Participant
from lottisync.relay.seal import unsealed
from lottisync.relay.server_files import STREAM_BYTES
from lottisync.relay.setting import Setting as Address
from lottisync.relay.visits import Visits
from tools.bench.devices import HERE, fill
from tools.bench.figure import Figure, value_at_most
from tools.bench.plot import Curve
from tools.bench.process import memory, running
from tools.bench.record import ident, task
from tools.bench.setting import Setting

SPACE = bytes(range(16))
DEVICES = (2, 10, 100)
FEW_DEVICES = (2, 5)
CHANGES = 5
WEEK = 700
"""Changes of a week: a hundred a day."""
TOGETHER = 64
"""Persons at the same time."""
PERSONS = 1_000, 100
"""With a stream of one replica each, and of three."""
LANES, OF_A_LANE, CHANGE_BYTES = 3, 5, 250
BOUND_SECONDS = 1_800.0


class Counted(NamedTuple):
    """What a server has counted: messages and bytes, to it and from it."""

    messages_in: int
    messages_out: int
    bytes_in: int
    bytes_out: int

    def since(self, before: "Counted") -> "Counted":
        return Counted(*(now - was for now, was in zip(self, before, strict=True)))


class Counting:
    """A server that tells what it has counted."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self._monitor = free_port()
        self.server = Server(folder, more=f"http: '{HERE}:{self._monitor}'\n{more}")

    def counted(self) -> Counted:
        found = self._asked("varz")
        return Counted(found["in_msgs"], found["out_msgs"], found["in_bytes"], found["out_bytes"])

    def is_whole(self) -> bool:
        """Whether it has found all its streams again, and somebody leads."""
        try:
            return self._asked("healthz").get("status") == "ok"
        except OSError:
            return False

    def _asked(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://{HERE}:{self._monitor}/{what}") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    @property
    def resident(self) -> int:
        return memory(self.server._process.pid)[0]


@contextlib.contextmanager
def counting(folder: Path, more: str = "") -> Iterator[Counting]:
    made = Counting(folder, more)
    try:
        yield made
    finally:
        made.server.stop()


def at_relay(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """All of it, one after the other."""
    found, curves = changes(setting)
    return [*found, *join(setting), *week(setting), *beside_daemon(setting), *persons(setting)], curves


# -- one person


def household(folder: Path, count: int) -> list[Member]:
    """Devices that were paired with the first one, each while both were up."""
    folder.mkdir(parents=True)
    members = [Member(folder / f"device-{number}", number) for number in range(1, count + 1)]
    first, *others = members
    for each in members:
        Participant(each, SPACE, os.urandom, each.now).close()
    for each in others:
        first.admit(each)
        each.admit(first)
        rounds.pull(first, each, first.now, ["space"])
    for each in others:
        rounds.pull(each, first, each.now, ["space"])
    return members


def visit(member: Member, url: str) -> None:
    member.now += 60_000
    anyio.run(Visits(member, os.urandom, lambda *said: None, inline).once, Address(url, SPACE))


def changes(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """All devices are up: what one change moves, until the last one has it."""
    figures, points = [], dict[str, dict[int, float]]()
    for count in FEW_DEVICES if setting.sizes.quick else DEVICES:
        setting.doing(f"{count} devices at a relay")
        folder = setting.folder / f"relay-{count}"
        members = household(folder, count)
        with counting(folder / "server") as server:
            moved, seconds = anyio.run(_moved, members, server)
        for member in members:
            member.close()
        each = [value / CHANGES for value in moved]
        name = f"a change, {count} devices at a relay"
        figures += [
            Figure(f"{name}: messages to the server", each[0], ""),
            Figure(f"{name}: messages from it", each[1], ""),
            Figure(f"{name}: bytes to the server", each[2], "B"),
            Figure(f"{name}: bytes from it", each[3], "B"),
            Figure(f"{name}: until the last has it", seconds * 1e3, "ms"),
        ]
        for what, value in zip(("messages in", "messages out", "bytes in", "bytes out"), each, strict=True):
            points.setdefault(what, {})[count] = value
    return figures, [Curve(what, found) for what, found in points.items()]


async def _moved(members: list[Member], server: Counting) -> tuple[Counted, float]:
    """What the server has counted for some changes of the first device, and how long the last one took."""
    for member in members:
        settings.write(member.space, server.server.url, SPACE, member.now)
    async with anyio.create_task_group() as tasks:
        for member in members:
            tasks.start_soon(Visits(member, os.urandom, lambda *said: None, inline).run)
        await _all_have(members, "begin")
        await _quiet(server)
        before = server.counted()
        for number in range(CHANGES):
            began = time.monotonic()
            await _all_have(members, f"title {number}")
            took = time.monotonic() - began
            await _quiet(server)
        moved = server.counted().since(before)
        tasks.cancel_scope.cancel()
    return moved, took


async def _all_have(members: list[Member], title: str) -> None:
    members[0].put("changed", title)
    with anyio.fail_after(BOUND_SECONDS):
        while any(member.title("changed") != title for member in members):  # noqa: ASYNC110 - stores of many devices
            await anyio.sleep(0.02)


async def _quiet(server: Counting) -> None:
    """Until the server has counted nothing for two seconds."""
    before = server.counted()
    with anyio.fail_after(BOUND_SECONDS):
        while True:
            await anyio.sleep(2)
            now = server.counted()
            if now == before:
                return
            before = now


def join(setting: Setting) -> list[Figure]:
    """A device joins from a snapshot of many records, into its stores."""
    count = setting.sizes.many
    setting.doing(f"join of {count:,} at a relay")
    folder = setting.folder / "relay-join"
    first, second = household(folder, 2)
    for start in range(0, count, 10_000):
        with first.stores["journal"].transaction(first.now, HIGH) as tx:
            for number in range(start, min(start + 10_000, count)):
                tx.put(ident(number), "task", task(number))
    with counting(folder / "server") as server:
        began = time.monotonic()
        visit(first, server.server.url)
        published = time.monotonic() - began
        before = server.counted()
        began = time.monotonic()
        visit(second, server.server.url)
        joined = time.monotonic() - began
        moved = server.counted().since(before)
    with second.stores["journal"].reading() as reader:
        assert reader.count() == count
    for member in (first, second):
        member.close()
    return [
        Figure(f"{count:,} records, put into a relay", published, "s"),
        Figure(f"{count:,} records, joined from a relay", joined, "s"),
        Figure("the same, bytes of a record", moved.bytes_out / count, "B"),
        Figure("the same, messages from the server", moved.messages_out, ""),
    ]


def week(setting: Setting) -> list[Figure]:
    """A device was away for a week: one message for each change."""
    count = 70 if setting.sizes.quick else WEEK
    setting.doing("a week away from a relay", count)
    folder = setting.folder / "relay-week"
    first, second = household(folder, 2)
    with counting(folder / "server") as server:
        for _ in range(2):
            for member in (first, second):
                visit(member, server.server.url)
        anyio.run(_written, first, server.server.url, count, setting)
        before = server.counted()
        began = time.monotonic()
        visit(second, server.server.url)
        took = time.monotonic() - began
        moved = server.counted().since(before)
    assert second.title(ident(count - 1)) is not None
    for member in (first, second):
        member.close()
    return [
        Figure(f"{count} changes of a week, caught up", took, "s"),
        Figure("the same, bytes from the server", moved.bytes_out, "B"),
    ]


async def _written(member: Member, url: str, count: int, setting: Setting) -> None:
    """So many changes, each published for itself."""
    relay = await JetStream.connect(Address(url, SPACE), bytes(8))
    participant = Participant(member, SPACE, os.urandom, member.now)
    visits = Visits(member, os.urandom, lambda *said: None, inline)
    for number in range(count):
        member.put(ident(number), f"Title {number}")
        await visits.visit(relay, participant)
        setting.done(number)
    participant.close()
    await relay.close()


# -- a daemon


def beside_daemon(setting: Setting) -> list[Figure]:
    """A daemon with a relay beside one without: memory, and time on a core with nothing to do."""
    seconds = max(setting.sizes.idle_seconds, 3)
    setting.doing("a daemon with a relay", seconds)
    folder = setting.folder / "relay-daemon"
    folder.mkdir()
    homes = []
    with counting(folder / "server") as server:
        for name in ("with", "without"):
            home = TaskHome.create(folder / name, name)
            fill(home, range(setting.sizes.few))
            if name == "with":
                settings.write(home.space, server.server.url, SPACE, clock.now())
            homes.append(home.path)
            home.close()
        commands = [
            ("-m", "lottisync", "daemon", "--home", str(path), "--listen", f"{HERE}:0", "--no-discovery", "--json")
            for path in homes
        ]
        with running(*commands) as two:
            for child in two:
                child.event("started")
            time.sleep(10)  # the first visit, and what a start leaves behind
            before = [child.cpu_seconds for child in two]
            began = time.monotonic()
            for number in range(seconds):
                time.sleep(1)
                setting.done(number)
            took = time.monotonic() - began
            cpu, bare = ((child.cpu_seconds - was) / took for child, was in zip(two, before, strict=True))
            resident, without = (child.resident for child in two)
    return [
        Figure("a relay in a daemon, memory", (resident - without) / 1e6, "MB", goal=value_at_most(10)),
        Figure("a relay in an idle daemon, of one core", (cpu - bare) * 100, "%", goal=value_at_most(0.1)),
    ]


# -- many persons


def persons(setting: Setting) -> list[Figure]:
    """Persons with a stream each, on a cluster of three nodes: clients that seal and sign real messages; and a node
    that starts again with its streams."""
    one_copy, three_copies = (10, 3) if setting.sizes.quick else PERSONS
    folder = setting.folder / "relay-persons"
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        nodes = _cluster(folder, stack)
        anyio.run(_until_it_is_whole, nodes[0])
        empty = sum(node.resident for node in nodes)
        found = []
        for count, copies in ((one_copy, 1), (three_copies, 3)):
            setting.doing(f"{count} persons, {copies} copies", count)
            rate = anyio.run(_persons, nodes, folder / f"persons-{copies}", count, copies, setting)
            full = sum(node.resident for node in nodes)
            name = f"{count:,} persons on three nodes, a stream with {copies} replica{'s'[: copies - 1]} each"
            found += [
                Figure(f"{name}: messages", rate, "/s"),
                Figure(f"{name}: memory of the nodes for a person", (full - empty) / count / 1e3, "kB"),
            ]
            empty = full
        nodes[2].server.stop()
        began = time.monotonic()
        nodes[2].server.start()
        anyio.run(_until_it_is_whole, nodes[2])
        found.append(Figure("a node of them starts again, with its streams", time.monotonic() - began, "s"))
    return found


def _cluster(folder: Path, stack: contextlib.ExitStack) -> list[Counting]:
    ports = [free_port() for _ in range(3)]
    routes = json.dumps([f"nats://{HERE}:{port}" for port in ports])
    return [
        stack.enter_context(
            counting(
                folder / f"node-{number}",
                f"server_name: n{number}\ncluster {{ name: C, listen: '{HERE}:{port}', routes: {routes} }}",
            )
        )
        for number, port in enumerate(ports)
    ]


async def _until_it_is_whole(node: Counting) -> None:
    """Until the node has all its streams, and somebody leads."""
    with anyio.fail_after(BOUND_SECONDS):
        while not await anyio.to_thread.run_sync(node.is_whole):  # noqa: ASYNC110 - another process
            await anyio.sleep(0.1)


async def _persons(nodes: list[Counting], folder: Path, count: int, copies: int, setting: Setting) -> float:
    """Each person's devices publish in their stream, and another one reads and opens all of it. Messages a second."""
    signing = Member(folder, 1)
    sealing = Epoch(os.urandom(32), 1, frozenset())
    limit, done = anyio.CapacityLimiter(TOGETHER), 0

    async def person(number: int) -> None:
        nonlocal done
        async with limit:
            url = nodes[number % len(nodes)].server.url
            await _one_person(Address(url, os.urandom(16)), signing, sealing, copies)
            done += 1
            setting.done(done)

    began = time.monotonic()
    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(person, number)
    took = time.monotonic() - began
    signing.close()
    return count * LANES * OF_A_LANE / took


async def _one_person(address: Address, signing: Member, sealing: Epoch, copies: int) -> None:
    client = await connection.connect(address)
    stream = f"LS-{address.space.hex()}"
    try:
        if copies > 1:
            await client.jetstream(timeout=BOUND_SECONDS).add_stream(
                name=stream, subjects=[f"ls.{address.space.hex()}.>"], num_replicas=copies, allow_direct=True,
                max_bytes=STREAM_BYTES, duplicate_window=120,
            )  # fmt: skip
        relay = await JetStream.opened(client, address, bytes(8), BOUND_SECONDS)
        lane = Lane(signing, address.space, bytes(16), os.urandom)
        for _ in range(LANES):
            before, ident = FIRST, os.urandom(8)
            for number in range(1, OF_A_LANE + 1):
                name = Name(ident, "log", number)
                made = lane.sealed_as(Kind.ENVELOPE, name, before, sealing, os.urandom(CHANGE_BYTES))
                await relay.put(made)
                parts = parts_of(made.data)
                before = link_of(parts.header, parts.signature)
        names = await relay.names()
        assert len(names) == LANES * OF_A_LANE
        for name in names:
            data = await relay.fetch(name)
            assert data is not None
            parts = parts_of(data)
            assert verify(signing.key.certificate, parts.signature, parts.signed)
            assert len(unsealed(sealing.key, parts.header, parts.rest)) == CHANGE_BYTES
    finally:
        await client.close()
