"""Instants as text."""

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lottisync
from lottisync.store.instant import LAST, iso, later, millis, since_1970, there

times = st.integers(0, LAST)


@given(times)
def test_an_instant_survives_the_trip(at: int) -> None:
    """ENT-14, ENT-140"""
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
    """ENT-14, ENT-142: a clock reading of after 9999 is shown as the last instant."""
    assert iso(at) == text


@pytest.mark.parametrize(
    "text", ["2026-02-28T23:00:00+01:00", "2026-02-28T22:00:00Z", "2026-02-28 22:00:00.000000+00:00"]
)
def test_any_offset_is_read(text: str) -> None:
    """ENT-140"""
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
def test_what_is_not_an_instant(text: str) -> None:
    """ENT-141"""
    with pytest.raises(ValueError, match=r"."):
        millis(text)


HOURS = [timezone(timedelta(hours=count)) for count in (-23, -12, 0, 14, 23)]


@given(st.integers(-(2**60), 2**60), st.sampled_from([None, UTC, *HOURS]))
def test_ent_570_each_time_of_a_clock_is_a_time_on_the_wall(at: int, zone: tzinfo | None) -> None:
    """ENT-570: and it has a day after it, of which the text is an instant again."""
    shown = there(at, zone)
    midnight = datetime.combine(later(shown.date(), 1), time(), zone)
    assert millis(iso(since_1970(midnight))) == since_1970(midnight)
    assert millis(iso(at)) == max(0, min(at, LAST))
    if 0 <= at < LAST - 2 * 86_400_000:
        assert since_1970(shown) == at
        assert since_1970(midnight) > at or midnight.year < 1970


@pytest.mark.parametrize("zone", HOURS)
def test_ent_570_the_ends_of_the_calendar(zone: timezone) -> None:
    """ENT-570"""
    assert since_1970(datetime.min.replace(tzinfo=zone)) == 0
    assert since_1970(datetime.max.replace(tzinfo=zone)) in range(LAST - 86_400_000, LAST + 1)
    assert (since_1970(datetime.min), since_1970(datetime(1, 1, 1, 12))) == (0, 0)  # in the zone of this machine
    assert later(date.max, 7) == date.max
    assert later(date.min, -1) == date.min
    assert later(date(2026, 12, 31), 1) == date(2027, 1, 1)


def test_ent_570_one_module_turns_readings_into_days() -> None:
    """ENT-570: elsewhere a reading would lead beyond the calendar."""
    source = Path(lottisync.__file__).parent
    asking = {
        file.relative_to(source).as_posix() for file in source.rglob("*.py") if "fromtimestamp" in file.read_text()
    }
    assert asking == {"store/instant.py"}
