"""Registers as they are stored: the same as those of a mapping, and joined by the same laws."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import HOSTS, PATHS, related

from lottisync.causality.vector_clock import Host
from lottisync.entities import version
from lottisync.entities.entity import (
    DELETED_AT,
    HIGH,
    LOW,
    Entity,
    EqualDots,
    has_conflict,
    has_unseen_edit,
    is_deleted,
    join,
    succeeds,
    write,
)
from lottisync.entities.registers import Registers, Stamp, Write

A, B, _ = HOSTS


def made(entity: Entity) -> Entity:
    """With its registers made of a mapping."""
    return Entity(entity.id, entity.type, entity.clock, Registers.of(dict(entity.registers)))


def stored(entity: Entity) -> Entity:
    """As it comes from a row."""
    return version.open_stored(version.close(made(entity)))


@given(related(2))
def test_merge_1_a_join_of_stored_registers_is_the_join(states: tuple[Entity, Entity]) -> None:
    """MERGE-1"""
    a, b = states
    expected = version.close(join(made(a), made(b)))
    assert version.close(join(stored(a), stored(b))) == expected
    assert version.close(join(stored(a), made(b))) == expected


@given(related(2))
def test_merge_1_an_entity_that_has_seen_all_of_the_other_is_the_join(states: tuple[Entity, Entity]) -> None:
    """MERGE-1: where one entity has seen all of the other, which is seen without joining."""
    a, b = map(stored, states)
    if succeeds(b, a, b.registers.differing(a.registers)):
        assert version.close(join(a, b)) == version.close(b)


def test_merge_1_a_write_that_has_seen_the_other_replaces_it() -> None:
    """MERGE-1: and a write that has not seen the other does not."""
    before = Entity("t1", "task", {A: 1}, Registers.of({"title": (Write(Stamp(HIGH, 1, 0, A, 1), b'"a"'),)}))
    after = write(before, {"title": b'"b"', "due": b'"2026-12-01"'}, Stamp(HIGH, 2, 0, B, 1))
    unseen = Entity("t1", "task", {B: 1}, Registers.of({"title": (Write(Stamp(HIGH, 2, 0, B, 1), b'"b"'),)}))
    old, new, other = map(stored, (before, after, unseen))
    assert succeeds(new, old, new.registers.differing(old.registers))
    assert not succeeds(old, new, old.registers.differing(new.registers))
    assert not succeeds(other, old, other.registers.differing(old.registers))
    again = stored(write(before, {"title": b'"b"'}, Stamp(HIGH, 2, 0, B, 1)))
    assert succeeds(again, old, again.registers.differing(old.registers)), "with the same paths, too"


def test_merge_1_what_still_holds_a_write_that_was_overwritten_is_joined() -> None:
    """MERGE-1: its clock says that it has seen all; that it has not lost the old write, only a join finds."""
    first, second, beside = Stamp(HIGH, 1, 0, A, 1), Stamp(HIGH, 2, 0, A, 2), Stamp(HIGH, 3, 0, B, 1)
    here = Entity("t1", "task", {A: 2}, Registers.of({"title": (Write(second, b'"b"'),)}))
    odd = Entity("t1", "task", {A: 2, B: 1}, Registers.of({"title": (Write(beside, b'"c"'), Write(first, b'"a"'))}))
    old, new = stored(here), stored(odd)
    assert not succeeds(new, old, new.registers.differing(old.registers))
    assert join(new, old).registers["title"] == (Write(beside, b'"c"'),)


@given(related(2))
def test_what_differs_is_found_alike(states: tuple[Entity, Entity]) -> None:
    a, b = states
    paths = a.registers.keys() | b.registers.keys()
    expected = {path for path in paths if a.registers.get(path) != b.registers.get(path)}
    assert stored(a).registers.differing(stored(b).registers) == expected
    assert made(a).registers.differing(made(b).registers) == expected


@given(related(1), st.dictionaries(st.sampled_from(PATHS), st.sampled_from([b"1", b'"a"', b"null"]), min_size=1))
def test_merge_5_a_write_over_stored_registers_is_the_write(states: tuple[Entity], values: dict[str, bytes]) -> None:
    """MERGE-5, ENT-8: the same bytes, and so the same base."""
    (entity,) = states
    stamp = Stamp(HIGH, 9, 0, A, entity.clock.get(A, 0) + 1)
    expected = write(made(entity), values, stamp, seen=entity.clock)
    written = write(stored(entity), values, stamp)
    assert written == expected
    assert version.close(written) == version.close(expected)


@given(related(1))
def test_merge_13_whether_there_is_a_conflict_is_seen_without_the_values(states: tuple[Entity]) -> None:
    """MERGE-13"""
    (entity,) = states
    for each in (made(entity), stored(entity)):
        assert has_conflict(each) == bool(each.conflicts())


@given(related(1))
def test_the_stamps_are_those_of_the_writes(states: tuple[Entity]) -> None:
    (entity,) = states
    for registers in (made(entity).registers, stored(entity).registers):
        assert registers.all_stamps() == stamps_of(registers, but="")
        assert registers.winning_stamps() == {held[0].stamp for held in registers.values()}
        for path in (*PATHS, DELETED_AT):
            assert registers.stamps_without(path) == stamps_of(registers, but=path)


def stamps_of(registers: Registers, but: str) -> set[Stamp]:
    return {write.stamp for path, held in registers.items() if path != but for write in held}


@pytest.mark.parametrize("but", ["title", "due", "labels/bug", "gone"])
def test_the_stamps_of_the_other_registers(but: str) -> None:
    """Where one register alone has the base, where one has a stamp of its own, and where one has siblings."""
    one, two, three = Stamp(HIGH, 3, 0, A, 1), Stamp(HIGH, 2, 0, A, 2), Stamp(HIGH, 1, 0, B, 1)
    for held in (
        {"title": (Write(one, b"1"),), "due": (Write(two, b"2"),)},
        {"title": (Write(one, b"1"), Write(three, b"3")), "due": (Write(two, b"2"),)},
        {
            "title": (Write(one, b"1"),),
            "due": (Write(one, b"1"), Write(three, b"3")),
            "labels/bug": (Write(two, b"2"),),
        },
    ):
        registers = Registers.of(held)
        assert (but in registers) == (but in held)
        assert registers.stamps_without(but) == stamps_of(registers, but)


@given(related(1))
def test_the_values_are_decoded_once(states: tuple[Entity]) -> None:
    (entity,) = states
    registers = stored(entity).registers
    assert registers.decoded == entity.document()
    assert registers.decoded is registers.decoded
    known = {"title": "given"}
    given_ones = Registers(registers.base, registers.stamps, registers.siblings, registers.stored, decoded=known)
    assert given_ones.decoded is known


def test_what_differs_is_found_wherever_it_is() -> None:
    """In a value, a stamp, a sibling or a path: each register of three may be any of these."""
    early, late, beside = Stamp(HIGH, 2, 0, A, 1), Stamp(HIGH, 3, 0, A, 2), Stamp(HIGH, 1, 0, B, 1)
    held = ((), (Write(early, b"1"),), (Write(late, b"1"),), (Write(late, b"1"), Write(beside, b"2")))
    made_ones = [
        {path: writes for path, writes in zip(PATHS, each, strict=True) if writes} for each in product(held, repeat=3)
    ]
    for one, other in product(made_ones, repeat=2):
        expected = {path for path in PATHS if one.get(path) != other.get(path)}
        assert Registers.of(one).differing(Registers.of(other)) == expected


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_ent_8_the_base_is_found_from_any_other(count: int) -> None:
    """ENT-8: whatever base there was before, and whichever stamps were named."""
    stamps = Stamp(HIGH, 1, 0, A, 1), Stamp(HIGH, 2, 0, A, 2), Stamp(HIGH, 3, 0, A, 3)
    paths = [f"p{number}" for number in range(count)]
    for base, *chosen in product(stamps, repeat=count + 1):
        winners = dict(zip(paths, chosen, strict=True))
        wanted = Registers.of({path: (Write(stamp, b"1"),) for path, stamp in winners.items()})
        for named in product((False, True), repeat=count):
            other = {path: winners[path] for path, is_named in zip(paths, named, strict=True) if is_named}
            other |= {path: stamp for path, stamp in winners.items() if stamp != base}
            before = Registers(base, other, {}, wanted.stored)
            found = before.with_base()
            assert (found.base, found.stamps) == (wanted.base, wanted.stamps)
            assert (found is before) == ((base, other) == (wanted.base, wanted.stamps))


def test_where_there_is_no_register_there_is_no_stamp() -> None:
    """ENT-8: the base is less than that of any write."""
    empty = Registers.of({})
    assert empty.all_stamps() == set()
    assert empty.base == Stamp(LOW, 0, 0, Host(""), 0)


@given(related(1))
def test_what_is_asked_of_an_entity_is_the_same(states: tuple[Entity]) -> None:
    (entity,) = states
    a, b = made(entity), stored(entity)
    assert a.document() == b.document()
    assert a.registers.all_stamps() == b.registers.all_stamps()
    assert a.registers.winning_stamps() == b.registers.winning_stamps()
    for asked in (has_conflict, has_unseen_edit, is_deleted):
        assert asked(a) == asked(b)


def test_merge_8_one_stamp_with_two_values_is_found_in_stored_registers() -> None:
    """MERGE-8: though one clock covers the other."""
    stamp = Stamp(HIGH, 1, 0, A, 1)
    one = Entity("t1", "task", {A: 1}, Registers.of({"title": (Write(stamp, b'"a"'),)}))
    later = Stamp(HIGH, 2, 0, B, 1)
    other = Entity(
        "t1",
        "task",
        {A: 1, B: 1},
        Registers.of({"title": (Write(stamp, b'"b"'),), "due": (Write(later, b'"2026-12-01"'),)}),
    )
    with pytest.raises(EqualDots):
        join(stored(one), stored(other))
    changed = stored(one).registers.differing(stored(other).registers)
    assert not succeeds(stored(other), stored(one), changed)
