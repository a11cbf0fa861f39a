"""The Responses dialect, over a real HTTP server that gives written answers."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.support.device import Device

from lottisync.agents.model import (
    AssistantMessage,
    ModelError,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    Turn,
    UserMessage,
)
from lottisync.agents.openai_client import OpenAIModel

pytestmark = pytest.mark.anyio
KEY = "sk-test-0123456789abcdef"
TOOL = ToolSchema("update_task_estimate", "Propose how long.", {"type": "object", "properties": {}})
Event = dict[str, Any]


class Server(ThreadingHTTPServer):
    """Answers each request with the next of `answers`: a list of events, or a status with its headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[list[Event] | tuple[int, dict[str, str]]] = []
        self.requests: list[tuple[str, str, dict[str, Any]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        answer = self.server.answers.pop(0)
        if isinstance(answer, tuple):
            status, headers = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in answer:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def model(server: Server) -> OpenAIModel:
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    return OpenAIModel(url, KEY, "m", api="responses", silence_seconds=5, call_seconds=10)


def said(text: str) -> Event:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"type": "response.output_item.done", "item": item}


def called(name: str, arguments: str, call_id: str | None = "call_1") -> Event:
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return {"type": "response.output_item.done", "item": item}


def ended(**response: Any) -> Event:
    usage = {"input_tokens": 30, "output_tokens": 7, "total_tokens": 37}
    return {"type": "response.completed", "response": {"status": "completed", "usage": usage, "output": [], **response}}


CREATED: Event = {"type": "response.created", "response": {"status": "in_progress", "output": []}}
REASONED: Event = {"type": "response.output_item.done", "item": {"type": "reasoning", "summary": []}}
DELTA: Event = {"type": "response.output_text.delta", "delta": "Hm"}


async def test_words_and_calls(server: Server) -> None:
    """AGENT-38"""
    server.answers = [[CREATED, REASONED, DELTA, said("Hm."), called("f", '{"a": 1}'), called("g", "{", None), ended()]]
    turn = await model(server).complete([UserMessage("x")], [TOOL])
    assert turn == Turn(
        "Hm.", (ToolCall("call_1", "f", '{"a": 1}'), ToolCall("call-1-1", "g", "{")), "tool_calls", TokenUsage(30, 7)
    )


async def test_what_is_sent(server: Server) -> None:
    """AGENT-38: the whole conversation, and nothing that the server is to remember."""
    server.answers = [[said("Fine."), ended()]]
    await model(server).complete(
        [
            SystemMessage("You mind a task."),
            UserMessage("Boiler?"),
            AssistantMessage("Let me see.", (ToolCall("c1", "f", '{"a": 1}'), ToolCall("c2", "g", "{broken"))),
            ToolMessage("c1", "Queued."),
            ToolMessage("c2", "No."),
        ],
        [TOOL],
    )
    [(path, authorization, body)] = server.requests
    assert (path, authorization) == ("/v1/responses", f"Bearer {KEY}")
    assert (body["model"], body["stream"], body["store"]) == ("m", True, False)
    assert "previous_response_id" not in body
    assert body["input"] == [
        {"role": "system", "content": "You mind a task."},
        {"role": "user", "content": "Boiler?"},
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Queued."},
        {"type": "function_call_output", "call_id": "c2", "output": "No."},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "name": "update_task_estimate",
            "description": "Propose how long.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


async def test_items_that_come_with_the_end_only(server: Server) -> None:
    server.answers = [[CREATED, ended(output=[called("f", "{}")["item"], said("So.")["item"]], usage=None)]]
    turn = await model(server).complete([UserMessage("x")], [])
    assert turn == Turn("So.", (ToolCall("call_1", "f", "{}"),), "tool_calls", None)
    assert "tools" not in server.requests[0][2]


INCOMPLETE: Event = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}
FILTERED: Event = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}
FAILED: Event = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": f"oh {KEY}"}}}
ERROR: Event = {"type": "error", "code": "x", "message": "no more"}
REFUSAL: Event = {
    "type": "response.output_item.done",
    "item": {"type": "message", "content": [{"type": "refusal", "refusal": "I will not"}]},
}


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([CREATED, said("Half"), called("f", "{}")], "model-truncated"),
        ([], "model-truncated"),
        ([said("Half"), INCOMPLETE], "model-output-limit"),
        ([FILTERED], "model-refused"),
        ([REFUSAL, ended()], "model-refused"),
        ([said("Half"), FAILED], "model-server-error"),
        ([ERROR], "model-server-error"),
        ([{"type": "response.output_item.done", "item": "no item"}], "model-malformed"),
        ([{"type": "response.completed"}], "model-truncated"),
    ],
)
async def test_an_answer_that_is_not_whole_does_not_count(server: Server, events: list[Event], code: str) -> None:
    """AGENT-38"""
    server.answers = [events]
    with pytest.raises(ModelError) as caught:
        await model(server).complete([UserMessage("x")], [])
    assert caught.value.code == code
    assert KEY not in caught.value.message


async def test_it_waits_as_long_as_the_server_asks(server: Server) -> None:
    server.answers = [(429, {"Retry-After": "0"}), (500, {}), [said("At last."), ended()]]
    assert (await model(server).complete([UserMessage("x")], [])).text == "At last."
    assert len(server.requests) == 3


def test_a_wake_over_this_dialect(server: Server, laptop: Device) -> None:
    """AGENT-36, AGENT-38"""
    laptop.add_task()
    ident = laptop.add_agent()
    server.answers = [[called("update_task_estimate", '{"minutes": 90}'), ended()], [said("Done."), ended()]]
    result = laptop.wake(ident, model(server))
    assert (len(result.change_set_ids), result.turns, result.usage) == (1, 2, TokenUsage(60, 14))
    answers = [item for item in server.requests[1][2]["input"] if item.get("type") == "function_call_output"]
    assert answers == [
        {"type": "function_call_output", "call_id": "call_1", "output": "Proposal queued for user review."}
    ]
