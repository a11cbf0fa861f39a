"""Canonical JSON: one value, one sequence of bytes."""

import json
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import json_values

from lottisync.entities.canonical import (
    MAX_DEPTH,
    MAX_EXACT,
    NotCanonical,
    check,
    decode,
    decode_document,
    decode_documents,
    encode,
    encode_each,
    encode_normal,
    normal,
)


def nested(levels: int, core: Any) -> Any:
    return core if levels == 0 else [nested(levels - 1, core)]


@given(json_values)
def test_a_value_survives_the_trip(value: Any) -> None:
    """ENT-7: 1.0 comes back as 1, which is the same value."""
    assert decode(encode(value)) == value


@given(json_values)
def test_the_bytes_are_stable(value: Any) -> None:
    """ENT-7, ENT-9: what was written is canonical, and written again it is the same."""
    raw = encode(value)
    check(raw)
    assert encode(decode(raw)) == raw


@given(json_values)
def test_every_json_reader_can_read_it(value: Any) -> None:
    """ENT-7"""
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ({"\U0001f600": 1, "\uffff": 2, "z": 3}, b'{"z":3,"\xef\xbf\xbf":2,"\xf0\x9f\x98\x80":1}'),
        ('"\\\b\t\n\f\r\x00\x1f/\x7f\u2028é', b'"\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f/\x7f\xe2\x80\xa8\xc3\xa9"'),
        (1.0, b"1"),
        (float(MAX_EXACT), b"9007199254740991"),
        (-0.0, b"0"),
        (float(2**53), b"9007199254740992.0"),
        (0.00001, b"0.00001"),
        (0.000001, b"1e-6"),
        (1.5e15 + 0.5, b"1500000000000000.5"),
        (1e16, b"1e16"),
        (-1.25e-7, b"-1.25e-7"),
        (5e-324, b"5e-324"),
        ((1, 2), b"[1,2]"),
        (MAX_EXACT, b"9007199254740991"),
    ],
)
def test_the_form_to_the_byte(value: Any, raw: bytes) -> None:
    """ENT-7, ENT-32"""
    assert encode(value) == raw
    check(raw)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (float("nan"), "JSON has no nan"),
        (float("inf"), "JSON has no inf"),
        (MAX_EXACT + 1, "integers go from"),
        (-MAX_EXACT - 1, "integers go from"),
        ({1: 2}, "keys are text"),
        ({"a": {1, 2}}, "not a JSON value: set"),
        (b"raw", "not a JSON value: bytes"),
        ("half \ud800 a pair", "not Unicode"),
        ({"\udcff": 1}, "not Unicode"),
        (nested(MAX_DEPTH + 1, 1), "nested more than 32"),
        (nested(MAX_DEPTH, []), "nested more than 32"),
    ],
)
def test_what_has_no_form(value: Any, complaint: str) -> None:
    """ENT-7"""
    with pytest.raises(NotCanonical, match=complaint):
        encode(value)


def test_the_deepest_value() -> None:
    """ENT-7"""
    raw = encode(nested(MAX_DEPTH, 1))
    assert raw == b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    check(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" 1",
        b"1 ",
        b"1.0",
        b"-0",
        b"1e3",
        b"1E400",
        b"01",
        b"+1",
        b"NaN",
        b"9007199254740992",
        b"1" + b"0" * 5_000,
        b"0.10000000000000000555",
        b"10000000000000000.0",
        b'{"b":1,"a":2}',
        b'{"a":1,"a":2}',
        b'{"a": 1}',
        b"[1,]",
        b'"\\u0041"',
        b'"\\/"',
        b'"\\u007f"',
        b'"\\ud83d\\ude00"',
        b'"\\ud800"',
        b'"\xff"',
        b'"\x01"',
        b"\xef\xbb\xbf1",
        b"1 2",
        b"[" * 33 + b"]" * 33,
        b"[" * 100_000 + b"]" * 100_000,
        b"'a'",
        b"nul",
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_bytes_that_are_not_the_form(raw: bytes) -> None:
    """ENT-9"""
    with pytest.raises(NotCanonical):
        check(raw)
    with pytest.raises(NotCanonical):
        decode_document(b'{"title":' + raw + b"}")


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_a_document_is_checked_at_once_as_its_values_are_one_by_one(values: dict[str, Any]) -> None:
    """ENT-9"""
    try:
        raw = encode_normal({key: normal(value) for key, value in values.items()})
    except NotCanonical:  # half a surrogate pair in a key
        return
    document = decode_document(raw)
    assert {key: encode(value) for key, value in document.items()} == {k: encode(v) for k, v in values.items()}


def test_ent_9_many_documents_are_checked_as_each_of_them_is() -> None:
    """ENT-9: simple ones at once."""
    good = [b'{"a":1,"title":"x"}', b'{"a":true}']
    assert decode_documents(good) == [{"a": 1, "title": "x"}, {"a": True}]
    for odd in (b'{"a": 1}', b'{"b":1,"a":2}', b'{"a":1,"a":2}'):
        with pytest.raises(NotCanonical, match="not in canonical form"):
            decode_documents([good[0], odd])


@pytest.mark.parametrize(
    "raw", [b"[]", b"1", b'{"b":1,"a":2}', b'{"a":1,"a":1}', b'{"a":1,"a":[]}', b'{"a":1} ', b"{1:2}"]
)
def test_what_is_not_a_document(raw: bytes) -> None:
    """ENT-9"""
    with pytest.raises(NotCanonical):
        decode_document(raw)


@pytest.mark.parametrize("opened", [("[", "]"), ('{"a":', "}")])
def test_a_value_is_nested_32_levels_deep_and_no_deeper(opened: tuple[str, str]) -> None:
    """ENT-9: a list or an object within the others."""
    for depth in (32, 33):
        value = json.loads(opened[0] * depth + "1" + opened[1] * depth)
        if depth == 32:
            assert normal(value) == value
        else:
            with pytest.raises(NotCanonical, match="nested"):
                normal(value)


def test_text_of_a_kind_of_its_own_is_text() -> None:
    """ENT-9: a member of an enumeration of texts is written as the text it is."""

    class Colour(StrEnum):
        RED = "red"

    assert encode(Colour.RED) == b'"red"'
    assert encode({"colour": [Colour.RED]}) == b'{"colour":["red"]}'


def test_ent_3_of_many_values_one_that_is_not_text_is_refused() -> None:
    """ENT-3: as it is refused alone."""
    assert encode_each(["é", 1]) == [encode_normal("é"), b"1"]
    with pytest.raises(NotCanonical, match="not Unicode text"):
        encode_each(["sound", "half a pair: \ud800"])
