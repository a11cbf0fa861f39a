"""Text as people see it: CLI-13."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.shown import escaped, lines, one_line, quoted

HIDDEN = (
    "\n\r\t\x00\x1b\x7f\x85\x9b\u2028\u2029\u200b\u200e\u200f\u061c\u202a\u202e\u2066\u2069"
    "\u2060\ufeff\u00ad\u3164\U000e0041"
)
TEXT = st.text(st.one_of(st.characters(), st.sampled_from(HIDDEN), st.sampled_from("ab'👩\u200d\ufe0f")))


@given(TEXT)
def test_cli_13_whatever_the_text_it_is_one_line_and_hides_nothing(text: str) -> None:
    """CLI-13, REL-D13"""
    seen = one_line(text)
    assert len(seen) == len(text)
    assert not set(seen) & set(HIDDEN)
    assert len(seen.splitlines()) <= 1
    assert not {sign for sign in seen if unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs")}
    assert one_line(seen) == seen


@given(TEXT)
def test_cli_13_lines_are_shown_one_by_one(text: str) -> None:
    assert all(line == one_line(line) for line in lines(text))


@pytest.mark.parametrize("text", ["Milk", "Äpfel & Öl", "電話", "👩‍👧", "❤️", "می‌خواهم", "क्‍ष", "1 234 €", "café", "🏳️‍🌈"])
def test_cli_80_what_people_write_stays(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Milk\napplied", "Milk\u2424applied"),
        ("Milk\u2028applied", "Milk\u2424applied"),
        ("a\tb", "a b"),
        ("a\x1b[2J", "a␛[2J"),
        ("lap\u200dtop", "lap\ufffdtop"),
        ("lap\u200btop\u200e", "lap\ufffdtop\ufffd"),
        ("laptop\U000e0041", "laptop\ufffd"),
        ("laptop\ufe0f", "laptop\ufffd"),
    ],
)
def test_cli_13_what_forges_is_a_sign(text: str, seen: str) -> None:
    assert one_line(text) == seen
    assert quoted(text) == f"'{seen}'"


def test_cli_81_text_of_several_lines() -> None:
    assert lines("a\r\nb\u2029c\n") == ["a", "b", "c", ""]


@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(HIDDEN))))
def test_cli_1001_json_with_escapes_has_the_same_value_and_hides_nothing(text: str) -> None:
    seen = escaped(msgspec.json.encode(text).decode())
    assert msgspec.json.decode(seen) == text
    assert not set(seen) & set(HIDDEN)
