"""Each attack on the pages over HTTP, refused by name (docs/specs/18-web.md, section 3)."""

import re
import stat
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.support.proposals import propose
from tests.web.visitor import ITEM, PORT, TASK, Visitor

from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.web import gate
from lottisync.web.access import MAX_SESSIONS, SESSION_MILLIS, Access, read_door
from lottisync.web.application import application


def refused(visitor: Visitor, code: str, **changes: str | None) -> None:
    """A write like that of our own form, but for `changes` of its headers (None: left out), is refused as `code`."""
    headers = {**visitor.own, **{name.replace("_", "-"): value for name, value in changes.items() if value is not None}}
    for name in [name.replace("_", "-") for name, value in changes.items() if value is None]:
        headers.pop(name, None)
    data = {"form-token": visitor.form_token, "verb": "title", "value": "Taken over"}
    answer = visitor.client.post(f"/tasks/{TASK}", data=data, headers=headers)
    assert answer.text.startswith(f"{code}: "), answer.text
    assert answer.status_code == gate.REFUSALS[code][0]
    assert visitor.task.title != "Taken over"


@pytest.mark.parametrize("host", ["127.0.0.1:22080", "localhost:22080", "evil.example", "evil.example:22080"])
def test_web_1_a_name_that_was_rebound_to_this_machine_is_refused(visitor: Visitor, host: str) -> None:
    """DNS rebinding: the page of a stranger asks for its own name, which leads here by now."""
    refused(visitor, "other-host", host=host)
    answer = visitor.client.get("/inbox", headers={"host": host})
    assert answer.text.startswith("other-host: ")
    assert visitor.client.get("/enter", headers={"host": host}).text.startswith("other-host: ")


def test_web_1_another_port_of_our_name_is_refused(visitor: Visitor) -> None:
    refused(visitor, "other-host", host=f"{visitor.access.door.host}:1")
    refused(visitor, "other-host", host=visitor.access.door.host)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:22080", "", None])
def test_web_2_a_form_of_another_page_is_refused(visitor: Visitor, origin: str | None) -> None:
    refused(visitor, "other-origin", origin=origin)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_web_2_a_write_that_another_site_began_is_refused(visitor: Visitor, site: str) -> None:
    refused(visitor, "other-origin", sec_fetch_site=site)


def test_web_3_a_form_without_the_sessions_own_token_is_refused(visitor: Visitor) -> None:
    for token in ("", "another", visitor.access.door.token):
        answer = visitor.client.post(
            f"/tasks/{TASK}", data={"form-token": token, "verb": "delete"}, headers=visitor.own
        )
        assert answer.text.startswith("bad-form-token: ")
    assert visitor.task.title


def test_web_3_the_token_of_another_session_is_refused(visitor: Visitor) -> None:
    first = visitor.form_token
    visitor.enter()
    answer = visitor.client.post(f"/tasks/{TASK}", data={"form-token": first, "verb": "delete"}, headers=visitor.own)
    assert answer.text.startswith("bad-form-token: ")


def test_web_4_a_browser_that_was_not_let_in_gets_nothing(visitor: Visitor) -> None:
    """Another user of this machine reaches the port, but not a file of the home."""
    with visitor.stranger() as stranger:
        for path in (
            "/",
            "/inbox",
            "/tasks",
            f"/tasks/{TASK}",
            "/conflicts",
            "/devices",
            "/activity",
            "/live",
            "/nowhere",
        ):
            answer = stranger.get(path)
            assert answer.status_code == 401
            assert answer.text.startswith("not-let-in: ")
        answer = stranger.post(f"/tasks/{TASK}", data={"verb": "delete"}, headers=visitor.own)
        assert answer.text.startswith("not-let-in: ")
        assert "boiler" not in stranger.get("/enter").text
    assert visitor.task.title


HTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
"""What a browser accepts that asks for a page."""


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "This browser is not let in, or no longer. Open the pages with: lottisync open"),
        ("de", "Dieser Browser ist nicht oder nicht mehr zugelassen. Öffne die Seiten mit: lottisync open"),
    ],
)
def test_web_1500_a_browser_that_is_not_let_in_gets_a_page_in_its_language(
    visitor: Visitor, language: str, said: str
) -> None:
    """WEB-1500, WEB-15000, WEB-15001, WEB-15002: it was one line of plain text. The page has nothing of the home, and
    no form."""
    with visitor.stranger() as stranger:
        for path in ("/inbox", f"/tasks/{TASK}", "/nowhere"):
            answer = stranger.get(path, headers={"accept": HTML, "accept-language": language})
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert f'<html lang="{language}">' in answer.text
            assert f"<p>{said}</p>" in answer.text
            assert "not-let-in" in answer.text
            assert not any(part in answer.text for part in ("<script", "<form", "laptop", "boiler"))
            assert {name: answer.headers[name] for name in gate.HEADERS} == gate.HEADERS
            assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", "application/json"])
def test_web_15003_what_asks_for_no_page_gets_the_sentence(visitor: Visitor, accept: str) -> None:
    with visitor.stranger() as stranger:
        answer = stranger.get("/inbox", headers={"accept": accept})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    said = "This browser is not let in, or no longer. Open the pages with: lottisync open"
    assert answer.text == f"not-let-in: {said}\n"


def test_web_5_a_token_opens_once(visitor: Visitor) -> None:
    token = visitor.access.door.token
    with visitor.stranger() as stranger:
        assert stranger.post("/enter", data={"token": token}, headers=visitor.own).status_code == 303
    with visitor.stranger() as stranger:
        answer = stranger.post("/enter", data={"token": token}, headers=visitor.own)
        assert answer.status_code == 403
        assert stranger.get("/inbox").status_code == 401


def test_web_5_a_look_at_the_door_does_not_use_the_token_up(visitor: Visitor) -> None:
    door = visitor.access.door
    with visitor.stranger() as stranger:
        assert stranger.get("/enter", params={"token": door.token}).status_code == 200
    assert visitor.access.door == door


def test_web_5_a_wrong_token_is_refused_and_the_right_one_stays(visitor: Visitor) -> None:
    door = visitor.access.door
    with visitor.stranger() as stranger:
        for token in ("", "x", door.token[:-1], "\N{SNOWMAN}"):
            assert stranger.post("/enter", data={"token": token}, headers=visitor.own).status_code == 403
    assert visitor.access.door == door


def test_web_6_the_tokens_file_is_its_owners_alone(visitor: Visitor) -> None:
    path = visitor.home.path / "web.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_door(visitor.home.path) == visitor.access.door


def test_web_6_the_host_name_stays_and_the_token_does_not(visitor: Visitor, tmp_path: Path) -> None:
    old = visitor.access.door
    again = Access(visitor.home.path, 1234, visitor.now, lambda: "another-secret-of-the-next-daemon").door
    assert again.host == old.host
    assert again.token != old.token
    (tmp_path / "other").mkdir()
    other = Access(tmp_path / "other", 1234, visitor.now, lambda: "b" * 64).door
    assert other.host == "b" * 20 + ".localhost"


def test_web_7_the_cookie_is_not_a_scripts_and_not_another_sites(visitor: Visitor) -> None:
    with visitor.stranger() as stranger:
        answer = stranger.post("/enter", data={"token": visitor.access.door.token}, headers=visitor.own)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "domain=" not in cookie


def test_web_70_a_session_ends_with_the_daemon(visitor: Visitor) -> None:
    """WEB-70: the next one has the same host name and the same port, and knows no cookie of the one before."""
    cookie = visitor.client.cookies["lottisync"]
    old = visitor.access
    visitor.access = Access(visitor.home.path, PORT, visitor.now, lambda: "another-secret-of-the-next-daemon")
    visitor.app = application(visitor.site, visitor.access)
    visitor.client = visitor.stranger()
    assert visitor.access.hosts == old.hosts
    assert "not-let-in" in visitor.client.get("/inbox", headers={"cookie": f"lottisync={cookie}"}).text
    visitor.enter()
    visitor.get("/inbox")


def test_web_71_a_session_ends_when_it_is_not_used(visitor: Visitor) -> None:
    assert SESSION_MILLIS == 12 * 3_600_000
    start = visitor.now()
    visitor.now = lambda: start + SESSION_MILLIS - 60_000
    visitor.get("/inbox")
    visitor.now = lambda: start + 2 * SESSION_MILLIS - 120_000
    visitor.get("/inbox")
    visitor.now = lambda: start + 3 * SESSION_MILLIS
    assert "not-let-in" in visitor.get("/inbox", 401)


def test_web_72_a_session_ends_when_its_browser_leaves(visitor: Visitor) -> None:
    cookie = visitor.client.cookies["lottisync"]
    visitor.post("/leave", 200)
    assert "not-let-in" in visitor.get("/inbox", 401)
    assert "not-let-in" in visitor.client.get("/inbox", headers={"cookie": f"lottisync={cookie}"}).text


def test_web_73_the_session_used_longest_ago_makes_room(visitor: Visitor) -> None:
    clients, start = [visitor.client], visitor.now()
    for number in range(MAX_SESSIONS):
        visitor.now = lambda number=number: start + 1 + number  # type: ignore[misc]
        visitor.client = visitor.stranger()
        clients.append(visitor.client)
        visitor.enter()
    assert [client.get("/inbox").status_code for client in clients] == [401, *[200] * MAX_SESSIONS]


def test_web_8_nothing_happens_on_get(visitor: Visitor) -> None:
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    [(item, shown)] = visitor.rows(visitor.get("/inbox"))
    before = [store_digest(visitor, name) for name in ("journal", "agent", "space")]
    form = {"item": item, "shown": shown, "verdict": "confirm", "form-token": visitor.form_token}
    for path in ("/decide", "/decide-all", "/leave"):
        assert visitor.client.get(path, params=form).status_code == 405
    for path in (f"/tasks/{TASK}", "/tasks", "/inbox", "/conflicts", "/devices", "/activity"):
        visitor.client.get(path, params={**form, "verb": "delete", "title": "More", "edit": "due"})
        visitor.client.head(path)
    assert [store_digest(visitor, name) for name in ("journal", "agent", "space")] == before
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert visitor.client.request(method, f"/tasks/{TASK}").text.startswith("bad-method: ")


def store_digest(visitor: Visitor, name: str) -> bytes:
    with visitor.home.store(name).reading() as reader:
        return reader.digest()


@pytest.mark.parametrize("path", ["/inbox", "/enter", "/static/app.js", "/nowhere"])
def test_web_9_every_answer_says_what_a_browser_may_do_with_it(visitor: Visitor, path: str) -> None:
    headers = visitor.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control-")]
    assert headers["cache-control"] in ("no-store", "no-cache")


def test_web_9_a_page_has_neither_style_nor_script_of_its_own(visitor: Visitor) -> None:
    page = visitor.get(f"/tasks/{TASK}")
    assert "style=" not in page
    assert " on" + "click" not in page
    assert page.count("<script") == 1
    assert "://" not in page.replace("http://www.w3.org", "")


def test_web_10_text_of_another_device_or_a_model_is_only_text(visitor: Visitor) -> None:
    bad = '<script>alert(1)</script>"><img src=x onerror=alert(2)>{{ 7*7 }}'
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": bad + "\u202eevil"})
        tasks.rename_item(tx, ITEM, bad)
        tasks.add_note(tx, "n2", TASK, bad)
    propose(
        visitor.home,
        ("add_multiple_checklist_items", {"items": [{"title": f"Also {bad}"}]}),
        ("update_task_estimate", {"minutes": 90}),
    )
    for path in ("/inbox", "/tasks", f"/tasks/{TASK}", "/activity"):
        page = visitor.get(path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "49" not in page.partition("<h1")[2].partition("</h1>")[0]
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", page)  # a field holds what is stored
        assert "&lt;script&gt;alert(1)" in page


def test_web_11_a_form_that_is_too_large_is_refused(visitor: Visitor) -> None:
    data = {"form-token": visitor.form_token, "verb": "note", "value": "x" * gate.MOST_BYTES}
    answer = visitor.client.post(f"/tasks/{TASK}", data=data, headers=visitor.own)
    assert answer.text.startswith("too-large: ")


@pytest.mark.parametrize("body", [b"\xff\xfe", "é".encode(), b"a=%ff%fe", b"&".join([b"a=1"] * (gate.MAX_FIELDS + 1))])
def test_web_11_a_form_that_cannot_be_read_is_refused(visitor: Visitor, body: bytes) -> None:
    headers = {**visitor.own, "content-type": "application/x-www-form-urlencoded"}
    assert visitor.client.post("/tasks", content=body, headers=headers).text.startswith("bad-form: ")


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "multipart/form-data; boundary=x", ""])
def test_web_11_only_a_plain_form_is_taken(visitor: Visitor, kind: str) -> None:
    headers = {**visitor.own, "content-type": kind}
    assert visitor.client.post("/tasks", content=b"a=1", headers=headers).text.startswith("bad-form: ")


def test_web_12_no_file_of_the_disk_is_served(visitor: Visitor) -> None:
    for path in ("/static/../access.py", "/static/..%2faccess.py", "/static/%2e%2e/web.json", "/static/", "/web.json"):
        assert visitor.client.get(path).status_code in (404, 307)
    assert visitor.client.get("/static/app.css").headers["content-type"].startswith("text/css")


def test_web_13_a_browser_that_left_hears_nothing_more(visitor: Visitor) -> None:
    with TestClient(visitor.app, base_url=visitor.access.door.origin) as stranger:
        assert stranger.get("/live").status_code == 401


@pytest.mark.parametrize(("name", "most"), [("app.css", 20_000), ("app.js", 10_000)])
def test_web_612_style_and_script_keep_their_budget(visitor: Visitor, name: str, most: int) -> None:
    """WEB-612: before compression."""
    assert len(visitor.client.get(f"/static/{name}").content) <= most


@pytest.mark.parametrize(("path", "status"), [("/no-such-page", 404), ("/decide", 405), ("/tasks/t1/more", 404)])
def test_web_966_an_address_without_a_page_is_answered_by_one(visitor: Visitor, path: str, status: int) -> None:
    """WEB-966: `/decide` is what a browser without a script shows after a refused form. A stranger learns nothing."""
    page = visitor.get(path, status)
    assert "There is no page at this address." in page
    assert 'href="/tasks"' in page
    assert visitor.stranger().get(path).status_code == 401
    assert visitor.stranger().get("/static/no/such").text == ""


@pytest.mark.parametrize("where", ["header", "address"])
def test_web_967_a_large_head_is_refused(visitor: Visitor, where: str) -> None:
    long = "x" * gate.MAX_HEADER_BYTES
    if where == "header":
        answer = visitor.client.get("/tasks", headers={"x-large": long})
    else:
        answer = visitor.client.get("/tasks", params={"q": long})
    assert answer.status_code == 431
    assert answer.text.startswith("large-head: ")
