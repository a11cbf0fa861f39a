"""Invitations: MEET-20 to MEET-24, and what pairing hands over: MEET-6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.identity.device_key import DeviceKey
from lottisync.identity.invitation import Invitation, InvitationOffer, is_invitation, parse_invitation
from lottisync.identity.pairing import CodeShown, CodeTyped, Paired
from lottisync.identity.pairing_message import Introduction, PairingError
from lottisync.identity.pairing_offer import CodeOffer, Offer, Password

LAPTOP, PHONE, THIEF = (DeviceKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3))
SECRET = bytes(range(16))
NOW = 1_000_000
INVITATION = Invitation(LAPTOP.device_id, SECRET, 1_764_590_400, ("192.0.2.7:22067", "[2001:db8::7]:22067"))
HERE = Introduction(["tcp://192.0.2.7:22067"], b"s" * 16)
THERE = Introduction(["tcp://198.51.100.9:22067"], b"t" * 16)

invitations = st.builds(
    Invitation,
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 10**12 - 1),
    st.lists(st.sampled_from([*INVITATION.at, "[fe80::1%eth0]:1", "a.b-c.example:9"]), min_size=1, max_size=8).map(
        tuple
    ),
)


def shows(offer: Offer, key: DeviceKey = LAPTOP) -> CodeShown:
    return CodeShown(offer=offer, key=key, name="laptop", scalar=b"\x01" * 32, nonce=b"\x02" * 32, introduction=HERE)


def types(code: str | Password, answers: DeviceKey = LAPTOP) -> CodeTyped:
    return CodeTyped(
        code=code,
        key=PHONE,
        name="phone",
        scalar=b"\x03" * 32,
        nonce=b"\x04" * 32,
        server_certificate=answers.certificate,
        introduction=THERE,
    )


def paired(offer: Offer, code: str | Password, now: int = NOW) -> tuple[Paired, Paired]:
    showing, typing = shows(offer), types(code)
    messages = [typing.start()]
    while messages:
        answers = [answer for message in messages for answer in showing.receive(message, now)]
        messages = [answer for message in answers for answer in typing.receive(message)]
    assert showing.result is not None
    assert typing.result is not None
    return showing.result, typing.result


def offered() -> InvitationOffer:
    return InvitationOffer(INVITATION, NOW + 1)


def refusal(work: object) -> str:
    with pytest.raises(PairingError) as raised:
        work()  # type: ignore[operator]
    return raised.value.code


@given(invitations)
def test_meet_20_an_invitation_is_read_as_it_was_written(invitation: Invitation) -> None:
    assert parse_invitation(f"  {invitation.uri}\n") == invitation
    assert is_invitation(invitation.uri)
    assert invitation.uri.isascii()


def test_meet_20_the_uri_to_the_byte() -> None:
    assert INVITATION.uri == (
        "lottisync://invite/1?device=_RENMB0vB33hQUuPmfRBsUA_qyB7IFL70sBl5O6OfcI"
        "&secret=AAECAwQFBgcICQoLDA0ODw&until=1764590400&at=192.0.2.7:22067&at=[2001:db8::7]:22067"
    )


@given(st.text(max_size=300))
def test_meet_20_any_text_is_an_invitation_or_refused_by_name(text: str) -> None:
    for tried in (text, "lottisync://invite/1?" + text):
        with pytest.raises(PairingError) as raised:
            parse_invitation(tried)
        assert raised.value.code == "malformed-invitation"


@given(invitations, st.data())
def test_meet_20_an_invitation_that_was_cut_off_or_changed_is_refused(
    invitation: Invitation, data: st.DataObject
) -> None:
    uri = invitation.uri
    cut = uri[: data.draw(st.integers(0, uri.index("&at=")))]
    assert refusal(lambda: parse_invitation(cut)) == "malformed-invitation"
    for old, new in (("secret=", "secret=A"), ("device=", "device=A"), ("until=", "until=x"), ("at=", "at=%20")):
        assert refusal(lambda old=old, new=new: parse_invitation(uri.replace(old, new, 1))) == "malformed-invitation"


def test_meet_20_a_later_version_is_named_and_unknown_fields_are_ignored() -> None:
    assert refusal(lambda: parse_invitation(INVITATION.uri.replace("/1?", "/2?"))) == "version"
    assert parse_invitation(INVITATION.uri + "&relay=example") == INVITATION
    assert refusal(lambda: parse_invitation(INVITATION.uri + "&until=1")) == "malformed-invitation"


def test_meet_21_an_invitation_pairs_one_device_once() -> None:
    offer = offered()
    shown, typed = paired(offer, INVITATION.password)
    assert (shown.peer_id, typed.peer_id) == (PHONE.device_id, LAPTOP.device_id)
    assert shown.words == typed.words
    assert refusal(lambda: paired(offer, INVITATION.password)) == "used"


def test_meet_240_runs_of_strangers_do_not_use_it_up() -> None:
    offer = offered()
    for _ in range(20):
        assert refusal(lambda: paired(offer, INVITATION.password._replace(secret=bytes(16)))) == "wrong-code"
    paired(offer, INVITATION.password)


def test_meet_22_it_expires_by_the_clock_of_the_device_that_made_it() -> None:
    """`until` has passed long ago by the clock of the device that joins; that clock does not count."""
    assert refusal(lambda: paired(offered(), INVITATION.password, NOW + 1)) == "expired"
    paired(offered(), INVITATION.password, NOW)


def test_meet_23_another_fingerprint_is_refused_before_a_word_is_said() -> None:
    assert refusal(lambda: types(INVITATION.password, answers=THIEF)) == "wrong-fingerprint"


def test_meet_24_a_code_is_not_an_invitation_and_nothing_prints_the_secret() -> None:
    """MEET-304"""
    code = CodeOffer("123456789", NOW + 1)
    assert refusal(lambda: paired(code, Password(INVITATION.password.channel, b"123456789"))) == "wrong-code"
    printed = repr(INVITATION) + repr(offered()) + str(INVITATION)
    assert "AAECAwQFBgcICQoLDA0ODw" not in printed
    assert repr(SECRET) not in printed


def test_meet_6_each_side_learns_where_the_other_is_reached() -> None:
    for offer, code in ((offered(), INVITATION.password), (CodeOffer("123456789", NOW + 1), "123456789")):
        shown, typed = paired(offer, code)
        assert (shown.introduction, typed.introduction) == (THERE, HERE)


def test_meet_6_what_is_handed_over_is_sealed_and_cannot_be_changed() -> None:
    showing, typing = shows(offered()), types(INVITATION.password)
    (reply,) = showing.receive(typing.start(), NOW)
    (confirm,) = typing.receive(reply)
    assert b"198.51.100.9" not in confirm
    changed = confirm[:-1] + bytes([confirm[-1] ^ 1])
    assert refusal(lambda: showing.receive(changed, NOW)) == "malformed"


def test_meet_6_more_ways_than_fit_are_cut_to_the_likeliest() -> None:
    long = Introduction([f"tcp://{'a' * 250}.example:{port}" for port in range(1, 17)], b"")
    typing = types("123456789")
    typing._introduction = long
    showing = shows(CodeOffer("123456789", NOW + 1))
    (reply,) = showing.receive(typing.start(), NOW)
    (confirm,) = typing.receive(reply)
    assert len(confirm) < 4096
    showing.receive(confirm, NOW)
    assert showing.result is not None
    assert showing.result.introduction.ways == long.ways[: len(showing.result.introduction.ways)]
    assert len(showing.result.introduction.ways) == 7
