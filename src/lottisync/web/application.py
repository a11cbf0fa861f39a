"""The pages as one application: every route in one table, behind the gate."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lottisync.web import conflict_page, device_page, inbox_page, task_page
from lottisync.web.access import Entrance
from lottisync.web.entry import pages
from lottisync.web.frame import STATIC
from lottisync.web.gate import Gate
from lottisync.web.live import Streams
from lottisync.web.site import Site

FILES = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}


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
            Route("/live", Streams(entrance).__call__),
            Route("/inbox", inbox_page.inbox),
            Route("/decide", inbox_page.decide, methods=["POST"]),
            Route("/decide-all", inbox_page.decide_all, methods=["POST"]),
            Route("/tasks", task_page.task_list),
            Route("/tasks", task_page.add, methods=["POST"]),
            Route("/tasks/{task}", task_page.one_task),
            Route("/tasks/{task}", task_page.change, methods=["POST"]),
            Route("/conflicts", conflict_page.conflicts),
            Route("/conflicts", conflict_page.settle, methods=["POST"]),
            Route("/devices", device_page.devices),
            Route("/browsers", device_page.browsers, methods=["POST"]),
            Route("/activity", device_page.activity),
        ]
    )
    app.state.site = site
    return Gate(app, entrance)


def home(request: Request) -> Response:
    return RedirectResponse("/inbox", 303)


def static(request: Request) -> Response:
    """Our style, our script, our icon; nothing else of the disk."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    return FileResponse(STATIC / name, media_type=FILES[name])
