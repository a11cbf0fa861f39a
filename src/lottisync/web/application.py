"""The pages as one application: every route in one table, behind the gate."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lottisync.language import of_browser, say, speaking
from lottisync.store.instant import by_the_clock_of
from lottisync.web import (
    activity_page,
    agent_page,
    conflict_page,
    device_page,
    inbox_page,
    settings_page,
    task_page,
    words,
)
from lottisync.web.access import Entrance
from lottisync.web.entry import outside, pages
from lottisync.web.frame import STATIC, page, zone_of
from lottisync.web.gate import Gate
from lottisync.web.live import Streams
from lottisync.web.site import Site
from lottisync.web.undoing import undo

FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}

BADGE = (
    '<circle cx="34" cy="14" r="14" fill="#fff"/><text x="34" y="21" text-anchor="middle" fill="#0a6149" '
    'font-family="sans-serif" font-weight="700" font-size="19">{}</text>'
)


def application(site: Site, entrance: Entrance, authority: bytes | None = None, fingerprint: str = "") -> ASGIApp:
    """The pages as they are seen at one entrance. `authority` (DER) is offered to phones, which have to trust it."""
    look, enter, leave, trusted = pages(entrance, authority, fingerprint)
    app = Starlette(
        routes=[
            Route("/", home),
            Route("/enter", look),
            Route("/enter", enter, methods=["POST"]),
            Route("/leave", leave, methods=["POST"]),
            Route("/authority.crt", trusted),
            Route("/static/{name}", static),
            Route("/icon.svg", icon),
            Route("/live", Streams(entrance).__call__),
            Route("/inbox", inbox_page.inbox),
            Route("/decide", inbox_page.decide, methods=["POST"]),
            Route("/undo", undo, methods=["POST"]),
            Route("/decide-all", inbox_page.decide_all, methods=["POST"]),
            Route("/tasks", task_page.task_list),
            Route("/tasks", task_page.add, methods=["POST"]),
            Route("/tasks/{task}", task_page.one_task),
            Route("/tasks/{task}", task_page.change, methods=["POST"]),
            Route("/agents/{agent}", agent_page.one_agent),
            Route("/agents/{agent}", agent_page.change, methods=["POST"]),
            Route("/conflicts", conflict_page.conflicts),
            Route("/conflicts", conflict_page.settle, methods=["POST"]),
            Route("/devices", device_page.devices),
            Route("/devices", device_page.change, methods=["POST"]),
            Route("/pair", device_page.pair, methods=["POST"]),
            Route("/settings", settings_page.settings),
            Route("/settings", settings_page.change, methods=["POST"]),
            Route("/browsers", device_page.browsers, methods=["POST"]),
            Route("/activity", activity_page.activity),
        ],
        exception_handlers={404: missing, 405: missing},
    )
    app.state.site = site
    return Spoken(Gate(app, entrance, outside), site)


class Spoken:
    """Answers in the language that the settings name, else in the browser's, and by the clock of its zone."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        language = of_browser(connection.headers.get("accept-language"), self._site.settings.language())
        with speaking(language), by_the_clock_of(words.zone_named(zone_of(connection))):
            await self._app(scope, receive, send)


def home(request: Request) -> Response:
    return RedirectResponse("/inbox", 303)


def missing(request: Request, error: Exception) -> Response:
    """An address at which there is no page: a typed one, or that of a form that was loaded again."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if request.state.session is None:
        return Response(status_code=status)
    why = say("There is no page at this address.")
    return page(request, "gone.html", title=say("Not here"), at="", status=status, why=why)


def icon(request: Request) -> Response:
    """The icon, with the number that waits on it: `?waiting=`."""
    asked = request.query_params.get("waiting", "")
    count = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 0
    drawn = (STATIC / "icon.svg").read_text()
    badge = BADGE.format("99+" if count > 99 else count) if count else ""
    return Response(drawn.replace("</svg>", f"{badge}</svg>"), media_type=FILES["icon.svg"])


def static(request: Request) -> Response:
    """Our style, our script, our icon; nothing else of the disk."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    return FileResponse(STATIC / name, media_type=FILES[name])
