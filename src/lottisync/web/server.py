"""uvicorn on sockets that listen already, inside an event loop that is not its own.

uvicorn as it comes takes the process's signals, and wakes ten times a second to look whether it should end. A daemon
has its own signals and rests while nothing happens, so both are left out here.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator, Sequence

import anyio
import anyio.lowlevel
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from lottisync.web.gate import MAX_HEADER_BYTES

MAX_CONNECTIONS = 64
KEEP_SECONDS = 5
"""How long a connection stays open without use."""
REQUEST_SECONDS = 10.0
"""How long a connection may take to send the first line and the headers of a request. Who holds all connections would
keep others out."""
CLOSE_SECONDS = 1
"""How long open requests get at the end. An event stream would go on for ever."""


class _Connection(H11Protocol):
    """uvicorn closes a connection that rests after an answer. It would keep a connection for ever that has sent
    nothing, or sends byte by byte. So each connection waits for a request for a limited time."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_a_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait_for_a_request()
        super().on_response_complete()

    def _wait_for_a_request(self) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await anyio.sleep_forever()


async def serve(app: ASGIApp, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None) -> None:
    """Answer on `sockets` until cancelled, with `tls` by HTTPS. They are closed at the end."""
    logging.getLogger("uvicorn.error").disabled = True
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        loop="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    config.load()
    config.ssl = tls
    server = _Server(config)
    try:
        await server.serve(sockets=list(sockets))
    finally:
        with anyio.CancelScope(shield=True):
            for task in server.server_state.tasks:
                task.cancel()  # an event stream ends by nothing else
            server.force_exit = True
            await server.shutdown(sockets=list(sockets))
            # TLS says goodbye in an answer of its own, and for that the loop does not run any longer.
            for connection in tuple(server.server_state.connections):
                connection.transport.abort()
            await anyio.lowlevel.checkpoint()
