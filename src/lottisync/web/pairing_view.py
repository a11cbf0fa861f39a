"""The state of pairing, as the page of the devices shows it to a browser of this machine."""

from typing import NamedTuple

import segno

from lottisync.device.invitations import Given
from lottisync.language import say
from lottisync.problem import Problem
from lottisync.store.instant import there
from lottisync.web.frame import problem_text
from lottisync.web.pairing import Joined, Shown
from lottisync.web.site import Site


class InvitationView(NamedTuple):
    """An invitation that was given out: `state` is open, used or expired; `uri` and its drawing only while it is
    open."""

    number: int
    state: str
    until: str
    uri: str
    qr: str
    failure: str
    joined: str
    words: str


class StandingView(NamedTuple):
    """What the page shows of pairing: the code with its clock time, how the last one ended, the invitations."""

    shown: Shown | None
    until: str
    joined: Joined | None
    failed: str
    invitations: list[InvitationView]


def standing(site: Site) -> StandingView:
    """The state of pairing now."""
    pairing, now = site.pairing, site.now()
    shown, ended = pairing.shown, pairing.ended
    return StandingView(
        shown,
        _clock(shown.until) if shown is not None else "",
        ended if isinstance(ended, Joined) else None,
        problem_text(ended) if isinstance(ended, Problem) else "",
        [_invitation(site, each, now) for each in site.invitations()],
    )


def _invitation(site: Site, each: Given, now: int) -> InvitationView:
    state = each.state_at(now)
    uri = each.invitation(site.home.id).uri if state == "open" and each.port else ""
    qr = segno.make_qr(uri, error="l").svg_inline(omitsize=True, border=4, dark="#000", light="#fff") if uri else ""
    said = {"open": say("open"), "used": say("used"), "expired": say("expired")}[state]
    return InvitationView(
        each.number, said, _clock(each.until), uri, qr, each.failure, each.name or "", each.words or ""
    )


def _clock(at: int) -> str:
    return there(at).strftime("%H:%M")
