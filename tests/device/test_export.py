"""Leaving with everything, and starting over with it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.rounds import send
from tests.support.stores import NOON, dump, new_store

from lottisync.device import export
from lottisync.entities.entity import HIGH, LOW, is_deleted
from lottisync.problem import Problem
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction


def documents(store: Store) -> dict[str, dict[str, Any]]:
    """What every entity shows, by id; a deleted one shows only that it is."""
    found = {}
    with store.reading() as reader:
        for change in reader.changes(0, 10_000):
            entity = reader.entity(change.id)
            assert entity is not None
            shown = entity.document()
            deleted = shown.pop("deletedAt", None)
            found[change.id] = {"deleted": True} if deleted is not None else shown
    return found


def lines_of(store: Store) -> list[bytes]:
    return list(export.lines({"journal": store}))


def filled(folder: Path) -> Store:
    store = new_store(folder)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Bäckerei 面包", "labels": {"a": True, "b": True}, "estimate": 30})
        tx.put("t1", "task", {"status": "BLOCKED"}, precedence=LOW)
        tx.put("t2", "task", {"title": "gone"})
        tx.link("entryLink", "t1", "t2", {"relations": {"blocks": True}})
    with store.transaction(NOON + 1, HIGH) as tx:
        tx.put("t1", "task", {"title": "Bakery", "labels": {"b": None}})
        tx.delete("t2")
    return store


def test_backup_10_an_export_into_an_empty_device_shows_the_same(tmp_path: Path) -> None:
    """BACKUP-10, BACKUP-23"""
    source, target = filled(tmp_path), new_store(tmp_path, 2)
    assert export.take({"journal": target}, lines_of(source), NOON) == export.Imported(3, 0)
    assert documents(target) == documents(source)
    with target.reading() as reader, source.reading() as there:
        assert broken_invariants(reader) == []
        assert [(o.path, o.value) for o in reader.overwritten("t1")] == [
            (o.path, o.value) for o in there.overwritten("t1")
        ]
        [connection] = reader.links_from("t1")
        assert connection.value("relations/blocks") is True
    imported = target.read("t1")
    assert imported is not None
    assert {path: writes[0].stamp.precedence for path, writes in imported.registers.items()}["status"] == LOW
    assert target.read("t2") is not None
    assert is_deleted(target.read("t2"))  # type: ignore[arg-type]


def test_backup_11_what_is_here_is_left_alone(tmp_path: Path) -> None:
    """BACKUP-11: also what was deleted here, and a second import."""
    source, target = filled(tmp_path), new_store(tmp_path, 2)
    with target.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "mine"})
        tx.delete("t1")
    assert export.take({"journal": target}, lines_of(source), NOON) == export.Imported(2, 1)
    before = dump(target)
    assert export.take({"journal": target}, lines_of(source), NOON) == export.Imported(0, 3)
    assert dump(target) == before
    assert documents(target)["t1"] == {"deleted": True}


def test_backup_10_conflicts_are_in_the_export(tmp_path: Path) -> None:
    """BACKUP-10: nothing that somebody wrote is missing."""
    a, b = filled(tmp_path), new_store(tmp_path, 2)
    send(a, b)
    for store, title in ((a, "Red"), (b, "Blue")):
        with store.transaction(NOON + 5, HIGH) as tx:
            tx.put("t1", "task", {"title": title})
    send(b, a)
    [line] = [line for line in lines_of(a) if b'"id":"t1"' in line]
    record = msgspec.json.decode(line)
    assert {record["fields"]["title"], record["siblings"]["title"][0]["value"]} == {"Red", "Blue"}


def test_backup_24_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """BACKUP-24"""
    source, target = filled(tmp_path), new_store(tmp_path, 2)
    before = dump(target)
    assert export.take({"journal": target}, lines_of(source), NOON, dry_run=True) == export.Imported(3, 0)
    assert dump(target) == before


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda lines: [], "there is no line"),
        (lambda lines: lines[1:], "line 1 is not of the format"),
        (lambda lines: [b'{"format":"other/1"}', *lines[1:]], "the format is 'other/1'"),
        (lambda lines: [*lines[:2], lines[2][:-5]], "line 3 is not of the format"),
        (lambda lines: [*lines[:2], b"\xff"], "line 3 is not of the format"),
        (lambda lines: [*lines, b"[" * 100_000], "line 5 is not of the format"),
        (lambda lines: [*lines, lines[1].replace(b'"journal"', b'"music"')], "line 5 is of the store 'music'"),
        (lambda lines: [*lines, b" " * 10 + b"x" * (export.MAX_LINE + 1)], "line 5 has"),
    ],
)
def test_backup_12_a_damaged_export_is_refused_with_its_line_and_changes_nothing(
    tmp_path: Path, spoil: Any, sentence: str
) -> None:
    """BACKUP-12"""
    source, target = filled(tmp_path), new_store(tmp_path, 2)
    before = dump(target)
    with pytest.raises(Problem, match=sentence):
        export.take({"journal": target}, spoil(lines_of(source)), NOON)
    assert dump(target) == before


def test_many_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BACKUP-23: also what both precedences have written."""
    source, target = new_store(tmp_path), new_store(tmp_path, 2)
    with source.transaction(NOON, HIGH) as tx:
        tx.put_all((f"t{n}", "task", {"title": f"Task {n}", "createdAt": "2026"}) for n in range(300))
        tx.put_all(((f"t{n}", "task", {"languageCode": "de"}) for n in range(0, 300, 3)), precedence=LOW)
        tx.put_all(((f"a{n}", "task", {"title": "by a program"}) for n in range(50)), precedence=LOW)
    lines = lines_of(source)
    monkeypatch.setattr(Transaction, "put", None)
    assert export.take({"journal": target}, lines, NOON) == export.Imported(350, 0)
    assert documents(target) == documents(source)
    for ident in ("t0", "t1", "a1"):
        here, there = target.read(ident), source.read(ident)
        assert here is not None
        assert there is not None
        assert [here.registers.stamp(p).precedence for p in sorted(here.registers)] == [
            there.registers.stamp(p).precedence for p in sorted(there.registers)
        ]


def test_backup_11_of_two_lines_of_one_id_the_first_is_imported(tmp_path: Path) -> None:
    """BACKUP-11: the second finds it here already."""
    source, target = filled(tmp_path), new_store(tmp_path, 2)
    header, *lines = lines_of(source)
    again = [line.replace(b"Bakery", b"Butcher's") for line in lines]
    assert export.take({"journal": target}, [header, *lines, *again], NOON) == export.Imported(3, 3)
    assert documents(target) == documents(source)


@examples(40)
@given(
    st.dictionaries(
        st.sampled_from(["title", "note", "labels/x", "labels/y"]),
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20) | st.lists(st.text()),
        min_size=1,
    )
)
def test_backup_23_any_document_comes_back(fields: dict[str, Any]) -> None:
    """BACKUP-23"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source, target = new_store(Path(folder)), new_store(Path(folder), 2)
        with source.transaction(NOON, HIGH) as tx:
            tx.put("x", "thing", fields)
        export.take({"journal": target}, lines_of(source), NOON)
        assert documents(target) == documents(source)
        source.close()
        target.close()
