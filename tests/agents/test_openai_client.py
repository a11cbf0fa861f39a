"""The client against a real HTTP server that speaks the real format, and breaks it in the ways servers do."""

import os
import socket
import ssl
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from lottisync.agents.model import (
    AssistantMessage,
    Message,
    ModelError,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    Turn,
    UserMessage,
)
from lottisync.agents.openai_client import DEFAULT_MODEL, OPENAI_URL, OpenAIModel, kept_key, model_from_environment
from lottisync.scripted_model.script import (
    ChatRequest,
    Dropped,
    RateLimited,
    RawArguments,
    RawEvents,
    Reply,
    Say,
    ServerError,
    Stall,
    Truncated,
)
from lottisync.scripted_model.server import ScriptedModelServer

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789abcdef"

ESTIMATE = ToolSchema(
    name="update_task_estimate",
    description="Propose how long the task takes.",
    parameters={
        "type": "object",
        "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 1440}},
        "required": ["minutes"],
    },
)

QUESTION: Sequence[Message] = (SystemMessage("You look after one task."), UserMessage("boiler thing??"))


Serve = Callable[..., ScriptedModelServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that give these replies in order; asked for more, they fail the test."""
    servers: list[ScriptedModelServer] = []

    def start(*replies: Reply, require_key: str | None = None) -> ScriptedModelServer:
        def script(request: ChatRequest) -> Reply:
            return replies[request.number - 1]

        server = ScriptedModelServer(script, require_key=require_key)
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def model_at(server: ScriptedModelServer, key: str | None = KEY, **limits: float) -> OpenAIModel:
    return OpenAIModel(
        server.url,
        key,
        "scripted",
        silence_seconds=limits.get("silence_seconds", 5),
        call_seconds=limits.get("call_seconds", 10),
        max_retries=int(limits.get("max_retries", 0)),
    )


async def failure(model: OpenAIModel) -> ModelError:
    """The error that `complete` raises, having checked what holds for all of them."""
    with pytest.raises(ModelError) as caught:
        await model.complete(QUESTION, [ESTIMATE])
    error = caught.value
    assert "\n" not in error.message
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(model)
    assert KEY not in shown
    assert (error.__cause__, error.__context__) == (None, None), "a chained exception holds the request and its key"
    return error


async def test_text_and_tool_calls_arrive_whole(serve: Serve) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("update_task_estimate", {"minutes": 90}),
        ("set_task_title", {"title": "Chaudière : révision — “annuelle” 🔧"}),
        ("add_multiple_checklist_items", {"items": [{"title": "Bleed the radiator"}, {"title": "Find the log book"}]}),
    ]
    server = serve(Say("Three things, all from your notes.", calls))

    turn = await model_at(server).complete(QUESTION, [ESTIMATE])

    assert turn.text == "Three things, all from your notes."
    assert [call.name for call in turn.tool_calls] == [name for name, _ in calls]
    assert [call.arguments for call in turn.tool_calls] == [
        '{"minutes": 90}',
        '{"title": "Chaudière : révision — “annuelle” 🔧"}',
        '{"items": [{"title": "Bleed the radiator"}, {"title": "Find the log book"}]}',
    ]
    assert len({call.id for call in turn.tool_calls}) == 3
    assert turn.finish_reason == "tool_calls"
    assert turn.usage is not None
    assert turn.usage.prompt_tokens > 0
    assert turn.usage.completion_tokens > 0


async def test_a_server_that_does_not_count_tokens_is_fine(serve: Serve) -> None:
    turn = await model_at(serve(Say("Hello.", counts_tokens=False))).complete(QUESTION, [])
    assert turn == Turn("Hello.", (), "stop", None)


async def test_what_the_server_receives(serve: Serve) -> None:
    server = serve(Say("Done."))
    call = ToolCall("call-1", "update_task_estimate", '{"minutes": 90}')
    broken = ToolCall("call-2", "update_task_estimate", '{"minutes": ')
    conversation = [
        *QUESTION,
        AssistantMessage("", (call, broken)),
        ToolMessage("call-1", "Proposal queued for user review."),
        ToolMessage("call-2", "The arguments are not JSON."),
        AssistantMessage("I proposed an estimate."),
        UserMessage("And now?"),
    ]

    await model_at(server).complete(conversation, [ESTIMATE])

    def wire_call(call_id: str, arguments: str) -> dict[str, object]:
        function = {"name": "update_task_estimate", "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    assert server.requests == [
        {
            "model": "scripted",
            "messages": [
                {"role": "system", "content": "You look after one task."},
                {"role": "user", "content": "boiler thing??"},
                {
                    "role": "assistant",
                    "content": None,
                    # Sent back as it came, the broken one would fail the request on servers that parse it.
                    "tool_calls": [wire_call("call-1", '{"minutes": 90}'), wire_call("call-2", "{}")],
                },
                {"role": "tool", "tool_call_id": "call-1", "content": "Proposal queued for user review."},
                {"role": "tool", "tool_call_id": "call-2", "content": "The arguments are not JSON."},
                {"role": "assistant", "content": "I proposed an estimate."},
                {"role": "user", "content": "And now?"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "update_task_estimate",
                        "description": "Propose how long the task takes.",
                        "parameters": ESTIMATE.parameters,
                    },
                }
            ],
        }
    ]


async def test_arguments_that_are_not_json_are_passed_on_as_they_came(serve: Serve) -> None:
    turn = await model_at(serve(RawArguments("update_task_estimate", '{"minutes": ninety'))).complete(QUESTION, [])
    assert [call.arguments for call in turn.tool_calls] == ['{"minutes": ninety']


def chunk(delta: str, finish_reason: str = "null") -> str:
    return f'{{"choices": [{{"index": 0, "delta": {delta}, "finish_reason": {finish_reason}}}]}}'


ONE_CALL = ToolCall("a", "f", '{"x": 1}')
OTHER_CALL = ToolCall("b", "g", '{"y": 2}')


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        pytest.param(
            [
                '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]}',
                '{"tool_calls": [{"index": 0, "id": "b", "function": {"name": "g", "arguments": "{\\"y\\""}}]}',
                '{"tool_calls": [{"index": 0, "function": {"arguments": ": 2}"}}]}',
            ],
            (ONE_CALL, OTHER_CALL),
            id="index 0 for every call",
        ),
        pytest.param(
            [
                '{"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]}',
                '{"tool_calls": [{"id": "b", "function": {"name": "g", "arguments": "{\\"y\\": 2}"}}]}',
            ],
            (ONE_CALL, OTHER_CALL),
            id="no index",
        ),
        pytest.param(
            [
                '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}, {"index": 1, "id": "b", '
                '"function": {"name": "g"}}]}',
                '{"tool_calls": [{"index": 1, "function": {"arguments": "{\\"y\\": 2}"}}]}',
                '{"tool_calls": [{"index": 0, "function": {"arguments": "{\\"x\\": 1}"}}]}',
            ],
            (ONE_CALL, OTHER_CALL),
            id="two calls interleaved",
        ),
        pytest.param(
            [
                '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\\"x\\""}}]}',
                '{"tool_calls": [{"index": 0, "id": "z", "function": {"name": null, "arguments": ": 1}"}}]}',
            ],
            (ONE_CALL,),
            id="a new id for every piece",
        ),
        pytest.param(
            [
                '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\\"x\\""}}]}',
                '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ": 1}"}}]}',
            ],
            (ONE_CALL,),
            id="id and name repeated",
        ),
        pytest.param(
            ['{"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]}'],
            (ToolCall("call-2-0", "f", '{"x": 1}'),),
            id="no id: one is made from the conversation's length",
        ),
    ],
)
async def test_the_ways_in_which_servers_cut_tool_calls(
    serve: Serve, deltas: list[str], calls: tuple[ToolCall, ...]
) -> None:
    server = serve(RawEvents([*map(chunk, deltas), chunk("null", '"tool_calls"'), "[DONE]"]))
    assert (await model_at(server).complete(QUESTION, [ESTIMATE])).tool_calls == calls


async def test_the_token_count_of_the_last_chunk_is_kept(serve: Serve) -> None:
    count = '{"choices": [], "usage": {"prompt_tokens": 812, "completion_tokens": 47, "total_tokens": 859}}'
    turn = await model_at(serve(RawEvents([chunk("{}", '"stop"'), count, "[DONE]"]))).complete(QUESTION, [])
    assert turn.usage == TokenUsage(prompt_tokens=812, completion_tokens=47)


ANSWER = Say("One proposal.", [("update_task_estimate", {"minutes": 90})])


@pytest.mark.parametrize("events", [0, 1, 2, 5])
async def test_a_stream_without_a_finish_reason_is_not_an_answer(serve: Serve, events: int) -> None:
    # An empty one is sent as events, since a fault that sends no event sends no stream either.
    cut: Reply = Truncated(ANSWER, events) if events else RawEvents([])
    assert (await failure(model_at(serve(cut)))).code == "model-truncated"


async def test_a_connection_that_breaks_in_the_middle_is_not_an_answer(serve: Serve) -> None:
    assert (await failure(model_at(serve(Dropped(ANSWER, 3))))).code == "model-truncated"


async def test_a_connection_that_breaks_after_the_finish_reason_has_lost_nothing(serve: Serve) -> None:
    # "One ", "proposal." and the role; the call and its two pieces; the finish reason.
    turn = await model_at(serve(Dropped(ANSWER, 7))).complete(QUESTION, [ESTIMATE])
    assert turn.text == "One proposal."
    assert [call.arguments for call in turn.tool_calls] == ['{"minutes": 90}']
    assert turn.usage is None


async def test_an_answer_cut_at_the_length_limit_is_not_an_answer(serve: Serve) -> None:
    assert (await failure(model_at(serve(Say("And then", finish_reason="length"))))).code == "model-output-limit"


async def test_a_refusal_is_reported_in_the_models_words(serve: Serve) -> None:
    error = await failure(
        model_at(serve(RawEvents([chunk('{"refusal": "I cannot\\u001b[2J help."}'), chunk("{}", '"stop"')])))
    )
    assert error.code == "model-refused"
    assert error.message.endswith("declined to answer: I cannot [2J help.")


async def test_a_content_filter_is_a_refusal(serve: Serve) -> None:
    assert (await failure(model_at(serve(Say("", finish_reason="content_filter"))))).code == "model-refused"


async def test_a_rate_limit_is_waited_out(serve: Serve) -> None:
    server = serve(RateLimited(0.05), RateLimited(0.05), Say("Now."))
    turn = await model_at(server, max_retries=2).complete(QUESTION, [])
    assert turn.text == "Now."
    assert len(server.requests) == 3


async def test_a_rate_limit_that_stays_is_reported(serve: Serve) -> None:
    server = serve(RateLimited(0.05), RateLimited(0.05))
    error = await failure(model_at(server, max_retries=1))
    assert error.code == "model-rate-limited"
    assert "try again later" in error.message


async def test_an_account_without_credit_has_an_error_of_its_own(serve: Serve) -> None:
    error = await failure(model_at(serve(RateLimited(code="insufficient_quota"))))
    assert (error.code, "billing" in error.message) == ("model-rate-limited", True)


async def test_a_server_that_fails_once_is_asked_again(serve: Serve) -> None:
    server = serve(ServerError(503), Say("Back."))
    assert (await model_at(server, max_retries=1).complete(QUESTION, [])).text == "Back."


@pytest.mark.parametrize(
    ("status", "code"),
    [(500, "model-server-error"), (403, "model-unauthorized"), (404, "model-rejected"), (400, "model-rejected")],
)
async def test_statuses(serve: Serve, status: int, code: str) -> None:
    error = await failure(model_at(serve(ServerError(status, f"Unhappy\n about {KEY}"))))
    assert error.code == code
    if status in (400, 500):
        assert "Unhappy about [key]" in error.message


async def test_a_wrong_key_is_refused_and_not_repeated(serve: Serve) -> None:
    server = serve(require_key="sk-the-right-one")
    error = await failure(model_at(server))
    assert error.code == "model-unauthorized"
    assert "LOTTISYNC_MODEL_KEY" in error.message
    assert server.requests == []


@pytest.mark.parametrize("key", [KEY, None])
async def test_the_key_that_is_sent(serve: Serve, key: str | None) -> None:
    server = serve(Say("Welcome."), require_key=key or "none")
    assert (await model_at(server, key).complete(QUESTION, [])).text == "Welcome."


@pytest.mark.parametrize("events", [0, 3])
async def test_silence_is_a_time_out(serve: Serve, events: int) -> None:
    error = await failure(model_at(serve(Stall(ANSWER, events)), silence_seconds=0.1))
    assert error.code == "model-timed-out"
    assert "silent" in error.message


@pytest.mark.parametrize("events", [0, 3])
async def test_the_whole_call_has_a_limit_too(serve: Serve, events: int) -> None:
    server = serve(Stall(ANSWER, events))
    error = await failure(model_at(server, call_seconds=0.2))
    assert error.code == "model-timed-out"
    assert "0.2 s" in error.message
    assert await anyio.to_thread.run_sync(server.wait_until_idle, 5)


@pytest.mark.parametrize("events", [0, 3])
async def test_cancellation_closes_the_connection(events: int) -> None:
    asked = threading.Event()

    def script(request: ChatRequest) -> Reply:
        asked.set()
        return Stall(ANSWER, events)

    with ScriptedModelServer(script) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(model_at(server).complete, QUESTION, [ESTIMATE])
            assert await anyio.to_thread.run_sync(asked.wait, 5)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.wait_until_idle, 5)


@pytest.mark.parametrize(
    "events",
    [
        ["{not json"],
        ["5"],
        ['{"choices": 7}'],
        [chunk('{"tool_calls": [{"index": 0, "function": {"arguments": {}}}]}')],
    ],
)
async def test_events_that_are_not_chunks(serve: Serve, events: list[str]) -> None:
    assert (await failure(model_at(serve(RawEvents(events))))).code == "model-malformed"


async def test_an_error_inside_the_stream(serve: Serve) -> None:
    server = serve(RawEvents([chunk('{"content": "Well"}'), '{"error": {"message": "out of memory"}}']))
    error = await failure(model_at(server))
    assert (error.code, "out of memory" in error.message) == ("model-server-error", True)


async def test_a_server_that_is_something_else() -> None:
    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            body = b"<html>Welcome to the hotel</html>"
            await stream.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, answer)
            error = await failure(OpenAIModel(f"http://127.0.0.1:{port}/v1", KEY, "m", max_retries=0))
            tasks.cancel_scope.cancel()
    assert (error.code, "text/html" in error.message) == ("model-malformed", True)


async def test_no_server_listens() -> None:
    with socket.socket() as bound:  # bound and not listening: nobody else can have this port meanwhile
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        url = f"http://user:{KEY}@127.0.0.1:{port}/v1?key={KEY}"
        error = await failure(OpenAIModel(url, KEY, "m", max_retries=0))
    assert error.code == "model-unreachable"
    assert f"http://127.0.0.1:{port}/v1 (" in error.message


async def test_this_machine_is_not_reached_through_a_proxy(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert (await model_at(serve(Say("Near."))).complete(QUESTION, [])).text == "Near."


async def test_for_this_machine_without_tls_no_certificates_are_read(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are hundreds, and each wake would read them."""
    for name in ("load_default_certs", "load_verify_locations"):
        monkeypatch.setattr(ssl.SSLContext, name, lambda *_: pytest.fail("they were read"), raising=False)
    assert (await model_at(serve(Say("Near."))).complete(QUESTION, [])).text == "Near."


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        (
            {"OPENAI_API_KEY": KEY},
            f"OpenAIModel('https://api.openai.com/v1', model={DEFAULT_MODEL!r}, api='responses')",
        ),
        (
            {"OPENAI_API_KEY": KEY, "LOTTISYNC_MODEL_API": "chat"},
            f"OpenAIModel('https://api.openai.com/v1', model={DEFAULT_MODEL!r}, api='chat')",
        ),
        (
            {"OPENAI_API_KEY": KEY, "LOTTISYNC_MODEL": "big"},
            "OpenAIModel('https://api.openai.com/v1', model='big', api='responses')",
        ),
        (
            {"LOTTISYNC_MODEL_URL": " http://[::1]:11434/v1\n", "LOTTISYNC_MODEL": "qwen3"},
            "OpenAIModel('http://[::1]:11434/v1', model='qwen3', api='chat')",
        ),
        (
            {"LOTTISYNC_MODEL_URL": "http://host/v1", "LOTTISYNC_MODEL": "m", "LOTTISYNC_MODEL_API": "responses"},
            "OpenAIModel('http://host/v1', model='m', api='responses')",
        ),
    ],
)
def test_the_environment_names_the_model(environ: dict[str, str], shown: str) -> None:
    assert repr(model_from_environment(environ)) == shown


def test_a_dialect_that_there_is_not() -> None:
    with pytest.raises(ModelError, match="LOTTISYNC_MODEL_API is chat or responses; got 'soap'"):
        model_from_environment({"OPENAI_API_KEY": KEY, "LOTTISYNC_MODEL_API": "soap"})


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": " ", "LOTTISYNC_MODEL": "m", "LOTTISYNC_MODEL_URL": ""}])
def test_an_environment_that_names_none(environ: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="no model is configured: set OPENAI_API_KEY, or") as caught:
        model_from_environment(environ)
    assert caught.value.code == "model-not-configured"


async def test_a_key_for_openai_is_not_given_to_another_server(serve: Serve) -> None:
    server = serve(Say("Hello."), Say("Hello."), require_key="none")
    environ = {"LOTTISYNC_MODEL_URL": server.url, "OPENAI_API_KEY": KEY}
    assert (await model_from_environment(environ).complete(QUESTION, [])).text == "Hello."
    environ["LOTTISYNC_MODEL_KEY"] = "its-own"
    with pytest.raises(ModelError, match="did not accept the key"):
        await model_from_environment(environ).complete(QUESTION, [])


@pytest.mark.parametrize(
    "url", ["localhost:11434/v1", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/"]
)
def test_an_address_that_is_not_one(url: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIModel(url, KEY, "m")
    assert caught.value.code == "model-not-configured"


@pytest.mark.parametrize("key", ["sk-with space", "sk-\u201cquoted\u201d", "sk-line\nbreak"])
def test_a_key_that_cannot_be_one_is_not_quoted(key: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIModel(None, key, "m")
    assert caught.value.code == "model-unauthorized"
    assert key not in "".join(traceback.format_exception(caught.value))


def test_importing_the_client_does_not_import_openai() -> None:
    code = "import sys, lottisync.agents.openai_client; sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


KEYRING = """
from keyring.errors import KeyringError
KEYS = {("lottisync", "https://api.openai.com/v1"): "kept-openai", ("lottisync", "http://127.0.0.1:9/v1"): "kept-9"}
def get_password(service, user):
    if user == "http://127.0.0.1:7/v1":
        raise KeyringError("nobody is logged in")
    return KEYS.get((service, user))
"""


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package, as far as it is used: two keys, and one that it cannot give. It is not left to other tests."""
    package = tmp_path / "keyring"
    package.mkdir()
    (package / "__init__.py").write_text(KEYRING)
    (package / "errors.py").write_text("class KeyringError(Exception): ...")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("keyring", "keyring.errors")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("keyring")
def test_a_keyring_gives_what_the_environment_has_not() -> None:
    """AGENT-38: each server its own key; the environment first; a locked keyring is an empty one."""
    kept = {url: kept_key(url) for url in (OPENAI_URL, *(f"http://127.0.0.1:{port}/v1" for port in (9, 8, 7)))}
    assert list(kept.values()) == ["kept-openai", "kept-9", None, None]
    assert model_from_environment({}).api == "responses"
    for environ in ({}, {"LOTTISYNC_MODEL_URL": "http://127.0.0.1:9/v1"}):
        assert "kept" not in repr(model_from_environment(environ))


@pytest.mark.usefixtures("keyring")
@pytest.mark.parametrize(("given", "sent"), [("", "kept"), ("of-the-environment", "of-the-environment")])
async def test_the_environment_goes_before_the_keyring(tmp_path: Path, serve: Serve, given: str, sent: str) -> None:
    """AGENT-38"""
    server = serve(Say(text="ok"), require_key=sent)
    (tmp_path / "keyring" / "__init__.py").write_text(
        f"def get_password(service, user): return {{{server.url!r}: 'kept'}}[user]"
    )
    model = model_from_environment({"LOTTISYNC_MODEL_URL": server.url, "LOTTISYNC_MODEL_KEY": given})
    assert (await model.complete(QUESTION, [])).text == "ok"
