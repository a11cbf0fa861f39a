"""Days as people say them: CLI-102, CLI-103."""

import re
from datetime import datetime

import pytest

from lottisync.cli.dates import day, today
from lottisync.problem import Usage

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


@pytest.mark.parametrize("said", ["next friday", "friday 13", "may", "dec 2027", "12 jan 13"])
def test_cli_103_a_day_that_may_be_another_one_is_refused(said: str) -> None:
    """CLI-103"""
    with pytest.raises(Usage, match=f"{re.escape(repr(said))} may be more than one day"):
        day(said, SUNDAY)


@pytest.mark.parametrize(
    "said", ["01/02", "5", "", "soon", "milk tomorrow", "31 feb", "tomorrow 9am", "in 2 hours", "now", "x" * 5_000]
)
def test_cli_103_what_is_no_day_is_refused(said: str) -> None:
    """CLI-103: also a day with a time, of which the time would be lost."""
    with pytest.raises(Usage, match="a due date is a day like"):
        day(said, SUNDAY)


def test_cli_103_a_day_that_does_not_exist() -> None:
    """CLI-103"""
    with pytest.raises(Usage, match="there is no day '2027-02-30'"):
        day("2027-02-30", SUNDAY)


def test_cli_102_today_is_that_of_this_device() -> None:
    """CLI-102"""
    assert today(SUNDAY) == "2026-11-22"
