"""What all pages have in common: the templates, the frame around each page, and the answers after a form."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lottisync.problem import Problem
from lottisync.shown import lines, one_line
from lottisync.web import words
from lottisync.web.gate import Form
from lottisync.web.site import Site

HERE = Path(__file__).parent
STATIC = HERE / "static"
NAVIGATION = (
    ("inbox", "/inbox", "Inbox"),
    ("tasks", "/tasks", "Tasks"),
    ("conflicts", "/conflicts", "Conflicts"),
    ("devices", "/devices", "Devices"),
    ("activity", "/activity", "Activity"),
)
NOTHING_DONE = "This changed while you looked. Nothing was done."

TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals.update(
    say=words.say,
    several=words.several,
    value=words.value,
    field=words.field,
    minutes=words.minutes,
    day=words.day,
)
TEMPLATES.filters["line"] = one_line
TEMPLATES.filters["text"] = lambda text: "\n".join(lines(text))


def site_of(request: Request) -> Site:
    found: Site = request.app.state.site
    return found


def form_of(request: Request) -> Form:
    found: Form = request.state.form
    return found


def since_of(request: Request) -> int:
    """When this visit of a page began (ms): what was decided since stays in its place. A form carries it along."""
    given = form_of(request).one("since") if request.method == "POST" else request.query_params.get("since", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 15 else site_of(request).now()


def page(
    request: Request, template: str, *, title: str, at: str, status: int = 200, said: str = "", **values: Any
) -> Response:
    """A whole page. `at` is the place in the navigation, `said` what was done or why it was not."""
    site = site_of(request)
    now = site.now()
    picture = site.picture()
    text = TEMPLATES.get_template(template).render(
        title=title,
        at=at,
        said=said,
        failed=status >= 400,
        here=request.url.path,
        navigation=NAVIGATION,
        waiting=site.waiting(),
        conflict_count=site.conflicts(),
        device_name=site.home.name,
        devices_linked=[line for line in site.devices() if line.linked],
        form_token=request.state.session.form_token,
        picture=picture,
        now=now,
        when=lambda instant: words.moment(instant, now),
        **values,
    )
    return HTMLResponse(text, status)


def back_to(path: str, anchor: str = "", **query: Any) -> Response:
    """The answer to a form that was carried out: the page again, at the place where it was."""
    asked = urlencode({name: value for name, value in query.items() if value != ""})
    address = path + (f"?{asked}" if asked else "") + (f"#{anchor}" if anchor else "")
    return RedirectResponse(address, 303)


def told(problem: Problem) -> str:
    """The sentence of an error, as the command line says it."""
    text = one_line(problem.message)
    return text[:1].upper() + text[1:]
