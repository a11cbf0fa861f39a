"""The rules of who wakes when, as a table and as laws. No clock, no store."""

from hypothesis import given
from hypothesis import strategies as st

from lottisync.agents.run_key import timer, user_initiated
from lottisync.agents.schedule import (
    BATCH,
    COOL_DOWN,
    FIRST_BACKOFF,
    HOUR,
    MAX_BACKOFF,
    MAX_UNDER_WAY,
    WAKES_PER_HOUR,
    Cause,
    Readiness,
    Start,
    WakeLimits,
    backoff,
    plan,
)

T = 1_764_590_400_000
CHANGE = timer("laura", "change", "x")
TIMER = timer("laura", "tuesday", "y")
KILLED = user_initiated("laura", "session", "1")


def moment(standing: Readiness) -> int | None:
    """When the agent wakes if nothing else happens."""
    now = T
    for _ in range(10):
        found = plan([standing], now)
        if found.start:
            return now
        if found.next_look is None:
            return None
        assert found.next_look > now
        now = found.next_look
    raise AssertionError("it is looked at for ever")


def standing(*causes: Cause, **fields: object) -> Readiness:
    return Readiness("laura", causes)._replace(**fields)  # type: ignore[arg-type]


def test_a_change_waits_for_its_batch_the_cool_down_the_backoff_and_the_hour() -> None:
    """AGENT-27, AGENT-28, AGENT-29, AGENT-306, S3-89, S3-90"""
    change = Cause(CHANGE, T + BATCH)
    full = tuple(T - HOUR + 1_000 * n for n in range(1, WAKES_PER_HOUR + 1))
    assert moment(standing(change)) == T + BATCH
    assert moment(standing(change, last_end=T - 10)) == T - 10 + COOL_DOWN
    assert moment(standing(change, last_end=T - COOL_DOWN)) == T + BATCH
    assert moment(standing(change, not_before=T + 5 * COOL_DOWN, last_end=T)) == T + 5 * COOL_DOWN
    assert moment(standing(change, starts=full)) == T + 1_000
    assert moment(standing(change, starts=full[1:])) == T + BATCH
    assert moment(standing(change, starts=full, limits=WakeLimits(0, 1))) == full[-1] + HOUR
    assert moment(standing(change, last_end=T, limits=WakeLimits(5_000, 12))) == T + 5_000


def test_what_is_urgent_waits_for_a_backoff_only() -> None:
    """AGENT-28"""
    killed = Cause(KILLED, 0, urgent=True)
    assert moment(standing(killed, last_end=T, starts=(T,) * WAKES_PER_HOUR)) == T
    assert moment(standing(killed, not_before=T + 7)) == T + 7


def test_a_timer_wakes_at_its_instant_and_a_missed_one_at_once() -> None:
    """AGENT-27"""
    assert moment(standing(Cause(TIMER, T + HOUR))) == T + HOUR
    assert moment(standing(Cause(TIMER, T - HOUR))) == T


def test_no_agent_wakes_that_sleeps_or_is_awake_or_has_no_cause() -> None:
    """AGENT-6, AGENT-8"""
    cause = Cause(CHANGE, T)
    assert moment(standing(cause)) == T
    assert moment(standing(cause, asleep=True)) is None
    assert moment(standing(cause, awake=True)) is None
    assert moment(standing()) is None


def test_the_first_of_the_ready_causes_is_the_one() -> None:
    """S3-92: a killed run goes before whatever else has come since."""
    both = standing(Cause(KILLED, 0, urgent=True), Cause(CHANGE, T - 5 * COOL_DOWN))
    assert plan([both], T).start == [Start("laura", KILLED)]
    held = standing(Cause(TIMER, T + 1), Cause(CHANGE, T))
    assert plan([held], T).start == [Start("laura", CHANGE)]


def test_only_so_many_are_awake_at_once_and_the_one_that_waits_longest_comes_first() -> None:
    """AGENT-30"""
    waiting = [Readiness(f"agent-{n}", (Cause(timer(f"agent-{n}", "t", "x"), T - n),)) for n in range(6)]
    assert [start.agent_id for start in plan(waiting, T).start] == ["agent-5", "agent-4", "agent-3"]
    awake = [each._replace(awake=True) for each in waiting[:2]] + waiting[2:]
    assert [start.agent_id for start in plan(awake, T).start] == ["agent-5"]


def test_the_backoff_grows_to_a_cap_and_chance_takes_half_of_it_off() -> None:
    """AGENT-31, S3-90"""
    assert [backoff(n, 0.0) // FIRST_BACKOFF for n in range(1, 6)] == [1, 4, 16, 60, 60]
    assert backoff(2, 1.0) == backoff(2, 0.0) // 2
    assert backoff(10_000, 0.0) == MAX_BACKOFF


moments = st.integers(0, 2 * HOUR).map(lambda ago: T - ago)
causes = st.builds(
    Cause, st.sampled_from([CHANGE, TIMER, KILLED]), st.integers(-HOUR, HOUR).map(lambda n: T + n), st.booleans()
)
agents = st.builds(
    Readiness,
    st.uuids().map(str),
    st.lists(causes, max_size=4).map(tuple),
    st.booleans(),
    st.booleans(),
    st.integers(-HOUR, HOUR).map(lambda n: T + n),
    st.none() | moments,
    st.lists(moments, max_size=20).map(lambda times: tuple(sorted(times))),
    st.just(WakeLimits()),
)


@given(st.lists(agents, max_size=8, unique_by=lambda each: each.agent_id))
def test_no_plan_breaks_a_rule(everyone: list[Readiness]) -> None:
    """AGENT-8, AGENT-27, AGENT-28, AGENT-30, AGENT-31"""
    made = plan(everyone, T)
    by_id = {each.agent_id: each for each in everyone}
    assert len(made.start) == len({start.agent_id for start in made.start})
    assert not made.start or len(made.start) + sum(each.awake for each in everyone) <= MAX_UNDER_WAY
    assert made.next_look is None or made.next_look > T
    for start in made.start:
        each = by_id[start.agent_id]
        assert not each.asleep
        assert not each.awake
        assert each.not_before <= T
        calm = each.last_end is None or each.last_end + COOL_DOWN <= T
        room = sum(at > T - HOUR for at in each.starts) < WAKES_PER_HOUR
        assert any(
            cause.trigger == start.trigger and cause.at <= T and (cause.urgent or (calm and room))
            for cause in each.causes
        )


@given(agents)
def test_every_agent_that_waits_wakes_in_the_end(each: Readiness) -> None:
    """AGENT-306: an agent that is neither asleep nor awake is not delayed for ever."""
    found = moment(each)
    assert (found is None) == (each.asleep or each.awake or not each.causes)
    assert found is None or found <= T + 2 * HOUR
