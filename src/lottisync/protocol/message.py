"""What two devices say to each other (docs/specs/07-sync.md, section 3).

A message is a tagged msgpack array; a frame carries one. Both sides may say everything: each is at
once the one who has something (S) and the one who lacks something (R). A *round* moves one store's
versions from S to R:

    Begin Batch* End      or, if S has to stop,      Begin Batch* Cut

R takes over S's knowledge at `End` and never earlier.
"""

from typing import Annotated

import msgspec

from lottisync.causality.vector_clock import MAX_COUNTER, Host
from lottisync.entities.version import Version
from lottisync.protocol.framing import PLAIN

PROTOCOL_VERSION = 1

MAX_TEXT = 500
"""Characters of a reason in `Close` and `Refuse`: a sentence for a log, not a document."""
MAX_HELD = 8_000
"""Dots beyond its knowledge that R lists in a `Want`, so that it fits a frame. Leaving some out is
correct (they are sent once more), and a round that leaves more than that behind was cut off late."""
HELD_BYTES = 768 * 1024
"""What the lists of all stores in one `Want` may have together: the rest of the frame is the knowledge's."""
MAX_BATCH = 1_000
"""Versions in a batch; frames of about a thousand records compress and commit well, larger ones gain nothing."""
FIRST_CREDIT = 8
"""Batches that each side may send before it was granted any: they hide a round trip, and are all that the
other one has to have room for."""
MAX_CREDIT = 1_024
"""More than that nobody may have been granted at one time: a count, not a number that grows without end."""


HostName = Annotated[Host, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]
Counter = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNTER)]
Known = dict[HostName, Counter]
EntityId = Annotated[str, msgspec.Meta(max_length=128)]
Hash = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
StoreName = Annotated[str, msgspec.Meta(max_length=32)]


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What all messages have in common: the tag that comes first in the array."""


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """A store in 64 bytes: the hash of its knowledge and of what it holds beyond, and its digest."""

    known: Hash
    digest: Hash


class Have(msgspec.Struct, frozen=True, array_like=True):
    """What R has of one store: its knowledge, and `(host, counter, entity)` held beyond it."""

    knowledge: Known
    held: Annotated[list[tuple[HostName, Counter, EntityId]], msgspec.Meta(max_length=MAX_HELD)] = []


class Hello(Message, frozen=True, tag="hello"):
    """The first message of each side, the acceptor's first. `boot` differs for every start of a program:
    the same device with two of them at once is a copy. `encodings` are those of frames that it can read and
    write; what both can is used from then on."""

    version: int
    device: Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
    boot: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    stores: dict[StoreName, Summary]
    encodings: Annotated[tuple[int, ...], msgspec.Meta(max_length=16)] = (PLAIN,)


class Want(Message, frozen=True, tag="want"):
    """R asks for everything it lacks, and says what it has."""

    stores: dict[StoreName, Have]


class Begin(Message, frozen=True, tag="begin"):
    """S starts a round of one store: computed from R's knowledge `base`, at the end of which R has S's
    `knowledge`. `count` is how many versions will come, for a progress bar."""

    round: int
    store: StoreName
    base: Known
    knowledge: Known
    count: int


class Batch(Message, frozen=True, tag="batch"):
    """Some versions of the running round; `number` counts from 0."""

    round: int
    number: int
    versions: list[Version]


class End(Message, frozen=True, tag="end"):
    """All of the round was sent. `summary` is S's store at the moment of the round, so that R can check
    itself against it: equal knowledge must mean an equal digest."""

    round: int
    summary: Summary


class Cut(Message, frozen=True, tag="cut"):
    """S gives the running round up; what arrived is kept and its knowledge is not."""

    round: int


class Told(Message, frozen=True, tag="told"):
    """R has durably taken a round, and says what it knows of that store now."""

    round: int
    store: StoreName
    knowledge: Known
    summary: Summary


class Refuse(Message, frozen=True, tag="refuse"):
    """R cannot take the running round (its knowledge is no longer what the round was computed from)."""

    round: int
    reason: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class Credit(Message, frozen=True, tag="credit"):
    """R has taken batches and has room for so many more, beside those that it granted before."""

    batches: Annotated[int, msgspec.Meta(ge=1, le=MAX_CREDIT)]


class Ping(Message, frozen=True, tag="ping"):
    number: int


class Pong(Message, frozen=True, tag="pong"):
    number: int


class Close(Message, frozen=True, tag="close"):
    """The last word, with a machine's code and a person's sentence."""

    code: Annotated[str, msgspec.Meta(max_length=64)]
    reason: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


AnyMessage = Hello | Want | Begin | Batch | End | Cut | Told | Refuse | Credit | Ping | Pong | Close

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


class MalformedMessage(ValueError):
    """Bytes that are no message; the one boundary that translates what a decoder may raise (SYNC-2)."""


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(body: bytes | memoryview) -> AnyMessage:
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise MalformedMessage(f"not a message: {error}") from None
