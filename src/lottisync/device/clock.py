"""Time and chance. Everything below takes them as arguments; this is the one place that reads them from the machine."""

import os
import time
from collections.abc import Callable
from random import Random, SystemRandom
from typing import NamedTuple

from lottisync.causality.vector_clock import Host
from lottisync.entities.identifier import time_ordered
from lottisync.problem import Sentence
from lottisync.store.instant import iso


class Environment(NamedTuple):
    """Where a device takes time and chance from. A test gives its own."""

    now: Callable[[], int]
    """Wall time in milliseconds since 1970."""
    new_id: Callable[[int], str]
    """An id for a new entity, made at this time (ms)."""
    new_host: Callable[[], Host]
    """A host that no store has had before."""
    new_seed: Callable[[], bytes]
    """32 random bytes for a device key, from the system's secure source."""


def now() -> int:
    """Wall time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


EARLIEST, LATEST = 1_767_225_600_000, 4_102_444_800_000
"""2026-01-01 and 2100-01-01, in UTC. This program did not exist before the first, and is not meant to run after the
second."""


def doubt(now: int) -> Sentence | None:
    """What to say to the person of this device's own clock, if it cannot be right (CAUS-17); None if it can."""
    if EARLIEST <= now < LATEST:
        return None
    return Sentence(
        "this device's clock is wrong: it says {now}. What is written here gets that time, and may be shown"
        " behind or in place of what others write. Set the clock",
        now=iso(now),
    )


def new_id(now: int) -> str:
    """An id for a new entity."""
    return time_ordered(now, draw(10))


def new_host() -> Host:
    """A host that no store has had before: 64 random bits."""
    return Host(token(8))


def new_seed() -> bytes:
    """The secret that a device key is made of: 32 random bytes."""
    return draw(32)


def draw(size: int) -> bytes:
    """Random bytes from the system's secure source."""
    return os.urandom(size)


def token(size: int) -> str:
    """A text that nobody can guess: so many random bytes, in hexadecimal digits."""
    return draw(size).hex()


def chance() -> Random:
    """For pauses that are drawn, so that programs do not all try again at the same moment."""
    return SystemRandom()


MACHINE = Environment(now, new_id, new_host, new_seed)
"""This machine's clock and random numbers."""
