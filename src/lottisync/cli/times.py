"""Instants as people read them, in this device's zone and how long ago, and lengths of time. `--json` has UTC."""

from functools import cache

from lottisync.language import say, several
from lottisync.store.instant import millis, there

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
DATE = "%Y-%m-%d"
SECONDS = "%Y-%m-%d %H:%M:%S"
TIME_OF_DAY = "%H:%M:%S"
RECENT_DAYS = 7
"""After this many days the day is said instead."""


def local(instant: str | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """An instant (ISO 8601) as this device's clock shows it; any other text stays as it is."""
    try:
        return f"{there(millis(instant or '')):{form}}"
    except ValueError:
        return instant or ""


def ago(instant: str | None, now: int) -> str:
    """How long before `now` (ms) an instant is: `just now`, `2 min ago`, `3 days ago`; later the day itself."""
    try:
        past = now - millis(instant or "")
    except ValueError:
        return instant or ""
    if past < -MINUTE or past >= (RECENT_DAYS + 1) * DAY:
        return local(instant)
    if past >= DAY:
        return several("{count} day ago", "{count} days ago", past // DAY)
    if past >= HOUR:
        return several("{count} hour ago", "{count} hours ago", past // HOUR)
    return say("{count} min ago", count=past // MINUTE) if past >= MINUTE else say("just now")


@cache
def minutes(number: int | None) -> str:
    """`150` -> `2h 30m`; nothing for None."""
    if number is None:
        return ""
    hours, rest = divmod(number, 60)
    return f"{hours}h {rest}m" if hours and rest else f"{hours}h" if hours else f"{rest}m"
