"""Devices: who is in step with whom; what a person does to a device, and who may join; the browsers that are let in."""

import math
from contextlib import suppress
from typing import NamedTuple

import anyio
import segno
from starlette.requests import Request
from starlette.responses import Response

from lottisync.device import invitations, roster_verbs
from lottisync.language import marked, number, say
from lottisync.net.address import Address, BadAddress, parse
from lottisync.problem import Marked, Problem, Usage
from lottisync.store.instant import iso, there
from lottisync.web.admission import admission_address
from lottisync.web.frame import NOTHING_DONE, back_to, form_of, page, problem_text, site_of
from lottisync.web.gate import Form
from lottisync.web.pairing import Pairing
from lottisync.web.pairing_view import standing
from lottisync.web.site import DeviceLine, Site

TRACK, RAIL = 300, 18
"""The length of a device's line, and the distance of two lines, in the drawing's own units."""
STORES = {"journal": marked("tasks"), "agent": marked("agents"), "space": marked("devices")}
"""What people call the stores, in the order in which they are drawn."""


class Mark(NamedTuple):
    """How far a device is with one store: `x` on the line, the right end is in step."""

    store: Marked
    lacks: int
    x: int
    y: int


class Track(NamedTuple):
    line: DeviceLine
    marks: list[Mark]
    said: str


def devices(request: Request) -> Response:
    """`GET /devices`."""
    return shown(request)


def shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    site, asked = site_of(request), request.query_params
    members = site.devices()
    tracks = [track_of(line) for line in members if line.status != "revoked"]
    behind = sum(1 for track in tracks if not track.line.this and any(mark.lacks for mark in track.marks))
    return page(
        request,
        "devices.html",
        title=say("Devices"),
        at="devices",
        said=said or _done(asked.get("did", ""), asked.get("device", ""), members),
        status=status,
        tracks=tracks,
        stores=STORES.values(),
        behind=behind,
        length=TRACK,
        high=RAIL * len(STORES) + RAIL,
        asks=_question(request) if asked.get("ask") == "revoke" and request.state.near else None,
        pairing=standing(site) if request.state.near else None,
        browsers=[(one, iso(one.admitted), iso(one.seen)) for one in site.browsers.all()],
        near=request.state.near,
        on_network=bool(site.door().network),
    )


def change(request: Request) -> Response:
    """`POST /devices`: rename, retire or revoke one of them, as the command line does."""
    form, site = form_of(request), site_of(request)
    verb, device = form.one("verb"), form.one("device")
    try:
        match verb:
            case "rename":
                roster_verbs.rename(site.home, device, form.one("name"))
            case "retire":
                roster_verbs.retire(site.home, device, {line.device for line in site.devices() if line.connected})
            case "revoke":
                _revoke(site, device, form.one("seen"), form.all("keep"))
            case _:
                raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=verb[:40])
    except Problem as problem:
        return shown(request, said=problem_text(problem), status=400)
    return back_to("/devices", "tracks", did=verb, device=device)


def _revoke(site: Site, device: str, seen: str, keep: list[str]) -> None:
    """Raises `Problem` if other devices rest on it than those that the person was asked about."""
    out = roster_verbs.leaving(site.home, device)
    if seen.split() != [each.device for each in out.resting]:
        raise Problem("changed", NOTHING_DONE)
    roster_verbs.revoke(site.home, out, {each.device for each in out.resting if each.device in keep})


def _question(request: Request) -> roster_verbs.Leaving | None:
    """Who is to be taken out; None if nobody can be."""
    with suppress(Problem):
        return roster_verbs.leaving(site_of(request).home, request.query_params.get("device", ""))
    return None


def _done(verb: str, device: str, members: list[DeviceLine]) -> str:
    """What was done just now, as the command line says it."""
    name = next((line.name for line in members if line.device == device), "")
    match verb if name else "":
        case "rename":
            return say("It is called {name} now.", name=name)
        case "retire":
            return say("{name} is retired: nobody waits for it any more.", name=name)
        case "revoke":
            return say(
                "{name} is out: no device of yours talks to it any more. What it already holds can't be recalled.",
                name=name,
            )
        case _:
            return ""


def track_of(line: DeviceLine) -> Track:
    """A device as it is drawn: a line for each store, and a sentence of what it shows."""
    held = dict.fromkeys(STORES, 0) if line.this else line.lacks
    marks = [
        Mark(STORES[store], held[store], _place(held[store]), RAIL * number)
        for number, store in enumerate(STORES, 1)
        if store in held
    ]
    late = [mark for mark in marks if mark.lacks]
    if line.this:
        said = say("This device.")
    elif not marks:
        said = say("Nothing is known of what it has yet.")
    elif not late:
        said = say("Has all that this device knows of.")
    else:
        parts = [f"{say(mark.store)} {number(mark.lacks)}" for mark in late]
        said = say("Lacks changes: {parts}.", parts=", ".join(parts))
    return Track(line, marks, said)


def _place(lacks: int) -> int:
    """The place on the line: in step at the right end, a hundred thousand changes behind at the left."""
    return round(TRACK * max(0.0, 1 - math.log10(lacks + 1) / 5))


# -- pairing


async def pair(request: Request) -> Response:
    """`POST /pair`."""
    form, site = form_of(request), site_of(request)
    try:
        await _carry_out(form, site.pairing, site)
    except Problem as problem:
        said = problem_text(problem)
        return await anyio.to_thread.run_sync(lambda: shown(request, said=said, status=400))
    return back_to("/devices", "pair")


async def _carry_out(form: Form, pairing: Pairing, site: Site) -> None:
    match form.one("verb"):
        case "show":
            await pairing.show()
        case "stop":
            pairing.stop()
        case "type":
            await pairing.type(form.one("code"), _address(form.one("at")))
        case "invite":
            await anyio.to_thread.run_sync(pairing.invite)
        case "take-back":
            await anyio.to_thread.run_sync(_take_back, site, form.one("number"))
        case other:
            raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=other[:40])


def _take_back(site: Site, number: str) -> None:
    held = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    invitations.take_back(site.home.space, held, site.now())


def _address(text: str) -> Address | None:
    try:
        return parse(text) if text.strip() else None
    except BadAddress as error:
        raise Usage("bad-address", "{error}", error=error.sentence) from None


# -- browsers of the network


def browsers(request: Request) -> Response:
    """`POST /browsers`: put a browser of the network out, or show the code that lets one in."""
    form, site = form_of(request), site_of(request)
    if form.one("verb") == "let-in":
        return _letting_in(request, site)
    with suppress(Problem):  # it is out already
        site.browsers.revoke(form.one("browser"))
    return back_to("/devices", "browsers")


def _letting_in(request: Request, site: Site) -> Response:
    door = site.door()
    if not door.network:
        return back_to("/devices", "browsers")
    made = site.browsers.offer()
    address = admission_address(door.network[0], made.code)
    return page(
        request,
        "letting_in.html",
        title=say("Let in a browser"),
        at="devices",
        code=made.code,
        until=there(made.until).strftime("%H:%M"),
        origin=door.network[0],
        qr=segno.make_qr(address).svg_inline(omitsize=True, border=4, dark="#000", light="#fff"),
        fingerprint=door.fingerprint,
    )
