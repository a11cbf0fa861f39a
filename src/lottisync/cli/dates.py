"""Days and times as people say them: `tomorrow`, `fri`, `in 2 weeks`, `2026-12-01`, `fri 14:30`, `in 2 hours`
(docs/specs/11-command-line.md).

A day is counted from today, in this device's zone, and lies ahead where both would fit. What may mean two days is
refused: `01/02` is another day in London and in Boston, `may` is not a day, and next friday is not the same to all.
Every answer says which day was understood. English always counts. In another language of the reader a day counts that
is so many days from today (`morgen`, `in 2 Wochen`), or a weekday (`freitag`), and a time that is so many minutes or
hours from now (`in 2 Stunden`).

dateparser reads them. It needs the whole text to be a date. parsedatetime takes "the day after tomorrow" for tomorrow,
and dateutil knows no "tomorrow". It takes a tenth of a second to load, so it is loaded only where a day is not written
as YYYY-MM-DD.
"""

import re
from datetime import date, datetime, time, timedelta

from lottisync.language import marked, spoken
from lottisync.problem import Marked, Usage
from lottisync.shown import quoted
from lottisync.store.instant import iso, later, millis, there

_ISO = re.compile(r"\A\d{4}-\d{2}-\d{2}\Z")
_WEEKDAY = re.compile(r"\b(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?\b")
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\b")
_TIME = re.compile(r":|\b\d*(am|pm|hours?|hrs?|h|min(ute)?s?|sec(ond)?s?|noon|midnight|now)\b")
_CLOCK = re.compile(
    r"(?:^|\s)(?:at )?(?:(\d{1,2}):(\d{2})(?: ?([ap])m)?|(\d{1,2}) ?([ap])m|(noon|midnight))$", re.ASCII
)
_SPAN = re.compile(r"(in )?(\d{1,4}) ?(m|min|minutes?|h|hours?)( ago)?", re.ASCII)
_DAYS = re.compile(r"(in )?\d{1,4} (day|week|month|year)s?( ago)?", re.ASCII)
MORNING = time(9)
RELATIVE = ["relative-time"]
ABSOLUTE = ["absolute-time"]
LONGEST = 60
EXAMPLES = marked("a due date is a day like 2026-12-01, tomorrow, fri or in 2 weeks; got {quoted}")
MOMENTS = marked("a time is like 14:00, tomorrow 9:00, fri 2:30 pm, in 2 hours or 2026-12-01T14:00; got {quoted}")
REMINDERS = marked(
    "a reminder is for a time like 14:00, tomorrow 9:00, in 2 hours or 2026-12-01T14:00, or for a day; got {quoted}"
)
AMBIGUOUS = marked("{quoted} may be more than one day. Write it like 2026-12-01")


def day(text: str, now: int, like: Marked = EXAMPLES) -> str:
    """The day that a person means at the time `now` (ms), as `2026-12-01`. Raises `Usage`; `like` says what may be
    written there."""
    typed = " ".join(text.lower().split())
    if _ISO.match(typed):
        try:
            return date.fromisoformat(typed).isoformat()
        except ValueError:
            raise _refused(marked("there is no day {quoted}"), text) from None
    if not any(sign.isalpha() for sign in typed) or len(typed) > LONGEST or _TIME.search(typed):
        raise _refused(like, text)
    readings = {_parsed(typed, now, order) for order in ("DMY", "MDY")}
    if None in readings:
        if (meant := _in_the_readers_words(typed, now)) is None:
            raise _refused(like, text)
        return meant
    if len(readings) > 1 or _guessed(typed):
        raise _refused(AMBIGUOUS, text)
    return str(readings.pop())


def moment(text: str, now: int, *, at: time | None = None, ahead: bool = True, like: Marked = MOMENTS) -> str:
    """The instant that a person means at the time `now` (ms), as it is stored (UTC). A day alone is that day at `at`. A
    time alone is today; with `ahead`, tomorrow if it is over today. Raises `Usage`; `like` says what may be written
    there."""
    typed = " ".join(text.lower().split())
    if (counted := _counted(typed, now)) is not None:
        return counted
    found = _CLOCK.search(typed)
    if found is None:
        if " " in typed and (counted := _counted(_in_english(typed), now)) is not None:
            return counted
        return _iso_moment(text, now, at, like)
    clock_time, rest = _time(found, text, like), typed[: found.start()].removesuffix(" at").rstrip(",")
    here = there(now)
    on = date.fromisoformat(day(rest, now, like)) if rest else here.date()
    if not rest and ahead and clock_time <= here.time():
        on = later(on, 1)
    return _stored(datetime.combine(on, clock_time), text, like)


def _counted(typed: str, now: int) -> str | None:
    """The instant that is so many minutes or hours from `now`; None if the text says something else."""
    span = _SPAN.fullmatch(typed)
    if span is None or bool(span[1]) == bool(span[4]):
        return None
    length = int(span[2]) * (60_000 if span[3].startswith("m") else 3_600_000)
    return iso(now - length if span[4] else now + length)


def _iso_moment(text: str, now: int, at: time | None, like: Marked) -> str:
    """An instant or a local time of ISO 8601, or a day at the time `at`."""
    if "t" in text.strip().lower()[10:11]:
        try:
            read = datetime.fromisoformat(text.strip())
        except ValueError:
            raise _refused(like, text) from None
        return _stored(read, text, like)
    if at is None:
        raise _refused(like, text)
    return _stored(datetime.combine(date.fromisoformat(day(text, now, like)), at), text, like)


def _time(found: "re.Match[str]", text: str, like: Marked) -> time:
    if found[6]:
        return time(12 if found[6] == "noon" else 0)
    hour, minute, half = int(found[1] or found[4]), int(found[2] or 0), found[3] or found[5]
    if half and not 1 <= hour <= 12:
        raise _refused(like, text)
    try:
        return time(hour % 12 + (12 if half == "p" else 0) if half else hour, minute)
    except ValueError:
        raise _refused(like, text) from None


def _stored(moment: datetime, text: str, like: Marked) -> str:
    """A time without an offset is one of this device's zone. Raises `Usage` for one that no instant has."""
    try:
        return iso(millis(moment.astimezone().isoformat()))
    except (ValueError, OverflowError):
        raise _refused(like, text) from None


def _guessed(typed: str) -> bool:
    """Whether a reading assumes something that the text does not say: which Friday is the next one, which day of
    May, or that `12 jan 13` ends with a year."""
    numbers = re.findall(r"\d+", typed)
    if _MONTH.search(typed) and not any(len(number) < 3 for number in numbers):
        return True
    weekday = _WEEKDAY.search(typed)
    if weekday is not None and weekday[0] != typed.removeprefix("on "):
        return True
    return len(numbers) > 1 and all(len(number) < 4 for number in numbers)


def today(now: int) -> str:
    """The day in this device's zone."""
    return there(now).date().isoformat()


def _in_the_readers_words(typed: str, now: int) -> str | None:
    """What is counted from today, or a weekday by its one word; None if it is neither in the reader's language."""
    if (language := spoken()) == "en":
        return None
    here = there(now).replace(tzinfo=None)
    if _DAYS.fullmatch(_in_english(typed)):
        counted = _read(typed, here, [language], RELATIVE)
        return None if counted is None else counted.date().isoformat()
    if " " in typed:
        return None
    # Only a weekday is within the week that begins tomorrow, from wherever one counts; a month's name is not. And only
    # a day begins at midnight.
    on = None
    for base in (here + timedelta(days=100), here):
        found = _read(typed, base, [language], ABSOLUTE)
        if found is None or found.time() != time() or not 1 <= (found.date() - base.date()).days <= 7:
            return None
        on = found.date()
    return str(on)


def _in_english(typed: str) -> str:
    """The words of the reader's language as dateparser reads them, like `in 2 hour`; empty if they are English. Only
    so one sees what was counted: by the clock, 24 hours are a day. What dateparser takes no notice of stands there,
    too, like the 14 of `morgen um 14 uhr`."""
    if (language := spoken()) == "en" or len(typed) > LONGEST:
        return ""
    from dateparser.conf import Settings
    from dateparser.languages.loader import default_loader

    return " ".join(default_loader.get_locale(language).translate(typed, settings=Settings()).split())


def _parsed(typed: str, now: int, order: str) -> str | None:
    """The reading in this order of day and month; None if there is none."""
    found = _read(typed, there(now).replace(tzinfo=None), ["en"], [*RELATIVE, *ABSOLUTE], order)
    return None if found is None else found.date().isoformat()


def _read(typed: str, base: datetime, languages: list[str], parsers: list[str], order: str = "DMY") -> datetime | None:
    import dateparser

    settings = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": "future", "DATE_ORDER": order, "PARSERS": parsers}
    found: datetime | None = dateparser.parse(typed, languages=languages, settings=settings)
    return found


def _refused(template: Marked, text: str) -> Usage:
    return Usage("bad-value", template, quoted=quoted(text))
