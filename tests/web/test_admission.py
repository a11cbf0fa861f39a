"""Browsers of the person's network: let in by a code, renewed, put out (docs/specs/18-web.md, section 4)."""

import re
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from tests.support.command_line import run_here
from tests.support.proposals import propose
from tests.web.visitor import TASK, Visitor

from lottisync.problem import Problem
from lottisync.store.instant import iso
from lottisync.web.admission import MAX_BROWSERS, OFFER_MILLIS, Network
from lottisync.web.application import application
from lottisync.web.live import Streams

HOST = "192.168.1.5:22443"
ORIGIN = f"https://{HOST}"
OWN = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


class Phone:
    """A browser of the network, which is not let in yet."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.network = Network(visitor.browsers)
        self.network.hosts = frozenset({HOST})
        self.app = application(visitor.site, self.network, b"certificate", "AAAA BBBB")
        self.client = TestClient(self.app, base_url=ORIGIN, follow_redirects=False)

    def enter(self, code: str, name: str = "phone") -> int:
        return self.client.post("/enter", data={"token": code, "name": name}, headers=OWN).status_code

    def let_in(self, name: str = "phone") -> None:
        assert self.enter(self.visitor.browsers.offer().code, name) == 303

    @property
    def form_token(self) -> str:
        page = self.client.get("/tasks").text
        return page.partition('name="form-token" value="')[2].partition('"')[0]

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        answer = self.client.post(path, data={"form-token": self.form_token, **fields}, headers=OWN)
        return answer.status_code, answer.text


@pytest.fixture
def phone(visitor: Visitor) -> Phone:
    return Phone(visitor)


def test_web_60_a_code_lets_one_browser_in_by_a_press_alone(phone: Phone) -> None:
    """WEB-60, WEB-600"""
    code = phone.visitor.browsers.offer().code
    for _ in range(2):
        assert code in phone.client.get("/enter", params={"token": code}).text  # looking uses nothing up
    assert phone.client.get("/inbox").status_code == 401
    assert phone.enter(code.replace("-", " ").upper()) == 303  # as it may be typed
    assert phone.client.get("/inbox").status_code == 200
    assert Phone(phone.visitor).enter(code) == 403


def test_web_601_a_code_is_good_for_ten_minutes_and_the_next_one_takes_its_place(phone: Phone) -> None:
    """WEB-601, WEB-602"""
    assert OFFER_MILLIS == 10 * 60_000
    start = phone.visitor.now()
    phone.visitor.now = lambda: start
    first, second = phone.visitor.browsers.offer().code, phone.visitor.browsers.offer().code
    assert phone.enter(first) == 403
    phone.visitor.now = lambda: start + OFFER_MILLIS
    assert phone.enter(second) == 403
    phone.visitor.now = lambda: start + OFFER_MILLIS - 1
    assert phone.enter(second) == 303


@pytest.mark.parametrize("code", ["", "x", "2222-2222-2222", "\N{SNOWMAN}", "../../etc"])
def test_web_604_a_wrong_code_leaves_the_right_one(phone: Phone, code: str) -> None:
    right = phone.visitor.browsers.offer().code
    assert phone.enter(code) == 403
    assert phone.enter(right) == 303


def test_web_603_every_code_that_is_refused_gets_the_same_sentence(phone: Phone) -> None:
    """WEB-603: one that was never good, one whose place another took, one that is used, one that is too old, none."""

    def refused(code: str) -> str:
        answer = Phone(phone.visitor).client.post("/enter", data={"token": code, "name": "phone"}, headers=OWN)
        assert answer.status_code == 403
        return answer.text

    start = phone.visitor.now()
    phone.visitor.now = lambda: start
    said = {refused("2222-2222-2222"), refused("")}
    replaced, used = phone.visitor.browsers.offer().code, phone.visitor.browsers.offer().code
    said.add(refused(replaced))
    assert phone.enter(used) == 303
    said.add(refused(used))
    old = phone.visitor.browsers.offer().code
    phone.visitor.now = lambda: start + OFFER_MILLIS
    said.add(refused(old))
    [sentence] = said
    assert "This code was used already, or is too old." in sentence


def test_web_60_without_an_offer_no_browser_is_let_in(phone: Phone) -> None:
    assert phone.enter("") == 403
    assert phone.enter("2222-2222-2222") == 403


def test_web_61_a_stranger_of_the_network_gets_the_door_and_nothing_else(phone: Phone) -> None:
    for path in ("/", "/inbox", "/tasks", f"/tasks/{TASK}", "/conflicts", "/devices", "/activity", "/live", "/x"):
        refused = phone.client.get(path).text
        assert refused.startswith("not-let-in: ")
        assert refused.endswith("lottisync open --phone\n")
    door = phone.client.get("/enter").text
    assert "boiler" not in door
    assert "laptop" not in door
    assert phone.client.get("/authority.crt").content == b"certificate"


def test_web_61_another_name_of_this_machine_is_refused(phone: Phone) -> None:
    phone.let_in()
    own = phone.visitor.access.door
    for host in ("192.168.1.5", "192.168.1.6:22443", "evil.example:22443", f"{own.host}:{own.port}"):
        assert phone.client.get("/inbox", headers={"host": host}).text.startswith("other-host: ")
    for origin in ("http://192.168.1.5:22443", own.origin, "null"):
        answer = phone.client.post("/tasks", data={"title": "x"}, headers={"origin": origin})
        assert answer.text.startswith("other-origin: ")


def test_web_61_a_cookie_of_one_entrance_is_worth_nothing_at_the_other(phone: Phone) -> None:
    phone.let_in()
    [cookie] = phone.client.cookies.values()
    near = phone.visitor.stranger()
    for name in ("lottisync", "__Host-lottisync"):
        assert near.get("/inbox", headers={"cookie": f"{name}={cookie}"}).status_code == 401


def test_web_62_the_cookie_goes_by_https_alone_and_is_not_a_scripts(phone: Phone) -> None:
    code = phone.visitor.browsers.offer().code
    answer = phone.client.post("/enter", data={"token": code, "name": "phone"}, headers=OWN)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-lottisync=")
    for part in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/"):
        assert f"; {part}" in cookie
    assert "omain" not in cookie


def test_web_623_a_cookie_is_good_for_a_week(phone: Phone) -> None:
    """WEB-623: and no longer, in the browser and here; who has used no newer one has to be let in again."""
    start = phone.visitor.now()
    phone.visitor.now = lambda: start
    code = phone.visitor.browsers.offer().code
    answer = phone.client.post("/enter", data={"token": code, "name": "phone"}, headers=OWN)
    assert "; Max-Age=604800" in answer.headers["set-cookie"]
    [cookie] = phone.client.cookies.values()
    phone.visitor.now = lambda: start + 604_800_000 - 1
    assert phone.network.session(cookie) is not None
    phone.visitor.now = lambda: start + 604_800_000
    assert phone.network.session(cookie) is None
    assert phone.client.get("/inbox").status_code == 401
    phone.visitor.now = lambda: start + 2 * 604_800_000
    assert phone.visitor.browsers.all() == []


def test_web_624_a_cookie_is_renewed_at_the_first_use_after_an_hour(phone: Phone) -> None:
    """WEB-624, WEB-623: the new one is good for a week of its own."""
    start = phone.visitor.now()
    phone.visitor.now = lambda: start
    phone.let_in()
    [old] = phone.client.cookies.values()
    phone.visitor.now = lambda: start + 3_600_000 - 1
    assert "set-cookie" not in phone.client.get("/inbox").headers
    phone.visitor.now = lambda: start + 3_600_000
    assert "set-cookie" in phone.client.get("/inbox").headers
    assert "set-cookie" not in phone.client.get("/inbox").headers
    phone.visitor.now = lambda: start + 604_800_000
    assert phone.network.session(old) is None
    assert phone.client.get("/inbox").status_code == 200


@pytest.mark.parametrize("place", [0, 17, 40])
def test_web_61_a_cookie_that_was_changed_is_refused(phone: Phone, place: int) -> None:
    """WEB-4, WEB-61: it is not a session."""
    phone.let_in()
    [cookie] = phone.client.cookies.values()
    changed = cookie[:place] + ("1" if cookie[place] != "1" else "2") + cookie[place + 1 :]
    assert phone.network.session(cookie) is not None
    assert phone.network.session(changed) is None
    assert phone.network.session("../../web.json") is None


def test_web_63_a_browser_is_listed_with_when_it_was_last_seen(phone: Phone) -> None:
    start = phone.visitor.now()
    phone.visitor.now = lambda: start
    phone.let_in("Anna's phone")
    phone.visitor.now = lambda: start + 3_600_000
    phone.client.get("/inbox")
    phone.visitor.now = lambda: start + 2 * 3_600_000
    listed = phone.visitor.get("/devices").partition('<li class="browser">')[2].partition("</li>")[0]
    assert "<b>Anna&#39;s phone</b>" in listed
    assert re.search(rf'<time datetime="{iso(start + 3_600_000)}"[^>]*>last seen ', listed)


def test_web_630_the_command_line_puts_a_browser_out(phone: Phone) -> None:
    phone.let_in("Anna's phone")
    done = run_here("devices", "revoke-browser", "Anna's phone", home=phone.visitor.home.path)
    assert (done.code, done.out) == (0, "Anna's phone sees nothing any more.\n")
    assert phone.client.get("/inbox").text.startswith("not-let-in: ")
    assert phone.visitor.browsers.all() == []


def test_web_631_a_browser_is_put_out_at_once(phone: Phone) -> None:
    """WEB-631, WEB-630: neither a page nor a form is answered."""
    phone.let_in("Anna's phone")
    [one] = phone.visitor.browsers.all()
    token = phone.form_token
    phone.visitor.post("/browsers", verb="revoke", browser=one.id)
    assert phone.client.get("/inbox").text.startswith("not-let-in: ")
    answer = phone.client.post("/tasks", data={"form-token": token, "title": "x"}, headers=OWN)
    assert answer.text.startswith("not-let-in: ")
    assert phone.visitor.browsers.all() == []


def test_web_630_a_name_that_fits_no_browser_or_several_removes_none(phone: Phone) -> None:
    phone.let_in()
    Phone(phone.visitor).let_in()
    for name in ("phone", "tablet"):
        with pytest.raises(Problem):
            phone.visitor.browsers.revoke(name)
    assert len(phone.visitor.browsers.all()) == 2


def test_web_632_the_browser_seen_longest_ago_makes_room(phone: Phone) -> None:
    start = phone.visitor.now()
    for number in range(MAX_BROWSERS + 1):
        phone.visitor.now = lambda number=number: start + number * 120_000  # type: ignore[misc]
        Phone(phone.visitor).let_in(f"phone {number}")
    names = [one.name for one in phone.visitor.browsers.all()]
    assert len(names) == MAX_BROWSERS
    assert "phone 0" not in names


def test_web_64_rights_are_not_changed_from_the_network(phone: Phone) -> None:
    phone.let_in()
    for path in ("/browsers", "/pair", "/settings", "/devices"):
        status, text = phone.post(path, verb="let-in")
        assert (status, text.partition(":")[0]) == (403, "only-here")
    assert "Put out" not in phone.client.get("/devices").text
    assert len(phone.visitor.browsers.all()) == 1


def test_web_64_a_page_of_this_device_shows_the_code(phone: Phone) -> None:
    phone.visitor.access.announce([ORIGIN], "AAAA BBBB")
    page = phone.visitor.post("/browsers", 200, verb="let-in")
    code = page.partition('<p class="code">')[2].partition("<")[0]
    assert "<svg" in page
    assert "AAAA BBBB" in page
    assert phone.enter(code) == 303


def test_web_65_what_a_browser_does_is_the_persons_and_says_by_which(phone: Phone) -> None:
    propose(phone.visitor.home, ("update_task_estimate", {"minutes": 90}))
    phone.let_in("Anna's phone")
    [(item, shown)] = phone.visitor.rows(phone.client.get("/inbox").text)
    status, _ = phone.post("/decide", item=item, shown=shown, verdict="confirm")
    assert status == 303
    assert phone.visitor.task.estimate == 90
    [line] = phone.visitor.browsers.acts()
    assert (line.browser, line.path, line.verb, line.what) == ("Anna's phone", "/decide", "confirm", item)


def test_web_13_a_stream_ends_when_its_browser_is_put_out_and_says_nothing_of_what_came_after(phone: Phone) -> None:
    """The stream is asked in this process, event by event."""
    phone.let_in()
    [cookie] = phone.client.cookies.values()
    scope = {"type": "http", "method": "GET", "path": "/live", "query_string": b"seen=x", "app": SimpleNamespace()}
    scope["headers"] = [(b"cookie", f"__Host-lottisync={cookie}".encode())]
    scope["app"] = SimpleNamespace(state=SimpleNamespace(site=phone.visitor.site))

    async def listen() -> list[str]:
        response = await Streams(phone.network)(Request(scope))
        events = response.body_iterator  # type: ignore[attr-defined]
        heard = [await anext(events), await anext(events)]
        [one] = phone.visitor.browsers.all()
        phone.visitor.browsers.revoke(one.id)
        propose(phone.visitor.home, ("update_task_estimate", {"minutes": 90}))
        return heard + [event async for event in events]

    heard = anyio.run(listen)
    assert heard[0].startswith("retry:")
    assert "data: changed" in heard[1]
    assert heard[2:] == ["event: ended\ndata: not-let-in\n\n"]


def test_web_66_with_damaged_files_no_browser_is_let_in(phone: Phone, tmp_path: Path) -> None:
    phone.let_in()
    home = phone.visitor.home.path
    [file] = (home / "browsers").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"{")
    assert phone.client.get("/inbox").status_code == 401
    (home / "web-admission.json").write_bytes(b"\xff")
    assert phone.enter("2222-2222-2222") == 403


def test_web_720_a_browser_of_the_network_neither_sets_nor_sees_the_command_that_is_run(phone: Phone) -> None:
    """WEB-720, WEB-721, WEB-64"""
    phone.let_in()
    config = phone.visitor.home.path / "config.toml"
    for name, value in (("on-pending.command", "rm -r /"), ("on-pending.after", "5"), ("on-pending.device", "phone")):
        status, text = phone.post("/settings", name=name, value=value)
        assert (status, text.partition(":")[0]) == (403, "only-here")
    assert not config.exists()
    assert "is set" not in phone.client.get("/settings").text
    config.write_text('on-pending.command = ["curl", "-H", "Authorization: top secret"]\n')
    page = phone.client.get("/settings").text
    assert "secret" not in page
    assert 'id="value-on-pending.command" name="value" type="text" value="is set"' in page
    assert "top secret" in phone.visitor.get("/settings")
