"""Register paths, and documents as flat maps of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.entities import path
from lottisync.entities.canonical import MAX_EXACT, NotCanonical
from lottisync.entities.path import MAX_PATH, PathError, flatten, join, nest, split, validated

keys = st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs"]), min_size=1, max_size=20)
fields = st.from_regex(r"\A[a-z][a-z0-9_]{0,8}\Z")


@given(fields, keys)
def test_any_key_survives(field: str, key: str) -> None:
    """ENT-3"""
    joined = join(field, key)
    assert split(joined) == (field, key)
    assert joined.count("/") == 1


@given(st.lists(st.tuples(fields, keys), unique=True))
def test_different_keys_have_different_paths(pairs: list[tuple[str, str]]) -> None:
    """ENT-3"""
    assert len({join(*pair) for pair in pairs}) == len(pairs)


def test_a_path_has_at_most_320_characters() -> None:
    """ENT-3: all devices have to agree on it."""
    assert validated("a/" + "b" * 318) == "a/" + "b" * 318
    with pytest.raises(PathError):
        validated("a/" + "b" * 319)


def test_slash_and_tilde_are_escaped_as_in_a_json_pointer() -> None:
    """ENT-3"""
    assert join("labels", "a/b~c~1") == "labels/a~1b~0c~01"
    assert split("labels/a~1b~0c~01") == ("labels", "a/b~c~1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1st",
        "_x",
        "a b",
        "a" * 65,
        "labels/",
        "/bug",
        "labels/a/b",
        "labels/a~2",
        "labels/a~",
        "labels/a\n",
        "labels/a\x00",
        "labels/\udcff",
        "title\n",
        "té",
        "labels/" + "x" * MAX_PATH,
    ],
)
def test_what_is_not_a_path(text: str) -> None:
    """ENT-3"""
    with pytest.raises(PathError, match="a path is"):
        validated(text)


def test_the_longest_path() -> None:
    """ENT-3"""
    assert len(validated("labels/" + "x" * (MAX_PATH - 7))) == MAX_PATH


integers = st.integers(-MAX_EXACT, MAX_EXACT)
nested_documents = st.dictionaries(
    fields, integers | st.lists(integers) | st.dictionaries(keys, integers | st.just({"deep": 1}), min_size=1)
)


@given(nested_documents)
def test_a_document_survives_being_flattened(document: dict[str, Any]) -> None:
    """ENT-3: and only one level is split."""
    flat = flatten(document)
    assert nest(flat) == document
    assert flatten(flat) == flat


def test_nulls_are_absent() -> None:
    """ENT-3: this is how a key is removed."""
    assert nest({"due": None, "labels/a": None, "labels/b": True, "gone/x": None}) == {"labels": {"b": True}}


def test_a_scalar_and_a_map_of_one_name_are_two_registers() -> None:
    """ENT-3: both are kept, the map is shown while it has a key."""
    assert nest({"labels": "bug", "labels/ui": None}) == {"labels": "bug"}
    assert nest({"labels": "bug", "labels/ui": True}) == {"labels": {"ui": True}}


def test_the_values_of_a_flat_document_are_in_normal_form() -> None:
    """ENT-7: whatever level they stand on."""
    flat = flatten({"estimate": 30.0, "labels": {"bug": 1.0}, "config": {"deep": (1, 2.5)}})
    assert flat == {"estimate": 30, "labels/bug": 1, "config/deep": [1, 2.5]}
    assert [type(flat[p]) for p in ("estimate", "labels/bug", "config/deep")] == [int, int, list]
    for odd in ({"x": float("nan")}, {"labels": {"x": b"raw"}}, {"x": [2**53]}):
        with pytest.raises(NotCanonical):
            flatten(odd)


@pytest.mark.parametrize("number", [MAX_EXACT + 1, -MAX_EXACT - 1])
def test_a_whole_number_that_not_every_reader_holds_is_refused(number: int) -> None:
    """ENT-7: also as the value of a field of its own."""
    assert flatten({"x": MAX_EXACT, "y": -MAX_EXACT}) == {"x": MAX_EXACT, "y": -MAX_EXACT}
    with pytest.raises(NotCanonical, match="integers go from"):
        flatten({"x": number})


def test_an_unfit_path_among_others_is_refused() -> None:
    """ENT-3"""
    with pytest.raises(PathError, match="a path is"):
        path.validate(("title", "1st"))
    with pytest.raises(PathError, match="a path is"):
        flatten({"title": "x", "1st": 1})


def test_an_unfit_key_is_refused_where_it_is_written() -> None:
    """ENT-3"""
    with pytest.raises(PathError):
        path.flatten({"labels": {"": True}})


@pytest.mark.parametrize(
    ("fields", "twice"),
    [
        ({"labels": {"bug": True}, "labels/bug": False}, "labels/bug"),
        ({"labels/bug": False, "labels": {"ui": True, "bug": True}}, "labels/bug"),
        ({"labels": {"bug": None}, "labels/bug": None, "title": "x"}, "labels/bug"),
        ({"labels": {"a/b": True}, "labels/a~1b": True}, "labels/a~1b"),
        ({"estimate": 5, "labels": {"bug": True}, "labels/bug": False, "labels/x": {"deep": 1}}, "labels/bug"),
    ],
)
def test_a_register_that_is_named_twice_is_refused(fields: dict[str, Any], twice: str) -> None:
    """ENT-20: which of the two values is meant is not guessed, and not where they agree."""
    with pytest.raises(PathError, match=f"'{twice}' is named twice, by itself and in the map 'labels'"):
        flatten(fields)


def test_maps_and_paths_of_one_field_go_together() -> None:
    """ENT-3: also an empty map, and what looks like a map's key and lies deeper."""
    assert flatten({"labels": {"bug": True, "ui": 1.0}, "labels/x": 2, "other": {}}) == {
        "labels/x": 2,
        "labels/bug": True,
        "labels/ui": 1,
    }
    assert flatten({"labels": "bug", "labels/bug": {"deep": True}}) == {"labels": "bug", "labels/bug": {"deep": True}}
