"""What a program announces on the network: a value that the person's devices recognise, and nobody else.

Each device has a secret, which replicates in `space`. The announced value is a random *nonce* and a keyed hash of it:

    value = hex(nonce || first 8 bytes of HMAC-SHA-256(secret, "lottisync/announcement/1" NUL || nonce))

Who holds the secret computes the hash again, and so knows which device it is before asking anything. To everybody
else both halves are random, and two values of one device have nothing in common. There is no clock in it: devices
whose clocks differ recognise each other all the same.

Who has recorded a value can announce it again from another place. That costs a dial which fails at the pin.

Spec: docs/specs/16-meeting.md, MEET-7 to MEET-10.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Final

from lottisync.identity.device_key import IdentityError

SECRET_BYTES: Final = 16
NONCE_BYTES: Final = 8
TAG_BYTES: Final = 8
_LABEL: Final = b"lottisync/announcement/1\x00"
_VALUE: Final = re.compile(rf"\A[0-9a-f]{{{2 * (NONCE_BYTES + TAG_BYTES)}}}\Z")


def announcement(secret: bytes, nonce: bytes) -> str:
    """The value to announce: 32 hexadecimal digits. `secret` has 16 bytes; `nonce` has 8, drawn for this value.
    Raises `IdentityError`."""
    if len(secret) != SECRET_BYTES or len(nonce) != NONCE_BYTES:
        raise IdentityError(f"an announcement takes 16 bytes and 8; got {len(secret)} and {len(nonce)}")
    return (nonce + _tag(secret, nonce)).hex()


def recognised(value: str, secrets: Mapping[str, bytes]) -> str | None:
    """The device whose announcement this is. `secrets` are those of the person's devices, by device id; None if it is
    none of theirs."""
    if not _VALUE.match(value):
        return None
    raw = bytes.fromhex(value)
    nonce, tag = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
    return next((device for device, secret in secrets.items() if hmac.compare_digest(_tag(secret, nonce), tag)), None)


def _tag(secret: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, _LABEL + nonce, "sha256")[:TAG_BYTES]
