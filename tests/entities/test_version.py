"""Versions: the compact form, its hash, and the faults of a foreign one."""

import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from tests.support.faults import FAULTS, GOOD, altered
from tests.support.strategies import HOSTS, entities

from lottisync.entities.entity import HIGH, LOW, Entity
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import (
    MAX_DOCUMENT,
    MAX_VERSION,
    BadVersion,
    Damaged,
    Version,
    adds_to_digest,
    clock_of,
    close,
    open_foreign,
    open_stored,
    validated_names,
)

A, B, C = HOSTS


def stamp(host: int, counter: int, *, precedence: int = HIGH, millis: int = 7) -> Stamp:
    return Stamp(precedence, millis, 0, HOSTS[host], counter)


@given(entities())
def test_an_entity_survives_being_closed_and_opened(entity: Entity) -> None:
    """ENT-8: for the store as for a peer."""
    closed = close(entity)
    assert open_stored(closed) == entity
    assert open_foreign(closed) == entity


@given(entities())
def test_there_is_one_form_of_an_entity(entity: Entity) -> None:
    """ENT-8: whatever order its registers and components came in."""
    backwards = Entity(
        entity.id,
        entity.type,
        dict(reversed(list(entity.clock.items()))),
        Registers.of(dict(reversed(list(entity.registers.items())))),
    )
    assert close(backwards) == close(entity)
    assert close(open_foreign(close(entity))) == close(entity)


@given(entities())
def test_the_form_is_one_json_text_and_the_hash_is_over_it(entity: Entity) -> None:
    """ENT-8"""
    closed = close(entity)
    raw = closed.canonical()
    ident, type_name, clock, _, document = json.loads(raw)
    assert (ident, type_name, clock) == (entity.id, entity.type, dict(entity.clock))
    assert document == entity.document()
    assert closed.hash() == hashlib.sha256(raw).digest()


@given(entities())
def test_a_version_crosses_the_wire_unchanged(entity: Entity) -> None:
    """ENT-8"""
    closed = close(entity)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(closed), type=Version) == closed


def test_the_form_to_the_byte() -> None:
    """ENT-8: one base stamp, one that differs, one sibling."""
    entity = Entity(
        "t1",
        "task",
        {B: 1, A: 3},
        Registers.of(
            {
                "title": (Write(stamp(0, 2), b'"x"'),),
                "labels/bug": (Write(stamp(0, 2), b"true"),),
                "due": (Write(stamp(0, 3, millis=9), b"null"), Write(stamp(1, 1, precedence=LOW, millis=9), b'"d"')),
            }
        ),
    )
    raw = (
        b'["t1","task",{"0000000000000001":3,"0000000000000002":1},'
        b'[[1,7,0,"0000000000000001",2],'
        b'{"due":[1,9,0,"0000000000000001",3]},'
        b'{"due":[[[0,9,0,"0000000000000002",1],"d"]]}],'
        b'{"due":null,"labels/bug":true,"title":"x"}]'
    )
    assert close(entity).canonical() == raw
    assert close(entity).hash().hex() == "aaecebc53b7a161b91c3a96a848ea4f5dc47d2c3b9921b4353add842310790f0"


def test_of_equally_frequent_stamps_the_greatest_is_the_base() -> None:
    """ENT-8"""
    entity = Entity(
        "t1",
        "task",
        {A: 2},
        Registers.of({"a": (Write(stamp(0, 1, millis=9), b"1"),), "b": (Write(stamp(0, 2), b"2"),)}),
    )
    assert json.loads(close(entity).stamps)[0] == [1, 9, 0, A, 1]


def test_a_clean_tombstone_adds_nothing_to_a_digest() -> None:
    """STORE-6"""
    live = {"title": (Write(stamp(0, 1), b'"x"'),)}
    gone = {**live, "deletedAt": (Write(stamp(0, 2), b'{"at":"x","seen":{"0000000000000001":1}}'),)}
    unseen = {**gone, "due": (Write(stamp(1, 1), b'"d"'),)}
    assert adds_to_digest(Entity("t1", "task", {A: 1}, Registers.of(live)))
    assert not adds_to_digest(Entity("t1", "task", {A: 2}, Registers.of(gone)))
    assert adds_to_digest(Entity("t1", "task", {A: 2, B: 1}, Registers.of(unseen)))


def test_a_version_is_a_value_of_five_parts_and_no_more() -> None:
    """ENT-8: in a frame, too."""
    parts = msgspec.msgpack.decode(msgspec.msgpack.encode(GOOD))
    assert parts == list(msgspec.structs.astuple(GOOD))
    assert GOOD.size() == sum(map(len, parts))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode([*parts, b""]), type=Version)
    with pytest.raises(AttributeError):
        setattr(GOOD, "id", "t2")  # noqa: B010 - mypy refuses it, too


@pytest.mark.parametrize(
    "damaged",
    [
        altered("clock", b"{", b""),
        altered("stamps", b"[", b""),
        altered("stamps", b'"d"', b'"\xff"'),
        altered("document", b"{", b""),
        altered("document", b'"x"', b'"\xff"'),
    ],
    ids=["clock", "stamps", "sibling", "document", "value"],
)
def test_a_stored_version_that_is_damaged_is_a_problem_with_its_id(damaged: Version) -> None:
    """ENT-10: also where only a value is, which is decoded later."""
    with pytest.raises(Damaged) as found:
        open_stored(damaged)
    assert (found.value.code, found.value.hint, found.value.arguments["entity"]) == ("damaged-row", "mend", "t1")


# -- a foreign version


def test_the_version_that_the_faults_are_made_of_is_good() -> None:
    """ENT-10: so each fault below is the only one."""
    assert close(open_foreign(GOOD)) == GOOD


@pytest.mark.parametrize("fault", FAULTS)
def test_a_foreign_version_with_one_fault_is_refused(fault: str) -> None:
    """ENT-1, ENT-2, ENT-9, ENT-10, CAUS-2, CAUS-16, CAUS-6"""
    with pytest.raises(BadVersion):
        open_foreign(FAULTS[fault])


SINGLE = Version(
    "t1", "task", b'{"00000000000000aa":3}', b'[[1,7,0,"00000000000000aa",3],{},{}]', b'{"due":null,"title":"x"}'
)
"""Filled by one write: the form that is opened without opening its registers."""


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("stamps", b"[[1,7", b"[[2,7"),
        ("stamps", b"[[1,7", b"[[01,7"),
        ("stamps", b"[[1,7,0", b"[[1,281474976710656,0"),
        ("stamps", b"[[1,7,0", b"[[1,7,65536"),
        ("stamps", b"[[1,7,0", b"[[1,7,-1"),
        ("stamps", b"[[1,7", b"[[1, 7"),
        ("stamps", b",3]", b",0]"),
        ("stamps", b",3]", b",4]"),
        ("stamps", b"aa", b"ab"),
        ("stamps", b"},{}]", b"},{},{}]"),
        ("stamps", b"},{}]", b"},{}]\n"),
        ("stamps", b"{},{}", b'{"due":[1,7,0,"00000000000000aa",3]},{}'),
        ("clock", b":3", b": 3"),
        ("clock", b":3", b':3,"00000000000000a9":1'),
        ("clock", b":3", b':3,"00000000000000aa":3'),
        ("clock", b":3", b":9007199254740992"),
        ("clock", b"00aa", b"00AA"),
        ("document", b"{", b'{"1":1,'),
        ("document", b'"x"', b"1.0"),
        ("document", b'{"due":null,"title":"x"}', b"{}"),
        ("document", b'{"due":null,"title":"x"}', b'{"title":"x","due":null}'),
    ],
)
def test_a_version_of_one_write_with_one_fault_is_refused(part: str, old: bytes, new: bytes) -> None:
    """ENT-9, ENT-10, CAUS-2, CAUS-16"""
    assert close(open_foreign(SINGLE)) == SINGLE
    assert open_foreign(SINGLE) == open_stored(SINGLE)
    good: bytes = getattr(SINGLE, part)
    assert old in good
    with pytest.raises(BadVersion):
        open_foreign(msgspec.structs.replace(SINGLE, **{part: good.replace(old, new, 1)}))


def written_by(stamp: Stamp) -> Version:
    """A version of one write, of a device that had written twice."""
    return close(Entity("t1", "task", {A: 2}, Registers.of({"title": (Write(stamp, b'"x"'),)})))


@pytest.mark.parametrize(
    "end",
    [
        Stamp(LOW, 0, 0, A, 1),
        Stamp(HIGH, 2**48 - 1, 0, A, 2),
        Stamp(HIGH, 0, 2**16 - 1, A, 2),
    ],
)
def test_the_ends_of_a_stamps_ranges_are_taken(end: Stamp) -> None:
    """ENT-10"""
    assert open_foreign(written_by(end)) == open_stored(written_by(end))


@pytest.mark.parametrize(
    "beyond",
    [
        Stamp(-1, 7, 0, A, 2),
        Stamp(2, 7, 0, A, 2),
        Stamp(HIGH, -1, 0, A, 2),
        Stamp(HIGH, 2**48, 0, A, 2),
        Stamp(HIGH, 7, -1, A, 2),
        Stamp(HIGH, 7, 2**16, A, 2),
        Stamp(HIGH, 7, 0, A, 0),
        Stamp(HIGH, 7, 0, A, 3),
        Stamp(HIGH, 7, 0, B, 1),
    ],
)
def test_a_stamp_beyond_its_ranges_is_refused(beyond: Stamp) -> None:
    """ENT-10, CAUS-16: nor is the first write taken of a host that the clock lacks."""
    with pytest.raises(BadVersion):
        open_foreign(written_by(beyond))


def test_a_stamp_that_is_named_although_it_is_the_base_is_refused() -> None:
    """ENT-9: of three registers, where the base is plain to see."""
    three = {path: (Write(stamp(0, 2), b"1"),) for path in ("due", "labels/bug", "title")}
    good = close(Entity("t1", "task", {A: 2}, Registers.of(three)))
    open_foreign(good)
    named = good.stamps.replace(b"{}", b'{"due":[1,7,0,"0000000000000001",2]}', 1)
    with pytest.raises(BadVersion):
        open_foreign(msgspec.structs.replace(good, stamps=named))


def test_the_clock_of_a_version_is_read_although_nothing_else_is_readable() -> None:
    """ENT-10"""
    unreadable = msgspec.structs.replace(GOOD, type="", stamps=b"", document=b"")
    assert clock_of(unreadable) == {A: 2, B: 1}
    once = msgspec.structs.replace(unreadable, clock=b'{"0000000000000001":1}')
    assert clock_of(once) == {A: 1}


@pytest.mark.parametrize(
    "fault",
    [
        "empty id",
        "id with a quote",
        "id too long",
        "clock is not an object",
        "clock is not JSON",
        "clock is empty",
        "clock counts from 0",
        "clock counter over 2^53-1",
        "clock counter is text",
        "clock host in capitals",
    ],
)
def test_a_version_whose_id_or_clock_cannot_be_read_has_no_clock(fault: str) -> None:
    """ENT-1, ENT-10"""
    with pytest.raises(BadVersion):
        clock_of(FAULTS[fault])


def test_of_many_ids_and_types_each_is_looked_at() -> None:
    """ENT-1, ENT-10"""
    validated_names(["t1", "t2"], ["task", "note", "task"])
    for ids, types in ((["t1", ".t"], ["task"]), (["t1"], ["task", "no te"])):
        with pytest.raises(BadVersion):
            validated_names(ids, types)


@pytest.mark.parametrize("ident", ["t", "T1._:-", "0" * 128])
def test_ids_that_are_taken(ident: str) -> None:
    """ENT-1"""
    assert open_foreign(msgspec.structs.replace(GOOD, id=ident)).id == ident


def test_store_23_the_sizes_are_those_of_the_specification() -> None:
    """STORE-23: every device must take what another one may make."""
    assert (MAX_DOCUMENT, MAX_VERSION) == (307_200, 983_040)


def test_a_version_of_the_largest_size_is_taken() -> None:
    """ENT-10"""
    room = MAX_VERSION - GOOD.size()
    assert open_foreign(altered("document", b'"x"', b'"x' + b"x" * room + b'"'))
    with pytest.raises(BadVersion, match=f"at most {MAX_VERSION}"):
        open_foreign(altered("document", b'"x"', b'"xx' + b"x" * room + b'"'))
