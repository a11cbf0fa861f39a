"""Days as people say them: `tomorrow`, `fri`, `in 2 weeks`, `next month`, `2026-12-01` (docs/specs/11-command-line.md).

A day is counted from today, in this device's zone, and lies ahead where both would fit. What may mean two days is
refused: `01/02` is another day in London and in Boston, `may` is no day, and next friday is not the same for everybody.
Every answer says which day was understood.

dateparser reads them. It needs the whole text to be a date. parsedatetime takes "the day after tomorrow" for tomorrow,
and dateutil knows no "tomorrow". It takes a tenth of a second to load, so it is loaded only where a day is not written
as YYYY-MM-DD.
"""

import re
from datetime import date, datetime

from lottisync.problem import Usage
from lottisync.shown import quoted

_ISO = re.compile(r"\A\d{4}-\d{2}-\d{2}\Z")
_WEEKDAY = re.compile(r"\b(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?\b")
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\b")
_TIME = re.compile(r":|\b\d*(am|pm|hours?|hrs?|h|min(ute)?s?|sec(ond)?s?|noon|midnight|now)\b")
LONGEST = 60
EXAMPLES = "a due date is a day like 2026-12-01, tomorrow, fri or in 2 weeks; got {quoted}"
AMBIGUOUS = "{quoted} may be more than one day. Write it like 2026-12-01"


def day(text: str, now: int) -> str:
    """The day that a person means at the time `now` (ms), as `2026-12-01`. Raises `Usage`."""
    typed = " ".join(text.lower().split())
    if _ISO.match(typed):
        try:
            return date.fromisoformat(typed).isoformat()
        except ValueError:
            raise _refused("there is no day {quoted}", text) from None
    if not any(sign.isalpha() for sign in typed) or len(typed) > LONGEST or _TIME.search(typed):
        raise _refused(EXAMPLES, text)
    readings = {_parsed(typed, now, order) for order in ("DMY", "MDY")}
    if None in readings:
        raise _refused(EXAMPLES, text)
    if len(readings) > 1 or _guessed(typed):
        raise _refused(AMBIGUOUS, text)
    return str(readings.pop())


def _guessed(typed: str) -> bool:
    """Whether a reading takes something for granted: which Friday the next one is, which day of May, or that
    `12 jan 13` ends with a year."""
    numbers = re.findall(r"\d+", typed)
    if _MONTH.search(typed) and not any(len(number) < 3 for number in numbers):
        return True
    weekday = _WEEKDAY.search(typed)
    if weekday is not None and weekday[0] != typed.removeprefix("on "):
        return True
    return len(numbers) > 1 and all(len(number) < 4 for number in numbers)


def today(now: int) -> str:
    """The day in this device's zone."""
    return datetime.fromtimestamp(now / 1000).date().isoformat()


def _parsed(typed: str, now: int, order: str) -> str | None:
    """The reading in this order of day and month; None if there is none."""
    import dateparser

    found = dateparser.parse(
        typed,
        languages=["en"],
        settings={
            "RELATIVE_BASE": datetime.fromtimestamp(now / 1000),
            "PREFER_DATES_FROM": "future",
            "DATE_ORDER": order,
            "PARSERS": ["relative-time", "absolute-time"],
        },
    )
    return None if found is None else found.date().isoformat()


def _refused(template: str, text: str) -> Usage:
    return Usage("bad-value", template, quoted=quoted(text))
