"""Derived ids: what two devices must name alike."""

import hashlib
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.entities.schema import EntityType, StoreSchema, derived_id, link_id, schema
from lottisync.entities.version import validated_id


def test_a_derived_id_to_the_byte() -> None:
    """ENT-5"""
    raw = b"\x00\x00\x00\x09checklist" + b"\x00\x00\x00\x03\xc3\xa9!"
    assert derived_id("checklist", "é!") == hashlib.sha256(raw).hexdigest()[:32]


def test_an_id_known_once_is_known_for_ever() -> None:
    """ENT-5, ENT-6: data in the field depends on these."""
    assert derived_id("checklist", "t1") == "781ea216bbd629f89bd93f02e8b677c0"
    assert link_id("agent_task", "a1", "t1") == "8804df82d125551392dc2ee9bdf16dde"


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_other_parts_make_another_id(a: list[str], b: list[str]) -> None:
    """ENT-5: also where the same letters are cut at other places."""
    assert (derived_id(*a) == derived_id(*b)) == (a == b)
    assert validated_id(derived_id(*a))


def test_a_link_is_named_by_type_and_ends() -> None:
    """ENT-6: and has a direction."""
    assert link_id("basic", "a", "b") == derived_id("link", "basic", "a", "b")
    assert len({link_id("basic", "a", "b"), link_id("basic", "b", "a"), link_id("other", "a", "b")}) == 3


def test_a_schema_finds_its_types_by_name() -> None:
    """STORE-10"""
    note = EntityType("note", owner="taskId")
    assert schema("x", [note]).types == {"note": note}


class Note(msgspec.Struct, rename="camel"):
    id: str = ""
    task_id: str = ""


class NoId(msgspec.Struct):
    text: str = ""
    id: str = ""


class OnlyId(msgspec.Struct):
    id: str = ""


class Required(msgspec.Struct):
    id: str
    text: str


class RequiredByName(msgspec.Struct, kw_only=True):
    id: str
    text: str
    kind: str = ""


class Course(Enum):
    MAIN = "main"


class Level(Enum):
    LOW = 1


class Indexed(Note):
    """Its own fields are texts of some kind or other, and those that are not; `task_id` comes from the other class."""

    kind: str | None = None
    course: Course = Course.MAIN
    short: Annotated[str, msgspec.Meta(max_length=8, title="In short")] = ""
    side: Literal["left", "right"] = "left"
    serves: int = 2
    done: bool = False
    tags: list[str] = []
    level: Level = Level.LOW
    odd: Literal["left", 1] = "left"
    mixed: str | int = ""


@pytest.mark.parametrize(
    ("view", "given", "said"),
    [
        (Required, {}, "Required cannot be the struct of 'note': the field 'text' has no default"),
        (RequiredByName, {}, "the field 'text' has no default"),
        (
            Indexed,
            {"owner": "serves"},
            "owner of 'note' names the field 'serves' of Indexed, whose type is int. .* str",
        ),
        (Indexed, {"subtype": "done"}, "subtype of 'note' names the field 'done' of Indexed, whose type is bool"),
        (Indexed, {"subtype": "tags"}, r"whose type is list\[str\]"),
        (Indexed, {"subtype": "level"}, "whose type is Level"),
        (Indexed, {"subtype": "odd"}, r"whose type is typing.Literal\['left', 1\]"),
        (Indexed, {"subtype": "mixed"}, r"whose type is str \| int"),
        (NoId, {}, "first field has to be `id"),
        (OnlyId, {}, "at least one other field"),
        (Note, {"owner": "book"}, "owner of 'note' names the field 'book', which Note does not have.*id, taskId"),
        (Note, {"owner": "task_id"}, "as they are stored: id, taskId"),
        (Note, {"subtype": "kind"}, "subtype of 'note'"),
        (Note, {"together": (("taskId", "kind"),)}, "together of 'note' names the field 'kind'"),
    ],
)
def test_store_401_store_1002_a_type_that_its_struct_does_not_fit_is_refused_where_it_is_declared(
    view: type[msgspec.Struct], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        EntityType("note", view, **given)


def test_store_401_what_fits_is_a_type() -> None:
    assert EntityType("note", Note, owner="taskId", together=(("id", "taskId"),)).view is Note
    for field in ("taskId", "kind", "course", "short", "side"):
        assert EntityType("note", Indexed, subtype=field).subtype == field


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "My store"}, "a store has a name of small letters"),
        ({"owner_column": "owner"}, "owner's column has a name like recipe_id"),
        ({"indexes": {"By Owner": "owner_id"}}, "an index has a name of small letters"),
        ({"indexes": {"title": "title"}}, "an index is over created_at, .*, not 'title'"),
        ({"version": 0}, "version is 1 or more, not 0"),
        ({"types": [EntityType("note"), EntityType("note", Note)]}, "its own name; 2 are called 'note'"),
        (
            {"types": [EntityType("note", Note), EntityType("memo", Note)]},
            "each type of a store has its own struct; 'note' and 'memo' both have Note",
        ),
    ],
)
def test_store_39_store_1003_a_schema_that_cannot_be_one_is_refused_where_it_is_declared(
    given: dict[str, Any], said: str
) -> None:
    """STORE-39"""
    with pytest.raises(ValueError, match=said):
        schema(**({"name": "book", "types": [EntityType("note")]} | given))


def test_store_39_the_first_version_is_1_and_every_column_may_be_indexed() -> None:
    """STORE-39: with or without `desc`."""
    note = EntityType("note", together=(("from", "to"), ("a", "b")))
    assert schema("book", [note]).version == StoreSchema("book", {}, "owner_id", {}).version == 1
    assert schema("book", [note], version=1, indexes={"new": "owner_id, created_at desc"}).indexes
    assert [note.written_with(field) for field in ("to", "a", "other")] == [("from", "to"), ("a", "b"), ("other",)]
    assert not note.link


def test_store_1003_links_of_several_kinds_may_be_read_as_one_struct() -> None:
    kinds = [EntityType(name, Note, link=True) for name in ("basic", "blocks")]
    assert list(schema("book", kinds).types) == ["basic", "blocks"]


@pytest.mark.parametrize("declared", [EntityType("note"), schema("book", [])])
def test_what_was_declared_is_not_changed(declared: msgspec.Struct) -> None:
    """STORE-39: it was checked when it was made, and many stores go by one."""
    with pytest.raises(AttributeError):
        setattr(declared, "name", "My store")  # noqa: B010 - which mypy would refuse as it stands


class Plain(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""


def test_store_36_a_type_is_read_as_the_struct_of_an_older_program() -> None:
    """STORE-36: it may lack what has an index; where it is declared so, it is refused."""
    described = EntityType("note", owner="taskId")
    older = described.viewed_as(Plain)
    assert (older.view, older.owner, older.name) == (Plain, "taskId", "note")
    assert described.view is None
    with pytest.raises(ValueError, match="owner of 'note' names the field 'taskId'"):
        EntityType("note", Plain, owner="taskId")
