"""Full-text search as a consumer of the change feed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.stores import NOON, minting, new_store, send

from lottisync.entities.entity import HIGH
from lottisync.store.reader import Document
from lottisync.store.store import Store
from lottisync.store.text_index import FILE, TextIndex


def words(document: Document) -> str:
    return str(document.document().get("title", "")) if document.type == "task" else ""


class Library:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = new_store(folder)
        self.index = TextIndex(folder / FILE, {"journal": self.store}, words)

    def title(self, ident: str, title: str) -> None:
        with self.store.transaction(NOON, HIGH) as tx:
            tx.put(ident, "task", {"title": title})

    def found(self, query: str) -> list[str]:
        return sorted(hit.id for hit in self.index.search(query))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    yield made
    made.index.close()
    made.store.close()


def test_words_are_found_whatever_their_capitals_accents_and_endings(library: Library) -> None:
    library.title("a", "Réparer le vélo rouge")
    library.title("b", "Buy red paint")
    assert library.found("VELO") == ["a"]
    assert library.found("rep") == ["a"]
    assert library.found("red buy") == ["b"]
    assert library.found("red velo") == []
    [hit] = library.index.search("paint")
    assert (hit.store, hit.type, hit.piece) == ("journal", "task", "Buy red [paint]")


def test_scripts_without_spaces_are_found_by_any_part(library: Library) -> None:
    library.title("a", "明天修理自行车")
    library.title("b", "自动")
    assert library.found("自行车") == ["a"]
    assert library.found("自") == ["a", "b"]
    assert library.found("车自") == []
    [hit] = library.index.search("自行车")
    assert hit.piece == "明天修理[自行车]"


def test_an_edit_and_a_deletion_are_followed(library: Library) -> None:
    """STORE-32"""
    library.title("a", "Flour")
    assert library.found("flour") == ["a"]
    library.title("a", "Sugar")
    assert (library.found("flour"), library.found("sugar")) == ([], ["a"])
    with library.store.transaction(NOON, HIGH) as tx:
        tx.delete("a")
    assert library.found("sugar") == []
    with library.store.transaction(NOON, HIGH) as tx:
        tx.undelete("a")
    assert library.found("sugar") == ["a"]


def test_what_came_from_a_peer_is_found(library: Library, tmp_path: Path) -> None:
    """STORE-32"""
    other = new_store(tmp_path, 2)
    with other.transaction(NOON, HIGH) as tx:
        tx.put("x", "task", {"title": "Carrots"})
    send(other, library.store)
    assert library.found("carrots") == ["x"]


def test_a_second_look_indexes_only_what_is_new(library: Library) -> None:
    for number in range(5):
        library.title(f"t{number}", "x")
    assert library.index.catch_up() == 5
    assert library.index.catch_up() == 0
    library.title("t1", "y")
    assert library.index.catch_up() == 1


@pytest.mark.parametrize("damage", ["lost", "garbage", "older"])
def test_the_index_is_built_again(library: Library, damage: str) -> None:
    """STORE-33"""
    library.title("a", "Flour")
    assert library.found("flour") == ["a"]
    library.index.close()
    file = library.folder / FILE
    if damage == "lost":
        file.unlink()
    elif damage == "garbage":
        file.write_bytes(b"no database at all" * 100)
    else:
        import sqlite3

        with sqlite3.connect(file) as connection:
            connection.execute("pragma user_version=99")
    library.index = TextIndex(file, {"journal": library.store}, words)
    assert library.found("flour") == ["a"]


def test_a_restored_store_is_indexed_again(library: Library) -> None:
    """STORE-33"""
    library.title("a", "Flour")
    library.store.close()
    backup = library.folder / "backup"
    shutil.copy(library.store.file, backup)
    library.store = Store.open(library.store.file, library.store.schema, minting(1))
    library.index._stores = {"journal": library.store}
    library.title("b", "Butter")
    assert library.found("butter") == ["b"]
    library.store.close()
    for ending in ("-wal", "-shm"):
        library.store.file.with_name(library.store.file.name + ending).unlink(missing_ok=True)
    shutil.copy(backup, library.store.file)
    library.store = Store.open(library.store.file, library.store.schema, minting(1))
    library.index._stores = {"journal": library.store}
    assert (library.found("butter"), library.found("flour")) == ([], ["a"])


@given(st.text(max_size=40))
def test_no_query_is_taken_for_an_operator(query: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        index = TextIndex(Path(folder) / FILE, {}, words)
        assert index.search(query) == []
        index.close()
