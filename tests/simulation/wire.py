"""A connection between two devices of the simulation: a conversation at each end, and the frames between."""

import contextlib
from collections import deque
from collections.abc import Callable

import apsw
from tests.simulation.device import Device

from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.framing import HEADER_BYTES, dictionary_after
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Failed, Refused, words

BOOT = bytes(16)


class End:
    """One side. `arriving` are frames that are on their way to it, `said` is all that it has said."""

    def __init__(self, device: Device, *, dialled: bool) -> None:
        self.device = device
        self.arriving: deque[bytes] = deque()
        self.said: list[m.Message] = []
        self.conversation = Conversation(device, boot=BOOT, dialled=dialled, now=0)
        self.conversation.greet()


class Ended(Exception):
    """A session was ended by what came: `code` and a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")


class Wire:
    """The first end has dialled, so the second greets first. All an end says is in `said`; `tell` makes of it the
    bytes that go out, which are those of the frame unless somebody lies."""

    def __init__(
        self,
        ends: tuple[Device, Device],
        report: Callable[["Wire", Device, str, str], None],
        tell: Callable[["Wire", Device, list[m.Message], bytes], bytes],
    ) -> None:
        self._report, self._tell = report, tell
        self.disguised = False
        self.ends = tuple(End(device, dialled=side == 0) for side, device in enumerate(ends))
        self._pass(1)

    def joins(self, device: Device) -> bool:
        return any(end.device is device for end in self.ends)

    def in_rounds(self) -> int:
        """How many rounds are under way."""
        return sum(end.conversation.receiving for end in self.ends)

    def waiting(self, side: int) -> bool:
        return bool(self.ends[side].conversation.pending or self.ends[side].arriving)

    def deliver(self, side: int, most: int = 1) -> list[m.AnyMessage]:
        """What arrives next is carried out: a message, or of one frame `most` messages together; gives them."""
        end = self.ends[side]
        conversation = end.conversation
        if not conversation.pending and end.arriving:
            conversation.feed(end.arriving.popleft(), 0)
        messages = list(conversation.pending)[:most]
        left = len(conversation.pending) - len(messages)
        while conversation.waiting and (conversation.meeting or len(conversation.pending) > left):
            conversation.carry_out(end.device.now(), len(conversation.pending) - left)
            self._look_at(side)
            self._pass(side)
        return messages

    def speak(self, side: int) -> bool:
        """Whether this side had anything to say of itself."""
        conversation = self.ends[side].conversation
        if not conversation.greeted:
            return False
        said = conversation.speak()
        self._look_at(side)
        self._pass(side)
        return said

    def gossip(self, side: int) -> None:
        end = self.ends[side]
        if end.conversation.greeted:
            end.conversation.pass_on(end.device.now())
            self._pass(side)

    def cut(self, dead: Device | None = None) -> None:
        """Nothing more arrives. A side whose device is dead does not even notice."""
        with contextlib.ExitStack() as ends:
            for end in self.ends:
                if end.device is dead:  # its stores are closed; its snapshots have to go as well
                    ends.callback(_suppressing, end.conversation.release)
                else:
                    ends.callback(end.conversation.release)

    def _pass(self, side: int) -> None:
        """What a side has queued goes on its way."""
        end = self.ends[side]
        while end.conversation.queued:
            messages = end.conversation.queued[0]
            session = end.conversation._session
            before = session._dictionary
            frame = end.conversation.frame()
            if not frame:
                return
            end.said += messages
            sent = self._tell(self, end.device, messages, frame)
            if sent != frame:  # a liar, too, packs what follows by what it has said, and not by the truth
                session._dictionary = dictionary_after(sent[HEADER_BYTES + 1 :], before)
            self.ends[1 - side].arriving.append(sent)

    def _look_at(self, side: int) -> None:
        """What has happened at a side; raises what ended it."""
        end = self.ends[side]
        for event in end.conversation.events():
            if isinstance(event, Failed):
                raise event.problem
            if isinstance(event, Refused):
                raise Ended(event.problem.code, event.problem.message)
            said = words(event, f"device {end.conversation.peer[:8]}")
            if said is not None:
                self._report(self, end.device, *said)
        ended = end.conversation.ended
        if ended is not None and not end.conversation.pending:
            raise Ended(ended.code, ended.reason)


def _suppressing(close: Callable[[], None]) -> None:
    with contextlib.suppress(apsw.Error, Problem):
        close()
