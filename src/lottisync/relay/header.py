"""The header of a message in a relay: 114 bytes in the clear, signed (docs/specs/19-relay.md, section 3).

    version(1) kind(1) space(16) lane(8) number(8) hash before(32) epoch(16) incarnation(16) salt(16)

    message = header, signature(64), open part, ciphertext
    signed  = "lottisync/relay-envelope/1" NUL header SHA-256(open part, ciphertext)
    hash    = SHA-256(header, signature)

The messages of one *channel* of a lane are numbered from 1, and each names the hash of the one before it. So nobody can
leave one out, repeat it, or put another in its place, and a reader who sees the end of a channel knows what it lacks.
"""

import hashlib
import struct
from enum import IntEnum
from typing import NamedTuple

from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.problem import Invalid

VERSION = 1
HEADER_BYTES = 114
SIGNATURE_BYTES = 64
SPACE_BYTES = EPOCH_BYTES = INCARNATION_BYTES = SALT_BYTES = 16
LANE_BYTES = 8
HASH_BYTES = 32
LABEL = b"lottisync/relay-envelope/1\x00"
MAX_MESSAGE = 1024 * 1024 - 1024
"""Bytes of a message: what a NATS server takes in its default settings, less its own headers. A document of the largest
size fits."""
FIRST = bytes(HASH_BYTES)
"""The hash before the first message of a channel."""
NO_EPOCH = bytes(EPOCH_BYTES)
"""In the header of a message whose body is not sealed."""

_FORMAT = struct.Struct(">BB16s8sQ32s16s16s16s")
assert _FORMAT.size == HEADER_BYTES


class BadMessage(Invalid):
    """Bytes that no device of this person has put there, or that it has put somewhere else."""


class Kind(IntEnum):
    ENVELOPE = 1
    MANIFEST = 2
    FRAME = 3
    STATE = 4
    KEYS = 5


CHANNEL = {Kind.ENVELOPE: "log", Kind.MANIFEST: "log", Kind.FRAME: "snap", Kind.STATE: "state", Kind.KEYS: "keys"}
"""The channel of each kind. The frames of each snapshot have a channel of their own: `snap.1`, `snap.2`, ..."""


class Name(NamedTuple):
    """Where a message lies. The relay says so; the message's header has to say the same."""

    lane: bytes
    channel: str
    number: int


class Header(NamedTuple):
    kind: Kind
    space: bytes
    lane: bytes
    number: int
    before: bytes
    epoch: bytes
    incarnation: bytes
    salt: bytes

    def packed(self) -> bytes:
        return _FORMAT.pack(VERSION, *self)


class Parts(NamedTuple):
    """A message taken apart. `rest` is the open part and the ciphertext."""

    header: Header
    signature: bytes
    rest: bytes

    @property
    def signed(self) -> bytes:
        return signed_bytes(self.header, self.rest)

    @property
    def hash(self) -> bytes:
        return hash_of(self.header, self.signature)

    def whole(self) -> bytes:
        return self.header.packed() + self.signature + self.rest


def signed_bytes(header: Header, rest: bytes) -> bytes:
    return LABEL + header.packed() + hashlib.sha256(rest).digest()


def hash_of(header: Header, signature: bytes) -> bytes:
    return hashlib.sha256(header.packed() + signature).digest()


def parts_of(data: bytes) -> Parts:
    """Take a message apart; nothing of it is believed yet. Raises `BadMessage`."""
    if not HEADER_BYTES + SIGNATURE_BYTES <= len(data) <= MAX_MESSAGE:
        raise BadMessage(
            "a message has {least} to {limit} bytes; got {size}",
            least=HEADER_BYTES + SIGNATURE_BYTES,
            limit=MAX_MESSAGE,
            size=len(data),
        )
    version, kind, space, lane, number, *others = _FORMAT.unpack_from(data)
    if version != VERSION:
        raise BadMessage("a message of version {version}; this device knows {own}", version=version, own=VERSION)
    if kind not in [*map(int, Kind)]:
        raise BadMessage("there is no kind {kind} of message", kind=kind)
    if not 1 <= number <= MAX_COUNTER:
        raise BadMessage("a message is numbered from 1 to {limit}; got {number}", limit=MAX_COUNTER, number=number)
    at = HEADER_BYTES + SIGNATURE_BYTES
    return Parts(Header(Kind(kind), space, lane, number, *others), data[HEADER_BYTES:at], data[at:])


def refuse_misplaced(header: Header, space: bytes, name: Name) -> None:
    """Raise `BadMessage` unless the message lies where it was put (RELAY-3)."""
    there = CHANNEL[header.kind], header.space, header.lane, header.number
    if there != (name.channel.partition(".")[0], space, name.lane, name.number):
        raise BadMessage(
            "{channel} {number} of lane {lane} was put there by the relay",
            channel=name.channel,
            number=name.number,
            lane=name.lane.hex(),
        )
