"""What one side of a pairing says to the other, and how it is refused (docs/specs/06-identity-and-pairing.md).

This is the one place where bytes of a stranger become messages (PAIR-13), and where a refusal becomes words.
"""

import re
from typing import Annotated, Literal

import msgspec

from lottisync.identity import cpace
from lottisync.identity.device_key import (
    MAX_CERTIFICATE_BYTES,
    SIGNATURE_BYTES,
    IdentityError,
)
from lottisync.problem import Sentence

PAIRING_VERSION = 1
MAX_PAIRING_MESSAGE = 4096
"""A Hello is a certificate (at most 1024 bytes), a name (at most 256) and less than 200 of the rest. A stranger
gets no more of our memory than that asks for, far below the 64 KiB that hold before authentication at large."""
NONCE_BYTES = 32
MAC_BYTES = 32
MAX_SENTENCE_CHARACTERS = 200
MAX_INTRODUCTION = 2048
MAX_WAYS = 16
_MACHINE_CODE = re.compile(r"\A[a-z][a-z-]{0,31}\Z")
PairingCode = Literal[
    "malformed-code",
    "malformed-invitation",
    "wrong-fingerprint",
    "malformed",
    "version",
    "same-device",
    "expired",
    "too-many-runs",
    "used",
    "wrong-code",
    "not-proven",
    "channel",
    "out-of-turn",
    "revoked",
    "refused",
]
REFUSED_BECAUSE: dict[str, tuple[PairingCode, Sentence]] = {
    "malformed": ("malformed", Sentence("it could not read what this device sent")),
    "version": ("version", Sentence("it speaks another version of pairing; update the older of the two")),
    "same-device": ("same-device", Sentence("it has the same key as this device")),
    "expired": ("expired", Sentence("what it shows has expired; make a new one there")),
    "too-many-runs": ("too-many-runs", Sentence("what it shows was tried too often; make a new one there")),
    "used": ("used", Sentence("what it shows has paired a device already; make a new one there")),
    "wrong-code": (
        "wrong-code",
        Sentence("this is not the code or the invitation that it shows; check it, and enter all of it again"),
    ),
    "not-proven": ("not-proven", Sentence("this device could not prove that it holds its key")),
    "channel": ("channel", Sentence("it is connected to another device than the one that answered")),
    "out-of-turn": ("out-of-turn", Sentence("a message came that has no place at this point")),
    "revoked": (
        "revoked",
        Sentence(
            "this device was taken out for good there. Pair the two with a code, or an invitation that takes it back"
        ),
    ),
}
"""What a refusal by the other device means, in our words: a stranger's sentence is not shown while we have one."""
_HINTS = {"revoked": "admit-again"}


class PairingError(IdentityError):
    """A run, a code or a message of pairing failed.

    `from_peer` says that the other side said so.
    """

    code: PairingCode

    def __init__(
        self, code: PairingCode, template: str, *, from_peer: bool = False, hint: str = "", **arguments: object
    ) -> None:
        super().__init__(template, code=code, hint=hint, **arguments)
        self.from_peer = from_peer

    @property
    def refusal(self) -> bytes | None:
        """The message to send before closing; None when the other side ended the run (PAIR-14)."""
        if self.from_peer:
            return None
        return encode(PairingRefused(code=self.code, sentence=self.message[:MAX_SENTENCE_CHARACTERS]))


Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
Share = Annotated[bytes, msgspec.Meta(min_length=cpace.SHARE_BYTES, max_length=cpace.SHARE_BYTES)]
Mac = Annotated[bytes, msgspec.Meta(min_length=MAC_BYTES, max_length=MAC_BYTES)]
Signature = Annotated[bytes, msgspec.Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Certificate = Annotated[bytes, msgspec.Meta(max_length=MAX_CERTIFICATE_BYTES)]
Sealed = Annotated[bytes, msgspec.Meta(max_length=MAX_INTRODUCTION + 16)]


class Introduction(msgspec.Struct, frozen=True):
    """Where a device's program is reached (URIs, the likeliest first) and at which port (0: not known), and the secret
    by which its announcements are recognised; empty if there is none yet. It never lets anybody in."""

    ways: Annotated[list[Annotated[str, msgspec.Meta(max_length=320)]], msgspec.Meta(max_length=MAX_WAYS)] = []
    secret: Annotated[bytes, msgspec.Meta(max_length=16)] = b""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0


NOTHING = Introduction()


class PairingHello(msgspec.Struct, frozen=True, tag_field="t", tag="hello"):
    """types -> shows: who I am, and my share."""

    v: int
    name: str
    certificate: Certificate
    nonce: Nonce
    share: Share


class Reply(msgspec.Struct, frozen=True, tag_field="t", tag="reply"):
    """shows -> types: who I am, and my share."""

    v: int
    name: str
    certificate: Certificate
    nonce: Nonce
    share: Share


class Confirm(msgspec.Struct, frozen=True, tag_field="t", tag="confirm"):
    """types -> shows: I know the code, and I hold the key I named. `sealed` is an `Introduction`."""

    mac: Mac
    signature: Signature
    sealed: Sealed = b""


class Confirmed(msgspec.Struct, frozen=True, tag_field="t", tag="confirmed"):
    """shows -> types: so do I."""

    mac: Mac
    signature: Signature
    sealed: Sealed = b""


class PairingRefused(msgspec.Struct, frozen=True, tag_field="t", tag="refused"):
    """either -> either, instead of any other message: it ends here, and why."""

    code: str
    sentence: str


PairingMessage = PairingHello | Reply | Confirm | Confirmed | PairingRefused


class _Versioned(msgspec.Struct, frozen=True):
    # All that this version may assume of a message of another version.
    v: int = PAIRING_VERSION


def said_by_peer(refused: PairingRefused) -> PairingError:
    known = REFUSED_BECAUSE.get(refused.code)
    if known is not None:
        code, because = known
        helps = _HINTS.get(code, "")
        return PairingError(code, "the other device refused: {because}", from_peer=True, hint=helps, because=because)
    if not _MACHINE_CODE.match(refused.code):
        return PairingError("malformed", "the other device refused in a way that cannot be read", from_peer=True)
    return PairingError(
        "refused",
        "the other device refused ({refusal}) and says: {said!r}",
        from_peer=True,
        refusal=refused.code,
        said=refused.sentence[:MAX_SENTENCE_CHARACTERS],
    )


encode = msgspec.msgpack.Encoder().encode
_message_decoder: msgspec.msgpack.Decoder[PairingMessage] = msgspec.msgpack.Decoder(PairingMessage)
introduction_decoder = msgspec.msgpack.Decoder(Introduction)
_version_decoder = msgspec.msgpack.Decoder(_Versioned)


def decoded(data: bytes) -> PairingMessage:
    # The one place where bytes of a stranger become messages (PAIR-13). The version is read before the rest:
    # a later version may have other fields, and "malformed" would send the person looking for the wrong fault.
    if len(data) > MAX_PAIRING_MESSAGE:
        raise PairingError(
            "malformed",
            "a pairing message has at most {max_pairing_message} bytes",
            max_pairing_message=MAX_PAIRING_MESSAGE,
        )
    try:
        version = _version_decoder.decode(data).v
        if version != PAIRING_VERSION:
            raise PairingError(
                "version",
                "the other device speaks pairing version {version}, this one {pairing_version}; update the older",
                version=version,
                pairing_version=PAIRING_VERSION,
            )
        return _message_decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise PairingError("malformed", "the other device sent something that is not a pairing message") from error
