"""Which addresses are dialled, and when: MEET-11 to MEET-13."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.sync.dial_plan import (
    LIKELY,
    LONGEST_PAUSE_SECONDS,
    LONGEST_UNLIKELY_PAUSE_SECONDS,
    MAX_OF_A_SOURCE,
    STAGGER_SECONDS,
    Failure,
    Known,
    Source,
    failed,
    in_turn,
    plan,
    renewed,
)

NO_ANSWER = Failure("unreachable", Sentence("no answer"))
addresses = st.builds(Address, st.sampled_from([f"192.0.2.{n}" for n in range(60)]), st.sampled_from([1, 2]))
knowns = st.lists(
    st.builds(Known, addresses, st.sampled_from(Source), st.integers(0, 30), st.floats(0, 1000)), max_size=60
)


def many(source: Source, count: int, start: int = 0) -> list[Known]:
    return [Known(Address(f"192.0.2.{start + n}", 22067), source) for n in range(count)]


@given(knowns, st.floats(0, 1000))
def test_meet_11_each_address_is_dialled_once_and_never_before_its_time(known: list[Known], now: float) -> None:
    attempts = plan(known, now)
    assert len({attempt.address for attempt in attempts}) == len(attempts)
    ready_at = {each.address: each.retry_at for each in reversed(in_turn(known))}
    assert ready_at.keys() == {attempt.address for attempt in attempts}
    assert all(attempt.at >= max(now, ready_at[attempt.address]) for attempt in attempts)
    assert [attempt.at for attempt in attempts] == sorted(attempt.at for attempt in attempts)


@given(knowns, st.floats(0, 1000))
def test_meet_11_two_attempts_that_are_due_begin_a_tenth_of_a_second_apart(known: list[Known], now: float) -> None:
    due = sum(each.retry_at <= now for each in in_turn(known))
    times = [attempt.at for attempt in plan(known, now)][:due]
    assert all(times[n] <= now + n * STAGGER_SECONDS + 1e-9 for n in range(due))


@given(knowns)
def test_meet_11_no_source_gets_more_than_its_share(known: list[Known]) -> None:
    taken = in_turn(known)
    assert all(sum(each.source is s for each in taken) <= most for s, most in MAX_OF_A_SOURCE.items())


def test_meet_11_a_source_full_of_dead_addresses_does_not_hold_up_the_others() -> None:
    """Forty addresses that worked once, three hundred that were announced, and the right one in the record alone: it is
    among the first three."""
    right = Known(Address("198.51.100.1", 22067), Source.RECORDED)
    known = [*many(Source.ANNOUNCED, 300), *many(Source.WORKED, 40, 300), right]
    attempts = plan(known, 10.0)
    assert right.address in [attempt.address for attempt in attempts[:3]]
    assert attempts[2].at - 10.0 < 0.3


def test_meet_11_what_is_announced_comes_first_then_what_worked_last() -> None:
    announced, worked, given_by_hand, recorded = (many(source, 2, 10 * source)[0] for source in Source)
    known = [recorded, given_by_hand, worked, announced]
    assert [each.source for each in in_turn(known)] == sorted(Source)
    # An address that two sources name counts for the better one.
    twice = [Known(worked.address, Source.RECORDED), worked]
    assert in_turn(twice) == [worked]


@given(st.integers(0, 40), st.integers(0, 30), st.floats(0, 1e6), st.integers(0, 99))
def test_meet_13_the_pause_grows_with_each_failure_up_to_its_limit(
    failures: int, rank: int, now: float, seed: int
) -> None:
    known = Known(Address("192.0.2.1", 1), Source.WORKED, failures)
    after = failed(known, rank, now, Random(seed), NO_ANSWER)
    longest = LONGEST_PAUSE_SECONDS if rank < LIKELY else LONGEST_UNLIKELY_PAUSE_SECONDS
    assert 0.2 <= after.retry_at - now <= 1.3 * longest + 1e-6
    assert (after.failures, after.since, after.failure) == (failures + 1, now, NO_ANSWER)
    assert failed(after, rank, now + 5, Random(seed), NO_ANSWER).since == now
    (again,) = renewed([after])
    assert (again.failures, again.retry_at, again.since) == (0, 0.0, now)


def test_meet_13_two_addresses_that_fail_together_are_not_dialled_together_for_ever() -> None:
    chance = Random(1)
    first, second = (failed(each, 0, 0.0, chance, NO_ANSWER) for each in many(Source.WORKED, 2))
    assert first.retry_at != second.retry_at
