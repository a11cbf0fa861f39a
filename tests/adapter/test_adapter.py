"""The adapter's pure operations, as the contract has them (C-18)."""

import io
import json
import subprocess
import sys
from typing import Any

import pytest

from lottisync.adapter.adapter import answer, serve

H1, H2 = "00000000000000a1", "00000000000000b2"


def ask(op: str, **fields: Any) -> dict[str, Any]:
    return answer(json.dumps({"id": 7, "op": op, **fields}).encode())


def entity(clock: dict[str, int], registers: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {"id": "t1", "type": "task", "clock": clock, "registers": registers}


def held(value: Any, host: str, counter: int, *, precedence: int = 1, millis: int = 1000) -> dict[str, Any]:
    return {"value": value, "precedence": precedence, "hlc": [millis, 0], "host": host, "counter": counter}


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        ({}, {}, "equal"),
        ({"x": 1}, {"x": 1, "y": 0}, "equal"),
        ({"x": 1}, {"x": 2}, "before"),
        ({"x": 3, "y": 1}, {"x": 1, "y": 1}, "after"),
        ({"x": 1}, {"y": 1}, "concurrent"),
    ],
)
def test_clock_compare(a: dict[str, int], b: dict[str, int], order: str) -> None:
    assert ask("clock.compare", a=a, b=b) == {"id": 7, "ok": order}


def test_clock_merge_takes_the_maximum_per_host() -> None:
    assert ask("clock.merge", a={"x": 1, "y": 4}, b={"x": 3})["ok"] == {"x": 3, "y": 4}


def test_a_negative_counter_is_an_error_and_not_an_exit() -> None:
    assert ask("clock.compare", a={"x": -1}, b={})["error"]["code"] == "bad-clock"


def test_hlc_ticks_and_observes() -> None:
    assert ask("hlc.tick", hlc=[1000, 3], now=900)["ok"] == [1000, 4]
    assert ask("hlc.tick", hlc=[1000, 3], now=1001)["ok"] == [1001, 0]
    assert ask("hlc.observe", hlc=[1000, 3], remote=[1500, 1], now=1200)["ok"] == [1500, 1]


def test_hlc_does_not_follow_a_far_future() -> None:
    assert ask("hlc.observe", hlc=[1000, 3], remote=[10**12, 0], now=1200)["ok"] == [1000, 3]


def test_join_keeps_both_of_two_concurrent_writes_and_the_user_wins() -> None:
    a = entity({H1: 1}, {"title": [held("agent's", H1, 1, precedence=0, millis=9000)]})
    b = entity({H2: 1}, {"title": [held("mine", H2, 1)]})
    joined = ask("entity.join", a=a, b=b)["ok"]
    assert joined["clock"] == {H1: 1, H2: 1}
    assert [write["value"] for write in joined["registers"]["title"]] == ["mine", "agent's"]
    assert ask("entity.read", entity=joined)["ok"] == {"fields": {"title": "mine"}, "conflicts": {"title": ["agent's"]}}


def test_one_dot_with_two_meanings_is_a_fork() -> None:
    a = entity({H1: 1}, {"title": [held("one", H1, 1)]})
    b = entity({H1: 1}, {"title": [held("two", H1, 1)]})
    assert ask("entity.join", a=a, b=b)["error"]["code"] == "fork"


def test_a_clean_tombstone_adds_nothing_to_the_digest() -> None:
    gone = {"value": {"at": "2026-01-01T00:00:00.000Z", "seen": {H1: 1}}}
    dead = entity({H1: 2}, {"title": [held("x", H1, 1)], "deletedAt": [held(gone["value"], H1, 2)]})
    assert ask("entity.digest", entity=dead)["ok"] == "0" * 64
    live = entity({H1: 1}, {"title": [held("x", H1, 1)]})
    assert ask("entity.digest", entity=live)["ok"] not in ("0" * 64, "")


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"7",
        b'{"id":1}',
        b'{"id":1,"op":"entity.read"}',
        b'{"id":1,"op":"entity.read","entity":{}}',
        b"\xff",
    ],
)
def test_what_cannot_be_understood_is_an_error_answer(line: bytes) -> None:
    assert "error" in answer(line)


def test_a_number_written_with_a_point_is_the_whole_number_that_it_is() -> None:
    """ENT-32: many languages read 1.0 and 1 as one number, and write either."""
    assert answer(b'{"id":1,"op":"clock.merge","a":{"h":1.0},"b":{}}')["ok"] == {"h": 1}
    assert answer(b'{"id":1,"op":"hlc.tick","hlc":[5.0,0.0],"now":9.0}')["ok"] == [9, 0]
    assert answer(b'{"id":1,"op":"clock.compare","a":{"h":1e0},"b":{"h":1,"i":-0.0}}')["ok"] == "equal"
    assert answer(b'{"id":1,"op":"hlc.tick","hlc":[5.5,0],"now":9}')["error"]["code"] == "bad-request"


def test_an_empty_line_is_answered() -> None:
    """Who asks with one would wait for ever otherwise."""
    answers = io.BytesIO()
    serve(io.BytesIO(b"\n"), answers)
    assert json.loads(answers.getvalue())["error"]["code"] == "bad-json"


def test_the_command_answers_line_by_line_and_ends_with_its_input() -> None:
    lines = b'{"id":1,"op":"clock.compare","a":{},"b":{}}\nnot json\n{"id":2,"op":"clock.merge","a":{"h":1},"b":{}}\n'
    done = subprocess.run(
        [sys.executable, "-m", "lottisync", "conformance-adapter"], input=lines, capture_output=True, check=True
    )
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert first == {"id": 1, "ok": "equal"}
    assert second["error"]["code"] == "bad-json"
    assert third == {"id": 2, "ok": {"h": 1}}
