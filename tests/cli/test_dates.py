"""Days as people say them: CLI-102, CLI-103."""

import contextlib
import re
from datetime import date, datetime

import pytest

from lottisync.cli.dates import EXAMPLES, MOMENTS, MORNING, REMINDERS, day, moment, today
from lottisync.cli.task_form import remind_fields
from lottisync.cli.times import ago, local
from lottisync.journal.repetition import how_often, rule_of
from lottisync.language import say, speaking, translated
from lottisync.problem import Usage
from lottisync.store.instant import LAST, iso, millis

SUNDAY = int(datetime(2026, 11, 22, 23, 30).timestamp() * 1000)
"""Half an hour before midnight, in whichever zone the tests run."""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-12-01", "2026-12-01"),
        ("today", "2026-11-22"),
        ("Tomorrow", "2026-11-23"),
        ("yesterday", "2026-11-21"),
        ("the day after tomorrow", "2026-11-24"),
        ("fri", "2026-11-27"),
        ("on  Friday", "2026-11-27"),
        ("mon", "2026-11-23"),
        ("sunday", "2026-11-29"),
        ("in 3 days", "2026-11-25"),
        ("in 2 weeks", "2026-12-06"),
        ("in two weeks", "2026-12-06"),
        ("next week", "2026-11-29"),
        ("next month", "2026-12-22"),
        ("1 dec", "2026-12-01"),
        ("dec 1", "2026-12-01"),
        ("31 jan", "2027-01-31"),
        ("29 feb 2028", "2028-02-29"),
    ],
)
def test_cli_102_a_day_as_people_say_it(said: str, meant: str) -> None:
    """CLI-102"""
    assert day(said, SUNDAY) == meant


@pytest.mark.parametrize(
    ("language", "said", "meant"),
    [
        ("de", "morgen", "2026-11-23"),
        ("de", "übermorgen", "2026-11-24"),
        ("de", "Freitag", "2026-11-27"),
        ("de", "in 2 Wochen", "2026-12-06"),
        ("de", "tomorrow", "2026-11-23"),
        ("es", "mañana", "2026-11-23"),
        ("es", "viernes", "2026-11-27"),
        ("es", "en 2 semanas", "2026-12-06"),
        ("fr", "demain", "2026-11-23"),
        ("fr", "vendredi", "2026-11-27"),
        ("fr", "dans 2 semaines", "2026-12-06"),
        ("ro", "mâine", "2026-11-23"),
        ("ro", "vineri", "2026-11-27"),
        ("ro", "în 2 săptămâni", "2026-12-06"),
    ],
)
def test_cli_1100_a_day_in_the_readers_language(language: str, said: str, meant: str) -> None:
    """CLI-1100: what the sentence about a wrong day offers is taken."""
    with speaking(language):
        assert day(said, SUNDAY) == meant
        assert moment(f"{said} 9:00", SUNDAY) == moment(f"{meant} 9:00", SUNDAY)


@pytest.mark.parametrize(
    ("language", "said"),
    [("de", "mai"), ("de", "nächsten freitag"), ("de", "01.02"), ("fr", "mai"), ("fr", "morgen"), ("en", "morgen")],
)
def test_cli_1100_a_day_that_may_be_another_one_is_refused_in_each_language(language: str, said: str) -> None:
    """CLI-1100, CLI-103"""
    with speaking(language), pytest.raises(Usage):
        day(said, SUNDAY)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "in 2 Stunden"),
        ("de", "in 24 Stunden"),
        ("de", "vor 2 Stunden"),
        ("de", "in 1 Tag und 3 Stunden"),
        ("de", "jetzt"),
        ("de", "morgen um 14 Uhr"),
        ("de", "14uhr"),
        ("es", "en 2 horas"),
        ("es", "mañana a las 14"),
        ("fr", "dans 2 heures"),
        ("fr", "demain à 14h"),
        ("fr", "maintenant"),
        ("ro", "în 2 ore"),
    ],
)
def test_cli_307_a_day_with_a_time_is_refused_in_each_language(language: str, said: str) -> None:
    """CLI-307: hours were read as a day, and the time was lost."""
    with speaking(language), pytest.raises(Usage):
        day(said, SUNDAY)


@pytest.mark.parametrize(
    ("language", "said", "meant"),
    [
        ("de", "in 2 Stunden", "in 2 hours"),
        ("de", "in einer Stunde", "in 1 hour"),
        ("de", "in 24 Stunden", "in 24 hours"),
        ("de", "in 30 Minuten", "in 30 min"),
        ("de", "vor 2 Stunden", "2 hours ago"),
        ("es", "en 2 horas", "in 2 hours"),
        ("es", "hace 2 horas", "2 hours ago"),
        ("fr", "dans 2 heures", "in 2 hours"),
        ("fr", "il y a 30 minutes", "30 min ago"),
        ("ro", "în 2 ore", "in 2 hours"),
        ("ro", "în 30 de minute", "in 30 min"),
    ],
)
def test_cli_1104_hours_and_minutes_in_the_readers_language(language: str, said: str, meant: str) -> None:
    """CLI-1104: a reminder in two hours was at 9:00 of the day, which was over."""
    with speaking(language):
        assert moment(said, SUNDAY, at=MORNING) == moment(said, SUNDAY) == moment(meant, SUNDAY)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "jetzt"),
        ("de", "morgen um 14 Uhr"),
        ("fr", "demain à 14h"),
        ("en", "in 2 stunden"),
        ("fr", "in 2 stunden"),
    ],
)
def test_cli_1104_a_time_is_not_lost_in_any_language(language: str, said: str) -> None:
    """CLI-1104: what cannot be read whole is refused."""
    with speaking(language), pytest.raises(Usage):
        moment(said, SUNDAY, at=MORNING)


EXAMPLES_IN: dict[str, int] = {
    str(EXAMPLES): 4,
    str(MOMENTS): 5,
    str(REMINDERS): 4,
    "Due on DAY or before: tomorrow, fri, 2026-12-01; or week, or overdue.": 3,
    "Instead of --for: like fri, tomorrow 14:00 or 2026-12-01.": 3,
    "Like 2026-12-01 or tomorrow, or none.": 2,
    "Like 2026-12-01, tomorrow, fri or 'in 2 weeks'.": 4,
    "Not now but then, if a daemon runs: like fri 7:00 or 2026-03-01T07:00.": 2,
}
"""A text -> how many examples of a day or a time it gives."""
BEFORE = re.compile(r".*?(?:\b(?:like|wie|como|comme|ca)|(?:before|früher|antes|avant|devreme) ?:) ", re.IGNORECASE)
BETWEEN = re.compile(r",? (?:or|oder|o|ou|sau) |, | ?[;.]")
IN_ENGLISH = re.compile(r"\b(tomorrow|fri|weeks|hours)\b")


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ro"])
@pytest.mark.parametrize("text", EXAMPLES_IN)
def test_cli_1100_the_examples_are_in_the_readers_language_and_are_taken(language: str, text: str) -> None:
    """CLI-1100, CLI-1104: `morgen 9:00, in 2 hours oder` was said, because hours were English only."""
    with speaking(language):
        shown = say(text)
        examples = BETWEEN.split(BEFORE.sub("", shown, count=1))[: EXAMPLES_IN[text]]
        for example in examples:
            moment(example.strip("'"), SUNDAY, at=MORNING)
    assert len(examples) == EXAMPLES_IN[text]
    assert language == "en" or not IN_ENGLISH.search(shown)


ODD_CLOCKS = (0, 1, LAST, 2**48 - 1)


@pytest.mark.parametrize("now", ODD_CLOCKS)
def test_ent_570_days_and_times_at_the_limits_of_a_clock(now: int) -> None:
    """ENT-570, CAUS-300: each is understood, or refused in a sentence."""
    assert date.fromisoformat(today(now)).year in (1969, 1970, 9999)
    assert len(local(iso(now))) == len("1970-01-01 00:00")
    for said in ("today", "tomorrow", "yesterday", "fri", "in 2 weeks", "1 dec"):
        with contextlib.suppress(Usage):
            date.fromisoformat(day(said, now))
    for said in ("0:00", "23:59", "tomorrow 9:00", "in 9999 hours", "9999 hours ago"):
        with contextlib.suppress(Usage):
            millis(moment(said, now))


@pytest.mark.parametrize("said", ["0001-01-01 9:00", "0001-01-01T00:00", "1900-01-01", "9999-12-31T23:59:59-12:00"])
def test_ent_570_a_time_that_no_instant_has_is_refused(said: str) -> None:
    """ENT-570, CLI-461: and not stored as another one."""
    with pytest.raises(Usage, match="a time is like"):
        moment(said, SUNDAY, at=MORNING)


@pytest.mark.parametrize("said", ["next friday", "friday 13", "may", "dec 2027", "12 jan 13"])
def test_cli_103_a_day_that_may_be_another_one_is_refused(said: str) -> None:
    """CLI-103"""
    with pytest.raises(Usage, match=f"{re.escape(repr(said))} may be more than one day"):
        day(said, SUNDAY)


@pytest.mark.parametrize(
    "said", ["01/02", "5", "", "soon", "milk tomorrow", "31 feb", "tomorrow 9am", "in 2 hours", "now", "x" * 5_000]
)
def test_cli_307_what_is_not_a_day_is_refused(said: str) -> None:
    """CLI-307: also a day with a time, of which the time would be lost."""
    with pytest.raises(Usage, match="a due date is a day like"):
        day(said, SUNDAY)


def test_cli_307_a_day_that_does_not_exist() -> None:
    """CLI-307: for programs the sentence is English, whatever the reader's language."""
    with speaking("de"), pytest.raises(Usage, match="there is no day '2027-02-30'"):
        day("2027-02-30", SUNDAY)


@pytest.mark.parametrize("said", ["um 25 Uhr", "soon", "soon 9:00", "25:00", "13 pm", "2026-12-01T25:00", "1900-01-01"])
def test_cli_460_what_is_not_a_time_is_refused_in_words_of_what_was_asked_for(said: str) -> None:
    """CLI-460: who sets a reminder was told of due dates."""
    with pytest.raises(Usage, match="a time is like"):
        moment(said, SUNDAY, at=MORNING)
    with pytest.raises(Usage, match="a reminder is for a time like"):
        remind_fields(said)


def test_cli_102_today_is_that_of_this_device() -> None:
    """CLI-102"""
    assert today(SUNDAY) == "2026-11-22"


def there(text: str) -> str:
    """A local time as it is stored."""
    return iso(int(datetime.fromisoformat(text).timestamp() * 1000))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("23:45", "2026-11-22T23:45"),
        ("17:30", "2026-11-23T17:30"),
        ("tomorrow 9:00", "2026-11-23T09:00"),
        ("Fri at 2:30 PM", "2026-11-27T14:30"),
        ("12 am", "2026-11-23T00:00"),
        ("in 2 weeks 12 pm", "2026-12-06T12:00"),
        ("1 dec, noon", "2026-12-01T12:00"),
        ("in 2 hours", "2026-11-23T01:30"),
        ("30 min ago", "2026-11-22T23:00"),
        ("2026-12-01T14:00", "2026-12-01T14:00"),
        ("2026-12-01 14:00", "2026-12-01T14:00"),
        ("fri", "2026-11-27T09:00"),
        ("2026-12-01", "2026-12-01T09:00"),
    ],
)
def test_cli_460_a_time_as_people_say_it(said: str, meant: str) -> None:
    """CLI-460"""
    assert moment(said, SUNDAY, at=MORNING) == there(meant)


def test_cli_460_a_time_of_today_and_one_with_an_offset() -> None:
    """CLI-460"""
    assert moment("17:30", SUNDAY, ahead=False) == there("2026-11-22T17:30")
    assert moment("2026-12-01T14:00:00+01:00", SUNDAY) == "2026-12-01T13:00:00.000Z"


@pytest.mark.parametrize(
    "said", ["5", "", "at 5", "25:00", "9:75", "13 pm", "2 hours", "in 2 hours ago", "2026-12-01T25:00", "soon 9:00"]
)
def test_cli_461_what_is_not_a_time_is_refused(said: str) -> None:
    """CLI-461"""
    with pytest.raises(Usage):
        moment(said, SUNDAY, at=MORNING)


def test_cli_461_time_that_was_spent_needs_a_time() -> None:
    """CLI-461"""
    with pytest.raises(Usage, match="a time is like"):
        moment("fri", SUNDAY)


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (0, "just now"),
        (59_999, "just now"),
        (120_000, "2 min ago"),
        (3_600_000, "1 hour ago"),
        (3 * 86_400_000, "3 days ago"),
    ],
)
def test_cli_462_how_long_ago(past: int, said: str) -> None:
    """CLI-462"""
    assert ago(iso(SUNDAY - past), SUNDAY) == said


def test_cli_462_long_ago_and_ahead_is_the_local_day() -> None:
    """CLI-462"""
    assert ago(there("2026-11-01T10:00"), SUNDAY) == "2026-11-01 10:00"
    assert ago(there("2026-11-23T10:00"), SUNDAY) == "2026-11-23 10:00"
    assert (local("never"), local(None), ago("never", SUNDAY)) == ("never", "", "never")


def test_cli_440_how_long_ago_and_how_often_in_a_language() -> None:
    """CLI-440: with the plural of the language."""
    with speaking("ro"):
        assert [ago(iso(SUNDAY - hours * 3_600_000), SUNDAY) for hours in (1, 3, 20)] == [
            "acum 1 oră",
            "acum 3 ore",
            "acum 20 de ore",
        ]
    for stored in ("R/2026-12-01/P1W", "R/2026-12-01/P2M"):
        rule = rule_of(stored)
        assert rule is not None
        assert how_often(rule) == str(rule)
        with speaking("de"):
            assert translated(how_often(rule)) == {1: "jede Woche", 2: "alle 2 Monate"}[rule.every]
