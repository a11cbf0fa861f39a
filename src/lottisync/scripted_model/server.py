"""A model that follows a script, behind the real wire: an OpenAI-compatible server on loopback.

The demo and the tests must run where there is no key, no network and no gigabytes of weights, and still go
through the very client and protocol that a real model is reached by. So this server speaks the real format of
`POST /v1/chat/completions`: server-sent events with a role, words, tool calls whose arguments are cut in pieces,
a finish reason, the token count when asked for, `[DONE]`; plain JSON when not streaming; errors in OpenAI's shape.
It rejects what OpenAI rejects (an empty tool list, a tool call that nobody answered), so that a conversation that
passes here passes there.

What it says is decided by a script: a function from `ChatRequest` to `Reply`, called once per request in the
server's own thread, one at a time. The script sees the whole request, so it can pick the ids out of what the model
was sent and answer with them (`lottisync.scripted_model.script`).

Every request body is kept, in order, and on request written to a file as one JSON line: it is what was sent to
the model, which people who let an agent read their notes have a right to see. Headers are not kept; they hold keys.

Answers are deterministic: ids are counted, `created` is 0, and a token is four characters.

A script that raises is a bug in the script. The client gets an error that it does not retry, and closing the
server raises the exception again, where a test or a person sees it.

    python -m lottisync.scripted_model.server --script lottisync.demo.script:demo_script --port 0 --record FILE

prints one line, {"url": "http://127.0.0.1:PORT/v1"}, and serves until SIGTERM or SIGINT.
"""

import argparse
import contextlib
import importlib
import json
import signal
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self, assert_never

import msgspec

from lottisync.scripted_model.request import complaint
from lottisync.scripted_model.script import (
    ChatRequest,
    Dropped,
    RateLimited,
    RawArguments,
    RawEvents,
    Reply,
    Say,
    Script,
    ServerError,
    Stall,
    Truncated,
    text_of,
)

MAX_BODY_BYTES = 8 * 1024 * 1024
"""A conversation is some hundred kilobytes; anything beyond this is a mistake."""

ARGUMENT_PIECE_CHARACTERS = 9
"""Short enough that the pieces of nearly any call break inside a key, a string or a number."""


class ScriptedModelServer:
    """The server, from `with` to the end of its block; `url` is the base URL that clients want.

    `requests` holds the body of every request that was accepted, in order; `record_to` appends each to that file
    as a line of JSON. `require_key` makes the server answer 401 to any other key, and quote that key as careless
    servers do. Leaving the block closes all connections, waits for their threads, and raises what the script
    raised, if it did.
    """

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        require_key: str | None = None,
        record_to: Path | None = None,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        """The same, as they came."""
        self._script = script
        self._require_key = require_key
        self._record_to = record_to
        self._script_error: Exception | None = None
        self._turn_taking = threading.Lock()
        self._listener = _Listener(port, self)
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.02}, name="scripted-model"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.shutdown()
        self._thread.join()
        self._listener.close()
        if self._script_error is not None and error is None:
            raise self._script_error

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_address[1]}/v1"

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no client is connected; False if one still was after that long."""
        return self._listener.wait_until_idle(seconds)

    def reply_to(self, body: dict[str, Any]) -> tuple[int, Reply]:
        """Record the request and ask the script: the request's number and the reply."""
        with self._turn_taking:
            self.requests.append(body)
            number = len(self.requests)
            if self._record_to is not None:
                with self._record_to.open("ab") as file:
                    file.write(msgspec.json.encode(body) + b"\n")
            try:
                return number, self._script(ChatRequest(number, body))
            except Exception as error:  # noqa: BLE001 - kept, and raised again when the server closes
                self._script_error = self._script_error or error
                return number, ServerError(500, f"the script failed: {error!r}", may_retry=False)

    def accepts(self, authorization: str) -> bool:
        return self._require_key is None or authorization == f"Bearer {self._require_key}"


class _Listener(ThreadingHTTPServer):
    """Knows its open connections, so that it can count them and close them under the threads that read them."""

    daemon_threads = False  # closing waits for them

    def __init__(self, port: int, model: ScriptedModelServer) -> None:
        self.model = model
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__(("127.0.0.1", port), _Exchange)

    def server_bind(self) -> None:
        # The base class also looks up its own host name, which can take seconds where names do not resolve.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        with self._changed:
            self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._connections, seconds)

    def close(self) -> None:
        with self._changed:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # already closed from the other side
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Exchange(BaseHTTPRequestHandler):
    """One connection: requests in, replies out."""

    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # a client that goes away in the middle is what clients do
            super().handle()

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._send_error(404, "invalid_request_error", f"Unknown request URL: GET {self.path}.")
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "lottisync"}
        return self._send_json(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            length = MAX_BODY_BYTES + 1
        if not 0 <= length <= MAX_BODY_BYTES:
            self.close_connection = True  # the body stays unread
            return self._send_error(413, "invalid_request_error", "The request has no length or is too large.")
        content = self.rfile.read(length)
        authorization = self.headers.get("Authorization", "")
        if not self.server.model.accepts(authorization):
            key = authorization.removeprefix("Bearer ")
            return self._send_error(401, "invalid_request_error", f"Incorrect API key provided: {key}.")
        if self.path != "/v1/chat/completions":
            return self._send_error(404, "invalid_request_error", f"Unknown request URL: POST {self.path}.")
        try:
            body = msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError:
            return self._send_error(400, "invalid_request_error", "We could not parse the JSON body.")
        if fault := complaint(body):
            return self._send_error(400, "invalid_request_error", fault)
        self.server.model.bodies.append(content)
        number, reply = self.server.model.reply_to(body)
        return self._send_reply(number, body, reply)

    def _send_reply(self, number: int, body: dict[str, Any], reply: Reply) -> None:
        match reply:
            case RateLimited(retry_after, code):
                headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
                self._send_error(429, "requests", "Rate limit reached.", code=code, headers=headers)
            case ServerError(status, message, may_retry):
                headers = {} if may_retry else {"x-should-retry": "false"}
                self._send_error(status, "server_error", message, headers=headers)
            case RawEvents(events):
                self._send_head("text/event-stream")
                for event in events:
                    self._send_event(event)
                self._send_end()
            case Say() | RawArguments():
                answer = _Answer(number, body, reply)
                if not body.get("stream"):
                    self._send_json(200, answer.completion())
                    return
                self._send_head("text/event-stream")
                for event in answer.events():
                    self._send_event(event)
                self._send_end()
            case Truncated(say, events) | Dropped(say, events) | Stall(say, events):
                self._send_part(_Answer(number, body, say), events)
                if isinstance(reply, Truncated):
                    self._send_end()
                    return
                if isinstance(reply, Stall):
                    self.connection.recv(1)  # returns when either side closes
                self.close_connection = True
            case _:
                assert_never(reply)

    def _send_part(self, answer: "_Answer", events: int) -> None:
        if events == 0:
            return
        self._send_head("text/event-stream")
        for event in list(answer.events())[:events]:
            self._send_event(event)

    def _send_head(self, media_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_event(self, event: str) -> None:
        data = f"data: {event}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _send_end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _send_error(
        self, status: int, kind: str, message: str, *, code: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        error = {"message": message, "type": kind, "param": None, "code": code}
        self._send_json(status, {"error": error}, headers or {})

    def _send_json(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = msgspec.json.encode(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class _Answer:
    """An answer in wire form, whole or as events."""

    def __init__(self, number: int, body: dict[str, Any], said: Say | RawArguments) -> None:
        self._said = said if isinstance(said, Say) else Say()
        calls = (
            [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in said.tool_calls]
            if isinstance(said, Say)
            else [(said.name, said.arguments)]
        )
        self._calls = [(f"call_{number}_{index}", *call) for index, call in enumerate(calls)]
        self._head = {"id": f"chatcmpl-{number}", "created": 0, "model": body["model"]}
        self._finish_reason = self._said.finish_reason or ("tool_calls" if calls else "stop")
        asked = bool((body.get("stream_options") or {}).get("include_usage")) or not body.get("stream")
        self._usage = self._count(body) if asked and self._said.counts_tokens else None

    def _count(self, body: dict[str, Any]) -> dict[str, int]:
        prompt = sum(_tokens(text_of(message)) for message in body["messages"])
        completion = _tokens(self._said.text) + sum(_tokens(name + text) for _, name, text in self._calls)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    def completion(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self._said.text or None, "refusal": None}
        if self._calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in self._calls
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish_reason}
        usage = {} if self._usage is None else {"usage": self._usage}
        return {**self._head, "object": "chat.completion", "choices": [choice], **usage}

    def events(self) -> Iterator[str]:
        yield self._chunk({"role": "assistant", "content": "" if self._said.text else None, "refusal": None})
        for word in _words(self._said.text):
            yield self._chunk({"content": word})
        for index, (call_id, name, arguments) in enumerate(self._calls):
            function = {"name": name, "arguments": ""}
            start = {"index": index, "id": call_id, "type": "function", "function": function}
            yield self._chunk({"tool_calls": [start]})
            for at in range(0, len(arguments), ARGUMENT_PIECE_CHARACTERS):
                piece = arguments[at : at + ARGUMENT_PIECE_CHARACTERS]
                yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._chunk({}, self._finish_reason)
        if self._usage is not None:
            yield self._event([], self._usage)
        yield "[DONE]"

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> str:
        return self._event([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])

    def _event(self, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> str:
        counted = {} if self._usage is None else {"usage": usage}
        event = {**self._head, "object": "chat.completion.chunk", "choices": choices, **counted}
        return json.dumps(event, ensure_ascii=False)


def _words(text: str) -> list[str]:
    """The text in pieces that each end after a space."""
    return [piece for piece in text.replace(" ", " \0").split("\0") if piece]


def _tokens(text: str) -> int:
    return -(-len(text) // 4)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lottisync.scripted_model.server")
    parser.add_argument("--script", required=True, metavar="MODULE:NAME", help="a function of ChatRequest to Reply")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--record", type=Path, metavar="FILE", help="append every request body as a line of JSON")
    options = parser.parse_args(arguments)
    module, _, name = options.script.partition(":")
    script: Script = getattr(importlib.import_module(module), name)

    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    with ScriptedModelServer(script, port=options.port, record_to=options.record) as server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    # Not the `main` of this run: as "__main__" this file is a second module, whose `Say` is not the script's `Say`.
    from lottisync.scripted_model import server

    raise SystemExit(server.main())
