"""Engines of a household on loopback: real sockets and TLS, without mDNS."""

import contextlib
from collections.abc import AsyncIterator
from random import Random

import anyio
from anyio.abc import ByteStream
from tests.support.event_loop import until
from tests.support.household import Member, in_step

from lottisync.device.addresses import renew
from lottisync.device.peers import remember_address, remember_introduction
from lottisync.identity.announcement import announcement, announcement_secret
from lottisync.identity.pairing_message import Introduction
from lottisync.net.address import Address
from lottisync.net.discovery import DiscoveredService
from lottisync.net.listener import Listen
from lottisync.store.check import broken_invariants
from lottisync.sync.duplicate_key import LIVING_SECONDS
from lottisync.sync.engine import Engine
from lottisync.sync.outages import AGAIN_SECONDS

HERE = "127.0.0.1"
_RUNNING: list[Engine] = []


def engine_of(
    member: Member,
    *,
    port: int = 0,
    firm: bool = True,
    seed: int = 0,
    discover: bool = False,
    patience: float = LIVING_SECONDS,
    again: float = AGAIN_SECONDS,
) -> Engine:
    return Engine(
        member,
        Listen(HERE, port, firm),
        discover=discover,
        chance=Random(member.number + seed),
        report=lambda code, text: member.reports.append((code, text)),
        patience=patience,
        again=again,
    )


class NoStream(ByteStream):
    """For connections that are compared, and never run."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        raise anyio.BrokenResourceError

    async def send_eof(self) -> None:
        raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        return


@contextlib.asynccontextmanager
async def running(*engines: Engine) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        for engine in engines:
            await tasks.start(engine.run)
            _RUNNING.append(engine)
        try:
            yield
        finally:
            for engine in engines:
                _RUNNING.remove(engine)
        tasks.cancel_scope.cancel()


def introduce(member: Member, other: Member, port: int) -> None:
    """Tell a device where another one listens, as an earlier connection or a person would."""
    remember_address(member.stores["space"], other.device, Address(HERE, port), member.now)
    for engine in _RUNNING:
        if engine.device == member.device:
            engine.look_again()


def announced(engine: Engine, by: Member, port: int) -> None:
    """Tell an engine, as mDNS would, that another device is at a port."""
    secret = engine.meeting._seen.secrets.setdefault(by.device, b"a test's secret.")
    engine.meeting._found(DiscoveredService(announcement(secret, port.to_bytes(8)), "sync", (Address(HERE, port),)))


def exchange_secrets(a: Member, b: Member) -> None:
    """Let two devices recognise each other's announcements, as after pairing."""
    for one, other in ((a, b), (b, a)):
        secret = announcement_secret(other.key, ())
        renew(other.stores["space"], other.device, [], secret, other.now)
        remember_introduction(one.stores["space"], other.device, Introduction([], secret), one.now)


@contextlib.asynccontextmanager
async def connected(a: Member, b: Member, tasks: int = 20) -> AsyncIterator[tuple[Engine, Engine]]:
    """Two engines in step, with some tasks that were written on the first."""
    for number in range(tasks):
        a.put(f"t{number}", f"Milk {number}")
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: in_step(a, b) and first.connections and second.connections)
            yield first, second


def codes(member: Member) -> list[str]:
    return [code for code, _ in member.reports]


def faults(*members: Member) -> list[str]:
    """What is wrong with what they have stored."""
    found: list[str] = []
    for member in members:
        for store in member.stores.values():
            with store.reading() as reader:
                found += broken_invariants(reader)
    return found
