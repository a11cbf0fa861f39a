"""A paired device that lies, over the real wire, to a real daemon (docs/specs/15-mending.md, section 5): comparisons
without end, hosts and forks that nobody has. Budgets are counted, not timed. Beside it an honest device stays in step.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.abc import ByteStream
from tests.support.command_line import eventually, run, run_here, started
from tests.support.daemons import Daemon, daemon, introduce
from tests.support.event_loop import BOUND_SECONDS
from tests.support.messages import SUMMARY, VALUE, hello
from tests.support.rounds import pull

from lottisync.causality.vector_clock import Host
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.net.address import Address
from lottisync.protocol import message as m
from lottisync.protocol.framing import MAX_FRAME, FrameBuffer, frame
from lottisync.store import fork
from lottisync.store.fingerprint import BYTES, FAN
from lottisync.sync.allowance import MAX_COMPARISONS_PER_HOUR
from lottisync.sync.exchange import MAX_FORKS_ON_TRUST
from lottisync.sync.handshake import dial
from lottisync.sync.off_loop import in_thread
from lottisync.sync.trust import Trust

COMPARISONS = 300
HOSTS = 10_000
FORKS, AT_ONCE = 1_500, 100
MAX_LINES_PER_MINUTE = 20
pytestmark = [pytest.mark.deep, pytest.mark.anyio]


@contextmanager
def opened(home: Path) -> Iterator[TaskHome]:
    device = TaskHome.open(home)
    try:
        yield device
    finally:
        device.close()


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three homes that know each other, by device id: of two devices that compare, the one with the smaller id
    leads."""
    homes = [tmp_path / name for name in ("laptop", "phone", "tablet")]
    for home in homes:
        assert run_here("init", "--name", home.name, home=home).code == 0
    for other in homes[1:]:
        with started("pair", "--json", "--no-discovery", "--listen", "127.0.0.1:0", home=homes[0]) as showing:
            assert showing.stdout is not None
            shown = json.loads(showing.stdout.readline())
            assert run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", home=other).code == 0
            assert showing.wait(BOUND_SECONDS) == 0
    with ExitStack() as stack:
        first, *rest = devices = [stack.enter_context(opened(home)) for home in homes]
        for device in rest:
            pull(first, device, clock.now(), ["space"])
        for device in rest:
            pull(device, first, clock.now(), ["space"])
        ids = {device.path: device.id for device in devices}
    return sorted(homes, key=lambda home: ids[home])


class Liar:
    """The end of a connection whose words a test writes."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream, self._buffer = stream, FrameBuffer(MAX_FRAME)
        self.heard: list[m.AnyMessage] = []
        self._pings = 0

    async def say(self, *messages: m.AnyMessage) -> None:
        for message in messages:
            await self._stream.send(frame(m.encode(message)))

    async def hear(self, wanted: Callable[[m.AnyMessage], bool]) -> m.AnyMessage:
        """Read on until such a message, or the last word."""
        with anyio.fail_after(BOUND_SECONDS):
            while True:
                self._buffer.feed(await self._stream.receive())
                came = []
                while (body := self._buffer.next_body()) is not None:
                    came += m.decode(body)
                self.heard += came
                for message in came:
                    if wanted(message) or isinstance(message, m.Close):
                        return message

    async def settled(self) -> m.AnyMessage:
        """All that was said so far is done: the answer to a ping, or the last word."""
        self._pings += 1
        await self.say(m.Ping(self._pings))
        return await self.hear(lambda message: message == m.Pong(self._pings) or isinstance(message, m.Pong))

    def last(self, kind: type[Any]) -> Any:
        return next(message for message in reversed(self.heard) if isinstance(message, kind))


@asynccontextmanager
async def lying(home: Path, port: int, nodes: list[bytes] | None = None) -> Any:
    """A connection of this device with the one that listens there, greeted, with a Want that names these forks."""
    with opened(home) as device:
        trust = Trust(device, in_thread)
        await trust.load()
        ident = device.id
    connected = await dial(Address("127.0.0.1", port), trust.dial_context, "the victim")
    liar = Liar(connected.stream)
    try:
        await liar.hear(lambda message: isinstance(message, m.Hello))
        await liar.say(hello(ident, os.urandom(16)), m.Want({"journal": m.Have(SUMMARY, {}, [], nodes or [], {})}))
        yield liar
    finally:
        await anyio.aclose_forcefully(connected.stream)


def titles(home: Path) -> set[str]:
    return {task["title"] for task in run_here("task", "list", "--json", home=home).json["tasks"]}


async def in_step(victim: Path, honest: Path, what: str) -> None:
    """A change on either device arrives at the other, with the liar connected."""

    def both() -> None:
        assert run_here("task", "add", f"{what} here", home=victim).code == 0
        assert run_here("task", "add", f"{what} there", home=honest).code == 0
        wanted = {f"{what} here", f"{what} there"}
        eventually(lambda: wanted <= titles(victim) & titles(honest), f"in step: {what}")

    await anyio.to_thread.run_sync(both)


async def gone(victim: Daemon, liar: Path, times: int) -> None:
    """The liar's connection has ended as often as that, over there, too: the next one is not a second program's."""
    ended = f"connection to {liar.name} ended"
    await anyio.to_thread.run_sync(
        lambda: eventually(lambda: [event["text"] for event in victim.events].count(ended) >= times, ended)
    )


def refusals(victim: Path, liar: Path) -> dict[str, int]:
    """How often `status` of one says that the other was refused, by kind."""
    peers = run_here("status", "--json", home=victim).json["peers"]
    found = next(peer["refusals"] for peer in peers if peer["name"] == liar.name)
    assert len({each["kind"] for each in found}) == len(found)
    return {each["kind"]: each["count"] for each in found}


def counted(home: Path, table: str) -> int:
    with opened(home) as device, device.journal.reading() as reader:
        return int(str(reader.local(f"select count(*) from {table}")[0][0]))


def nodes_of(home: Path) -> int:
    with opened(home) as device, device.journal.reading() as reader:
        return len(fork.nodes(reader))


@contextmanager
def running(victim: Path, honest: Path) -> Iterator[tuple[Daemon, Daemon]]:
    with daemon(victim) as one:
        introduce(honest, victim, one.event("started")["port"])
        with daemon(honest) as other:
            other.event("connected")
            yield one, other


async def test_rel_d9_comparisons_without_end_are_refused_and_the_honest_device_stays_in_step(
    three: list[Path],
) -> None:
    """MEND-27, MEND-28, SYNC-880, REL-D9: also over a second connection. It is reported once, the log stays short, and
    `status` has each kind of what was refused."""
    liar, victim, honest = three

    def both_kinds(comparisons: int) -> None:
        wanted = {"comparison": comparisons, "illegal": 1}
        eventually(lambda: refusals(victim, liar) == wanted, f"in status: {wanted}")

    with running(victim, honest) as (one, _):
        port = one.event("started")["port"]
        refused = []
        for number in range(2):
            async with lying(liar, port) as peer:
                await peer.hear(lambda message: isinstance(message, m.Want))
                known = peer.last(m.Want).stores["journal"].summary.known
                for lie in range(COMPARISONS):
                    root = (number * COMPARISONS + lie).to_bytes(BYTES, "big")
                    await peer.say(m.Compare("journal", known, [m.TreeNode(b"", [root] * FAN)]))
                assert isinstance(await peer.settled(), m.Pong)
                found = [said for said in peer.heard if isinstance(said, m.Mended) and said.refused]
                refused.append(len(found))
                await in_step(victim, honest, f"comparisons {number}")
            await gone(one, liar, number + 1)
        assert sum(refused) >= 2 * COMPARISONS - MAX_COMPARISONS_PER_HOUR, refused
        assert refused[1] >= COMPARISONS - 1, refused
        lines = [event for event in one.events if "too often" in event["text"]]
        assert 1 <= len(lines) <= MAX_LINES_PER_MINUTE, lines
        async with lying(liar, port) as peer:
            begin = m.Begin(7, "journal", {}, {}, behind=False, count=0)
            await peer.say(begin, begin)
            last = await peer.hear(lambda message: False)
            assert isinstance(last, m.Close)
            assert last.code == "illegal"
        await gone(one, liar, 3)
        # What it did later, and that it is connected again, hides nothing of it; one more is counted at once.
        async with lying(liar, port) as peer:
            await peer.hear(lambda message: isinstance(message, m.Want))
            known = peer.last(m.Want).stores["journal"].summary.known
            await anyio.to_thread.run_sync(both_kinds, sum(refused))
            await peer.say(m.Compare("journal", known, [m.TreeNode(b"", [bytes(BYTES)] * FAN)]))
            await anyio.to_thread.run_sync(both_kinds, sum(refused) + 1)
            shown = " ".join(run_here("status", home=victim).out.split())
            assert f"for up to an hour (refused {sum(refused) + 1} times" in shown
            assert f"If it is in other hands: lottisync devices revoke {liar.name}" in shown


async def test_sync_77_invented_hosts_are_not_stored(three: list[Path]) -> None:
    """SYNC-77, SYNC-34: nor does any other device hear of them."""
    liar, victim, honest = three
    with running(victim, honest) as (one, _):
        before = counted(victim, "hosts"), counted(honest, "hosts")
        async with lying(liar, one.event("started")["port"]) as peer:
            for start in range(0, 4 * HOSTS, HOSTS):
                hosts = [Host(f"{number:016x}") for number in range(start + 1, start + HOSTS + 1)]
                await peer.say(m.Gossip({"journal": {"e" * 64: dict.fromkeys(hosts, 1)}}))
                logs = {host: m.Log(1, 1, VALUE) for host in hosts}
                await peer.say(m.Want({"journal": m.Have(SUMMARY, logs)}))
                assert isinstance(await peer.settled(), m.Pong)
            await in_step(victim, honest, "hosts")
            # Of what it claims the last is kept, while it is connected: no more than one frame.
            assert (victim / "daemon.json").stat().st_size < MAX_FRAME
            assert run_here("status", "--json", home=victim).json["daemon"] is not None
        # A row for the first write of each device, which is all that has been written since.
        assert counted(victim, "hosts") - before[0] <= 2
        assert counted(honest, "hosts") - before[1] <= 2


async def test_sync_77_invented_forks_are_taken_up_to_a_limit(three: list[Path]) -> None:
    """SYNC-77: those that were taken on trust are the same on both other devices, and both go on."""
    liar, victim, honest = three
    with running(victim, honest) as (one, _):
        port, ended = one.event("started")["port"], []
        for start in range(0, FORKS, AT_ONCE):
            nodes = [number.to_bytes(16, "big") for number in range(start + 1, start + AT_ONCE + 1)]
            async with lying(liar, port, nodes) as peer:
                last = await peer.settled()
                ended.append(last.code if isinstance(last, m.Close) else "")
            await gone(one, liar, len(ended))
        assert set(ended) == {"", "no-agreement"}, ended
        assert ended == sorted(ended), ended
        await in_step(victim, honest, "forks")
        assert nodes_of(victim) <= MAX_FORKS_ON_TRUST
        await anyio.to_thread.run_sync(lambda: eventually(lambda: nodes_of(honest) == nodes_of(victim), "the forks"))
        await in_step(victim, honest, "after the forks")
        assert run_here("check", home=victim).code == run_here("check", home=honest).code == 0
        lines = [event for event in one.events if "of which nothing is here are too many" in event["text"]]
        assert 1 <= len(lines) <= MAX_LINES_PER_MINUTE, lines
