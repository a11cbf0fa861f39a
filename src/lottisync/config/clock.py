"""Where time and chance come from. Everything below takes them as arguments; this is the one place
that reads them from the machine."""

import os
import time

from lottisync.causality.vector_clock import Host
from lottisync.entities.identifier import time_ordered


def now() -> int:
    """Wall time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def new_id(now: int) -> str:
    """An id for a new entity."""
    return time_ordered(now, os.urandom(10))


def new_host() -> Host:
    """A host that no store has had before: 64 random bits."""
    return Host(os.urandom(8).hex())
