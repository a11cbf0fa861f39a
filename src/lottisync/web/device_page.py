"""Devices: who is in step with whom, and what became of everything that was proposed."""

import math
from contextlib import suppress
from typing import NamedTuple

import segno
from starlette.requests import Request
from starlette.responses import Response

from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.proposal_record import proposal_records
from lottisync.store.instant import iso
from lottisync.web import words
from lottisync.web.admission import admission_address
from lottisync.web.frame import back_to, form_of, page, site_of
from lottisync.web.site import DeviceLine, Site
from lottisync.web.words import say, several

TRACK = 300
"""The length of the line on which a device stands, in its drawing's own units."""
MOST_LINES = 200


class Mark(NamedTuple):
    """Where a device stands with one store: `x` on the line, the right end is in step."""

    store: str
    lacks: int
    x: int


class Track(NamedTuple):
    line: DeviceLine
    marks: list[Mark]
    said: str


def devices(request: Request) -> Response:
    """`GET /devices`."""
    site = site_of(request)
    tracks = [track_of(line) for line in site.devices() if line.status != "revoked"]
    behind = sum(1 for track in tracks if not track.line.this and any(mark.lacks for mark in track.marks))
    return page(
        request,
        "devices.html",
        title=say("Devices"),
        at="devices",
        tracks=tracks,
        behind=behind,
        length=TRACK,
        browsers=[(one, iso(one.admitted), iso(one.seen)) for one in site.browsers.all()],
        near=request.state.near,
        on_network=bool(site.door().network),
    )


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
        until=words.local(made.until).strftime("%H:%M"),
        origin=door.network[0],
        qr=segno.make_qr(address).svg_inline(omitsize=True, border=4, dark="#000", light="#fff"),
        fingerprint=door.fingerprint,
    )


def track_of(line: DeviceLine) -> Track:
    marks = [Mark(store, lacks, _place(lacks)) for store, lacks in line.lacks.items()]
    late = [mark for mark in marks if mark.lacks]
    if line.this:
        said = say("This device.")
    elif not marks:
        said = say("Nothing is known of what it has yet.")
    elif not late:
        said = say("Has all that this device knows of.")
    else:
        parts = [f"{words.say(mark.store)} {mark.lacks:,}" for mark in late]
        said = say("Lacks changes: {parts}.", parts=", ".join(parts))
    return Track(line, marks, said)


def _place(lacks: int) -> int:
    """In step at the right end; a hundred thousand changes behind at the left."""
    return round(TRACK * max(0.0, 1 - math.log10(lacks + 1) / 5))


def activity(request: Request) -> Response:
    """`GET /activity`: what was proposed and what became of it, the newest first."""
    site = site_of(request)
    now = site.now()
    found = proposal_records(site.journal, site.agents, ACTIONS, now)
    newest = sorted(found, key=lambda one: max([one.proposed_at, *(d.created_at for d in one.decisions)]), reverse=True)
    return page(
        request,
        "activity.html",
        title=say("Activity"),
        at="activity",
        proposal_records=newest[:MOST_LINES],
        left=max(len(newest) - MOST_LINES, 0),
        head=several("{count} proposal", "{count} proposals", len(newest)),
    )
