"""Every page of a home that has something of everything, in every language: for everybody, on every screen."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.support.daemons import daemon
from tests.web.full_home import GONE, OTHER, fill
from tests.web.test_in_a_browser import browser, let_in, opened, pytestmark, violations
from tests.web.visitor import TASK

from lottisync.daemon.home import TaskHome
from lottisync.language import LANGUAGES

__all__ = ["browser", "pytestmark"]

OPENED = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
OVERHANG = """[...document.querySelectorAll('main *')].filter(one => one.checkVisibility() &&
    !one.closest('.hear, .skip, svg, .kind') && one.getBoundingClientRect().right > innerWidth + 0.5)
    .map(one => one.outerHTML.slice(0, 160))"""

CLIPPED = """[...document.querySelectorAll('main :is(.fact, section, li) :is(input, select, textarea, button, table)')]
    .filter(one => one.checkVisibility() && !one.closest('.heed') && one.getBoundingClientRect().right >
    one.parentElement.closest('.fact, section, li').getBoundingClientRect().right + 0.5)
    .map(one => one.outerHTML.slice(0, 160))"""
UNMARKED = """[...document.querySelectorAll('main summary:not(.grip, .fact *)')].filter(one => one.checkVisibility() &&
    !one.querySelector('svg') && !getComputedStyle(one, '::before').content.includes('\\u203a'))
    .map(one => one.outerHTML.slice(0, 160))"""

NARROW = """[...document.querySelectorAll('main :is(input, select, textarea)')].filter(one => one.checkVisibility() &&
    !['hidden', 'checkbox'].includes(one.type) && one.getBoundingClientRect().width < 80)
    .map(one => one.outerHTML.slice(0, 160))"""

FILLED = """const all = (selector) => document.querySelectorAll(selector);
for (const one of all('.places li a')) one.querySelector('span').textContent = 'W'.repeat(24);
for (const one of all('.count-inbox > [aria-hidden]')) one.textContent = '999+';
for (const one of all('.count-conflicts > [aria-hidden]')) one.textContent = '99';"""
ASTRAY = """[...document.querySelectorAll('.places :is(a, .count)')].filter(one => one.checkVisibility() &&
    (one.getBoundingClientRect().right > one.closest('nav').getBoundingClientRect().right + 0.5 ||
    one.matches('.count') && one.getBoundingClientRect().height > 22)).map(one => one.outerHTML.slice(0, 160))"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The home, whose daemon runs, and its agent."""
    path = tmp_path_factory.mktemp("full") / "laptop"
    TaskHome.create(path, "laptop").close()
    agent_id = fill(path)
    with daemon(path, web=True):
        yield path, agent_id


def pages(agent_id: str) -> list[str]:
    return [
        *("/inbox?since=1", "/tasks", "/tasks?show=done&q=x", f"/tasks/{TASK}?since=1", f"/tasks/{OTHER}?since=1"),
        *("/tasks?show=deleted", f"/tasks/{GONE}"),
        *("/tasks/t3", "/tasks/nothing", f"/agents/{agent_id}", f"/agents/{agent_id}?ask=destroy", "/conflicts"),
        *("/devices", "/activity", "/activity?by=agent", "/settings", "/enter?token=x"),
    ]


def entered(context: BrowserContext, home: Path) -> tuple[Page, str]:
    """A page that was let in, whatever its language is, and where the pages are. It shows a code and an invitation."""
    page = opened(context)
    let_in(page, home)
    base = page.url.removesuffix("/inbox")
    page.goto(base + "/devices")
    for verb, shown in (("show", ".code"), ("invite", ".invitation")):
        if page.locator(f"#pair {shown}").count() == 0:
            page.locator(f'#pair button[value="{verb}"]').click()
            expect(page.locator(f"#pair {shown}").first).to_be_visible()
    return page, base


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 1280), ("light", 1280), ("dark", 320)])
def test_web_614_every_page_passes_axe_in_every_language(
    home: tuple[Path, str], browser: Browser, language: str, scheme: str, width: int
) -> None:
    """WEB-614, WEB-44: with everything that unfolds unfolded, in light and dark, on a phone and on a screen."""
    path, agent_id = home
    context = browser.new_context(
        locale=f"{language}-{language.upper()}",
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,
    )
    page, base = entered(context, path)
    found = []
    for where in pages(agent_id):
        page.goto(base + where)
        if (scheme == "light") == (width == 320):
            page.evaluate(OPENED)
        found += [(where, *one) for one in violations(page)]
    context.close()
    assert found == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_web_615_every_page_fits_every_screen_in_every_language(
    home: tuple[Path, str], browser: Browser, language: str
) -> None:
    """WEB-615, WEB-875, WEB-877, WEB-878: nothing hangs over the edge at 320 px, nor at 2,560, nor over the edge of its
    own part, with everything unfolded, and a word of 70 letters; what is typed can be read; what unfolds says so."""
    path, agent_id = home
    context = browser.new_context(locale=f"{language}-{language.upper()}", bypass_csp=True)
    page, base = entered(context, path)
    found = []
    for where in pages(agent_id):
        for width in (320, 640, 1000, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(base + where)
            page.evaluate(OPENED)
            if page.evaluate("document.documentElement.scrollWidth") > width or page.evaluate(OVERHANG):
                found.append((where, width, page.evaluate(OVERHANG)[:3]))
            looks = [page.evaluate(look) for look in (NARROW, CLIPPED, UNMARKED)]
            found += [(where, width, seen[:3]) for seen in looks if seen]
    context.close()
    assert found == []


@pytest.mark.parametrize("width", [320, 1280])
def test_web_1028_a_place_stays_in_the_navigation_and_its_count_on_one_line(
    home: tuple[Path, str], browser: Browser, width: int
) -> None:
    """WEB-1028: with a long word, and with more than 999."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, base = entered(context, home[0])
    page.goto(base + "/inbox")
    page.evaluate(FILLED)
    assert page.locator(".count:visible").count() > 1
    assert page.evaluate(ASTRAY) == []
    context.close()


def test_web_1067_a_tag_is_as_high_in_a_line_as_in_a_row(home: tuple[Path, str], browser: Browser) -> None:
    """WEB-1067: the state of an agent, what is shown now of a conflict, and the status of a task."""
    path, agent_id = home
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, base = entered(context, path)
    for where in (f"/agents/{agent_id}", "/conflicts", "/tasks"):
        page.goto(base + where)
        tags = page.locator(".tag:visible")
        expect(tags).not_to_have_count(0)
        assert set(tags.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")) == {22}, where
    context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_web_1029_what_was_done_is_said_whole_on_a_narrow_screen(
    home: tuple[Path, str], browser: Browser, language: str
) -> None:
    """WEB-1029: that a conflict is settled, beside the button that takes it back."""
    context = browser.new_context(locale=f"{language}-{language.upper()}", viewport={"width": 320, "height": 640})
    page, base = entered(context, home[0])
    page.goto(base + "/conflicts?settled=1")
    assert page.locator("#said").inner_text()
    page.locator("#undo").evaluate(
        "one => { one.innerHTML = `<form><button class=bare><span>${'w'.repeat(60)}</span>` }"
    )
    looked = "one => [one.clientHeight, one.scrollHeight, one.clientWidth, one.scrollWidth]"
    high, needed, wide, asked = page.locator("#said").evaluate(looked)
    assert needed <= high <= 44
    assert asked <= wide
    context.close()
