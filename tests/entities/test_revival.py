"""Reviving keeps all that an entity says, under names that nothing forgotten covers: FORGET-9, FORGET-10."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import HOSTS, clocks, entities, one_write, related

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical
from lottisync.entities.entity import (
    DELETED_AT,
    HIGH,
    LOW,
    Entity,
    deletion,
    has_unseen_edit,
    is_clean_tombstone,
    is_deleted,
    join,
)
from lottisync.entities.registers import Registers, Write
from lottisync.entities.revival import revived
from lottisync.entities.version import close, open_foreign

SELF = Host("f" * 16)


def said(write: Write) -> tuple[object, ...]:
    """What a write says besides its name and what it had seen."""
    value = canonical.decode(write.value)
    if isinstance(value, dict):
        value = {key: part for key, part in value.items() if key != "seen"}
    return (*write.stamp[:3], canonical.encode(value))


@given(entities(), clocks, st.integers(0, 5))
def test_forget_9_all_that_was_said_is_said_again(entity: Entity, forgotten: Clock, counter: int) -> None:
    after, dots = revived(entity, SELF, counter, forgotten)
    assert {p: sorted(map(said, writes)) for p, writes in after.registers.items()} == {
        p: sorted(map(said, writes)) for p, writes in entity.registers.items()
    }
    stamps = [write.stamp for writes in after.registers.values() for write in writes]
    assert {stamp.host for stamp in stamps} == {SELF}
    assert {stamp.counter for stamp in stamps} == set(range(counter + 1, counter + dots + 1))
    assert after.clock == vector_clock.merge(entity.clock, forgotten) | {SELF: counter + dots}
    assert open_foreign(close(after)) == after


def test_forget_9_siblings_are_revived_under_names_of_their_own() -> None:
    """FORGET-9: two titles that did not know of each other are two afterwards, and the winner is the same."""
    milk, oats = one_write("Milk", host=HOSTS[0], counter=1), one_write("Oat milk", host=HOSTS[1], counter=1)
    entity = Entity("t1", "task", {HOSTS[0]: 1, HOSTS[1]: 1}, Registers.of({"title": (oats, milk)}))
    after, dots = revived(entity, SELF, 7, {})
    assert dots == 2
    assert [(write.value, write.stamp.dot) for write in after.registers["title"]] == [
        (oats.value, (SELF, 9)),
        (milk.value, (SELF, 8)),
    ]


@given(entities(), clocks, st.integers(0, 5))
def test_forget_10_what_a_deletion_had_seen_it_has_seen(entity: Entity, forgotten: Clock, counter: int) -> None:
    after, _ = revived(entity, SELF, counter, forgotten)
    assert is_deleted(after) == is_deleted(entity)
    assert has_unseen_edit(after) == has_unseen_edit(entity)


@given(related(2), st.integers(0, 5))
def test_forget_226_no_older_version_changes_what_was_revived(both: tuple[Entity, ...], counter: int) -> None:
    """What was forgotten covers the older version: joined with it, the revived entity stays what it is."""
    entity, older = both
    after, _ = revived(entity, SELF, counter, older.clock)
    assert join(after, older) == after == join(older, after)


@given(entities(), clocks)
def test_forget_9_it_takes_one_counter_unless_there_are_siblings(entity: Entity, forgotten: Clock) -> None:
    _, dots = revived(entity, SELF, 0, forgotten)
    most = max(map(len, entity.registers.values()))
    if DELETED_AT not in entity.registers:
        assert dots == most


def test_forget_10_a_deletion_of_the_agent_stays_one_over_an_edit_of_the_user_that_it_had_seen() -> None:
    h = HOSTS[0]
    title = one_write("Milk", precedence=HIGH, counter=1)
    gone = Write(title.stamp._replace(precedence=LOW, counter=2), deletion("2026-01-01T00:00:00.000Z", {h: 1}))
    tombstone = Entity("t1", "task", {h: 2}, Registers.of({"title": (title,), DELETED_AT: (gone,)}))
    assert is_clean_tombstone(tombstone)
    after, _ = revived(tombstone, SELF, 7, {HOSTS[1]: 9})
    assert is_clean_tombstone(after)
    edited = one_write("Oat milk", precedence=HIGH, host=HOSTS[1], counter=3)
    unseen = Entity("t1", "task", {h: 2, HOSTS[1]: 3}, Registers.of({"title": (edited, title), DELETED_AT: (gone,)}))
    assert not is_deleted(unseen)
    again, _ = revived(unseen, SELF, 7, {})
    assert not is_deleted(again)
    assert has_unseen_edit(again)
