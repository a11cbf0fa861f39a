"""One side of a conversation between two programs: the `session.*` operations.

The runner carries the bytes. No transport proves here who the peer is, so it is the device that its greeting names.
"""

import base64
from typing import Any

from lottisync.adapter.replica import Replica
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Event, Failed, Refused, words


class SessionOperations:
    """What the runner reads of a conversation. `replica` is the one whose side it is."""

    def __init__(self, replica: Replica, *, initiator: bool, boot: bytes, now: int) -> None:
        self.replica = replica
        self._events: list[Event] = []
        self._said: list[bytes] = []
        self._conversation = Conversation(replica.device, dialled=initiator, boot=boot, now=now)
        self._conversation.greet()
        self._go_on()

    def receive(self, data: bytes, now: int) -> None:
        """Take bytes of the peer's stream, cut anywhere."""
        self._events += self._conversation.receive(data, now)
        self._go_on()

    def tick(self, now: int) -> None:
        """Time passes. No bell rings here when something is written to the replica, so it is noticed now."""
        self._conversation.local_change()
        self._events += self._conversation.tick(now)
        self._go_on()

    def close(self) -> None:
        self._conversation.release()

    def result(self) -> dict[str, Any]:
        """What is to be sent, what has happened since the last call, and how the conversation ended, if it did."""
        closed = self._conversation.ended
        said, self._said = self._said, []
        events, self._events = self._events, []
        peer = f"device {self._conversation.peer[:8]}"
        sentences = [words(event, peer) for event in events if not isinstance(event, Refused | Failed)]
        return {
            "send": [base64.b64encode(frame).decode() for frame in said],
            "events": [{"code": said[0], "text": said[1]} for said in sentences if said is not None],
            "closed": {"code": closed.code, "message": str(closed.reason)} if closed is not None else None,
        }

    def _go_on(self) -> None:
        while frame := self._conversation.data_to_send():
            self._said.append(frame)
