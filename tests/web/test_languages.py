"""The pages in the reader's language, and by the reader's clock."""

import re
from zoneinfo import ZoneInfo

import pytest
from tests.support.proposals import propose
from tests.support.stores import NOON
from tests.web.visitor import PROPOSED, TASK, Visitor

from lottisync.language import LANGUAGES
from lottisync.store.instant import LAST, iso
from lottisync.web import words

TASKS = {"en": "Tasks", "de": "Aufgaben", "es": "Tareas", "fr": "Tâches", "ro": "Sarcini"}


def heading(visitor: Visitor, wishes: str) -> tuple[str, str]:
    page = visitor.client.get("/tasks", headers={"accept-language": wishes}).text
    [language], [title] = re.findall(r'<html lang="(\w+)"', page), re.findall(r"<h1>([^<]+)", page)
    return language, title


@pytest.mark.parametrize("language", LANGUAGES)
def test_web_507_a_page_is_in_the_language_of_the_browser(visitor: Visitor, language: str) -> None:
    assert heading(visitor, f"xx, {language}-XX;q=0.8, en;q=0.1") == (language, TASKS[language])


def test_web_507_the_setting_comes_before_the_browser(visitor: Visitor) -> None:
    visitor.post("/settings", name="language", value="fr")
    assert heading(visitor, "de") == ("fr", TASKS["fr"])
    visitor.post("/settings", name="language", value="")
    assert heading(visitor, "de") == ("de", TASKS["de"])


def test_web_507_what_is_shown_in_another_language_is_decided_as_it_was_shown(visitor: Visitor) -> None:
    """WEB-507, WEB-22: a digest is of data, not of words."""
    propose(visitor.home, *PROPOSED)
    german = visitor.client.get("/inbox", headers={"accept-language": "de"}).text
    assert "Laura schlägt 7 Änderungen vor" in german
    assert "7 warten" in german
    item, shown = visitor.rows(german)[5]
    visitor.decide(item, shown, "confirm")
    assert visitor.task.estimate == 90


@pytest.mark.parametrize(
    ("zone", "clock"),
    [("Asia/Tokyo", "21:30"), ("America%2FNew_York", "07:30"), ("../../etc/passwd", None), ("x" * 99, None)],
)
def test_web_508_times_are_those_of_the_browsers_zone(visitor: Visitor, zone: str, clock: str | None) -> None:
    """What is no zone is that of this machine."""
    at = 1_764_592_200_000  # 2025-12-01, 12:30 UTC
    held, visitor.now = visitor.now, lambda: at
    visitor.post(f"/tasks/{TASK}", verb="note", value="Now.")
    visitor.now = lambda: at + 2 * 3_600_000
    visitor.client.cookies.set("zone", zone, domain=visitor.access.door.host)
    page = visitor.get(f"/tasks/{TASK}")
    visitor.now = held
    found = re.findall(r'<time datetime="2025-12-01T12:30[^"]*"[^>]*>([^<]+)<', page)
    assert found
    assert clock is None or found == [clock]


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_page_at_the_limits_of_a_clock(now: int) -> None:
    """ENT-570, CAUS-300: times are said, near and far ones."""
    for at in (0, NOON, now):
        assert words.moment(iso(at), now)
        assert words.moment(iso(at), now, ZoneInfo("Pacific/Kiritimati"))
