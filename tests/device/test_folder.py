"""Which stores a device has, in which order, and stores that no program lists."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.support.stores import NOON

from lottisync.device.clock import MACHINE
from lottisync.device.home import Home
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import EntityType, schema
from lottisync.problem import Problem
from lottisync.store.store import Store

PANTRY = schema("pantry", [EntityType("jar")])
COOKBOOK = schema("cookbook", [EntityType("recipe", subtype="course")])
GARDEN = schema("garden", [EntityType("bed")])
FIXED = MACHINE._replace(now=lambda: NOON)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A home with two stores of a program; the pantry travels before the cookbook."""
    home = Home.create(tmp_path / "home", "laptop", [PANTRY, COOKBOOK], environment=FIXED)
    with home.store("cookbook").transaction(NOON, HIGH) as tx:
        tx.put("r1", "recipe", {"title": "Soup", "course": "starter"})
    home.close()
    return home.path


def names(path: Path, *schemas: object) -> list[str]:
    home = Home.open(path, schemas, environment=FIXED)  # type: ignore[arg-type]
    found = list(home.stores)
    assert found == [store.schema.name for store in home.stores.values()]
    assert len(home.stores) == len(found)
    home.close()
    return found


def test_store_40_space_leads_and_the_order_of_the_list_is_that_of_delivery(path: Path) -> None:
    assert names(path, PANTRY, COOKBOOK) == ["space", "pantry", "cookbook"]


def test_store_40_stores_that_no_program_lists_here_follow_in_the_order_of_their_own(path: Path) -> None:
    assert names(path) == ["space", "pantry", "cookbook"]
    assert names(path, COOKBOOK, PANTRY) == ["space", "cookbook", "pantry"]
    assert names(path) == ["space", "cookbook", "pantry"]
    assert names(path, PANTRY) == ["space", "pantry", "cookbook"]


def test_store_65_what_is_not_a_store_or_the_copy_of_one_is_passed_over(path: Path) -> None:
    (path / "notes.sqlite").write_bytes(b"")
    (path / "my-cookbook.sqlite").write_bytes((path / "cookbook.sqlite").read_bytes())
    assert names(path) == ["space", "pantry", "cookbook"]


def test_store_955_a_store_that_another_program_makes_is_there_after_the_next_look(path: Path) -> None:
    """STORE-955: in its place in the order of delivery, as after a new start."""
    home = Home.open(path, environment=FIXED)
    assert list(home.stores) == ["space", "pantry", "cookbook"]
    Home.open(path, [GARDEN, PANTRY, COOKBOOK], environment=FIXED).close()
    pantry = home.store("pantry")
    assert home.look_for_stores() == {}
    assert list(home.stores) == ["space", "garden", "pantry", "cookbook"]
    assert home.store("pantry") is pantry
    assert home.store("garden").schema.version == GARDEN.version
    home.close()


def test_store_955_a_store_that_is_made_just_now_is_found_when_it_is_done(path: Path) -> None:
    """STORE-955: the file is there before what is in it, which stands in the log first."""
    home = Home.open(path, environment=FIXED)
    (path / "garden.sqlite").touch()
    assert home.look_for_stores() == {}
    assert "garden" not in home.stores
    (path / "garden.sqlite").unlink()
    with closing(Store.create(path / "garden.sqlite", GARDEN, FIXED.new_host)):
        assert home.look_for_stores() == {}
        assert "garden" in home.stores
    home.close()


@pytest.mark.parametrize("content", [b"a note of the person's", bytes(8192), b"SQLite format 3\0" + bytes(8192)])
def test_store_956_whatever_a_file_holds_the_stores_beside_it_work(path: Path, content: bytes) -> None:
    """STORE-956: a text called notes.sqlite kept the daemon from starting."""
    (path / "notes.sqlite").write_bytes(content)
    home = Home.open(path, environment=FIXED)
    assert list(home.stores) == ["space", "pantry", "cookbook"]
    with home.store("cookbook").reading() as reader:
        assert reader.entity("r1") is not None
    home.close()
    assert (path / "notes.sqlite").read_bytes() == content


def test_store_948_a_file_that_was_left_out_is_looked_at_when_it_has_changed(path: Path) -> None:
    """STORE-956, STORE-948: it is opened once for each change, and not at each look."""
    whole = (path / "cookbook.sqlite").read_bytes()
    (path / "cookbook.sqlite").write_bytes(b"overwritten" * 1000)
    home = Home.open(path, environment=FIXED)
    opened, really_open = [], home.folder._opened

    def counted(name: str) -> Store:
        opened.append(name)
        return really_open(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home.folder, "_opened", counted)
        for _ in range(3):
            (why,) = home.look_for_stores().values()
        assert "cookbook.sqlite is damaged" in why.message
        assert "move it to another folder" in why.message
        assert opened.count("cookbook") == 1
        (path / "cookbook.sqlite").write_bytes(whole)
        assert home.look_for_stores() == {}
        assert "cookbook" in home.stores
    home.close()


def test_store_40_a_store_is_read_without_its_program(path: Path) -> None:
    home = Home.open(path)
    with home.store("cookbook").reading() as reader:
        assert [entity.id for entity in reader.by_type("recipe", subtype="starter")] == ["r1"]
    home.close()


def test_store_41_a_new_store_is_made_and_bound(path: Path) -> None:
    home = Home.open(path, [GARDEN, PANTRY, COOKBOOK], environment=FIXED)
    with home.store("garden").reading() as reader:
        assert home.roster().host_owner[reader.host] == home.id
    home.close()
    assert names(path) == ["space", "garden", "pantry", "cookbook"]


def test_store_66_a_store_that_was_lost_is_not_made_again(path: Path) -> None:
    (path / "cookbook.sqlite").unlink()
    home = Home.open(path, [PANTRY, COOKBOOK], environment=FIXED)
    with pytest.raises(Problem, match=r"cookbook\.sqlite does not exist"):
        home.store("cookbook")
    assert not (path / "cookbook.sqlite").exists()
    home.close()


def test_a_store_that_is_not_there_is_named_with_those_that_are(path: Path) -> None:
    home = Home.open(path)
    with pytest.raises(Problem, match=r"'journal'.*space, pantry, cookbook") as caught:
        home.store("journal")
    assert caught.value.code == "unknown-store"
    home.close()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["space"], "every device has a store 'space' already"),
        (["cookbook", "cookbook"], "each store of a device has its own name; got space, cookbook, cookbook"),
    ],
)
def test_two_stores_of_one_name_are_refused_where_they_are_given(tmp_path: Path, names: list[str], said: str) -> None:
    """A store called `space` ended in an SQL error; of two equal ones the first was left out in silence."""
    with pytest.raises(ValueError, match=said):
        Home.create(tmp_path / "home", "laptop", [schema(name, []) for name in names])
    assert not (tmp_path / "home").exists()
