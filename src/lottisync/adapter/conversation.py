"""One side of a conversation between two programs, its bytes in the runner's hands: the `session.*` operations.

It is what a link does with a socket, without one: a session says what may be said, an exchange does it on the stores.
Who the peer is, no transport has proved here; it is whom it greets as.
"""

import base64
from typing import Any

from lottisync.adapter.replica import Replica
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.session import Session
from lottisync.sync.exchange import Exchange, Refused, breaths

HEARSAY_MILLIS = 60_000


class Conversation:
    def __init__(self, replica: Replica, *, initiator: bool, boot: bytes, now: int) -> None:
        self.replica = replica
        self.now = now
        self._session = Session(expected=None, now=now)
        self._events: list[dict[str, str]] = []
        self._said: list[bytes] = []
        self._initiator = initiator
        self._passed_on = now
        self._exchange = Exchange(
            device=replica.device,
            boot=boot,
            stores=replica.stores,
            strangers=lambda tx, hosts: None,
            clock=lambda: self.now,
            credit=lambda: self._session.credit,
            report=lambda code, text: self._events.append({"code": code, "text": text}),
        )
        self._hello = self._exchange.hello()
        if not initiator:
            self._say(self._hello)

    def receive(self, data: bytes, now: int) -> None:
        """Any cut of the peer's stream."""
        self.now = now
        for breath in breaths(self._session.receive(data, now)):
            if not self._accepted(breath):
                return
        self._go_on()

    def tick(self, now: int) -> None:
        """Time passes. No bell rings here when somebody writes to the replica, so this is when it is noticed."""
        self.now = now
        self._exchange.local_change()
        due = self._session.tick(now)
        if due:
            self._said.append(due)
        if now - self._passed_on >= HEARSAY_MILLIS and self._session.greeted:
            self._passed_on = now
            self._say(*self._exchange.hearsay())
        self._go_on()

    def close(self) -> None:
        self._exchange.close()

    def result(self) -> dict[str, Any]:
        """What there is to send, what has happened, and how it ended if it did; since it was asked last."""
        closed = self._session.closed
        if self._session.farewell:
            self._said.append(self._session.farewell)
            self._session.farewell = b""
        said, self._said = self._said, []
        events, self._events = self._events, []
        return {
            "send": [base64.b64encode(frame).decode() for frame in said],
            "events": events,
            "closed": {"code": closed.code, "message": closed.reason} if closed is not None else None,
        }

    def _say(self, *messages: m.Message) -> None:
        if messages and self._session.open:
            self._said.append(self._session.send(*messages))

    def _accepted(self, breath: list[m.AnyMessage]) -> bool:
        """Take what came together; what the stores refuse ends the session, and what comes behind it is not taken."""
        try:
            self._take(breath)
        except Refused as fault:
            self._end(fault.code, fault.reason)
        except Problem as problem:
            self._end("failed", f"the device cannot go on ({problem.code})")
        else:
            return True
        return False

    def _end(self, code: str, reason: str) -> None:
        close = m.Close(code, reason[: m.MAX_TEXT])
        self._say(close)
        self._session.closed = self._session.closed or close

    def _take(self, breath: list[m.AnyMessage]) -> None:
        match breath[0]:
            case m.Ping(number=number):
                self._say(m.Pong(number))
            case m.Pong() | m.Credit() | m.Close():
                pass
            case first:
                if isinstance(first, m.Hello) and self._initiator:
                    self._say(self._hello)
                self._say(*self._exchange.hear(breath))

    def _go_on(self) -> None:
        while self._session.open and self._session.greeted and (messages := self._exchange.more()):
            self._say(*messages)
