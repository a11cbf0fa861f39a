"""One side of a connection, without the connection (docs/specs/07-sync.md, section 4).

Theory of operation. Bytes and time go in, messages and bytes come out; the session never touches a
store, a socket or a clock. It knows the *grammar*: which message may follow which. What a message
says is carried out by its driver (`lottisync.sync.conversation`, on the stores), which calls

    receive(data, now) -> messages   for bytes of the peer, whole or in any pieces
    send(*messages) -> bytes         for what it wants to say, in one frame
    tick(now, clock) -> bytes        every second or so; `clock` is what the wall clock says

Each direction has its own state. `TRANSITIONS` holds the whole order of messages. Beside it there are only counts, of
rounds and their parts. There are no roles: both sides may send the same messages, so one table holds for both.

A large message (`message.Large`: batches, chains, keys) costs a *credit*. The side that receives grants credit, so it
needs room only for what it has granted. The messages of one direction change the credit of the other one. Therefore
credit is counted here and not in the table.

A rule can be broken by either side. `LocalError`: our own driver tried to send what it may not, which is a bug of ours.
A `Close` among the received messages, with `session.closed` set: the peer broke a rule. The bytes of `farewell` say
why, and nothing of the message that broke the rule is passed on.
"""

import re
from enum import StrEnum

from lottisync.causality.chain import VALUE_BYTES
from lottisync.causality.hlc import MAX_MILLIS
from lottisync.problem import LocalError, Sentence
from lottisync.protocol import message as m
from lottisync.protocol.framing import MAX_FRAME, PLAIN, BadFrame, FrameBuffer, dictionary_after, frame

PING_SECONDS = 5
DEAD_SECONDS = 15
"""The kernel alone takes most of a minute to notice a cable that was cut."""
GREETING_SECONDS = 5
"""Within which a peer must have said hello."""


def _versions(own: int, other: int) -> Sentence:
    """Why two devices with different versions do not sync, as the person reads it on the device with the version
    `own`."""
    if own < other:
        return Sentence(
            "it speaks version {other} of the sync protocol, this device version {own}: update this device first",
            other=other,
            own=own,
        )
    return Sentence(
        "it speaks version {other} of the sync protocol, this device version {own}: update it first",
        other=other,
        own=own,
    )


def versions_said(reason: str) -> Sentence | None:
    """The sentence of `_versions` in what a peer has said, with its values; None for other words."""
    numbers = [int(number) for number in re.findall(r"\d{1,9}", reason)]
    said = _versions(numbers[1], numbers[0]) if len(numbers) == 2 else None
    return said if said == reason else None


class SessionState(StrEnum):
    """The state of one direction."""

    GREETING = "greeting"
    QUIET = "quiet"
    IN_CHAINS = "in-chains"
    IN_BATCHES = "in-batches"
    IN_KEYS = "in-keys"
    CLOSED = "closed"


ANYTIME = (
    m.Want, m.Probe, m.Probed, m.Ack, m.Reject, m.Gossip, m.DuplicateKey, m.Compare, m.Mend, m.Mended, m.Credit, m.Ping,
    m.Pong,
)  # fmt: skip
"""The messages that a side may send after the greeting, also within a round that it sends."""
ROUND = (SessionState.IN_CHAINS, SessionState.IN_BATCHES, SessionState.IN_KEYS)
"""The parts of a round, in their order. Each may be left out."""

TRANSITIONS: dict[tuple[SessionState, type[m.Message]], SessionState] = {
    (SessionState.GREETING, m.Hello): SessionState.QUIET,
    (SessionState.GREETING, m.Close): SessionState.CLOSED,
    (SessionState.QUIET, m.Begin): SessionState.IN_CHAINS,
    (SessionState.IN_CHAINS, m.Chain): SessionState.IN_CHAINS,
    (SessionState.IN_CHAINS, m.Batch): SessionState.IN_BATCHES,
    (SessionState.IN_CHAINS, m.Keys): SessionState.IN_KEYS,
    (SessionState.IN_BATCHES, m.Batch): SessionState.IN_BATCHES,
    (SessionState.IN_BATCHES, m.Keys): SessionState.IN_KEYS,
    (SessionState.IN_KEYS, m.Keys): SessionState.IN_KEYS,
    **{(state, kind): SessionState.QUIET for kind in (m.End, m.Abort) for state in ROUND},
    **{(state, kind): state for kind in ANYTIME for state in (SessionState.QUIET, *ROUND)},
    **{(state, m.Close): SessionState.CLOSED for state in (SessionState.QUIET, *ROUND)},
}


class _Direction:
    """The state of what one side sends: the table, the numbers within a round, and the credit that the other
    side has granted it."""

    def __init__(self) -> None:
        self.state = SessionState.GREETING
        self.encodings: frozenset[int] = frozenset({PLAIN})
        self.credit = m.FIRST_CREDIT
        self.round = 0
        self.frames = 0
        self.left = 0
        self.behind = False

    def step(self, message: m.Message) -> Sentence | None:
        """Take one message; what is wrong with it, or None."""
        target = TRANSITIONS.get((self.state, type(message)))
        if target is None:
            return Sentence("a {kind} cannot come in state {state}", kind=_kind(message), state=str(self.state))
        fault = self._in_order(message)
        if fault is not None:
            return fault
        if isinstance(message, m.Large):
            if self.credit == 0:
                return Sentence("a {kind} came without credit", kind=_kind(message))
            self.credit -= 1
        if isinstance(message, m.Hello):
            self.encodings |= set(message.encodings)
        self.state = target
        return None

    def _in_order(self, message: m.Message) -> Sentence | None:
        """The numbers of a round; the order of its parts is the table's."""
        match message:
            case m.Begin():
                if message.round <= self.round:
                    return Sentence("round {round} cannot follow round {last}", round=message.round, last=self.round)
                self.round, self.frames, self.left = message.round, 0, message.count
                self.behind = message.behind
            case m.Chain() | m.Batch() | m.Keys():
                if (message.round, message.number) != (self.round, self.frames):
                    return Sentence(
                        "{kind} {number} of round {round} came in place of {due} of round {running}",
                        kind=_kind(message),
                        number=message.number,
                        round=message.round,
                        due=self.frames,
                        running=self.round,
                    )
                self.frames += 1
                return self._large(message)
            case m.End() | m.Abort() if message.round != self.round:
                return Sentence(
                    "the end of round {round} came in round {running}", round=message.round, running=self.round
                )
            case m.End() if self.left:
                return Sentence("round {round} ended {left} versions early", round=self.round, left=self.left)
            case m.Mend() if len(message.versions) > m.MAX_BATCH:
                return Sentence(
                    "{many} versions at once; at most {limit} are taken", many=len(message.versions), limit=m.MAX_BATCH
                )
            case _:
                pass
        return None

    def _large(self, message: m.Chain | m.Batch | m.Keys) -> Sentence | None:
        match message:
            case m.Chain() if len(message.values) % VALUE_BYTES:
                return Sentence(
                    "a chain of {size} bytes, where each value has {each}", size=len(message.values), each=VALUE_BYTES
                )
            case m.Batch() if not 1 <= len(message.versions) <= min(m.MAX_BATCH, self.left):
                return Sentence(
                    "a batch of {many} versions where at most {left} are left",
                    many=len(message.versions),
                    left=self.left,
                )
            case m.Batch():
                self.left -= len(message.versions)
            case m.Keys() if not self.behind or self.left or len(message.keys) % 8:
                return Sentence("keys came where none are due")
            case _:
                pass
        return None

    def grant(self, message: m.Message) -> Sentence | None:
        """Take what the *other* side says, for the credit in it; what is wrong with it, or None."""
        if isinstance(message, m.Credit):
            if self.credit + message.batches > m.MAX_CREDIT:
                return Sentence(
                    "a credit of {batches} batches, where {limit} are the most",
                    batches=self.credit + message.batches,
                    limit=m.MAX_CREDIT,
                )
            self.credit += message.batches
        return None


def _kind(message: m.Message) -> str:
    """What the message is called, as in the specification: `Batch`."""
    return type(message).__name__


class Session:
    """See the module. `expected` is the device id that the transport has proved the peer to be; None if it is not
    the transport that proves it."""

    def __init__(self, *, expected: str | None, now: int) -> None:
        self.closed: m.Close | None = None
        self.farewell = b""
        self._expected = expected
        self._ours, self._theirs = _Direction(), _Direction()
        self._frames = FrameBuffer()
        self._dictionary = b""
        self._heard = self._started = now
        self._pinged = now
        self._pings = 0

    # -- what we say

    def send(self, *messages: m.Message) -> bytes:
        """The bytes of one frame with messages of ours; `LocalError` if one may not be said now."""
        encodings = self._agreed()
        for message in messages:
            if not self.open:
                raise LocalError("the session is closed")
            fault = self._ours.step(message) or self._theirs.grant(message)
            if fault is not None:
                raise LocalError(fault)
        self._frames.encodings = self._agreed()
        body = m.encode(*messages)
        said = frame(body, encodings, self._dictionary)
        self._dictionary = dictionary_after(body, self._dictionary)
        return said

    def _agreed(self) -> frozenset[int]:
        """The encodings that frames may have: the plain one, and after both greetings what both can."""
        return self._ours.encodings & self._theirs.encodings

    @property
    def credit(self) -> int:
        """How many large messages may be said now."""
        return self._ours.credit

    @property
    def open(self) -> bool:
        """Whether anything may still be said: false from the first `Close` on, of either side."""
        return self.closed is None and self._ours.state is not SessionState.CLOSED

    @property
    def greeted(self) -> bool:
        """Whether both sides have said hello."""
        return (
            self._theirs.state not in (SessionState.GREETING, SessionState.CLOSED)
            and self._ours.state is not SessionState.GREETING
        )

    # -- what the peer says

    def receive(self, data: bytes, now: int) -> list[m.AnyMessage]:
        """The messages that these bytes complete, in order. After a `Close` (the peer's own, or ours for
        what it did wrong) nothing more comes."""
        if self.closed is not None:
            return []
        self._heard = now
        self._frames.feed(data)
        received: list[m.AnyMessage] = []
        while self.closed is None:
            messages = self._next()
            if messages is None:
                break
            received += messages
        return received

    def _next(self) -> list[m.AnyMessage] | None:
        """The messages of the next frame, as far as they may come; last of all the `Close` that a fault earns."""
        try:
            body = self._frames.next_body()
            if body is None:
                return None
            messages = m.decode(body)
        except BadFrame as error:
            return [self._fault("bad-frame", error.sentence)]
        except m.MalformedMessage as error:
            return [self._fault("malformed", error.sentence)]
        heard: list[m.AnyMessage] = []
        for message in messages:
            fault = self._theirs.step(message) or self._ours.grant(message)
            if fault is not None:
                return [*heard, self._fault("illegal", fault)]
            if isinstance(message, m.Hello):
                self._frames.limit = MAX_FRAME
                self._frames.encodings = self._agreed()
                message = self._greeted(message)
            if isinstance(message, m.Close):
                self.closed = message
                return [*heard, message]
            heard.append(message)
        return heard

    def _greeted(self, hello: m.Hello) -> m.AnyMessage:
        if hello.version != m.PROTOCOL_VERSION:
            return self._fault(
                "version",
                _versions(m.PROTOCOL_VERSION, hello.version),
                to_peer=_versions(hello.version, m.PROTOCOL_VERSION),
            )
        if self._expected is not None and hello.device.hex() != self._expected:
            return self._fault("wrong-device", Sentence("the greeting names another device than the certificate"))
        return hello

    def _fault(self, code: str, reason: Sentence, *, to_peer: Sentence | None = None) -> m.Close:
        """Close for this reason. This side keeps it as a `Sentence`, and sends its text. `to_peer` is the reason from
        the other side's point of view."""
        close = m.Close(code, reason if len(reason) <= m.MAX_TEXT else Sentence(reason[: m.MAX_TEXT]))
        if self.open:  # a side that has said Close says nothing more
            self.farewell = frame(m.encode(m.Close(code, (to_peer or reason)[: m.MAX_TEXT])))
        self.closed = close
        return close

    # -- time

    def tick(self, now: int, clock: int = 0) -> bytes:
        """What is due at `now` (ms): a ping, or nothing. Sets `closed` when the peer is silent for too long. `clock` is
        what the wall clock says (ms since 1970); a ping tells it to the peer."""
        if not self.open:
            return b""
        if not self.greeted:
            if now - self._started >= GREETING_SECONDS * 1000:
                self._fault("timeout", Sentence("no greeting within {seconds} s", seconds=GREETING_SECONDS))
            return b""
        if now - self._heard >= DEAD_SECONDS * 1000:
            self._fault("timeout", Sentence("nothing was heard for {seconds} s", seconds=DEAD_SECONDS))
            return b""
        if now - self._pinged >= PING_SECONDS * 1000:
            return self.ping(now, clock)[1]
        return b""

    def ping(self, now: int, clock: int = 0) -> tuple[int, bytes]:
        """A ping out of turn: its number, which the pong will have, and its bytes."""
        self._pinged = now
        self._pings += 1
        return self._pings, self.send(m.Ping(self._pings, min(max(0, clock), MAX_MILLIS)))
