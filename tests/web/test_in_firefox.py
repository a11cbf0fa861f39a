"""The main story in Debian's Firefox ESR. Skipped where there is none."""

from pathlib import Path

import pytest
from tests.daemon.conftest import homes, template
from tests.support.command_line import run_here
from tests.support.daemons import daemon, introduce
from tests.support.firefox import FIREFOX, Firefox
from tests.web.visitor import TASK, furnished

__all__ = ["homes", "template"]

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(FIREFOX is None, reason="there is no firefox-esr; on Debian: apt-get install firefox-esr"),
]


def enter(firefox: Firefox, home: Path) -> str:
    """A window that was let in, on the inbox."""
    window = firefox.window()
    firefox.go(run_here("open", "--print", home=home).out.strip())
    firefox.press("Open the inbox")
    firefox.arrived("/inbox")
    firefox.go(firefox.run("return location.href"))  # the first page asks for itself once more, by the browser's zone
    firefox.run("window.marked = true")
    return window


def test_web_40_the_main_story_in_firefox(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """S2-22, S1-61: proposed on the laptop, decided on the phone's page; the effect shows on both without a reload."""
    laptop, phone = homes
    with daemon(laptop, web=True) as first, Firefox(tmp_path / "profile") as firefox:
        introduce(phone, laptop, int(first.event("started")["port"]))
        with daemon(phone, web=True):
            on_laptop, on_phone = enter(firefox, laptop), enter(firefox, phone)
            furnished(laptop, "update_task_estimate", "update_task_priority")
            firefox.until("!document.querySelector('#new').hidden")
            firefox.go(firefox.run("return location.href"))
            firefox.run("window.marked = true")
            firefox.choose(on_laptop)
            firefox.go(firefox.run("return location.href"))
            firefox.run("window.marked = true")
            firefox.choose(on_phone)
            firefox.press("Confirm: Set estimate to 90 minutes")
            for window in (on_phone, on_laptop):
                firefox.choose(window)
                firefox.until("document.querySelectorAll('.row.confirmed').length === 1")
                assert firefox.run("return window.marked"), "the page was not loaded again"
            firefox.until("document.querySelector('[data-undo]:enabled')")
            firefox.press("Undo: Set estimate to 90 minutes")
            firefox.until("document.querySelectorAll('.row.confirmed').length === 0")
            firefox.go(firefox.run(f"return new URL('/tasks/{TASK}', location.href).href"))
            firefox.type("#add-item", "The fern")
            firefox.press("Add")
            firefox.until("document.querySelector('[role=checkbox][aria-label=\"The fern\"]')")
