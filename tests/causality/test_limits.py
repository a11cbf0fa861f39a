"""The limits of docs/specs/02-causality.md, section 4: two programs must agree on them."""

from lottisync.causality.hlc import MAX_DRIFT_MILLIS, MAX_MILLIS, MAX_TICKS, Hlc, tick
from lottisync.causality.knowledge import missing
from lottisync.causality.vector_clock import MAX_COUNTER, Host, reach

A, B = Host("a" * 16), Host("b" * 16)


def test_the_limits_are_those_of_the_page() -> None:
    """CAUS-2, CAUS-6, CAUS-9"""
    assert (MAX_COUNTER, MAX_MILLIS, MAX_TICKS) == (9_007_199_254_740_991, 281_474_976_710_655, 65_535)
    assert MAX_DRIFT_MILLIS == 300_000


def test_the_last_millisecond_counts_on_in_ticks() -> None:
    """CAUS-7: also where the wall clock has gone beyond it."""
    assert tick(Hlc(MAX_MILLIS, 3), MAX_MILLIS + 5) == Hlc(MAX_MILLIS, 4)


def test_the_first_write_of_a_host_is_missing_too() -> None:
    assert missing({}, {A: 1, B: 2}) == 3


def test_what_clocks_reach_has_first_writes_and_no_zeros() -> None:
    assert reach([{A: 1, B: 0}]) == {A: 1}
