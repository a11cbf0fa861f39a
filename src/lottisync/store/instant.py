"""Instants as text: UTC, milliseconds, so that they sort as they happened (docs/specs/03-entities.md, section 5).

They lie between 1970 and the end of 9999, because text with a longer year no longer sorts. A clock
reading has room for eight centuries more; one from there is shown as the last instant there is, so
that a peer whose clock is that wrong can still be read.
"""

from datetime import UTC, datetime
from functools import lru_cache

LAST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""


def iso(millis: int) -> str:
    """`1772316000000` -> `2026-02-28T22:00:00.000Z` (ENT-14)."""
    seconds, rest = divmod(min(millis, LAST), 1000)
    return f"{_to_the_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    """Writes of a batch share few of them."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def millis(text: str) -> int:
    """The inverse, for any ISO 8601 instant with an offset; `ValueError` for one without, or out of range."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"an instant needs its offset from UTC, like 2026-02-28T22:00:00Z; got {text!r}")
    found = round(moment.timestamp() * 1000)
    if not 0 <= found <= LAST:
        raise ValueError(f"an instant lies between 1970 and 9999; got {text!r}")
    return found
