"""The lane in which this device publishes (docs/specs/19-relay.md, sections 3 and 7).

A message gets its number, is signed and written down, and only then it is sent: no number is ever used for two
messages (RELAY-16). A message of the log is also kept until the relay has acknowledged it, and is sent again with the
same bytes.
"""

from typing import NamedTuple

from lottisync.device.device import Device
from lottisync.problem import Problem
from lottisync.relay import ledger
from lottisync.relay.board import BoardEntry
from lottisync.relay.epoch import Epoch
from lottisync.relay.header import (
    CHANNEL,
    LANE_BYTES,
    NO_EPOCH,
    SALT_BYTES,
    Header,
    Kind,
    Name,
    hash_of,
    parts_of,
    signed_bytes,
)
from lottisync.relay.keyring import Chance
from lottisync.relay.seal import sealed


class Moved(Exception):
    """Another program has published in a channel of this device: look again."""


def taken() -> Problem:
    """The problem that another client publishes in a channel of this device, and does not stop."""
    return Problem(
        "relay-taken",
        "somebody puts other messages in the place of this device's next one at the relay. If it goes on, give the "
        "relay a new password",
    )


class Publication(NamedTuple):
    """A message to be put into the relay, unless it is there already."""

    name: Name
    data: bytes


class Lane:
    """`incarnation` (16 bytes) is in the header of every message."""

    def __init__(self, device: Device, space: bytes, incarnation: bytes, chance: Chance) -> None:
        self._device, self._space, self._incarnation, self._chance = device, space, incarnation, chance
        self._overtaken = False
        self._sent: dict[Name, BoardEntry] = {}

    @property
    def id(self) -> bytes:
        """8 bytes; empty if this device has never published."""
        with self._device.space.reading() as reader:
            return ledger.lane(reader) or b""

    def compare(self, name: Name, message_hash: bytes) -> None:
        """Compare a message that this device has signed with what it has written down. One of its lane that it does not
        know shows that it was restored from a backup, or runs twice."""
        with self._device.space.reading() as reader:
            own, end = ledger.lane(reader), ledger.end_of(reader, name.channel)
        if name.lane == own and (name.number > end[0] or (name.number == end[0] and message_hash != end[1])):
            self._overtaken = True

    def leave(self) -> None:
        """Go on in a new lane."""
        self._overtaken = True

    def begin(self, now: int) -> bool:
        """Begin a new lane if this device has none, or was restored, or runs twice (RELAY-21), or has to leave its own.
        True if it did."""
        if self.id and not self._overtaken:
            return False
        self._overtaken = False
        with self._device.space.transaction(now, None) as tx:
            ledger.begin_lane(tx, self._chance(LANE_BYTES))
        return True

    def last(self, channel: str) -> int:
        """The number of the last message of a channel; 0 if it has none."""
        with self._device.space.reading() as reader:
            return ledger.end_of(reader, channel)[0]

    # -- a message

    def sealed(self, kind: Kind, channel: str, epoch: Epoch | None, body: bytes, open_part: bytes = b"") -> Publication:
        """The next message of a channel, not yet written down. Without an epoch its body stays in the clear."""
        with self._device.space.reading() as reader:
            number, before = ledger.end_of(reader, channel)
        return self.sealed_as(kind, Name(self.id, channel, number + 1), before, epoch, body, open_part)

    def sealed_as(
        self, kind: Kind, name: Name, before: bytes, epoch: Epoch | None, body: bytes, open_part: bytes = b""
    ) -> Publication:
        """The message with this name. `before` is the hash of the message before it."""
        header = Header(
            kind, self._space, name.lane, name.number, before, epoch.id if epoch else NO_EPOCH, self._incarnation,
            self._chance(SALT_BYTES),
        )  # fmt: skip
        rest = open_part + (sealed(epoch.key, header, body, open_part) if epoch is not None else body)
        signature = self._device.key.sign(signed_bytes(header, rest))
        assert CHANNEL[kind] == name.channel.partition(".")[0]
        return Publication(name, header.packed() + signature + rest)

    def written_down(self, publication: Publication, now: int, *, kept: bool = False) -> Publication:
        """Write down its number and hash before it is sent. `kept`: also its bytes, until it is acknowledged."""
        parts = parts_of(publication.data)
        head = publication.name.number, hash_of(parts.header, parts.signature)
        with self._device.space.transaction(now, None) as tx:
            ledger.advance(tx, publication.name.lane, publication.name.channel, head)
            if kept:
                ledger.queue(tx, publication.name.number, publication.data)
        return publication

    def logged(self, publication: Publication, entry: BoardEntry, now: int) -> Publication:
        """Write down a message of the log. `entry` is what the board says of it when it is acknowledged."""
        self._sent[publication.name] = entry
        return self.written_down(publication, now, kept=True)

    # -- what became of it

    def unacknowledged(self) -> Publication | None:
        """The message of the log that may have been sent."""
        with self._device.space.reading() as reader:
            waiting = ledger.unacknowledged(reader)
        return Publication(Name(self.id, "log", waiting[0]), waiting[1]) if waiting is not None else None

    def acknowledged(self, name: Name, now: int) -> BoardEntry | None:
        """Note that the relay holds this message. Gives its entry for the board, if this program has made it."""
        with self._device.space.reading() as reader:
            waiting = ledger.unacknowledged(reader)
        if name.channel == "log" and waiting is not None and waiting[0] == name.number:
            with self._device.space.transaction(now, None) as tx:
                ledger.acknowledge(tx, name.number)
        return self._sent.pop(name, None)
