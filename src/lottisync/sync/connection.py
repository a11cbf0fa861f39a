"""One connection to one device: what carries a `Conversation` over a socket (docs/specs/07-sync.md, section 7).

The conversation makes the messages, and carries out on the stores what the peer sends. The connection moves the bytes,
and passes events (`lottisync.sync.event`) to the engine. Five tasks share the connection:

- one reads (`receiver`);
- one lets the conversation carry out what came, and queues the answer;
- one lets the conversation send its own news, whenever there may be some;
- one gives it the time;
- one writes to the socket. It outlives the others for a moment, so that the last frame is neither lost nor cut in two.

A slow peer costs bounded memory. It grants credit for large messages, and no more of them are on the way. A frame goes
to the socket before the next one is made. While the peer does not read our answers, we do not read its requests. If a
peer owes us something for too long (room in its socket, credit, an Ack), the connection is closed: a round holds a
snapshot, and the write-ahead log of a store under a snapshot only grows.

Silence is measured on the monotonic clock, for the wall clock may be set; `clock` is for the stores.

Store calls go through `call`, which moves them off the event loop (a thread, one at a time for each connection) or, in
a simulation, runs them in place.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
from anyio.abc import ByteStream

from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store.reader import ChangeToken
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Answered, Event, Granted, Greeted
from lottisync.sync.off_loop import Caller
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.receiver import Receiver
from lottisync.sync.sender import LOST, Sender

T = TypeVar("T")
TICK_SECONDS = 1
FAREWELL_SECONDS = 1
"""How long what was said last may take to reach the socket when a connection ends."""
MAX_QUEUED_FRAMES = 64
"""Answers that wait for the socket before we stop listening. Between correct peers it is a handful."""
STUCK_SECONDS = 120
"""How long a peer may owe us something without anything moving: longer than a store may wait for other
processes' transactions, twice in a row."""


class Connection:
    """See the module. `happened` is called with every event. What came behind it is carried out after it
    returned, so that a peer can be turned away when it has greeted (`close`).

    It is one idea, the tasks that share a socket and a conversation: each method is a step of one of them, or wakes
    one."""

    def __init__(
        self,
        stream: ByteStream,
        conversation: Conversation,
        *,
        device: str,
        dialled: bool,
        call: Caller,
        clock: Callable[[], int],
        happened: Callable[["Connection", Event], Awaitable[None]],
    ) -> None:
        self.device = device
        self.dialled = dialled
        self.peer_boot = b""
        self.conversation = conversation
        self._stream = stream
        self._call, self._clock, self._happened = call, clock, happened
        self._answered = 0
        self._life = anyio.Event()
        self._turn = anyio.Lock(fast_acquire=True)
        self._fault: Exception | None = None
        self._sender = Sender(stream, self._sent)
        self._receiver = Receiver(stream, self._hear, self._reads_ahead)
        self._crowded = False
        self._moved = steady_now()
        self._owing = False
        self._work = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    @property
    def ended(self) -> m.Close | None:
        """Why the connection ended, if one side said so."""
        return self.conversation.ended

    @property
    def ended_here(self) -> bool:
        """Whether this side ended it."""
        return self.conversation.ended_here

    @property
    def status(self) -> PeerStatus:
        return self.conversation.status

    # -- life

    async def run(self) -> None:
        """Until the connection ends."""
        writing = anyio.CancelScope(shield=True)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._sender.write, writing)
                try:
                    await self._converse()
                except anyio.get_cancelled_exc_class():
                    self.close("goodbye", "the other device is stopping")
                    raise
                finally:
                    self._sender.leave()
                    writing.deadline = anyio.current_time() + FAREWELL_SECONDS
        finally:
            with anyio.CancelScope(shield=True):
                self._life.set()
                await self._linger()
                await anyio.aclose_forcefully(self._stream)
                await self._alone(self.conversation.release)

    async def _linger(self) -> None:
        """Go on reading for a moment, until the peer says its last word, too, or hangs up: if a socket is closed with
        something unread, the other side may not get what was said last."""
        with anyio.move_on_after(FAREWELL_SECONDS), contextlib.suppress(*LOST, anyio.BusyResourceError):
            while self.ended is not None and not self.conversation.hung_up:
                self.conversation.feed(await self._stream.receive(), steady_now())

    async def _converse(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            if self.ended is not None:  # closed before it ran
                return
            await self._alone(self.conversation.greet)
            self._flush()
            tasks.start_soon(self._beat)
            tasks.start_soon(self._speak)
            tasks.start_soon(self._receiver.listen)
            await self._heed()
            tasks.cancel_scope.cancel()

    async def _alone(self, work: Callable[[], T]) -> T:
        """Have the conversation work on the stores, one thing at a time."""
        async with self._turn:
            return await self._call(work)

    def close(self, code: str, reason: str) -> None:
        """End the session with a word to the peer. The first word counts."""
        self.conversation.close(code, reason)
        self._end()

    def _end(self) -> None:
        self._flush()
        if self._scope is not None:
            self._scope.cancel()

    # -- what the engine asks for

    async def lives(self, seconds: float) -> bool:
        """Whether the peer answers a ping within so long; false at once if the connection ends."""
        if not self.conversation.greeted or not self.conversation.open:
            return False
        number = self.conversation.ping(self._clock(), steady_now())
        self._flush()
        with anyio.move_on_after(seconds):
            while self._answered < number and self.conversation.open and not self._sender.leaving:
                await self._life.wait()
        return self._answered >= number and not self._sender.leaving

    def say_duplicate_key(self, boot: bytes) -> None:
        """Tell the peer that another program greets with its key."""
        self.conversation.say_duplicate_key(boot)
        self._flush()

    async def verify(self, name: str) -> None:
        """Compare a store with the peer's, as soon as the two have agreed on it."""
        await self._alone(lambda: self.conversation.verify(name))
        self._work.set()

    def local_change(self, moments: Mapping[str, ChangeToken] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it (see `Conversation.local_change`)."""
        self.conversation.local_change(moments)
        self._work.set()

    @property
    def idle(self) -> bool:
        """Whether the conversation waits for nothing, and has nothing to say."""
        conversation = self.conversation
        return conversation.greeted and conversation.silent and not conversation.owed

    def reserve(self) -> bool:
        """Whether the conversation is idle: then it is kept so, for `look`, until `release`."""
        if not self.idle:
            return False
        try:
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            return False
        return True

    def look(self, moments: Mapping[str, ChangeToken]) -> None:
        """Have the conversation look what the peer lacks; off the event loop. A fault ends this connection alone."""
        try:
            self.conversation.local_change(moments)
            if not self.conversation.silent:
                self.conversation.speak()
        except Exception as error:  # noqa: BLE001 - raised again by `_speak`, on the event loop
            self._fault = error

    def release(self) -> None:
        """Say what was found."""
        self._turn.release()
        self._flush()
        self._work.set()

    # -- bytes

    def _flush(self) -> None:
        """What the conversation has queued goes to the socket."""
        while frame := self.conversation.frame():
            self._sender.put(frame)

    def _sent(self) -> None:
        if not self._owing:  # else a heartbeat would count as credit
            self._moved = steady_now()

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(TICK_SECONDS)
            now = steady_now()
            if self._receiver.busy:
                # It is we who are not listening: a store may wait for another process's transaction longer than
                # a peer may be silent, and what the peer said meanwhile is still in the socket.
                self.conversation.feed(b"", now)
            if not (self._sender or self._owing) or (self._receiver.busy and not self._crowded):
                self._moved = now
            if now - self._moved >= STUCK_SECONDS * 1000:
                self.close(
                    "stuck", Sentence("nothing that was waited for has come for {seconds} s", seconds=STUCK_SECONDS)
                )
            silent = self.conversation.silent
            events = self.conversation.tick(self._clock(), now)
            self._flush()
            if silent and not self.conversation.silent:
                self._work.set()
            await self._tell(events)
            if self.ended is not None:
                self._end()

    # -- what we hear

    async def _heed(self) -> None:
        """Have the conversation carry out what arrives, until the connection ends."""
        while await self._receiver.more():
            while self.conversation.waiting:
                await self._take()
                await self._room()
                self._receiver.taken()
        if self.ended is not None:
            self._end()

    def _hear(self, data: bytes) -> bool:
        self.conversation.feed(data, steady_now())
        return self.ended is None

    def _reads_ahead(self) -> bool:
        """Whether to read ahead: while a round comes in, which credit bounds."""
        return self.conversation.receiving and not self._crowded

    async def _room(self) -> None:
        """Wait until the peer has read most of what it was answered, before listening on."""
        self._crowded = len(self._sender) > MAX_QUEUED_FRAMES
        if self._crowded:
            await self._sender.drained()
            self._crowded = False

    async def _take(self) -> None:
        """The next messages that have come."""
        if self.conversation.needs_stores:
            await self._alone(self._carry_out)
            self._work.set()
        else:
            self.conversation.carry_out(self._clock())
        self._flush()
        await self._tell(self.conversation.events())

    def _carry_out(self) -> None:
        """Queue the answer, and what this side has to say now: off the event loop only once for both. While the peer
        does not read, only the answer."""
        self.conversation.carry_out(self._clock())
        if not (self._sender or self.conversation.silent):
            self.conversation.speak()

    async def _tell(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Greeted():
                    self.peer_boot = event.boot
                case Answered():
                    self._answered = max(self._answered, event.number)
                    self._life.set()
                    self._life = anyio.Event()
                case Granted():
                    self._moved = steady_now()
                    self._work.set()
                case _:
                    pass
            await self._happened(self, event)

    # -- what we say

    async def _speak(self) -> None:
        """Have the conversation say what it has to say. Nothing is made before what was said last has left for the
        socket, so that a slow peer costs no memory."""
        while True:
            await self._work.wait()
            self._work = anyio.Event()
            if self._fault is not None:
                raise self._fault
            await self._sender.drained()
            while not self.conversation.silent and await self._alone(self.conversation.speak):
                self._flush()
                await self._sender.drained()
            self._flush()
            self._owing = self.conversation.owed
            await self._tell(self.conversation.events())
            if self.ended is not None:
                self._end()


def steady_now() -> int:
    """Milliseconds that only ever go forward."""
    return int(anyio.current_time() * 1000)
