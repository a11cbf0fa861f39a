"""Wraps: epoch keys sealed to one device (docs/specs/19-relay.md, section 4).

HPKE in base mode (RFC 9180), with X25519 or, where the receiver's library and ours have it, with the hybrid of X25519
and ML-KEM-768: a relay may keep ciphertext for ever, and wraps are few. Base mode does not say who has sealed; the
signature of the message around it does.

The *box key* of a device is made from its seed. It is not the signing key converted, for a key has one use. Other
devices learn its public half from a record in `space` that the device has signed."""

import base64
import binascii
import hashlib
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from lottisync.identity.device_key import DeviceKey, parse_device_id, verify
from lottisync.problem import Problem
from lottisync.relay.header import BadMessage

X25519_BYTES = 32
ML_KEM_BYTES = 1184
RECORD_LABEL = b"lottisync/relay-box-key/1\x00"
WRAP_LABEL = b"lottisync/relay-wrap/1\x00"
_X25519_PURPOSE = b"lottisync/relay-box/1\x00x25519"
_ML_KEM_PURPOSES = (b"lottisync/relay-box/1\x00ml-kem-768 d", b"lottisync/relay-box/1\x00ml-kem-768 z")
_CLASSIC = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
_HYBRID = hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


class BoxKey:
    """The private half. Not a struct: a secret that prints itself ends in a log."""

    def __init__(self, key: DeviceKey) -> None:
        self._x25519 = X25519PrivateKey.from_private_bytes(key.derived(_X25519_PURPOSE))
        self._ml_kem = _ml_kem_key(b"".join(key.derived(purpose) for purpose in _ML_KEM_PURPOSES))

    @property
    def public(self) -> bytes:
        """32 bytes of X25519, and 1184 of ML-KEM-768 where the library has it."""
        ml_kem = self._ml_kem.public_key().public_bytes_raw() if self._ml_kem is not None else b""
        return self._x25519.public_key().public_bytes_raw() + ml_kem

    def opened(self, wrapped: bytes, info: bytes) -> bytes:
        """What was wrapped for this device. Raises `BadMessage` for what was not."""
        kind, ciphertext = wrapped[:1], wrapped[1:]
        try:
            if kind == b"\x02" and self._ml_kem is not None:
                return _HYBRID.decrypt(ciphertext, hpke.MLKEM768X25519PrivateKey(self._ml_kem, self._x25519), info)
            if kind == b"\x01":
                return _CLASSIC.decrypt(ciphertext, self._x25519, info)
        except InvalidTag:
            pass
        raise BadMessage("this was not wrapped for this device")


def wrapped(plaintext: bytes, public: bytes, info: bytes) -> bytes:
    """Seal to the device with this public box key: one byte for the KEM (1: X25519, 2: hybrid), then HPKE's bytes."""
    x25519 = X25519PublicKey.from_public_bytes(public[:X25519_BYTES])
    ml_kem = _ml_kem_public(public[X25519_BYTES:])
    if ml_kem is not None:
        return b"\x02" + _HYBRID.encrypt(plaintext, hpke.MLKEM768X25519PublicKey(ml_kem, x25519), info)
    return b"\x01" + _CLASSIC.encrypt(plaintext, x25519, info)


def wrap_info(space: bytes, lane: bytes, number: int, public: bytes) -> bytes:
    """The bytes that bind a wrap to its message and its receiver: they differ for each message and each receiver."""
    return wrap_context(space, lane, number) + hashlib.sha256(public).digest()


def wrap_context(space: bytes, lane: bytes, number: int) -> bytes:
    """The keys message that wraps are in."""
    return WRAP_LABEL + space + lane + number.to_bytes(8, "big")


def _ml_kem_key(seed: bytes) -> MLKEM768PrivateKey | None:
    try:
        return MLKEM768PrivateKey.from_seed_bytes(seed)
    except UnsupportedAlgorithm:  # pragma: no cover - OpenSSL of another build
        return None


def _ml_kem_public(public: bytes) -> MLKEM768PublicKey | None:
    if not public:
        return None
    try:
        return MLKEM768PublicKey.from_public_bytes(public)
    except UnsupportedAlgorithm:  # pragma: no cover - OpenSSL of another build
        return None


class BoxRecord(msgspec.Struct, frozen=True, kw_only=True):
    """'My public box key is this', signed by `device`. This is its form in `space`."""

    device: str
    public: bytes
    signature: bytes

    @classmethod
    def signed_by(cls, key: DeviceKey) -> "BoxRecord":
        public = BoxKey(key).public
        return cls(device=key.device_id, public=public, signature=key.sign(RECORD_LABEL + public))

    @property
    def record_id(self) -> str:
        return "box-" + self.device

    def genuine(self, certificate: bytes) -> bool:
        """Whether the device of this certificate has signed it, and it can be a key at all."""
        return len(self.public) in (X25519_BYTES, X25519_BYTES + ML_KEM_BYTES) and verify(
            certificate, self.signature, RECORD_LABEL + self.public
        )

    def to_fields(self) -> dict[str, str]:
        return {"device": self.device, "public": _text(self.public), "signature": _text(self.signature)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> "BoxRecord | None":
        """The record in these fields; None if they are not one."""
        device, public, signature = (fields.get(name) for name in ("device", "public", "signature"))
        if not (isinstance(device, str) and isinstance(public, str) and isinstance(signature, str)):
            return None
        try:
            parse_device_id(device)
            return cls(device=device, public=_bytes(public), signature=_bytes(signature))
        except (Problem, binascii.Error, ValueError):
            return None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
