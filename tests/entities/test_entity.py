"""Registers, join, deletion: the laws of merging, against a reference that knows no clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.strategies import ENTITY, HOSTS, History, histories, one_write, related

from lottisync.causality.vector_clock import Clock, Dot, covers, has_seen, merge
from lottisync.entities import version
from lottisync.entities.entity import (
    DELETED_AT,
    HIGH,
    LOW,
    Deletion,
    Entity,
    EqualDots,
    deletion,
    has_conflict,
    has_unseen_edit,
    is_clean_tombstone,
    is_deleted,
    join,
    write,
)
from lottisync.entities.registers import Registers, Stamp, Write

A, B, C = HOSTS
ABSENT = Entity(ENTITY, "task", {}, Registers.of({}))
AT = "2026-01-01T00:00:00.000Z"


def wrote(
    entity: Entity,
    host: int,
    values: dict[str, object],
    *,
    precedence: int = HIGH,
    millis: int = 1,
    seen: Clock | None = None,
) -> Entity:
    counter = entity.clock.get(HOSTS[host], 0) + 1
    stamp = Stamp(precedence, millis, 0, HOSTS[host], counter)
    raw = {path: value if isinstance(value, bytes) else one_write(value).value for path, value in values.items()}
    return write(entity, raw, stamp, seen)


def deleted(entity: Entity, host: int, *, precedence: int = HIGH, millis: int = 1) -> Entity:
    return wrote(entity, host, {DELETED_AT: deletion(AT, entity.clock)}, precedence=precedence, millis=millis)


# -- the laws of join


@given(related(2))
def test_join_is_commutative(states: tuple[Entity, Entity]) -> None:
    """MERGE-1: to the byte."""
    a, b = states
    assert version.close(join(a, b)) == version.close(join(b, a))


@given(related(3))
def test_join_is_associative(states: tuple[Entity, Entity, Entity]) -> None:
    """MERGE-1: to the byte."""
    a, b, c = states
    assert version.close(join(join(a, b), c)) == version.close(join(a, join(b, c)))


@given(related(2))
def test_join_is_idempotent(states: tuple[Entity, Entity]) -> None:
    """MERGE-1: also with what was joined before."""
    a, b = states
    assert join(a, a) == a
    assert join(join(a, b), b) == join(a, b)


@given(related(2))
def test_join_only_adds_to_what_was_seen(states: tuple[Entity, Entity]) -> None:
    """MERGE-3: the clock is the merge, so that joining is not a write."""
    a, b = states
    joined = join(a, b)
    assert joined.clock == merge(a.clock, b.clock)
    assert covers(joined.clock, a.clock)


@given(histories())
@examples(200)
def test_every_replica_holds_what_was_not_overwritten_and_nothing_else(history: History) -> None:
    """MERGE-2, against the reference."""
    for replica, state in history.now.items():
        assert dict(state.entity.registers) == history.reference.registers((replica, ENTITY))


@given(histories())
@examples(200)
def test_every_replica_shows_the_greatest_stamp(history: History) -> None:
    """MERGE-4, against the reference."""
    for replica, state in history.now.items():
        for path, numbers in history.reference.held((replica, ENTITY)).items():
            best = max((history.reference.records[n].write for n in numbers), key=lambda w: w.stamp)
            assert state.entity.winner(path) == best


@given(histories())
@examples(200)
def test_deleted_is_what_the_reference_calls_deleted(history: History) -> None:
    """MERGE-6, MERGE-13, MERGE-7, against the reference."""
    for replica, state in history.now.items():
        place = (replica, ENTITY)
        assert is_deleted(state.entity) == history.reference.deleted(place)
        assert has_unseen_edit(state.entity) == history.reference.unseen_edit(place)


@given(histories())
def test_a_clock_covers_every_write_that_is_held(history: History) -> None:
    """MERGE-5, MERGE-12: and no register is empty."""
    for state in history.states:
        for writes in state.entity.registers.values():
            assert writes
            assert all(has_seen(state.entity.clock, held.stamp.dot) for held in writes)


@given(histories(), st.permutations([0, 1, 2]))
def test_replicas_that_joined_the_same_are_the_same(history: History, order: list[int]) -> None:
    """MERGE-1: whatever the order in which the others' states came."""
    states = [history.now[r].entity for r in sorted(history.now)]
    together = states[0]
    for state in states:
        together = join(together, state)
    other = states[order[0] % len(states)]
    for r in order:
        other = join(other, states[r % len(states)])
    for state in states:
        other = join(state, other)
    assert version.close(other) == version.close(together)


# -- one register, two devices


def test_two_devices_one_register() -> None:
    """MERGE-2, MERGE-4, MERGE-5, MERGE-12: the picture of the specification."""
    start = wrote(ABSENT, 0, {"title": "Boiler"})
    laptop = wrote(start, 0, {"title": "Boiler!"}, millis=5)
    phone = wrote(start, 1, {"title": "Boiler service"}, millis=9)
    met = join(laptop, phone)
    assert met.value("title") == "Boiler service"
    assert met.conflicts() == {"title": ["Boiler!"]}
    assert has_conflict(met)
    later = wrote(met, 0, {"title": "Service"}, millis=2)
    assert later.conflicts() == {}
    assert join(phone, later).value("title") == "Service"


def test_siblings_of_equal_value_are_not_a_conflict() -> None:
    """MERGE-13"""
    start = wrote(ABSENT, 0, {"title": "x"})
    met = join(wrote(start, 0, {"title": "same"}), wrote(start, 1, {"title": "same"}))
    assert len(met.registers["title"]) == 2
    assert met.conflicts() == {}
    assert not has_conflict(met)


def test_a_concurrent_agent_write_never_wins() -> None:
    """MERGE-4: however far the agent's clock is ahead."""
    start = wrote(ABSENT, 0, {"title": "x"})
    user = wrote(start, 0, {"title": "mine"}, millis=1)
    agent = wrote(start, 1, {"title": "its"}, precedence=LOW, millis=2**48 - 1)
    assert join(user, agent).value("title") == "mine"
    assert join(user, agent).conflicts() == {"title": ["its"]}


def test_an_agent_write_that_saw_the_users_replaces_it() -> None:
    """CAUS-10, MERGE-5: causality, whatever precedence and the clocks on the wall say."""
    start = wrote(ABSENT, 0, {"title": "x"}, millis=100)
    after = wrote(start, 1, {"title": "its"}, precedence=LOW, millis=1)
    assert join(start, after).value("title") == "its"
    assert join(start, after).conflicts() == {}


def test_what_a_stale_writer_had_not_read_stays_beside_its_write() -> None:
    """MERGE-5"""
    read = wrote(ABSENT, 0, {"title": "old", "due": "2026-01-01"})
    now = wrote(read, 1, {"title": "new"}, millis=9)
    stale = wrote(now, 0, {"title": "mine"}, millis=3, seen=read.clock)
    assert [held.value for held in stale.registers["title"]] == [b'"new"', b'"mine"']
    assert stale.registers["due"] == read.registers["due"]


def test_a_register_whose_writes_are_all_overwritten_elsewhere_goes() -> None:
    """MERGE-2: no register with nothing in it."""
    emptied = Entity(ENTITY, "task", {A: 1, B: 1}, Registers.of({"due": (one_write("d", host=B),)}))
    start = Entity(ENTITY, "task", {A: 1}, Registers.of({"title": (one_write("t"),)}))
    assert set(join(start, emptied).registers) == {"due"}


def test_one_dot_with_two_meanings_is_an_error() -> None:
    """MERGE-8: in either direction, and also if only the stamp differs."""
    one = wrote(ABSENT, 0, {"title": "x"})
    for other in (wrote(ABSENT, 0, {"title": "y"}), wrote(ABSENT, 0, {"title": "x"}, millis=2)):
        with pytest.raises(EqualDots, match="two meanings in 'title' of t1"):
            join(one, other)
        with pytest.raises(EqualDots):
            join(other, one)


def test_two_types_under_one_id_are_refused() -> None:
    """MERGE-10"""
    task = wrote(ABSENT, 0, {"title": "x"})
    with pytest.raises(ValueError, match="type"):
        join(task, Entity(ENTITY, "note", task.clock, task.registers))
    with pytest.raises(ValueError, match="t2"):
        join(task, Entity("t2", "task", task.clock, task.registers))


def test_the_read_context_names_all_writes_of_a_register() -> None:
    """MERGE-2"""
    start = wrote(ABSENT, 0, {"title": "x"})
    met = join(wrote(start, 0, {"title": "y"}), wrote(start, 1, {"title": "z"}))
    assert met.dots("title") == {Dot(A, 2), Dot(B, 1)}
    assert met.dots("due") == frozenset()


# -- deletion


@pytest.mark.parametrize(
    ("deleter", "editor", "is_gone"),
    [(HIGH, HIGH, True), (HIGH, LOW, True), (LOW, LOW, True), (LOW, HIGH, False)],
)
def test_a_deletion_and_an_edit_it_had_not_seen(deleter: int, editor: int, is_gone: bool) -> None:
    """MERGE-6, MERGE-7: the edit is always a conflict; it saves the entity only from a lower precedence."""
    start = wrote(ABSENT, 0, {"title": "x"})
    tombstone = deleted(start, 0, precedence=deleter, millis=2)
    edited = wrote(start, 1, {"due": "2026-01-01"}, precedence=editor, millis=9)
    met = join(tombstone, edited)
    assert is_deleted(met) == is_gone
    assert met.conflicts() == {DELETED_AT: [{"at": AT, "seen": {A: 1}}]}
    assert has_conflict(met)
    assert not is_clean_tombstone(met)


@pytest.mark.parametrize("editor", [HIGH, LOW])
def test_a_deletion_that_saw_every_edit_is_clean(editor: int) -> None:
    """MERGE-7: also one by an agent of a user's entity."""
    start = wrote(ABSENT, 0, {"title": "x"}, precedence=editor, millis=50)
    tombstone = deleted(start, 1, precedence=LOW)
    assert is_deleted(tombstone)
    assert is_clean_tombstone(tombstone)
    assert tombstone.conflicts() == {}
    assert is_clean_tombstone(join(start, tombstone))


@pytest.mark.parametrize("winner", [0, 1], ids=["the first wins", "the second wins"])
def test_a_second_deletion_brings_nothing_back(winner: int) -> None:
    """MERGE-7: two agents' deletions, of which one had seen the person's edit and the other had not."""
    start = wrote(ABSENT, 0, {"title": "x"})
    edited = wrote(start, 0, {"title": "y"}, precedence=HIGH)
    saw_all = deleted(edited, 1, precedence=LOW, millis=5 - winner)
    saw_less = deleted(start, 2, precedence=LOW, millis=4 + winner)
    assert is_clean_tombstone(saw_all)
    assert not is_deleted(join(edited, saw_less))
    met = join(saw_all, saw_less)
    assert is_clean_tombstone(met)
    assert met.conflicts() == {}


def test_two_deletions_that_each_saw_another_edit_hold_together() -> None:
    """MERGE-7"""
    start = wrote(ABSENT, 0, {"title": "x"})
    one = deleted(wrote(start, 0, {"title": "y"}, precedence=HIGH), 1, precedence=LOW, millis=4)
    other = deleted(wrote(start, 2, {"due": "2026-01-01"}, precedence=HIGH), 2, precedence=LOW, millis=5)
    assert is_clean_tombstone(join(one, other))


def test_concurrent_deletions_are_not_a_conflict() -> None:
    """MERGE-13"""
    start = wrote(ABSENT, 0, {"title": "x"})
    met = join(deleted(start, 0), deleted(start, 1))
    assert len(met.registers[DELETED_AT]) == 2
    assert met.conflicts() == {}
    assert not has_conflict(met)
    assert is_clean_tombstone(met)


def test_a_write_does_not_undelete() -> None:
    """MERGE-9: it is kept, and shown as a conflict."""
    tombstone = deleted(wrote(ABSENT, 0, {"title": "x"}), 0)
    edited = wrote(tombstone, 1, {"title": "y"}, millis=9)
    assert is_deleted(edited)
    assert DELETED_AT in edited.conflicts()


def test_a_null_beside_a_deletion_is_a_conflict() -> None:
    """MERGE-6: one device says that it lives, the other that it is gone."""
    start = deleted(wrote(ABSENT, 0, {"title": "x"}), 0)
    met = join(wrote(start, 1, {DELETED_AT: None}, millis=9), deleted(start, 2, millis=3))
    assert not is_deleted(met)
    assert met.conflicts() == {DELETED_AT: [None, {"at": AT, "seen": {A: 2}}]}


@pytest.mark.parametrize(
    "value",
    [
        b"null",
        b"true",
        b'"2026-01-01T00:00:00.000Z"',
        b"[]",
        b"{}",
        b'{"at":"x"}',
        b'{"at":1,"seen":{}}',
        b'{"at":"x","seen":[]}',
    ],
)
def test_a_value_of_another_shape_is_no_deletion(value: bytes) -> None:
    """ENT-123: nothing disappears, and nothing breaks."""
    reads_as_null(value)


@pytest.mark.parametrize(
    "value",
    [
        b'{"at":"x","seen":{"0000000000000001":"1"}}',
        b'{"at":"x","seen":{"x":1}}',
        b'{"at":"x","seen":{"000000000000000A":1}}',
        b'{"at":"x","seen":{"0000000000000001\\n":1}}',
        b'{"at":"x","seen":{"0000000000000001":-1}}',
        b'{"at":"x","seen":{"0000000000000001":9007199254740992}}',
        b'{"at":"x","seen":{"0000000000000001":true}}',
    ],
)
def test_a_deletion_that_has_not_seen_a_clock_is_not_a_deletion(value: bytes) -> None:
    """ENT-121, ENT-123"""
    reads_as_null(value)


def reads_as_null(value: bytes) -> None:
    """A deletion would be clean, and has not seen an edit of another."""
    odd = wrote(wrote(ABSENT, 0, {"title": "x"}), 0, {DELETED_AT: value})
    assert not is_deleted(odd)
    assert not has_unseen_edit(odd)
    assert not is_clean_tombstone(odd)


def test_a_deletion_holds_its_time_and_what_was_seen() -> None:
    """ENT-12: to the byte."""
    assert deletion(AT, {B: 2, A: 1}) == (
        b'{"at":"2026-01-01T00:00:00.000Z","seen":{"0000000000000001":1,"0000000000000002":2}}'
    )


def test_further_keys_of_a_deletion_are_kept() -> None:
    """ENT-122: and what we do not know does not change what it is."""
    later = b'{"at":"2026-01-01T00:00:00.000Z","by":"x","seen":{"0000000000000001":1}}'
    entity = wrote(wrote(ABSENT, 0, {"title": "x"}), 0, {DELETED_AT: later})
    assert is_clean_tombstone(entity)
    assert later in version.close(entity).document
    assert later in version.close(join(entity, wrote(ABSENT, 1, {"title": "y"}))).document


@pytest.mark.parametrize("at", ["", "x", "yesterday", "2026-02-30", "9" * 300, "\u00e9"])
def test_a_deletion_is_one_whenever_it_says_that_it_was(at: str) -> None:
    """ENT-120"""
    value = {"at": at, "seen": {"0000000000000001": 1}}
    assert is_clean_tombstone(wrote(wrote(ABSENT, 0, {"title": "x"}), 0, {DELETED_AT: value}))


@pytest.mark.parametrize("counter", [0, 1, 2**53 - 1])
def test_a_deletion_may_have_seen_any_counter_of_a_host(counter: int) -> None:
    """ENT-121: 0 is one, though no clock of ours has it."""
    value = {"at": "x", "seen": {"0000000000000001": counter}}
    assert is_deleted(wrote(wrote(ABSENT, 0, {"title": "x"}), 0, {DELETED_AT: value}))


def test_an_entity_and_a_deletion_are_values() -> None:
    """MERGE-1: what was joined once is not changed by who holds it."""
    for made in (wrote(ABSENT, 0, {"title": "x"}), Deletion(AT, {})):
        with pytest.raises(AttributeError):
            setattr(made, made.__struct_fields__[0], "other")


def test_the_two_precedences_are_those_that_are_stored() -> None:
    """CAUS-10: they are in every stamp of every store."""
    assert (LOW, HIGH) == (0, 1)


def test_an_absent_field_and_a_null_one_read_alike() -> None:
    """ENT-3"""
    entity = wrote(ABSENT, 0, {"due": None})
    assert entity.value("due") is None
    assert entity.value("title") is None
    assert entity.winner("title") is None
    assert entity.winner("due") == Write(Stamp(HIGH, 1, 0, A, 1), b"null")
