"""Instants as text: UTC, milliseconds, so that they sort as they happened (docs/specs/03-entities.md, section 5).

They lie between 1970 and the end of 9999, because text with a longer year no longer sorts. A clock
reading has room for eight centuries more; one from there is shown as the last instant there is, so
that a peer whose clock is that wrong can still be read. What is computed with days and times that a clock
says, or that somebody stored, goes through this module, and ends at the same limits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Annotated

import msgspec

InstantText = Annotated[str, msgspec.Meta(extra_json_schema={"title": "instant"})]
"""An instant in a struct that is shown to programs. Its form is not checked when it is read."""
LAST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""
_LAST_THERE = LAST - 2 * 86_400_000
"""No zone is a whole day from UTC. So each can say this time, and has a day after it."""


_WALL: ContextVar[tzinfo | None] = ContextVar("wall", default=None)
"""The zone of the clock that the reader looks at; None is this machine's."""


@contextmanager
def by_the_clock_of(zone: tzinfo | None) -> Iterator[None]:
    """A context in which times are said and read by the clock of that zone, because a reader may be in another zone
    than this machine."""
    before = _WALL.set(zone)
    try:
        yield
    finally:
        _WALL.reset(before)


def iso(millis: int) -> str:
    """`1772316000000` -> `2026-02-28T22:00:00.000Z` (ENT-14, ENT-142)."""
    seconds, rest = divmod(max(0, min(millis, LAST)), 1000)
    return f"{_to_the_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    """The instant of a second, kept, because the writes of a batch share few seconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def millis(text: str) -> int:
    """The inverse, for any ISO 8601 instant with an offset (ENT-140); `ValueError` for one without, or out of range
    (ENT-141)."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"an instant needs its offset from UTC, like 2026-02-28T22:00:00Z; got {text!r}")
    found = round(moment.timestamp() * 1000)
    if not 0 <= found <= LAST:
        raise ValueError(f"an instant lies between 1970 and 9999; got {text!r}")
    return found


def millis_or_none(text: str | None) -> int | None:
    """What `millis` gives; None without a text, or for a text that is not an instant, as any program may have written
    it."""
    try:
        return millis(text) if text else None
    except ValueError:
        return None


def is_instant(value: object) -> bool:
    """Whether a stored value can be read as an instant."""
    return isinstance(value, str) and millis_or_none(value) is not None


def there(millis: int, zone: tzinfo | None = None) -> datetime:
    """What the clock on the wall says in that zone (None: that of the reader) at an instant in milliseconds, of any
    size (ENT-570)."""
    at = datetime.fromtimestamp(max(0, min(millis, _LAST_THERE)) / 1000, UTC)
    return at.astimezone(zone if zone is not None else _WALL.get())


def from_there(clock: datetime) -> int:
    """The inverse: the instant in milliseconds at which the reader's clock says that day and time; `ValueError` or
    `OverflowError` beyond the limits."""
    zone = _WALL.get()
    return millis((clock.astimezone() if zone is None else clock.replace(tzinfo=zone)).isoformat())


def holds_instant(register: str) -> bool:
    """Whether a register of this name holds an instant: their names end in `At`, or are one of a few."""
    return register.endswith("At") or register in ("at", "end", "until", "sleepUntil")


def to_the_minute(instant: str) -> str:
    """An instant as the clock on the reader's wall shows it: `2026-03-01 14:00`; any other text stays as it is."""
    try:
        return f"{there(millis(instant)):%Y-%m-%d %H:%M}"
    except ValueError:
        return instant


def since_1970(moment: datetime) -> int:
    """The instant of a time of the clock, in milliseconds, within the limits; without a zone it is this machine's."""
    try:
        return max(0, min(round(moment.timestamp() * 1000), LAST))
    except (ValueError, OverflowError):  # so near to a limit of the calendar that the offset leads beyond it
        return 0 if moment.year == 1 else LAST


def later(day: date, days: int) -> date:
    """The day that is so many days later; the first or the last of the calendar instead of one beyond it."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return date.max if days > 0 else date.min
