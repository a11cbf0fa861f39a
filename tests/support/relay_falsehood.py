"""What a paired device that lies may say at a relay: well formed, sealed and signed, and not true. And what a stranger
may forge."""

import random
from collections.abc import Callable
from typing import NamedTuple

from tests.support.household import Member
from tests.support.relay import SPACE, Visitor

from lottisync.causality.chain import VALUE_BYTES
from lottisync.identity.device_key import DeviceKey
from lottisync.relay import content
from lottisync.relay.box import wrap_context, wrap_info, wrapped
from lottisync.relay.epoch import KEY_BYTES, Epoch
from lottisync.relay.header import CHANNEL, EPOCH_BYTES, FIRST, HASH_BYTES, Kind, Name, parts_of, signed_bytes
from lottisync.relay.lane import Publication
from lottisync.relay.seal import sealed_once
from lottisync.sync.local_state import LocalState

STRANGER = DeviceKey.from_seed(b"a stranger's key of thirty-two b")
MORE = 1_000
"""Writes that nobody has made."""


class Said(NamedTuple):
    body: bytes
    open_part: bytes = b""


Liar = Callable[[Visitor, Name, random.Random], Said]


def _boast(visitor: Visitor, name: Name, chance: random.Random) -> Said:
    """It knows writes that nobody has made, has seen logs that go on for ever, has refused what others
    said, and holds an epoch that does not exist."""
    stores = {}
    for store in visitor.member.stores:
        extent = _extent(visitor.member, store, whole=True)
        with visitor.member.stores[store].reading() as reader:
            summary = LocalState(reader).summary
        stores[store] = content.StoreState(extent.knowledge, extent.forgotten, extent.nodes, summary)
    heads = [(lane, 1_000_000, bytes(HASH_BYTES)) for lane in sorted({one.lane for one in visitor.relay.messages})]
    refused = [(one.lane, one.channel, one.number) for one in sorted(visitor.relay.messages)][: content.MAX_REFUSED]
    said = content.State(visitor.member.now, stores, heads, refused)
    held = content.encode(content.OpenState([chance.randbytes(EPOCH_BYTES)]))
    return Said(content.encode(said), len(held).to_bytes(4, "big") + held)


def _keys_for_one(visitor: Visitor, name: Name, chance: random.Random) -> Said:
    """An epoch that comes after all others, for one other member, without the records that it was made after."""
    circle = visitor.participant.circle
    others = [box for device, box in sorted(circle.boxes.items()) if device != visitor.member.id]
    one = Epoch(chance.randbytes(KEY_BYTES), 2**40 + chance.randrange(2**20), circle.revocations)
    public = chance.choice(others)
    key, context = chance.randbytes(KEY_BYTES), (SPACE, name.lane, name.number)
    keyring = sealed_once(key, wrap_context(*context), content.encode(content.Keyring([one], [])))
    return Said(content.encode(content.Wraps([wrapped(key, public, wrap_info(*context, public))], keyring)))


def _snapshot_of_nothing(visitor: Visitor, name: Name, chance: random.Random) -> Said:
    """A snapshot of which no frame was ever put there."""
    recorded = content.Recorded(_extent(visitor.member, "journal", whole=True), [chance.randbytes(HASH_BYTES)])
    return Said(content.encode(content.Manifest(99, 10, visitor.member.now, [recorded])))


def _empty_segment(visitor: Visitor, name: Name, chance: random.Random) -> Said:
    """A segment of writes that it does not bring."""
    segment = content.Segment(_extent(visitor.member, "journal", whole=False), [])
    return Said(content.encode(content.Envelope([segment], [])))


FALSEHOODS: dict[str, tuple[Kind, Liar]] = {
    "state": (Kind.STATE, _boast),
    "keys": (Kind.KEYS, _keys_for_one),
    "manifest": (Kind.MANIFEST, _snapshot_of_nothing),
    "envelope": (Kind.ENVELOPE, _empty_segment),
}


def falsehood(how: str, visitor: Visitor, chance: random.Random) -> Publication:
    """The next message of the liar's own lane."""
    kind, liar = FALSEHOODS[how]
    return sealed(visitor, kind, lambda name: liar(visitor, name, chance))


def sealed(visitor: Visitor, kind: Kind, say: Callable[[Name], Said]) -> Publication:
    """Sealed by a member in its own lane, behind all that lies there. It writes nothing down."""
    visitor.roster()
    lane, now = visitor.participant.publishing.lane, visitor.member.now
    lane.begin(now)
    channel = CHANNEL[kind] + (".99" if kind is Kind.FRAME else "")
    there = [one.number for one in visitor.relay.messages if (one.lane, one.channel) == (lane.id, channel)]
    name = Name(lane.id, channel, max(there, default=0) + 1)
    epoch = None if kind is Kind.KEYS else visitor.participant.keyring.sealing(now)
    return lane.sealed_as(kind, name, FIRST, epoch, *say(name))


def forged(data: bytes) -> bytes:
    """The message after this one, as a stranger would have it."""
    parts = parts_of(data)
    header = parts.header._replace(number=parts.header.number + 1, before=parts.hash)
    return header.packed() + STRANGER.sign(signed_bytes(header, parts.rest)) + parts.rest


def _extent(member: Member, store: str, *, whole: bool) -> content.Extent:
    """Of a segment with a thousand writes of each host more than there are."""
    with member.stores[store].reading() as reader:
        own = LocalState(reader)
        more = {host: counter + MORE for host, counter in own.knowledge.items()}
        base = {} if whole else dict(own.knowledge)
        values = {host: bytes(VALUE_BYTES) for host in more}
        return content.Extent(store, base, more, {}, own.forgotten, [], values, sorted(own.nodes), whole, 1)
