"""Instants as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.store.instant import LAST, iso, millis

times = st.integers(0, LAST)


@given(times)
def test_an_instant_survives_the_trip(at: int) -> None:
    """ENT-14"""
    assert millis(iso(at)) == at


@given(times, times)
def test_instants_sort_as_they_happened(a: int, b: int) -> None:
    """ENT-14"""
    assert (iso(a) < iso(b)) == (a < b)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_772_316_000_999, "2026-02-28T22:00:00.999Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
        (2**48 - 1, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_form(at: int, text: str) -> None:
    """ENT-14: a clock reading of after 9999 is shown as the last instant."""
    assert iso(at) == text


@pytest.mark.parametrize(
    "text", ["2026-02-28T23:00:00+01:00", "2026-02-28T22:00:00Z", "2026-02-28 22:00:00.000000+00:00"]
)
def test_any_offset_is_read(text: str) -> None:
    """ENT-14"""
    assert millis(text) == 1_772_316_000_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-02-28T22:00:00",
        "2026-02-28",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_what_is_no_instant(text: str) -> None:
    """ENT-14"""
    with pytest.raises(ValueError, match=r"."):
        millis(text)
