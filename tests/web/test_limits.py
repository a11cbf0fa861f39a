"""What a server of pages bears: connections, heads, forms, streams (docs/specs/18-web.md, section 3)."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest
from anyio.abc import SocketStream
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.web.visitor import TASK, Visitor

from lottisync.web import gate, server
from lottisync.web.entry import outside
from lottisync.web.gate import Gate
from lottisync.web.live import MAX_STREAMS, Streams

PATIENCE = 60.0
"""How long the machine may take, in seconds; nothing is measured by it."""
Connect = Callable[[], Awaitable[SocketStream]]


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("hello")(scope, receive, send)


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[Connect]:
    """How to connect to a server of `app`, on a port of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, app, [listener])
            yield lambda: anyio.connect_tcp(host, port)
            tasks.cancel_scope.cancel()


async def answer(stream: SocketStream) -> bytes:
    """All that is answered, until the server closes the connection."""
    held = b""
    try:
        while True:
            held += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return held


async def send_for_ever(stream: SocketStream) -> None:
    while True:
        await stream.send(b"x")
        await anyio.sleep(0.01)


WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SLOW = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost:",
    "a request, and half of the next": WHOLE + b"GET / HT",
    "a form that nobody reads, without its end": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na",
}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW.keys())
def test_web_616_a_client_that_sends_no_whole_request_is_disconnected(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)  # in which a busy machine answers what is whole
    monkeypatch.setattr(server, "KEEP_SECONDS", 3600)

    async def hold() -> bytes:
        async with served(hello) as connect, await connect() as stream:
            if sent:
                await stream.send(sent)
            return await answer(stream)

    assert anyio.run(hold).count(b"hello") == (1 if b"\r\n\r\n" in sent else 0)


def test_web_616_a_client_that_sends_byte_by_byte_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)

    async def hold() -> None:
        async with served(hello) as connect, await connect() as stream:
            await stream.send(b"GET / HTTP/1.1\r\nX: ")
            with pytest.raises(anyio.BrokenResourceError):
                await send_for_ever(stream)

    anyio.run(hold)


def test_web_616_a_request_under_way_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of events goes on for hours: a connection that comes later and is closed shows that time was up."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)

    async def wait() -> bytes:
        began, released = anyio.Event(), anyio.Event()

        async def patient(scope: Scope, receive: Receive, send: Send) -> None:
            began.set()
            await released.wait()
            await hello(scope, receive, send)

        async with served(patient) as connect, await connect() as first:
            await first.send(LAST)
            await began.wait()
            async with await connect() as idle:
                assert await answer(idle) == b""
            released.set()
            return await answer(first)

    assert b"hello" in anyio.run(wait)


def test_web_617_more_connections_than_the_most_are_refused_until_one_goes() -> None:
    async def crowd() -> tuple[bytes, bytes]:
        async with served(hello) as connect:
            held = [await connect() for _ in range(server.MAX_CONNECTIONS)]
            for stream in held[: server.MAX_CONNECTIONS // 2]:  # each is there for the server, too
                await stream.send(WHOLE[:9])
            async with await connect() as late:
                await late.send(LAST)
                refused = await answer(late)
            for stream in held:
                await stream.aclose()
            while b"hello" not in (heard := await asked(connect)):
                pass
            return refused, heard

    async def asked(connect: Connect) -> bytes:
        async with await connect() as stream:
            await stream.send(LAST)
            return await answer(stream)

    refused, heard = anyio.run(crowd)
    assert refused.startswith(b"HTTP/1.1 503")
    assert heard.startswith(b"HTTP/1.1 200")


def test_web_617_a_head_that_is_too_large_is_refused() -> None:
    async def send() -> bytes:
        async with served(hello) as connect, await connect() as stream:
            await stream.send(b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * gate.MAX_HEADER_BYTES)
            return await answer(stream)

    assert b"hello" not in anyio.run(send)


def test_web_11_a_form_that_does_not_arrive_in_time_is_refused(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WEB-11: it begins, and never ends."""
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.01)
    parts = iter([{"type": "http.request", "body": b"verb=delete", "more_body": True}])
    sent: list[Message] = []

    async def receive() -> Message:
        part = next(parts, None)
        if part is None:
            await anyio.sleep_forever()
        assert part is not None
        return part

    async def send(message: Message) -> None:
        sent.append(message)

    [cookie] = visitor.client.cookies.values()
    headers = {**visitor.own, "host": visitor.access.door.origin.removeprefix("http://")}
    headers |= {"cookie": f"lottisync={cookie}", "content-type": "application/x-www-form-urlencoded"}
    scope: dict[str, object] = {"type": "http", "method": "POST", "path": f"/tasks/{TASK}", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def ask() -> None:
        with anyio.fail_after(PATIENCE):
            await Gate(hello, visitor.access, outside)(scope, receive, send)

    anyio.run(ask)
    assert sent[0]["status"] == 408
    assert sent[1]["body"].startswith(b"too-slow: ")


def test_web_617_more_streams_than_the_most_are_refused_until_one_ends(visitor: Visitor) -> None:
    [cookie] = visitor.client.cookies.values()
    scope: dict[str, object] = {"type": "http", "method": "GET", "path": "/live", "query_string": b"seen=x"}
    scope["headers"] = [(b"cookie", f"lottisync={cookie}".encode())]
    scope["app"] = SimpleNamespace(state=SimpleNamespace(site=visitor.site))

    async def listen() -> list[int]:
        streams = Streams(visitor.access)
        heard = [(await streams(Request(scope))).body_iterator for _ in range(MAX_STREAMS)]  # type: ignore[attr-defined]
        for events in heard:
            assert (await anext(events)).startswith("retry:")
        statuses = [(await streams(Request(scope))).status_code]
        await heard.pop().aclose()
        statuses.append((await streams(Request(scope))).status_code)
        for events in heard:
            await events.aclose()
        return statuses

    assert anyio.run(listen) == [503, 200]
