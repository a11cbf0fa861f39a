"""What a program announces on the network: a value that the person's devices recognise, and nobody else.

Each device has a secret, which replicates in `space`. It follows from the device's key and from the set of devices that
are out: who is revoked knows the secrets of before, and none of those that come after. The announced value is a random
*nonce* and a keyed hash of it:

    value = hex(nonce || first 8 bytes of HMAC-SHA-256(secret, "lottisync/announcement/1" NUL || nonce))

Who holds the secret computes the hash again, and so knows which device it is before asking anything. To everybody
else both halves are random, and two values of one device have nothing in common. There is no clock in it: devices
whose clocks differ recognise each other all the same.

Who has recorded a value can announce it again from another network. That costs a dial which fails at the pin.

Spec: docs/specs/16-meeting.md, MEET-7 to MEET-10.
"""

import hmac
import re
from collections.abc import Iterable, Mapping

from lottisync.identity.device_key import DeviceKey, IdentityError

SECRET_BYTES = 16
NONCE_BYTES = 8
TAG_BYTES = 8
_SECRET_LABEL = b"lottisync/announcement-secret/1\x00"
_LABEL = b"lottisync/announcement/1\x00"
_VALUE = re.compile(rf"\A[0-9a-f]{{{2 * (NONCE_BYTES + TAG_BYTES)}}}\Z")


def announcement_secret(key: DeviceKey, revoked: Iterable[str]) -> bytes:
    """The secret of a device, as long as these devices (their ids) are revoked."""
    return key.derived(_SECRET_LABEL + "".join(sorted(revoked)).encode())[:SECRET_BYTES]


def announcement(secret: bytes, nonce: bytes) -> str:
    """The value to announce: 32 hexadecimal digits. `secret` has 16 bytes; `nonce` has 8, drawn for this value.
    Raises `IdentityError`."""
    if len(secret) != SECRET_BYTES or len(nonce) != NONCE_BYTES:
        raise IdentityError(
            "an announcement takes 16 bytes and 8; got {secret} and {nonce}", secret=len(secret), nonce=len(nonce)
        )
    return (nonce + _tag(secret, nonce)).hex()


def recognised(value: str, secrets: Mapping[str, bytes]) -> str | None:
    """The device whose announcement this is. `secrets` are those of the person's devices, by device id. None if
    no secret fits."""
    if not _VALUE.match(value):
        return None
    raw = bytes.fromhex(value)
    nonce, tag = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
    return next((device for device, secret in secrets.items() if hmac.compare_digest(_tag(secret, nonce), tag)), None)


def _tag(secret: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, _LABEL + nonce, "sha256")[:TAG_BYTES]
