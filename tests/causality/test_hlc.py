"""The hybrid logical clock: always forward, never led astray."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.causality.hlc import (
    MAX_DRIFT_MILLIS,
    MAX_MILLIS,
    MAX_TICKS,
    Hlc,
    HlcError,
    is_far_future,
    observe,
    tick,
    ticks,
    validate,
)

ZERO = Hlc(0, 0)

readings = st.builds(Hlc, st.integers(0, 50), st.integers(0, 3) | st.just(MAX_TICKS))
walls = st.integers(-10, 60)


@given(readings, walls)
def test_a_new_reading_is_always_greater(last: Hlc, now: int) -> None:
    """CAUS-7: also while the wall clock stands still, runs backwards, or the ticks are used up."""
    reading = tick(last, now)
    assert reading > last
    assert reading.millis >= now
    validate(reading)


@given(readings | st.builds(Hlc, st.integers(0, 50), st.just(MAX_TICKS - 2)), walls, st.integers(1, 6))
def test_the_readings_of_many_writes_are_those_of_each(last: Hlc, now: int, count: int) -> None:
    """CAUS-7"""
    each = [last]
    for _ in range(count):
        each.append(tick(each[-1], now))
    assert ticks(last, now, count) == each[1:]


def test_a_wall_clock_that_runs_is_followed() -> None:
    """CAUS-13"""
    assert tick(Hlc(5, 3), 6) == Hlc(6, 0)


def test_a_wall_clock_that_went_back_an_hour_still_counts_on() -> None:
    """CAUS-7"""
    assert tick(Hlc(3_600_000, 0), 0) == Hlc(3_600_000, 1)


def test_when_the_ticks_are_used_up_the_millisecond_moves() -> None:
    """CAUS-7"""
    assert tick(Hlc(5, MAX_TICKS), 5) == Hlc(6, 0)


@given(readings, readings, walls)
def test_meeting_another_reading_never_goes_back(last: Hlc, remote: Hlc, now: int) -> None:
    """CAUS-8"""
    assert observe(last, remote, now) >= last


@given(readings, readings, walls)
def test_what_was_met_is_before_the_next_local_write(last: Hlc, remote: Hlc, now: int) -> None:
    """CAUS-8"""
    assert tick(observe(last, remote, now), now) > remote


def test_the_far_future_is_not_followed() -> None:
    """CAUS-9: a peer may be ahead by the drift, and not by a millisecond more."""
    now = 1_000
    edge = Hlc(now + MAX_DRIFT_MILLIS, 0)
    beyond = Hlc(now + MAX_DRIFT_MILLIS + 1, 0)
    assert observe(ZERO, edge, now) == edge
    assert observe(ZERO, beyond, now) == ZERO
    assert (is_far_future(edge, now), is_far_future(beyond, now)) == (False, True)


@pytest.mark.parametrize(
    "reading", [Hlc(-1, 0), Hlc(0, -1), Hlc(MAX_MILLIS + 1, 0), Hlc(0, MAX_TICKS + 1)], ids=lambda r: str(tuple(r))
)
def test_a_reading_outside_of_its_bits_is_refused(reading: Hlc) -> None:
    """CAUS-6"""
    with pytest.raises(HlcError, match="48 bits"):
        observe(ZERO, reading, 0)


def test_the_greatest_reading_is_in_range() -> None:
    """CAUS-6"""
    validate(Hlc(MAX_MILLIS, MAX_TICKS))


def test_a_reading_never_leaves_its_48_bits() -> None:
    """CAUS-6: a wall clock beyond the year 10000 is counted as the last reading; used up, it is an error."""
    assert tick(Hlc(0, 0), 2**48) == Hlc(2**48 - 1, 0)
    with pytest.raises(HlcError, match="used up"):
        tick(Hlc(2**48 - 1, 2**16 - 1), 0)
