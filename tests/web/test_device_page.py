"""Devices on a page: paired, renamed, retired, revoked (docs/specs/18-web.md, section 7)."""

import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.support.event_loop import until
from tests.web.test_admission import Phone
from tests.web.visitor import Visitor, answering

from lottisync.daemon.home import TaskHome
from lottisync.device import clock, pairing
from lottisync.device.absence import Away
from lottisync.device.invitation_server import InvitationServer
from lottisync.device.membership import put_membership
from lottisync.device.pairing import LOOPBACK, admit, own_side
from lottisync.device.peers import remember_absences
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.invitation import parse_invitation
from lottisync.identity.pairing_message import PairingError
from lottisync.identity.statement import MembershipRecord
from lottisync.language import say
from lottisync.net.address import Address
from lottisync.net.pairing import accept
from lottisync.review.precedence import PERSON
from lottisync.web.frame import NOTHING_DONE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TaskHome]:
    home = TaskHome.create(tmp_path / "server", "attic server")
    yield home
    home.close()


def take_in(visitor: Visitor, other: TaskHome) -> str:
    visitor.home.members.add(other.name, other.key.certificate, clock.now())
    return other.id


def test_web_1066_why_a_device_is_away_is_said_with_the_times_of_the_pages(visitor: Visitor, server: TaskHome) -> None:
    """WEB-1066: by the clock of the browser, in its language. It said `2026-11-24 03:53`."""
    device = take_in(visitor, server)
    away = Away("unreachable", "2026-11-24T03:53:00.000Z", "2026-11-23T21:10:00.000Z", "192.0.2.2:36591")
    remember_absences(visitor.home.space, {device: away}, clock.now())
    visitor.client.headers["accept-language"] = "de"
    visitor.client.cookies.set("zone", "Asia/Tokyo")
    page = visitor.get("/devices")
    assert "seit Di 24. Nov. 2026, 06:10, zuletzt versucht Di 24. Nov. 2026, 12:53" in page


def status_of(visitor: Visitor, device: str) -> tuple[str, str]:
    member = visitor.home.roster().members[device]
    return member.name, member.status


def test_web_80_a_code_on_the_page_pairs_a_device(visitor: Visitor, server: TaskHome) -> None:
    with answering(visitor):
        page = visitor.post("/pair", verb="show")
        code, port = (
            re.findall(r'<p class="code">([0-9-]+)</p>', page)[0],
            re.findall(r"THIS-MACHINE:([0-9]+)", page)[0],
        )
        before = visitor.site.picture()
        paired = anyio.run(lambda: pairing.pair(server, code, at=Address("127.0.0.1", int(port))))
        page = settled(visitor, before)
    assert "Paired with attic server." in page
    assert " ".join(paired.words) in page
    assert status_of(visitor, server.id) == ("attic server", "active")


def settled(visitor: Visitor, before: str) -> str:
    """The page once the pairing has ended: that stays."""
    assert visitor.client.portal is not None

    visitor.client.portal.call(until, lambda: visitor.site.pairing.ended is not None)
    assert visitor.site.picture() != before
    return visitor.get("/devices")


def test_web_80_a_code_is_shown_until_it_is_stopped(visitor: Visitor) -> None:
    with answering(visitor):
        first = visitor.site.pairing
        visitor.post("/pair", verb="show")
        shown = first.shown
        page = visitor.post("/pair", verb="show")
        assert first.shown is not None
        assert first.shown != shown
        assert first.shown.code in page
        page = visitor.post("/pair", verb="stop")
        assert 'class="code"' not in page
        assert "not good" not in visitor.get("/devices")


def test_web_80_a_code_from_there_is_typed_here(visitor: Visitor, server: TaskHome) -> None:
    shown: list[tuple[str, int]] = []

    async def show() -> None:
        async with pairing.offering(server, LOOPBACK, discover=False) as offer:
            shown.append((offer.code, offer.port))
            await offer.paired()

    with answering(visitor):
        assert visitor.client.portal is not None
        other = visitor.client.portal.start_task_soon(show)

        visitor.client.portal.call(until, lambda: bool(shown))
        [(code, port)] = shown
        page = visitor.post("/pair", verb="type", code=code, at=f"127.0.0.1:{port}")
        other.result()
    assert "Paired with attic server." in page
    assert status_of(visitor, server.id) == ("attic server", "active")


@pytest.mark.parametrize(
    ("code", "at", "said"),
    [
        ("12", "", "9 digits"),
        ("123456789", "nowhere", "HOST:PORT"),
        ("123456789", "127.0.0.1:1", "No device shows"),
    ],
)
def test_web_80_what_cannot_be_typed_is_said(visitor: Visitor, code: str, at: str, said: str) -> None:
    assert said in visitor.post("/pair", 400, verb="type", code=code, at=at)


def test_web_81_a_phone_sees_no_code_and_does_none_of_this(visitor: Visitor) -> None:
    phone = Phone(visitor)
    phone.let_in()
    with answering(visitor):
        visitor.post("/pair", verb="show")
        visitor.post("/pair", verb="invite")
        shown = visitor.site.pairing.shown
        assert shown is not None
        page = phone.client.get("/devices").text
        assert shown.code not in page
        assert 'action="/pair"' not in page
        assert "lottisync-pair" not in page
    for path in ("/pair", "/devices", "/settings"):
        status, text = phone.post(path, verb="show", name="agents", value="false")
        assert (status, text.partition(":")[0]) == (403, "only-here")


def test_web_1069_this_device_stands_first_and_the_others_by_their_names(visitor: Visitor) -> None:
    """WEB-1069: and not by their ids, which chance has chosen."""
    for number, name in enumerate(("Zoe's phone", "attic server", "Kitchen tablet", "old laptop")):
        key = DeviceKey.from_seed(bytes([number]) * 32)
        visitor.home.members.add(name, key.certificate, clock.now())
    shown = re.findall(r'<li id="device-[^"]+"><div><h3>([^<]+)<', visitor.get("/devices"))
    assert shown == ["laptop", "attic server", "Kitchen tablet", "old laptop", "Zoe&#39;s phone"]


def test_web_82_a_device_that_was_taken_out_stays_out(visitor: Visitor, server: TaskHome) -> None:
    """WEB-82, PAIR-6800, PAIR-6801: and it gets the reason; before, it believed that it was paired."""
    take_in(visitor, server)
    visitor.home.members.revoke(server.id, (), clock.now())
    with answering(visitor):
        page = visitor.post("/pair", verb="show")
        shown = visitor.site.pairing.shown
        assert shown is not None
        before = visitor.site.picture()
        with pytest.raises(PairingError) as refused:
            anyio.run(lambda: pairing.pair(server, shown.code, at=Address("127.0.0.1", shown.port)))
        page = settled(visitor, before)
    assert (refused.value.code, refused.value.from_peer) == ("revoked", True)
    assert "was taken out for good here, and stays out" in page
    assert status_of(visitor, server.id)[1] == "revoked"


def test_web_83_an_invitation_is_shown_until_it_is_used(visitor: Visitor, server: TaskHome) -> None:
    visitor.post("/pair", verb="invite")

    async def join() -> str:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(InvitationServer(visitor.home, lambda code, text: None).run)
            await until(lambda: visitor.site.invitations()[0].port > 0)
            page = await anyio.to_thread.run_sync(visitor.get, "/devices")
            [uri] = re.findall(r'<code class="fingerprint">([^<]+)</code>', page)
            paired = await accept(own_side(server), parse_invitation(uri.replace("&amp;", "&")))
            admit(server, paired)
            tasks.cancel_scope.cancel()
        return " ".join(paired.words)

    words = anyio.run(join)
    page = visitor.get("/devices")
    assert "attic server joined by invitation 1." in page
    assert words in page
    assert "<svg" not in page.partition('class="invitation"')[2].partition("</section>")[0]


def test_web_83_an_invitation_is_taken_back(visitor: Visitor) -> None:
    visitor.post("/pair", verb="invite")
    page = visitor.post("/pair", verb="take-back", number="1")
    assert "Invitation 1: expired" in page
    assert "no open invitation" in visitor.post("/pair", 400, verb="take-back", number="1")


def test_web_84_a_device_is_renamed_and_retired(visitor: Visitor, server: TaskHome) -> None:
    device = take_in(visitor, server)
    assert "It is called cellar server now." in visitor.post(
        "/devices", verb="rename", device=device, name="cellar server"
    )
    assert status_of(visitor, device) == ("cellar server", "active")
    assert "already. Choose another name" in visitor.post("/devices", 400, verb="rename", device=device, name="Laptop")
    assert "nobody waits for it any more" in visitor.post("/devices", verb="retire", device=device)
    assert status_of(visitor, device)[1] == "retired"
    assert "is retired already" in visitor.post("/devices", 400, verb="retire", device=device)
    assert "is this device" in visitor.post("/devices", 400, verb="retire", device=visitor.home.id)


def test_web_840_before_a_device_is_revoked_the_page_asks_about_the_devices_it_added(
    visitor: Visitor, server: TaskHome, tmp_path: Path
) -> None:
    """WEB-840, WEB-841, WEB-84: which are not those that the person was asked about, by the form."""
    device = take_in(visitor, server)
    tablet = TaskHome.create(tmp_path / "tablet", "tablet")
    with visitor.home.space.transaction(clock.now(), PERSON) as tx:
        put_membership(
            tx,
            MembershipRecord.adding(server.key, certificate=tablet.key.certificate, name="tablet", at_ms=clock.now()),
        )
    page = visitor.client.get("/devices", params={"ask": "revoke", "device": device}).text
    assert "Take out attic server for good?" in page
    assert f'name="keep" value="{tablet.id}"' in page
    assert say(NOTHING_DONE) in visitor.post("/devices", 400, verb="revoke", device=device, seen="")
    assert status_of(visitor, device)[1] == "active"
    page = visitor.post("/devices", verb="revoke", device=device, seen=tablet.id, keep=tablet.id)
    assert "attic server is out: no device of yours talks to it any more." in page
    assert (status_of(visitor, device)[1], status_of(visitor, tablet.id)[1]) == ("revoked", "active")
    assert "is revoked already" in visitor.post("/devices", 400, verb="revoke", device=device)
    tablet.close()
