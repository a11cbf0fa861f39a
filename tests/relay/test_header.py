"""What a message is, to the byte: header, seal, wrap (docs/specs/19-relay.md, sections 3 and 4)."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.identity.device_key import DeviceKey, verify
from lottisync.relay import box, epoch
from lottisync.relay.box import BoxKey, BoxRecord, wrap_info, wrapped
from lottisync.relay.epoch import Epoch, fitting, successor
from lottisync.relay.header import (
    FIRST,
    HEADER_BYTES,
    MAX_MESSAGE,
    BadMessage,
    Header,
    Kind,
    Name,
    parts_of,
    refuse_misplaced,
    signed_bytes,
)
from lottisync.relay.seal import DOUBLING_TO, MAX_BODY, STEP, bucket, sealed, unsealed

KEY = DeviceKey.from_seed(bytes([7]) * 32)
SPACE, LANE, EPOCH_KEY = bytes(16), bytes([1]) * 8, bytes([5]) * 32


def header(number: int = 1, kind: Kind = Kind.ENVELOPE, salt: int = 9) -> Header:
    return Header(kind, SPACE, LANE, number, FIRST, bytes(16), bytes(16), bytes([salt]) * 16)


def message(body: bytes = b"hello") -> bytes:
    head = header()
    rest = sealed(EPOCH_KEY, head, body)
    return head.packed() + KEY.sign(signed_bytes(head, rest)) + rest


def test_relay_2_a_signature_covers_every_byte() -> None:
    """RELAY-2"""
    whole = message()
    assert verify(KEY.certificate, parts_of(whole).signature, parts_of(whole).signed)
    for at in range(len(whole)):
        altered = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        try:
            parts = parts_of(altered)
        except BadMessage:
            continue
        assert not verify(KEY.certificate, parts.signature, parts.signed)


@pytest.mark.parametrize(
    "name",
    [Name(LANE, "log", 2), Name(bytes(8), "log", 1), Name(LANE, "state", 1), Name(LANE, "snap.1", 1)],
)
def test_relay_3_a_message_counts_only_where_it_was_put(name: Name) -> None:
    """RELAY-3"""
    refuse_misplaced(header(), SPACE, Name(LANE, "log", 1))
    with pytest.raises(BadMessage):
        refuse_misplaced(header(), SPACE, name)
    with pytest.raises(BadMessage):
        refuse_misplaced(header(), bytes([1]) * 16, Name(LANE, "log", 1))


def test_relay_5_each_message_has_a_key_of_its_own() -> None:
    """RELAY-5: another salt, number or kind is another key, so one plaintext looks different each time."""
    heads = [header(), header(salt=10), header(number=2), header(kind=Kind.MANIFEST)]
    assert len({sealed(EPOCH_KEY, head, b"same") for head in heads}) == len(heads)
    for head in heads[1:]:
        with pytest.raises(BadMessage):
            unsealed(EPOCH_KEY, head, sealed(EPOCH_KEY, heads[0], b"same"))


@given(st.integers(1, MAX_BODY))
def test_relay_6_a_size_is_one_of_few(size: int) -> None:
    """RELAY-6"""
    padded = bucket(size)
    assert size <= padded <= max(512, 2 * size)
    assert padded % STEP == 0 if padded > DOUBLING_TO else padded.bit_count() == 1


@given(st.binary(max_size=3_000))
def test_relay_6_what_was_sealed_comes_out_again(body: bytes) -> None:
    """RELAY-6"""
    ciphertext = sealed(EPOCH_KEY, header(), body)
    assert unsealed(EPOCH_KEY, header(), ciphertext) == body
    assert len(ciphertext) - 16 == bucket(len(ciphertext) - 16)


def test_relay_8_what_is_too_large_is_refused_on_its_length() -> None:
    """RELAY-8"""
    with pytest.raises(BadMessage, match="a message has"):
        parts_of(bytes(MAX_MESSAGE + 1))
    with pytest.raises(BadMessage, match="a message has"):
        parts_of(bytes(HEADER_BYTES))
    with pytest.raises(ValueError, match="carries at most"):
        sealed(EPOCH_KEY, header(), bytes(MAX_BODY + 1))


def test_relay_8_a_largest_document_fits() -> None:
    """RELAY-8"""
    body = hashlib.shake_256(b"incompressible").digest(MAX_BODY)
    assert len(header().packed()) + 64 + len(sealed(EPOCH_KEY, header(), body)) <= MAX_MESSAGE


@pytest.mark.parametrize("data", [b"\x02", b"\x01\x09"])
def test_a_message_of_another_version_or_kind_is_refused(data: bytes) -> None:
    with pytest.raises(BadMessage):
        parts_of(data + message()[len(data) :])


def test_relay_9_the_id_of_an_epoch_is_a_hash_of_its_key() -> None:
    """RELAY-9"""
    assert Epoch(EPOCH_KEY, 1, frozenset()).id == Epoch(EPOCH_KEY, 9, frozenset({"m-1"})).id
    assert Epoch(EPOCH_KEY, 1, frozenset()).id != Epoch(bytes(32), 1, frozenset()).id
    label = b"lottisync/relay-epoch/1\x00"
    assert Epoch(EPOCH_KEY, 1, frozenset()).id == hashlib.sha256(label + EPOCH_KEY).digest()[:16]


def test_relay_10_an_epoch_fits_by_whom_it_was_made_without() -> None:
    """RELAY-10"""
    old = Epoch(bytes([1]) * 32, 1, frozenset())
    newer = Epoch(bytes([2]) * 32, 2, frozenset({"m-a"}))
    other = Epoch(bytes([3]) * 32, 2, frozenset({"m-b"}))
    held = {each.id: each for each in (old, newer, other)}
    assert fitting(held, frozenset()) == max(newer, other, key=lambda each: each.id)
    assert fitting(held, frozenset({"m-a"})) == newer
    both = frozenset({"m-a", "m-b"})
    assert fitting(held, both) is None
    made = successor(held.values(), both, bytes([4]) * 32)
    assert (made.generation, made.without) == (3, both)
    assert epoch.successor([], frozenset(), EPOCH_KEY).generation == 1


class TestWraps:
    def test_relay_11_only_the_receiver_opens_a_wrap_and_only_in_its_place(self) -> None:
        """RELAY-11"""
        mine, other = BoxKey(KEY), BoxKey(DeviceKey.from_seed(bytes(32)))
        info = wrap_info(SPACE, LANE, 1, mine.public)
        secret = wrapped(b"keys", mine.public, info)
        assert mine.opened(secret, info) == b"keys"
        with pytest.raises(BadMessage):
            other.opened(secret, info)
        with pytest.raises(BadMessage):
            mine.opened(secret, wrap_info(SPACE, LANE, 2, mine.public))
        with pytest.raises(BadMessage):
            mine.opened(b"\x07" + secret[1:], info)

    def test_relay_11_the_hybrid_is_used_where_both_have_it(self) -> None:
        """RELAY-11"""
        mine = BoxKey(KEY)
        info = wrap_info(SPACE, LANE, 1, mine.public)
        assert wrapped(b"keys", mine.public, info)[0] == 2
        classic = wrapped(b"keys", mine.public[: box.X25519_BYTES], info)
        assert classic[0] == 1
        assert mine.opened(classic, info) == b"keys"

    def test_a_box_key_is_signed_by_its_device(self) -> None:
        record = BoxRecord.signed_by(KEY)
        assert BoxRecord.from_fields(dict(record.to_fields())) == record
        assert record.genuine(KEY.certificate)
        assert not record.genuine(DeviceKey.from_seed(bytes(32)).certificate)
        assert BoxRecord.from_fields({**record.to_fields(), "public": "!"}) is None
        assert BoxRecord.from_fields({"device": KEY.device_id}) is None
