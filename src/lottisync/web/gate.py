"""What every request passes before a page sees it (docs/specs/18-web.md, section 3).

Each attack is refused here, by name: the answer's body begins with a code, like `other-host`. Pages behind the gate
know that a session is there, and that a write came from a form of ours.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import parse_qsl

import anyio
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lottisync.language import marked, say
from lottisync.web.access import Entrance

MOST_BYTES = 256 * 1024
"""For a form. A note has 100,000 characters; the digests of a thousand rows have 140 kB."""
BODY_SECONDS = 10.0
"""How long a form may take to arrive."""
MAX_FIELDS = 2_100
MAX_HEADER_BYTES = 16 * 1024
"""For the first line and the headers of a request together."""
FOR_STRANGERS = ("/enter", "/authority.crt")
ONLY_HERE = ("/browsers", "/pair", "/settings", "/devices")
"""Where a browser of the network may read but not write: what decides who may see and do things."""
NETWORK_SECONDS = 7 * 24 * 3600
"""How long a phone keeps its cookie; the server looks at the age itself."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms. No other site gets a referrer.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
REFUSALS = {
    "other-host": (421, marked("This server answers under its own name only. Open it with: {command}")),
    "bad-method": (405, marked("Pages are read with GET and changed with POST.")),
    "other-origin": (403, marked("This form was not sent by a page of this server.")),
    "not-let-in": (401, marked("This browser is not let in, or no longer. Open the pages with: {command}")),
    "only-here": (403, marked("This can be done in a terminal, or in a browser on the device itself.")),
    "bad-form": (400, marked("This form cannot be read.")),
    "bad-form-token": (403, marked("This form is not of this session. Load the page again.")),
    "large-head": (431, marked("The head of a request has 16 kB at most.")),
    "too-large": (413, marked("A form has 256 kB at most.")),
    "too-slow": (408, marked("The form did not arrive in time.")),
}


class Form(NamedTuple):
    """What a form sent: every value of every name, in order."""

    pairs: list[tuple[str, str]]

    def one(self, name: str) -> str:
        """The first value of a name; '' if there is none."""
        return next((value for key, value in self.pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]


class RefusedRequest(Exception):
    """A request that goes no further; `code` is one of `REFUSALS`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Gate:
    """The outermost layer of the application, at one entrance. `outside` is the page of a browser that is not let in,
    made of the code and the sentence."""

    def __init__(self, app: ASGIApp, entrance: Entrance, outside: Callable[[str, str, int], Response]) -> None:
        self._app = app
        self._entrance = entrance
        self._outside = outside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope, receive)
        guarded = _with_headers(send, cached=request.url.path.startswith("/static/"))
        try:
            await self._let_in(request)
            guarded = self._with_cookie(request, guarded)
        except RefusedRequest as refused:
            await self._refusal(request, refused.code)(scope, receive, guarded)
            return
        except ClientDisconnect:
            return
        await self._app(scope, receive, guarded)

    async def _let_in(self, request: Request) -> None:
        entrance, path = self._entrance, request.url.path
        if _header_bytes(request) > MAX_HEADER_BYTES:
            raise RefusedRequest("large-head")
        if not set(request.headers.getlist("host")) <= entrance.hosts or len(request.headers.getlist("host")) != 1:
            raise RefusedRequest("other-host")
        if request.method not in ("GET", "HEAD", "POST"):
            raise RefusedRequest("bad-method")
        writes = request.method == "POST"
        if writes:
            self._check_origin(request)
        session = entrance.session(request.cookies.get(entrance.cookie))
        if session is None and path not in FOR_STRANGERS and not path.startswith("/static/"):
            raise RefusedRequest("not-let-in")
        request.state.session, request.state.near = session, entrance.near
        if writes and path in ONLY_HERE and not entrance.near:
            raise RefusedRequest("only-here")
        if writes:
            request.state.form = form = await read_form(request)
            if path != "/enter" and (session is None or form.one("form-token") != session.form_token):
                raise RefusedRequest("bad-form-token")
            if session is not None:
                verb = form.one("verdict") or form.one("verb")
                entrance.wrote(session, path, verb, form.one("item") or form.one("entity"))

    def _refusal(self, request: Request, code: str) -> Response:
        """The answer. A browser of the network is also told the command that lets it in."""
        status, text = REFUSALS[code]
        said = say(text, command="lottisync open" if self._entrance.near else "lottisync open --phone")
        if code == "not-let-in" and "text/html" in request.headers.get("accept", ""):
            return self._outside(code, said, status)
        return PlainTextResponse(f"{code}: {said}\n", status)

    def _check_origin(self, request: Request) -> None:
        """The `Origin` header has to be this entrance's, and `Sec-Fetch-Site`, if it was sent, `same-origin`. No page
        can make a browser send a false one."""
        [host] = request.headers.getlist("host")
        if request.headers.getlist("origin") != [f"{self._entrance.scheme}://{host}"]:
            raise RefusedRequest("other-origin")
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise RefusedRequest("other-origin")

    def _with_cookie(self, request: Request, send: Send) -> Send:
        """Sends the new cookie of a renewed session with the answer."""
        fresh = self._entrance.renewed(request.cookies.get(self._entrance.cookie)) if request.state.session else None
        if fresh is None or request.url.path in ("/leave", "/enter"):
            return send
        given = fresh

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", cookie_header(self._entrance, given))
            await send(message)

        return guarded


def _header_bytes(request: Request) -> int:
    """How large the first line and the headers of a request are. The server itself measures only those that arrive in
    pieces."""
    return len(str(request.url)) + sum(len(name) + len(value) for name, value in request.headers.raw)


def cookie_header(entrance: Entrance, value: str) -> str:
    """`Set-Cookie`; an empty value takes the cookie away."""
    secure = "; Secure" if entrance.scheme == "https" else ""
    stays = "; Max-Age=0" if not value else "" if entrance.near else f"; Max-Age={NETWORK_SECONDS}"
    return f"{entrance.cookie}={value}; HttpOnly; SameSite=Strict; Path=/{secure}{stays}"


async def read_form(request: Request) -> Form:
    """The form of a request, as browsers send one without files. Raises `RefusedRequest`."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise RefusedRequest("bad-form")
    held = bytearray()
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for chunk in request.stream():
                held += chunk
                if len(held) > MOST_BYTES:
                    raise RefusedRequest("too-large")
    except TimeoutError:
        raise RefusedRequest("too-slow") from None
    try:
        pairs = parse_qsl(held.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise RefusedRequest("bad-form") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in pairs])


def _with_headers(send: Send, *, cached: bool) -> Callable[[Message], Awaitable[None]]:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["Cache-Control"] = "no-cache" if cached else "no-store"
        await send(message)

    return guarded
