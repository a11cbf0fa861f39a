"""Devices: who is in step with whom, and what became of everything that was proposed."""

import math
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.proposal_record import proposal_records
from lottisync.web import words
from lottisync.web.frame import page, site_of
from lottisync.web.site import DeviceLine
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
    tracks = [track_of(line) for line in site_of(request).devices() if line.status != "revoked"]
    behind = sum(1 for track in tracks if not track.line.this and any(mark.lacks for mark in track.marks))
    return page(request, "devices.html", title=say("Devices"), at="devices", tracks=tracks, behind=behind, length=TRACK)


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
