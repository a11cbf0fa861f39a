"""Conflicts are listed, all of them and nothing else, and settling one leaves none anywhere (STORE-17)."""

from pathlib import Path

import pytest
from tests.support.stores import NOON, digest_of, new_store, send

from lottisync.problem import Problem
from lottisync.store import conflict
from lottisync.store.conflict import Conflict
from lottisync.store.store import Store


def listed(store: Store) -> list[Conflict]:
    with store.reading() as reader:
        return conflict.of_store(reader)


def apart(folder: Path) -> tuple[Store, Store]:
    """Two devices that wrote the same field, and one other each, without knowing of each other."""
    a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON) as tx:
        tx.put("t", "task", {"title": "Milk", "priority": "P1"})
    send(a, b)
    with a.transaction(NOON + 1) as tx:
        tx.put("t", "task", {"title": "Oat milk", "estimate": 5})
    with b.transaction(NOON + 2) as tx:
        tx.put("t", "task", {"title": "Soy milk", "estimate": 5})
    send(a, b)
    send(b, a)
    return a, b


def test_different_values_are_listed_with_who_wrote_them(tmp_path: Path) -> None:
    """STORE-17: equal values are no conflict, and the one that is shown comes first."""
    a, b = apart(tmp_path)
    [found] = listed(a)
    assert listed(b) == [found]
    assert (found.entity, found.path, found.deleted) == ("t", "title", False)
    assert [(c.value, c.millis, c.precedence) for c in found.candidates] == [
        ("Soy milk", NOON + 2, 1),
        ("Oat milk", NOON + 1, 1),
    ]


@pytest.mark.parametrize(("choice", "title"), [(1, "Soy milk"), (2, "Oat milk")])
def test_keeping_one_settles_it_on_every_device(tmp_path: Path, choice: int, title: str) -> None:
    """STORE-17"""
    a, b = apart(tmp_path)
    with a.transaction(NOON + 10) as tx:
        conflict.keep(tx, "t", "title", choice)
    send(a, b)
    for store in (a, b):
        entity = store.read("t")
        assert entity is not None
        assert entity.value("title") == title
        assert listed(store) == []
    assert digest_of(a) == digest_of(b)


def test_combining_writes_a_new_value(tmp_path: Path) -> None:
    """STORE-17"""
    a, b = apart(tmp_path)
    with b.transaction(NOON + 10) as tx:
        conflict.combine(tx, "t", "title", "Oat or soy milk")
    send(b, a)
    entity = a.read("t")
    assert entity is not None
    assert entity.value("title") == "Oat or soy milk"
    assert listed(a) == listed(b) == []


def deleted_here_edited_there(folder: Path) -> tuple[Store, Store]:
    a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON) as tx:
        tx.put("t", "task", {"title": "Milk"})
    send(a, b)
    with a.transaction(NOON + 1) as tx:
        tx.delete("t")
    with b.transaction(NOON + 2) as tx:
        tx.put("t", "task", {"title": "Oat milk"})
    send(a, b)
    send(b, a)
    return a, b


@pytest.mark.parametrize("gone", [True, False])
def test_deleted_here_edited_there_is_a_conflict_and_can_be_settled_both_ways(tmp_path: Path, gone: bool) -> None:
    """STORE-17"""
    a, b = deleted_here_edited_there(tmp_path)
    [found] = listed(a)
    assert found.path == "deletedAt"
    assert found.deleted
    choice = next(n for n, c in enumerate(found.candidates, 1) if (c.value is not None) == gone)
    with b.transaction(NOON + 10) as tx:
        conflict.keep(tx, "t", "deletedAt", choice)
    send(b, a)
    for store in (a, b):
        assert listed(store) == []
        with store.reading() as reader:
            assert [e.id for e in reader.by_type("task")] == ([] if gone else ["t"])
    if not gone:
        entity = a.read("t")
        assert entity is not None
        assert entity.value("title") == "Oat milk"
    assert digest_of(a) == digest_of(b)


@pytest.mark.parametrize(
    ("path", "choice", "code"), [("title", 3, "bad-value"), ("title", 0, "bad-value"), ("priority", 1, "no-conflict")]
)
def test_what_is_not_there_cannot_be_kept(tmp_path: Path, path: str, choice: int, code: str) -> None:
    a, _ = apart(tmp_path)
    before = digest_of(a)
    with pytest.raises(Problem) as refused, a.transaction(NOON + 10) as tx:
        conflict.keep(tx, "t", path, choice)
    assert refused.value.code == code
    assert digest_of(a) == before


def test_a_deletion_cannot_be_combined(tmp_path: Path) -> None:
    a, _ = deleted_here_edited_there(tmp_path)
    with pytest.raises(Problem, match="deleted or it is not"), a.transaction(NOON + 10) as tx:
        conflict.combine(tx, "t", "deletedAt", "maybe")
