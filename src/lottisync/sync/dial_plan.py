"""Which of a device's addresses are dialled, and when (docs/specs/16-meeting.md, section 3).

A device that moves about has many addresses, and most of them are stale. Tried one after the other, ten dead ones cost
half a minute. So several are dialled at once, the likeliest first ("happy eyeballs", RFC 8305), and the first that
proves the right key wins.

Which *source* is right today is not known: an announcement is fresh but may be missing, a remembered address may be
of last week's hotel. So the plan takes one address of each source in turn. A source that is full of dead
addresses cannot hold up the others.

Each address has its own pause, which grows with each failure. Time and chance are arguments.
"""

import enum
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import Literal, NamedTuple

from lottisync.net.address import Address
from lottisync.problem import Sentence

STAGGER_SECONDS = 0.1
"""Between the beginnings of two attempts: the least that RFC 8305 allows. The likeliest often answers in less."""
MAX_AT_ONCE = 16
"""Attempts under way for one device. Each lasts at most `DIAL_SECONDS`."""
DIAL_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.3
LONGEST_PAUSE_SECONDS = 30.0
LONGEST_UNLIKELY_PAUSE_SECONDS = 300.0
LIKELY = 4
"""How many addresses of a plan are dialled every half minute for as long as it takes; the others are dialled every five
minutes."""


class Source(enum.IntEnum):
    """Who says that the device is there; those that are right most often come first."""

    ANNOUNCED = 0
    WORKED = 1
    GIVEN = 2
    RECORDED = 3


MAX_OF_A_SOURCE = {Source.ANNOUNCED: 8, Source.WORKED: 8, Source.GIVEN: 8, Source.RECORDED: 16}
"""What is beyond is not dialled: a network has no more for one device, a liar has."""


Code = Literal["unreachable", "refused", "version"]


class Failure(NamedTuple):
    """Why an attempt came to nothing: `code` is `unreachable`, `refused` or `version`, `text` is for people. With
    `stranger`, who answered did not prove that it is the device."""

    code: Code
    text: Sentence
    stranger: bool = False


class Known(NamedTuple):
    """An address and what became of it. `retry_at` and `since` are seconds of a clock that only goes forward: before
    `retry_at` it is not dialled again; since `since` every attempt has failed, `failures` of them since there was
    news, the last one at `tried`, with `failure`."""

    address: Address
    source: Source
    failures: int = 0
    retry_at: float = 0.0
    since: float | None = None
    tried: float | None = None
    failure: Failure | None = None


class Attempt(NamedTuple):
    address: Address
    at: float


def plan(known: Iterable[Known], now: float) -> list[Attempt]:
    """The attempts that follow, in order of time; each address once. Within a source, `known` has the likeliest
    first."""
    mixed = in_turn(known)
    ready = [each for each in mixed if each.retry_at <= now]
    later = [each for each in mixed if each.retry_at > now]
    attempts = [Attempt(each.address, now + number * STAGGER_SECONDS) for number, each in enumerate(ready)]
    attempts += [Attempt(each.address, each.retry_at) for each in later]
    return sorted(attempts, key=lambda attempt: attempt.at)


def in_turn(known: Iterable[Known]) -> list[Known]:
    """The addresses, one of each source in turn. Each address is there once, and no more of a source than
    `MAX_OF_A_SOURCE`."""
    by_source: dict[Source, list[Known]] = {source: [] for source in Source}
    for each in known:
        if len(by_source[each.source]) < MAX_OF_A_SOURCE[each.source]:
            by_source[each.source].append(each)
    mixed = chain.from_iterable(zip_longest(*by_source.values()))
    return list({each.address: each for each in reversed([each for each in mixed if each is not None])}.values())[::-1]


def failed(known: Known, rank: int, now: float, chance: Random, failure: Failure) -> Known:
    """The address after another attempt has failed. `rank` is its position in the plan."""
    longest = LONGEST_PAUSE_SECONDS if rank < LIKELY else LONGEST_UNLIKELY_PAUSE_SECONDS
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(known.failures, 20), longest) * chance.uniform(0.7, 1.3)
    return known._replace(
        failures=known.failures + 1,
        retry_at=now + pause,
        since=known.since if known.since is not None else now,
        tried=now,
        failure=failure,
    )


def forgiven(known: Sequence[Known]) -> list[Known]:
    """The addresses once the device is connected. Failures until then are not shown any more."""
    return [each._replace(since=None, failure=None) for each in known]


def renewed(known: Sequence[Known]) -> list[Known]:
    """The same addresses, to be dialled at once: the network has changed, or the device has been heard of."""
    return [each._replace(failures=0, retry_at=0.0) for each in known]
