"""What the columns of the rows answer beside a row that the disk has damaged: STORE-945."""

from pathlib import Path
from typing import Any

import pytest
from tests.support import sqlite
from tests.support.stores import NOON, new_store

from lottisync.entities.entity import HIGH
from lottisync.store import lookups
from lottisync.store.store import Store

COLUMNS = ("id", "type", "serialized", "clock", "stamps", "created_at", "updated_at", "deleted_at", "subtype")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two tasks of which one is damaged, a deleted one, and a dot of each that is not known yet."""
    store = new_store(tmp_path)
    for ident in ("t1", "t2", "t3"):
        with store.transaction(NOON, HIGH) as tx:
            tx.put(ident, "task", {"title": ident})
    with store.transaction(NOON, HIGH) as tx:
        tx.delete("t3")
    return store


@pytest.mark.parametrize("column", COLUMNS)
def test_store_945_text_that_is_not_utf_8_hides_nothing_beside_it(store: Store, column: str) -> None:
    """STORE-945, STORE-101, REL-D7: one such cell ended `task list`, `review`, undo and the greeting with an error."""
    sqlite.connection(store).execute(
        f"update journal_entities set {column} = cast(x'ff00' as text) where id = 't1'"
    ).fetchall()
    with store.reading() as reader:
        found: dict[str, Any] = {
            "ids": lookups.ids(reader),
            "last_changed": lookups.last_changed(reader, 10),
            "live_since": [ident for ident, _ in lookups.live_since(reader, 0)],
            "ids_with_prefix": lookups.ids_with_prefix(reader, "task", "t", 10),
            "made_at": [ident for _, ident in lookups.made_at(reader, "select id from journal_entities")],
            "ids_like": lookups.ids_like(reader, "t2", 10),
            "held_of": [ident for _, _, ident in lookups.held_of(reader, dict.fromkeys(reader.knowledge(), 0))],
        }
        assert {name for name, ids in found.items() if "t2" not in ids} == set()
        assert lookups.deleted_ids(reader, "task")[-1:] == ["t3"]
        assert lookups.updated_at(reader, "t2").startswith("20")
        assert lookups.updated_at(reader, "t1") != "" or column == "id"
        assert isinstance(lookups.subtypes(reader, "task"), set)
        assert ("t1" in found["held_of"]) is (column != "id")


def test_store_945_an_entry_of_the_index_without_its_row_hides_no_other(store: Store) -> None:
    """STORE-945: the row was taken away behind the store's back; the round went on with an id that is not valid."""
    sqlite.connection(store).execute("delete from journal_entities where id = 't1'").fetchall()
    with store.reading() as reader:
        held = lookups.held_of(reader, dict.fromkeys(reader.knowledge(), 0))
    assert {ident for _, _, ident in held} == {"t2", "t3"}
