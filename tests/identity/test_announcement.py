"""The announced value: MEET-7 to MEET-10."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.identity.announcement import announcement, announcement_secret, recognised
from lottisync.identity.device_key import DeviceKey, IdentityError

secrets = st.binary(min_size=16, max_size=16)
nonces = st.binary(min_size=8, max_size=8)
A, B = "a" * 64, "b" * 64


@given(secrets, secrets, nonces)
def test_meet_241_a_device_with_the_secret_recognises_the_announcement(mine: bytes, other: bytes, nonce: bytes) -> None:
    value = announcement(mine, nonce)
    assert recognised(value, {A: mine}) == A
    if mine != other:
        assert recognised(value, {B: other}) is None
        assert recognised(value, {B: other, A: mine}) == A


@given(secrets, nonces, nonces)
def test_meet_8_two_values_of_one_device_share_nothing_that_can_be_seen(
    secret: bytes, first: bytes, second: bytes
) -> None:
    """Neither half repeats: the nonce is drawn for each value, and the tag depends on every bit of it."""
    if first != second:
        one, two = announcement(secret, first), announcement(secret, second)
        assert one[:16] != two[:16]
        assert one[16:] != two[16:]


@given(st.text(max_size=40))
def test_meet_9_an_invented_value_is_recognised_as_no_device(value: str) -> None:
    assert recognised(value, {A: b"\x01" * 16}) is None


def test_meet_7_the_value_to_the_byte() -> None:
    secret, nonce = bytes(range(16)), bytes(range(8))
    tag = hmac.new(secret, b"lottisync/announcement/1\x00" + nonce, hashlib.sha256).digest()[:8]
    assert announcement(secret, nonce) == "0001020304050607" + tag.hex()
    for bad in ((b"", nonce), (secret, b"")):
        with pytest.raises(IdentityError, match="takes 16 bytes and 8"):
            announcement(*bad)


def test_meet_10_each_set_of_removed_devices_has_a_secret_of_its_own() -> None:
    """One secret for each set of devices that are out; and each device has its own."""
    keys = [DeviceKey.from_seed(bytes([number]) * 32) for number in (1, 2)]
    sets: list[tuple[str, ...]] = [(), (A,), (B,), (A, B)]
    secrets = {announcement_secret(key, out) for key in keys for out in sets}
    assert len(secrets) == 8
    assert announcement_secret(keys[0], (B, A)) == announcement_secret(keys[0], (A, B))
