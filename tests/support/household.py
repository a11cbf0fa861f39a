"""A household for tests of sync: devices with a key and their three stores in a folder, who know each other.

What a test does not test is fixed: keys, hosts and ids are counted, and the test sets the time."""

import shutil
from collections.abc import Awaitable, Callable, Container, Iterable
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import ByteStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from tests.support.counted import NOON, CountedDevice
from tests.support.event_loop import until

from lottisync.causality.vector_clock import Host
from lottisync.daemon.stores import STORES
from lottisync.device.membership import put_membership
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import StoreSchema
from lottisync.identity.statement import MembershipRecord
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, MAX_FRAME, FrameBuffer
from lottisync.store import forgetting, lookups
from lottisync.sync.connection import Connection, steady_now
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Event, PeerChanged, words

T = TypeVar("T")


async def inline(work: Callable[[], T]) -> T:
    """Run a store call on this thread: threads would not make a simulation faster."""
    return work()


class Member(CountedDevice):
    """One device of the household."""

    def __init__(self, folder: Path, number: int, schemas: Iterable[StoreSchema] = STORES) -> None:
        self.now = NOON
        self.reports: list[tuple[str, str]] = []
        self.connections: list[Connection] = []
        self.boot = bytes([number]) * 16
        self.changed: Callable[[], None] = lambda: None
        """Called when a peer has said something new of its stores."""
        super().__init__(folder, number, schemas, lambda: self.now)
        if self.is_new:
            self.admit(self)
            self.bind_hosts(self.now)

    def restarted(self) -> "Member":
        """The same device after its program was started again."""
        self.close()
        again = Member(self.folder, self.number)
        again.boot = bytes([self.boot[0] + 100]) * 16
        return again

    def copied(self, folder: Path) -> "Member":
        """The same device in another folder: a copy of its files as they are now."""
        self.close()
        shutil.copytree(self.folder, folder)
        return Member(folder, self.number)

    @property
    def device(self) -> str:
        return self.id

    # -- the household

    def admit(self, other: "Member", name: str | None = None) -> None:
        self.sign(
            MembershipRecord.adding(
                self.key, certificate=other.key.certificate, name=name or f"device {other.number}", at_ms=10
            )
        )

    def revoke(self, other: "Member") -> None:
        self.sign(MembershipRecord.revoking(self.key, device=other.device, at_ms=20))

    def sign(self, record: MembershipRecord) -> None:
        with self.stores["space"].transaction(self.now, HIGH) as tx:
            put_membership(tx, record)

    # -- what is stored

    def put(self, entity_id: str, title: str, *, store: str = "journal", kind: str = "task", **fields: object) -> None:
        self.now += 1000
        with self.stores[store].transaction(self.now, HIGH) as tx:
            tx.put(entity_id, kind, {"title": title, **fields})
        for connection in self.connections:
            connection.local_change()

    def delete(self, entity_id: str, *, store: str = "journal") -> None:
        with self.stores[store].transaction(self.now, HIGH) as tx:
            tx.delete(entity_id)

    def purge(self, *, min_age: int = forgetting.MIN_AGE) -> None:
        """Forget the one deletion in the journal, for which no other device is waited for."""
        with self.stores["journal"].transaction(self.now, None) as tx:
            assert forgetting.purge(tx, [], min_age) == 1

    def title(self, entity_id: str, *, store: str = "journal") -> object:
        entity = self.stores[store].read(entity_id)
        return entity.value("title") if entity is not None else None

    def knowledge(self, store: str = "journal") -> dict[Host, int]:
        with self.stores[store].reading() as reader:
            return reader.knowledge()

    def state(self) -> dict[str, tuple[bytes, dict[Host, int], list[tuple[Host, int, str]], int]]:
        """All that sync can change, by store."""
        found = {}
        for name, store in self.stores.items():
            with store.reading() as reader:
                found[name] = (reader.digest(), reader.knowledge(), lookups.held_beyond(reader), reader.count())
        return found

    # -- connections

    def conversation(
        self, other: "Member", *, dialled: bool, steady: int | None = None, members: Container[str] | None = None
    ) -> Conversation:
        return Conversation(
            self,
            boot=self.boot,
            dialled=dialled,
            now=self.now,
            steady=steady,
            expected=other.device,
            members=members,
        )

    def connection(self, stream: ByteStream, other: "Member", *, dialled: bool) -> Connection:
        connection = Connection(
            stream,
            self.conversation(other, dialled=dialled, steady=steady_now()),
            device=other.device,
            dialled=dialled,
            call=inline,
            clock=lambda: self.now,
            happened=self._happened,
        )
        self.connections.append(connection)
        return connection

    async def _happened(self, connection: Connection, event: Event) -> None:
        if isinstance(event, PeerChanged):
            self.changed()
        said = words(event, f"device {connection.device[:8]}")
        if said is not None:
            self.reports.append(said)


def in_step(*members: Member) -> bool:
    first, *others = (member.state() for member in members)
    return all(other == first for other in others)


def household(folder: Path, count: int = 2) -> list[Member]:
    """Devices that were paired with each other, and have not yet met."""
    folder.mkdir(exist_ok=True)
    members = [Member(folder / f"device-{number}", number) for number in range(1, count + 1)]
    for member in members:
        for other in members:
            if other is not member:
                member.admit(other)
    return members


# -- a connection in memory


class Words:
    """The whole messages in the bytes of one direction, compressed or not, piece by piece from its beginning."""

    def __init__(self) -> None:
        self._buffer = FrameBuffer(MAX_FRAME, ENCODINGS)

    def heard(self, piece: bytes) -> list[m.AnyMessage]:
        self._buffer.feed(piece)
        found = []
        while (body := self._buffer.next_body()) is not None:
            found += m.decode(body)
        return found


class Cable:
    """Two ends of a stream. What crosses is recorded. After `abort_after` bytes, counted in both directions, it is
    cut, perhaps in the middle of a message."""

    def __init__(self, abort_after: int | None = None) -> None:
        self.left_over = abort_after
        self.crossed: list[bytes] = [b"", b""]
        self.pieces: list[tuple[int, int]] = []
        self.is_cut = False
        self.recording = True
        self.watch: Callable[[int, m.AnyMessage], None] | None = None
        """Called with every message as it is sent; set it before anything crosses."""
        self._watched = Words(), Words()
        there, here = (anyio.create_memory_object_stream[bytes](4) for _ in range(2))
        self.ends = (_End(self, 0, there[0], here[1]), _End(self, 1, here[0], there[1]))

    def cut(self) -> None:
        self.is_cut = True
        for end in self.ends:
            end.out.close()

    def said(self, direction: int) -> list[m.AnyMessage]:
        """The whole messages that have crossed from one end."""
        return Words().heard(self.crossed[direction])

    def seen(self, direction: int, piece: bytes) -> None:
        if self.watch is not None:
            for message in self._watched[direction].heard(piece):
                self.watch(direction, message)

    def versions(self) -> list[str]:
        """The ids of the entities that were sent, in either direction."""
        batches = [message for direction in (0, 1) for message in self.said(direction) if isinstance(message, m.Batch)]
        return [version.id for batch in batches for version in batch.versions]

    @property
    def total(self) -> int:
        return len(self.crossed[0]) + len(self.crossed[1])


class _End(ByteStream):
    def __init__(
        self,
        cable: Cable,
        direction: int,
        out: MemoryObjectSendStream[bytes],
        into: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._cable, self._direction = cable, direction
        self.out, self._into = out, into

    async def send(self, item: bytes) -> None:
        cable = self._cable
        if cable.is_cut:
            raise anyio.BrokenResourceError
        if cable.left_over is not None:
            item = item[: cable.left_over]
            cable.left_over -= len(item)
        if item:
            cable.seen(self._direction, item)
            if cable.recording:
                cable.crossed[self._direction] += item
                cable.pieces.append((self._direction, len(item)))
            await self.out.send(item)
        if cable.left_over == 0:
            cable.cut()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._into.receive()

    async def send_eof(self) -> None:
        await self.out.aclose()

    async def aclose(self) -> None:
        await self.out.aclose()
        await self._into.aclose()


async def meet(
    a: Member,
    b: Member,
    *,
    cable: Cable | None = None,
    done: Callable[[], object] | None = None,
    meanwhile: Callable[[Connection, Connection], Awaitable[None]] | None = None,
) -> Cable:
    """Connect two devices (`a` dialled) until they are in step and quiet, or the cable is cut."""
    cable = cable or Cable()
    connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
    condition = done or (lambda: in_step(a, b))
    ended = 0

    async def run(connection: Connection) -> None:
        nonlocal ended
        await connection.run()
        ended += 1

    async with anyio.create_task_group() as tasks:
        for connection in connections:
            tasks.start_soon(run, connection)
        if meanwhile is not None:
            await meanwhile(*connections)
        await until(lambda: ended or condition(), "to be in step")
        if not ended:
            await quiet([cable])
            cable.recording = False  # the goodbyes are not the subject
        else:
            await until(lambda: ended == 2, "the other side's end")
        tasks.cancel_scope.cancel()
    a.connections.remove(connections[0])
    b.connections.remove(connections[1])
    return cable


async def quiet(cables: Iterable[Cable]) -> None:
    """Wait until nothing more is said. In memory, with store calls on this thread, that is when a few rounds of the
    event loop have moved no byte. Fails if two devices talk without end."""
    cables = list(cables)
    still, before = 0, -1
    for _ in range(20_000):
        total = sum(cable.total for cable in cables)
        still, before = (still + 1, total) if total == before else (0, total)
        if still == 50:
            return
        await anyio.lowlevel.checkpoint()
    raise AssertionError("they talk without end")
