"""One connection to one device: what carries an `Exchange` over a socket (docs/specs/07-sync.md, section 7).

The session says what may be said, the exchange does it on the stores; the link moves the bytes. Four tasks share
the connection. One reads, has the exchange take what came, and says its answers. One has it say what it has to say
of itself, whenever there may be something new. One beats the heart. One writes to the socket: it alone outlives
the others, for a moment, so that the last word is neither lost nor cut in two.

A peer that is slow costs bounded memory. It grants credit for what is large, and no more of that is under way;
a frame leaves for the socket before the next is made; and while the peer does not read what we
answer, we do not read what it asks. A peer that owes us something for long (room in its socket, credit,
the word that it has taken a round) is hung up on: a round holds a snapshot, and the write-ahead log of a
store under a snapshot only grows.

Silence is measured on the monotonic clock, for the wall clock may be set; `clock` is for the stores.

Store calls go through `call`, which moves them off the event loop (a thread, one at a time for each link) or, in
a simulation, runs them where they stand.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import anyio
from anyio.abc import ByteStream

from lottisync.causality.vector_clock import Host
from lottisync.device.membership import Strangers
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.session import Session
from lottisync.store.reader import Moment
from lottisync.store.store import Store
from lottisync.sync.exchange import Exchange, Refused, breaths

T = TypeVar("T")
TICK_SECONDS = 1
FAREWELL_SECONDS = 1
"""How long what was said last may take to reach the socket when a link ends."""
HEARSAY_SECONDS = 60
"""How often the peer is told what others know, at most: it only decides what may be forgotten."""
MAX_OUTBOX = 64
"""Answers that wait for the socket before we stop listening. Between correct peers it is a handful."""
STUCK_SECONDS = 120
"""How long a peer may owe us something without anything moving: longer than a store may wait for other
processes' transactions, twice in a row."""
LOST = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""How a connection ends without a word. OSError: ssl's errors, for bytes that somebody has damaged on the way."""


class Caller(Protocol):
    def __call__(self, work: Callable[[], T]) -> Awaitable[T]: ...


class Link:
    """See the module. `greeted` is called with the peer's hello and says whether the link may go on
    (the `Close` for the peer if not); `is_twin` when the peer says that this device runs twice."""

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
        greeted: Callable[["Link", m.Hello], Awaitable[m.Close | None]],
        report: Callable[[str, str], None],
        progress: Callable[[str, int, int], None] = lambda store, done, of: None,
        called: Callable[[], str | None] = lambda: None,
        member: Callable[[str], bool] = lambda device: True,
        ahead: Callable[[Host, int], None] = lambda host, millis: None,
    ) -> None:
        self.device = device
        self.dialled = dialled
        self.peer_boot = b""
        self.ended: m.Close | None = None
        self.changed: Callable[[], None] = lambda: None
        self.is_twin: Callable[[], None] = lambda: None
        self._stream = stream
        self._call, self._greeted, self._report = call, greeted, report
        self._session = Session(expected=device, now=_monotonic())
        self.exchange = Exchange(
            device=own_device,
            boot=boot,
            stores=stores,
            strangers=Strangers(stores["space"], own_certificate),
            clock=clock,
            credit=lambda: self._session.credit,
            report=report,
            progress=progress,
            called=called,
            member=member,
            ahead=ahead,
        )
        self._called = called
        self._ponged = 0
        self._life = anyio.Event()
        self._turn = anyio.Lock()
        self._found: list[m.Message] = []
        self._fault: Exception | None = None
        self._outbox: list[bytes] = []
        self._writable = anyio.Event()
        self._emptied = anyio.Event()
        self._leaving = False
        self._taking = False
        self._crowded = False
        self._moved = _monotonic()
        self._owing = False
        self._work = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    # -- life

    async def run(self) -> None:
        """Until the connection ends; `ended` then says why, if anybody said so."""
        writing = anyio.CancelScope(shield=True)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, writing)
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
                self._life.set()
                await self._linger()
                await anyio.aclose_forcefully(self._stream)
                await self._exchanged(self.exchange.close)

    async def _linger(self) -> None:
        """Hear the peer out until it says its last word too, or hangs up, for a moment: a socket that is closed with
        something unread takes back what was said last, before the other side has read it."""
        with anyio.move_on_after(FAREWELL_SECONDS), contextlib.suppress(*LOST, anyio.BusyResourceError):
            while self.ended is not None and self._session.closed is None:
                self._session.receive(await self._stream.receive(), _monotonic())

    async def _converse(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            if not self._session.open:  # closed before it ran
                return
            hello = await self._exchanged(self.exchange.hello)
            tasks.start_soon(self._beat)
            tasks.start_soon(self._unless_refused, self._speak)
            tasks.start_soon(self._unless_refused, self._pass_on)
            if not self.dialled:
                self._say(hello)
            await self._unless_refused(lambda: self._read(hello))
            tasks.cancel_scope.cancel()

    async def _exchanged(self, work: Callable[[], T]) -> T:
        """Have the exchange do something, alone."""
        async with self._turn:
            return await self._call(work)

    async def _unless_refused(self, task: Callable[[], Awaitable[None]]) -> None:
        """What the stores refuse, or cannot do (a full disk), ends this link with a word, and no other one."""
        try:
            await task()
        except Refused as fault:
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

    async def lives(self, seconds: float) -> bool:
        """Whether the peer answers a ping within so long; false at once if the link ends."""
        if not self._session.greeted or not self._session.open:
            return False
        number, ping = self._session.ping(_monotonic())
        self._outbox.append(ping)
        self._writable.set()
        with anyio.move_on_after(seconds):
            while self._ponged < number and self._session.open and not self._leaving:
                await self._life.wait()
        return self._ponged >= number and not self._leaving

    def say_twin(self, boot: bytes) -> None:
        """Tell the peer that another program greets with its key."""
        self._say(m.Twin(boot))

    async def verify(self, name: str) -> None:
        """Compare a store with the peer's, as soon as the two have agreed on it."""
        await self._exchanged(lambda: self.exchange.verify(name))
        self._work.set()

    def local_change(self, moments: Mapping[str, Moment] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it (see `Exchange.local_change`)."""
        self.exchange.local_change(moments)
        self._work.set()

    @property
    def idle(self) -> bool:
        """Whether the exchange waits for nothing, and has nothing to say."""
        return self._session.greeted and self.exchange.silent and not self.exchange.owed

    def reserve(self) -> bool:
        """Whether the exchange is idle: then it is kept so, for `look`, until `release`."""
        if not self.idle:
            return False
        try:
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            return False
        return True

    def look(self, moments: Mapping[str, Moment]) -> None:
        """Have the exchange look what the peer lacks; off the event loop. What goes wrong is this link's alone."""
        try:
            self.exchange.local_change(moments)
            self._found = [] if self.exchange.silent else self.exchange.more()
        except Exception as error:  # noqa: BLE001
            self._fault = error

    def release(self) -> None:
        """Say what was found."""
        self._turn.release()
        found, self._found = self._found, []
        self._say(*found)
        self._work.set()

    def _say(self, *messages: m.Message) -> None:
        """Queue messages, as one frame. Once the session is closed nothing more is said: the peer may close it in
        the same breath with something that we are about to answer."""
        if self._session.open and messages:
            self._outbox.append(self._session.send(*messages))
            self._writable.set()

    async def _write(self, scope: anyio.CancelScope) -> None:
        with scope:
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

    async def _read(self, own: m.Hello) -> None:
        while True:
            try:
                data = await self._stream.receive()
            except LOST:
                return
            messages = self._session.receive(data, _monotonic())
            self._taking = True
            for breath in breaths(messages):
                await self._take(breath, own)
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
        return self._called() or f"device {self.device[:8]}"

    async def _take(self, breath: list[m.AnyMessage], own: m.Hello) -> None:
        match breath[0]:
            case m.Ping(number=number):
                self._say(m.Pong(number))
                return
            case m.Pong(number=number):
                self._ponged = max(self._ponged, number)
                self._life.set()
                self._life = anyio.Event()
                return
            case m.Twin() | m.Close(code="twin"):
                self.is_twin()
                return
            case m.Close():
                return
            case m.Credit():
                self._moved = _monotonic()
                self._work.set()
                return
            case m.Hello() as hello:
                self.peer_boot = hello.boot
                if self.dialled:
                    self._say(own)
                objection = await self._greeted(self, hello)
                if objection is not None:
                    self.close(objection.code, objection.reason)
                    return
            case _:
                pass
        answer, news = await self._exchanged(lambda: self._hear(breath))
        self._say(*answer)
        self._say(*news)
        self._work.set()
        if any(isinstance(message, m.Hello | m.Want | m.End | m.Told | m.Mended) for message in breath):
            self.changed()

    def _hear(self, breath: list[m.AnyMessage]) -> tuple[list[m.Message], list[m.Message]]:
        """What to answer, and what this side has to say now: off the event loop only once for both. While the peer
        does not read, only the answer."""
        answer = self.exchange.hear(breath)
        return answer, [] if self._outbox or self.exchange.silent else self.exchange.more()

    # -- what we say

    async def _speak(self) -> None:
        while True:
            await self._work.wait()
            self._work = anyio.Event()
            if self._fault is not None:
                raise self._fault
            await self._drained()
            while not self.exchange.silent and (messages := await self._exchanged(self.exchange.more)):
                self._say(*messages)
                await self._drained()
            self._owing = self.exchange.owed

    async def _pass_on(self) -> None:
        while True:
            await anyio.sleep(HEARSAY_SECONDS)
            self._say(*await self._exchanged(self.exchange.hearsay))

    async def _drained(self) -> None:
        """Wait until what was said has left for the socket, so that a slow peer costs no memory."""
        while self._outbox:
            await self._emptied.wait()


def _monotonic() -> int:
    """Milliseconds that only ever go forward."""
    return int(anyio.current_time() * 1000)
