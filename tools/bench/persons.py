"""Many persons with a stream each, at a cluster of three NATS servers: clients that seal and sign real messages; and a
server that starts again with its streams."""

import contextlib
import itertools
import json
import os
import time
from pathlib import Path

import anyio
from tests.support.household import Member
from tests.support.ports import free_port

from lottisync.identity.device_key import verify
from lottisync.problem import Problem
from lottisync.relay import connection
from lottisync.relay.epoch import Epoch
from lottisync.relay.header import FIRST, Kind, Name, hash_of, parts_of
from lottisync.relay.jetstream import JetStream
from lottisync.relay.lane import Lane
from lottisync.relay.seal import unsealed
from lottisync.relay.server_files import STREAM_BYTES
from lottisync.relay.setting import RelaySetting as Address
from tools.bench.counting import Counting, counting
from tools.bench.devices import HERE
from tools.bench.figure import Figure
from tools.bench.plot import Curve
from tools.bench.setting import Setting

TOGETHER = 16
"""Persons at the same time."""
LANES, OF_A_LANE, CHANGE_BYTES = 3, 5, 250
BOUND_SECONDS = 1_800.0
LISTS_SECONDS = 40
"""After this time a server has forgotten the lists that were asked for."""


def persons(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """For each number of replicas a cluster of its own."""
    figures, curves = list[Figure](), list[Curve]()
    for copies, counts in itertools.groupby(setting.sizes.persons, key=lambda size: size[1]):
        costs, starts = dict[int, float](), dict[int, float]()
        with contextlib.ExitStack() as stack:
            folder = setting.folder / f"relay-persons-{copies}"
            folder.mkdir()
            nodes = _cluster(folder, stack)
            anyio.run(_until_it_is_whole, nodes[0])
            for count, _ in counts:
                setting.doing(f"{count} persons, {copies} copies", count)
                empty = sum(node.resident for node in nodes)
                took = anyio.run(_persons, nodes, folder / f"persons-{count}", count, copies, setting)
                full = sum(node.resident for node in nodes)
                name = f"{count:,} persons on three nodes, a stream with {copies} replica{'s'[: copies - 1]} each"
                figures += [
                    Figure(f"{name}: messages", count * LANES * OF_A_LANE / took, "/s"),
                    Figure(f"{name}: memory of the nodes for a person", (full - empty) / count / 1e3, "kB"),
                    Figure(f"{name}: a node with nothing to do, of one core", _idle(nodes, setting) * 100, "%"),
                    _started_again(nodes[2], starts),
                ]
                costs[count] = took / count * 1e6
        several = f", R{copies}" if copies > 1 else ""
        curves += [Curve(f"person{several}", costs), Curve(f"restart{several}", starts)]
    return figures, curves


def _idle(nodes: list[Counting], setting: Setting) -> float:
    """The share of a core that each of them uses when nobody is connected."""
    time.sleep(1 if setting.sizes.quick else LISTS_SECONDS)
    used, began = sum(node.cpu_seconds for node in nodes), time.monotonic()
    time.sleep(setting.sizes.idle_seconds)
    return (sum(node.cpu_seconds for node in nodes) - used) / (time.monotonic() - began) / len(nodes)


def _started_again(node: Counting, starts: dict[int, float]) -> Figure:
    """A node of them starts again, with its streams."""
    streams = node.streams
    node.server.stop()
    began = time.monotonic()
    node.server.start()
    anyio.run(_until_it_is_whole, node)
    took = time.monotonic() - began
    starts[streams] = took / streams * 1e6
    return Figure(f"a node of them starts again, with {streams:,} streams", took, "s")


def _cluster(folder: Path, stack: contextlib.ExitStack) -> list[Counting]:
    ports = [free_port() for _ in range(3)]
    routes = json.dumps([f"nats://{HERE}:{port}" for port in ports])
    return [
        stack.enter_context(
            counting(
                folder / f"node-{number}",
                f"server_name: n{number}\ncluster {{ name: C, listen: '{HERE}:{port}', routes: {routes} }}",
                "max_file_store: 1TB",  # each stream reserves its bound
            )
        )
        for number, port in enumerate(ports)
    ]


async def _until_it_is_whole(node: Counting) -> None:
    """Until the node has all its streams, and somebody leads."""
    with anyio.fail_after(BOUND_SECONDS):
        while not await anyio.to_thread.run_sync(node.is_whole):  # noqa: ASYNC110 - another process
            await anyio.sleep(0.05)


async def _persons(nodes: list[Counting], folder: Path, count: int, copies: int, setting: Setting) -> float:
    """Each person's devices publish in their stream, and another one reads and opens all of it. Seconds for all."""
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
    return took


async def _one_person(address: Address, signing: Member, sealing: Epoch, copies: int) -> None:
    client = await _connected(address)
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
                before = hash_of(parts.header, parts.signature)
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


async def _connected(address: Address) -> connection.RelayConnection:
    """On a machine that does other work, too, a connection may not be made in time: then it is tried again."""
    with anyio.fail_after(BOUND_SECONDS):
        while True:
            try:
                return await connection.connect(address)
            except Problem:
                await anyio.sleep(1)
