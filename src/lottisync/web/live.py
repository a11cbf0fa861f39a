"""A stream of events that tells a page when it has to be drawn again (docs/specs/18-web.md, section 4).

An event says only that something changed. The page then asks for itself again and puts what differs in its place. A
stream begins with what the page was drawn from (`seen`), so nothing is missed between the page and its stream.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from lottisync.store.doorbell import FALLBACK_SECONDS, Bell
from lottisync.web.access import Entrance
from lottisync.web.frame import site_of
from lottisync.web.site import Site

MAX_STREAMS = 16
"""At one time. A browser holds six connections to a server, so a page that is hidden for long closes its stream."""
SETTLE_SECONDS = 0.05
"""How long changes are gathered before a page hears of them."""
SILENCE_SECONDS = 15.0
"""After so long without a change an empty line says that the stream is alive."""


class Streams:
    """The streams of one server."""

    def __init__(self, entrance: Entrance) -> None:
        self._entrance = entrance
        self._open = 0
        self._count = 0

    async def __call__(self, request: Request) -> Response:
        """`GET /live`."""
        if self._open >= MAX_STREAMS:
            return PlainTextResponse("too-many-streams: Close a page of this server, or reload.\n", 503)
        seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        self._count += 1
        events = self._events(site_of(request), seen, request.cookies.get(self._entrance.cookie), f"web-{self._count}")
        return StreamingResponse(events, media_type="text/event-stream")

    async def _events(self, site: Site, seen: str, cookie: str | None, name: str) -> AsyncIterator[str]:
        self._open += 1
        bell = Bell(site.home.bells, name)
        try:
            yield "retry: 2000\n\n"
            while self._entrance.session(cookie) is not None:
                bell.clear()
                picture = await anyio.to_thread.run_sync(site.picture)
                if picture != seen:
                    seen = picture
                    yield f"id: {picture}\ndata: changed\n\n"
                    await anyio.sleep(SETTLE_SECONDS)
                elif not await _changed(
                    bell,
                    lambda: anyio.to_thread.run_sync(site.picture),
                    seen,
                    lambda: self._entrance.session(cookie) is None,
                ):
                    yield ":\n\n"
            yield "event: ended\ndata: not-let-in\n\n"
        finally:
            self._open -= 1
            bell.close()


async def _changed(bell: Bell, picture: Callable[[], Awaitable[str]], seen: str, ended: Callable[[], bool]) -> bool:
    """Wait until a program commits, or the session has ended; False after a silence. A bell may be lost, so the stores
    are looked at, too."""
    with anyio.move_on_after(SILENCE_SECONDS):
        while True:
            with anyio.move_on_after(FALLBACK_SECONDS) as waited, contextlib.suppress(anyio.ClosedResourceError):
                await anyio.wait_readable(bell)
            if not waited.cancelled_caught or ended() or await picture() != seen:
                return True
    return False
