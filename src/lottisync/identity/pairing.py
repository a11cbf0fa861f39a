"""Pairing by a typed code: how two devices that know nothing of each other come to trust each other's key.

One device *shows* a nine-digit code, on a screen or in a terminal; the person *types* it on the other. Typing
is chosen over comparing because it cannot be clicked through, and because one display and one keyboard are
enough, which suits a device without a screen of its own.

The exchange runs inside TLS, but takes nothing from it: the side that types has no certificate there, and the
certificate of the side that shows is a stranger's. All trust comes from these four messages:

    types                                               shows
      | Hello      version, name, certificate, nonce, Ya  |
      | ------------------------------------------------> |   a run begins: one of three is used up
      |         Reply      version, name, certificate, nonce, Yb
      | <------------------------------------------------ |
      | Confirm    MAC, signature                         |
      | ------------------------------------------------> |   done, if both hold
      |                         Confirmed   MAC, signature|
      | <------------------------------------------------ |
    done, if both hold

The code goes into CPace; the key that comes out (the ISK) depends on the code and on every byte of Hello and
Reply, so that a certificate, a name or a nonce swapped on the way gives two different keys. The MACs prove the
key, and with it the code; the signatures prove that each side holds the device key it named. The side that types
confirms *first*: an attacker who only pretends to show a code gets one MAC, for one guess made beforehand. The side
that shows the code gives nothing away before it has seen that the other side knows the code.

A guess is used up when a run *begins*, not when it fails. Somebody who sees one MAC and hangs up has had a
guess; counting failures would make such guesses free.

With its proof each side hands over where it is reached (`Introduction`), sealed under a key of the same exchange, so
that the programs behind them meet without any search.

What is typed may also be an *invitation* (`lottisync.identity.invitation`): 128 random bits in place of nine digits,
and the fingerprint of the device that shows it. The exchange is the same.

Of the nine digits eight are secret. The first is the *discriminator*: it is announced with the offer, so that where
several people pair at once each is led to the device in the hand, and tries no code at another's. It is drawn like
the others, and nothing that is announced is computed from them, or a listener could try all codes at home.

The objects here do no I/O and read no clock. They are fed whole messages (framing belongs to the net layer) and
give back the messages to send. What goes wrong raises `PairingError`, whose `refusal` is the last thing to send
before closing. After an error the run is over; a new run takes a new object with a new scalar and nonce.

Spec: docs/specs/06-identity-and-pairing.md, PAIR-1 to PAIR-21; docs/specs/16-meeting.md, MEET-6, MEET-20 to MEET-23.
"""

import enum
import hashlib
import hmac
import re
from typing import Annotated, Literal, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from lottisync.identity import cpace
from lottisync.identity.device_key import (
    MAX_CERTIFICATE_BYTES,
    SIGNATURE_BYTES,
    DeviceKey,
    IdentityError,
    device_id_of,
    verify,
)
from lottisync.identity.device_name import parse_device_name
from lottisync.identity.words import WORDS

PAIRING_VERSION = 1
MAX_PAIRING_MESSAGE = 4096
"""A Hello is a certificate (at most 1024 bytes), a name (at most 256) and less than 200 of the rest. A stranger
gets no more of our memory than that asks for, far below the 64 KiB that hold before authentication at large."""
OFFER_LIFETIME_MS = 120_000
"""Long enough to walk to the other device and type; short enough that a code on a photo is worth nothing."""
RUNS_PER_OFFER = 3
"""A person mistypes once or twice. Three guesses at 10^8 secrets leave an attacker 3 in 100 million."""
CODE_DIGITS = 9
NONCE_BYTES = 32
MAC_BYTES = 32
MAX_SENTENCE_CHARACTERS = 200
MAX_INTRODUCTION = 2048
MOST_WAYS = 16

_CHANNEL = b"lottisync/pairing/1"
_TRANSCRIPT_LABEL = b"lottisync/pairing-transcript/1\x00"
_SEAL_NONCE = bytes(12)
"""Each sealing key is used once."""
_WORDS_LABEL = b"lottisync/pairing-words/1\x00"
_CODE = re.compile(r"\A([0-9]{3})[- ]?([0-9]{3})[- ]?([0-9]{3})\Z")
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

_REFUSED_BECAUSE: dict[str, tuple[PairingCode, str]] = {
    "malformed": ("malformed", "it could not read what this device sent"),
    "version": ("version", "it speaks another version of pairing; update the older of the two"),
    "same-device": ("same-device", "it has the same key as this device"),
    "expired": ("expired", "what it shows has expired; make a new one there"),
    "too-many-runs": ("too-many-runs", "what it shows was tried too often; make a new one there"),
    "used": ("used", "what it shows has paired a device already; make a new one there"),
    "wrong-code": (
        "wrong-code",
        "this is not the code or the invitation that it shows; check it, and enter all of it again",
    ),
    "not-proven": ("not-proven", "this device could not prove that it holds its key"),
    "channel": ("channel", "it is connected to another device than the one that answered"),
    "out-of-turn": ("out-of-turn", "a message came that has no place at this point"),
    "revoked": (
        "revoked",
        "this device was taken out for good there. Pair the two with a code, or an invitation made with --yes",
    ),
}
"""What a refusal by the other device means, in our words: a stranger's sentence is not shown while we have one."""


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
        return _encode(PairingRefused(code=self.code, sentence=self.message[:MAX_SENTENCE_CHARACTERS]))


Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
Share = Annotated[bytes, msgspec.Meta(min_length=cpace.SHARE_BYTES, max_length=cpace.SHARE_BYTES)]
Mac = Annotated[bytes, msgspec.Meta(min_length=MAC_BYTES, max_length=MAC_BYTES)]
Signature = Annotated[bytes, msgspec.Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Certificate = Annotated[bytes, msgspec.Meta(max_length=MAX_CERTIFICATE_BYTES)]
Sealed = Annotated[bytes, msgspec.Meta(max_length=MAX_INTRODUCTION + 16)]


class Introduction(msgspec.Struct, frozen=True):
    """Where a device's program is reached (URIs, the likeliest first) and at which port (0: not known), and the secret
    by which its announcements are recognised; empty if there is none yet. It never lets anybody in."""

    ways: Annotated[list[Annotated[str, msgspec.Meta(max_length=320)]], msgspec.Meta(max_length=MOST_WAYS)] = []
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


class Paired(msgspec.Struct, frozen=True):
    """Whom this device has paired with. `words` are the same four on both sides."""

    peer_name: str
    peer_id: str
    peer_certificate: bytes
    words: tuple[str, str, str, str]
    introduction: Introduction = NOTHING


class PairingState(enum.Enum):
    """Where a run is; named after what it waits for."""

    START = "start"
    HELLO = "hello"
    REPLY = "reply"
    CONFIRM = "confirm"
    CONFIRMED = "confirmed"
    DONE = "done"
    FAILED = "failed"


EXPECTED: dict[PairingState, type[PairingMessage]] = {
    PairingState.HELLO: PairingHello,
    PairingState.REPLY: Reply,
    PairingState.CONFIRM: Confirm,
    PairingState.CONFIRMED: Confirmed,
}
"""The whole order of messages: in each state one message moves on, Refused ends, the rest is out of turn."""


def new_code(random_bytes: bytes) -> str:
    """Nine digits, every code equally likely. `random_bytes`: 32 or more from a cryptographic source.

    Eight bytes at a time, and those above the last whole multiple of 10^9 are passed over: a remainder of them
    would come up more often. Raises `IdentityError` if none is left, which 32 random bytes do not do.
    """
    codes = 10**CODE_DIGITS
    fair = 2**64 - 2**64 % codes
    for at in range(0, len(random_bytes) - 7, 8):
        drawn = int.from_bytes(random_bytes[at : at + 8])
        if drawn < fair:
            return f"{drawn % codes:0{CODE_DIGITS}d}"
    raise IdentityError("a pairing code is drawn from 32 or more random bytes")


def parse_code(text: str) -> str:
    """The nine digits of what a person typed: '123456789', '123-456-789' or '123 456 789'."""
    typed = text.strip(" \t\r\n")
    if not (groups := _CODE.match(typed)):
        raise PairingError(
            "malformed-code", "a pairing code has 9 digits, like 123-456-789; got {typed!r}", typed=typed[:20]
        )
    return "".join(groups.groups())


def discriminator(code: str) -> str:
    """The digit of a code that is no secret, by which one recognises the device that shows it (PAIR-21)."""
    return parse_code(code)[0]


class Password(NamedTuple):
    """What both sides have to know. `channel` tells a code from an invitation, so that neither passes for the other;
    `device` is the device that shows it, where that is known beforehand."""

    channel: bytes
    secret: bytes
    device: str | None = None


def code_password(code: str) -> Password:
    """The password of nine digits. Raises `PairingError`."""
    return Password(_CHANNEL, parse_code(code).encode("ascii"))


class Offer:
    """A code or an invitation that is being shown: until it expires, for so many runs, for one device. `what` is its
    name for people.

    `now_ms` is in milliseconds of any one clock, best a monotonic one; `expires_at_ms` is of the same clock.
    """

    what = "offer"

    def __init__(self, password: Password, expires_at_ms: int, runs_left: int) -> None:
        self.password = password
        self.expires_at_ms = expires_at_ms
        self.runs_left = runs_left
        self.used = False

    def open_at(self, now_ms: int) -> bool:
        """Whether a run may begin now; a listener with no open offer closes."""
        return not self.used and self.runs_left > 0 and now_ms < self.expires_at_ms

    def begin(self, now_ms: int) -> None:
        """Use up one run (PAIR-5, PAIR-6). Raises `PairingError` used, too-many-runs or expired."""
        if self.used:
            raise PairingError("used", "this {what} has paired a device already; make a new one", what=self.what)
        if self.runs_left <= 0:
            raise PairingError("too-many-runs", "this {what} was tried too often; make a new one", what=self.what)
        if now_ms >= self.expires_at_ms:
            raise PairingError("expired", "this {what} has expired; make a new one", what=self.what)
        self.runs_left -= 1

    def take(self) -> None:
        """It has done its work; of the runs under way only this one may end well (PAIR-7)."""
        if self.used:
            raise PairingError("used", "this {what} has paired a device already; make a new one", what=self.what)
        self.used = True

    def __repr__(self) -> str:
        # Without the secret: an offer that is printed ends in a log.
        state = f"runs_left={self.runs_left}, expires_at_ms={self.expires_at_ms}, used={self.used}"
        return f"{type(self).__name__}({state})"


class CodeOffer(Offer):
    """A code that is being shown: for 120 seconds, for three runs."""

    what = "code"

    def __init__(self, code: str, expires_at_ms: int, runs_left: int = RUNS_PER_OFFER) -> None:
        super().__init__(code_password(code), expires_at_ms, runs_left)
        self.code = parse_code(code)

    @property
    def shown(self) -> str:
        """The code as people read it: 123-456-789."""
        return f"{self.code[:3]}-{self.code[3:6]}-{self.code[6:]}"


class _Secret:
    # What both sides know once Hello and Reply are exchanged. Every label ends in its only NUL byte, so none can
    # be taken for the beginning of another (ID-7).
    def __init__(self, isk: bytes, hello: bytes, reply: bytes) -> None:
        self._isk = isk
        self._transcript = hashlib.sha512(_TRANSCRIPT_LABEL + cpace.lv_cat(hello, reply)).digest()

    def mac(self, role: bytes) -> bytes:
        return self._derived(b"lottisync/pairing-confirm-" + role + b"/1\x00")[:MAC_BYTES]

    def to_sign(self, role: bytes) -> bytes:
        return b"lottisync/pairing-possession-" + role + b"/1\x00" + self._transcript

    def seal(self, role: bytes, introduction: Introduction) -> bytes:
        """For the peer alone. What does not fit is left out: the likeliest ways come first."""
        if introduction == NOTHING:
            return b""
        ways = introduction.ways[:MOST_WAYS]
        while len(plain := _encode(msgspec.structs.replace(introduction, ways=ways))) > MAX_INTRODUCTION:
            ways = ways[:-1]
        return self._cipher(role).encrypt(_SEAL_NONCE, plain, None)

    def open(self, role: bytes, sealed: bytes) -> Introduction:
        if not sealed:
            return NOTHING
        try:
            return _introduction_decoder.decode(self._cipher(role).decrypt(_SEAL_NONCE, sealed, None))
        except (InvalidTag, msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise PairingError("malformed", "what the other device says of itself cannot be read") from error

    def _cipher(self, role: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(self._derived(b"lottisync/pairing-seal-" + role + b"/1\x00")[:32])

    def words(self) -> tuple[str, str, str, str]:
        drawn = self._derived(_WORDS_LABEL)
        return WORDS[drawn[0]], WORDS[drawn[1]], WORDS[drawn[2]], WORDS[drawn[3]]

    def _derived(self, label: bytes) -> bytes:
        return hmac.digest(self._isk, label + self._transcript, "sha512")


class _Run:
    # What does not depend on the side: turns, own card, proof in both directions.
    def __init__(
        self,
        state: PairingState,
        own_role: bytes,
        peer_role: bytes,
        key: DeviceKey,
        name: str,
        introduction: Introduction,
    ) -> None:
        self._introduction = introduction
        self.state = state
        self.result: Paired | None = None
        self._own_role = own_role
        self._peer_role = peer_role
        self._key = key
        self._name = parse_device_name(name)

    def _take(self, data: bytes) -> PairingMessage:
        message = _decode(data)
        expected = EXPECTED.get(self.state)
        if expected is not None and isinstance(message, PairingRefused):
            raise _said_by_peer(message)
        if expected is None or not isinstance(message, expected):
            raise PairingError("out-of-turn", "the other device sent a message that has no place at this point")
        return message

    def _check_card(self, card: PairingHello | Reply) -> str:
        try:
            parse_device_name(card.name)
            peer_id = device_id_of(card.certificate)
        except IdentityError as error:
            raise PairingError("malformed", "the other device introduced itself badly: {error}", error=error) from error
        if peer_id == self._key.device_id:
            raise PairingError("same-device", "this is the same device, or a copy of its key")
        return peer_id

    def _fail(self) -> None:
        # A run that is done stays done: what comes after it is noise.
        if self.state is not PairingState.DONE:
            self.state = PairingState.FAILED

    def _proof(self, secret: _Secret) -> tuple[bytes, bytes, bytes]:
        return (
            secret.mac(self._own_role),
            self._key.sign(secret.to_sign(self._own_role)),
            secret.seal(self._own_role, self._introduction),
        )

    def _check_proof(self, secret: _Secret, certificate: bytes, proof: Confirm | Confirmed) -> Introduction:
        if not hmac.compare_digest(secret.mac(self._peer_role), proof.mac):
            raise PairingError("wrong-code", "the two devices do not have the same code or invitation")
        if not verify(certificate, proof.signature, secret.to_sign(self._peer_role)):
            raise PairingError("not-proven", "the other device could not prove that it holds its key")
        return secret.open(self._peer_role, proof.sealed)


class CodeTyped(_Run):
    """One run on the device where the code is typed, or the invitation. `result` is set when it has ended well.

    `code` is nine digits, or the password of an invitation; `server_certificate` is the one TLS showed (DER),
    `scalar` and `nonce` are 32 random bytes each, made for this run only. Raises `PairingError` or `IdentityError` for
    arguments that cannot be used.
    """

    def __init__(
        self,
        *,
        code: str | Password,
        key: DeviceKey,
        name: str,
        scalar: bytes,
        nonce: bytes,
        server_certificate: bytes,
        introduction: Introduction = NOTHING,
    ) -> None:
        super().__init__(PairingState.START, b"types", b"shows", key, name, introduction)
        password = code_password(code) if isinstance(code, str) else code
        # Before a word is said: an invitation names the device, and this is another one (MEET-23).
        if password.device is not None and device_id_of(server_certificate) != password.device:
            raise PairingError(
                "wrong-fingerprint",
                "the device that answers is not the one that made the invitation; it was told nothing",
            )
        self._scalar = scalar
        self._nonce = nonce
        self._server_certificate = server_certificate
        self._share = _own_share(password, scalar, nonce, session_id=nonce)
        self._hello = b""
        self._secret: _Secret | None = None
        self._peer: Reply | None = None

    def start(self) -> bytes:
        """The Hello to send. Once per run."""
        if self.state is not PairingState.START:
            raise RuntimeError("a pairing run starts once")
        self.state = PairingState.REPLY
        self._hello = _encode(
            PairingHello(
                v=PAIRING_VERSION,
                name=self._name,
                certificate=self._key.certificate,
                nonce=self._nonce,
                share=self._share,
            )
        )
        return self._hello

    def receive(self, data: bytes) -> list[bytes]:
        """Take one whole message, give back what to send. Raises `PairingError`; the run is over then."""
        try:
            message = self._take(data)
            if isinstance(message, Reply):
                return [self._on_reply(message, data)]
            assert isinstance(message, Confirmed), "EXPECTED lets nothing else through to this side"
            self._on_confirmed(message)
            return []
        except PairingError:
            self._fail()
            raise

    def _on_reply(self, reply: Reply, data: bytes) -> bytes:
        self._check_card(reply)
        # A relay that ends TLS on both sides could pass all messages on unread. It would learn the names, and
        # the person would believe to be connected to the device in the hand (PAIR-12).
        if reply.certificate != self._server_certificate:
            raise PairingError("channel", "something stands between the two devices: the connection is not theirs")
        secret = _Secret(
            cpace.session_key(
                session_id=self._nonce,
                point=_point(self._scalar, reply.share),
                initiator_share=self._share,
                initiator_data=self._hello,
                responder_share=reply.share,
                responder_data=data,
            ),
            self._hello,
            data,
        )
        self._secret, self._peer, self.state = secret, reply, PairingState.CONFIRMED
        return _encode(Confirm(*self._proof(secret)))

    def _on_confirmed(self, proof: Confirmed) -> None:
        assert self._secret is not None
        assert self._peer is not None
        introduction = self._check_proof(self._secret, self._peer.certificate, proof)
        self.result = _paired(self._peer, self._secret, introduction)
        self.state = PairingState.DONE


class CodeShown(_Run):
    """One run on the device that shows the code or the invitation. `result` is set when it has ended well.

    `scalar` and `nonce` are 32 random bytes each, made for this run only. All runs of one code share its `offer`.
    """

    def __init__(
        self,
        *,
        offer: Offer,
        key: DeviceKey,
        name: str,
        scalar: bytes,
        nonce: bytes,
        introduction: Introduction = NOTHING,
    ) -> None:
        super().__init__(PairingState.HELLO, b"shows", b"types", key, name, introduction)
        # The share depends on the other side's nonce, so unfit arguments would only show in the middle of a run.
        _check_chance(scalar, nonce)
        self._offer = offer
        self._scalar = scalar
        self._nonce = nonce
        self._secret: _Secret | None = None
        self._peer: PairingHello | None = None

    def receive(self, data: bytes, now_ms: int) -> list[bytes]:
        """Take one whole message, give back what to send. Raises `PairingError`; the run is over then.

        `now_ms` is of the clock of the offer. A Hello that can be answered uses up one of the offer's runs.
        """
        try:
            message = self._take(data)
            if isinstance(message, PairingHello):
                return [self._on_hello(message, data, now_ms)]
            assert isinstance(message, Confirm), "EXPECTED lets nothing else through to this side"
            return [self._on_confirm(message)]
        except PairingError:
            self._fail()
            raise

    def _on_hello(self, hello: PairingHello, data: bytes, now_ms: int) -> bytes:
        self._check_card(hello)
        point = _point(self._scalar, hello.share)
        # Before the answer, and whatever comes after it (PAIR-5).
        self._offer.begin(now_ms)
        share = _own_share(self._offer.password, self._scalar, self._nonce, session_id=hello.nonce)
        reply = _encode(
            Reply(
                v=PAIRING_VERSION,
                name=self._name,
                certificate=self._key.certificate,
                nonce=self._nonce,
                share=share,
            )
        )
        isk = cpace.session_key(
            session_id=hello.nonce,
            point=point,
            initiator_share=hello.share,
            initiator_data=data,
            responder_share=share,
            responder_data=reply,
        )
        self._secret, self._peer, self.state = _Secret(isk, data, reply), hello, PairingState.CONFIRM
        return reply

    def _on_confirm(self, proof: Confirm) -> bytes:
        assert self._secret is not None
        assert self._peer is not None
        introduction = self._check_proof(self._secret, self._peer.certificate, proof)
        self._offer.take()
        proof_of_ours = self._proof(self._secret)
        self.result = _paired(self._peer, self._secret, introduction)
        self.state = PairingState.DONE
        return _encode(Confirmed(*proof_of_ours))


def _own_share(password: Password, scalar: bytes, nonce: bytes, *, session_id: bytes) -> bytes:
    _check_chance(scalar, nonce)
    return cpace.public_share(scalar, cpace.generator(password.secret, password.channel, session_id))


def _check_chance(scalar: bytes, nonce: bytes) -> None:
    if len(scalar) != cpace.SCALAR_BYTES or len(nonce) != NONCE_BYTES:
        raise IdentityError(
            "a pairing run takes 32 bytes twice; got {count} and {count2}", count=len(scalar), count2=len(nonce)
        )


def _point(scalar: bytes, share: bytes) -> bytes:
    try:
        return cpace.shared_point(scalar, share)
    except cpace.CPaceError as error:
        raise PairingError("malformed", "the other device sent an unfit share: {error}", error=error) from error


def _paired(peer: PairingHello | Reply, secret: _Secret, introduction: Introduction) -> Paired:
    return Paired(
        peer_name=peer.name,
        peer_id=device_id_of(peer.certificate),
        peer_certificate=peer.certificate,
        words=secret.words(),
        introduction=introduction,
    )


def _said_by_peer(refused: PairingRefused) -> PairingError:
    known = _REFUSED_BECAUSE.get(refused.code)
    if known is not None:
        code, because = known
        return PairingError(code, f"the other device refused: {because}", from_peer=True)
    if not _MACHINE_CODE.match(refused.code):
        return PairingError("malformed", "the other device refused in a way that cannot be read", from_peer=True)
    return PairingError(
        "refused",
        f"the other device refused ({refused.code}) and says: {refused.sentence[:MAX_SENTENCE_CHARACTERS]!r}",
        from_peer=True,
    )


_encode = msgspec.msgpack.Encoder().encode
_message_decoder: msgspec.msgpack.Decoder[PairingMessage] = msgspec.msgpack.Decoder(PairingMessage)
_introduction_decoder = msgspec.msgpack.Decoder(Introduction)
_version_decoder = msgspec.msgpack.Decoder(_Versioned)


def _decode(data: bytes) -> PairingMessage:
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
