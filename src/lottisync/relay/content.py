"""What messages in a relay say (docs/specs/19-relay.md, section 2).

A *segment* is a round of one store, recorded for a reader who is not there. A connection knows what its peer has; a
segment says it instead: its *base* is what a reader must have to take it. Knowledge, rows and chains are those of a
round, in the messages of one (`lottisync.protocol.message`).
"""

from typing import Annotated, TypeVar

import msgspec

from lottisync.protocol import message as m
from lottisync.relay.epoch import MAX_EPOCHS, Epoch
from lottisync.relay.header import EPOCH_BYTES, HASH_BYTES, LANE_BYTES, BadMessage

MAX_STORES = 64
"""Stores of one device. A person's own programs make a handful."""
MAX_MEMBERS = 256
"""Devices of one person that keys are wrapped for."""
MAX_LANES = 4_096
"""Lanes that a state names: eight of every device."""
MAX_REFUSED = 64
"""Messages that a state says its device has refused."""
MAX_RECORDS = 4_096
"""Membership records that travel with keys."""
MAX_FRAMES = 16_384
"""Frames of a store in a snapshot: 5 GiB."""

EpochId = Annotated[bytes, msgspec.Meta(min_length=EPOCH_BYTES, max_length=EPOCH_BYTES)]
LaneId = Annotated[bytes, msgspec.Meta(min_length=LANE_BYTES, max_length=LANE_BYTES)]
MessageHash = Annotated[bytes, msgspec.Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
ChannelName = Annotated[str, msgspec.Meta(pattern=r"\A(log|keys|state|snap\.[1-9][0-9]{0,15})\Z")]
Held = Annotated[list[tuple[m.HostName, m.Counter, m.EntityId]], msgspec.Meta(max_length=m.MAX_HELD)]
Nodes = Annotated[list[m.ChainValue], msgspec.Meta(max_length=m.MAX_FORKS)]
Part = m.Chain | m.Batch | m.Keys


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A struct that is encoded as an array of exactly these fields."""


class Extent(_Content, frozen=True):
    """What a segment says of its store. A reader that takes the segment has `knowledge` afterwards. To take it, a
    reader has to know `base` of the hosts in `knowledge`, and to hold the chains of all hosts in `base` up to there.
    `rest` is what its sender knew beside that, `forgotten` all that it had forgotten, and `held` the dots that it held
    beyond its knowledge. `values` are the values of the chains at `knowledge`: by the counters alone, a copy's writes
    would look as if they were here. A `whole` segment has an empty base and is of everything."""

    store: m.StoreName
    base: m.Known
    knowledge: m.Known
    rest: m.Known
    forgotten: m.Known
    held: Held
    values: dict[m.HostName, m.ChainValue]
    nodes: Nodes
    whole: bool
    count: Annotated[int, msgspec.Meta(ge=0)]


class Segment(_Content, frozen=True):
    extent: Extent
    parts: list[Part]


class Ahead(_Content, frozen=True):
    """What the sender knew of a store that has no segment, under these fork nodes."""

    store: m.StoreName
    knowledge: m.Known
    nodes: Nodes


class Envelope(_Content, frozen=True):
    """Segments in the order of delivery. `ahead` are the other stores: a later store was read together with them."""

    segments: Annotated[list[Segment], msgspec.Meta(max_length=MAX_STORES)]
    ahead: Annotated[list[Ahead], msgspec.Meta(max_length=MAX_STORES)]


class Recorded(_Content, frozen=True):
    """A store in a snapshot: its frames follow those of the stores before it."""

    extent: Extent
    frames: Annotated[list[m.Hash], msgspec.Meta(max_length=MAX_FRAMES)]


class Manifest(_Content, frozen=True):
    """A snapshot, in the order of delivery: whole segments whose parts are in frames. `at` is the maker's clock (ms),
    `size` the bytes of all frames."""

    snapshot: m.Counter
    size: Annotated[int, msgspec.Meta(ge=0)]
    at: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
    stores: Annotated[list[Recorded], msgspec.Meta(max_length=MAX_STORES)]


class Frame(_Content, frozen=True):
    parts: list[Part]


class StoreState(_Content, frozen=True):
    """A store, as its device says that it is now."""

    knowledge: m.Known
    forgotten: m.Known
    nodes: Nodes
    summary: m.Summary


class State(_Content, frozen=True):
    """The last word of a lane about its device. `heads` is the last message of each log that it has seen;
    `refused` are messages that it could not use when it looked last; `at` its clock (ms)."""

    at: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
    stores: Annotated[dict[m.StoreName, StoreState], msgspec.Meta(max_length=MAX_STORES)]
    heads: Annotated[list[tuple[LaneId, m.Counter, MessageHash]], msgspec.Meta(max_length=MAX_LANES)]
    refused: Annotated[list[tuple[LaneId, ChannelName, m.Counter]], msgspec.Meta(max_length=MAX_REFUSED)]


class OpenState(_Content, frozen=True):
    """The part of a state that is in the clear: the epochs that its device holds."""

    epochs: Annotated[list[EpochId], msgspec.Meta(max_length=MAX_EPOCHS)]


class Wraps(_Content, frozen=True):
    """A keys message: the same key, sealed to each of several devices, and the keyring that is sealed under it, once
    for all. Nothing says which wrap is whose."""

    wraps: Annotated[list[bytes], msgspec.Meta(max_length=MAX_MEMBERS)]
    keyring: bytes


class Keyring(_Content, frozen=True):
    """What is sealed for all: epochs, and the membership records that its sender knows, as the fields of their
    documents. A key never travels without the revocations that it was made after."""

    epochs: Annotated[list[Epoch], msgspec.Meta(max_length=MAX_EPOCHS)]
    records: Annotated[list[dict[str, str | int]], msgspec.Meta(max_length=MAX_RECORDS)]


T = TypeVar("T", Envelope, Manifest, Frame, State, OpenState, Wraps, Keyring)

_encoder = msgspec.msgpack.Encoder(order="deterministic")


def open_part_of(state: bytes) -> bytes:
    """The part of a state in the clear, ahead of the ciphertext: a length, and the epochs."""
    return state[: 4 + int.from_bytes(state[:4], "big")]


def encode(content: _Content) -> bytes:
    return _encoder.encode(content)


def decode(body: bytes, kind: type[T]) -> T:
    """Raises `BadMessage` for bytes that are not such content."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise BadMessage(
            "a member has sealed bytes that are not of the kind {kind}: {error}",
            kind=kind.__name__.lower(),
            error=error,
        ) from None
