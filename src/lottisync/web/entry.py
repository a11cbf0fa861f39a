"""How a browser is let in: a page with one button, and what pressing it does."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lottisync.web.access import COOKIE, Access
from lottisync.web.frame import TEMPLATES, form_of
from lottisync.web.words import say

Page = Callable[[Request], Response]


def pages(access: Access) -> tuple[Page, Page, Page]:
    """The pages of an access: look at the door, enter, leave."""

    def look(request: Request) -> Response:
        """`GET /enter`: shows the button. Only pressing it uses the token up."""
        return _door(request.query_params.get("token", "")[:200])

    def enter(request: Request) -> Response:
        """`POST /enter`."""
        cookie = access.enter(form_of(request).one("token"))
        if cookie is None:
            return _door(
                "", say("This address was used already, or is too old. Ask for a new one: lottisync open"), 403
            )
        answer = RedirectResponse("/inbox", 303)
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return answer

    def leave(request: Request) -> Response:
        """`POST /leave`: this browser is let in no more."""
        access.leave(request.cookies.get(COOKIE))
        answer = _door("", say("This browser is no longer let in."))
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
        return answer

    return look, enter, leave


def _door(token: str, said: str = "", status: int = 200) -> Response:
    return HTMLResponse(TEMPLATES.get_template("enter.html").render(token=token, said=said), status)
