"""The inbox: what waits for the person, and their word on it.

A verdict carries the digest of the row as it was shown. If the row is another by now, nothing is done, and the answer
is the page with the fresh row.
"""

from contextlib import suppress
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents import attention
from lottisync.journal import tasks
from lottisync.journal.task_action import Topic
from lottisync.language import headed, say, several, translated
from lottisync.problem import Problem
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome
from lottisync.review.verdict import Verdicts
from lottisync.web import rows, task_page, words
from lottisync.web.frame import (
    NOTHING_DONE,
    back_to,
    form_of,
    origin_of,
    page,
    problem_text,
    since_of,
    site_of,
    trouble_text,
    undoable,
)
from lottisync.web.gate import Form
from lottisync.web.site import Site

DAY = 24 * 60 * 60 * 1000
ALL = "all"
"""In an address: not one item was decided but those of a card."""
MAX_OPEN = 30
"""With more items than these, one card is open, and the others are a line each."""
PER_PAGE = 20
"""Cards on a page."""
NOT_DONE = ("stale", "failed")


def inbox(request: Request) -> Response:
    """`GET /inbox`."""
    return shown(request, since_of(request), said=_said_of(request))


def shown(request: Request, since: int, *, said: str = "", status: int = 200) -> Response:
    site = site_of(request)
    now = site.now()
    listed = site.inbox()
    counts = site.counts(since)
    waiting = sum(count.waiting for count in counts)
    part = _part(request)
    lines = rows.folded(counts, slice(part.page * PER_PAGE, (part.page + 1) * PER_PAGE))
    opened = lines if waiting <= MAX_OPEN else [line for line in lines if line.ident == part.open] or lines[:1]
    sets, aside = listed.opened([ident for line in opened for ident in line.sets], now)
    found = rows.cards(sets)
    in_place = {row.item.id for card in found for row in card.rows}
    apart = [item for item in aside if item.id not in in_place]
    return page(
        request,
        "inbox.html",
        title=say("Inbox"),
        at="inbox",
        status=status,
        said=said,
        waiting=waiting,
        cards=found,
        folded=[line for line in lines if line not in opened],
        titles=listed.titles({line.task_id for line in lines}),
        names=listed.names({line.agent_id for line in lines}),
        opened=part,
        more=len({(count.task_id, count.agent_id) for count in counts}) > (part.page + 1) * PER_PAGE,
        put_off=[rows.row_of(item) for item in apart if item.status == "deferred"],
        expired=[rows.row_of(item) for item in apart if item.expired],
        since=since,
        attention=_attention(site),
        minds=None if found else _minds(site),
        progress=_progress(site, found),
        heeded=sum(card.heeded for card in found) if waiting <= MAX_OPEN else 0,
        back="",
    )


class InboxPart(NamedTuple):
    """Where on the inbox a visitor is: which page, from 0 on, and which card they opened."""

    page: int
    open: str


def _part(request: Request) -> InboxPart:
    """The part that was asked for. A form says so, too, so that its answer is the same page."""
    given = form_of(request).one if request.method == "POST" else lambda name: request.query_params.get(name, "")
    number = int(text) if (text := given("page")).isascii() and text.isdigit() and len(text) < 7 else 0
    return InboxPart(number, given("open")[:200])


def _attention(site: Site) -> list[attention.Open]:
    """What agents want the person to look at, and can be read: `status` names what is damaged."""
    with site.agents.reading() as reader, site.journal.reading() as journal:
        return attention.open_requests(reader, journal, [])


class Minds(NamedTuple):
    """How many agents may propose something, and when one of them woke last."""

    agents: int
    woke: str


def _minds(site: Site) -> Minds:
    with site.agents.reading() as reader:
        minding = {one.id for one in reader.by_type("agent") if one.value("lifecycle") != "destroyed"}
        states = [one for one in reader.by_type("agentState") if one.value("agentId") in minding]
    return Minds(len(minding), max((str(one.value("lastWakeAt") or "") for one in states), default=""))


def _progress(site: Site, cards: list[rows.Card]) -> dict[str, str]:
    """How far the checklists of the tasks are, for the cards that propose something for them."""
    found = {}
    with site.journal.reading() as reader:
        for card in cards:
            if any(group.topic is Topic.CHECKLIST for group in card.groups):
                with suppress(Problem):  # a task that is not here
                    found[card.task_id] = words.progress(tasks.page(reader, card.task_id))
    return found


def decide(request: Request) -> Response:
    """`POST /decide`: the person's word on one item."""
    form, site = form_of(request), site_of(request)
    ident, digest = form.one("item"), form.one("shown")
    try:
        item = site.inbox().item(ident, site.now())
        if not digest or item.shown != digest:
            return _again(request, say(NOTHING_DONE))
        outcome = _verdict(site.verdicts(origin_of(request)), form, item, site.now())
    except Problem as problem:
        return _again(request, problem_text(problem), 400)
    if outcome.result in NOT_DONE:
        return _again(request, say(NOTHING_DONE) if outcome.view is not None else _why_not(site, outcome))
    return back_to(page_of(form), rows.row_of(item).ident, since=since_of(request), done=ident, **_kept(form))


def _verdict(verdicts: Verdicts, form: Form, item: ItemView, now: int) -> Outcome:
    match form.one("verdict"):
        case "confirm":
            return verdicts.confirm(item.id, now, shown=item.shown)
        case "confirm-anyway":
            return verdicts.confirm(item.id, now, against="current", shown=item.shown)
        case "edit":
            typed = {key.removeprefix("arg-"): value for key, value in form.pairs if key.startswith("arg-")}
            return verdicts.confirm(item.id, now, edited_args=rows.edited(item, typed), shown=item.shown)
        case "reject":
            [outcome] = verdicts.reject_selected(
                [item.id], now, form.one("reason") or None, shown={item.id: item.shown}
            )
            return outcome
        case "defer":
            return verdicts.defer_selected([item.id], now + DAY, now, shown={item.id: item.shown})[0]
        case "undo":
            return verdicts.undo(item.id, now, shown=item.shown)
        case "keep":
            return verdicts.keep(item.id, now, shown=item.shown)
        case other:
            raise Problem("bad-verdict", "there is no verdict {verdict!r}", verdict=other[:40])


def decide_all(request: Request) -> Response:
    """`POST /decide-all`: one word on several items, which the form names with the digest of each."""
    form, site = form_of(request), site_of(request)
    seen = dict(pair.rpartition(" ")[::2] for pair in form.all("seen"))
    now = site.now()
    try:
        verdicts = site.verdicts(origin_of(request))
        if form.one("verdict") == "confirm":
            outcomes = verdicts.confirm_selected(seen, now, shown=seen)
        else:
            outcomes = verdicts.reject_selected(seen, now, form.one("reason") or None, shown=seen)
    except Problem as problem:
        return _again(request, problem_text(problem), 400)
    left = [outcome for outcome in outcomes if outcome.result in NOT_DONE]
    if left:
        done = len(outcomes) - len(left)
        changed = several(
            "{done} done. {count} changed while you looked, and waits.",
            "{done} done. {count} changed while you looked, and wait.",
            len(left),
            done=done,
        )
        return _again(request, changed)
    return back_to(page_of(form), form.one("card"), since=since_of(request), done=ALL, **_kept(form))


def _again(request: Request, said: str, status: int = 409) -> Response:
    """The page with what is there now."""
    task = form_of(request).one("back")
    if task:
        return task_page.shown(request, task, since_of(request), said=said, status=status)
    return shown(request, since_of(request), said=said, status=status)


def _kept(form: Form) -> dict[str, str]:
    """Where on the inbox the form was, for the address that follows."""
    return {} if form.one("back") else {"page": form.one("page"), "open": form.one("open")}


def page_of(form: Form) -> str:
    task = form.one("back")
    return f"/tasks/{task}" if task.isprintable() and task and "/" not in task else "/inbox"


def _why_not(site: Site, outcome: Outcome) -> str:
    message = trouble_text(site, outcome.message) if outcome.message else ""
    return words.sentence(say("Could not be done: {reason}", reason=message)) if message else say(NOTHING_DONE)


def _said_of(request: Request) -> str:
    """What was done just now, for those who hear the page: the state of the row that the address names, or how many
    were decided at once."""
    ident = request.query_params.get("done", "")
    if not ident:
        return ""
    if ident == ALL:
        act = undoable(request)
        said = translated(act.said) if act is not None else ""
        return said[:1].upper() + said[1:]
    site = site_of(request)
    try:
        row = rows.row_of(site.inbox().item(ident, site.now()))
    except Problem:
        return ""
    if row.state == "waits":
        return say("Waits again: {what}", what=row.item.summary)
    return headed(row.said.capitalize(), row.item.summary)
