"""Batches of versions as strategies: good ones, odd ones, and hostile ones."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.support.stores import NOON

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import DELETED_AT, Entity, deletion, write
from lottisync.entities.registers import Registers, Stamp, Write, ordered
from lottisync.entities.schema import link_id
from lottisync.entities.version import Version
from lottisync.journal.types import ENTRY_LINK

HOSTS = (Host("a" * 16), Host("b" * 16), Host("0000000200000001"))
"""The last one is that of the second store, which has made fewer writes under it than others have heard of."""
REACH = 9
"""How far the chains of the hosts go that a store has heard of."""
LINK = link_id(ENTRY_LINK, "t1", "t2")
IDS = (*(f"t{number}" for number in range(20)), LINK)
KNOWN = ("task", "checklistItem", "entry")
TYPES = (*KNOWN, "strange", ENTRY_LINK)
VALUES: tuple[Any, ...] = (
    "", "word", "2026-01-01T00:00:00.000Z", "t1", "t2", 0, 1, True, None, 1.5, 2**53 - 1, [1, {"a": None}], "é\u2028",
)  # fmt: skip
PATHS = ("title", "createdAt", "taskId", "kind", "labels/x", "fromId", "toId")


class Part(NamedTuple):
    """One register, or with `sibling` one that holds another write as well."""

    path: str
    value: Any
    stamp: Stamp
    sibling: Stamp | None


stamps = st.builds(
    Stamp,
    precedence=st.sampled_from([1, 1, 0]),
    millis=st.sampled_from([1, 1, NOON, NOON + 1, NOON + 10**9, 2**48 - 1]),
    ticks=st.sampled_from([0, 0, 3]),
    host=st.sampled_from(HOSTS),
    counter=st.integers(1, 4),
)


def parts(paths: Sequence[str], siblings: st.SearchStrategy[Stamp | None]) -> st.SearchStrategy[Part]:
    return st.builds(Part, st.sampled_from(paths), st.sampled_from(VALUES), stamps, siblings)


def entity_of(ident: str, kind: str, registers: list[Part], one_stamp: bool, more: Clock) -> Entity:
    writes: dict[str, tuple[Write, ...]] = {}
    for part in registers:
        stamp = registers[0].stamp if one_stamp else part.stamp
        held = [Write(stamp, encoded(part))]
        if part.sibling is not None and part.sibling.dot != stamp.dot:
            held.append(Write(part.sibling, canonical.encode("sibling")))
        writes[part.path] = ordered(held)
    clock = dict(more)
    for held_by_path in writes.values():
        for held_one in held_by_path:
            clock = vector_clock.merge(clock, {held_one.stamp.host: held_one.stamp.counter})
    return Entity(ident, kind, clock, Registers.of(writes))


def encoded(part: Part) -> bytes:
    if part.path == DELETED_AT and part.value is not None:
        return deletion("2026-01-01T00:00:00.000Z", {HOSTS[0]: 9})
    return canonical.encode(part.value)


clocks = st.dictionaries(st.sampled_from(HOSTS), st.integers(1, REACH), max_size=3)
plain_entities = st.builds(
    entity_of,
    st.sampled_from(IDS[:20]),
    st.sampled_from(KNOWN),
    st.lists(parts(PATHS[:5], st.none()), min_size=1, max_size=4),
    st.booleans(),
    clocks,
)
all_entities = st.builds(
    entity_of,
    st.sampled_from(IDS),
    st.sampled_from(TYPES),
    st.lists(parts((*PATHS, DELETED_AT), st.none() | stamps), min_size=1, max_size=5),
    st.booleans(),
    clocks,
)


def hostile(made: Version, part: int, at: int, change: Callable[[bytes, int], bytes]) -> Version:
    """One part is changed. An id or a type stays text."""
    name = ("id", "type", "clock", "stamps", "document")[part]
    if part < 2:
        text: str = getattr(made, name)
        return msgspec.structs.replace(made, **{name: change(text.encode(), at).decode("utf-8", "replace")})
    raw: bytes = getattr(made, name)
    return msgspec.structs.replace(made, **{name: change(raw, at % (len(raw) + 1))})


def replacing(byte: bytes) -> Callable[[bytes, int], bytes]:
    return lambda raw, at: raw[:at] + byte + raw[at + 1 :]


def inserting(some: bytes) -> Callable[[bytes, int], bytes]:
    return lambda raw, at: raw[:at] + some + raw[at:]


CHANGES = (
    *(replacing(byte) for byte in (b"0", b"9", b'"', b"}", b"\xff", b"")),
    *(inserting(some) for some in (b" ", b"1", b",", b"-", b'"a":1,', b"\\u0061", b"\\ud800", b"[]")),
    lambda raw, at: b"",
    lambda raw, at: b"{}",
    lambda raw, at: raw + b",{}",
    lambda raw, at: b"[[1,1,0,\"000000000000000a\",1],{},{}]",
    lambda raw, at: b"[[1,1,0,\"000000000000000a\",1],{\"title\":[1,1,0,\"000000000000000a\",1]},{}]",
)  # fmt: skip
bad = st.builds(
    hostile, st.builds(version.close, all_entities), st.integers(0, 4), st.integers(0, 200), st.sampled_from(CHANGES)
)


class EditPart(NamedTuple):
    """What a later version has of an entity: another value, by a write that has seen all of it, or nothing of it."""

    path: str
    value: Any
    stamp: Stamp
    seen: bool


edit_parts = st.builds(
    EditPart,
    st.sampled_from((*PATHS[:5], "estimate", DELETED_AT)),
    st.sampled_from(VALUES),
    st.builds(
        Stamp,
        st.sampled_from([1, 1, 0]),
        st.sampled_from([1, NOON, NOON + 1]),
        st.just(0),
        st.sampled_from(HOSTS[:2]),
        st.integers(3, REACH),
    ),
    st.sampled_from([True, True, True, False]),
)


def edited(entity: Entity, edits: list[EditPart]) -> Version:
    for each in edits:
        value = encoded(Part(each.path, each.value, each.stamp, None))
        entity = write(entity, {each.path: value}, each.stamp, None if each.seen else {})
    return version.close(entity)


entities = st.lists(plain_entities, min_size=4, max_size=10, unique_by=lambda made: made.id)
plain = st.lists(st.builds(version.close, plain_entities), min_size=2, unique_by=lambda made: made.id)
versions = st.one_of(st.builds(version.close, all_entities), bad)
batches = st.builds(
    lambda some, odd, at: [*some[:at], *odd, *some[at:]],
    plain,
    st.just([]) | st.lists(versions, max_size=3),
    st.integers(0, 9),
)
