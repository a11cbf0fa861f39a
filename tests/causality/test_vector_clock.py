"""Vector clocks: the original's table, and the laws behind it."""

import pytest
from hypothesis import given
from tests.support.strategies import HOSTS, clocks

from lottisync.causality.vector_clock import (
    MAX_COUNTER,
    Clock,
    ClockError,
    Dot,
    Host,
    Order,
    compare,
    covers,
    has_seen,
    merge,
)

OPPOSITE = {
    Order.EQUAL: Order.EQUAL,
    Order.BEFORE: Order.AFTER,
    Order.AFTER: Order.BEFORE,
    Order.CONCURRENT: Order.CONCURRENT,
}


def clock(**counters: int) -> Clock:
    return {Host(host): counter for host, counter in counters.items()}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (clock(), clock(), Order.EQUAL),
        (clock(A=1, B=2), clock(B=2, A=1), Order.EQUAL),
        (clock(A=0), clock(), Order.EQUAL),
        (clock(A=3, B=2), clock(A=1, B=1), Order.AFTER),
        (clock(A=1, B=2), clock(A=3, B=2), Order.BEFORE),
        (clock(A=3, B=1), clock(A=1, B=3), Order.CONCURRENT),
        (clock(A=1, B=1), clock(A=1), Order.AFTER),
        (clock(A=1), clock(A=1, B=1), Order.BEFORE),
        (clock(A=1), clock(B=1), Order.CONCURRENT),
        (clock(A=1, B=2, C=4), clock(A=3, B=2, C=3), Order.CONCURRENT),
        (clock(A=3, B=3, C=3), clock(A=1, B=2, C=3), Order.AFTER),
    ],
)
def test_the_table_of_the_original(a: Clock, b: Clock, expected: Order) -> None:
    """CAUS-3"""
    assert compare(a, b) is expected


@pytest.mark.parametrize("counter", [-1, MAX_COUNTER + 1, True, 1.0, "1", None])
def test_a_counter_outside_of_its_range_is_refused(counter: object) -> None:
    """CAUS-2, on either side of a comparison."""
    bad: Clock = {HOSTS[0]: counter}  # type: ignore[dict-item]
    with pytest.raises(ClockError, match="must be 0 to"):
        compare(bad, {})
    with pytest.raises(ClockError, match=HOSTS[0]):
        compare({}, bad)


def test_the_largest_counter_is_in_range() -> None:
    """CAUS-2"""
    assert compare({HOSTS[0]: MAX_COUNTER}, {}) is Order.AFTER


def test_counters_from_zero_would_hide_a_hosts_first_edit() -> None:
    """CAUS-1: why counters start at 1."""
    seen = clock(A=7)
    assert compare({**seen, HOSTS[0]: 0}, seen) is Order.EQUAL
    assert compare({**seen, HOSTS[0]: 1}, seen) is Order.AFTER


@given(clocks, clocks)
def test_swapping_the_sides_swaps_the_answer(a: Clock, b: Clock) -> None:
    """CAUS-3"""
    assert compare(b, a) is OPPOSITE[compare(a, b)]


@given(clocks, clocks)
def test_an_answer_is_what_covering_says(a: Clock, b: Clock) -> None:
    """CAUS-3"""
    dots = {(host, n) for c in (a, b) for host in c for n in range(1, c[host] + 1)}
    in_a = {dot for dot in dots if has_seen(a, Dot(*dot))}
    in_b = {dot for dot in dots if has_seen(b, Dot(*dot))}
    assert covers(a, b) == (in_a >= in_b)
    assert (compare(a, b) is Order.CONCURRENT) == bool(in_a - in_b and in_b - in_a)


@given(clocks, clocks, clocks)
def test_merge_is_the_least_clock_that_covers_both(a: Clock, b: Clock, c: Clock) -> None:
    """CAUS-4"""
    merged = merge(a, b)
    assert covers(merged, a)
    assert covers(merged, b)
    if covers(c, a) and covers(c, b):
        assert covers(c, merged)
    assert 0 not in merged.values()


@given(clocks, clocks, clocks)
def test_merge_knows_no_order(a: Clock, b: Clock, c: Clock) -> None:
    """CAUS-4"""
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(merge(a, b), b) == merge(a, b)


def test_merging_leaves_its_arguments_alone() -> None:
    """CAUS-220, with the original's example."""
    a, b = clock(A=5, B=1), clock(A=3, B=4, C=2)
    assert merge(a, b) == clock(A=5, B=4, C=2)
    assert (a, b) == (clock(A=5, B=1), clock(A=3, B=4, C=2))
