"""A version: an entity as it is stored, hashed and sent (docs/specs/03-entities.md, section 4).

Most entities have one writer, so the form is the document, one base stamp, and a stamp only for the
paths that differ from it:

    ["<id>", "<type>", {clock}, [base, {path: stamp}, {path: [[stamp, value], ...]}], {document}]

Every part is canonical JSON text, and the canonical form of the whole is their concatenation. A row
of a store keeps the parts in columns as text that any SQLite browser shows, a frame carries the same
bytes, and the hash is taken over them: nobody who passes a version on encodes it again.

The base is the stamp that most of the document's paths have, the greatest of those where several are
equally frequent, so that one entity has exactly one form.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.digest import sha256
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import ClockError, Dot, Host
from lottisync.entities import canonical, path
from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import Entity, is_clean_tombstone
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.problem import Invalid, Problem

MAX_DOCUMENT = 300 * 1024
"""Bytes of a document that a local write may make. Something larger belongs in an attachment."""
MAX_VERSION = 960 * 1024
"""Bytes of a version that is taken: what a frame carries, so that versions of three devices, each of the
largest size, still join to one that can be passed on."""
ENTITY_ID = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")
_TYPE = re.compile(r"\A[A-Za-z][A-Za-z0-9_]{0,63}\Z")
_HOST = re.compile(r"\A[0-9a-f]{16}\Z")


_encode = msgspec.json.Encoder(order="deterministic").encode
decode_clock: Callable[[bytes], dict[Host, int]] = msgspec.json.Decoder(dict[str, int]).decode  # type: ignore[assignment]
decode_stamps = msgspec.json.Decoder(tuple[Stamp, dict[str, Stamp], dict[str, list[tuple[Stamp, msgspec.Raw]]]]).decode


class BadVersion(Invalid):
    """Bytes that no correct implementation can have written."""


class Damaged(Problem):
    """What this store itself wrote, or checked, and is not that any more: the disk's fault, or a hand's."""

    def __init__(self, entity_id: str, error: Exception) -> None:
        super().__init__(
            "damaged-row", "the stored {entity} is damaged ({error})", hint="mend", entity=entity_id, error=error
        )


def validated_id(text: str) -> str:
    if ENTITY_ID.match(text) is None:
        raise BadVersion(
            "an id has 1 to 128 of A-Z a-z 0-9 . _ : - and starts with a letter or digit; got {text!r}", text=text[:80]
        )
    return text


@lru_cache(maxsize=256)
def validated_type(text: str) -> str:
    if _TYPE.match(text) is None:
        raise BadVersion("a type is a word of at most 64 letters, digits and _; got {text!r}", text=text[:80])
    return text


def validated_names(ids: Iterable[str], types: Iterable[str]) -> None:
    """Raise `BadVersion` unless all of them are ids and types."""
    if not all(map(ENTITY_ID.match, ids)):
        raise BadVersion("one of the ids is not an id")
    for text in set(types):
        validated_type(text)


class Version(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The parts of the canonical form; `clock`, `stamps` and `document` are canonical JSON."""

    id: str
    type: str
    clock: bytes
    stamps: bytes
    document: bytes

    def canonical(self) -> bytes:
        named = f'["{self.id}","{self.type}",'.encode()
        return b"".join((named, self.clock, b",", self.stamps, b",", self.document, b"]"))

    def hash(self) -> bytes:
        """SHA-256 of the canonical form."""
        return sha256(self.canonical())

    def read_clock(self) -> dict[Host, int]:
        return decode_clock(self.clock)

    def size(self) -> int:
        return len(self.id) + len(self.type) + len(self.clock) + len(self.stamps) + len(self.document)


def close(entity: Entity) -> Version:
    """The one version of an entity."""
    registers = entity.registers
    siblings = {p: [(w.stamp, msgspec.Raw(w.value)) for w in writes] for p, writes in registers.siblings.items()}
    stamps = _encode((registers.base, registers.stamps, siblings))
    return Version(entity.id, entity.type, _encode(entity.clock), stamps, registers.stored)


def first(entity_id: str, type_name: str, precedence: int, reading: Hlc, dot: Dot, document: bytes) -> Version:
    """The version that an entity's first write makes; the same as `close` of it, without the detour.
    `document` holds the values of `path.flatten`, encoded."""
    host, counter = dot
    millis, ticks = reading
    clock = f'{{"{host}":{counter}}}'
    stamps = f'[[{precedence},{millis},{ticks},"{host}",{counter}],{{}},{{}}]'
    return Version(entity_id, type_name, clock.encode(), stamps.encode(), document)


def open_stored(version: Version) -> Entity:
    """The entity of a version that this store wrote or checked itself. Raises `Damaged` for any error in it."""
    try:
        for part in (version.document, version.stamps):  # of which values are decoded only when somebody needs them
            str(part, "utf-8")
        registers = _registers(version)
        _ = registers.raw
        return Entity(version.id, version.type, version.read_clock(), registers)
    except UNREADABLE as error:
        raise Damaged(version.id, error) from None


def _registers(version: Version, decoded: dict[str, Any] | None = None) -> Registers:
    base, stamps, siblings = decode_stamps(version.stamps)
    held = {p: tuple(Write(stamp, bytes(value)) for stamp, value in writes) for p, writes in siblings.items()}
    return Registers(base, stamps, held, version.document, decoded=decoded)


def clock_of(version: Version) -> dict[Host, int]:
    """The clock of a version of which nothing else need be readable: what names it, and what it has seen.
    Raises `BadVersion`."""
    validated_id(version.id)
    try:
        clock = version.read_clock()
        vector_clock.validate(clock)
    except (*UNREADABLE, ClockError) as error:
        raise BadVersion("version of {entity}: {error}", entity=version.id, error=error) from None
    if not clock:
        raise BadVersion("version of {entity} has an empty clock", entity=version.id)
    _check_components(version.id, clock)
    return clock


def _check_components(entity: str, clock: vector_clock.Clock) -> None:
    for host, counter in clock.items():
        if counter < 1 or not is_host(host):
            raise BadVersion(
                "version of {entity}: {host!r}: {counter} is not a component of a clock",
                entity=entity,
                host=host[:40],
                counter=counter,
            )


@lru_cache(maxsize=256)
def is_host(text: str) -> bool:
    """A person's devices are few, and each is in most clocks."""
    return _HOST.match(text) is not None


def open_foreign(version: Version) -> Entity:
    """The entity of a version that came from a peer, every part checked (ENT-10). Raises `BadVersion`."""
    try:
        return _checked(version)
    except (*UNREADABLE, KeyError) as error:
        raise BadVersion("version of {entity!r}: {error}", entity=version.id[:80], error=error) from None
    except (ClockError, canonical.NotCanonical, path.PathError) as error:
        raise BadVersion("version of {entity!r}: {error}", entity=version.id[:80], error=error) from None


def _checked(version: Version) -> Entity:
    validated_id(version.id)
    validated_type(version.type)
    if version.size() > MAX_VERSION:
        raise BadVersion(
            "version of {entity} has {size} bytes; at most {limit} are taken",
            entity=version.id,
            size=version.size(),
            limit=MAX_VERSION,
        )
    clock = version.read_clock()
    vector_clock.validate(clock)
    _check_components(version.id, clock)
    document = canonical.decode_document(version.document)
    if not document:
        raise BadVersion("version of {entity} has no register", entity=version.id)
    path.validate(tuple(document))
    registers = _registers(version, document)
    entity = Entity(version.id, version.type, clock, registers)
    for stamp in registers.all_stamps():
        check_stamp(version.id, stamp, clock)
    if registers.siblings:
        return _checked_writes(version, entity)
    if not registers.stamps.keys() <= document.keys() or (registers.stamps and registers.with_base() is not registers):
        raise BadVersion("version of {entity} does not name the stamps of its paths as it ought to", entity=version.id)
    if _encode(clock) != version.clock or _encode((registers.base, registers.stamps, {})) != version.stamps:
        raise BadVersion("version of {entity} is not in canonical form", entity=version.id)
    return entity


def _checked_writes(version: Version, entity: Entity) -> Entity:
    """The rest for a version with siblings, its document, its clock and its stamps being good."""
    registers = dict(entity.registers)
    for p, writes in registers.items():
        if len({write.stamp.dot for write in writes}) < len(writes):
            raise BadVersion("version of {entity} names two writes of {path!r} alike", entity=version.id, path=p)
        for sibling in writes[1:]:
            canonical.check(sibling.value)
    if close(Entity(entity.id, entity.type, entity.clock, Registers.of(registers))) != version:
        raise BadVersion("version of {entity} is not in canonical form", entity=version.id)
    return entity


def check_stamp(entity: str, stamp: Stamp, clock: vector_clock.Clock) -> None:
    if stamp.precedence not in (0, 1) or stamp.counter < 1:
        raise BadVersion("version of {entity}: {stamp} is not a stamp", entity=entity, stamp=tuple(stamp))
    if not (0 <= stamp.millis < 2**48 and 0 <= stamp.ticks < 2**16):
        raise BadVersion(
            "version of {entity}: the clock reading of {stamp} is out of range", entity=entity, stamp=tuple(stamp)
        )
    if clock.get(stamp.host, 0) < stamp.counter:
        raise BadVersion(
            "version of {entity} holds a write ({host}, {counter}) that its clock does not cover",
            entity=entity,
            host=stamp.host,
            counter=stamp.counter,
        )


def adds_to_digest(entity: Entity) -> bool:
    """A tombstone without unseen edits adds nothing, so that purging it changes nothing (STORE-6)."""
    return not is_clean_tombstone(entity)
