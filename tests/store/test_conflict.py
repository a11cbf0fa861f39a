"""Conflicts are listed, all of them and nothing else, and settling one leaves none anywhere (STORE-17)."""

from pathlib import Path

import pytest
from tests.support.stores import NOON, digest_of, new_store, send, with_chains

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH, LOW, Entity
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import close
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
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "Milk", "priority": "P1"})
    send(a, b)
    with a.transaction(NOON + 1, HIGH) as tx:
        tx.put("t", "task", {"title": "Oat milk", "estimate": 5})
    with b.transaction(NOON + 2, HIGH) as tx:
        tx.put("t", "task", {"title": "Soy milk", "estimate": 5})
    send(a, b)
    send(b, a)
    return a, b


def test_different_values_are_listed_with_who_wrote_them(tmp_path: Path) -> None:
    """STORE-17: equal values are not a conflict, and the one that is shown comes first."""
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
    """STORE-69"""
    a, b = apart(tmp_path)
    with a.transaction(NOON + 10, HIGH) as tx:
        conflict.keep(tx, "t", "title", choice)
    send(a, b)
    for store in (a, b):
        entity = store.read("t")
        assert entity is not None
        assert entity.value("title") == title
        assert listed(store) == []
    assert digest_of(a) == digest_of(b)


def test_combining_writes_a_new_value(tmp_path: Path) -> None:
    """STORE-69"""
    a, b = apart(tmp_path)
    with b.transaction(NOON + 10, HIGH) as tx:
        conflict.combine(tx, "t", "title", "Oat or soy milk")
    send(b, a)
    entity = a.read("t")
    assert entity is not None
    assert entity.value("title") == "Oat or soy milk"
    assert listed(a) == listed(b) == []


def test_a_map_that_somebody_wrote_as_one_value_can_be_kept(tmp_path: Path) -> None:
    """STORE-69: it stays what it is; ours are split by their keys, another program's may not be."""
    a, b = Host("a" * 16), Host("b" * 16)
    store = new_store(tmp_path)
    with_chains(store, {a: 1, b: 1})
    with store.transaction(NOON, HIGH) as tx:
        for host, value in ((a, b'{"x":1}'), (b, b'{"x":2}')):
            entity = Entity(
                "t", "task", {host: 1}, Registers.of({"config": (Write(Stamp(1, NOON, 0, host, 1), value),)})
            )
            tx.apply([(close(entity), entity)])
    with store.transaction(NOON, HIGH) as tx:
        conflict.keep(tx, "t", "config", 2)
    kept = store.read("t")
    assert kept is not None
    assert kept.document() == {"config": {"x": 1}}
    assert listed(store) == []


def deleted_here_edited_there(folder: Path) -> tuple[Store, Store]:
    a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "Milk"})
    send(a, b)
    with a.transaction(NOON + 1, HIGH) as tx:
        tx.delete("t")
    with b.transaction(NOON + 2, HIGH) as tx:
        tx.put("t", "task", {"title": "Oat milk"})
    send(a, b)
    send(b, a)
    return a, b


@pytest.mark.parametrize("gone", [True, False])
def test_deleted_here_edited_there_is_a_conflict_and_can_be_settled_both_ways(tmp_path: Path, gone: bool) -> None:
    """STORE-17, STORE-69"""
    a, b = deleted_here_edited_there(tmp_path)
    [found] = listed(a)
    assert found.path == "deletedAt"
    assert found.deleted
    choice = next(n for n, c in enumerate(found.candidates, 1) if (c.value is not None) == gone)
    with b.transaction(NOON + 10, HIGH) as tx:
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


def brought_back_here_deleted_there(folder: Path, *, later: str) -> tuple[Store, Store]:
    """Both saw it deleted; then one brings it back and the other deletes it again, one of them `later`."""
    a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "Milk"})
        tx.delete("t")
    send(a, b)
    with a.transaction(NOON + (20 if later == "deletion" else 1), HIGH) as tx:
        tx.delete("t")
    with b.transaction(NOON + 10, HIGH) as tx:
        tx.undelete("t")
    send(a, b)
    send(b, a)
    return a, b


@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("later", ["deletion", "undeletion"])
def test_brought_back_here_deleted_there_can_be_settled_both_ways(tmp_path: Path, later: str, gone: bool) -> None:
    """STORE-69: whichever of the two is shown, the other can be chosen, too."""
    a, b = brought_back_here_deleted_there(tmp_path, later=later)
    [found] = listed(a)
    assert found.deleted == (later == "deletion")
    assert [c.value is not None for c in found.candidates] == [found.deleted, not found.deleted]
    choice = next(n for n, c in enumerate(found.candidates, 1) if (c.value is not None) == gone)
    with a.transaction(NOON + 30, HIGH) as tx:
        conflict.keep(tx, "t", "deletedAt", choice)
    send(a, b)
    for store in (a, b):
        assert listed(store) == []
        with store.reading() as reader:
            assert [e.id for e in reader.by_type("task")] == ([] if gone else ["t"])


def test_the_edit_that_is_named_is_one_that_the_deletion_had_not_seen(tmp_path: Path) -> None:
    """STORE-17: and not a later one, by its device's clock, that it had seen."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "Milk"})
    send(a, b)
    with a.transaction(NOON + 50, HIGH) as tx:
        tx.put("t", "task", {"priority": "P1"})
        tx.delete("t")
    with b.transaction(NOON + 2, HIGH) as tx:
        tx.put("t", "task", {"title": "Oat milk"})
    send(b, a)
    [found] = listed(a)
    with b.reading() as reader:
        assert (found.candidates[1].host, found.candidates[1].millis) == (reader.host, NOON + 2)


def ticked_by_one_unticked_by_the_other(folder: Path) -> Store:
    """The agent ticked an item; the person, who had not seen that, had said that it is open."""
    a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("i", "checklistItem", {"title": "Milk", "isChecked": True, "checkedBy": "user", "checkedAt": "1"})
    send(a, b)
    with a.transaction(NOON + 2, HIGH) as tx:
        tx.put("i", "checklistItem", {"isChecked": True, "checkedBy": "agent", "checkedAt": "2"}, precedence=LOW)
        tx.put("i", "checklistItem", {"title": "Oat milk"})
    with b.transaction(NOON + 1, HIGH) as tx:
        tx.put("i", "checklistItem", {"isChecked": False, "checkedBy": "user", "checkedAt": "3"})
        tx.put("i", "checklistItem", {"title": "Soy milk"})
    send(b, a)
    return a


@pytest.mark.parametrize("path", ["isChecked", "checkedBy", "checkedAt"])
@pytest.mark.parametrize(("choice", "tick"), [(1, (False, "user", "3")), (2, (True, "agent", "2"))])
def test_what_was_written_together_is_settled_together(
    tmp_path: Path, path: str, choice: int, tick: tuple[bool, str, str]
) -> None:
    """STORE-69, JOUR-3: whichever field of a tick is named, no half of it is left with the other's provenance; what
    does not belong to it stays in conflict."""
    a = ticked_by_one_unticked_by_the_other(tmp_path)
    with a.transaction(NOON + 10, HIGH) as tx:
        conflict.keep(tx, "i", path, choice)
    entity = a.read("i")
    assert entity is not None
    assert (entity.value("isChecked"), entity.value("checkedBy"), entity.value("checkedAt")) == tick
    assert len({entity.registers[field][0].stamp for field in ("isChecked", "checkedBy", "checkedAt")}) == 1
    assert [found.path for found in listed(a)] == ["title"]


def test_a_half_of_what_is_written_together_cannot_be_combined(tmp_path: Path) -> None:
    """STORE-17, JOUR-3"""
    a = ticked_by_one_unticked_by_the_other(tmp_path)
    with pytest.raises(Problem, match="checkedBy"), a.transaction(NOON + 10, HIGH) as tx:
        conflict.combine(tx, "i", "isChecked", value=True)
    assert len(listed(a)) == 4


def test_bringing_back_does_not_settle_other_conflicts(tmp_path: Path) -> None:
    """STORE-17: it writes all of the entity again, so other conflicts come first."""
    a, b = apart(tmp_path)
    with b.transaction(NOON + 10, HIGH) as tx:
        tx.delete("t")
    with a.transaction(NOON + 11, HIGH) as tx:
        tx.put("t", "task", {"priority": "P0"})
    send(b, a)
    assert [found.path for found in listed(a)] == ["title", "deletedAt"]
    with pytest.raises(Problem, match="title") as refused, a.transaction(NOON + 20, HIGH) as tx:
        conflict.keep(tx, "t", "deletedAt", 2)
    assert refused.value.code == "other-conflicts"
    with a.transaction(NOON + 20, HIGH) as tx:
        conflict.keep(tx, "t", "title", 2)
        conflict.keep(tx, "t", "deletedAt", 2)
    entity = a.read("t")
    assert entity is not None
    assert entity.value("title") == "Oat milk"
    assert listed(a) == []


@pytest.mark.parametrize(
    ("path", "choice", "code"), [("title", 3, "bad-value"), ("title", 0, "bad-value"), ("priority", 1, "no-conflict")]
)
def test_what_is_not_there_cannot_be_kept(tmp_path: Path, path: str, choice: int, code: str) -> None:
    a, _ = apart(tmp_path)
    before = digest_of(a)
    with pytest.raises(Problem) as refused, a.transaction(NOON + 10, HIGH) as tx:
        conflict.keep(tx, "t", path, choice)
    assert refused.value.code == code
    assert digest_of(a) == before


def test_a_deletion_cannot_be_combined(tmp_path: Path) -> None:
    a, _ = deleted_here_edited_there(tmp_path)
    with pytest.raises(Problem, match="deleted or it is not"), a.transaction(NOON + 10, HIGH) as tx:
        conflict.combine(tx, "t", "deletedAt", "maybe")
