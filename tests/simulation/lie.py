"""The lies that a device may tell: each one changes a message on its way out, or several of one frame.

The liar is a real device of the person with real stores. Only what it says is changed, once for every `Lie` step. So
a device that hears it has every reason to believe it, and no reason to believe it twice. Some lies cannot be true:
they must be refused, or change nothing. Others cannot be distinguished from the truth, since a device may write what
it likes. They *harm* entities. Then the others must remain sound, and mend each other until they hold the same.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.chain import VALUE_BYTES, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import DELETED_AT
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store.forgetting import KEY_BYTES

STRANGER = Host("5742a26e5742a26e")
"""A host that belongs to no device."""
YEARS = 10 * 365 * 24 * 3_600_000
EVERYTHING = frozenset({"*"})
NOTHING: frozenset[str] = frozenset()


class Falsehood(NamedTuple):
    """The false messages, and the ids of the entities that they may harm."""

    said: list[m.Message]
    harms: frozenset[str] = NOTHING


Said = Sequence[m.Message]
Teller = Callable[[random.Random, list[m.Message]], Falsehood | None]


def falsified(how: str, chance: random.Random, said: Said) -> Falsehood | None:
    """The same messages with a lie among them; None where this one has no place."""
    return TELLERS[how](chance, list(said))


def _find(chance: random.Random, said: list[m.Message], *kinds: type[m.Message]) -> tuple[int, Any] | None:
    found = [(at, message) for at, message in enumerate(said) if isinstance(message, kinds)]
    return chance.choice(found) if found else None


def _put(said: list[m.Message], at: int, **changes: Any) -> list[m.Message]:
    return [*said[:at], msgspec.structs.replace(said[at], **changes), *said[at + 1 :]]


# -- about what it has


def _beyond(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims to know writes that nobody has made."""
    found = _find(chance, said, m.Begin)
    if found is None or not found[1].knowledge:
        return None
    host = chance.choice(sorted(found[1].knowledge))
    more = found[1].knowledge | {host: found[1].knowledge[host] + 1_000}
    return Falsehood(_put(said, found[0], knowledge=more))


def _wants_less(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims to know more of a host than it does, or a chain with another end. What it is not given for that, it
    will later pass on as known without having it."""
    found = _find(chance, said, m.Want)
    if found is None:
        return None
    at, want = found
    store = chance.choice(sorted(want.stores))
    have = want.stores[store]
    if not have.hosts:
        return None
    host = chance.choice(sorted(have.hosts))
    log, end = have.hosts[host], max(have.hosts[host].end + chance.choice((0, 1, 1_000)), 1)
    value = log.value if end == log.end and chance.random() < 0.5 else chance.randbytes(VALUE_BYTES)
    hosts = have.hosts | {host: m.Log(chance.choice((max(log.counter, log.end), log.counter)), end, value)}
    said = _put(said, at, stores=want.stores | {store: msgspec.structs.replace(have, hosts=hosts)})
    return Falsehood(said, EVERYTHING if hosts[host].counter > log.counter else NOTHING)


def _has_taken(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims to know more than the round gave it."""
    found = _find(chance, said, m.Ack)
    if found is None:
        return None
    known = {host: n + 1_000 for host, n in found[1].knowledge.items()}
    return Falsehood(_put(said, found[0], knowledge=known | {STRANGER: 7}))


def _gossip(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims that the others have seen everything, so that it is forgotten."""
    found = _find(chance, said, m.Gossip)
    if found is None:
        return None
    stores = {}
    for store, devices in found[1].stores.items():
        most: dict[Any, int] = {}
        for known in devices.values():
            most |= {host: max(n, most.get(host, 0)) for host, n in known.items()}
        stores[store] = dict.fromkeys(devices, most)
    return Falsehood(_put(said, found[0], stores=stores))


def _digest(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It names a wrong digest."""
    found = _find(chance, said, m.End, m.Ack, m.Mended)
    if found is None:
        return None
    false = msgspec.structs.replace(found[1].summary, digest=chance.randbytes(32))
    if chance.random() < 0.3:
        false = msgspec.structs.replace(false, known=chance.randbytes(16))
    return Falsehood(_put(said, found[0], summary=false))


def _state(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    found = _find(chance, said, m.Hello)
    return Falsehood(_put(said, found[0], state=chance.randbytes(16))) if found else None


# -- about chains


def _chain(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims that a host wrote something else, so all devices see a fork where there is none."""
    found = _find(chance, said, m.Chain)
    if found is None:
        return None
    at, values = found[0], bytearray(found[1].values)
    where = chance.randrange(len(values) // VALUE_BYTES) * VALUE_BYTES
    values[where : where + VALUE_BYTES] = chance.randbytes(VALUE_BYTES)
    return Falsehood(_put(said, at, values=bytes(values)))


def _probed(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    found = _find(chance, said, m.Probed)
    if found is None:
        return None
    return Falsehood(_put(said, found[0], values={n: chance.randbytes(VALUE_BYTES) for n in found[1].values}))


# -- about content


def _version(
    chance: random.Random, said: list[m.Message], alter: Callable[[random.Random, Version], Version | None]
) -> Falsehood | None:
    found = _find(chance, said, m.Batch, m.Mend)
    if found is None or not found[1].versions:
        return None
    number = chance.randrange(len(found[1].versions))
    versions = list(found[1].versions)
    false = alter(chance, versions[number])
    if false is None:
        return None
    versions[number] = false
    return Falsehood(_put(said, found[0], versions=versions), frozenset({false.id}))


def _other_value(chance: random.Random, made: Version) -> Version | None:
    document = msgspec.json.decode(made.document, type=dict[str, msgspec.Raw])
    paths = sorted(document.keys() - {DELETED_AT})
    if not paths:
        return None
    document[chance.choice(paths)] = msgspec.Raw(chance.choice((b'"a lie"', b'"~ a greater lie"')))
    return msgspec.structs.replace(made, document=_canonical(document))


def _false_clock(chance: random.Random, made: Version) -> Version | None:
    """One that covers too little, what nobody has written, or more than its author had seen."""
    clock = made.read_clock()
    host = chance.choice(sorted(clock))
    clock[host] += chance.choice((-1, 1, 2, 1_000))
    return msgspec.structs.replace(made, clock=_canonical({h: n for h, n in clock.items() if n}))


def _false_stamp(chance: random.Random, made: Version) -> Version | None:
    """Written ten years from now, or by a person where it was an agent."""
    base, *rest = msgspec.json.decode(made.stamps)
    if chance.random() < 0.7:
        base[1] += YEARS
    else:
        base[0] = 1 - base[0]
    return msgspec.structs.replace(made, stamps=_canonical([base, *rest]))


def _other_type(chance: random.Random, made: Version) -> Version | None:
    return msgspec.structs.replace(made, type="other")


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _withholds(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """A round that leaves a version out."""
    begun, found = _find(chance, said, m.Begin), _find(chance, said, m.Batch)
    if begun is None or found is None or len(found[1].versions) < 2 or begun[1].round != found[1].round:
        return None
    versions = list(found[1].versions)
    kept_back = versions.pop(chance.randrange(len(versions)))
    said = _put(_put(said, found[0], versions=versions), begun[0], count=begun[1].count - 1)
    return Falsehood(said, frozenset({kept_back.id}))


# -- about what was forgotten


def _forgets(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims to have forgotten what it holds, or what it never knew."""
    found = _find(chance, said, m.Begin)
    if found is None or not found[1].knowledge:
        return None
    at, begin = found
    more = chance.choice((0, 0, 1_000))
    forgotten = begin.forgotten | {host: n + more for host, n in begin.knowledge.items() if chance.random() < 0.7}
    return Falsehood(_put(said, at, forgotten=forgotten))


def _holds_nothing(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """It claims to hold only some of what it knows, so that the rest is deleted."""
    found = _find(chance, said, m.Keys)
    if found is not None:
        keys = found[1].keys
        some = [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES) if chance.random() < 0.5]
        return Falsehood(_put(said, found[0], keys=b"".join(some)), EVERYTHING)
    begun = _find(chance, said, m.Begin)
    if begun is None or begun[1].behind:
        return None
    return Falsehood(_put(said, begun[0], behind=True), EVERYTHING)


# -- against the grammar


def _repeats(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    at = chance.randrange(len(said))
    return Falsehood([*said[: at + 1], *said[at:]])


def _swaps(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    return Falsehood(said[::-1]) if len(said) > 1 else None


def _leaves_out(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    at = chance.randrange(len(said))
    return Falsehood(said[:at] + said[at + 1 :]) if len(said) > 1 else None


def _compares(chance: random.Random, said: list[m.Message]) -> Falsehood | None:
    """In a comparison, it claims that everything differs."""
    found = _find(chance, said, m.Compare)
    if found is None or not found[1].tree_nodes:
        return None
    nodes = [
        m.TreeNode(node.prefix, [chance.randbytes(VALUE_BYTES) for _ in range(32)]) for node in found[1].tree_nodes
    ]
    return Falsehood(_put(said, found[0], tree_nodes=nodes))


TELLERS: dict[str, Teller] = {
    "beyond": _beyond,
    "wants-less": _wants_less,
    "has-taken": _has_taken,
    "gossip": _gossip,
    "digest": _digest,
    "state": _state,
    "chain": _chain,
    "probed": _probed,
    "value": lambda chance, said: _version(chance, said, _other_value),
    "clock": lambda chance, said: _version(chance, said, _false_clock),
    "stamp": lambda chance, said: _version(chance, said, _false_stamp),
    "type": lambda chance, said: _version(chance, said, _other_type),
    "withholds": _withholds,
    "forgets": _forgets,
    "holds-nothing": _holds_nothing,
    "repeats": _repeats,
    "swaps": _swaps,
    "leaves-out": _leaves_out,
    "compares": _compares,
}


def disguised(frame: bytes, hosts: Iterable[Host]) -> bytes:
    """The same frame, in which what these hosts wrote was written by a stranger."""
    for host in hosts:
        frame = frame.replace(host.encode(), STRANGER.encode()).replace(genesis(host), genesis(STRANGER))
    return frame


def garbled(chance: random.Random, frame: bytes) -> bytes:
    """One byte of a frame is another."""
    at = chance.randrange(len(frame))
    return frame[:at] + bytes([frame[at] ^ chance.randrange(1, 256)]) + frame[at + 1 :]


DISGUISE, GARBLE = "disguise", "garble"
LIES = (*TELLERS, DISGUISE, GARBLE)
