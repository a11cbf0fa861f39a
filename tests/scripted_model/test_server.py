"""The scripted server as a client sees it that knows only HTTP: the wire format, the faults, what it keeps."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lottisync.scripted_model.script import (
    ChatRequest,
    Dropped,
    RateLimited,
    RawArguments,
    Reply,
    Say,
    ServerError,
    Truncated,
)
from lottisync.scripted_model.server import ScriptedModelServer

USER = {"role": "user", "content": "Look at item 7f3a."}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@contextmanager
def send(url: str, path: str, body: bytes | None, key: str = "none") -> Iterator[HTTPResponse]:
    """One request on a connection of its own; the response's body is still to be read."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(HTTPConnection(parts.hostname, parts.port, timeout=60)) as connection:
        connection.request("GET" if body is None else "POST", f"{parts.path}{path}", body, headers)
        with connection.getresponse() as response:
            yield response


def ask(url: str, *messages: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any]]:
    with send(url, "/chat/completions", json.dumps({"model": "m", "messages": messages, **more}).encode()) as response:
        return response.status, json.loads(response.read())


def stream(url: str, *messages: dict[str, Any], **more: Any) -> list[str]:
    """The data of every event of a streamed answer."""
    body = json.dumps({"model": "m", "messages": messages, "stream": True, **more}).encode()
    with send(url, "/chat/completions", body) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        lines = response.read().decode().split("\n\n")
    assert lines.pop() == ""
    assert all(line.startswith("data: ") for line in lines)
    return [line.removeprefix("data: ") for line in lines]


def hello(request: ChatRequest) -> Reply:
    return Say("Hello to you.", [("f", {"item": "7f3a", "note": "größer"})])


def test_a_whole_answer() -> None:
    with ScriptedModelServer(hello) as server:
        status, answer = ask(server.url, USER)
    assert status == 200
    assert (answer["object"], answer["model"]) == ("chat.completion", "m")
    [choice] = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Hello to you."
    [call] = choice["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "f")
    assert json.loads(call["function"]["arguments"]) == {"item": "7f3a", "note": "größer"}
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


def test_a_streamed_answer_comes_in_pieces_and_counts_tokens_when_asked() -> None:
    with ScriptedModelServer(hello) as server:
        *events, done = stream(server.url, USER, stream_options={"include_usage": True})
    chunks = [json.loads(event) for event in events]
    assert done == "[DONE]"
    assert {(chunk["id"], chunk["object"]) for chunk in chunks} == {("chatcmpl-1", "chat.completion.chunk")}

    *spoken, count = chunks
    assert (count["choices"], count["usage"]["completion_tokens"] > 0) == ([], True)
    assert all(chunk["usage"] is None for chunk in spoken)
    choices = [chunk["choices"][0] for chunk in spoken]
    assert choices[0]["delta"]["role"] == "assistant"
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["tool_calls"]

    words = [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")]
    assert words == ["Hello ", "to ", "you."]
    pieces = [piece for choice in choices for piece in choice["delta"].get("tool_calls", [])]
    assert [piece.get("id") for piece in pieces[:2]] == ["call_1_0", None]
    assert len(pieces) > 3
    arguments = "".join(piece["function"]["arguments"] for piece in pieces)
    assert json.loads(arguments) == {"item": "7f3a", "note": "größer"}


def test_a_stream_that_was_not_asked_to_count_has_no_usage() -> None:
    with ScriptedModelServer(hello) as server:
        assert not any("usage" in event for event in stream(server.url, USER))


def test_the_script_sees_the_conversation_and_can_answer_from_it() -> None:
    def script(request: ChatRequest) -> Reply:
        if request.turn == 1:
            assert request.tool_results == []
            return Say(tool_calls=[(request.tools[0], {"item": request.texts("user")[0].split()[-1]})])
        return Say(f"{request.turn}: {request.tool_results} {request.texts('assistant')}")

    with ScriptedModelServer(script) as server:
        _, first = ask(server.url, USER, tools=[TOOL])
        said = first["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "Queued."}
        _, second = ask(server.url, USER, said, result, tools=[TOOL])
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"item": "7f3a."}
    assert second["choices"][0]["message"]["content"] == "2: ['Queued.'] ['']"


def test_text_in_parts_is_text() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    with ScriptedModelServer(lambda request: Say(request.texts("user")[0])) as server:
        _, answer = ask(server.url, {"role": "user", "content": parts})
    assert answer["choices"][0]["message"]["content"] == "one two"


def test_every_request_is_kept_and_recorded(tmp_path: Path) -> None:
    record = tmp_path / "sent.jsonl"
    record.write_text('{"from": "an earlier run"}\n')
    with ScriptedModelServer(hello, record_to=record) as server:
        ask(server.url, USER)
        stream(server.url, USER)
        lines = record.read_text().splitlines()
    assert [json.loads(line) for line in lines[1:]] == server.requests
    assert [request.get("stream") for request in server.requests] == [None, True]
    assert server.requests[0] == {"model": "m", "messages": [USER]}


def test_faults() -> None:
    replies: list[Reply] = [Truncated(Say("a b c"), 2), Dropped(Say("a b c"), 2), RawArguments("f", "{oops")]
    with ScriptedModelServer(lambda request: replies[request.number - 1]) as server:
        truncated = [json.loads(event) for event in stream(server.url, USER)]
        assert [chunk["choices"][0]["finish_reason"] for chunk in truncated] == [None, None]
        with pytest.raises(http.client.IncompleteRead):
            stream(server.url, USER)
        _, raw = ask(server.url, USER)
        assert raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == "{oops"


def test_errors_have_openais_shape() -> None:
    replies: list[Reply] = [RateLimited(0.05), ServerError(503, "overloaded")]
    with ScriptedModelServer(lambda request: replies[request.number - 1], require_key="right") as server:
        body = json.dumps({"model": "m", "messages": [USER]}).encode()
        with send(server.url, "/chat/completions", body, "wrong") as response:
            assert (response.status, json.loads(response.read())["error"]["code"]) == (401, None)
        with send(server.url, "/chat/completions", body, "right") as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "0.05")
            error = json.loads(response.read())["error"]
            assert (sorted(error), error["code"]) == (["code", "message", "param", "type"], "rate_limit_exceeded")
        with send(server.url, "/chat/completions", body, "right") as response:
            assert (response.status, json.loads(response.read())["error"]["message"]) == (503, "overloaded")


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"messages": [USER]}, "model"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": [{"role": "wizard", "content": ""}]}, "wizard"),
        ({"model": "m", "messages": [{"role": "user"}]}, "content"),
        ({"model": "m", "messages": [USER], "tools": []}, "tools"),
        ({"model": "m", "messages": [USER, RESULT]}, "must be a response to"),
        ({"model": "m", "messages": [USER, {"role": "assistant", "tool_calls": [CALL]}]}, "have no response"),
        ({"model": "m", "messages": [USER, {"role": "assistant", "tool_calls": [CALL]}, USER]}, "have no response"),
        ({"model": "m", "messages": [{"role": "assistant", "tool_calls": [CALL]}, RESULT, RESULT]}, "must be a"),
    ],
)
def test_it_rejects_what_openai_rejects(body: dict[str, Any], complaint: str) -> None:
    with ScriptedModelServer(hello) as server:
        with send(server.url, "/chat/completions", json.dumps(body).encode()) as response:
            assert response.status == 400
            assert complaint in json.loads(response.read())["error"]["message"]
        assert server.requests == []


def test_models_and_unknown_paths() -> None:
    with ScriptedModelServer(hello) as server:
        with send(server.url, "/models", None) as response:
            assert [model["id"] for model in json.loads(response.read())["data"]] == ["scripted"]
        with send(server.url, "/chat", b"{}") as response:
            assert response.status == 404
        with send(server.url, "/chat/completions", b"{") as response:
            assert response.status == 400


def test_what_a_script_raises_is_answered_and_raised_again() -> None:
    def script(request: ChatRequest) -> Reply:
        raise LookupError("no such turn")

    server = ScriptedModelServer(script).__enter__()
    status, answer = ask(server.url, USER)
    assert (status, "no such turn" in answer["error"]["message"]) == (500, True)
    with pytest.raises(LookupError, match="no such turn"):
        server.__exit__(None, None, None)


def test_closing_does_not_wait_for_idle_clients() -> None:
    with ScriptedModelServer(hello) as server:
        parts = urlsplit(server.url)
        assert parts.hostname is not None
        idle = HTTPConnection(parts.hostname, parts.port, timeout=60)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
        assert not server.wait_until_idle(0)
    idle.close()
    assert server.wait_until_idle(0)


def test_it_runs_as_a_program_until_a_signal(tmp_path: Path) -> None:
    record = tmp_path / "sent.jsonl"
    command = [sys.executable, "-m", "lottisync.scripted_model.server", "--script", "a_script:one_line"]
    (tmp_path / "a_script.py").write_text(
        "from lottisync.scripted_model.script import Say\n\ndef one_line(request):\n    return Say('Served.')\n"
    )
    with subprocess.Popen(
        [*command, "--record", str(record)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    ) as program:
        assert program.stdout is not None
        try:
            url = json.loads(program.stdout.readline())["url"]
            _, answer = ask(url, USER)
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 0
    assert answer["choices"][0]["message"]["content"] == "Served."
    assert json.loads(record.read_text()) == {"model": "m", "messages": [USER]}
