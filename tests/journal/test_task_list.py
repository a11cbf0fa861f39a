"""Pages of the list of tasks: JOUR-40, JOUR-41."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.support.stores import NOON, new_store

from lottisync.entities.entity import HIGH
from lottisync.entities.version import Damaged
from lottisync.journal import tasks
from lottisync.journal.task_list import FILE, SORTS, Page, TaskList, Wanted, page_of, selection
from lottisync.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = new_store(tmp_path)
    with made.transaction(NOON, HIGH) as tx:
        tasks.add_task(tx, "milk", "Buy milk", {"due": "2026-12-01", "labels": {"shopping": True}})
        tasks.add_task(tx, "bread", "bake bread", {"priority": "P0", "createdAt": "2020-01-01T00:00:00.000Z"})
        tasks.add_task(tx, "cake", "Bake cake", {"due": "2026-11-01", "createdAt": "2037-01-01T00:00:00.000Z"})
        tasks.add_task(tx, "tax", "File taxes", {"status": "DONE"})
        tasks.add_item(tx, "i1", "milk", "Bottles")
    yield made
    made.close()


@pytest.fixture
def listed(tmp_path: Path, store: Store) -> Iterator[TaskList]:
    made = TaskList(tmp_path / FILE, store)
    yield made
    made.close()


def ids(page: Page) -> list[str]:
    return [line.id for line in page.lines]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), ["bread", "cake", "milk"]),
        (Wanted("due"), ["cake", "milk", "bread"]),
        (Wanted("title"), ["bread", "cake", "milk"]),
        (Wanted("created"), ["cake", "milk", "bread"]),
        (Wanted(everything=True), ["bread", "cake", "milk", "tax"]),
        (Wanted(statuses=("DONE",)), ["tax"]),
        (Wanted(until="2026-11-30"), ["cake"]),
        (Wanted(label="shopping"), ["milk"]),
        (Wanted(ids=("milk", "tax", "gone")), ["milk"]),
        (Wanted(deleted=True), []),
        (Wanted(limit=2), ["bread", "cake"]),
        (Wanted(limit=2, skip=2), ["milk"]),
    ],
)
def test_jour_40_a_page_has_what_fits_in_its_order(listed: TaskList, wanted: Wanted, found: list[str]) -> None:
    """JOUR-40"""
    page = listed.page(wanted)
    assert ids(page) == found
    assert page.more == (wanted.limit == 2 and not wanted.skip)


def test_jour_40_a_page_has_what_was_committed_before(listed: TaskList, store: Store) -> None:
    """JOUR-40: a change, a label that was taken off, a deletion, and a task that comes back."""
    assert ids(listed.page(Wanted())) == ["bread", "cake", "milk"]
    with store.transaction(NOON + 1_000, HIGH) as tx:
        tasks.edit_task(tx, "milk", {"priority": "P0", "due": None, "labels": {"shopping": None}})
        tasks.delete_task(tx, "cake")
    assert ids(listed.page(Wanted())) == ["bread", "milk"]
    assert ids(listed.page(Wanted("changed"))) == ["milk", "bread"]
    assert ids(listed.page(Wanted(label="shopping"))) == []
    assert ids(listed.page(Wanted(deleted=True))) == ["cake"]
    with store.transaction(NOON + 2_000, HIGH) as tx:
        tasks.undelete_task(tx, "cake")
    assert ids(listed.page(Wanted("changed"))) == ["cake", "milk", "bread"]


@pytest.mark.parametrize("sort", list(SORTS))
def test_jour_41_a_page_is_read_in_the_order_of_an_index(listed: TaskList, tmp_path: Path, sort: str) -> None:
    """JOUR-41: the database sorts nothing, so a page costs the same whatever the number of tasks."""
    listed.catch_up()
    connection = apsw.Connection(str(tmp_path / FILE))
    sql, bindings = selection(Wanted(sort, limit=50))
    plan = [row[3] for row in connection.execute(f"explain query plan {sql}", bindings)]
    connection.close()
    assert plan == [f"SEARCH tasks USING COVERING INDEX by_{sort} (deleted=? AND open=?)"]


def test_jour_243_a_damaged_task_is_named_and_hides_no_other(listed: TaskList, store: Store) -> None:
    """JOUR-243, STORE-29, STORE-70: whether it was damaged before it was indexed or after."""
    connection = apsw.Connection(str(store.file))
    for ident in ("milk", "cake"):
        connection.execute(
            "update journal_entities set serialized = substr(serialized, 1, 20) where id = ?", (ident,)
        ).fetchall()
        page = listed.page(Wanted())
        assert ident not in ids(page)
        assert any(ident in problem.message for problem in page.damaged)
    connection.close()
    assert ids(listed.page(Wanted())) == ["bread"]


@pytest.mark.parametrize("indexed", [False, True], ids=["before it was indexed", "after"])
def test_jour_661_a_task_whose_id_is_not_text_any_more_is_named(listed: TaskList, store: Store, indexed: bool) -> None:
    """JOUR-661, STORE-70: before, it was left out silently."""
    if indexed:
        listed.page(Wanted())
    damage(store, "id = cast(x'ff00' as text)")
    page = listed.page(Wanted())
    assert ids(page) == ["bread", "cake"]
    assert ["damaged" in problem.message for problem in page.damaged] == [True]
    damage(store, "id = 'milk'", cast="cast(x'ff00' as text)")
    assert ids(listed.page(Wanted())) == ["bread", "cake", "milk"]
    assert listed.page(Wanted()).damaged == []


def test_jour_661_a_task_whose_id_is_another_now_is_listed_under_that(listed: TaskList, store: Store) -> None:
    """JOUR-661: the index knew the old id, and the task was left out silently."""
    listed.page(Wanted())
    damage(store, "id = 'mjlk'")
    assert ids(listed.page(Wanted())) == ["bread", "cake", "mjlk"]


def test_jour_661_a_task_whose_type_is_not_text_any_more_hides_no_other(listed: TaskList, store: Store) -> None:
    """JOUR-661, STORE-70: the list was answered with the damage alone."""
    listed.page(Wanted())
    damage(store, "type = cast(x'ff' as text)")
    page = listed.page(Wanted())
    assert ids(page) == ["bread", "cake"]
    assert ["milk" in problem.message for problem in page.damaged] == [True]


def damage(store: Store, change: str, cast: str = "'milk'") -> None:
    connection = apsw.Connection(str(store.file))
    connection.execute(f"update journal_entities set {change} where id = {cast}").fetchall()
    assert connection.changes() == 1
    connection.close()


CHILD_DAMAGES = [
    "id = cast(x'ff00' as text)",
    "type = cast(x'ff' as text)",
    "serialized = '{'",
    "serialized = cast(x'ff' as text)",
]


@pytest.mark.parametrize("change", CHILD_DAMAGES)
def test_jour_660_a_damaged_item_keeps_no_task_from_being_shown(store: Store, change: str) -> None:
    """JOUR-660, STORE-70: the page of the task was the damage alone."""
    with store.transaction(NOON, HIGH) as tx:
        tasks.add_item(tx, "i2", "milk", "Tins")
    connection = apsw.Connection(str(store.file))
    connection.execute(f"update journal_entities set {change} where id = 'i1'").fetchall()
    connection.close()
    with store.reading() as reader:
        page = tasks.page(reader, "milk")
        assert (page.task.title, [item.id for item in page.items]) == ("Buy milk", ["i2"])
        assert ["is damaged" in problem.message for problem in page.damaged] == [True]
        with pytest.raises(Damaged):
            tasks.whole_page(reader, "milk")


def test_jour_40_an_index_that_is_lost_is_built_again(listed: TaskList, store: Store, tmp_path: Path) -> None:
    """JOUR-40"""
    before = listed.page(Wanted())
    listed.close()
    (tmp_path / FILE).write_bytes(b"no database")
    again = TaskList(tmp_path / FILE, store)
    assert again.page(Wanted()) == before
    again.close()


def test_jour_40_a_disk_that_takes_no_index_has_a_list_all_the_same(store: Store, tmp_path: Path) -> None:
    """JOUR-40: the index is built in memory."""
    (tmp_path / FILE).mkdir()
    assert ids(page_of(tmp_path / FILE, store, Wanted())) == ["bread", "cake", "milk"]
