"""Every sentence of the pages goes through here, so that a catalogue can say it in another language.

English is the text in the code, as in `lottisync.review.language`. There is no translation yet: whatever language a
browser asks for, the pages are English.
"""

from datetime import date, datetime, tzinfo
from typing import Any

from lottisync.store.instant import millis

LANGUAGE = "en"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MINUTE, HOUR = 60_000, 3_600_000
FIELDS = {
    "title": "Title",
    "status": "Status",
    "statusReason": "Reason",
    "priority": "Priority",
    "due": "Due date",
    "estimate": "Estimate",
    "languageCode": "Language",
    "languageSource": "Language set by",
    "isChecked": "Done",
    "description": "Description",
    "deletedAt": "Deleted",
    "text": "Text",
    "minutes": "Time",
    "rank": "Place",
}
"""What people call a register. One that is not here is called by its own name."""


def say(text: str, **values: Any) -> str:
    """A sentence with its fields."""
    return text.format(**values) if values else text


def several(one: str, many: str, count: int, **values: Any) -> str:
    """A sentence with a number in it, which its fields know as `count`."""
    return (one if count == 1 else many).format(count=f"{count:,}", **values)


def field(path: str) -> str:
    """A register as people call it."""
    return say(FIELDS.get(path, path))


def value(path: str, held: Any) -> str:
    """What a register holds, as people say it."""
    if held is None or held == "":
        return say("nothing")
    if isinstance(held, bool):
        return say("done") if held else say("not done")
    if path in ("estimate", "minutes") and isinstance(held, int):
        return minutes(held)
    if path == "due" and isinstance(held, str):
        return day(held)
    if path == "status" and isinstance(held, str):
        return held.capitalize()
    return str(held)


def minutes(count: int | None) -> str:
    """`90` -> `1 h 30 min`."""
    hours, rest = divmod(count or 0, 60)
    parts = [say("{n} h", n=hours)] if hours else []
    parts += [say("{n} min", n=rest)] if rest or not hours else []
    return " ".join(parts)


def day(text: str) -> str:
    """`2026-11-27` -> `Fri 27 Nov 2026`; what is no day stays as it is."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{say(DAYS[found.weekday()])} {found.day} {say(MONTHS[found.month - 1])} {found.year}"


def moment(instant: str | None, now: int, zone: tzinfo | None = None) -> str:
    """A time as it is seen at `now` (ms): minutes ago, the clock, the weekday, the date; local time unless `zone`
    says otherwise."""
    if not instant:
        return ""
    try:
        at = millis(instant)
    except ValueError:
        return instant
    ago = now - at
    if 0 <= ago < HOUR:
        count = ago // MINUTE
        return several("{count} min ago", "{count} min ago", count) if count else say("just now")
    then, today = local(at, zone), local(now, zone)
    clock = then.strftime("%H:%M")
    days = (today.date() - then.date()).days
    if days == 0:
        return clock
    if 0 < days < 7:
        return f"{say(DAYS[then.weekday()])} {clock}"
    return f"{day(then.date().isoformat())}, {clock}"


def local(at: int, zone: tzinfo | None = None) -> datetime:
    """A time (ms) by the clock on the wall."""
    return datetime.fromtimestamp(at / 1000, zone).astimezone(zone)
