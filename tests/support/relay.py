"""A relay in memory that tells the truth or lies, and devices that visit it."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

from tests.support.household import Member, household

from lottisync.identity.roster import Roster
from lottisync.relay.event import Event
from lottisync.relay.header import Kind, Name, parts_of
from lottisync.relay.participant import Participant
from lottisync.relay.recording import PART_BYTES

SPACE = bytes(range(16))
View = dict[Name, bytes]


class Relay:
    """Keeps messages under their names, in the order in which they came, as a stream does."""

    def __init__(self) -> None:
        self.messages: View = {}
        self.everything: list[bytes] = []
        """All that was ever put there."""
        self.earlier: list[View] = []
        self._places: dict[tuple[Name, bytes], int] = {}

    def put(self, name: Name, data: bytes) -> bool:
        """Whether it lies there now: under its name there may be another one."""
        self.everything.append(data)
        if name not in self.messages:
            self._places[name, data] = len(self.everything)
        return self.messages.setdefault(name, data) == data

    def places(self, shown: View) -> dict[Name, int]:
        """What a server numbers its messages by. A relay that lies about a message does not say that it is another one:
        then it has the number that it should have."""
        true = {name: self._places[name, data] for name, data in self.messages.items() if (name, data) in self._places}
        return {name: self._places.get((name, data), true.get(name, 0)) for name, data in shown.items()}

    def delete(self, lane: bytes, channel: str, below: int) -> None:
        self.messages = {
            name: data
            for name, data in self.messages.items()
            if not (name.lane == lane and name.channel == channel and name.number < below)
        }

    def remember(self) -> None:
        """Keep what lies here now, to show it again later."""
        self.earlier = [*self.earlier[-3:], dict(self.messages)]

    @property
    def size(self) -> int:
        return sum(len(data) for data in self.messages.values())


def chance(seed: int) -> Callable[[int], bytes]:
    """Random bytes that are the same in every run."""
    return random.Random(seed).randbytes


class Visitor:
    """A device with a program that visits a relay from time to time."""

    def __init__(self, member: Member, relay: Relay, seed: int = 0) -> None:
        self.member, self.relay = member, relay
        self._chance = chance(1000 * member.number + seed)
        self.events: list[Event] = []
        self.start()

    def start(self, space: bytes = SPACE) -> None:
        """Start the program again. What it had not written down is lost."""
        self._looked = False
        self._places: dict[Name, int] = {}
        self.participant = Participant(self.member, space, self._chance, self.member.now)

    def roster(self) -> Roster:
        """The devices of the person as this one knows them now."""
        self.participant.circle.load()
        return self.participant.circle.roster

    def read(self, view: View | None = None, most: int = 1_000) -> None:
        """Look at what is shown, and read what is new of it."""
        shown = self.relay.messages if view is None else view
        self._looked = True
        places = self.relay.places(shown)
        replaced = {name for name, place in places.items() if self._places.get(name, place) != place}
        self._places = places
        self.participant.show(list(shown), self.member.now, replaced=replaced)
        for _ in range(most):
            name = self.participant.wanted()
            if name is None:
                break
            self.participant.receive(name, shown.get(name), self.member.now)
        else:
            raise AssertionError("it reads without end")
        self.events += self.participant.events()

    def publish(self, *, leaving: bool = False, acknowledged: bool = True, most: int = 1_000) -> int:
        """Publish what is new. Returns how many messages that was."""
        if not self._looked:
            self.read()
        for count in range(most):
            publication = self.participant.publish(self.member.now, leaving=leaving)
            if publication is None:
                return count
            stored = self.relay.put(*publication)
            self._places |= self.relay.places({publication.name: publication.data})
            if not acknowledged:
                return count + 1
            if not stored:
                return count
            self.participant.acknowledged(publication.name, self.member.now)
        if most == 1_000:
            raise AssertionError("it publishes without end")
        return most

    def clean(self) -> None:
        for purge in self.participant.purges(self.member.now):
            self.relay.delete(*purge)
            self.participant.purged(purge)

    def visit(self, *, leaving: bool = True) -> None:
        """Come, read, publish, clean up, go."""
        self.read()
        self.publish(leaving=leaving)
        self.clean()

    def happened(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


def visitors(folder: Path, count: int = 2) -> tuple[Relay, list[Visitor]]:
    """Devices that were paired, each with the records of all (as pairing brings them), and an empty relay."""
    members = household(folder, count)
    relay = Relay()
    found = [Visitor(member, relay) for member in members]
    introduce(*members)
    return relay, found


def introduce(*members: Member) -> None:
    """What pairing does with `space`: each gets what the others have."""
    from tests.support import rounds

    for _ in range(2):
        for one in members:
            for other in members:
                if one is not other:
                    rounds.pull(one, other, one.now, ["space"])


def digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def logs(relay: Relay, kind: Kind = Kind.ENVELOPE) -> list[Name]:
    return [name for name, data in relay.messages.items() if parts_of(data).header.kind is kind]


def large(visitor: Visitor, count: int = 5) -> None:
    """More than one message holds."""
    for number in range(count):
        visitor.member.put(f"large{number}", "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4)))


def settle(*several: Visitor, times: int = 3) -> None:
    for _ in range(times):
        for each in several:
            each.member.now += 60_000
            each.visit()
