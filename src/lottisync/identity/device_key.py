"""A device is its key.

There is no account and no authority that could say who a device is. A device makes one Ed25519 key when it is
set up and keeps it; its *id* is the SHA-256 of the public key as every certificate carries it (the
SubjectPublicKeyInfo), so the id names the key, and a device that proves that it has the key has proved the
id. The hash is of the key and not of the certificate: the wrapping may change, the device stays itself.

TLS wants a certificate around the key. Ours says nothing beyond the key: a constant subject (a host name
there would be read by everybody on the network), a constant validity (TLS checks dates even of pinned
certificates, and a device without a battery-backed clock starts in 1970 or 2020), a serial number taken from
the key. Because Ed25519 signatures have no chance in them either, the certificate is a pure function of the
seed, and the seed is all that has to be stored, backed up and protected. It is marked as no authority, so that
a pinned device cannot vouch for another key inside a TLS handshake: vouching is done in the roster, in the
open.

Spec: docs/specs/06-identity-and-pairing.md, ID-1 to ID-7.
"""

import functools
import hashlib
import hmac
import re
import warnings
from datetime import UTC, datetime
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

from lottisync.problem import Invalid, Problem

SEED_BYTES = 32
SIGNATURE_BYTES = 64
DEVICE_ID_CHARACTERS = 64
MAX_CERTIFICATE_BYTES = 1024
"""Ours has about 250 bytes. The limit stops a stranger from having us parse an album of extensions."""

_NOT_BEFORE = datetime(2020, 1, 1, tzinfo=UTC)
_NOT_AFTER = datetime(2120, 1, 1, tzinfo=UTC)
_SUBJECT = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lottisync")])
_SERIAL_LABEL = b"lottisync/certificate-serial/1\x00"
_DEVICE_ID = re.compile(r"\A[0-9a-f]{64}\Z")
_GROUP = 4


class IdentityError(Problem):
    """A key, certificate, name, record or message of this package is not what it has to be."""

    def __init__(self, template: str, *, code: str = "bad-value", hint: str = "", **arguments: object) -> None:
        super().__init__(code, template, hint=hint, **arguments)


class DeviceKey:
    """The private key of one device and what follows from it. Immutable.

    Not a msgspec struct: its printed form would show the seed, and a secret that prints itself ends in a log.
    """

    __slots__ = ("_certificate", "_device_id", "_private", "_seed")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise IdentityError(
                "a device key is made of {seed_bytes} bytes; got {count}", seed_bytes=SEED_BYTES, count=len(seed)
            )
        self._seed = bytes(seed)
        self._private = Ed25519PrivateKey.from_private_bytes(self._seed)
        spki = _spki(self._private.public_key())
        self._device_id = hashlib.sha256(spki).hexdigest()
        self._certificate = _self_signed(self._private, spki)

    @classmethod
    def from_seed(cls, seed: bytes) -> Self:
        """The key of `seed`: 32 bytes from a cryptographic source, kept secret. Raises `IdentityError`."""
        return cls(seed)

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes: all that has to be stored."""
        return self._seed

    @property
    def device_id(self) -> str:
        """64 lowercase hex characters: SHA-256 of the SubjectPublicKeyInfo (ID-1)."""
        return self._device_id

    @property
    def certificate(self) -> bytes:
        """The self-signed certificate in DER, the same bytes for the same seed (ID-2)."""
        return self._certificate

    def sign(self, message: bytes) -> bytes:
        """64 bytes of Ed25519 signature. `message` begins with a label that says what it is (ID-7)."""
        return self._private.sign(message)

    def derived(self, purpose: bytes) -> bytes:
        """32 secret bytes for one purpose. `purpose` begins with a label that says what it is (ID-7)."""
        return hmac.digest(self._seed, purpose, "sha256")

    def private_pem(self) -> bytes:
        """The key as PKCS#8 PEM, the form that `ssl` loads; not encrypted, so it never goes into a file."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return x509.load_der_x509_certificate(self._certificate).public_bytes(serialization.Encoding.PEM)

    def __repr__(self) -> str:
        return f"DeviceKey({self._device_id[:8]})"


def device_id_of(certificate_der: bytes) -> str:
    """The device id a certificate stands for.

    Raises `IdentityError` unless it is a certificate of at most 1024 bytes around an Ed25519 key, signed by
    that key (ID-4, ID-5).
    """
    return hashlib.sha256(_spki(_key_of(certificate_der))).hexdigest()


@functools.lru_cache(maxsize=1024)
def verify(certificate_der: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` over `message` was made with the key of this certificate.

    Raises `IdentityError` for a certificate that `device_id_of` would refuse. The roster is computed from its
    records wherever it is needed, also with every batch of a round. So what was verified is remembered.
    """
    key = _key_of(certificate_der)
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def parse_device_id(text: str) -> str:
    """Return `text` if it is 64 lowercase hex characters, else raise `IdentityError`."""
    if not _DEVICE_ID.match(text):
        raise IdentityError(
            "a device id has {device_id_characters} lowercase hex characters; got {text!r}",
            device_id_characters=DEVICE_ID_CHARACTERS,
            text=text[:80],
        )
    return text


def grouped(device_id: str) -> str:
    """The id as people compare it: sixteen groups of four, joined by hyphens. Raises `IdentityError`."""
    whole = parse_device_id(device_id)
    return "-".join(whole[at : at + _GROUP] for at in range(0, DEVICE_ID_CHARACTERS, _GROUP))


def _spki(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _self_signed(private: Ed25519PrivateKey, spki: bytes) -> bytes:
    # 127 bits: positive in DER and within the 20 octets a serial number may have; never zero in practice,
    # and the lowest bit makes sure.
    serial = int.from_bytes(hashlib.sha256(_SERIAL_LABEL + spki).digest()[:16]) >> 1 | 1
    return (
        x509.CertificateBuilder(_SUBJECT, _SUBJECT, private.public_key(), serial, _NOT_BEFORE, _NOT_AFTER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(private, None)
        .public_bytes(serialization.Encoding.DER)
    )


# A roster asks about the same few certificates once per record.
@functools.lru_cache(maxsize=256)
def _key_of(certificate_der: bytes) -> Ed25519PublicKey:
    if len(certificate_der) > MAX_CERTIFICATE_BYTES:
        raise IdentityError(
            "a device certificate has at most {max_certificate_bytes} bytes; got {count}",
            max_certificate_bytes=MAX_CERTIFICATE_BYTES,
            count=len(certificate_der),
        )
    # InvalidVersion is no ValueError, and an algorithm OpenSSL was built without is neither. What the parser only
    # warns of (a negative serial number) is refused: a stranger does not get to write to our log.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            certificate = x509.load_der_x509_certificate(certificate_der)
            key = certificate.public_key()
    except (ValueError, x509.InvalidVersion, UnsupportedAlgorithm, Warning) as error:
        raise IdentityError("this is not a certificate: {error}", error=error) from error
    if not isinstance(key, Ed25519PublicKey):
        raise IdentityError("a device certificate holds an Ed25519 key; this one holds {name}", name=type(key).__name__)
    # Signed by its own key: a device that passes on the certificate of another one cannot have altered it. The
    # signature covers all but its own wrapping, and the parser lets a bit string with unused bits pass.
    try:
        certificate.verify_directly_issued_by(certificate)
        if not certificate_der.endswith(b"\x00" + certificate.signature):
            raise Invalid("the signature is not in its one form")
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise IdentityError("a device certificate is signed by its own key; this one is not") from error
    return key
