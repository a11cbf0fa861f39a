"""One side of a conversation between two programs, its bytes in the runner's hands: the `session.*` operations.

Who the peer is, no transport has proved here; it is whom it greets as.
"""

import base64
from typing import Any

from lottisync.adapter.replica import Replica
from lottisync.sync import conversation
from lottisync.sync.event import Event, Failed, Refused, words


class SessionOperations:
    """What the runner reads of a conversation. `replica` is the one whose side it is."""

    def __init__(self, replica: Replica, *, initiator: bool, boot: bytes, now: int) -> None:
        self.replica = replica
        self._events: list[Event] = []
        self._said: list[bytes] = []
        self._conversation = conversation.Conversation(
            device=replica.device.id,
            boot=boot,
            stores=dict(replica.stores),
            strangers=lambda tx, hosts: None,
            dialled=initiator,
            now=now,
        )
        self._conversation.greet()
        self._go_on()

    def receive(self, data: bytes, now: int) -> None:
        """Any cut of the peer's stream."""
        self._events += self._conversation.receive(data, now)
        self._go_on()

    def tick(self, now: int) -> None:
        """Time passes. No bell rings here when somebody writes to the replica, so this is when it is noticed."""
        self._conversation.local_change()
        self._events += self._conversation.tick(now)
        self._go_on()

    def close(self) -> None:
        self._conversation.release()

    def result(self) -> dict[str, Any]:
        """What there is to send, what has happened, and how it ended if it did; since it was asked last."""
        closed = self._conversation.ended
        said, self._said = self._said, []
        events, self._events = self._events, []
        peer = f"device {self._conversation.peer[:8]}"
        told = [words(event, peer) for event in events if not isinstance(event, Refused | Failed)]
        return {
            "send": [base64.b64encode(frame).decode() for frame in said],
            "events": [{"code": said[0], "text": said[1]} for said in told if said is not None],
            "closed": {"code": closed.code, "message": closed.reason} if closed is not None else None,
        }

    def _go_on(self) -> None:
        while frame := self._conversation.data_to_send():
            self._said.append(frame)
