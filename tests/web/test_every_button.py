"""Every button of a home that has something of everything, pressed as it stands and without a script; every link."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urlencode

import pytest
from tests.web.full_home import OTHER, furnish_wholly
from tests.web.visitor import TASK, Visitor, answering

TELLING = ("verb", "verdict", "keep", "name", "relation", "steps")
"""What a form carries that says what its button is for; one button of each kind is enough."""
TYPED = {"number": "1", "datetime-local": "2025-12-01T10:00", "date": "2025-12-01"}
"""What a person types into an empty field of that kind."""
LAST = ("delete", "destroy", "remove-item", "remove-time", "agents-off", "never-send", "revoke")
"""Buttons that take something away, and its other buttons with it."""


class Press(NamedTuple):
    """A form as one of its buttons sends it."""

    action: str
    fields: tuple[tuple[str, str], ...]

    @property
    def meaning(self) -> tuple[str, ...]:
        page = self.action.split("/")[1]
        return (page, *(f"{name}={value}" for name, value in self.fields if name in TELLING))

    @property
    def order(self) -> int:
        return max((LAST.index(value) + 1 for _, value in self.fields if value in LAST), default=0)


class Form:
    """A form while it is read: its fields so far, and the presses of its buttons."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.fields: list[tuple[str, str]] = []
        self.buttons: list[tuple[str, str]] = []


class Page(HTMLParser):
    """The links of a page, and its forms."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.presses: list[Press] = []
        self._form: Form | None = None
        self._select: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        form, name = self._form, given.get("name", "")
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif tag == "form" and given.get("method") == "post":
            self._form = Form(given["action"])
        elif form is None:
            return
        elif tag == "button":
            form.buttons.append((name, given.get("value", "")))
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select is not None and ("selected" in given or not _has(form, self._select)):
            form.fields = [one for one in form.fields if one[0] != self._select]
            form.fields.append((self._select, given.get("value", "P1")))
        elif tag == "textarea":
            form.fields.append((name, "Some words"))
        elif tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            kind = given.get("type", "text")
            typed = given.get("value") or ("" if kind == "hidden" else TYPED.get(kind, "Some words"))
            form.fields.append((name, typed))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = None
        if tag == "form" and self._form is not None:
            form, self._form = self._form, None
            for button in form.buttons:
                sent = (*form.fields, *([button] if button[0] else []))
                self.presses.append(Press(form.action, sent))


def _has(form: Form, name: str) -> bool:
    return any(one == name for one, _ in form.fields)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Visitor]:
    """A home with something of everything; codes are answered in it, as in the daemon."""
    one = Visitor(tmp_path / "laptop", furnish_wholly)
    with answering(one):
        yield one
    one.close()


def looked_at(full: Visitor, where: str) -> Page:
    answer = full.client.get(where)
    assert answer.status_code in (200, 404), (where, answer.status_code, answer.text[:400])
    return Page(answer.text)


def linked(full: Visitor) -> dict[str, Page]:
    """The pages that can be reached by links alone, each read."""
    found: dict[str, Page] = {}
    left = ["/inbox?since=1", f"/tasks/{TASK}?since=1", f"/tasks/{OTHER}?since=1", "/activity", "/settings"]
    while left:
        where = left.pop(0)
        if where in found:
            continue
        found[where] = page = looked_at(full, where)
        links = (urldefrag(link).url for link in page.links)
        left += [link for link in links if link.startswith("/") and not link.startswith("/authority")]
    return found


@pytest.mark.deep
def test_web_876_every_link_leads_to_a_page_and_every_button_is_answered(full: Visitor) -> None:
    """WEB-876: each button once, as it stands; those that take something away come last."""
    pressed: set[tuple[str, ...]] = set()
    sent = {**full.own, "content-type": "application/x-www-form-urlencoded"}
    for last in range(len(LAST) + 1):
        while True:
            pages = linked(full)
            presses = {
                press.meaning: press
                for page in pages.values()
                for press in page.presses
                if press.order == last and press.action != "/leave"
            }
            fresh = [press for meaning, press in presses.items() if meaning not in pressed]
            if not fresh:
                break
            for press in fresh:
                pressed.add(press.meaning)
                answer = full.client.post(press.action, content=urlencode(press.fields), headers=sent)
                assert answer.status_code in (200, 303, 400, 404, 409), (press, answer.text[:400])
                if answer.status_code == 303:
                    looked_at(full, urldefrag(answer.headers["location"]).url)
    assert len(pressed) > 60, sorted(pressed)
