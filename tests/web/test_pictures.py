"""The pictures of the docs, taken of real pages: `make pictures` writes them to docs/pictures."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.support.daemons import daemon
from tests.web.test_in_a_browser import browser, entered, pytestmark
from tests.web.visitor import TASK, furnished

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON

__all__ = ["browser", "pytestmark"]

TAKEN = (("inbox", "/inbox", 1200, 960), ("task", f"/tasks/{TASK}", 1200, 900), ("devices", "/devices", 1200, 720))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the pictures go: what PICTURES names, else a temporary folder."""
    found = Path(os.environ.get("PICTURES") or tmp_path / "pictures")
    found.mkdir(exist_ok=True)
    return found


def test_the_pictures_of_the_docs(tmp_path: Path, browser: Browser, folder: Path) -> None:
    home = tmp_path / "laptop"
    TaskHome.create(home, "laptop").close()
    furnished(home)
    opened = TaskHome.open(home)
    with opened.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"due": "2026-12-09"})
    opened.close()
    with daemon(home, web=True):
        context = browser.new_context()
        page = entered(context, home)
        base = page.url.removesuffix("/inbox")
        for name, path, width, height in TAKEN:
            page.set_viewport_size({"width": width, "height": height})
            page.goto(base + path)
            page.screenshot(path=folder / f"{name}.png")
        page.set_viewport_size({"width": 390, "height": 800})
        page.emulate_media(color_scheme="dark")
        page.goto(base + "/inbox")
        page.screenshot(path=folder / "phone.png")
        context.close()
    assert {file.name for file in folder.glob("*.png")} >= {"inbox.png", "task.png", "devices.png", "phone.png"}
