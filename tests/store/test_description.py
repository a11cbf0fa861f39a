"""What a store's file says of its own schema, and how a program with a newer one brings it up to that."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.support import sqlite
from tests.support.stores import NOON, minting, send

from lottisync.entities.entity import HIGH
from lottisync.entities.schema import EntityType, StoreSchema, link_id, schema
from lottisync.problem import Problem
from lottisync.store import lookups
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store

RECIPE = EntityType("recipe", owner="bookId", together=(("serves", "per"),))
GOES_WITH = EntityType("goesWith", link=True)
COOKBOOK = schema("my-cookbook", [RECIPE], owner_column="book_id")
NEWER = schema(
    "my-cookbook",
    [EntityType("recipe", owner="bookId", subtype="course"), EntityType("note", owner="recipeId"), GOES_WITH],
    owner_column="shelf_id",
    indexes={"course": "type, subtype, created_at desc"},
    version=2,
    local_tables="create table if not exists printed (id text primary key) strict;",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cookbook with a recipe, and with two entities of types that its program does not know."""
    file = tmp_path / "my-cookbook.sqlite"
    store = Store.create(file, COOKBOOK, minting(1), position=4)
    link = link_id("goesWith", "r1", "r2")
    with store.transaction(NOON, HIGH) as tx:
        tx.put("r1", "recipe", {"title": "Soup", "bookId": "b1", "course": "starter"})
        tx.put("n1", "note", {"recipeId": "r1"})
    newer = Store.create(tmp_path / "newer.sqlite", NEWER, minting(2))
    with newer.transaction(NOON, HIGH) as tx:
        tx.put(link, "goesWith", {"fromId": "r1", "toId": "r2"})
    send(newer, store)
    newer.close()
    store.close()
    return file


def opened(file: Path, given: StoreSchema | None = None, position: int | None = None) -> Store:
    return Store.open(file, given, minting(3), position=position, detect="late")


def faults(store: Store) -> list[str]:
    with store.reading() as reader:
        return [*broken_invariants(reader)]


def code(file: Path, given: StoreSchema | None = None) -> str:
    with pytest.raises(Problem) as caught:
        opened(file, given)
    assert str(file) in caught.value.message
    return caught.value.code


def test_store_34_a_file_is_opened_by_what_it_says_of_itself(file: Path) -> None:
    store = opened(file)
    assert (store.schema, store.position) == (COOKBOOK, 4)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("r2", "recipe", {"title": "Cake", "bookId": "b1"})
    with store.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", owner="b1")] == ["r1", "r2"]
    assert faults(store) == []
    store.close()


def test_store_35_a_newer_schema_fills_columns_makes_indexes_and_adds_local_tables(file: Path) -> None:
    store = opened(file, NEWER)
    with store.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", subtype="starter")] == ["r1"]
        assert [entity.id for entity in reader.by_type("note", owner="r1")] == ["n1"]
        assert lookups.ends_from(reader, "r1", "goesWith") == ["r2"]
        assert reader.local("select * from printed") == []
        names = {name for (name,) in reader.local("select name from sqlite_schema where tbl_name like '%_entities'")}
    assert "idx_my_cookbook_entities_course" in names
    assert "idx_my_cookbook_entities_book_type" not in names
    assert "idx_my_cookbook_entities_feed" in names
    assert faults(store) == []
    store.close()
    again = opened(file)
    assert (again.schema.version, again.schema.owner_column, again.position) == (2, "shelf_id", 4)
    again.close()


def test_store_62_neither_digest_nor_feed_moves(file: Path) -> None:
    before = opened(file)
    with before.reading() as reader:
        moment, changes = reader.change_token(), reader.changes(0, 10)
    before.close()
    after = opened(file, NEWER)
    with after.reading() as reader:
        assert (reader.change_token(), reader.changes(0, 10)) == (moment, changes)
    after.close()


def test_store_36_an_older_program_goes_by_the_newer_description(file: Path) -> None:
    opened(file, NEWER).close()
    older = opened(file, COOKBOOK)
    assert older.schema.version == 2
    with older.transaction(NOON, HIGH) as tx:
        tx.put("r2", "recipe", {"title": "Cake", "bookId": "b1", "course": "dessert"})
    older.close()
    newer = opened(file, NEWER)
    with newer.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", subtype="dessert")] == ["r2"]
    assert faults(newer) == []
    newer.close()


def test_store_360_an_open_store_goes_by_what_another_program_describes_meanwhile(file: Path) -> None:
    """A daemon holds the store open for weeks. Rows that it takes then have the columns and tables of the newer schema,
    whose owner's column has another name, and in which a type has become a link."""
    older = opened(file, COOKBOOK)
    with older.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", owner="b1")] == ["r1"]
    older.snapshot().close()
    newer = opened(file, NEWER)
    link = link_id("goesWith", "r2", "r1")
    with older.transaction(NOON, HIGH) as tx:
        tx.put("r2", "recipe", {"title": "Cake", "bookId": "b1", "course": "dessert"})
        tx.put(link, "goesWith", {"fromId": "r2", "toId": "r1"})
    for store in (older, newer):
        with store.reading() as reader:
            assert [entity.id for entity in reader.by_type("recipe", owner="b1", subtype="dessert")] == ["r2"]
            assert lookups.ends_from(reader, "r2", "goesWith") == ["r1"]
    with closing(older.snapshot()) as snapshot:
        assert snapshot.schema.version == 2
    assert older.schema.version == 2
    assert faults(newer) == []
    for store in (older, newer):
        store.close()


def test_store_360_a_reader_finds_by_the_newer_names(file: Path) -> None:
    older = opened(file, COOKBOOK)
    opened(file, NEWER).close()
    with older.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", owner="b1", subtype="starter")] == ["r1"]
    older.close()


def test_store_360_a_description_that_is_damaged_meanwhile_changes_nothing(file: Path) -> None:
    store = opened(file, COOKBOOK)
    for damage in ("update schema set description = '{'", "delete from schema"):
        sqlite.connection(store).execute(damage).fetchall()
        with store.transaction(NOON, HIGH) as tx:
            tx.put("r2", "recipe", {"title": damage, "bookId": "b1"})
        with store.reading() as reader:
            assert [entity.id for entity in reader.by_type("recipe", owner="b1")] == ["r1", "r2"]
        assert store.schema == COOKBOOK
    store.close()


def test_store_63_another_schema_under_the_same_version_is_refused(file: Path) -> None:
    before = file.read_bytes()
    assert code(file, schema("my-cookbook", [RECIPE, GOES_WITH], owner_column="book_id")) == "changed-schema"
    assert code(file, schema("pantry", [RECIPE])) == "wrong-store"
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"name":"my-cookbook"}', "[" * 100_000, "null"], ids=lambda text: text[:20]
)
def test_store_37_a_damaged_description_is_said_and_its_own_program_writes_it_again(file: Path, text: str) -> None:
    store = opened(file)
    with store.transaction(NOON, None) as tx:
        tx.execute("update schema set description = ?", (text,))
    store.close()
    assert code(file) == "damaged"
    mended = opened(file, COOKBOOK, position=4)
    assert (mended.schema, mended.position) == (COOKBOOK, 4)
    assert faults(mended) == []
    mended.close()
    opened(file).close()


def test_store_37_a_description_of_tables_that_are_not_there_is_damaged(file: Path) -> None:
    store = opened(file)
    with store.transaction(NOON, None) as tx:
        tx.execute("update schema set description = replace(description, 'my-cookbook', 'pantry')")
    store.close()
    assert code(file) == "damaged"
    assert code(file, schema("pantry", [RECIPE])) == "wrong-store"


def test_store_38_the_position_is_the_one_that_a_program_said_last(file: Path) -> None:
    opened(file, COOKBOOK, position=2).close()
    store = opened(file)
    assert store.position == 2
    store.close()


def test_store_64_a_row_that_cannot_be_read_does_not_stop_the_others(file: Path) -> None:
    store = opened(file)
    with store.transaction(NOON, None) as tx:
        tx.execute("update my_cookbook_entities set serialized = '{' where id = 'n1'")
    store.close()
    newer = opened(file, NEWER)
    with newer.reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", subtype="starter")] == ["r1"]
    newer.close()


FORMAT_4 = (
    "drop index idx_hosts_changed",
    *(f"alter table hosts drop column {column}" for column in ("reach", "log_end", "value", "mark", "changed")),
    *(f"alter table state drop column {column}" for column in ("moment", "marks")),
    "create view knowledge as select n, host, known from hosts",
    "drop table schema",
    "alter table acknowledged rename to told",
    "alter table copies rename column shown to told",
    "alter table chain rename column segment to links",
    "alter table state rename column file_identity to place",
)
"""What leads from a file of today back to one of format 4."""


def test_store_19_an_older_file_gets_a_description_and_the_names_of_today(file: Path) -> None:
    store = opened(file)
    store.close()
    connection = apsw.Connection(str(file))
    for change in FORMAT_4:
        connection.execute(change).fetchall()
    connection.pragma("user_version", 4)
    connection.close()
    led = opened(file, COOKBOOK)
    assert led.read("r1") is not None
    assert faults(led) == []
    led.close()
    assert file.with_name(f"{file.name}.format-4.backup").exists()
    again = opened(file)
    assert again.schema == COOKBOOK
    again.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "My Store"}, "My Store"),
        ({"name": ""}, "''"),
        ({"name": "x" * 33}, "x" * 33),
        ({"owner_column": "order"}, "order"),
        ({"indexes": {"a b": "type"}}, "a b"),
        ({"indexes": {"a": "type; drop table state"}}, "drop table"),
        ({"version": 0}, "0"),
    ],
    ids=str,
)
def test_store_39_what_cannot_be_a_schema_is_refused_where_it_is_declared(given: dict[str, object], said: str) -> None:
    arguments = {"name": "cookbook", "owner_column": "book_id", "indexes": {}, "version": 1} | given
    with pytest.raises(ValueError, match=said):
        StoreSchema(types={}, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [1, 2])
def test_store_400_a_store_of_another_program_under_the_same_name_is_refused(file: Path, version: int) -> None:
    types = [EntityType(name) for name in ("song", "album", "player", "shelf")]
    with pytest.raises(Problem) as caught:
        opened(file, schema("my-cookbook", types, version=version))
    assert caught.value.code == "name-taken"
    assert (
        "'my-cookbook' holds recipe, and this program's holds album, player, shelf and 1 more" in caught.value.message
    )


def test_store_400_a_newer_file_of_another_program_is_refused_too(tmp_path: Path) -> None:
    Store.create(tmp_path / "x.sqlite", schema("x", [EntityType("song")], version=7), minting(1)).close()
    assert code(tmp_path / "x.sqlite", schema("x", [EntityType("recipe")])) == "name-taken"
