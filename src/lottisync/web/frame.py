"""What all pages have in common: the templates, the frame around each page, and the answers after a form."""

import hashlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lottisync.causality.vector_clock import Host
from lottisync.device import acts
from lottisync.device.acts import Act
from lottisync.journal import repetition
from lottisync.journal import words as task_words
from lottisync.journal.obstacles import in_titles
from lottisync.journal.types import PRIORITIES, STATUSES
from lottisync.language import marked, number, say, several, spoken, translated
from lottisync.problem import Problem
from lottisync.review.change import ChangeDecision
from lottisync.review.item_view import ItemView
from lottisync.shown import lines, one_line
from lottisync.store.instant import there
from lottisync.web import clock_field, rows, words
from lottisync.web.gate import Form
from lottisync.web.site import Site

HERE = Path(__file__).parent
STATIC = HERE / "static"
NAVIGATION = (
    ("inbox", "/inbox", marked("Inbox")),
    ("tasks", "/tasks", marked("Tasks")),
    ("conflicts", "/conflicts", marked("Conflicts")),
    ("devices", "/devices", marked("Devices")),
    ("activity", "/activity", marked("Activity")),
    ("settings", "/settings", marked("Settings")),
)
NOTHING_DONE = marked("This changed while you looked. Nothing was done.")

TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,  # else each page asks the disk six times whether a template is another by now
    trim_blocks=True,
    lstrip_blocks=True,
)


@lru_cache(2048)
def _escaped(text: str, language: str) -> Markup:
    """A sentence without values in the language that is spoken: a page says a hundred and more."""
    return escape(say(text))


def _said(text: str, /, **values: Any) -> str:
    return say(text, **values) if values else _escaped(text, spoken())


TEMPLATES.globals.update(
    icon=lru_cache(32)(
        Markup('<svg class="icon" aria-hidden="true" focusable="false"><use href="#i-{}"/></svg>').format
    ),
    say=_said,
    several=several,
    number=number,
    translated=translated,
    spoken=spoken,
    outcome=rows.said_of,
    verdict_word=rows.verdict_word,
    value=words.value,
    field=task_words.field,
    minutes=words.minutes,
    progress_of=words.progress,
    day=words.day,
    timed=words.timed,
    sentence=words.sentence,
    by_clock=clock_field.shown,
    rule_of=repetition.rule_of,
    STATUSES=STATUSES,
    PRIORITIES=PRIORITIES,
    UNITS=words.UNITS,
)
TEMPLATES.filters["line"] = one_line
TEMPLATES.filters["text"] = lambda text: "\n".join(lines(text))


def site_of(request: Request) -> Site:
    """What a page looks at. Its picture is taken before anything is read: of what is written while the page is built,
    the page's stream then says that it changed."""
    found: Site = request.app.state.site
    if not hasattr(request.state, "picture"):
        request.state.devices = found.devices()
        request.state.picture = found.picture(request.state.devices)
    return found


def form_of(request: Request) -> Form:
    found: Form = request.state.form
    return found


def origin_of(request: Request) -> str:
    """What an act is noted to be done from, so that it can be taken back from there: the session of the browser."""
    return f"browser {hashlib.sha256(request.state.session.form_token.encode()).hexdigest()[:16]}"


def undoable(request: Request) -> Act | None:
    """The last act from this browser, if it is not taken back."""
    with site_of(request).journal.reading() as reader, suppress(Problem):
        return acts.last_of(reader, origin_of(request))
    return None


def zone_of(connection: HTTPConnection) -> str:
    """The name of the zone in which the browser is, which its script keeps in a cookie; '' if it does not say."""
    name = unquote(connection.cookies.get("zone", ""))
    return name if words.zone_named(name) is not None else ""


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
    devices = request.state.devices
    text = TEMPLATES.get_template(template).render(
        title=title,
        at=at,
        said=said,
        failed=status >= 400,
        here=request.url.path,
        navigation=NAVIGATION,
        **{"waiting": site.waiting()} if "waiting" not in values else {},
        conflict_count=site.conflicts(),
        device_name=next((line.name for line in devices if line.this), ""),
        devices_connected=[line for line in devices if line.connected],
        undoable=undoable(request),
        form_token=request.state.session.form_token,
        picture=request.state.picture,
        now=now,
        moment=lambda instant: words.moment(instant, now),
        when=lambda instant: words.timed(words.moment(instant, now), instant),
        zone=zone_of(request) or f"{there(now):%Z}",
        written_by=lambda by_you, host: _written_by(site, by_you, host),
        verdicts_on=lambda item: _verdicts_on(site, item),
        trouble=lambda error: words.sentence(trouble_text(site, error)),
        choice_on=lambda item: _choice_on(site, item),
        **values,
    )
    return HTMLResponse(text, status)


def _written_by(site: Site, by_you: bool, host: str) -> str:
    """Whose write it was, and on which device."""
    who = say("you") if by_you else say("an agent")
    with site.journal.reading() as reader:
        device = site.names_of_hosts(reader).get(Host(host))
    return say("{who}, on {device}", who=who, device=device) if device else who


def trouble_text(site: Site, trouble: str) -> str:
    """Why an item could not be done, with tasks, items and a category by their titles."""
    with site.journal.reading() as reader:
        return in_titles(reader, trouble)


def _verdicts_on(site: Site, item: str) -> list[tuple[str, ChangeDecision]]:
    """What was decided on an item, each with the device on which it was."""
    return [(site.name_of(one.device), one) for one in site.inbox().verdicts_on(item, site.now())]


def _choice_on(site: Site, item: ItemView) -> tuple[str, str]:
    """What a contested item holds with its effect and what it held before, in words; '' where that is not a value: what
    an item creates is kept whole."""
    if item.creates:
        return "", ""
    choice = site.inbox().choice_on(item.id, site.now())
    path = next((change.path for change in item.changes if change.path in choice.kept), "")
    before = words.value(path, choice.before[path]) if path in choice.before else ""
    return words.value(path, choice.kept[path]) if path else "", before


def back_to(path: str, anchor: str = "", **query: Any) -> Response:
    """The answer to a form that was carried out: the page again, at the place where it was."""
    asked = urlencode({name: value for name, value in query.items() if value != ""})
    address = path + (f"?{asked}" if asked else "") + (f"#{anchor}" if anchor else "")
    return RedirectResponse(address, 303)


def problem_text(problem: Problem) -> str:
    """The sentence of an error, as the command line says it, with the values in it as a page says them."""
    said = {name: words.in_a_sentence(name, held) for name, held in problem.arguments.items()}
    return words.sentence(one_line(say(problem.template, **said)))
