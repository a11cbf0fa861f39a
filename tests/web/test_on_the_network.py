"""The pages by HTTPS from another machine: a phone's Chromium in a network namespace of its own."""

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.support.network import Machine, Network, namespaces_or_skip
from tests.web.test_in_a_browser import CHROMIUM, PATIENCE, mark, opened, pytestmark, reloaded, violations
from tests.web.test_pictures import folder
from tests.web.visitor import TASK, furnished

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.web.authority import CERTIFICATE_FILE

__all__ = ["folder", "pytestmark"]

WEB = "10.9.0.1:22443"


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    namespaces_or_skip()
    with Network(tmp_path, 2, multicast=False, ipv6=False) as made:
        for number, machine in enumerate(made.machines):
            machine.address("add", f"10.9.0.{number + 1}/24")
        yield made


@pytest.fixture
def laptop(network: Network) -> Machine:
    """The machine that serves the pages."""
    laptop = network.machines[0]
    laptop.run("init", "--name", "laptop")
    furnished(laptop.home)
    laptop.daemon(web=WEB)
    return laptop


@pytest.fixture
def browser(network: Network, laptop: Machine, tmp_path: Path) -> Iterator[Browser]:
    """A browser on the other machine, which trusts the certificate of the pages."""
    started_by = tmp_path / "chromium"
    started_by.write_text(f'#!/bin/sh\nexec ip netns exec {network.machines[1].namespace} {CHROMIUM} "$@"\n')
    started_by.chmod(0o700)
    key = x509.load_pem_x509_certificate((laptop.home / CERTIFICATE_FILE).read_bytes()).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    trusted = f"--ignore-certificate-errors-spki-list={base64.b64encode(digest).decode()}"
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=started_by, args=["--no-sandbox", trusted], timeout=PATIENCE)
        yield started
        started.close()


def let_in(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_label("Name of this browser").fill("the phone")
    page.get_by_role("button").first.click()
    page.wait_for_url("**/inbox")
    page.reload()  # the first page asks for itself once more, by the browser's zone
    mark(page)


def test_web_61_a_phone_is_let_in_decides_and_is_put_out(laptop: Machine, browser: Browser) -> None:
    """WEB-60, WEB-63, WEB-630, WEB-631, WEB-65, WEB-69, S1-61: by the address of the network, with HTTPS, on a screen
    of 320 px."""
    context = browser.new_context(viewport={"width": 320, "height": 640}, has_touch=True, bypass_csp=True)
    page = opened(context)
    offered = laptop.run("open", "--phone")
    assert offered["address"].startswith(f"https://{WEB}/")
    for address in (offered["address"], f"https://{WEB}/enter"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert violations(page) == [], address
    let_in(page, offered["address"])
    page.get_by_role("button", name="Confirm: Set estimate to 90 minutes").click()
    expect(page.locator(".row.confirmed")).to_have_count(1)
    assert not reloaded(page)
    other = opened(context)
    other.goto(f"https://{WEB}/tasks/{TASK}")
    expect(other.locator("#fact-estimate > summary")).to_have_text("1 h 30 min")
    [listed] = laptop.run("devices", "browsers")
    assert listed["name"] == "the phone"
    laptop.run("devices", "revoke-browser", listed["id"])
    page.get_by_role("button", name="Undo: Set estimate to 90 minutes").click()
    expect(page.locator("#said")).to_have_text(re.compile("not let in|no longer let in"))  # the answer, or the stream
    page.reload()
    expect(page.locator("body")).to_contain_text("not-let-in")
    page.goto(offered["address"])
    page.get_by_role("button").first.click()
    expect(page.locator("body")).to_contain_text("used already")
    context.close()


def test_the_picture_of_the_door(laptop: Machine, browser: Browser, folder: Path) -> None:
    """What the guide of the phone shows: the button, and how the certificate is trusted."""
    context = browser.new_context(viewport={"width": 390, "height": 640}, locale="en-US")
    page = opened(context)
    page.goto(laptop.run("open", "--phone")["address"])
    page.get_by_label("Name of this browser").fill("iPhone")
    page.get_by_text("Does the browser warn about this page?").click()
    expect(page.get_by_role("link", name="Take this home's certificate")).to_be_visible()
    page.screenshot(path=folder / "door.png", full_page=True)
    assert (folder / "door.png").stat().st_size > 10_000
    context.close()


def test_web_500_out_of_reach_and_back(laptop: Machine, browser: Browser) -> None:
    """WEB-500: nothing is queued, and it is said. What happened meanwhile shows once the device is back."""
    context = browser.new_context()
    page = opened(context)
    let_in(page, laptop.run("open", "--phone")["address"])
    laptop.stop()
    expect(page.locator("#said")).to_contain_text("Out of reach")
    page.get_by_role("button", name="Confirm: Set estimate to 90 minutes").dispatch_event("click")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator(".row.confirmed")).to_have_count(0)
    page.get_by_role("heading", name="Inbox").click()  # the hand leaves the row
    home = TaskHome.open(laptop.home)
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Another title"})
    home.close()
    laptop.daemon(web=WEB)
    expect(page.locator(".row.stale", has_text="Title")).to_have_count(1)
    expect(page.locator("#said")).not_to_contain_text("Out of reach")
    page.get_by_role("button", name="Confirm: Set estimate to 90 minutes").click()
    expect(page.locator(".row.confirmed")).to_have_count(1)
    assert not reloaded(page)
    context.close()
