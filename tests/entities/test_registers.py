"""Registers as they are stored: the same as those of a mapping, and joined by the same laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import HOSTS, PATHS, related

from lottisync.entities import version
from lottisync.entities.entity import (
    HIGH,
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
def test_merge_1_whoever_succeeds_is_the_join(states: tuple[Entity, Entity]) -> None:
    """MERGE-1: where one entity has seen all of the other, which is seen without joining."""
    a, b = map(stored, states)
    if succeeds(b, a, b.registers.differing(a.registers)):
        assert version.close(join(a, b)) == version.close(b)


def test_merge_1_whoever_has_seen_all_succeeds() -> None:
    """MERGE-1: and a write that has not seen the other does not."""
    before = Entity("t1", "task", {A: 1}, Registers.of({"title": (Write(Stamp(HIGH, 1, 0, A, 1), b'"a"'),)}))
    after = write(before, {"title": b'"b"', "due": b'"2026-12-01"'}, Stamp(HIGH, 2, 0, B, 1))
    unseen = Entity("t1", "task", {B: 1}, Registers.of({"title": (Write(Stamp(HIGH, 2, 0, B, 1), b'"b"'),)}))
    old, new, other = map(stored, (before, after, unseen))
    assert succeeds(new, old, new.registers.differing(old.registers))
    assert not succeeds(old, new, old.registers.differing(new.registers))
    assert not succeeds(other, old, other.registers.differing(old.registers))


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
