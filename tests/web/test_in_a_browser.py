"""The pages in a real browser: what is decided on one device's page shows on the other's, and nothing reloads.

Skipped where there is no Chromium."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright
from tests.daemon.conftest import homes, template
from tests.support.command_line import run, run_here
from tests.support.daemons import daemon, introduce
from tests.support.proposals import propose
from tests.web.test_conflict_page import disagree
from tests.web.visitor import AGENT, TASK, furnished

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import names, tasks
from lottisync.review.precedence import PERSON

__all__ = ["homes", "template"]

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt-get install chromium"),
]
PAGES = (
    *("/inbox", "/tasks", f"/tasks/{TASK}", f"/tasks/{TASK}?edit=due", f"/agents/{AGENT}?ask=destroy"),
    *("/conflicts", "/devices", "/activity", "/settings", "/enter?token=x"),
)
PATIENCE = 60_000
"""How long something may take to show or to load, in ms: the machine may do ten other things."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield started
        started.close()


def opened(context: BrowserContext) -> Page:
    """An empty page, with patience. Whatever its console says is an error."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    return page


def let_in(page: Page, home: Path) -> None:
    """Through the door, to the inbox, whatever the language is. The first page of a browser asks for itself once more,
    by the browser's zone; so it is loaded a second time, and then it stays as it is."""
    page.goto(run_here("open", "--print", home=home).out.strip())
    page.get_by_role("button").click()
    page.wait_for_url("**/inbox")
    page.reload()


def mark(page: Page) -> None:
    """From here on the page must not be loaded again."""
    page.evaluate("window.marked = true")


def entered(context: BrowserContext, home: Path) -> Page:
    """A page that was let in, on the inbox."""
    page = opened(context)
    let_in(page, home)
    mark(page)
    return page


def boxes(page: Page, selector: str) -> list[list[float]]:
    """Where the parts of a page are, all at one moment: left, top, width, height."""
    script = """selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect())
        .map(box => [box.x, box.y, box.width, box.height])"""
    found: list[list[float]] = page.evaluate(script, selector)
    return found


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core finds on a page: the rule, and where."""
    found = Axe().run(page)["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


def reloaded(page: Page) -> bool:
    return page.evaluate("window.marked") is not True


@pytest.fixture
def one(tmp_path: Path, browser: Browser) -> Iterator[tuple[Path, BrowserContext]]:
    """A home with proposals, whose daemon runs, and a browser."""
    home = tmp_path / "laptop"
    TaskHome.create(home, "laptop").close()
    furnished(home)
    with daemon(home, web=True):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        yield home, context
        context.close()


def test_web_40_what_is_decided_on_one_page_shows_on_the_other_without_a_reload(
    homes: tuple[Path, Path], browser: Browser
) -> None:
    """S2-22, S1-61: proposed on the laptop, decided on the phone's page, and the effect arrives on both."""
    laptop, phone = homes
    with daemon(laptop, web=True) as first:
        introduce(phone, laptop, int(first.event("started")["port"]))
        with daemon(phone, web=True):
            here, there = browser.new_context(), browser.new_context()
            on_laptop, on_phone = entered(here, laptop), entered(there, phone)
            expect(on_phone.get_by_text("Nothing waits for you.").first).to_be_visible()
            furnished(laptop, "update_task_estimate", "update_task_priority")
            expect(on_phone.locator("#new")).to_be_visible(timeout=PATIENCE)
            with on_phone.expect_navigation():  # to the address where it is: what is on the page says nothing
                on_phone.locator("#new").click()
            mark(on_phone)
            on_laptop.reload()
            mark(on_laptop)
            on_laptop.mouse.wheel(0, 50)
            on_phone.get_by_role("button", name="Confirm: Set estimate to 90 minutes").click()
            expect(on_phone.locator(".row.confirmed")).to_have_count(1)
            expect(on_laptop.locator(".row.confirmed")).to_have_count(1)
            assert not reloaded(on_phone)
            assert not reloaded(on_laptop)
            on_laptop.goto(on_laptop.url.replace("/inbox", f"/tasks/{TASK}"))
            expect(on_laptop.locator("#fact-estimate > summary")).to_have_text("1 h 30 min")
            here.close()
            there.close()


def test_web_41_a_row_under_the_hand_does_not_change(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    page = entered(context, home)
    row = page.locator("[data-row]", has_text="Estimate").first
    row.locator("details.why > summary").click()
    field = row.locator("input[name=arg-minutes]")
    field.fill("120")
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"estimate": 45, "priority": "P1"})
        tasks.edit_task(tx, TASK, {"title": "Another title"})
    held.close()
    expect(page.locator(".row.stale", has_text="Title")).to_have_count(1)
    expect(field).to_have_value("120")
    row.get_by_role("button", name="Confirm as edited").click()
    expect(page.locator("#said")).to_have_text("This changed while you looked. Nothing was done.")
    expect(page.get_by_role("button", name="Keep 45 min")).to_be_visible()


def test_web_509_an_effect_shows_within_200_ms_of_its_commit(one: tuple[Path, BrowserContext]) -> None:
    """A commit of another program, as a sync makes it. A machine that answers slowly gets eight round trips. The best
    of five commits counts: a machine with much to do is late with some of them."""
    home, context = one
    page = entered(context, home)
    watched = TaskHome.open(home)
    late = []
    for number in range(5):
        trip = page.evaluate(
            "async () => { const began = performance.now(); await (await fetch(location.href)).text(); "
            "return performance.now() - began; }"
        )
        page.evaluate(
            "said => { window.shown = new Promise((done) => new MutationObserver((_, watch) => { "
            "if (document.querySelector('.row.stale')?.textContent.includes(said)) { watch.disconnect(); "
            "done(Date.now()); } }).observe(document.body, { subtree: true, childList: true })); }",
            f"Title {number}",
        )
        with watched.journal.transaction(clock.now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"title": f"Title {number}"})
        committed = clock.now()
        late.append(page.evaluate("window.shown") - committed - max(200, 8 * trip))
    watched.close()
    assert min(late) < 0, late


def test_web_42_what_is_new_waits_in_its_slot(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    page = entered(context, home)
    before = boxes(page, ".row")[0]
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Another task")
    propose(held, ("update_task_estimate", {"minutes": 15}), run="r2", task="t2")
    held.close()
    expect(page.locator("#new")).to_have_text("1 new")
    assert boxes(page, ".row")[0] == before
    page.keyboard.press(".")
    expect(page.get_by_role("heading", name="Another task")).to_be_visible()


def test_web_21_a_decided_row_keeps_its_place_and_its_height(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    page = entered(context, home)
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        places = "[...document.querySelectorAll('.row')].map(row => [row.offsetTop, row.offsetHeight])"
        page.locator(".row.waits").first.wait_for()
        before = page.evaluate(places)
        page.locator(".row.waits .no").first.click()
        expect(page.locator(".row.rejected")).to_have_count(1)
        assert page.evaluate(places) == before, width
        expect(page.locator(".row.rejected [data-undo]")).to_be_enabled()
        page.locator(".row.rejected [data-undo]").click()
        expect(page.locator(".row.rejected")).to_have_count(0)
        assert page.evaluate(places) == before, width


def test_web_43_everything_works_without_a_script(one: tuple[Path, BrowserContext], browser: Browser) -> None:
    home, _ = one
    context = browser.new_context(java_script_enabled=False)
    page = opened(context)
    let_in(page, home)
    page.get_by_role("button", name="Confirm: Set estimate to 90 minutes").click()
    expect(page).to_have_url(re.compile("#row-"))
    expect(page.locator(".row.confirmed")).to_have_count(1)
    page.get_by_role("button", name="Undo: Set estimate to 90 minutes").click()
    expect(page.locator(".row.confirmed")).to_have_count(0)
    page.get_by_role("link", name="Tasks").click()
    page.get_by_label("New task").fill("Water the plants")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("link", name="Water the plants").click()
    page.get_by_label("New item").fill("The fern")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("checkbox", name="The fern").click()
    expect(page.get_by_role("checkbox", name="The fern")).to_be_checked()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_web_44_every_page_passes_axe_and_fits_a_narrow_screen(
    one: tuple[Path, BrowserContext], browser: Browser, scheme: str
) -> None:
    home, context = one
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"due": "2026-12-09"})
    held.close()
    base = entered(context, home).url.removesuffix("/inbox")
    narrow = browser.new_context(
        storage_state=context.storage_state(),
        viewport={"width": 320, "height": 720},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,
    )
    page = opened(narrow)
    page.goto(base + "/devices")
    page.get_by_role("button", name="Show a code").click()
    expect(page.locator("#pair .code")).to_be_visible()
    page.get_by_role("button", name="Show an invitation").click()
    expect(page.locator(".invitation .qr svg")).to_be_visible()
    for path in PAGES:
        for width in (320, 1280, 2560):
            page.set_viewport_size({"width": width, "height": 720})
            page.goto(base + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            assert width == 2560 or violations(page) == [], (path, width)
    narrow.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_web_15000_the_page_of_a_browser_that_is_not_let_in_is_for_everybody(
    one: tuple[Path, BrowserContext], browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    """WEB-15000, WEB-44"""
    base = entered(one[1], one[0]).url.removesuffix("/inbox")
    stranger = browser.new_context(viewport={"width": 320, "height": 720}, color_scheme=scheme, bypass_csp=True)
    page = opened(stranger)
    page.goto(base + "/inbox")
    expect(page.locator("main")).to_contain_text("Open the pages with: lottisync open")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert violations(page) == []
    stranger.close()


def focused_first(page: Page) -> str:
    """The first row, once it has the focus by the key `j`: its id."""
    page.keyboard.press("j")
    row = page.locator(".row").first
    expect(row).to_be_focused()
    return str(row.get_attribute("id"))


def test_web_203_keys_alone_are_enough(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    page = entered(context, home)
    first = focused_first(page)
    page.keyboard.press("y")
    expect(page.locator(f"#{first}.confirmed")).to_have_count(1)
    expect(page.locator(f".row:focus:not(#{first})")).to_have_count(1)
    page.keyboard.press("n")
    expect(page.locator(".row.rejected")).to_have_count(1)


def test_web_1100_a_key_that_is_pressed_while_a_row_is_decided_is_for_the_next_row(
    one: tuple[Path, BrowserContext],
) -> None:
    """WEB-1100: the answer is late, and the person is quicker. What failed takes no further key with it."""
    home, context = one
    page = entered(context, home)
    held: list[Route] = []

    def late(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    page.route("**/decide**", late)
    first = focused_first(page)
    page.keyboard.press("y")
    page.keyboard.press("n")
    expect(page.locator(f"#{first} form[aria-busy]")).to_have_count(1)
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator(f"#{first}.confirmed")).to_have_count(1)
    expect(page.locator(f".row.rejected:not(#{first})")).to_have_count(1)
    expect(page.locator(".row.waits:focus")).to_have_count(1)
    second = page.locator(".row:focus").get_attribute("id")
    page.unroute("**/decide**")
    refused: list[Route] = []
    page.route("**/decide**", lambda route: refused.append(route))
    page.keyboard.press("y")
    page.keyboard.press("n")
    expect(page.locator(f"#{second} form[aria-busy]")).to_have_count(1)
    refused[0].fulfill(status=409, content_type="text/html", body="no")
    expect(page.locator("#said.failed")).to_have_text("no")
    expect(page.locator(f"#{second} form[aria-busy]")).to_have_count(0)
    page.keyboard.press("o")  # the key after it is acted upon
    expect(page.locator(f"#{second} .why")).to_have_attribute("open", "")
    assert len(refused) == 1


SWIPE = """(row, by) => {
    const box = row.getBoundingClientRect();
    const x = box.x + box.width / 2 - by / 2;
    for (const [kind, at] of [["pointerdown", 0], ["pointermove", 0.1], ["pointermove", 1], ["pointerup", 1]])
        row.dispatchEvent(new PointerEvent(kind, { pointerType: "touch", clientX: x + by * at, clientY: box.y + 40,
            isPrimary: true, bubbles: true }));
}"""
"""A finger's way over a row, at one moment: the row is the same from its beginning to its end."""


SWIPED_PART_OF_THE_WAY = """row => {
    const box = row.getBoundingClientRect();
    for (const [kind, by] of [["pointerdown", 0], ["pointermove", 30]])
        row.dispatchEvent(new PointerEvent(kind, { pointerType: "touch", clientX: box.x + 60 + by, clientY: box.y + 20,
            isPrimary: true, bubbles: true }));
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_s1_38_a_swipe_does_what_the_buttons_do(
    one: tuple[Path, BrowserContext], browser: Browser, motion: Literal["no-preference", "reduce"]
) -> None:
    """S1-38: right confirms, left rejects, on touch. S1-64: it moves and is felt, unless motion is reduced."""
    home, context = one
    address = entered(context, home).url
    phone = browser.new_context(
        storage_state=context.storage_state(),
        viewport={"width": 390, "height": 800},
        has_touch=True,
        reduced_motion=motion,
    )
    page = opened(phone)
    page.add_init_script("window.felt = []; navigator.vibrate = (long) => window.felt.push(long)")
    page.goto(address)
    for by, state in ((200, "confirmed"), (-200, "rejected")):
        page.locator(".row.waits").first.evaluate(SWIPE, by)
        expect(page.locator(f".row.{state}")).to_have_count(1)
    assert page.evaluate("window.felt") == ([] if motion == "reduce" else [10, 10])
    took = page.locator(".row.confirmed").evaluate("row => getComputedStyle(row).transitionDuration")
    assert (took == "0s") is (motion == "reduce")
    phone.close()


def test_web_83_a_device_joins_by_the_invitation_of_a_page(
    tmp_path: Path, browser: Browser, one: tuple[Path, BrowserContext]
) -> None:
    """The words show on both sides, and on the page without a reload."""
    home, context = one
    page = entered(context, home)
    page.goto(page.url.replace("/inbox", "/devices"))
    page.get_by_role("button", name="Show an invitation").click()
    expect(page.locator(".invitation .qr svg")).to_be_visible(timeout=PATIENCE)
    mark(page)
    uri = page.locator(".invitation code").text_content()
    tablet = tmp_path / "tablet"
    TaskHome.create(tablet, "tablet").close()
    said = run("pair", str(uri), home=tablet).out
    expect(page.locator("#pair .four")).to_be_visible(timeout=PATIENCE)
    assert str(page.locator("#pair .four").text_content()) in said
    expect(page.get_by_role("heading", name="tablet")).to_be_visible(timeout=PATIENCE)
    assert not reloaded(page)


def test_web_204_a_key_shows_the_list_of_keys(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    page = entered(context, home)
    page.keyboard.press("?")
    expect(page.get_by_text("put off until tomorrow")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_text("put off until tomorrow")).not_to_be_visible()
    focused_first(page)
    page.keyboard.press("Shift+Y")
    expect(page.get_by_role("button", name="that wait")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/settings")


def test_web_503_an_item_is_dragged_to_its_place_or_moved_by_keys(one: tuple[Path, BrowserContext]) -> None:
    home, context = one
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        for title in ("Second", "Third"):
            tasks.add_item(tx, title, TASK, title)
    held.close()
    page = entered(context, home)
    page.goto(page.url.replace("/inbox", f"/tasks/{TASK}"))
    mark(page)
    items = page.locator("#checklist li .text")
    page.locator("#grip-i1").hover()
    (left, top, *_), (_, end, *_) = boxes(page, "#grip-i1, #grip-Third")
    page.mouse.down()
    page.mouse.move(left + 20, (top + end) / 2, steps=4)
    page.mouse.move(left + 20, end + 30, steps=4)
    page.mouse.up()
    expect(items).to_have_text(["Second", "Third", "Find the manual"])
    expect(page.locator("#menu-i1")).not_to_have_attribute("open", "")
    page.locator("#grip-i1").press("Enter")
    expect(page.locator("#up-i1")).to_be_visible()
    page.locator("#up-i1").press("Enter")
    expect(items).to_have_text(["Second", "Find the manual", "Third"])
    expect(page.locator("#up-i1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(items).to_have_text(["Find the manual", "Second", "Third"])
    assert not reloaded(page)


def test_web_727_the_focus_stays_beside_what_was_taken_away(one: tuple[Path, BrowserContext]) -> None:
    """WEB-727: labels, links, items: the next one, else the one before, else the heading. Nothing reloads."""
    home, context = one
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        for name in ("Attic", "Boiler", "Cellar"):
            names.label_task(tx, TASK, [names.find_or_make(tx, "label", name)])
        for title in ("Second", "Third"):
            tasks.add_item(tx, title, TASK, title)
            tasks.add_task(tx, f"t-{title}", title)
            tasks.set_link(tx, TASK, "blocks", f"t-{title}")
    held.close()
    page = entered(context, home)
    page.goto(page.url.replace("/inbox", f"/tasks/{TASK}"))
    mark(page)

    for part, count in (("labels", 3), ("linked", 2)):
        buttons = page.locator(f"#{part} button")
        expect(buttons).to_have_count(count)
        *_, second, last = [str(one.get_attribute("aria-label")) for one in buttons.all()]
        page.get_by_role("button", name=last, exact=True).press("Enter")
        expect(page.get_by_role("button", name=second, exact=True)).to_be_focused()
        if count == 3:
            page.keyboard.press("Shift+Tab")
            page.keyboard.press("Enter")
            expect(page.get_by_role("button", name=second, exact=True)).to_be_focused()
        expect(buttons).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator(f"#{part}-title")).to_be_focused()
    for ident, verb, then in (("i1", "remove-item", "#box-Second"), ("Second", "archive-item", "#box-Third")):
        page.locator(f"#grip-{ident}").press("Enter")
        page.locator(f"#item-{ident} .{verb} button").press("Enter")
        expect(page.locator(then)).to_be_focused()
    page.locator("#archive > summary").press("Enter")
    page.locator("#archived-Second button").press("Enter")
    expect(page.locator("#checklist-title")).to_be_focused()
    expect(page.locator("#checklist li .text")).to_have_text(["Second", "Third"])
    assert not reloaded(page)


def test_web_728_what_is_added_on_a_tasks_page_shows_without_a_reload(one: tuple[Path, BrowserContext]) -> None:
    """WEB-728, WEB-723, WEB-726: by the keyboard; the field is empty then, and keeps the focus."""
    home, context = one
    page = entered(context, home)
    page.goto(page.url.replace("/inbox", f"/tasks/{TASK}"))
    mark(page)
    for field, text, shown in (
        ("#add-item", "Call the fitter", "#checklist"),
        ("#label", "household", "#labels"),
        ("#timer", "On the phone", "#notes"),
    ):
        page.locator(field).fill(text)
        page.locator(field).press("Enter")
        expect(page.locator(shown)).to_contain_text(text)
        expect(page.locator(field)).to_have_value("")
        expect(page.locator(field)).to_be_focused()
    expect(page.locator("#notes")).to_contain_text("The timer runs.")
    page.get_by_role("button", name="Stop the timer").press("Enter")
    expect(page.locator("#notes")).not_to_contain_text("The timer runs.")
    expect(page.locator("#notes summary").first).to_be_focused()
    page.locator("#note").fill("He comes on Friday.")
    page.get_by_role("button", name="Write down").press("Enter")
    expect(page.locator("#notes")).to_contain_text("He comes on Friday.")
    expect(page.locator("#note")).to_have_value("")
    page.goto(page.url.replace(f"/tasks/{TASK}", "/tasks"))
    page.locator("#title").fill("Water the plants")
    page.locator("#title").press("Enter")
    page.get_by_role("link", name="Water the plants").click()
    page.wait_for_url("**/tasks/*")  # with its script: without that, the button reloads
    page.locator("#let-mind > summary").press("Enter")
    mark(page)
    page.locator("#create-agent").press("Enter")
    expect(page.locator("#lede")).to_have_text("Laura minds this task.")
    expect(page.locator("#let-mind")).to_have_count(0)
    assert not reloaded(page)


def test_web_729_a_row_under_a_finger_stays_until_the_finger_leaves(
    one: tuple[Path, BrowserContext], browser: Browser
) -> None:
    """WEB-729: what comes meanwhile waits, and the swipe decides what the finger was put on."""
    home, context = one
    address = entered(context, home).url
    phone = browser.new_context(storage_state=context.storage_state(), has_touch=True, is_mobile=True)
    page = opened(phone)
    page.goto(address)
    page.locator(".row.waits").first.evaluate(SWIPED_PART_OF_THE_WAY)
    held = TaskHome.open(home)
    with held.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Another title", "estimate": 45})
    held.close()
    expect(page.locator(".row.stale", has_text="Estimate")).to_have_count(1)
    expect(page.locator("[data-swipe=yes]")).to_contain_text("Title")
    page.locator("[data-swipe=yes]").dispatch_event("pointercancel", {"bubbles": True})
    expect(page.locator(".row.stale", has_text="Title")).to_have_count(1)
    phone.close()


@pytest.mark.parametrize("language", ["de", "es", "fr", "ro"])
def test_web_507_every_language_fits_a_narrow_screen(
    one: tuple[Path, BrowserContext], browser: Browser, language: str
) -> None:
    """WEB-507, WEB-508, WEB-44: a browser of that language, in another zone."""
    home, _ = one
    context = browser.new_context(
        locale=f"{language}-{language.upper()}",
        timezone_id="Asia/Tokyo",
        viewport={"width": 320, "height": 720},
        bypass_csp=True,
    )
    page = opened(context)
    let_in(page, home)
    base = page.url.removesuffix("/inbox")
    for path in PAGES:
        page.goto(base + path)
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
    assert violations(page) == []
    assert "zone=Asia%2FTokyo" in page.evaluate("document.cookie")
    context.close()


def test_web_872_the_first_page_is_by_the_clock_of_the_browser(
    one: tuple[Path, BrowserContext], browser: Browser
) -> None:
    """WEB-872, WEB-508: as it was served, not only after the script has asked once more. Who travels sees it change."""
    home, _ = one
    held = TaskHome.open(home)
    with held.journal.transaction(1_764_597_600_000, PERSON) as tx:  # 2025-12-01, 14:00 UTC
        tasks.add_note(tx, "n5", TASK, "He called.")
    held.close()
    context = browser.new_context(locale="en-US", timezone_id="Asia/Tokyo")
    page = opened(context)
    page.goto(run_here("open", "--print", home=home).out.strip())
    page.get_by_role("button", name="Open the inbox").click()
    page.wait_for_url("**/inbox")
    served = "async path => (await (await fetch(path)).text()).match(/<li id=.entry-n5.*?<time .*?>/s)[0]"
    assert 'title="Mon 1 Dec 2025, 23:00:00 JST"' in page.evaluate(served, f"/tasks/{TASK}")
    travelled = browser.new_context(storage_state=context.storage_state(), timezone_id="America/New_York")
    other = opened(travelled)
    other.goto(page.url.replace("/inbox", f"/tasks/{TASK}"))
    expect(other.locator("#entry-n5 time")).to_have_text("Mon 1 Dec 2025, 09:00")
    expect(other.locator("#entry-n5 time")).to_have_attribute("title", "Mon 1 Dec 2025, 09:00:00 EST")
    travelled.close()
    context.close()


def test_s1_38_a_swipe_on_a_narrow_screen_is_undone_by_a_tap(
    one: tuple[Path, BrowserContext], browser: Browser
) -> None:
    """320 px, with a real finger: what is swiped is decided, and a tap on Undo takes it back."""
    home, context = one
    address = entered(context, home).url
    phone = browser.new_context(
        storage_state=context.storage_state(),
        viewport={"width": 320, "height": 640},
        has_touch=True,
        is_mobile=True,
    )
    page = opened(phone)
    page.goto(address)
    finger = phone.new_cdp_session(page)
    into_view = "row => { row.scrollIntoView({ block: 'center' }); return row.getBoundingClientRect().y; }"
    y = page.locator(".row.waits", has_text="Estimate").evaluate(into_view) + 20

    def touch(kind: str, *at: float) -> None:
        points = [{"x": x, "y": y} for x in at]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 80)
    for x in range(90, 260, 10):
        touch("touchMove", x)
    touch("touchEnd")
    expect(page.locator(".row.confirmed", has_text="Estimate")).to_have_count(1)
    page.locator(".row.confirmed [data-undo]").tap()
    expect(page.locator(".row.undone", has_text="Estimate")).to_have_count(1)
    expect(page.locator(".row.confirmed")).to_have_count(0)
    phone.close()


def test_web_203_the_whole_story_by_the_keyboard(one: tuple[Path, BrowserContext]) -> None:
    """From the door to a decision, its undo, and a new task, without a pointer."""
    home, context = one
    page = opened(context)
    page.goto(run_here("open", "--print", home=home).out.strip())
    expect(page.get_by_role("button", name="Open the inbox")).to_be_focused()  # given after the load
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox")
    first = focused_first(page)
    expect(page.locator(f"#{first}")).to_have_css("outline-style", "solid")
    page.keyboard.press("r")
    expect(page.locator(f"#{first} input[name=reason]")).to_be_focused()
    page.keyboard.type("Not now")
    page.keyboard.press("Enter")
    expect(page.locator(f"#{first}.rejected")).to_contain_text("Not now")
    expect(page.locator(f"#{first} [data-undo]")).to_be_enabled()
    page.locator(f"#{first}").focus()
    expect(page.locator(f"#{first}")).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator(f"#{first}.waits")).to_have_count(1)
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/tasks")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    for _ in range(page.locator(".chips a").count() + 2):  # past the search's button and the chips: a new task
        page.keyboard.press("Tab")
    expect(page.locator("#title")).to_be_focused()
    page.keyboard.type("Water the plants")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Water the plants")).to_be_visible()


def test_web_620_a_reminder_and_a_repetition_are_set_by_the_keyboard_on_a_narrow_screen(
    one: tuple[Path, BrowserContext], browser: Browser
) -> None:
    """WEB-620, WEB-6131, WEB-6132: at 320 px nothing hangs over the edge, each target is for a thumb, and nothing
    reloads."""
    home, context = one
    address = entered(context, home).url
    narrow = browser.new_context(
        storage_state=context.storage_state(),
        viewport={"width": 320, "height": 640},
        locale="en-US",
        timezone_id="Asia/Tokyo",
        bypass_csp=True,
    )
    page = opened(narrow)
    page.goto(address.replace("/inbox", f"/tasks/{TASK}"))
    mark(page)

    def unfolded(name: str) -> None:
        page.locator(f"#fact-{name} > summary").focus()
        expect(page.locator(f"#fact-{name} > summary")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(f"#set-{name}")).to_be_visible()
        parts = boxes(page, f"#fact-{name} :is(summary, input:not([type=hidden]), select, button)")
        assert len(parts) >= 3
        assert all(height >= 44 and x >= 0 and x + width <= 320 for x, _, width, height in parts), parts
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert violations(page) == []
        page.keyboard.press("Tab")
        expect(page.locator(f"#fact-{name} input:not([type=hidden])").first).to_be_focused()

    unfolded("remind")
    for keys in ("12", "09", "2027", "ArrowRight", "09", "30", "A"):  # month, day, year, hour, minute, morning
        page.keyboard.press(keys) if keys == "ArrowRight" else page.keyboard.type(keys)
    page.keyboard.press("Enter")
    expect(page.locator("#fact-remind > summary")).to_have_text("Thu 9 Dec 2027, 09:30")
    unfolded("repeat")
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    expect(page.locator("#fact-repeat select")).to_be_focused()
    page.keyboard.type("week")
    page.keyboard.press("Tab")
    expect(page.locator("#set-repeat")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#fact-repeat > summary")).to_have_text("every 2 weeks")
    expect(page.locator("#set-repeat")).to_be_focused()
    assert not reloaded(page)
    narrow.close()


def test_web_964_a_conflict_that_is_settled_elsewhere_has_no_buttons(one: tuple[Path, BrowserContext]) -> None:
    """WEB-964: it keeps its place, and says so. The page where it was settled does the same."""
    home, context = one
    opening = TaskHome.open(home)
    disagree(opening, home.with_name("phone"), "Another title")
    opening.close()
    page, other = entered(context, home), entered(context, home)
    for each in (page, other):
        each.goto(each.url.replace("/inbox", "/conflicts"))
        mark(each)
        expect(each.get_by_role("button", name="Keep the one of")).to_have_count(2)
    page.get_by_role("button", name="Keep the one of laptop").press("Enter")
    for each in (page, other):
        expect(each.get_by_role("button", name="Keep the one of")).to_have_count(0)
        expect(each.locator("[data-card] .settled")).to_be_visible()
        assert not reloaded(each)
    assert page.evaluate("document.activeElement.matches('[data-card]')")


def test_web_1060_a_third_value_is_set_by_the_keyboard_on_a_narrow_screen(one: tuple[Path, BrowserContext]) -> None:
    """WEB-1060, WEB-10602, WEB-1065: nothing reloads, what is refused is said, with what was typed still there; the
    count goes."""
    home, context = one
    opening = TaskHome.open(home)
    disagree(opening, home.with_name("phone"), "Another title")
    opening.close()
    page = entered(context, home)
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(page.url.replace("/inbox", "/conflicts"))
    mark(page)
    expect(page.locator("#more-places .count")).to_have_text("1, 1 conflict")
    page.locator("[data-card] summary").press("Enter")
    page.keyboard.press("Tab")
    field = page.locator("[data-card] [name=value]")
    expect(field).to_be_focused()
    assert violations(page) == []
    field.fill("x" * 400)
    field.evaluate("one => { one.removeAttribute('maxlength'); one.value += 'x'; }")
    field.press("Enter")
    expect(page.locator("#said")).to_have_text("A title has 1 to 400 characters; got 401.")
    expect(field).to_have_value("x" * 401)
    field.fill("A third title")
    field.press("Enter")
    expect(page.locator("[data-card] .settled")).to_be_visible()
    expect(page.get_by_role("button", name="Keep the one of")).to_have_count(0)
    expect(page.locator("[data-card] .tag")).to_be_hidden()
    expect(page.locator("#more-places .count")).to_have_count(0)
    assert not reloaded(page)
    task = TaskHome.open(home)
    held = task.journal.read(TASK)
    task.close()
    assert held is not None
    assert held.value("title") == "A third title"


def test_web_1030_a_key_opens_each_kind_of_field(one: tuple[Path, BrowserContext]) -> None:
    """WEB-1030: a text, a number, a day, and a choice."""
    home, context = one
    page = entered(context, home)
    kinds = []
    for ident in page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.id)"):
        page.locator(f"#{ident}").focus()
        page.keyboard.press("e")
        if page.locator(f"#{ident} form.edit").count():
            field = page.locator(f"#{ident} form.edit [name^=arg]").first
            expect(field).to_be_focused()
            kinds.append(field.evaluate("one => one.type"))
    assert set(kinds) == {"text", "number", "date", "select-one"}


def test_web_1023_out_of_reach_the_buttons_of_a_verdict_are_off(one: tuple[Path, BrowserContext]) -> None:
    """WEB-1023: it is seen and heard, a press changes nothing, and they are on again by themselves."""
    home, context = one
    context.route("**/live?*", lambda route: route.abort())
    page = entered(context, home)
    off = page.locator("[action^='/decide'] button[aria-disabled=true]")
    expect(off).not_to_have_count(0)
    expect(page.locator("[action^='/decide'] button:not([aria-disabled])")).to_have_count(0)
    assert page.locator(".yes").first.evaluate("button => getComputedStyle(button).borderTopStyle") == "dashed"
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.locator(".yes").first.dispatch_event("click")
    page.locator("[data-row]").first.focus()
    page.keyboard.press("y")
    assert "POST" not in sent
    context.unroute("**/live?*")
    expect(off).to_have_count(0)
    page.locator(".yes").first.click()
    expect(page.locator(".row.confirmed")).to_have_count(1)
    assert not reloaded(page)


def test_web_965_what_failed_is_in_view_wherever_the_page_is(tmp_path: Path, browser: Browser) -> None:
    """WEB-965: at 320 px, at the end of a long inbox, when the device goes away."""
    home = tmp_path / "laptop"
    TaskHome.create(home, "laptop").close()
    furnished(home)
    context = browser.new_context(viewport={"width": 320, "height": 640})
    with daemon(home, web=True) as running:
        page = entered(context, home)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        running.stop()
        said = page.locator("#said")
        expect(said).to_contain_text("Out of reach. You see what was so; decide again once it is back.")
        expect(said).to_be_in_viewport(ratio=1)
        assert said.evaluate("one => one.scrollWidth <= one.clientWidth")
    context.close()
