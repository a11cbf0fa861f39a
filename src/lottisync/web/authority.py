"""The home's own certificate authority, for the pages on the person's network (docs/specs/18-web.md, section 4).

A browser speaks HTTPS to a machine at home only if somebody signed its certificate whom the browser trusts. So the
device makes an authority of its own, which the person installs once on the phone. What it may sign is limited in its
own certificate: names of this machine in the home's network, and nothing of the internet. A thief of its key could
pretend to be a machine of a private network, and not a bank.

The certificate that it signs is short-lived and made again in time, or when the machine's addresses change.
"""

import ipaddress
import re
import socket
from datetime import UTC, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso, there
from lottisync.web.access import write_private

AUTHORITY_FILE = "web-authority.pem"
CERTIFICATE_FILE = "web-certificate.pem"
AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 90
"""Platforms take 398 days at most."""
RENEW_DAYS = 30
"""With so many days left, it is made again."""
A_DAY = 86_400_000
PRIVATE = (
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8",
    "fc00::/7", "fe80::/10", "::1/128",
)  # fmt: skip
"""Networks whose addresses the authority may sign: private, link-local, shared (also of a VPN), loopback."""

Names = tuple[str, ...]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Authority:
    """The authority of one home, made at the first use."""

    def __init__(self, home: Path, now: int) -> None:
        self._home = home
        file = home / AUTHORITY_FILE
        if not file.exists():
            _made(file, now)
        held = file.read_bytes()
        self._key = _private(held, file)
        self.certificate = x509.load_pem_x509_certificate(held)

    @property
    def name(self) -> str:
        """The one name, beside addresses of private networks, that it may sign: `machine.local`."""
        limits = self.certificate.extensions.get_extension_for_class(x509.NameConstraints).value
        return next(str(one.value) for one in limits.permitted_subtrees or () if isinstance(one, x509.DNSName))

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in groups of two bytes, as phones show it: to compare with."""
        text = self.certificate.fingerprint(SHA256()).hex().upper()
        return " ".join(text[n : n + 4] for n in range(0, len(text), 4))

    def signed(self, hosts: Names, now: int) -> Path:
        """The file of a certificate with its key, for the hosts of a private network among `hosts` and for `name`;
        made again if it is old or has other names."""
        names = (self.name, *(host for host in hosts if is_private(host)))
        file = self._home / CERTIFICATE_FILE
        if not self._still_good(file, names, now):
            write_private(file, self._sign(names, now))
        return file

    def _still_good(self, file: Path, names: Names, now: int) -> bool:
        try:
            held = x509.load_pem_x509_certificate(file.read_bytes())
            held.verify_directly_issued_by(self.certificate)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return False
        today = there(now, UTC)
        left = held.not_valid_after_utc - today
        return names_of(held) == names and left > timedelta(days=RENEW_DAYS) and held.not_valid_before_utc < today

    def _sign(self, names: Names, now: int) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(key, "lottisync", self.certificate.subject, now, CERTIFICATE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, SHA256())
        )
        return _pem(key) + certificate.public_bytes(Encoding.PEM)


def _made(file: Path, now: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"lottisync at {_machine()}"
    limits = x509.NameConstraints(
        permitted_subtrees=[
            x509.DNSName(f"{_machine()}.local"),
            *(x509.IPAddress(ipaddress.ip_network(network)) for network in PRIVATE),
        ],
        excluded_subtrees=None,
    )
    certificate = (
        _builder(key, name, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(limits, critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=False,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(key, SHA256())
    )
    write_private(file, _pem(key) + certificate.public_bytes(Encoding.PEM))


def _builder(
    key: ec.EllipticCurvePrivateKey, name: str, issuer: x509.Name, now: int, days: int
) -> x509.CertificateBuilder:
    starts = now - A_DAY  # a phone's clock may be late
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(there(starts, UTC))
        .not_valid_after(there(starts + days * A_DAY, UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def names_of(certificate: x509.Certificate) -> Names:
    """The hosts that a certificate is for, in its order; `*.` names are left out."""
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    found = (str(one.value) for one in held if isinstance(one, (x509.DNSName, x509.IPAddress)))
    return tuple(name for name in found if not name.startswith("*"))


def names_in(file: Path) -> Names:
    """The hosts of a certificate's file. Raises `Problem`."""
    try:
        names = names_of(x509.load_pem_x509_certificate(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise Problem(
            "bad-certificate", "{file} is not a certificate (PEM): {error}", file=file, error=_reason(error)
        ) from None
    if not names:
        raise Problem("bad-certificate", "{file} names no host: a browser does not take it", file=file)
    return names


def doubt(file: Path, now: int) -> str:
    """Why browsers warn of the certificate in a file at `now` (ms), no matter who has signed it. Empty if nothing is
    wrong with its time."""
    certificate = x509.load_pem_x509_certificate(file.read_bytes())
    first, last = (
        round(each.timestamp() * 1000) for each in (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    )
    if now > last:
        return f"{file} was good until {iso(last)}, so browsers warn. Put a new one in its place"
    if now < first:
        return f"{file} is good from {iso(first)} on, so browsers warn. Is the clock of this machine right?"
    return ""


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or Sentence("it cannot be read")


def is_private(host: str) -> bool:
    """Whether a host is an address that the authority may sign."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in PRIVATE)


def _general(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if is_private(name) else x509.DNSName(name)


def _machine() -> str:
    """This machine's name, as a part of a host name."""
    return re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().partition(".")[0].lower()).strip("-")[:60] or "lottisync"


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _private(held: bytes, file: Path) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(held, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise Problem("bad-certificate", "{file} holds a key of another kind. Remove the file", file=file)
    return key
