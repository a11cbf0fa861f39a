"""`broken_invariants` finds each kind of damage where it is, and changes nothing (STORE-20)."""

from pathlib import Path

import pytest
from tests.support.stores import NOON, dump, new_store, send

from lottisync.entities.entity import HIGH
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with siblings, a tombstone, a link and rows of a peer."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk", "labels": {"shop": True}})
        tx.put("t2", "task", {"title": "Bread"})
        tx.link("entryLink", "t1", "t2")
    send(a, b)
    with a.transaction(NOON + 1, HIGH) as tx:
        tx.put("t1", "task", {"title": "Oat milk"})
        tx.delete("t2")
    with b.transaction(NOON + 2, HIGH) as tx:
        tx.put("t1", "task", {"title": "Soy milk"})
    send(b, a)
    return a


def found(store: Store) -> list[str]:
    with store.reading() as reader:
        return [*broken_invariants(reader)]


def test_a_sound_store_is_found_sound_and_left_as_it_is(store: Store) -> None:
    """STORE-20"""
    before = dump(store)
    seen: list[tuple[int, int]] = []
    with store.reading() as reader:
        assert broken_invariants(reader, lambda done, of: seen.append((done, of))) == []
    assert seen[-1] == (3, 3)
    assert dump(store) == before


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("update journal_entities set serialized = replace(serialized, 'milk', 'wine') where id = 't1'", "t1"),
        ("update journal_entities set hash = zeroblob(32) where id = 't1'", "t1"),
        ("update journal_entities set stamps = '[]' where id = 't1'", "t1"),
        ("update journal_entities set clean_tombstone = 0 where id = 't2'", "t2"),
        ("update journal_entities set deleted_at = null where id = 't2'", "t2"),
        ("update journal_entities set conflicted = 0 where id = 't1'", "t1"),
        (
            "update journal_entities set deleted_at = '1970-01-01T00:00:00.000Z' where id = 't2'",
            "t2: its column deleted_at",
        ),
        ("update journal_entities set task_id = 't9' where id = 't1'", "t1: its column task_id says 't9'"),
        ("update journal_entities set subtype = 'DONE' where id = 't1'", "t1: its column subtype"),
        ("update journal_entities set created_at = 'x' where id = 't1'", "t1: its column created_at"),
        ("update journal_entities set updated_at = 'x' where id = 't1'", "t1: its column updated_at"),
        ("update journal_links set to_id = 't9'", "its column to_id says 't9'"),
        (
            "update journal_entities set id = cast(x'74ff31' as text) where id = 't1'",
            "t\ufffd1: its content does not have",
        ),
        ("update journal_entities set task_id = cast(x'ff' as text) where id = 't1'", "t1: its column task_id"),
        ("delete from components where n = 1", "t1"),
        ("insert into components values (1, 999, 1)", "index"),
        ("update state set digest = zeroblob(32)", "digest"),
        ("update state set counter = counter - 1", "write"),
        ("insert into forgotten values (2, 9)", "write 9 of 0000000200000001 was forgotten"),
        ("delete from chain where host = 1", "the chain of 0000000100000001 ends at 0, and 5"),
        ("delete from chain where host = 2", "the chain of 0000000200000001 ends at 0, and 1"),
        ("update chain set segment = substr(segment, 1, 48) where host = 1", "ends at 3, and 5"),
        ("update chain set segment = substr(segment, 1, 50) where host = 1", "a hole or an overlap"),
        ("insert into chain values (1, 7, zeroblob(16))", "a hole or an overlap"),
        ("update chain set first = 2 where host = 2", "a hole or an overlap at 1"),
        ("insert into forks select substr(segment, 1, 16) from chain where host = 1", "goes on behind a fork node"),
        ("update hosts set known = known + 1 where n = 2", "host 0000000200000001 do not have the hash"),
        ("update hosts set mark = zeroblob(32) where n = 2", "host 0000000200000001 do not have the hash"),
        ("delete from hosts where n = 2", "do not add up"),
        ("update state set marks = zeroblob(32)", "do not add up"),
        ("update hosts set parent = '0000000100000001' where n = 2", "does not begin at a fork node"),
    ],
)
def test_each_kind_of_damage_is_named(store: Store, damage: str, expected: str) -> None:
    """STORE-20, COPY-3, COPY-14, COPY-30, COPY-31"""
    with store.transaction(NOON + 9, HIGH) as tx:
        tx.execute(damage)
        tx.changed = False  # the store's own bookkeeping would write over some of the damage
    faults = found(store)
    assert faults
    assert any(expected in fault for fault in faults), faults
