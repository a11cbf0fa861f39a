"""Many first writes by column are what they are one by one."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lottisync.entities import canonical, path
from lottisync.entities.canonical import MAX_EXACT, NotCanonical
from lottisync.entities.fields import Fields, fields_of
from lottisync.entities.path import PathError

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([MAX_EXACT, -MAX_EXACT, MAX_EXACT + 1, 2**70])
    | st.sampled_from([1.0, 0.5, float("inf"), -0.0])
    | st.sampled_from(["", "a", 'q"\\', "ä\u2028", "\udcff"])
)
nested = st.recursive(
    scalars, lambda of: st.lists(of, max_size=2) | st.dictionaries(st.sampled_from("ab"), of), max_leaves=4
)
names = st.sampled_from(["title", "labels", "labels/a", "labels/b", "note", 'labels/"', "labels/\\", "1st", "é"])
keys = st.sampled_from(["a", "b", "~/", '"', "\\", "ä", "\n", ""])
kinds = (st.just(scalars), st.just(st.dictionaries(keys, scalars, max_size=2)), st.just(nested))


@st.composite
def alike(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Most of these name the same fields, and in one field have values of one kind."""
    shape = draw(st.dictionaries(names, st.one_of(*kinds), max_size=4))
    with_keys = {name: draw(st.lists(keys, unique=True, max_size=2)) for name in shape}
    one = st.fixed_dictionaries(
        {
            name: kind if draw(st.booleans()) else st.fixed_dictionaries(dict.fromkeys(with_keys[name], scalars))
            for name, kind in shape.items()
        }
    )
    return draw(st.lists(one, min_size=1, max_size=4))


def singly(many: list[dict[str, Any]]) -> tuple[list[bytes], list[dict[str, Any]]] | type[Exception] | None:
    try:
        flat = [path.flatten(fields) for fields in many]
        documents = [canonical.encode_normal(each) for each in flat]
    except (PathError, NotCanonical):
        return ValueError
    return (documents, flat) if all(flat) else None


def together(many: list[dict[str, Any]]) -> Fields | type[Exception] | None:
    try:
        return fields_of(many)
    except (PathError, NotCanonical):
        return ValueError


@example([{"labels/a": 1, "labels": {"a": 2}}] * 2)
@example([{"labels": {"a": 2}, "labels/a": 1}] * 2)
@given(alike() | st.lists(st.dictionaries(names, nested, max_size=3), min_size=1, max_size=3))
def test_store_91_fields_by_column_are_those_of_each(many: list[dict[str, Any]]) -> None:
    """ENT-3, ENT-7, STORE-91"""
    expected, found = singly(many), together(many)
    if not isinstance(expected, tuple) or not isinstance(found, Fields):
        assert expected == found
        return
    documents, flat = expected
    assert found.documents == documents
    assert set(found.paths) == {each for document in flat for each in document}
    for each in {*found.paths, "absent"}:
        assert list(found.column(each)) == [document.get(each) for document in flat]


@pytest.mark.parametrize(
    "many",
    [
        [{"title": "a", "labels": {"x": True}, "n": 1}] * 2,
        [
            {"title": None, "labels": {"x": True, "y": 1}, "n": 1.0},
            {"title": "a", "labels": {"x": 2, "y": 0.5}, "n": [1]},
        ],
    ],
)
def test_store_91_what_is_alike_makes_no_dictionary_for_each(
    many: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """STORE-91"""
    expected = singly(many)
    assert isinstance(expected, tuple)

    def refused(fields: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError("flattened by itself")

    monkeypatch.setattr(path, "flatten", refused)
    found = fields_of(many)
    assert found is not None
    assert found.documents == expected[0]
