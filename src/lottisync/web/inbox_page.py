"""The inbox: what waits for the person, and their word on it.

A verdict carries the digest of the row as it was shown. If the row is another by now, nothing is done, and the answer
is the page with the fresh row.
"""

from starlette.requests import Request
from starlette.responses import Response

from lottisync.problem import Problem
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome
from lottisync.review.verdict import Verdicts
from lottisync.web import rows, task_page
from lottisync.web.frame import NOTHING_DONE, back_to, form_of, page, since_of, site_of, told
from lottisync.web.gate import Form
from lottisync.web.words import say, several

DAY = 24 * 60 * 60 * 1000
NOT_DONE = ("stale", "failed")


def inbox(request: Request) -> Response:
    """`GET /inbox`."""
    return shown(request, since_of(request), said=_said_of(request))


def shown(request: Request, since: int, *, said: str = "", status: int = 200) -> Response:
    site = site_of(request)
    now = site.now()
    listed = site.inbox()
    found = rows.cards(listed.visited_sets(now, since))
    apart = [
        item for one in listed.unsettled_sets(now) for item in one.items if item.status == "deferred" or item.expired
    ]
    return page(
        request,
        "inbox.html",
        title=say("Inbox"),
        at="inbox",
        status=status,
        said=said,
        cards=found,
        put_off=[rows.row_of(item) for item in apart if item.status == "deferred"],
        expired=[rows.row_of(item) for item in apart if item.expired],
        since=since,
        heeded=sum(card.heeded for card in found),
        back="",
    )


def decide(request: Request) -> Response:
    """`POST /decide`: the person's word on one item."""
    form, site = form_of(request), site_of(request)
    ident, digest = form.one("item"), form.one("shown")
    try:
        item = site.inbox().item(ident, site.now())
        if not digest or item.shown != digest:
            return _again(request, NOTHING_DONE)
        outcome = _verdict(site.verdicts(), form, item, site.now())
    except Problem as problem:
        return _again(request, told(problem), 400)
    if outcome.result in NOT_DONE:
        return _again(request, NOTHING_DONE if outcome.view is not None else _why_not(outcome))
    return back_to(_place(form), rows.row_of(item).ident, since=since_of(request), done=ident)


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
            return verdicts.defer(item.id, now + DAY, now)
        case "undo":
            return verdicts.undo(item.id, now)
        case "keep":
            return verdicts.keep(item.id, now)
        case other:
            raise Problem("bad-verdict", "there is no verdict {verdict!r}", verdict=other[:40])


def decide_all(request: Request) -> Response:
    """`POST /decide-all`: one word on several items, which the form names with the digest of each."""
    form, site = form_of(request), site_of(request)
    seen = dict(pair.rpartition(" ")[::2] for pair in form.all("seen"))
    now = site.now()
    try:
        if form.one("verdict") == "confirm":
            outcomes = site.verdicts().confirm_selected(seen, now, shown=seen)
        else:
            outcomes = site.verdicts().reject_selected(seen, now, form.one("reason") or None, shown=seen)
    except Problem as problem:
        return _again(request, told(problem), 400)
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
    return back_to(_place(form), form.one("card"), since=since_of(request))


def _again(request: Request, said: str, status: int = 409) -> Response:
    """The page with what is there now."""
    task = form_of(request).one("back")
    if task:
        return task_page.shown(request, task, since_of(request), said=said, status=status)
    return shown(request, since_of(request), said=said, status=status)


def _place(form: Form) -> str:
    task = form.one("back")
    return f"/tasks/{task}" if task.isprintable() and task and "/" not in task else "/inbox"


def _why_not(outcome: Outcome) -> str:
    message = outcome.message
    return say("Could not be done: {reason}", reason=message) if message else NOTHING_DONE


def _said_of(request: Request) -> str:
    """What was done just now, for those who hear the page: the state of the row that the address names."""
    ident = request.query_params.get("done", "")
    if not ident:
        return ""
    site = site_of(request)
    try:
        row = rows.row_of(site.inbox().item(ident, site.now()))
    except Problem:
        return ""
    if row.state == "waits":
        return say("Waits again: {what}", what=row.item.summary)
    return f"{row.said.capitalize()}: {row.item.summary}"
