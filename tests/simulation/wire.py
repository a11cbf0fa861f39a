"""A connection between two devices of the simulation: an exchange and a session at each end, and the frames between."""

import contextlib
from collections import deque
from collections.abc import Callable

import apsw
from tests.simulation.device import Device

from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.session import Session
from lottisync.sync.exchange import Exchange, breaths
from lottisync.sync.incoming import Strangers

BOOT = bytes(16)


class End:
    """One side. `arriving` are frames that are on their way to it, `heard` what came in the last of them."""

    def __init__(
        self, device: Device, clock: Callable[[], int], strangers: Strangers, report: Callable[[str, str], None]
    ) -> None:
        self.device = device
        self.arriving: deque[bytes] = deque()
        self.heard: deque[m.AnyMessage] = deque()
        self.said: list[m.Message] = []
        self.session = Session(expected=None, now=0)
        self.exchange = Exchange(
            device=device.name,
            boot=BOOT,
            stores=device.stores,
            strangers=strangers,
            clock=clock,
            credit=lambda: self.session.credit,
            report=report,
        )
        self.hello = self.exchange.hello()


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
        clock: Callable[[Device], int],
        strangers: Strangers,
        report: Callable[["Wire", Device, str, str], None],
        tell: Callable[["Wire", Device, list[m.Message], bytes], bytes],
    ) -> None:
        self._tell = tell
        self.disguised = False
        self.ends = tuple(
            End(
                device,
                lambda device=device: clock(device),  # type: ignore[misc]
                strangers,
                lambda code, text, device=device: report(self, device, code, text),  # type: ignore[misc]
            )
            for device in ends
        )
        self.say(1, self.ends[1].hello)

    def joins(self, device: Device) -> bool:
        return any(end.device is device for end in self.ends)

    def in_rounds(self) -> int:
        """How many rounds are under way."""
        return sum(end.exchange._incoming is not None for end in self.ends)

    def say(self, side: int, *messages: m.Message) -> None:
        end = self.ends[side]
        if messages and end.session.open:
            end.said += messages
            frame = end.session.send(*messages)
            self.ends[1 - side].arriving.append(self._tell(self, end.device, list(messages), frame))

    def waiting(self, side: int) -> bool:
        return bool(self.ends[side].heard or self.ends[side].arriving)

    def deliver(self, side: int, most: int = 1) -> list[m.AnyMessage]:
        """What arrives next is carried out: a message, or of one frame `most` messages together; gives them."""
        end = self.ends[side]
        if not end.heard and end.arriving:
            end.heard.extend(end.session.receive(end.arriving.popleft(), 0))
        messages = [end.heard.popleft() for _ in range(min(most, len(end.heard)))]
        for breath in breaths(messages):
            if isinstance(breath[0], m.Close):
                raise Ended(breath[0].code, breath[0].reason)
            if isinstance(breath[0], m.Hello) and side == 0:
                self.say(0, end.hello)
            self.say(side, *end.exchange.hear(breath))
        return messages

    def speak(self, side: int) -> bool:
        """Whether this side had anything to say of itself."""
        end = self.ends[side]
        if not end.session.greeted:
            return False
        messages = end.exchange.more()
        self.say(side, *messages)
        return bool(messages)

    def hearsay(self, side: int) -> None:
        if self.ends[side].session.greeted:
            self.say(side, *self.ends[side].exchange.hearsay())

    def cut(self, dead: Device | None = None) -> None:
        """Nothing more arrives. A side whose device is dead does not even notice."""
        with contextlib.ExitStack() as ends:
            for end in self.ends:
                if end.device is dead:  # its stores are closed; its snapshots have to go as well
                    ends.callback(_suppressing, end.exchange.close)
                else:
                    ends.callback(end.exchange.close)


def _suppressing(close: Callable[[], None]) -> None:
    with contextlib.suppress(apsw.Error, Problem):
        close()
