"""One connection to one device: the driver of a `protocol.Session` (docs/specs/07-sync.md, section 6).

The session says what may be said; the link carries it out on the stores. It obeys one order above
all: *durable before visible*. A batch is committed before the next frame is read, knowledge is
adopted in the transaction that has checked that it may be, and `Told` is sent after that commit.

Four tasks share the connection. One reads and applies. One sends rounds: whenever the stores know
something that the peer was not told, it takes a snapshot of each (agent, journal, space, in that
order) and delivers them the other way round (space, journal, agent), each store's round only after
the peer has durably taken the one before; so a decision never arrives before its effect. One beats
the heart. One writes to the socket: it alone outlives the others, for a moment, so that the last
word is neither lost nor cut in two. A change made anywhere is one small round; there is no second
mechanism for live updates.

What the peer has is remembered as knowledge *and* as the dots beyond it, for a device may itself hold
and pass on what came in a round that was cut off. With the knowledge alone, two devices that hold
such a dot would offer it to each other for ever.

A peer that is slow costs bounded memory. It grants credit for batches, and no more of them are under way;
a batch leaves for the socket before the next is read from the store; and while the peer does not read what
we answer, we do not read what it asks. A peer that owes us something for long (room in its socket, credit,
the word that it has taken a round) is hung up on: a round holds a snapshot, and the write-ahead log of a
store under a snapshot only grows.

Silence is measured on the monotonic clock, for the wall clock may be set; `clock` is for the stores.

Store calls go through `call`, which moves them off the event loop (a thread, one transaction at a
time) or, in a simulation, runs them where they stand.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import anyio
import msgspec
from anyio.abc import ByteStream, TaskStatus

from lottisync.causality import vector_clock
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import version
from lottisync.entities.entity import Entity, EqualDots
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS
from lottisync.protocol.session import Session
from lottisync.protocol.summary import summary
from lottisync.store.reader import Reader
from lottisync.store.snapshot import Snapshot
from lottisync.store.store import Store
from lottisync.sync.membership import read_roster

T = TypeVar("T")
SNAPSHOT_ORDER = ("agent", "journal", "space")
DELIVERY_ORDER = ("space", "journal", "agent")
BATCH_BYTES = 256 * 1024
TICK_SECONDS = 1
FAREWELL_SECONDS = 1
"""How long what was said last may take to reach the socket when a link ends."""
GRANTED_TOGETHER = m.FIRST_CREDIT // 2
"""Batches taken before their credit is given back, in one word."""
MAX_OUTBOX = 64
"""Answers that wait for the socket before we stop listening. Between correct peers it is a handful."""
STUCK_SECONDS = 120
"""How long a peer may owe us something without anything moving: longer than a store may wait for other
processes' transactions, twice in a row."""
DOT_OVERHEAD = 32
"""Bytes of a held dot in msgpack beside the entity's id: an array of three, 16 digits, a counter, two lengths."""
LOST = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""How a connection ends without a word. OSError: ssl's errors, for bytes that somebody has damaged on the way."""

HeldDot = tuple[Host, int, str]


class Caller(Protocol):
    def __call__(self, work: Callable[[], T]) -> Awaitable[T]: ...


class RefusedByUs(Exception):
    """What the peer sent breaks a rule that only the store can check; ends the session."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Standing(msgspec.Struct):
    """How a peer stands, for people and for `status`: by store, the knowledge and the summary that it
    told last, and where equal knowledge did not mean an equal digest."""

    told: dict[str, Knowledge] = {}
    summaries: dict[str, m.Summary] = {}
    receiving: tuple[str, int, int] | None = None
    diverged: list[str] = []


class Link:
    """See the module. `greeted` is called with the peer's hello and says whether the link may go on
    (the `Close` for the peer if not)."""

    def __init__(
        self,
        stream: ByteStream,
        *,
        device: str,
        dialled: bool,
        own_device: str,
        own_certificate: bytes,
        boot: bytes,
        stores: dict[str, Store],
        call: Caller,
        clock: Callable[[], int],
        greeted: Callable[["Link", m.Hello], m.Close | None],
        report: Callable[[str, str], None],
    ) -> None:
        self.device = device
        self.dialled = dialled
        self.peer_boot = b""
        self.standing = Standing()
        self.changed: Callable[[], None] = lambda: None
        self.ended: m.Close | None = None
        self._stream = stream
        self._own_device, self._own_certificate, self._boot = own_device, own_certificate, boot
        self._stores, self._call, self._clock = stores, call, clock
        self._greeted, self._report = greeted, report
        self._session = Session(expected=device, now=_monotonic())
        self._outbox: list[bytes] = []
        self._writable = anyio.Event()
        self._emptied = anyio.Event()
        self._leaving = False
        self._taking = False
        self._crowded = False
        self._credit = anyio.Event()
        self._taken = 0
        self._moved = _monotonic()
        self._owing = False
        self._own: dict[str, tuple[m.Have, m.Summary]] = {}
        self._have: dict[str, m.Have] = {}
        self._work = anyio.Event()
        self._answer = anyio.Event()
        self._round = 0
        self._round_held: list[HeldDot] = []
        self._stop_round = False
        self._incoming: m.Begin | None = None
        self._incoming_held: list[HeldDot] = []
        self._scope: anyio.CancelScope | None = None

    # -- life

    async def run(self) -> None:
        """Until the connection ends; `ended` then says why, if anybody said so."""
        try:
            async with anyio.create_task_group() as tasks:
                writing = await tasks.start(self._write)
                try:
                    await self._converse()
                except anyio.get_cancelled_exc_class():
                    self.close("goodbye", "the other device is stopping")
                    raise
                finally:
                    self._leaving = True
                    self._writable.set()
                    writing.deadline = anyio.current_time() + FAREWELL_SECONDS
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(self._stream)

    async def _converse(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            if not self._session.open:  # closed before it ran
                return
            self._own = await self._call(self._states)
            tasks.start_soon(self._beat)
            tasks.start_soon(self._unless_refused, self._send_rounds)
            if not self.dialled:
                self._say_hello()
            await self._unless_refused(self._read)
            tasks.cancel_scope.cancel()

    async def _unless_refused(self, task: Callable[[], Awaitable[None]]) -> None:
        """What the stores refuse, or cannot do (a full disk), ends this link with a word, and no other one."""
        try:
            await task()
        except RefusedByUs as fault:
            self._report("refused", f"{self._short}: {fault.reason}")
            self.close(fault.code, fault.reason)
        except Problem as problem:
            self._report("failed", f"{self._short}: {problem.message}")
            self.close("failed", f"the device cannot go on ({problem.code})")

    def close(self, code: str, reason: str) -> None:
        """End the session with a word to the peer. The first word counts."""
        if self._session.open:
            self._say(m.Close(code, reason[: m.MAX_TEXT]))
            self.ended = m.Close(code, reason)
        if self._scope is not None:
            self._scope.cancel()

    def local_change(self) -> None:
        """Something was committed here: look whether the peer lacks it."""
        self._work.set()

    def _say(self, message: m.Message) -> None:
        """Queue a message. Once the session is closed nothing more is said: the peer may close it in the
        same breath with something that we are about to answer."""
        if self._session.open:
            self._outbox.append(self._session.send(message))
            self._writable.set()

    def _say_hello(self) -> None:
        stores = {name: own[1] for name, own in self._own.items()}
        self._say(m.Hello(m.PROTOCOL_VERSION, self._own_device, self._boot, stores, ENCODINGS))

    async def _write(self, *, task_status: TaskStatus[anyio.CancelScope]) -> None:
        with anyio.CancelScope(shield=True) as scope:
            task_status.started(scope)
            while self._outbox or not self._leaving:
                if not self._outbox:
                    self._emptied.set()
                    self._emptied = anyio.Event()
                    await self._writable.wait()
                    self._writable = anyio.Event()
                    continue
                try:
                    await self._stream.send(self._outbox[0])
                    self._outbox.pop(0)
                except LOST:
                    self._outbox.clear()
                if not self._owing:  # else a heartbeat would count as credit
                    self._moved = _monotonic()

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(TICK_SECONDS)
            if self._taking:
                # It is we who are not listening: a store may wait for another process's transaction longer than
                # a peer may be silent, and what the peer said meanwhile is still in the socket.
                self._session.receive(b"", _monotonic())
            if not (self._outbox or self._owing) or (self._taking and not self._crowded):
                self._moved = _monotonic()
            if _monotonic() - self._moved >= STUCK_SECONDS * 1000:
                self.close("stuck", f"nothing that was waited for has come for {STUCK_SECONDS} s")
            due = self._session.tick(_monotonic())
            if due:
                self._outbox.append(due)
                self._writable.set()
            if self._session.closed is not None:
                self._end(self._session.closed)

    def _end(self, close: m.Close) -> None:
        self.ended = self.ended or close
        if self._session.farewell:
            self._outbox.append(self._session.farewell)
        if self._scope is not None:
            self._scope.cancel()

    # -- what we hear

    async def _read(self) -> None:
        while True:
            try:
                data = await self._stream.receive()
            except LOST:
                return
            messages = self._session.receive(data, _monotonic())
            self._taking = True
            for message in messages:
                await self._take(message)
                await self._room()
            self._taking = False
            if self._session.closed is not None:
                self._end(self._session.closed)
                return

    async def _room(self) -> None:
        """Wait until the peer has read most of what it was answered, before listening on."""
        self._crowded = len(self._outbox) > MAX_OUTBOX
        if self._crowded:
            await self._drained()
            self._crowded = False

    @property
    def _short(self) -> str:
        return f"device {self.device[:8]}"

    async def _take(self, message: m.AnyMessage) -> None:
        match message:
            case m.Hello():
                await self._on_hello(message)
            case m.Want():
                self._have = dict(message.stores)
                for name, have in message.stores.items():
                    self.standing.told[name] = have.knowledge
                self._stop_round = True
                self._answer.set()
                self._credit.set()
                self._work.set()
            case m.Begin():
                if message.store not in self._stores:
                    raise RefusedByUs("unknown-store", f"there is no store {message.store[:40]!r} here")
                self._incoming, self._incoming_held = message, []
                known = self._have.get(message.store)
                if known is not None:
                    # What the peer is about to send, it has: a change made here meanwhile must not take it back.
                    knowledge = vector_clock.merge(known.knowledge, message.knowledge)
                    self._have[message.store] = _having(knowledge, known.held)
                self.standing.receiving = (message.store, 0, message.count)
            case m.Batch():
                await self._on_batch(message)
            case m.End():
                await self._on_end(message)
            case m.Cut():
                self._incoming = None
                self.standing.receiving = None
            case m.Told():
                await self._on_told(message)
            case m.Refuse():
                self._have.clear()
                self._stop_round = True
                self._answer.set()
                self._credit.set()
            case m.Credit():
                self._moved = _monotonic()
                self._credit.set()
            case m.Ping():
                self._say(m.Pong(message.number))
            case m.Pong() | m.Close():
                pass

    async def _on_hello(self, hello: m.Hello) -> None:
        if self.dialled:
            self._say_hello()
        self.peer_boot = hello.boot
        self.standing.summaries = dict(hello.stores)
        objection = self._greeted(self, hello)
        if objection is not None:
            self.close(objection.code, objection.reason)
            return
        for name, (_, own) in self._own.items():
            if name in hello.stores:
                self._compare(name, hello.stores[name], own)
        if all(hello.stores.get(name) == own for name, (_, own) in self._own.items()):
            for name, (have, _) in self._own.items():
                self._have[name] = have
                self.standing.told[name] = have.knowledge
            self._work.set()
        else:
            await self._want()

    async def _want(self) -> None:
        own = await self._call(self._states)
        self._say(m.Want(_fitting({name: have for name, (have, _) in own.items()})))

    def _states(self) -> dict[str, tuple[m.Have, m.Summary]]:
        found = {}
        for name, store in self._stores.items():
            with store.reading() as reader:
                found[name] = (m.Have(reader.knowledge(), reader.held_beyond()), _summary(reader))
        return found

    async def _on_batch(self, batch: m.Batch) -> None:
        begin = self._incoming
        assert begin is not None, "the session lets a batch through only in a round"
        self._incoming_held += await self._call(lambda: self._apply(begin, batch.versions))
        if self.standing.receiving is not None:
            name, done, count = self.standing.receiving
            self.standing.receiving = (name, done + len(batch.versions), count)
        self._taken += 1
        if self._taken == GRANTED_TOGETHER:
            self._say(m.Credit(self._taken))
            self._taken = 0

    def _apply(self, begin: m.Begin, versions: list[Version]) -> list[HeldDot]:
        """Join what came; gives the dots among it that the peer itself holds beyond its knowledge."""
        try:
            good, bad, clocks = _sorted(versions)
            with self._stores[begin.store].transaction(self._clock()) as tx:
                tx.apply(good)
                for incoming, reason in bad:
                    tx.quarantine(incoming, reason)
                self._refuse_strangers(begin.store, tx, clocks)
                kept_now = tx.kept_now()
        except EqualDots as error:
            raise RefusedByUs("fork", f"{error}: a store was copied or restored from a backup") from None
        except (BadVersion, ValueError) as error:
            raise RefusedByUs("bad-entity", str(error)) from None
        for kept in kept_now:
            self._report(
                "quarantined", f"{self._short} sent what cannot be taken, and it is kept as it came: {kept.reason}"
            )
        return [
            (host, counter, entity)
            for entity, clock in clocks
            for host, counter in clock.items()
            if counter > begin.knowledge.get(host, 0)
        ]

    def _refuse_strangers(self, name: str, reader: Reader, clocks: Iterable[tuple[str, Clock]]) -> None:
        """A host that belongs to no device that ever was this person's is bad input (SYNC-9)."""
        if name == "space":
            owners = read_roster(reader, self._own_certificate).host_owner
        else:
            with self._stores["space"].reading() as space:
                owners = read_roster(space, self._own_certificate).host_owner
        for entity, clock in clocks:
            for host in clock:
                if host not in owners:
                    raise RefusedByUs("unknown-host", f"{entity} was written by host {host}, of no known device")

    async def _on_end(self, end: m.End) -> None:
        begin = self._incoming
        self._incoming = None
        self.standing.receiving = None
        if begin is None:
            return
        adopted = await self._call(lambda: self._adopt(begin))
        if adopted is None:
            self._say(m.Refuse(begin.round, "this device was restored meanwhile: its knowledge has gone back"))
            await self._want()
            return
        knowledge, own = adopted
        self._compare(begin.store, end.summary, own)
        self._say(m.Told(begin.round, begin.store, knowledge, own))
        have = self._have.get(begin.store)
        if have is not None:
            self._have[begin.store] = _having(have.knowledge, have.held, self._incoming_held)
        self.standing.told[begin.store] = vector_clock.merge(self.standing.told.get(begin.store, {}), begin.knowledge)
        self._work.set()

    def _adopt(self, begin: m.Begin) -> tuple[Knowledge, m.Summary] | None:
        """Take over the peer's knowledge, all of its round being here; None if the round was computed from
        knowledge that this store does not have (SYNC-5)."""
        with self._stores[begin.store].transaction(self._clock()) as tx:
            if not vector_clock.covers(tx.knowledge(), begin.base):
                return None
            tx.adopt(begin.knowledge)
            tx.finish()
            return tx.knowledge(), _summary(tx)

    def _compare(self, name: str, theirs: m.Summary, own: m.Summary) -> None:
        """Equal knowledge must mean an equal digest; a mismatch is never ignored (SYNC-7)."""
        same = own.known == theirs.known
        self.standing.summaries[name] = theirs
        self.changed()
        if same and own.digest != theirs.digest:
            if name not in self.standing.diverged:
                self.standing.diverged.append(name)
            self._report("diverged", f"{name} differs from {self._short} although both know the same")
        elif same and name in self.standing.diverged:
            self.standing.diverged.remove(name)

    async def _on_told(self, told: m.Told) -> None:
        if told.round == self._round and told.store in self._stores:
            have = self._have.get(told.store)
            self._have[told.store] = _having(told.knowledge, have.held if have else [], self._round_held)
            self.standing.told[told.store] = told.knowledge
            own = await self._call(lambda: own_summary(self._stores[told.store]))
            self._compare(told.store, told.summary, own)
            self._answer.set()

    # -- what we send

    async def _send_rounds(self) -> None:
        while True:
            await self._work.wait()
            self._work = anyio.Event()
            if not self._have:
                continue
            snapshots = await self._call(self._snapshots)
            try:
                self._stop_round = False
                for name in DELIVERY_ORDER:
                    if self._stop_round or name not in self._have:
                        break
                    await self._send_round(name, snapshots[name])
            finally:
                for snapshot in snapshots.values():
                    snapshot.close()
            if self._stop_round:
                self._work.set()

    def _snapshots(self) -> dict[str, Snapshot]:
        taken: dict[str, Snapshot] = {}
        try:
            for name in SNAPSHOT_ORDER:
                taken[name] = self._stores[name].snapshot()
        except BaseException:
            for snapshot in taken.values():
                snapshot.close()
            raise
        return taken

    async def _send_round(self, name: str, snapshot: Snapshot) -> None:
        have = self._have[name]
        base = have.knowledge

        def look() -> tuple[Sequence[int], m.Have, m.Summary] | None:
            """None if there is nothing to tell: cheap, for while a round comes in, each of its commits has us look."""
            numbers, knowledge = snapshot.lacking(base, have.held), snapshot.knowledge()
            if not numbers and vector_clock.covers(base, knowledge):
                return None
            return numbers, m.Have(knowledge, snapshot.held_beyond()), _summary(snapshot)

        found = await self._call(look)
        if found is None:
            return
        numbers, mine, own = found
        self._round += 1
        self._round_held = mine.held
        self._answer = anyio.Event()
        self._say(m.Begin(self._round, name, base, mine.knowledge, len(numbers)))
        batch = 0
        for start in range(0, len(numbers), m.MAX_BATCH):
            chunk = numbers[start : start + m.MAX_BATCH]
            for versions in _bounded(await self._call(lambda chunk=chunk: snapshot.versions(chunk))):  # type: ignore[misc]
                await self._until_granted()
                if self._stop_round:
                    self._say(m.Cut(self._round))
                    return
                self._say(m.Batch(self._round, batch, versions))
                batch += 1
                await self._drained()
        self._say(m.End(self._round, own))
        await self._owed(self._answer)

    async def _until_granted(self) -> None:
        """Wait for the credit of a batch, or for a reason to send none."""
        while self._session.open and not self._session.credit and not self._stop_round:
            await self._owed(self._credit)
            self._credit = anyio.Event()

    async def _owed(self, event: anyio.Event) -> None:
        """Wait for something that the peer owes us; `_beat` sees when that is for too long."""
        self._owing = True
        try:
            await event.wait()
        finally:
            self._owing = False

    async def _drained(self) -> None:
        """Wait until what was said has left for the socket, so that a slow peer costs no memory."""
        while self._outbox:
            await self._emptied.wait()


def _sorted(
    versions: Iterable[Version],
) -> tuple[list[tuple[Version, Entity]], list[tuple[Version, str]], list[tuple[str, Clock]]]:
    """The good versions opened, the bad ones with what is wrong with them, and the clock of each. Raises
    `BadVersion` for one that cannot even be kept: without an id and a clock it has no place anywhere, and
    beyond the largest size it cannot be passed on."""
    good: list[tuple[Version, Entity]] = []
    bad: list[tuple[Version, str]] = []
    clocks: list[tuple[str, Clock]] = []
    for incoming in versions:
        clocks.append((incoming.id, version.clock_of(incoming)))
        if incoming.size() > version.MAX_VERSION:
            raise BadVersion(
                f"version of {incoming.id} has {incoming.size()} bytes; {version.MAX_VERSION} are the most"
            )
        try:
            good.append((incoming, version.open_foreign(incoming)))
        except BadVersion as error:
            bad.append((incoming, str(error)))
    return good, bad, clocks


def _bounded(versions: list[Version]) -> Iterator[list[Version]]:
    """Cut a list into batches of at most `BATCH_BYTES` (a larger version goes alone)."""
    batch: list[Version] = []
    size = 0
    for item in versions:
        if batch and size + item.size() > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.size()
    if batch:
        yield batch


def _having(knowledge: Clock, *held: Iterable[HeldDot]) -> m.Have:
    """What a peer has that knows this much, and holds these dots or has overwritten them."""
    beyond = {dot for dots in held for dot in dots if dot[1] > knowledge.get(dot[0], 0)}
    return m.Have(dict(knowledge), sorted(beyond))


def _fitting(haves: dict[str, m.Have]) -> dict[str, m.Have]:
    """The same with as many held dots as one frame takes."""
    room = m.HELD_BYTES
    fitting = {}
    for name, have in haves.items():
        held = []
        for dot in have.held[: m.MAX_HELD]:
            room -= DOT_OVERHEAD + len(dot[2])
            if room < 0:
                break
            held.append(dot)
        fitting[name] = m.Have(have.knowledge, held)
    return fitting


def _monotonic() -> int:
    """Milliseconds that only ever go forward."""
    return int(anyio.current_time() * 1000)


def own_summary(store: Store) -> m.Summary:
    with store.reading() as reader:
        return _summary(reader)


def _summary(reader: Reader) -> m.Summary:
    return summary(reader.knowledge(), reader.held_beyond(), reader.digest())
