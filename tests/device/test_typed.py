"""A store as a program's own structs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from tests.support import sqlite
from tests.support.rounds import send
from tests.support.stores import NOON, minting

from lottisync.device.typed import Reading, Writing
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.schema import EntityType, schema
from lottisync.entities.version import Damaged
from lottisync.problem import Problem
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction


class Recipe(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    title: str = ""
    serves: int = 2
    cooking_minutes: int | None = None
    course: str = ""
    book_id: str = ""
    tags: dict[str, bool] = {}


class Book(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = "My book"


class Other(msgspec.Struct, frozen=True):
    id: str = ""


COOKBOOK = schema(
    "cookbook",
    [EntityType("recipe", Recipe, owner="bookId", subtype="course"), EntityType("book", Book)],
    owner_column="book_id",
)


class Kitchen:
    def __init__(self, folder: Path, number: int) -> None:
        folder.mkdir()
        self.store = Store.create(folder / "cookbook.sqlite", COOKBOOK, minting(number))
        self.now = NOON
        self._ids = (f"{number}-{n}" for n in count(1))

    @contextmanager
    def write(self, precedence: int = HIGH) -> Iterator[Writing]:
        self.now += 1000
        with self.store.transaction(self.now, precedence) as tx:
            yield Writing(tx, lambda now: next(self._ids))

    @contextmanager
    def read(self) -> Iterator[Reading]:
        with self.store.reading() as reader:
            yield Reading(reader)

    def get(self, ident: str) -> Recipe:
        with self.read() as reading:
            found = reading.get(ident, Recipe)
        assert found is not None
        return found


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path / "laptop", 1)


def test_what_was_added_is_read_as_its_struct(kitchen: Kitchen) -> None:
    with kitchen.write() as tx:
        soup = tx.add(Recipe(title="Soup", cooking_minutes=30, tags={"warm": True}))
        assert tx.get(soup, Recipe) == Recipe(soup, "Soup", cooking_minutes=30, tags={"warm": True})
        assert tx.add(Recipe(id="bread", title="Bread")) == "bread"
        empty = tx.add(Book())
    assert kitchen.get(soup).cooking_minutes == 30
    with kitchen.read() as reading:
        assert [recipe.title for recipe in reading.all(Recipe)] == ["Soup", "Bread"]
        assert reading.all(Book) == [Book(empty)]
        assert reading.get("nothing", Recipe) is None


def test_an_edit_writes_the_named_fields_only(kitchen: Kitchen) -> None:
    with kitchen.write() as tx:
        soup = tx.add(Recipe(title="Soup", tags={"warm": True, "quick": True}))
    with kitchen.write() as tx:
        tx.edit(soup, serves=4, tags={"quick": None, "red": True})
    assert kitchen.get(soup) == Recipe(soup, "Soup", 4, tags={"warm": True, "red": True})
    with kitchen.read() as reading:
        assert [(old.path, old.value) for old in reading.history(soup)] == [("tags/quick", True)]
    with kitchen.write() as tx:
        tx.edit(kitchen.get(soup), title="Tomato soup")
    assert kitchen.get(soup).title == "Tomato soup"


def test_what_was_replaced_is_a_value_as_those_of_conflicts_are(kitchen: Kitchen) -> None:
    """It was the JSON in which it is stored."""
    with kitchen.write() as tx:
        soup = tx.add(Recipe(title="Soup"))
    with kitchen.write(LOW) as tx:
        tx.edit(soup, title="Onion soup")
    with kitchen.write() as tx:
        tx.edit(soup, title="Stew")
    with kitchen.read() as reading:
        first, second = reading.history(soup)
    assert (first.path, first.value, first.precedence, first.millis) == ("title", "Soup", HIGH, NOON + 1000)
    assert (second.value, second.precedence, second.host) == ("Onion soup", LOW, second.dot.host)
    sqlite.connection(kitchen.store).execute("update history set value = '{'").fetchall()
    with kitchen.read() as reading, pytest.raises(Damaged):
        reading.history(soup)


def written(store: Store) -> dict[str, list[Any]]:
    """All of a store but the name of its file."""
    with store.reading() as reader:
        found = {table: reader.local(f"select * from {table}") for table in ("rows", "components", "chain", "history")}
        return found | {"state": reader.local("select host, counter, millis, ticks, digest, n, feed from state")}


def test_many_are_added_and_edited_as_one_by_one(tmp_path: Path) -> None:
    """STORE-91: the two ways make the same store, and the ids are in the order of what was given."""
    recipes = [
        Recipe(title=f"Recipe {n}", serves=2 + n % 5, tags={"warm": True} if n % 3 else {}, book_id="b" * (n % 2))
        for n in range(300)
    ]
    mine = [Recipe(id="bread", title="Bread"), Book(title="Soups"), Book(), Recipe()]
    one, many = Kitchen(tmp_path / "one", 1), Kitchen(tmp_path / "many", 1)
    with one.write() as tx:
        ids = [tx.add(entity) for entity in (*recipes, *mine)]
    with many.write() as tx:
        assert tx.add_all((*recipes, *mine)) == ids
    changes = [(ident, {"serves": 9, "tags": {"warm": None, "red": True}}) for ident in ids[:200]]
    with one.write() as tx:
        for ident, fields in changes:
            tx.edit(ident, **fields)
    with many.write() as tx:
        tx.edit_all(changes)
        tx.edit_all([])
        assert tx.add_all([]) == []
    assert written(one.store) == written(many.store)
    assert many.get(ids[0]) == Recipe(ids[0], "Recipe 0", 9, tags={"red": True})


def test_a_value_that_is_the_default_today_is_not_tomorrow(tmp_path: Path) -> None:
    """A factory makes another default each day; what is written is what differs from that of this moment."""
    today = ["Monday"]

    class Menu(msgspec.Struct, frozen=True):
        id: str = ""
        title: str = ""
        day: str = msgspec.field(default_factory=lambda: today[0])

    tmp_path.joinpath("menu").mkdir()
    store = Store.create(tmp_path / "menu" / "menu.sqlite", schema("menu", [EntityType("menu", Menu)]), minting(1))
    with store.transaction(NOON, HIGH) as tx:
        Writing(tx, str).add(Menu("a", "Soup"))
    today[0] = "Tuesday"
    with store.transaction(NOON, HIGH) as tx:
        Writing(tx, str).add_all([Menu("b", "Pie", "Monday"), Menu("c", "Salad")])
    with store.reading() as reader:
        stored = [document.stored for document in reader.documents("menu")]
    assert sorted(stored) == [b'{"day":"Monday","title":"Pie"}', b'{"title":"Salad"}', b'{"title":"Soup"}']


def test_many_are_written_together(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `add_all` and `edit_all` are for: no write of theirs goes alone."""
    monkeypatch.setattr(Transaction, "put", None)
    with kitchen.write() as tx:
        ids = tx.add_all(Recipe(title=f"Recipe {n}", serves=4) for n in range(100))
    with kitchen.write() as tx:
        tx.edit_all((ident, {"title": "Soup"}) for ident in ids)
    with kitchen.read() as reading:
        assert {recipe.title for recipe in reading.all(Recipe)} == {"Soup"}


def test_a_deleted_entity_is_not_shown_and_can_come_back(kitchen: Kitchen) -> None:
    with kitchen.write() as tx:
        soup = tx.add(Recipe(title="Soup"))
    with kitchen.write() as tx:
        tx.delete(soup)
    with kitchen.read() as reading:
        assert reading.get(soup, Recipe) is None
        assert reading.all(Recipe) == []
    with kitchen.write() as tx:
        tx.undelete(soup)
    assert kitchen.get(soup).title == "Soup"


def test_indexed_fields_are_found_by(kitchen: Kitchen) -> None:
    with kitchen.write() as tx:
        for title, course, book in (("Soup", "starter", "a"), ("Pie", "dessert", "a"), ("Salad", "starter", "b")):
            tx.add(Recipe(title=title, course=course, book_id=book))
    with kitchen.read() as reading:
        assert [r.title for r in reading.find(Recipe, course="starter")] == ["Soup", "Salad"]
        assert [r.title for r in reading.find(Recipe, book_id="a", course="starter")] == ["Soup"]
        with pytest.raises(Problem, match="title has no index; indexed fields: bookId, course"):
            reading.find(Recipe, title="Soup")
        with pytest.raises(Problem, match="no index; indexed fields: none"):
            reading.find(Book, title="Soup")


class Meal(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""
    course: str = "main"
    cook: str | None = None


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Plate(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    title: str = ""
    table_size: Size = Size.SMALL
    shape: Literal["round", "oval"] = "round"


TABLE = schema(
    "table",
    [
        EntityType("meal", Meal, owner="cook", subtype="course"),
        EntityType("plate", Plate, owner="tableSize", subtype="shape"),
    ],
)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Store]:
    store = Store.create(tmp_path / "table.sqlite", TABLE, minting(1))
    yield store
    store.close()


def titles(store: Store, kind: type[Any], **fields: str | None) -> list[str]:
    with store.reading() as reader:
        return [each.title for each in Reading(reader).find(kind, **fields)]


def test_store_1004_a_search_finds_what_reads_so_by_default(table: Store) -> None:
    """STORE-1004: what has its default is not written, and so was found by no search."""
    ids = count(1)
    with table.transaction(NOON, HIGH) as tx:
        writing = Writing(tx, lambda now: f"m{next(ids)}")
        for title, course in (("Roast", None), ("Stew", "main"), ("Pie", "dessert"), ("Snack", "")):
            writing.add(Meal(title=title) if course is None else Meal(title=title, course=course))
        writing.edit(writing.add(Meal(title="Soup", course="starter")), course="main")
        tx.put("x", "meal", {"title": "Elsewhere"})
        tx.put("y", "meal", {"title": "Newer", "course": ["main", "side"]})
    assert titles(table, Meal, course="main") == ["Roast", "Stew", "Soup", "Elsewhere", "Newer"]
    assert titles(table, Meal, course="dessert") == ["Pie"]
    assert titles(table, Meal, course="") == ["Snack"]
    assert titles(table, Meal, course="side") == []


def test_store_1004_a_search_by_owner_finds_what_has_none(table: Store) -> None:
    """STORE-1004: in the index, an entity without an owner owns itself."""
    with table.transaction(NOON, HIGH) as tx:
        ids = Writing(tx, lambda now: "roast").add_all([Meal(title="Roast"), Meal("b", "Stew", cook="ann")])
        tx.put("c", "meal", {"title": "Pie", "cook": ""})
    assert titles(table, Meal, cook=None) == ["Roast"]
    assert titles(table, Meal, cook="ann") == ["Stew"]
    assert titles(table, Meal, cook="") == ["Pie"]
    assert titles(table, Meal, cook=ids[0]) == []
    assert titles(table, Meal, cook=None, course="main") == ["Roast"]
    assert titles(table, Meal, cook="ann", course="dessert") == []


def test_store_1004_a_search_finds_what_reads_so_for_its_text_does_not_fit(table: Store) -> None:
    """STORE-1004: a newer program on another device may write other texts into a field of some texts."""
    with table.transaction(NOON, HIGH) as tx:
        Writing(tx, str).add(Plate("a", "Mine", Size.LARGE, "oval"))
        tx.put("b", "plate", {"title": "Theirs", "tableSize": "huge", "shape": "square"})
        tx.put("c", "plate", {"title": "Plain"})
    assert titles(table, Plate, table_size="small") == titles(table, Plate, shape="round") == ["Theirs", "Plain"]
    assert titles(table, Plate, table_size="large", shape="oval") == ["Mine"]
    with pytest.raises(Problem, match=r"plate.shape cannot be 'square'"):
        titles(table, Plate, shape="square")
    with pytest.raises(Problem, match=r"meal.course cannot be None"):
        titles(table, Meal, course=None)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda tx: tx.edit("soup", titel="x"), "Recipe has no field 'titel'; it has: title, serves, cooking_minutes"),
        (lambda tx: tx.edit("soup", id="x"), "no field 'id'"),
        (lambda tx: tx.edit("soup", serves="four"), "recipe.serves cannot be 'four'"),
        (lambda tx: tx.edit("nothing", serves=4), "there is no nothing"),
        (lambda tx: tx.add(Recipe(id="soup", title="x")), "there is a recipe soup already"),
        (lambda tx: tx.add(msgspec.structs.replace(Recipe(), title=7)), "recipe.title cannot be 7"),
        (lambda tx: tx.add_all([Recipe(), Recipe(id="soup")]), "there is a recipe soup already"),
        (lambda tx: tx.add_all([Recipe(id="pie"), Book(id="pie")]), "there is a book pie already"),
        (lambda tx: tx.add_all([Recipe(), msgspec.structs.replace(Recipe(), title=7)]), "recipe.title cannot be 7"),
        (lambda tx: tx.edit_all([("soup", {"serves": 3}), ("soup", {"titel": "x"})]), "no field 'titel'"),
        (lambda tx: tx.edit_all([("soup", {"serves": 3}), ("nothing", {"serves": 3})]), "there is no nothing"),
        (lambda tx: tx.edit_all([("soup", {"serves": 3}), ("soup", {})]), "needs at least one field"),
        (lambda tx: tx.add(Other()), "no type that is read as Other"),
        (lambda tx: tx.get("soup", Book), "soup is a recipe, not a book"),
        (lambda tx: tx.find(Recipe, kitchen="x"), "Recipe has no field 'kitchen'"),
    ],
)
def test_a_mistake_is_a_sentence_and_changes_nothing(
    kitchen: Kitchen, wrong: Callable[[Writing], object], sentence: str
) -> None:
    with kitchen.write() as tx:
        tx.add(Recipe(id="soup", title="Soup"))

    def mistaken() -> None:
        with kitchen.write() as tx:
            tx.edit("soup", title="changed before the mistake")
            wrong(tx)

    with pytest.raises(Problem, match=sentence):
        mistaken()
    assert kitchen.get("soup").title == "Soup"


def test_a_type_without_a_struct_is_not_edited(kitchen: Kitchen) -> None:
    """A newer program on another device may have types that this one does not know."""
    with kitchen.store.transaction(NOON, HIGH) as tx:
        tx.put("x", "menu", {"title": "Sunday"})
    with pytest.raises(Problem, match="x is a menu, of which this program has no struct"), kitchen.write() as tx:
        tx.edit("x", title="Monday")


def test_a_write_has_the_precedence_of_its_transaction(kitchen: Kitchen) -> None:
    """STORE-31"""
    with kitchen.write(LOW) as tx:
        soup = tx.add(Recipe(title="Soup"))
    entity = kitchen.store.read(soup)
    assert entity is not None
    assert {stamp.precedence for stamp in entity.registers.all_stamps()} == {LOW}


def test_both_of_two_concurrent_edits_are_kept_and_can_be_settled(tmp_path: Path) -> None:
    laptop, phone = Kitchen(tmp_path / "a", 1), Kitchen(tmp_path / "b", 2)
    with laptop.write() as tx:
        soup = tx.add(Recipe(title="Soup"))
    send(laptop.store, phone.store)
    with laptop.write() as tx:
        tx.edit(soup, title="Red soup")
    with phone.write() as tx:
        tx.edit(soup, title="Hot soup")
    send(phone.store, laptop.store)
    with laptop.write() as tx:
        [conflict] = tx.conflicts(soup)
        assert tx.conflicts() == [conflict]
        assert {each.value for each in conflict.candidates} == {"Red soup", "Hot soup"}
        assert conflict.candidates[0].value == laptop.get(soup).title
        tx.combine(conflict, "Hot red soup")
        assert tx.conflicts(soup) == []
    with phone.write() as tx:
        tx.edit(soup, serves=8)
    send(phone.store, laptop.store)
    assert laptop.get(soup) == Recipe(soup, "Hot red soup", 8)


class Oddity(msgspec.Struct, frozen=True):
    id: str = ""
    kind: str = ""
    entity: str = ""


def test_fields_may_be_called_as_our_own_arguments_are(tmp_path: Path) -> None:
    oddities = schema("oddities", [EntityType("oddity", Oddity, subtype="kind")])
    store = Store.create(tmp_path / "oddities.sqlite", oddities, minting(1))
    with store.transaction(NOON, HIGH) as tx:
        writing = Writing(tx, lambda now: "1")
        ident = writing.add(Oddity(kind="a"))
        writing.edit(ident, kind="b", entity="c")
    with store.reading() as reader:
        assert Reading(reader).find(Oddity, kind="b") == [Oddity(id="1", kind="b", entity="c")]
    store.close()


class Plain(msgspec.Struct, frozen=True):
    """A recipe, as an older version of the program knows it."""

    id: str = ""
    title: str = ""


def test_store_36_an_older_program_reads_a_store_whose_newer_index_its_struct_lacks(tmp_path: Path) -> None:
    """STORE-36: its struct was refused, with a traceback, as if it had been declared so."""
    older = schema("cookbook", [EntityType("recipe", Plain)], owner_column="book_id")
    newer = schema("cookbook", [EntityType("recipe", Recipe, subtype="course")], owner_column="book_id", version=2)
    file = tmp_path / "cookbook.sqlite"
    ids = (f"{n}" for n in count(1))
    made = Store.create(file, newer, minting(1))
    with made.transaction(NOON, HIGH) as tx:
        soup = Writing(tx, lambda now: next(ids)).add(Recipe(title="Soup", course="starter"))
    made.close()
    store = Store.open(file, older, minting(2))
    with store.transaction(NOON, HIGH) as tx:
        writing = Writing(tx, lambda now: next(ids))
        writing.edit(soup, title="Onion soup")
        bread = writing.add(Plain(title="Bread"))
    with store.reading() as reader:
        assert Reading(reader).all(Plain) == [Plain(soup, "Onion soup"), Plain(bread, "Bread")]
    store.close()
    again = Store.open(file, newer, minting(3))
    with again.reading() as reader:
        assert [each.id for each in Reading(reader).find(Recipe, course="starter")] == [soup]
    again.close()
