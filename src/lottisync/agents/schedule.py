"""When an agent wakes: the rules, without a clock, a store or a task of their own (docs/specs/09-agents.md, section 9).

The state of every agent is put in (what it would wake for, whether it may, how its last wakes went), with the time.
What comes out is who wakes now, for what, and when to look again. Nothing is remembered in here, so there is nothing to
lose in a crash and nothing to bring back.

| why it would wake    | earliest                 | cool-down, wakes an hour |
|----------------------|--------------------------|--------------------------|
| a wake was killed    | at once, same run key    | do not hold it           |
| it was just made     | at once                  | do not hold it           |
| a timer came         | the instant it was set for | hold it                |
| something changed    | `BATCH` after the first change that waits | hold it |

A failure holds all of them, until the backoff is over. One wake of an agent at a time; it takes everything that waits
under its subscription with it, and by its watermark all else that had changed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lottisync.agents.run_key import Trigger

BATCH = 100
"""Milliseconds: three items ticked in a row are one change (S3-89)."""
COOL_DOWN = 60_000
"""Milliseconds after a wake: somebody who works on a task makes one change after the other."""
WAKES_PER_HOUR = 12
"""How often one agent wakes by itself. A program that writes all day must not run up a bill."""
HOUR = 3_600_000
MAX_UNDER_WAY = 3
"""Wakes of different agents at once: a model at home serves one or two at a time, and people read slower."""
FIRST_BACKOFF = 60_000
MAX_BACKOFF = HOUR
GROWTH = 4
MAX_FAILURES = 5
"""Failures in a row after which an agent sleeps until a person resumes it. With the backoff between them (1, 4, 16
and 60 minutes, less the jitter) that bridges an hour without a network."""


class WakeLimits(NamedTuple):
    """Settings of one agent; times in ms."""

    cool_down: int = COOL_DOWN
    wakes_an_hour: int = WAKES_PER_HOUR


class Cause(NamedTuple):
    """One thing to wake for, and the time (ms) from which on. An `urgent` one does not wait for the cool-down."""

    trigger: Trigger
    at: int
    urgent: bool = False


class Readiness(NamedTuple):
    """The state of one agent that the rules need; times in ms. `awake`: a wake of it is going on. `asleep`: it may not
    wake. `not_before` is the end of its backoff, `last_end` the end of its last wake, `starts` the beginnings of its
    wakes of the last hour, oldest first."""

    agent_id: str
    causes: tuple[Cause, ...] = ()
    awake: bool = False
    asleep: bool = False
    not_before: int = 0
    last_end: int | None = None
    starts: tuple[int, ...] = ()
    limits: WakeLimits = WakeLimits()


class Start(NamedTuple):
    agent_id: str
    trigger: Trigger


class WakePlan(NamedTuple):
    """The agents to wake now, and when to look again (ms); None if only a new event can change anything."""

    start: list[Start]
    next_look: int | None


def plan(standings: Iterable[Readiness], now: int) -> WakePlan:
    """The agent that waits longest comes first; at most `MAX_UNDER_WAY` are awake at once."""
    everyone = list(standings)
    free = MAX_UNDER_WAY - sum(each.awake for each in everyone)
    due = sorted(
        (at, each.agent_id, cause.trigger)
        for each in everyone
        if (earliest := _earliest(each, now)) is not None
        for at, cause in [earliest]
    )
    ready = [Start(agent_id, trigger) for at, agent_id, trigger in due if at <= now]
    later = [at for at, _, _ in due if at > now]
    return WakePlan(ready[: max(free, 0)], min(later, default=None))


def _earliest(standing: Readiness, now: int) -> tuple[int, Cause] | None:
    """The cause that wakes the agent first, and when; of several that may wake it now the first one given."""
    if standing.awake or standing.asleep or not standing.causes:
        return None
    moments = [(max(_moment(standing, cause, now), 0), index) for index, cause in enumerate(standing.causes)]
    ready = [(at, index) for at, index in moments if at <= now]
    at, index = min(ready, key=lambda each: each[1]) if ready else min(moments)
    return at, standing.causes[index]


def _moment(standing: Readiness, cause: Cause, now: int) -> int:
    moment = max(cause.at, standing.not_before)
    if cause.urgent:
        return moment
    if standing.last_end is not None:
        moment = max(moment, standing.last_end + standing.limits.cool_down)
    recent = [at for at in standing.starts if at > now - HOUR]
    if len(recent) >= standing.limits.wakes_an_hour:
        moment = max(moment, recent[-standing.limits.wakes_an_hour] + HOUR)
    return moment


def backoff(failures: int, chance: float) -> int:
    """Milliseconds to wait after that many failures in a row (1 or more). `chance`, from 0 to 1, takes up to half of
    it off: agents that failed together for one reason do not come back together."""
    whole: int = min(FIRST_BACKOFF * GROWTH ** min(failures - 1, 10), MAX_BACKOFF)
    return round(whole * (1 - chance / 2))
