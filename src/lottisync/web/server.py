"""uvicorn on sockets that listen already, inside an event loop that is not its own.

uvicorn as it comes takes the process's signals, and wakes ten times a second to look whether it should end. A daemon
has its own signals and rests while nothing happens, so both are left out here.
"""

import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator, Sequence

import anyio
import anyio.lowlevel
import uvicorn
from starlette.types import ASGIApp

MOST_CONNECTIONS = 64
MOST_HEADER_BYTES = 16 * 1024
KEEP_SECONDS = 5
"""How long a connection stays open without use."""
CLOSE_SECONDS = 1
"""How long open requests get at the end. An event stream would go on for ever."""


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
        http="h11",
        ws="none",
        lifespan="off",
        loop="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
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
