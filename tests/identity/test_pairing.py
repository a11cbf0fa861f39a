"""Pairing by a typed code: PAIR-3 to PAIR-20. The machine is driven message by message; there is no network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from lottisync.identity.device_key import DeviceKey, IdentityError
from lottisync.identity.pairing import EXPECTED, CodeShown, CodeTyped, PairingState
from lottisync.identity.pairing_message import MAX_PAIRING_MESSAGE, PAIRING_VERSION, REFUSED_BECAUSE, PairingError
from lottisync.identity.pairing_offer import OFFER_LIFETIME_MS, RUNS_PER_OFFER, CodeOffer, new_code, parse_code
from lottisync.identity.words import WORDS

PHONE = DeviceKey.from_seed(b"p" * 32)
LAPTOP = DeviceKey.from_seed(b"l" * 32)
MALLORY = DeviceKey.from_seed(b"m" * 32)
CODE = "123-456-789"
NOW = 1_000_000


def offer(code: str = CODE) -> CodeOffer:
    return CodeOffer(code, NOW + OFFER_LIFETIME_MS)


def typed(code: str = CODE, key: DeviceKey = PHONE, server: DeviceKey = LAPTOP, chance: int = 1) -> CodeTyped:
    return CodeTyped(
        code=code,
        key=key,
        name="Phone",
        scalar=bytes([chance]) * 32,
        nonce=bytes([chance + 100]) * 32,
        server_certificate=server.certificate,
    )


def shown(of: CodeOffer, key: DeviceKey = LAPTOP, chance: int = 2) -> CodeShown:
    return CodeShown(offer=of, key=key, name="Laptop", scalar=bytes([chance]) * 32, nonce=bytes([chance + 100]) * 32)


def altered(message: bytes, **fields: Any) -> bytes:
    opened = msgspec.msgpack.decode(message)
    return msgspec.msgpack.encode(opened | fields)


def opened(message: bytes | None) -> dict[str, Any]:
    assert message is not None
    got = msgspec.msgpack.decode(message)
    assert isinstance(got, dict)
    return got


def fails(code: str, act: Callable[[], object]) -> PairingError:
    with pytest.raises(PairingError) as caught:
        act()
    assert caught.value.code == code
    assert str(caught.value) == caught.value.message
    return caught.value


def test_the_right_code_pairs_both_sides() -> None:
    """PAIR-8, PAIR-9, PAIR-10, PAIR-16"""
    types, shows = typed(), shown(offer())
    [reply] = shows.receive(types.start(), NOW)
    [confirm] = types.receive(reply)
    assert (types.result, shows.result) == (None, None)
    [confirmed] = shows.receive(confirm, NOW)
    assert types.receive(confirmed) == []
    assert types.result is not None
    assert shows.result is not None
    assert (types.result.peer_name, types.result.peer_id) == ("Laptop", LAPTOP.device_id)
    assert (shows.result.peer_name, shows.result.peer_id) == ("Phone", PHONE.device_id)
    assert types.result.peer_certificate == LAPTOP.certificate
    assert shows.result.peer_certificate == PHONE.certificate
    assert types.result.words == shows.result.words
    assert set(types.result.words) <= set(WORDS)


def test_two_pairings_show_different_words() -> None:
    """PAIR-16"""
    words = set()
    for chance in range(1, 9):
        types, shows = typed(chance=chance), shown(offer())
        [reply] = shows.receive(types.start(), NOW)
        [confirm] = types.receive(reply)
        shows.receive(confirm, NOW)
        assert shows.result is not None
        words.add(shows.result.words)
    assert len(words) == 8


def test_there_are_256_words_to_tell_apart() -> None:
    """PAIR-16"""
    assert len(WORDS) == len(set(WORDS)) == len({word[:4] for word in WORDS}) == 256
    assert all(word.isascii() and word.isalpha() and word.islower() and 3 <= len(word) <= 8 for word in WORDS)
    assert list(WORDS) == sorted(WORDS)


@given(st.integers(0, 10**9 - 1).filter(lambda drawn: drawn != 123456789))
@examples(30)
def test_a_wrong_code_is_refused_and_nothing_given_away(guess: int) -> None:
    """PAIR-242, PAIR-14, MEET-61"""
    types, shows = typed(code=f"{guess:09d}"), shown(offer())
    [reply] = shows.receive(types.start(), NOW)
    [confirm] = types.receive(reply)
    refused = fails("wrong-code", lambda: shows.receive(confirm, NOW)).refusal
    assert shows.result is None
    assert set(opened(refused)) == {"t", "code", "sentence"}
    assert opened(refused)["code"] == "wrong-code"
    assert refused is not None
    raised = fails("wrong-code", lambda: types.receive(refused))
    assert "invitation" in raised.message, "MEET-61: it is read by who joins with an altered invitation, too"
    assert raised.from_peer
    assert raised.refusal is None
    assert types.result is None
    assert types.state is shows.state is PairingState.FAILED


def relay(bend_hello: Callable[[bytes], bytes], bend_reply: Callable[[bytes], bytes]) -> None:
    types, shows = typed(server=MALLORY), shown(offer())
    [reply] = shows.receive(bend_hello(types.start()), NOW)
    [confirm] = types.receive(bend_reply(altered(reply, certificate=MALLORY.certificate)))
    shows.receive(confirm, NOW)


def same(message: bytes) -> bytes:
    return message


@pytest.mark.parametrize(
    ("bend_hello", "bend_reply"),
    [
        (same, same),
        (lambda m: altered(m, certificate=MALLORY.certificate), same),
        (lambda m: altered(m, name="Other"), same),
        (lambda m: altered(m, extra=1), same),
        (same, lambda m: altered(m, name="Other")),
        (same, lambda m: altered(m, nonce=bytes(32))),
    ],
)
def test_a_third_party_between_the_two_is_detected(
    bend_hello: Callable[[bytes], bytes], bend_reply: Callable[[bytes], bytes]
) -> None:
    """PAIR-9: the certificate in the Reply is always Mallory's here, for it is hers that TLS showed."""
    fails("wrong-code", lambda: relay(bend_hello, bend_reply))


@pytest.mark.parametrize(
    "bend",
    [
        {"name": "Other"},
        {"certificate": MALLORY.certificate},
        {"nonce": bytes(32)},
        {"share": bytes([9]) * 32},
        {"later": "field"},
    ],
)
@pytest.mark.parametrize("which", ["hello", "reply"])
def test_every_field_of_both_cards_is_bound(which: str, bend: dict[str, object]) -> None:
    """PAIR-9"""
    server = MALLORY if which == "reply" and "certificate" in bend else LAPTOP
    types, shows = typed(server=server), shown(offer())
    hello = types.start()
    [reply] = shows.receive(altered(hello, **bend) if which == "hello" else hello, NOW)
    [confirm] = types.receive(altered(reply, **bend) if which == "reply" else reply)
    fails("wrong-code", lambda: shows.receive(confirm, NOW))


def test_a_relay_that_passes_everything_on_is_found_out() -> None:
    """PAIR-12"""
    types, shows = typed(server=MALLORY), shown(offer())
    [reply] = shows.receive(types.start(), NOW)
    fails("channel", lambda: types.receive(reply))


def test_knowing_the_code_is_not_holding_the_key() -> None:
    """PAIR-10: Mallory knows the code and shows the phone's certificate, in both roles."""
    types, shows = typed(key=MALLORY), shown(offer())
    types._key = PHONE
    hello = types.start()
    types._key = MALLORY
    [reply] = shows.receive(hello, NOW)
    [confirm] = types.receive(reply)
    fails("not-proven", lambda: shows.receive(confirm, NOW))

    types, shows = typed(), shown(offer())
    [reply] = shows.receive(types.start(), NOW)
    [confirm] = types.receive(reply)
    shows._key = MALLORY
    [confirmed] = shows.receive(confirm, NOW)
    fails("not-proven", lambda: types.receive(confirmed))
    assert types.result is None


def test_a_confirmation_cannot_be_sent_back() -> None:
    """PAIR-40: each side has its own MAC, so what one says proves nothing to itself."""
    types, shows = typed(), shown(offer())
    [reply] = shows.receive(types.start(), NOW)
    [confirm] = types.receive(reply)
    fails("wrong-code", lambda: types.receive(altered(confirm, t="confirmed")))


def test_a_recorded_run_is_worth_nothing() -> None:
    """PAIR-9"""
    types, shows, code = typed(), shown(offer()), offer()
    hello = types.start()
    [reply] = shows.receive(hello, NOW)
    [confirm] = types.receive(reply)
    shows.receive(confirm, NOW)
    again = shown(code, chance=7)
    assert again.receive(hello, NOW) != [reply]
    fails("wrong-code", lambda: again.receive(confirm, NOW))
    assert code.runs_left == RUNS_PER_OFFER - 1


def test_pairing_with_oneself_is_refused() -> None:
    """PAIR-11"""
    code = offer()
    fails("same-device", lambda: shown(code, key=PHONE).receive(typed().start(), NOW))
    assert code.runs_left == RUNS_PER_OFFER
    types = typed()
    types.start()
    [reply] = shown(offer()).receive(typed(key=MALLORY).start(), NOW)
    fails("same-device", lambda: types.receive(altered(reply, certificate=PHONE.certificate)))


def test_a_run_is_used_up_when_it_begins() -> None:
    """PAIR-5, PAIR-6: a peer that hangs up after the Reply has used an attempt, too."""
    code = offer()
    for left in (2, 1, 0):
        shown(code).receive(typed().start(), NOW)
        assert code.runs_left == left
    assert not code.open_at(NOW)
    last = shown(code)
    refusal = fails("too-many-runs", lambda: last.receive(typed().start(), NOW)).refusal
    types = typed()
    types.start()
    assert refusal is not None
    assert "too often" in fails("too-many-runs", lambda: types.receive(refusal)).message


def test_what_cannot_be_answered_uses_up_nothing() -> None:
    """PAIR-5"""
    code = offer()
    hello = typed().start()
    for bad in (b"", b"\xff", altered(hello, v=2), altered(hello, share=bytes(32)), altered(hello, name="")):
        with pytest.raises(PairingError):
            shown(code).receive(bad, NOW)
    assert code.runs_left == RUNS_PER_OFFER


def test_a_code_expires() -> None:
    """PAIR-6"""
    code = offer()
    assert code.open_at(NOW + OFFER_LIFETIME_MS - 1)
    assert not code.open_at(NOW + OFFER_LIFETIME_MS)
    fails("expired", lambda: shown(code).receive(typed().start(), NOW + OFFER_LIFETIME_MS))
    assert shown(code).receive(typed().start(), NOW + OFFER_LIFETIME_MS - 1)


def test_a_code_pairs_one_device() -> None:
    """PAIR-7: also if a second run was under way when the first one ended well."""
    code = offer()
    first, second = typed(), typed(key=MALLORY, chance=5)
    one, two = shown(code), shown(code, chance=6)
    [reply_one] = one.receive(first.start(), NOW)
    [reply_two] = two.receive(second.start(), NOW)
    [confirm_one] = first.receive(reply_one)
    [confirm_two] = second.receive(reply_two)
    assert one.receive(confirm_one, NOW)
    fails("used", lambda: two.receive(confirm_two, NOW))
    assert two.result is None
    assert not code.open_at(NOW)
    fails("used", lambda: shown(code).receive(typed().start(), NOW))


def test_a_cut_leaves_nothing_half_done() -> None:
    """PAIR-18: wherever the connection ends, a side without the last message has no result."""
    types, shows = typed(), shown(offer())
    hello = types.start()
    [reply] = shows.receive(hello, NOW)
    [confirm] = types.receive(reply)
    assert (types.result, shows.result) == (None, None)
    shows.receive(confirm, NOW)
    assert types.result is None
    retry_types, retry_shows = typed(chance=3), shown(offer("876 543 210"), chance=4)
    [reply] = retry_shows.receive(retry_types.start(), NOW)
    fails("out-of-turn", lambda: types.receive(reply))
    assert types.result is None


# Every state with every message: PAIR-15.

MESSAGES = ("hello", "reply", "confirm", "confirmed", "refused", "noise")


def script() -> dict[str, bytes]:
    types, shows = typed(), shown(offer())
    hello = types.start()
    [reply] = shows.receive(hello, NOW)
    [confirm] = types.receive(reply)
    [confirmed] = shows.receive(confirm, NOW)
    refused = PairingError("expired", "late").refusal
    assert refused is not None
    return {
        "hello": hello,
        "reply": reply,
        "confirm": confirm,
        "confirmed": confirmed,
        "refused": refused,
        "noise": b"\x00",
    }


def types_in(state: PairingState) -> CodeTyped:
    run, said = typed(), script()
    if state is PairingState.START:
        return run
    run.start()
    if state in (PairingState.CONFIRMED, PairingState.DONE):
        run.receive(said["reply"])
    if state is PairingState.DONE:
        run.receive(said["confirmed"])
    if state is PairingState.FAILED:
        fails("expired", lambda: run.receive(said["refused"]))
    assert run.state is state
    return run


def shows_in(state: PairingState) -> CodeShown:
    run, said = shown(offer()), script()
    if state in (PairingState.CONFIRM, PairingState.DONE):
        run.receive(said["hello"], NOW)
    if state is PairingState.DONE:
        run.receive(said["confirm"], NOW)
    if state is PairingState.FAILED:
        fails("expired", lambda: run.receive(said["refused"], NOW))
    assert run.state is state
    return run


def outcome(state: PairingState, message: str) -> str:
    if message == "noise":
        return "malformed"
    if state not in EXPECTED:
        return "out-of-turn"
    if message == "refused":
        return "expired"
    return "moves on" if message == state.value else "out-of-turn"


def check(run: CodeTyped | CodeShown, state: PairingState, message: str, feed: Callable[[], object]) -> None:
    due = outcome(state, message)
    result = run.result
    if due == "moves on":
        feed()
        assert run.state not in (state, PairingState.FAILED)
        assert (run.result is not None) == (run.state is PairingState.DONE)
        return
    fails(due, feed)
    assert run.state is (PairingState.DONE if state is PairingState.DONE else PairingState.FAILED)
    assert run.result is result


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize(
    "state", [PairingState.START, PairingState.REPLY, PairingState.CONFIRMED, PairingState.DONE, PairingState.FAILED]
)
def test_every_message_in_every_state_of_the_side_that_types(state: PairingState, message: str) -> None:
    """PAIR-15, PAIR-18"""
    run = types_in(state)
    check(run, state, message, lambda: run.receive(script()[message]))


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("state", [PairingState.HELLO, PairingState.CONFIRM, PairingState.DONE, PairingState.FAILED])
def test_every_message_in_every_state_of_the_side_that_shows(state: PairingState, message: str) -> None:
    """PAIR-15, PAIR-18"""
    run = shows_in(state)
    check(run, state, message, lambda: run.receive(script()[message], NOW))


def test_a_run_starts_once() -> None:
    """PAIR-15"""
    run = types_in(PairingState.REPLY)
    with pytest.raises(RuntimeError, match="once"):
        run.start()


# Bytes of a stranger: PAIR-13.

HELLO = typed().start()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        HELLO[:-1],
        HELLO + b"\x00",
        b"\x81" * 5_000,
        b"\x82\xa1x" + b"\x91" * 4_000 + b"\xc0\xa1t\xa5hello",
        b"\x81\xa1t\xa5hello",
        b"\x82\xa1t\xa5hello\xa4name\xa2\xff\xfe",
        b"\xdd\xff\xff\xff\xff",
        altered(HELLO, t="greeting"),
        altered(HELLO, share=bytes(31)),
        altered(HELLO, share=bytes(33)),
        altered(HELLO, share=bytes(32)),
        altered(HELLO, nonce=b""),
        altered(HELLO, name=""),
        altered(HELLO, name="x" * 65),
        altered(HELLO, name="two\nlines"),
        altered(HELLO, name=7),
        altered(HELLO, certificate=b""),
        altered(HELLO, certificate=bytes(1025)),
        altered(HELLO, certificate=LAPTOP.certificate[:-1]),
        altered(HELLO, v="1"),
        altered(HELLO, padding=bytes(MAX_PAIRING_MESSAGE)),
    ],
)
def test_what_is_not_a_message_is_malformed(message: bytes) -> None:
    """PAIR-13"""
    run = shown(offer())
    error = fails("malformed", lambda: run.receive(message, NOW))
    assert opened(error.refusal)["code"] == "malformed"
    assert run.state is PairingState.FAILED


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(noise: bytes) -> None:
    """PAIR-13"""
    fails("malformed", lambda: shown(offer()).receive(noise, NOW))


@given(st.integers(0, len(HELLO) - 1), st.integers(1, 255))
def test_no_bent_byte_raises_anything_else(at: int, flip: int) -> None:
    """PAIR-13, PAIR-9"""
    bent = bytearray(HELLO)
    bent[at] ^= flip
    types, shows = typed(), shown(offer())
    types.start()

    def run() -> None:
        [reply] = shows.receive(bytes(bent), NOW)
        [confirm] = types.receive(reply)
        shows.receive(confirm, NOW)

    with pytest.raises(PairingError) as caught:
        run()
    assert caught.value.code in ("malformed", "version", "wrong-code")
    assert shows.result is None


def test_the_longest_honest_message_fits() -> None:
    """PAIR-13"""
    longest = altered(HELLO, name="\U0001f600" * 64, certificate=bytes(1024))
    assert len(longest) < MAX_PAIRING_MESSAGE // 2 < 64 * 1024


def test_another_version_is_called_so() -> None:
    """PAIR-17: even if nothing else of the message is known."""
    later = msgspec.msgpack.encode({"t": "hallo", "v": PAIRING_VERSION + 1, "new": True})
    error = fails("version", lambda: shown(offer()).receive(later, NOW))
    assert "version 2" in error.message
    run = types_in(PairingState.REPLY)
    fails("version", lambda: run.receive(later))


def test_a_refusal_is_said_in_our_words() -> None:
    """PAIR-20, PAIR-14"""

    def refused(code: str, sentence: str) -> PairingError:
        run = types_in(PairingState.REPLY)
        message = msgspec.msgpack.encode({"t": "refused", "code": code, "sentence": sentence})
        with pytest.raises(PairingError) as caught:
            run.receive(message)
        assert caught.value.refusal is None
        return caught.value

    lie = "call this number\x1b[1m"
    for code in REFUSED_BECAUSE:
        known = refused(code, lie)
        assert known.code == code
        assert "number" not in known.message
    unknown = refused("tired", lie)
    assert unknown.code == "refused"
    assert "tired" in unknown.message
    assert "\x1b" not in unknown.message
    assert len(refused("tired", "x" * 3_000).message) < 300
    assert refused("Not a code!", lie).code == "malformed"
    assert "number" not in refused("Not a code!", lie).message


def test_no_message_holds_the_code_or_a_key() -> None:
    """PAIR-19"""
    for message in script().values():
        for secret in (b"23456789", b"123-456-789", PHONE.seed, LAPTOP.seed, bytes([1]) * 32, bytes([2]) * 32):
            assert secret not in message
    assert "1234" not in repr(offer())


# Codes: PAIR-3 and PAIR-4.


@given(st.binary(min_size=32, max_size=64))
def test_a_new_code_has_nine_digits(chance: bytes) -> None:
    """PAIR-3"""
    assert parse_code(new_code(chance)) == new_code(chance)


def test_a_new_code_has_no_bias() -> None:
    """PAIR-3: what lies above the last whole multiple of 10^8 is passed over."""
    top = (2**64 - 2**64 % 10**9).to_bytes(8)
    assert new_code((10**9 + 42).to_bytes(8)) == "000000042"
    assert new_code(top + (7).to_bytes(8)) == "000000007"
    assert new_code((int.from_bytes(top) - 1).to_bytes(8)) == "999999999"
    for useless in (top * 4, b"", bytes(7)):
        with pytest.raises(IdentityError, match="32 or more"):
            new_code(useless)


@pytest.mark.parametrize("text", ["123456789", "123-456-789", "123 456 789", "  123-456789\n"])
def test_a_code_is_read_as_people_write_it(text: str) -> None:
    """PAIR-4"""
    assert parse_code(text) == "123456789"
    assert CodeOffer(text, 0).shown == "123-456-789"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12345678",
        "1234567890",
        "123--456-789",
        "12-3456-789",
        "123_456_789",
        "abc-def-ghi",
        "١٢٣-٤٥٦-٧٨٩",
        "123\n456\n789",
    ],
)
def test_anything_else_is_not_a_code(text: str) -> None:
    """PAIR-4"""
    error = fails("malformed-code", lambda: parse_code(text))
    assert error.message.startswith("a pairing code has 9 digits, like 123-456-789; got ")
    fails("malformed-code", lambda: typed(code=text))


@pytest.mark.parametrize(("scalar", "nonce"), [(31, 32), (32, 31), (0, 0)])
def test_a_run_takes_its_chance_from_outside(scalar: int, nonce: int) -> None:
    """PAIR-1"""
    with pytest.raises(IdentityError, match="32 bytes"):
        CodeShown(offer=offer(), key=LAPTOP, name="L", scalar=bytes(scalar), nonce=bytes(nonce))
    with pytest.raises(IdentityError, match="32 bytes"):
        CodeTyped(
            code=CODE,
            key=PHONE,
            name="P",
            scalar=bytes(scalar),
            nonce=bytes(nonce),
            server_certificate=LAPTOP.certificate,
        )
    with pytest.raises(IdentityError, match="device name"):
        CodeShown(offer=offer(), key=LAPTOP, name="", scalar=bytes(32), nonce=bytes(32))
