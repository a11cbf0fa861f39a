"""What two devices say to each other (docs/specs/07-sync.md, section 3).

A message is a tagged msgpack array; a frame carries some of them, in the order in which they are meant. Both
sides may say everything: each is at once the one who has something (S) and the one who lacks something (R). A
*round* moves one store's versions from S to R:

    Begin Chain* Batch* Keys* End      or, if S has to stop, Abort in place of any of them

R takes over S's knowledge at `End` and never earlier.
"""

from typing import Annotated

import msgspec

from lottisync.causality.chain import VALUE_BYTES
from lottisync.causality.hlc import MAX_MILLIS
from lottisync.causality.vector_clock import MAX_COUNTER, Host
from lottisync.entities.version import Version
from lottisync.problem import Invalid
from lottisync.protocol.framing import PLAIN

PROTOCOL_VERSION = 1

MAX_TEXT = 500
"""Characters of a reason in `Close` and `Reject`: a sentence for a log, not a document."""
MAX_HELD = 8_000
"""Dots beyond its knowledge that R lists in a `Want`, so that it fits a frame. Leaving some out is
correct (they are sent once more), and a round that leaves more than that behind was cut off late."""
HELD_BYTES = 768 * 1024
"""What the lists of all stores in one `Want` may have together: the rest of the frame is the knowledge's."""
MAX_BATCH = 1_000
"""Versions in a batch; frames of about a thousand records compress and commit well, larger ones gain nothing."""
MAX_VALUES = 16_384
"""Values of a host's chain in one message: 256 KiB."""
MAX_KEYS = 32_768
"""Keys of entities in one message: 256 KiB."""
MAX_ASKED = 64
"""Counters of a chain that are asked for at once: a log of a million values is searched in four questions."""
MAX_FORKS = 1_000
"""Fork nodes of a store. Each is a device that was copied or restored once."""
MAX_FAILING = 32
"""Stores that one `Want` says are left out."""
MAX_NODES = 128
"""Nodes of a range comparison in one message, each of 32 fingerprints."""
FIRST_CREDIT = 8
"""Batches that each side may send before it was granted any: they hide a round trip, and are all that the
other one has to have room for."""
MAX_CREDIT = 1_024
"""The most credit that a side may have at one time."""


HostName = Annotated[Host, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]
Counter = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNTER)]
Position = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNTER)]
"""A counter, or 0 for "before the first"."""
Known = dict[HostName, Counter]
EntityId = Annotated[str, msgspec.Meta(max_length=128)]
Hash = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Half = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
"""The first half of a hash, where an attacker gains nothing by a second value with the same half."""
ChainValue = Annotated[bytes, msgspec.Meta(min_length=VALUE_BYTES, max_length=VALUE_BYTES)]
"""A value of a chain."""
StoreName = Annotated[str, msgspec.Meta(max_length=32)]
Boot = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
DeviceId = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What all messages have in common: the tag that comes first in the array."""


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """A store in 48 bytes: the hash of its knowledge with its chains, and its digest."""

    known: Half
    digest: Hash


class Log(msgspec.Struct, frozen=True, array_like=True):
    """How far R is with one host: the knowledge, and the end of the chain that it holds with the value there."""

    counter: Position
    end: Position
    value: ChainValue


class Have(msgspec.Struct, frozen=True, array_like=True):
    """What R has of one store: every host, `(host, counter, entity)` held beyond its knowledge, the fork nodes
    that it has heard of, and what it has forgotten."""

    summary: Summary
    hosts: dict[HostName, Log]
    held: Annotated[list[tuple[HostName, Counter, EntityId]], msgspec.Meta(max_length=MAX_HELD)] = []
    nodes: Annotated[list[ChainValue], msgspec.Meta(max_length=MAX_FORKS)] = []
    forgotten: Known = {}


class Hello(Message, frozen=True, tag="hello"):
    """The first message of each side, the acceptor's first. `state` is the hash of all stores' summaries, `gossip`
    of what it has heard that other devices know. `boot` differs for every start of a program: the same device
    with two of them at once is a copy. `encodings` are those of frames that it can read and write; what both
    can is used from then on."""

    version: int
    device: Hash
    boot: Boot
    state: Half
    gossip: Annotated[bytes, msgspec.Meta(min_length=8, max_length=8)]
    encodings: Annotated[tuple[int, ...], msgspec.Meta(max_length=16)] = (PLAIN,)


class Want(Message, frozen=True, tag="want"):
    """R asks for everything it lacks of these stores, and says what it has. `failing` are stores that R has, too, and
    leaves out, because it cannot use their files now."""

    stores: dict[StoreName, Have]
    failing: Annotated[list[StoreName], msgspec.Meta(max_length=MAX_FAILING)] = []


class Probe(Message, frozen=True, tag="probe"):
    """Two chains of one host differ: what are the peer's values at these counters?"""

    store: StoreName
    host: HostName
    counters: Annotated[list[Counter], msgspec.Meta(min_length=1, max_length=MAX_ASKED)]


class Probed(Message, frozen=True, tag="probed"):
    """The answer: counter -> value, as far as they are there."""

    store: StoreName
    host: HostName
    values: Annotated[dict[Counter, ChainValue], msgspec.Meta(max_length=MAX_ASKED)]


class Begin(Message, frozen=True, tag="begin"):
    """S starts a round of one store. At its end R has S's `knowledge` and has forgotten what S has; both hold only
    what S believes to be news to R, or all of it when R is `behind` (has not seen all that S has forgotten).
    `count` is how many versions will come."""

    round: int
    store: StoreName
    knowledge: Known
    forgotten: Known
    behind: bool
    count: Annotated[int, msgspec.Meta(ge=0)]


class Chain(Message, frozen=True, tag="chain"):
    """Some values of one host's chain, from counter `first` on: `before` is the value ahead of them, `values` 16 bytes
    for each. `parent` is the host that this one was branched off, "" for a host that was minted."""

    round: int
    number: int
    host: HostName
    parent: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{16})?\Z")]
    first: Counter
    before: ChainValue
    values: Annotated[bytes, msgspec.Meta(min_length=VALUE_BYTES, max_length=MAX_VALUES * VALUE_BYTES)]


class Batch(Message, frozen=True, tag="batch"):
    """Some versions of the running round; `number` counts its frames from 0, those of chains and keys with them."""

    round: int
    number: int
    versions: list[Version]


class Keys(Message, frozen=True, tag="keys"):
    """For an R that is behind: the keys, 8 bytes each and sorted, of some of the entities that S holds."""

    round: int
    number: int
    keys: Annotated[bytes, msgspec.Meta(max_length=MAX_KEYS * 8)]


class End(Message, frozen=True, tag="end"):
    """All of the round was sent. `summary` is S's store at the moment of the round, so that R can check
    itself against it: equal knowledge must mean an equal digest."""

    round: int
    summary: Summary


class Abort(Message, frozen=True, tag="abort"):
    """S gives the running round up; what arrived is kept and its knowledge is not."""

    round: int


class Ack(Message, frozen=True, tag="ack"):
    """R has durably taken a round. `knowledge` is what R knows beyond that of the round."""

    round: int
    store: StoreName
    knowledge: Known
    summary: Summary


class Reject(Message, frozen=True, tag="reject"):
    """R cannot take the running round: the round was computed from what R had earlier, or will have later."""

    round: int
    store: StoreName
    reason: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class Gossip(Message, frozen=True, tag="gossip"):
    """What this device has heard that devices know, itself included: store -> device -> knowledge."""

    stores: dict[StoreName, dict[DeviceId, Known]]


class DuplicateKey(Message, frozen=True, tag="duplicate-key"):
    """Another program, started as `boot`, has greeted with the key of the device that this is said to, while this
    connection lives: the device runs twice (docs/specs/13-copies.md, section 6)."""

    boot: Boot


class TreeNode(msgspec.Struct, frozen=True, array_like=True):
    """A node in the tree of a range comparison: the digits (0 to 31) on the way to it, and either the fingerprints
    of its 32 children or, when it holds few entities, what they are: (id, first 8 bytes of its hash)."""

    prefix: Annotated[bytes, msgspec.Meta(max_length=12)]
    children: Annotated[list[ChainValue], msgspec.Meta(max_length=32)] | None = None
    items: Annotated[list[tuple[EntityId, bytes]], msgspec.Meta(max_length=1_000)] | None = None


class Compare(Message, frozen=True, tag="compare"):
    """One step of a range comparison between stores whose summaries say the same `known`."""

    store: StoreName
    known: Half
    tree_nodes: Annotated[list[TreeNode], msgspec.Meta(max_length=MAX_NODES)]


class Mend(Message, frozen=True, tag="mend"):
    """Versions that differ although both sides know the same, and the ids of those that are wanted in return."""

    store: StoreName
    versions: list[Version]
    wanted: Annotated[list[EntityId], msgspec.Meta(max_length=MAX_BATCH)]


class Mended(Message, frozen=True, tag="mended"):
    """A comparison has ended here, with so many entities changed, or because the two no longer know the same. If this
    device refuses it, `refused` says why; else it is empty."""

    store: StoreName
    changed: Annotated[int, msgspec.Meta(ge=0)]
    summary: Summary
    refused: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class Credit(Message, frozen=True, tag="credit"):
    """R has taken frames of a round and has room for so many more, beside those that it granted before."""

    batches: Annotated[int, msgspec.Meta(ge=1, le=MAX_CREDIT)]


class Ping(Message, frozen=True, tag="ping"):
    """A heartbeat. `clock` is what the sender's wall clock says (ms since 1970), so that each side can tell the person
    when the two clocks differ; 0 if the sender does not say."""

    number: int
    clock: Annotated[int, msgspec.Meta(ge=0, le=MAX_MILLIS)] = 0


class Pong(Message, frozen=True, tag="pong"):
    number: int


class Close(Message, frozen=True, tag="close"):
    """The last word, with a machine's code and a person's sentence."""

    code: Annotated[str, msgspec.Meta(max_length=64)]
    reason: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


AnyMessage = (
    Hello | Want | Probe | Probed | Begin | Chain | Batch | Keys | End | Abort | Ack | Reject | Gossip
    | DuplicateKey | Compare | Mend | Mended | Credit | Ping | Pong | Close
)  # fmt: skip
Large = (Chain, Batch, Keys, Mend)
"""What costs a credit."""

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[list[AnyMessage]] = msgspec.msgpack.Decoder(list[AnyMessage])


class MalformedMessage(Invalid):
    """Bytes that are not messages; the one boundary that translates what a decoder may raise (SYNC-2)."""


def encode(*messages: Message) -> bytes:
    """The body of one frame."""
    return _encoder.encode(messages)


def decode(body: bytes | memoryview) -> list[AnyMessage]:
    """The messages of one frame, at least one."""
    try:
        messages = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise MalformedMessage("not messages: {error}", error=error) from None
    if not messages:
        raise MalformedMessage("a frame without a message")
    return messages
