"""Settings: what agents may do, on all devices (docs/specs/09-agents.md, section 12), and what a person sets once for
this device (docs/specs/11-command-line.md, section 5)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents import spending, switch
from lottisync.agents.spending import MAX_TOKENS_PER_DAY
from lottisync.journal import never_sent
from lottisync.language import marked, say
from lottisync.problem import Problem, Usage
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store.transaction import Transaction
from lottisync.web.frame import back_to, form_of, page, problem_text, site_of
from lottisync.web.site import Setting

COMMAND = "on-pending.command"
"""The setting that is run. A browser of the network does not even see it: it may name a key or an address."""
SAID = {
    "listen": (
        marked("Where other devices find this one"),
        marked("HOST:PORT. Without it, a free port of all addresses."),
    ),
    "web": (
        marked("Where these pages are"),
        marked("HOST:PORT, or off. Without it, port 22080 of this machine alone."),
    ),
    "discovery": (marked("Find devices in this network"), marked("The device announces itself by mDNS.")),
    "language": (marked("Language of the pages"), marked("Without it, that of the browser.")),
    "agents": (
        marked("Agents wake on this device"),
        marked("Off: none does, and nothing is sent to a model from here."),
    ),
    COMMAND: (
        marked("Command that calls you when proposals wait"),
        marked("A program and its arguments, run on this device by your user. Without it, none is run."),
    ),
    "on-pending.device": (
        marked("Device that calls you at once"),
        marked("Its name. Without it, this one."),
    ),
    "on-pending.after": (
        marked("Minutes that a device waits if it is not the chosen one"),
        marked("Then it calls for what still waits. Without it, 10."),
    ),
}
"""What people call a setting, and what it means. One that is not here is called by its own name."""


NAMES = {"en": "English", "de": "Deutsch", "es": "Español", "fr": "Français", "ro": "Română"}
"""The languages of the pages, as those who speak them call them."""


class SettingLine(NamedTuple):
    """A setting as the page shows it: `choices` are (value, name), none for a text."""

    setting: Setting
    label: str
    meaning: str
    value: str
    choices: list[tuple[str, str]]


def settings(request: Request) -> Response:
    """`GET /settings`."""
    changed = request.query_params.get("changed", "")
    said = say("Kept. The daemon reads it when it starts next.") if changed else ""
    return _shown(request, said=said)


def change(request: Request) -> Response:
    """`POST /settings`: what agents may do, or one setting. The usual value takes its line out of the file."""
    form, site = form_of(request), site_of(request)
    verb, name, value = form.one("verb"), form.one("name"), form.one("value").strip()
    try:
        if verb in RULES:
            with site.agents.transaction(site.now(), PERSON) as tx:
                RULES[verb](tx, value)
            return back_to("/settings", "agents")
        if verb == "send-again":
            with site.journal.transaction(site.now(), PERSON) as tx:
                never_sent.mark(tx, name, never=False)
            return back_to("/settings", "agents")
        site.settings.change(name, value or None)
    except Problem as problem:
        return _shown(request, said=problem_text(problem), status=400)
    return back_to("/settings", f"setting-{name}", changed=name)


def tokens(text: str) -> int | None:
    """Tokens a day; None without a limit. Raises `Usage`."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= MAX_TOKENS_PER_DAY):
        raise Usage("bad-value", "a limit is a number of tokens; got {text}", text=quoted(text[:40]))
    return int(text)


RULES: Mapping[str, Callable[[Transaction, str], object]] = {
    "agents-off": lambda tx, value: switch.turn(tx, off=True),
    "agents-on": lambda tx, value: switch.turn(tx, off=False),
    "limit": lambda tx, value: switch.limit(tx, tokens(value)),
}
"""What the person says of all agents at once, by the name that the forms give it."""


def _shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    site = site_of(request)
    with site.agents.reading() as reader:
        rules, spent = switch.read(reader), spending.used(reader, spending.day_of(site.now()))
    with site.journal.reading() as reader:
        marked = never_sent.all_marked(reader)
    lines, failure = [], ""
    try:
        lines = [_line(each, near=request.state.near) for each in site.settings.all()]
    except Problem as problem:
        failure = problem_text(problem)
    return page(
        request,
        "settings.html",
        title=say("Settings"),
        at="settings",
        said=said or failure,
        status=status,
        lines=lines,
        rules=rules,
        spent=spent,
        marked=marked,
        near=request.state.near,
    )


def _line(setting: Setting, *, near: bool) -> SettingLine:
    label, meaning = SAID.get(setting.name, (setting.name, ""))
    if setting.name == COMMAND and not near:
        return SettingLine(setting, say(label), say(meaning), say("is set") if setting.given else "", [])
    if isinstance(setting.usual, bool):
        choices = [("true", say("On")), ("false", say("Off"))]
        return SettingLine(setting, say(label), say(meaning), str(setting.value).lower(), choices)
    choices = [("", say("As the browser asks")), *NAMES.items()] if setting.name == "language" else []
    return SettingLine(setting, say(label), say(meaning), str(setting.value or ""), choices)
