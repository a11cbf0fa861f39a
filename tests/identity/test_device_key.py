"""Device keys, certificates and names: ID-1 to ID-8."""

from __future__ import annotations

import hashlib
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID
from hypothesis import example, given
from hypothesis import strategies as st

from lottisync.identity import pairing, statement
from lottisync.identity.device_key import (
    MAX_CERTIFICATE_BYTES,
    DeviceKey,
    IdentityError,
    device_id_of,
    grouped,
    parse_device_id,
    verify,
)
from lottisync.identity.device_name import parse_device_name
from lottisync.identity.pairing_offer import CodeOffer

KEY = DeviceKey.from_seed(bytes(range(32)))
OTHER = DeviceKey.from_seed(bytes(32))
DAY = datetime(2020, 1, 1, tzinfo=UTC)
SUBJECT = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lottisync")])


def made_by_hand(
    public: Ed25519PrivateKey | ec.EllipticCurvePrivateKey,
    signer: Ed25519PrivateKey | ec.EllipticCurvePrivateKey,
    *,
    padding: int = 0,
) -> bytes:
    builder = x509.CertificateBuilder(SUBJECT, SUBJECT, public.public_key(), 1, DAY, datetime(2120, 1, 1))
    if padding:
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), bytes(padding)), critical=False
        )
    algorithm = None if isinstance(signer, Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(signer, algorithm).public_bytes(serialization.Encoding.DER)


def test_the_id_is_the_hash_of_the_public_key() -> None:
    """ID-1"""
    spki = (
        Ed25519PrivateKey.from_private_bytes(KEY.seed)
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    assert KEY.device_id == hashlib.sha256(spki).hexdigest() == device_id_of(KEY.certificate)
    assert parse_device_id(KEY.device_id) == KEY.device_id


def test_the_certificate_follows_from_the_seed() -> None:
    """ID-2: pinned to the byte, so that a new release of the X.509 writer cannot change it unnoticed."""
    assert DeviceKey.from_seed(KEY.seed).certificate == KEY.certificate
    assert KEY.certificate != OTHER.certificate
    assert hashlib.sha256(KEY.certificate).hexdigest() == CERTIFICATE_HASH


CERTIFICATE_HASH = "0e857638825425e5d7c49b1d6f0a60d5dc539a2f1f7e4d9f0368f71061fd4079"


def test_the_certificate_says_nothing_but_the_key() -> None:
    """ID-3"""
    certificate = x509.load_der_x509_certificate(KEY.certificate)
    other = x509.load_der_x509_certificate(OTHER.certificate)
    assert certificate.subject == certificate.issuer == other.subject
    assert certificate.subject.rfc4514_string() == "CN=lottisync"
    assert certificate.not_valid_before_utc == DAY
    assert certificate.not_valid_after_utc.year == 2120
    assert 0 < certificate.serial_number < 2**127
    assert certificate.serial_number != other.serial_number
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert not constraints.value.ca
    assert len(certificate.extensions) == 1


def context(own: DeviceKey, peer: DeviceKey, protocol: int, at: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(protocol)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.load_verify_locations(cadata=peer.certificate)
    pem = at / f"{own.device_id}.pem"
    pem.write_bytes(own.private_pem() + own.certificate_pem())
    made.load_cert_chain(pem)
    return made


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[bytes | None, bytes | None]:
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(down, up, server_side=False),
        server.wrap_bio(up, down, server_side=True),
    ]
    waiting = list(ends)
    while waiting:
        for end in list(waiting):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(end)
    return ends[0].getpeercert(binary_form=True), ends[1].getpeercert(binary_form=True)


def test_the_certificate_serves_mutual_tls_with_pins(tmp_path: Path) -> None:
    """ID-10"""
    server = context(KEY, OTHER, ssl.PROTOCOL_TLS_SERVER, tmp_path)
    client = context(OTHER, KEY, ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    assert shake_hands(server, client) == (KEY.certificate, OTHER.certificate)
    stranger = context(DeviceKey.from_seed(b"s" * 32), KEY, ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, stranger)


def test_id_22_the_certificate_is_not_a_ca() -> None:
    [constraints] = x509.load_der_x509_certificate(KEY.certificate).extensions
    assert (constraints.value, constraints.critical) == (x509.BasicConstraints(ca=False, path_length=None), True)


ed25519, p256 = Ed25519PrivateKey.from_private_bytes(b"k" * 32), ec.derive_private_key(7, ec.SECP256R1())


@pytest.mark.parametrize(
    ("certificate", "complaint"),
    [
        (b"", "not a certificate"),
        (b"\x30\x03\x02\x01\x01", "not a certificate"),
        (KEY.certificate[:-1], "not a certificate"),
        (KEY.certificate + b"\x00", "not a certificate"),
        (KEY.certificate_pem(), "not a certificate"),
        (made_by_hand(p256, p256), "Ed25519"),
        (made_by_hand(ed25519, ed25519, padding=MAX_CERTIFICATE_BYTES), "at most"),
    ],
)
def test_what_is_not_a_device_certificate_is_refused(certificate: bytes, complaint: str) -> None:
    """ID-4"""
    with pytest.raises(IdentityError, match=complaint):
        device_id_of(certificate)
    with pytest.raises(IdentityError, match=complaint):
        verify(certificate, bytes(64), b"")


def test_a_certificate_that_another_key_has_signed_is_refused() -> None:
    """ID-5"""
    assert device_id_of(made_by_hand(ed25519, ed25519))
    impostor = Ed25519PrivateKey.from_private_bytes(b"i" * 32)
    with pytest.raises(IdentityError, match="signed by its own key"):
        device_id_of(made_by_hand(ed25519, impostor))


def test_what_the_parser_only_warns_of_is_refused() -> None:
    """ID-4: a negative serial number, properly signed."""
    good = made_by_hand(ed25519, ed25519)
    signed = x509.load_der_x509_certificate(good).tbs_certificate_bytes
    negative = signed.replace(b"\x02\x01\x01", b"\x02\x01\x81", 1)
    assert negative != signed
    with pytest.raises(IdentityError, match="not a certificate"):
        device_id_of(good.replace(signed, negative)[:-64] + ed25519.sign(negative))


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_else(noise: bytes) -> None:
    """ID-4"""
    with pytest.raises(IdentityError):
        device_id_of(noise)


@given(st.integers(0, len(KEY.certificate) - 1), st.integers(1, 255))
@example(at=13, flip=0x80).via("a negative serial number: the parser warns and goes on")
@example(at=185, flip=1).via("a bit string with one unused bit: the parser lets it pass")
def test_an_altered_certificate_is_refused(at: int, flip: int) -> None:
    """ID-4, ID-5"""
    bent = bytearray(KEY.certificate)
    bent[at] ^= flip
    with pytest.raises(IdentityError):
        device_id_of(bytes(bent))


def test_neither_key_nor_offer_prints_its_secret() -> None:
    """ID-6, PAIR-19"""
    shown = repr(KEY) + str(KEY) + repr(CodeOffer("123-456-789", 0))
    assert KEY.seed.hex() not in shown
    assert repr(KEY.seed) not in shown
    assert "1234" not in shown
    assert not hasattr(KEY, "__dict__")


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_seed_has_32_bytes(length: int) -> None:
    """ID-2"""
    with pytest.raises(IdentityError, match="32 bytes"):
        DeviceKey.from_seed(bytes(length))


def test_people_compare_groups() -> None:
    """ID-6"""
    groups = grouped(KEY.device_id).split("-")
    assert [len(group) for group in groups] == [4] * 16
    assert "".join(groups) == KEY.device_id


@pytest.mark.parametrize("text", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n", "٣" * 64])
def test_what_is_not_a_device_id_is_refused(text: str) -> None:
    """ID-1"""
    with pytest.raises(IdentityError, match="64 lowercase hex"):
        grouped(text)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_a_signature_is_of_one_message_and_one_key(message: bytes, other: bytes) -> None:
    """ID-7"""
    signature = KEY.sign(message)
    assert verify(KEY.certificate, signature, message)
    assert not verify(OTHER.certificate, signature, message)
    assert verify(KEY.certificate, signature, other) == (message == other)
    assert not verify(KEY.certificate, signature[:-1], message)


def test_labels_keep_signatures_apart() -> None:
    """ID-7: what is signed for one purpose can never be read as signed for another."""
    secret = pairing._Secret(bytes(64), b"hello", b"reply")
    signed = [
        secret.to_sign(b"types"),
        secret.to_sign(b"shows"),
        statement.MEMBERSHIP_LABEL,
        statement.HOST_BINDING_LABEL,
    ]
    labels = [whole[: whole.index(b"\x00") + 1] for whole in signed]
    assert len(set(labels)) == len(labels)
    assert all(label.startswith(b"lottisync/") and label.endswith(b"/1\x00") for label in labels)


@pytest.mark.parametrize("name", ["a", "Mutters Laptop", "電話", "x" * 64, "👩‍👧", "O'Neill; rm -rf"])
def test_a_name_is_what_people_write(name: str) -> None:
    """ID-8, ID-20, ID-21: and nothing more is forbidden."""
    assert parse_device_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_id_8_a_name_has_1_to_64_characters(name: str) -> None:
    with pytest.raises(IdentityError, match="1 to 64 characters"):
        parse_device_name(name)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2J", "a\x00", "a\x7f", "a\x9b", "a\u2028b", "\u202egnp.exe", "\ud800"])
def test_id_20_a_name_cannot_move_anything(name: str) -> None:
    with pytest.raises(IdentityError, match="no control characters"):
        parse_device_name(name)


@pytest.mark.parametrize("name", [" ", "\u200b", "\u3164", "\u00a0\u2800", "\U000e0041", "\ufe0f\u200d", "\u115f "])
def test_id_21_a_name_can_be_seen(name: str) -> None:
    """ID-21, REL-D13: a device whose name cannot be seen cannot be distinguished from another."""
    with pytest.raises(IdentityError, match="can be seen"):
        parse_device_name(name)
