"""What registers, values and times are called on a page, in the reader's language (`lottisync.language`)."""

import re
from datetime import date, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from lottisync.journal import repetition
from lottisync.journal.tasks import TaskPage
from lottisync.language import language_name, marked, say, several, translated
from lottisync.store.instant import holds_instant, millis, there
from lottisync.store.reader import Reader

_STORED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
"""An instant as it is stored."""
_ENDS_WITH_A_COMMAND = re.compile(r": lottisync ((?!\. ).)*\Z")
"""A sentence with a command behind it, which people copy unchanged."""
MINUTE, HOUR = 60_000, 3_600_000
WEEKDAYS = (marked("Mon"), marked("Tue"), marked("Wed"), marked("Thu"), marked("Fri"), marked("Sat"), marked("Sun"))
MONTHS = (
    marked("Jan"),
    marked("Feb"),
    marked("Mar"),
    marked("Apr"),
    marked("May"),
    marked("Jun"),
    marked("Jul"),
    marked("Aug"),
    marked("Sep"),
    marked("Oct"),
    marked("Nov"),
    marked("Dec"),
)
STATUSES = {
    "OPEN": marked("Open"),
    "GROOMED": marked("Groomed"),
    "IN PROGRESS": marked("In progress"),
    "BLOCKED": marked("Blocked"),
    "ON HOLD": marked("On hold"),
    "DONE": marked("Done"),
    "REJECTED": marked("Rejected"),
}

UNITS = {"day": marked("days"), "week": marked("weeks"), "month": marked("months"), "year": marked("years")}
"""The words for how a task repeats."""


def named(reader: Reader, path: str, held: Any) -> Any:
    """What a register holds; a category by its name, if it is here."""
    document = reader.document(held) if path == "categoryId" and isinstance(held, str) else None
    return document.document().get("name") or held if document is not None else held


def value(path: str, held: Any) -> str:
    """What a register holds, as people say it."""
    if held is None or held == "":
        return say("never") if path == "repeat" else say("nothing")
    if isinstance(held, bool):
        if path == "isArchived":
            return say("archived") if held else say("not archived")
        return say("done") if held else say("not done")
    if path in ("estimate", "minutes") and isinstance(held, int):
        return minutes(held)
    if path == "due" and isinstance(held, str):
        return day(held)
    if path == "repeat" and (rule := repetition.rule_of(str(held))) is not None:
        return translated(repetition.how_often(rule))
    if isinstance(held, str) and holds_instant(path):
        return instant(held)
    if path == "languageCode" and isinstance(held, str):
        return language_name(held)
    if path == "languageSource":
        return say("you") if held == "user" else say("an agent")
    if path == "status" and isinstance(held, str):
        return say(STATUSES.get(held, held.capitalize()))
    return str(held)


def in_a_sentence(name: str, held: Any) -> Any:
    """An argument of a sentence: a status by its word, an instant by the reader's clock. Anything else as it is."""
    if name == "status" and held in STATUSES:
        return value("status", held)
    return instant(held) if isinstance(held, str) and _STORED.fullmatch(held) else held


def sentence(text: str) -> str:
    """A sentence of the command line in the form of pages: with a capital letter and a full stop."""
    if not text or text[-1] in ".!?…" or _ENDS_WITH_A_COMMAND.search(text):
        return text[:1].upper() + text[1:]
    return f"{text[:1].upper()}{text[1:]}."


def minutes(count: int | None) -> str:
    """`90` -> `1 h 30 min`."""
    hours, rest = divmod(count or 0, 60)
    parts = [say("{n} h", n=hours)] if hours else []
    parts += [say("{n} min", n=rest)] if rest or not hours else []
    return " ".join(parts)


def progress(page: TaskPage) -> str:
    """`2 of 5 done`; '' where there is nothing to do."""
    return say("{done} of {all} done", done=page.ticked, all=len(page.items)) if page.items else ""


def day(text: str) -> str:
    """`2026-11-27` -> `Fri 27 Nov 2026`; a text that is not a day stays as it is."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return text
    weekday, month = say(WEEKDAYS[found.weekday()]), say(MONTHS[found.month - 1])
    return say("{weekday} {day} {month} {year}", weekday=weekday, day=found.day, month=month, year=found.year)


def instant(text: str) -> str:
    """A day and a time; a text that is not an instant stays as it is."""
    try:
        at = there(millis(text))
    except (ValueError, OverflowError):
        return text
    return f"{day(at.date().isoformat())}, {at:%H:%M}"


def exact(text: str) -> str:
    """A day and a time to the second, with the zone; a text that is not an instant stays as it is."""
    try:
        at = there(millis(text))
    except (ValueError, OverflowError):
        return text
    return f"{day(at.date().isoformat())}, {at:%H:%M:%S} {at:%Z}"


def timed(text: str, instant: str | None) -> Markup:
    """What is said of an instant, with the exact time beside it."""
    if not instant:
        return escape(text)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(instant, exact(instant), text)


def moment(instant: str | None, now: int) -> str:
    """A time as it is seen at `now` (ms): minutes ago, the clock, the weekday, the date."""
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
    then, today = there(at), there(now)
    clock = then.strftime("%H:%M")
    days = (today.date() - then.date()).days
    if days == 0:
        return clock
    if 0 < days < 7:
        return f"{say(WEEKDAYS[then.weekday()])} {clock}"
    return f"{day(then.date().isoformat())}, {clock}"


@lru_cache(64)
def zone_named(name: str) -> tzinfo | None:
    """The zone that a browser says that it is in, like `Europe/Berlin`; None for anything else: the machine's."""
    try:
        return ZoneInfo(name) if 0 < len(name) < 64 else None
    except (ValueError, OSError, KeyError):
        return None
