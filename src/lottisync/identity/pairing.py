"""Pairing by a typed code: how two devices that know nothing of each other come to trust each other's key.

One device *shows* a nine-digit code, on a screen or in a terminal; the person *types* it on the other. Typing
is chosen over comparing because it cannot be clicked through, and because one display and one keyboard are
enough, which suits a device without a screen of its own. The code is `lottisync.identity.pairing_offer`, the messages
are `lottisync.identity.pairing_message`; here are the two sides, each a machine that waits for one message.

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

The objects here do no I/O and read no clock. They are fed whole messages (framing belongs to the net layer) and
give back the messages to send. What goes wrong raises `PairingError`, whose `refusal` is the last thing to send
before closing. After an error the run is over; a new run takes a new object with a new scalar and nonce.

Spec: docs/specs/06-identity-and-pairing.md, PAIR-1 to PAIR-21; docs/specs/16-meeting.md, MEET-6, MEET-20 to MEET-23.
"""

import enum
import hashlib
import hmac

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from lottisync.identity import cpace
from lottisync.identity.device_key import (
    DeviceKey,
    IdentityError,
    device_id_of,
    verify,
)
from lottisync.identity.device_name import parse_device_name
from lottisync.identity.pairing_message import (
    MAC_BYTES,
    MAX_INTRODUCTION,
    MAX_WAYS,
    NONCE_BYTES,
    NOTHING,
    PAIRING_VERSION,
    Confirm,
    Confirmed,
    Introduction,
    PairingError,
    PairingHello,
    PairingMessage,
    PairingRefused,
    Reply,
    decoded,
    encode,
    introduction_decoder,
    said_by_peer,
)
from lottisync.identity.pairing_offer import Offer, Password, code_password
from lottisync.identity.words import WORDS

_TRANSCRIPT_LABEL = b"lottisync/pairing-transcript/1\x00"
_SEAL_NONCE = bytes(12)
"""Each sealing key is used once."""
_WORDS_LABEL = b"lottisync/pairing-words/1\x00"


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
        """Seal the introduction for the peer alone. What does not fit is left out: the likeliest ways come first."""
        if introduction == NOTHING:
            return b""
        ways = introduction.ways[:MAX_WAYS]
        while len(plain := encode(msgspec.structs.replace(introduction, ways=ways))) > MAX_INTRODUCTION:
            ways = ways[:-1]
        return self._cipher(role).encrypt(_SEAL_NONCE, plain, None)

    def open(self, role: bytes, sealed: bytes) -> Introduction:
        if not sealed:
            return NOTHING
        try:
            return introduction_decoder.decode(self._cipher(role).decrypt(_SEAL_NONCE, sealed, None))
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
        message = decoded(data)
        expected = EXPECTED.get(self.state)
        if expected is not None and isinstance(message, PairingRefused):
            raise said_by_peer(message)
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
        self._hello = encode(
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
        return encode(Confirm(*self._proof(secret)))

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
        reply = encode(
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
        return encode(Confirmed(*proof_of_ours))


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
