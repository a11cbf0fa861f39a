"""One side of a conversation between two devices, without the connection (docs/specs/07-sync.md).

Bytes and time go in; bytes and events come out; the stores are changed in between. A conversation reads no socket and
no clock, and tells its driver nothing but what it gives back. So any transport can carry it:

    receive(data, now) -> events     for bytes of the peer, in any pieces; what they ask for is done, and durable
    data_to_send() -> bytes          the next frame for the peer; again and again, until it is empty
    local_change()                   something was committed here, by whichever program
    tick(now) -> events              every second or so: heartbeats, silence, what is passed on once a minute
    close(code, reason)              say the last word; `data_to_send` has it
    release()                        the connection has ended: release the stores

A driver of a socket is a few lines:

    conversation = Conversation(device, boot=..., dialled=True, now=now())
    while conversation.ended is None:
        while frame := conversation.data_to_send():
            socket.send(frame)
        for event in conversation.receive(socket.recv(65536), now()):
            ...
    conversation.release()

It is made of two parts. The session (`lottisync.protocol.session`) knows which message may follow which; the exchange
(`lottisync.sync.exchange`) does on the stores what they say. A frame is made when it is asked for, so a peer that reads
slowly costs no memory.

A driver whose event loop must not wait for a disk takes the same steps apart. `feed`, `frame`, `tick` and `close`
read no store; they belong to the loop. `carry_out` and `speak` do the stores' work, and may run on another thread, one
at a time:

    feed(data)                  what has arrived, as messages in `pending`
    carry_out(now)              do what the next of them ask for; the answer is queued
    speak()                     queue what this side has to say of itself, for one frame
    frame() -> bytes            pack the next of what is queued

There are two clocks. `now` is the wall clock (ms), for what is written into the stores. Silence is measured on
`steady`, a monotonic clock. A driver that has only one clock leaves `steady` out.
"""

from collections import deque
from collections.abc import Container, Mapping, Sequence

from lottisync.device.device import Device
from lottisync.problem import Problem, Sentence
from lottisync.protocol import message as m
from lottisync.protocol.session import Session
from lottisync.store.reader import ChangeToken
from lottisync.store.store import Store
from lottisync.sync.allowance import Allowance
from lottisync.sync.comparisons import Verified
from lottisync.sync.event import (
    Answered,
    ClockSaid,
    DuplicateKey,
    Event,
    Failed,
    Granted,
    Greeted,
    PeerChanged,
    Refused,
)
from lottisync.sync.exchange import Exchange
from lottisync.sync.incoming import Unacceptable
from lottisync.sync.peer_status import PeerStatus

GOSSIP_SECONDS = 60
"""How often the peer gets what others know, at most: it only decides what may be forgotten."""
ALONE = (m.Hello, m.DuplicateKey, m.Ping, m.Pong, m.Credit, m.Close)
"""Messages that are not for the stores: each is carried out by itself. (Of a greeting the second half is.)"""
MAX_BATCHES = m.FIRST_CREDIT // 2
"""Batches that are carried out together, with one commit: the peer may send as many again meanwhile."""
NEWS = (m.Hello, m.Want, m.Batch, m.End, m.Ack, m.Mended)
"""Messages that say something new of the peer's stores, or of how far a round has come."""


class Conversation:
    """See the module. It is one idea, the port that drivers see: every third method is a property that tells its state,
    and the work is done in `Session` and `Exchange`.

    `boot` are 16 random bytes, others at each start of the program. `stores` are those of the device that take part, in
    the order in which rounds deliver them (None: all that it has now). `members` are the devices that are, or were,
    this person's (None: whichever are named).
    `allowance` is what the peer may still cost; a program that outlives conversations keeps one for each device.
    `failing` are the stores that are left out, because their files cannot be used.
    `expected` is the device id that the transport has proved the peer to be; None if it proves nothing. Who has
    `dialled` greets second."""

    def __init__(
        self,
        device: Device,
        *,
        boot: bytes,
        dialled: bool,
        now: int,
        steady: int | None = None,
        expected: str | None = None,
        stores: Mapping[str, Store] | None = None,
        members: Container[str] | None = None,
        allowance: Allowance | None = None,
        failing: Sequence[str] = (),
    ) -> None:
        self.pending: deque[m.AnyMessage] = deque()
        """What has arrived and was not carried out yet."""
        self._session = Session(expected=expected, now=now if steady is None else steady)
        self._exchange = Exchange(
            device,
            boot=boot,
            stores=stores,
            members=members,
            allowance=allowance,
            failing=failing,
        )
        self._dialled = dialled
        self._now = now
        self._passed_on = now if steady is None else steady
        self._hello: m.Hello | None = None
        self._met: m.Hello | None = None
        self.queued: deque[list[m.Message]] = deque()
        """What is to be said and was not packed yet, frame by frame."""
        self._frames: deque[bytes] = deque()
        self._ended: m.Close | None = None
        self._due = False

    # -- the whole of it

    def receive(self, data: bytes, now: int, steady: int | None = None) -> list[Event]:
        """Take bytes of the peer. What they ask for has been done, and is durable, when this returns."""
        self.feed(data, now if steady is None else steady)
        while self.waiting:
            self.carry_out(now)
        return self.events()

    def data_to_send(self) -> bytes:
        """The next frame for the peer; empty if there is nothing to say now."""
        return self.frame() or (self.frame() if self.speak() else b"")

    def local_change(self, moments: Mapping[str, ChangeToken] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it. With the stores' `moments` as they are now,
        only if they have moved since the last look."""
        self._exchange.local_change(moments)

    def tick(self, now: int, steady: int | None = None) -> list[Event]:
        """Time passes. Reads no store."""
        self._now = now
        at = now if steady is None else steady
        self.pack()
        if self.open and (ping := self._session.tick(at, now)):
            self._frames.append(ping)
        if at - self._passed_on >= GOSSIP_SECONDS * 1000 and self._session.greeted:
            self._passed_on = at
            self._due = True
        return self.events()

    def close(self, code: str, reason: str, *, to_peer: str | None = None) -> None:
        """Say the last word. The first one counts; nothing more is taken or said. A `Sentence` keeps its words here.
        Over the wire goes its text, or what is said `to_peer` in its place."""
        if self.open:
            said = (to_peer or reason)[: m.MAX_TEXT]
            self._ended = m.Close(code, reason if len(reason) <= m.MAX_TEXT else reason[: m.MAX_TEXT])
            self.queued.append([m.Close(code, said)])

    def release(self) -> None:
        """Release what the conversation holds of the stores, and store the peer's announcements. The last call."""
        self._exchange.close()

    # -- step by step

    def greet(self) -> None:
        """Make the greeting from what the stores have now; the side that was dialled says it. Reads the stores. Happens
        by itself before the first other message, if it was not called."""
        if self._hello is None:
            self._hello = self._exchange.hello()
            if not self._dialled:
                self._say(self._hello)

    def feed(self, data: bytes, steady: int) -> None:
        """Take bytes of the peer, in any pieces."""
        messages = self._session.receive(data, steady)
        if self._ended is None:
            self.pending += messages

    @property
    def waiting(self) -> bool:
        """Whether there is something to carry out; nothing is, once this side has said its last word."""
        return self._ended is None and bool(self.pending or self._met)

    @property
    def meeting(self) -> bool:
        """Whether the peer has greeted, and the second half of that is still to be carried out."""
        return self._met is not None

    @property
    def needs_stores(self) -> bool:
        """Whether carrying out the next of it takes work of the stores."""
        return self._met is not None or not isinstance(self.pending[0], ALONE)

    def carry_out(self, now: int, limit: int | None = None) -> None:
        """Do what the next messages ask for that came together, at most `limit` of them, and queue the answer. A
        greeting takes two steps: between them the driver knows which device it is (`Greeted`), and may close."""
        self._now = now
        if self._met is not None:
            group: list[m.AnyMessage] = [self._met]
            self._met = None
        else:
            group = next_group(self.pending, limit)
            if isinstance(group[0], ALONE):
                self._take(group[0])
                return
        try:
            answer = self._exchange.carry_out(group, now)
        except Unacceptable as fault:
            self._give_up(Refused(fault), fault.code, fault.sentence)
        except Problem as problem:
            self._fail(problem)
        else:
            self._say(*answer)
            if any(isinstance(message, NEWS) for message in group):
                self._exchange.events.append(PeerChanged())

    def speak(self) -> bool:
        """Queue what this side has to say next, for one frame; whether it had anything."""
        self.greet()
        if not (self.open and self._session.greeted):
            return bool(self.queued)
        try:
            if self._due:
                self._due = False
                self.pass_on(self._now)
            if not self.queued:
                self._say(*self._exchange.more(self._session.credit))
        except Problem as problem:
            self._fail(problem)
        return bool(self.queued)

    def pass_on(self, now: int) -> None:
        """Store the peer's announcements, and queue those of other devices for it. `tick` calls this once a minute."""
        self._say(*self._exchange.pass_on(now))

    def frame(self) -> bytes:
        """Pack the next of what is queued; empty if there is nothing. Reads no store."""
        while not self._frames and self.queued:
            messages = self.queued.popleft()
            if self._session.open:  # the peer may have closed while the answer was made
                self._frames.append(self._session.send(*messages))
        if self._frames:
            return self._frames.popleft()
        farewell, self._session.farewell = self._session.farewell, b""
        return farewell

    def pack(self) -> None:
        """Pack all that is queued, in its order, before something else is said or what comes is judged."""
        while self.queued and self._session.open:
            self._frames.append(self._session.send(*self.queued.popleft()))

    def events(self) -> list[Event]:
        """What has happened since this was asked last."""
        happened = self._exchange.events[:]
        del self._exchange.events[: len(happened)]
        return happened

    def ping(self, now: int, steady: int) -> int:
        """Queue a ping out of turn; its number, which `Answered` will have."""
        self.pack()
        number, said = self._session.ping(steady, now)
        self._frames.append(said)
        return number

    def say_duplicate_key(self, boot: bytes) -> None:
        """Queue that another program, started as `boot`, greets with the peer's key."""
        self._say(m.DuplicateKey(boot))

    def verify(self, store: str) -> None:
        """Compare a store with the peer's, row by row, as soon as the two have agreed on it (`verified`)."""
        self._exchange.verify(store)

    # -- its state

    @property
    def peer(self) -> str:
        """The device id that the peer has greeted with; "" until then."""
        return self._exchange.peer

    @property
    def ended(self) -> m.Close | None:
        """The first Close, of either side; None while the conversation goes on."""
        return self._ended or self._session.closed

    @property
    def ended_here(self) -> bool:
        """Whether it was this side that said the first Close."""
        return self._ended is not None

    @property
    def hung_up(self) -> bool:
        """Whether the peer has said its last word, or what it said was no word at all."""
        return self._session.closed is not None

    @property
    def open(self) -> bool:
        """Whether anything may still be said."""
        return self._ended is None and self._session.open

    @property
    def greeted(self) -> bool:
        """Whether both sides have said hello."""
        return self._session.greeted

    @property
    def silent(self) -> bool:
        """Whether `speak` has nothing to say, as far as that shows without reading the stores."""
        return not self._due and self._exchange.silent

    @property
    def owed(self) -> bool:
        """Whether something waits for what the peer owes: credit, or the word that it has taken a round."""
        return self._exchange.owed

    @property
    def receiving(self) -> bool:
        """Whether a round is coming in."""
        return self._exchange.rounds_in.incoming is not None

    @property
    def status(self) -> PeerStatus:
        """What the peer has said of its stores."""
        return self._exchange.status

    @property
    def verified(self) -> Mapping[str, Verified]:
        """How the comparisons that were asked for have ended, by store."""
        return self._exchange.comparisons.verified

    # -- parts

    def _say(self, *messages: m.Message) -> None:
        if messages and self.open:
            self.queued.append(list(messages))

    def _give_up(self, event: Event, code: str, reason: Sentence, to_peer: str | None = None) -> None:
        self._exchange.events.append(event)
        self.close(code, reason, to_peer=to_peer)

    def _fail(self, problem: Problem) -> None:
        """A store here cannot go on; the peer hears the code alone."""
        reason = Sentence("this device cannot go on: {problem}", problem=problem)
        self._give_up(Failed(problem), "failed", reason, f"the device cannot go on ({problem.code})")

    def _take(self, message: m.AnyMessage) -> None:
        """Take a message that is not for the stores."""
        events = self._exchange.events
        match message:
            case m.Hello():
                if self._dialled:
                    self.greet()
                    assert self._hello is not None, "it was made just now"
                    self._say(self._hello)
                self._met = message
                events.append(Greeted(message.device.hex(), message.boot))
            case m.Ping(number=number, clock=clock):
                self._say(m.Pong(number))
                if clock:
                    events.append(ClockSaid(clock))
            case m.Pong(number=number):
                events.append(Answered(number))
            case m.Credit(batches=batches):
                events.append(Granted(batches))
            case m.DuplicateKey() | m.Close(code="duplicate-key"):
                events.append(DuplicateKey())
            case _:
                pass


def next_group(pending: deque[m.AnyMessage], limit: int | None = None) -> list[m.AnyMessage]:
    """Take from `pending` what came together for the stores, at most `limit` messages and `MAX_BATCHES` batches; or one
    that is not for them."""
    group = [pending.popleft()]
    batches = int(isinstance(group[0], m.Batch))
    while pending and len(group) != limit and not isinstance(group[0], ALONE) and not isinstance(pending[0], ALONE):
        if batches == MAX_BATCHES and isinstance(pending[0], m.Batch):
            break
        batches += isinstance(pending[0], m.Batch)
        group.append(pending.popleft())
    return group
