"""The pictures of the docs, taken of real pages: `make pictures` writes them to docs/pictures."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.daemon.conftest import homes, template
from tests.support.daemons import daemon, introduce
from tests.web.test_in_a_browser import browser, entered, pytestmark
from tests.web.visitor import TASK, furnished

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON

__all__ = ["browser", "homes", "pytestmark", "template"]

TAKEN = (("inbox", "/inbox", 1200, 960), ("task", f"/tasks/{TASK}", 1200, 900), ("devices", "/devices", 1200, 860))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the pictures go: what PICTURES names, else a temporary folder."""
    found = Path(os.environ.get("PICTURES") or tmp_path / "pictures")
    found.mkdir(exist_ok=True)
    return found


def test_the_pictures_of_the_docs(homes: tuple[Path, Path], browser: Browser, folder: Path) -> None:
    """A phone was in step, and is away since; so it lacks what was done then."""
    home, phone = homes
    furnished(home)
    with daemon(home, web=True) as first:
        context = browser.new_context()
        page = entered(context, home)
        base = page.url.removesuffix("/inbox")
        page.goto(base + "/devices")
        introduce(phone, home, int(first.event("started")["port"]))
        with daemon(phone):
            expect(page.locator("main")).to_contain_text("connected now")
            expect(page.locator("#lede")).to_contain_text("has everything")
        held = TaskHome.open(home)
        with held.journal.transaction(clock.now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"due": "2026-12-09"})
        held.close()
        for name, path, width, height in TAKEN:
            page.set_viewport_size({"width": width, "height": height})
            page.goto(base + path)
            if path == "/devices":
                expect(page.locator("main")).to_contain_text("last seen")
                expect(page.locator("#lede")).to_contain_text("lacks something")
            page.screenshot(path=folder / f"{name}.png")
        page.set_viewport_size({"width": 390, "height": 800})
        page.emulate_media(color_scheme="dark")
        page.goto(base + "/inbox")
        page.screenshot(path=folder / "phone.png")
        context.close()
    assert {file.name for file in folder.glob("*.png")} >= {"inbox.png", "task.png", "devices.png", "phone.png"}
