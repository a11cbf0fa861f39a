"""An invitation: a URI that lets one device pair, for machines without a person in front of them, and for cameras.

    lottisync://invite/1?device=FINGERPRINT&secret=SECRET&until=SECONDS&at=HOST:PORT&at=...

It holds all that pairing needs: whose key will answer (`device`), 128 random bits (`secret`), and where (`at`, the
likeliest first). It goes through the same exchange as a typed code (`lottisync.identity.pairing`), with the secret
as the password. So the secret itself is never sent, and the one who answers has to prove the key.

The secret is good once, and until the device that made the invitation says by its own clock that it has expired.
`until` (seconds since 1970) is there to be shown to people; who joins does not judge it, for its clock may be wrong.
Who sees the URI before it is used can join in place of the one who was meant: the device that made it shows who did.

Spec: docs/specs/16-meeting.md, MEET-20 to MEET-24.
"""

import base64
import binascii
import re
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from lottisync.identity.device_key import IdentityError, parse_device_id
from lottisync.identity.pairing_message import PairingError
from lottisync.identity.pairing_offer import Offer, Password
from lottisync.problem import Sentence

SECRET_BYTES = 16
MAX_URI = 2048
MAX_ADDRESSES = 8
UNGUESSABLE_RUNS = 1_000_000
"""Nobody guesses 128 bits. Failed runs by strangers do not use up an invitation."""
_CHANNEL = b"lottisync/invitation/1"
_PREFIX = "lottisync://invite/1"
_FIELDS = ("device", "secret", "until")
_SECONDS = re.compile(r"\A[0-9]{1,12}\Z")
_ADDRESS = re.compile(r"\A[A-Za-z0-9.:%_@\[\]-]{3,300}\Z")


class Invitation(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """`device` is the id of the device that made it, `secret` 16 bytes, `until` seconds since 1970 by that device's
    clock, `at` where it waits: HOST:PORT each."""

    device: str
    secret: bytes
    until: int
    at: tuple[str, ...]

    @property
    def uri(self) -> str:
        fields = [("device", _packed(bytes.fromhex(self.device))), ("secret", _packed(self.secret))]
        fields += [("until", str(self.until)), *(("at", address) for address in self.at)]
        return f"{_PREFIX}?" + "&".join(f"{name}={quote(value, safe=':[]')}" for name, value in fields)

    @property
    def password(self) -> Password:
        return Password(_CHANNEL, self.secret, self.device)

    def __repr__(self) -> str:
        # Without the secret: what is printed ends in a log.
        return f"Invitation(device={self.device[:8]}, until={self.until}, at={self.at})"


class InvitationOffer(Offer):
    """An invitation that can be used now. `expires_at_ms` is of the inviting device's clock."""

    what = Sentence("this invitation")

    def __init__(self, invitation: Invitation, expires_at_ms: int) -> None:
        super().__init__(invitation.password, expires_at_ms, UNGUESSABLE_RUNS)


def is_invitation(text: str) -> bool:
    """Whether somebody means this as an invitation and not as a code."""
    return text.strip().lower().startswith("lottisync:")


def parse_invitation(text: str) -> Invitation:
    """Read a URI. Fields that are not known are ignored. Raises `PairingError` malformed-invitation, or version for
    one that a later version made."""
    stripped = text.strip()
    try:
        parts = urlsplit(stripped)
        given = parse_qsl(parts.query, strict_parsing=True, max_num_fields=64)
    except ValueError:
        raise _malformed(Sentence("it cannot be read")) from None
    if len(stripped) > MAX_URI or parts.scheme != "lottisync" or parts.netloc != "invite":
        raise _malformed(Sentence("it does not begin with {prefix}", prefix=_PREFIX))
    if re.fullmatch("/[0-9]{1,9}", parts.path) and parts.path != "/1":
        raise PairingError("version", "this invitation was made by a later version; update this device")
    if parts.path != "/1":
        raise _malformed(Sentence("it does not begin with {prefix}", prefix=_PREFIX))
    fields = {name: value for name, value in given if name in _FIELDS}
    if sorted(name for name, _ in given if name in _FIELDS) != sorted(_FIELDS):
        raise _malformed(Sentence("it has device, secret and until once each"))
    at = tuple(value for name, value in given if name == "at")
    if not 1 <= len(at) <= MAX_ADDRESSES or not all(_ADDRESS.match(address) for address in at):
        raise _malformed(Sentence("it has 1 to {limit} addresses", limit=MAX_ADDRESSES))
    if not _SECONDS.match(fields["until"]):
        raise _malformed(Sentence("its end is not a time"))
    try:
        device = parse_device_id(_unpacked(fields["device"], 32).hex())
    except IdentityError:
        raise _malformed(Sentence("its device is not a fingerprint")) from None
    return Invitation(device, _unpacked(fields["secret"], SECRET_BYTES), int(fields["until"]), at)


def _malformed(why: Sentence) -> PairingError:
    return PairingError(
        "malformed-invitation", "this is not a whole invitation ({why}). Copy all of it, or make a new one", why=why
    )


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unpacked(text: str, size: int) -> bytes:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _malformed(Sentence("a part of it is cut off or changed")) from None
    if len(data) != size or _packed(data) != text:
        raise _malformed(Sentence("a part of it is cut off or changed"))
    return data
