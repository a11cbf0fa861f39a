"""Taking back what was done last from this browser: a button on every page, while there is something to take back."""

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents import creation
from lottisync.device import acts
from lottisync.entities.registers import Stamp
from lottisync.language import say
from lottisync.problem import Problem
from lottisync.review.acts import take_back
from lottisync.review.precedence import is_persons
from lottisync.web import inbox_page, task_page
from lottisync.web.frame import back_to, form_of, origin_of, problem_text, since_of, site_of


def undo(request: Request) -> Response:
    """`POST /undo`: the act that the button named, if it is still the last one from here."""
    site, form, origin = site_of(request), form_of(request), origin_of(request)
    try:
        with site.journal.reading() as reader:
            act = acts.last_of(reader, origin)
            names = site.names_of_hosts(reader)
        if form.one("act") != str(act.n):
            raise Problem("not-the-last", "something else was done since")

        def writer(path: str, stamp: Stamp) -> str:
            device = names.get(stamp.host, say("another device"))
            return device if is_persons(path, stamp.precedence) else say("an agent on {device}", device=device)

        if creation.is_creation(site.agents, act):
            creation.take_back(site.journal, site.agents, act, site.now(), origin)
        else:
            take_back(site.journal, site.verdicts(), act, site.now(), origin, writer)
    except Problem as problem:
        task = form.one("back")
        if task:
            return task_page.shown(request, task, since_of(request), said=problem_text(problem), status=409)
        return inbox_page.shown(request, since_of(request), said=problem_text(problem), status=409)
    return back_to(inbox_page.page_of(form), "", since=since_of(request))
