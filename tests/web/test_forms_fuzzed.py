"""Forms with arbitrary fields: each is answered, with a page or a refusal by name, and breaks nothing."""

from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.web.visitor import AGENT, ITEM, TASK, Visitor

from lottisync.web import task_verbs

PATHS = (
    "/decide",
    "/decide-all",
    "/tasks",
    f"/tasks/{TASK}",
    "/tasks/nothing",
    "/agents/laura",
    "/tasks/t3",
    "/conflicts",
    "/browsers",
    "/devices",
    "/pair",
    "/settings",
    "/undo",
    "/enter",
)
NAMES = (
    "item", "shown", "verdict", "verb", "value", "reason", "seen", "back", "since", "title", "minutes", "store",
    "entity", "path", "keep", "browser", "arg-minutes", "arg-title", "arg-dueDate", "card", "anchor",
    "every", "steps", "relation", "other", "name", "device", "act", "page", "open", "token", "keep", "number",
    "code", "at", "checklist", "begin", "end", "model",
)  # fmt: skip
VERBS = (
    *task_verbs.VERBS, "create-agent",
    "confirm", "confirm-anyway", "edit", "reject", "defer", "undo", "keep", "wake", "pause",
    "let-in", "revoke", "resume", "move", "attended",
    "rename", "retire", "off", "on", "never", "set", "destroy",
    "show", "stop", "type", "invite", "take-back",
)  # fmt: skip
LIKELY = (
    "2025-12-01T10:00",
    "9999-12-31T23:59",
    "week",
    "999",
    "0001-01-01T00:00",
    "language",
    "xx",
    TASK,
    ITEM,
    "journal",
    "agent",
    "space",
    "90",
    "-1",
    "9" * 30,
    "2026-11-27",
    "0",
    "title",
    "../x",
    "a b",
    "123-456-78",
    "127.0.0.1:1",
)


@given(
    path=st.sampled_from(PATHS),
    verb=st.sampled_from(VERBS),
    fields=st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(LIKELY) | st.text(max_size=40)),
        max_size=6,
    ),
    item=st.integers(0, 9),
)
@examples(60)
def test_web_15_a_form_of_arbitrary_fields_is_answered_and_breaks_nothing(
    fuzzed: Visitor, path: str, verb: str, fields: list[tuple[str, str]], item: int
) -> None:
    rows = fuzzed.rows(fuzzed.get("/inbox"))
    there = [("item", rows[item % len(rows)][0]), ("shown", rows[item % len(rows)][1])] if rows and item < 5 else []
    pairs = [("form-token", fuzzed.form_token), ("verb", verb), ("verdict", verb), *there, *fields]
    body = urlencode([(name, value.encode("utf-8", "surrogatepass")) for name, value in pairs])
    headers = {**fuzzed.own, "content-type": "application/x-www-form-urlencoded"}
    answer = fuzzed.client.post(path, content=body, headers=headers)
    refused = (403,) if path == "/enter" else ()
    assert answer.status_code in (200, 303, 400, 404, 409, *refused), (answer.status_code, answer.text[:500])
    if answer.status_code == 303:
        where = answer.headers["location"]
        assert where.startswith("/")
        assert not where.startswith("//")
        assert fuzzed.client.get(where.partition("#")[0]).status_code in (200, 404)


def routes(visitor: Visitor) -> set[str]:
    """Where forms are taken, as the application has them, with what fits for what is variable in them."""
    app = visitor.app._app._app  # type: ignore[attr-defined]
    taken = [route.path for route in app.routes if "POST" in route.methods]
    return {path.replace("{task}", TASK).replace("{agent}", AGENT) for path in taken}


def test_web_15_each_place_that_takes_a_form_is_among_the_fuzzed(fuzzed: Visitor) -> None:
    assert routes(fuzzed) - set(PATHS) == {"/leave"}  # that ends the session of all that come after it


def test_web_2_each_place_that_takes_a_form_is_behind_the_gate(fuzzed: Visitor) -> None:
    """WEB-2, WEB-3, WEB-4: another origin, no session, no form token."""
    form = {"verb": "show", "item": ITEM}
    other = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    with fuzzed.stranger() as stranger:
        for path in routes(fuzzed):
            assert fuzzed.client.post(path, data=form, headers=other).text.startswith("other-origin: "), path
            if path != "/enter":
                assert fuzzed.client.post(path, data=form, headers=fuzzed.own).text.startswith("bad-form-token: ")
                assert stranger.post(path, data=form, headers=fuzzed.own).text.startswith("not-let-in: "), path
