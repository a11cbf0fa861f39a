"""How a browser is let in: a page with one button, and what pressing it does."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lottisync.language import say
from lottisync.web.access import Entrance
from lottisync.web.frame import TEMPLATES, form_of
from lottisync.web.gate import cookie_header

Page = Callable[[Request], Response]
KINDS = ("iPhone", "iPad", "Android", "Macintosh", "Windows", "Linux")


def pages(entrance: Entrance, authority: bytes | None, fingerprint: str) -> tuple[Page, Page, Page, Page]:
    """The pages of an entrance: look at the door, enter, leave, and the certificate that a phone has to trust."""

    def door(token: str, name: str = "", said: str = "", status: int = 200) -> Response:
        text = TEMPLATES.get_template("enter.html").render(
            token=token, said=said, near=entrance.near, name=name, fingerprint=fingerprint, trust=authority is not None
        )
        return HTMLResponse(text, status)

    def look(request: Request) -> Response:
        """`GET /enter`: shows the button. Only pressing it uses the token up."""
        return door(request.query_params.get("token", "")[:200], _kind(request))

    def enter(request: Request) -> Response:
        """`POST /enter`."""
        form = form_of(request)
        cookie = entrance.enter(form.one("token"), form.one("name"))
        if cookie is None:
            how = "lottisync open" if entrance.near else "lottisync open --phone"
            said = say("This code was used already, or is too old. Ask for a new one: {command}", command=how)
            return door("", _kind(request), said, 403)
        answer = RedirectResponse("/inbox", 303)
        answer.headers.append("set-cookie", cookie_header(entrance, cookie))
        return answer

    def leave(request: Request) -> Response:
        """`POST /leave`: this browser is let in no more."""
        entrance.leave(request.cookies.get(entrance.cookie))
        answer = door("", said=say("This browser is no longer let in."))
        answer.headers.append("set-cookie", cookie_header(entrance, ""))
        return answer

    def trusted(request: Request) -> Response:
        """`GET /authority.crt`: public, and to be compared by its fingerprint."""
        if authority is None:
            return Response(status_code=404)
        return Response(authority, media_type="application/x-x509-ca-cert")

    return look, enter, leave, trusted


def outside(code: str, said: str, status: int) -> Response:
    """The page of a browser that is not let in, or no longer: what to do, and nothing of the home."""
    return HTMLResponse(TEMPLATES.get_template("outside.html").render(code=code, said=said), status)


def _kind(request: Request) -> str:
    """What the person may call this browser."""
    agent = request.headers.get("user-agent", "")
    return next((kind for kind in KINDS if kind in agent), "")
