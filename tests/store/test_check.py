"""`broken_invariants` finds what has come apart, each thing by its own sentence."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from lottisync.causality.vector_clock import Host
from lottisync.entities.journal import JOURNAL
from lottisync.store.check import STRIDE, broken_invariants
from lottisync.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three live entities and a tombstone."""
    numbers = count(1)
    made = Store.create(tmp_path / "journal.sqlite", JOURNAL, lambda: Host(f"{next(numbers):016x}"))
    with made.transaction(1_000_000) as tx:
        for ident in ("t1", "t2", "t3"):
            tx.put(ident, "task", {"title": ident, "labels": {"a": True}})
        tx.put("t1", "task", {"title": "again"})
        tx.put("gone", "task", {"title": "x"})
        tx.delete("gone")
    yield made
    made.close()


def broken(store: Store) -> list[str]:
    with store.reading() as reader:
        return broken_invariants(reader)


def test_a_sound_store(store: Store) -> None:
    assert broken(store) == []


def test_an_empty_store(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "journal.sqlite", JOURNAL, lambda: Host("f" * 16))
    assert broken(store) == []
    store.close()


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("update journal_entities set serialized = replace(serialized, 't2', 'T2') where id = 't2'", "t2: its content"),
        ("update journal_entities set hash = zeroblob(32) where id = 't2'", "t2: its content does not have the hash"),
        ("update journal_entities set clock = 'no json' where id = 't2'", "t2: version of 't2'"),
        ("update journal_entities set stamps = '[]' where id = 't2'", "t2: version of 't2'"),
        ("update journal_entities set clock = '{\"0000000000000001\":1}' where id = 't1'", "does not cover"),
        ("update journal_entities set serialized = '{}' where id = 't2'", "no register"),
        ("update journal_entities set clean_tombstone = 1 where id = 't2'", "t2: is marked as a clean tombstone"),
        ("update journal_entities set clean_tombstone = 0 where id = 'gone'", "gone: is not marked as a clean"),
        ("update journal_entities set deleted_at = null where id = 'gone'", "gone: its column deleted_at"),
        ("update journal_entities set deleted_at = 'now' where id = 't2'", "t2: its column deleted_at"),
        ("update journal_entities set conflicted = 1 where id = 't2'", "t2: is marked as in conflict"),
        ("update journal_entities set feed = 1000 where id = 't2'", "row 2 was changed after the last change"),
        ("delete from components where counter = 3", "t3: its component"),
        ("insert into components values (1, 99, 1)", "the index has 5 components, the clocks have 4"),
        ("update hosts set host = 'ffffffffffffffff'", "t1: its component"),
        ("update state set digest = zeroblob(32)", "the digest is 0000"),
        ("update state set counter = 5", "the store has made 5 writes and knows 6"),
        ("update state set counter = 2", "t3: knows write 3 of this store, which has made 2"),
    ],
)
def test_what_has_come_apart_is_found(store: Store, sql: str, sentence: str) -> None:
    with store.transaction(0) as tx:
        tx.execute(sql)
    found = broken(store)
    assert any(sentence in line for line in found), found


def test_progress_is_told_and_every_row_is_seen(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "journal.sqlite", JOURNAL, lambda: Host("f" * 16))
    with store.transaction(0) as tx:
        for n in range(STRIDE + 1):
            tx.put(f"t{n}", "task", {"title": n})
    told: list[tuple[int, int]] = []
    with store.reading() as reader:
        assert broken_invariants(reader, lambda done, of: told.append((done, of))) == []
    assert told == [(STRIDE, STRIDE + 1), (STRIDE + 1, STRIDE + 1)]
    store.close()
