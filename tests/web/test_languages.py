"""The pages in the reader's language, and by the reader's clock."""

import re
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.support.proposals import propose
from tests.support.stores import NOON
from tests.web.visitor import PROPOSED, TASK, Visitor

from lottisync.journal import tasks
from lottisync.language import LANGUAGES
from lottisync.review.precedence import PERSON
from lottisync.store.instant import LAST, by_the_clock_of, iso, there
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


@pytest.mark.parametrize(("reader", "name"), [("en", "English"), ("de", "Englisch"), ("ro", "engleză")])
def test_web_1501_the_language_of_a_task_has_its_name(visitor: Visitor, reader: str, name: str) -> None:
    """WEB-1501: it was "en"; also in the history of its fields. What is typed is the code."""
    visitor.post(f"/tasks/{TASK}", verb="language", value="en")
    page = visitor.client.get(f"/tasks/{TASK}", headers={"accept-language": reader}).text
    assert f'<details id="fact-language"><summary>{name}</summary>' in page
    assert re.search(rf"<del>[^<]+</del> <span[^>]+>→</span> {name} <span", page)
    assert 'spellcheck="false" value="en"' in page


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
    """What is not a zone is that of this machine."""
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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("there is no task 'x'", "There is no task 'x'."),
        ("the disk is full. Make room.", "The disk is full. Make room."),
        ("no agent minds this task. Run: lottisync agent create t1", None),
        ("kein Daemon läuft in /a.b. So startet einer: lottisync daemon --web 0.0.0.0:22443", None),
        ("", ""),
    ],
)
def test_web_1502_a_sentence_has_its_full_stop_and_a_command_none(said: str, shown: str | None) -> None:
    """WEB-1502: "There is no task 'x'" stood on a page as the command line says it."""
    assert words.sentence(said) == (said[:1].upper() + said[1:] if shown is None else shown)


def test_web_1502_what_was_refused_is_said_in_whole_sentences(visitor: Visitor) -> None:
    """WEB-1502: on the page of what is gone, above a form, and below an item."""
    [lede] = re.findall(r'<p class="lede">([^<]+)<', visitor.get("/tasks/nowhere", 404))
    assert lede.endswith(("nowhere.", "nowhere&#34;.")), lede
    said = re.compile(r'<p id="said"[^>]*>([^<]+)<')
    for path, fields in (
        (f"/tasks/{TASK}", {"verb": "due", "value": "soon"}),
        ("/settings", {"name": "x", "value": "y"}),
    ):
        assert said.findall(visitor.post(path, 400, **fields))[0].endswith(".")


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_page_at_the_limits_of_a_clock(now: int) -> None:
    """ENT-570, CAUS-300: times are said, near and far ones."""
    for at in (0, NOON, now):
        assert words.moment(iso(at), now)
        with by_the_clock_of(ZoneInfo("Pacific/Kiritimati")):
            assert words.moment(iso(at), now)


def test_web_873_a_page_without_a_script_names_the_zone_of_its_times(visitor: Visitor) -> None:
    """WEB-873, WEB-508"""
    named = f"Times are by the clock of {there(visitor.now()):%Z}."
    assert named in visitor.get("/tasks").partition("<noscript>")[2]
    visitor.client.cookies.set("zone", "Asia%2FTokyo", domain=visitor.access.door.host)
    assert "Times are by the clock of Asia/Tokyo." in visitor.get("/tasks").partition("<noscript>")[2]


def test_web_508_whatever_a_page_says_of_a_time_is_by_the_clock_of_the_browser(visitor: Visitor) -> None:
    """WEB-508: also what is proposed, what stands against what, and until when a code is good; each with its zone."""
    noon = 1_764_590_400_000  # 2025-12-01, 12:00 UTC
    visitor.now = lambda: noon
    with visitor.home.journal.transaction(noon, PERSON) as tx:
        tasks.edit_task(tx, TASK, {"remindAt": "2025-12-02T09:00:00.000Z"})
    spent = {"startTime": "2025-12-01T10:00:00Z", "endTime": "2025-12-01T10:30:00Z", "summary": "On the phone"}
    propose(visitor.home, ("create_time_entry", spent))
    visitor.client.cookies.set("zone", "Asia%2FTokyo", domain=visitor.access.door.host)
    inbox = visitor.get("/inbox")
    assert "Mon 1 Dec 2025, 19:00" in inbox
    assert "Mon 1 Dec 2025, 10:00" not in inbox
    assert 'name="arg-startTime" type="datetime-local" value="2025-12-01T19:00"' in inbox
    [(item, shown)] = visitor.rows(inbox)
    typed: dict[str, Any] = {
        "arg_startTime": "2025-12-01T18:50",
        "arg_endTime": "2025-12-01T19:30",
        "arg_summary": "A call",
    }
    assert "Write a day and a time" in visitor.decide(item, shown, "edit", 400, **typed | {"arg_endTime": "soon"})
    visitor.decide(item, shown, "edit", **typed)
    with visitor.home.journal.reading() as reader:
        [entry] = tasks.page(reader, TASK).times
    assert (entry.text, entry.at, entry.end) == ("A call", "2025-12-01T09:50:00.000Z", "2025-12-01T10:30:00.000Z")
    assert "Tue 2 Dec 2025, 18:00" in visitor.get(f"/tasks/{TASK}")
    visitor.now = lambda: noon + 5 * 3_600_000
    visitor.post(f"/tasks/{TASK}", verb="note", value="Now.")
    assert 'title="Tue 2 Dec 2025, 02:00:00 JST"' in visitor.get(f"/tasks/{TASK}")
