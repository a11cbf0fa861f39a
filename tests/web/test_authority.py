"""The home's certificate authority: what it may sign, and when it signs again (docs/specs/18-web.md, section 4)."""

import ipaddress
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from lottisync.problem import Problem
from lottisync.store.instant import LAST
from lottisync.web.authority import Authority, names_in

NOON = 1_795_000_000_000
DAY = 86_400_000
HOSTS = ("192.168.1.5", "fd00::5")


def signed(home: Path, now: int = NOON, hosts: tuple[str, ...] = HOSTS) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Authority(home, now).signed(hosts, now).read_bytes())


def test_web_67_the_authority_signs_for_this_machine_in_private_networks_alone(tmp_path: Path) -> None:
    held = Authority(tmp_path, NOON).certificate
    limits = held.extensions.get_extension_for_class(x509.NameConstraints)
    assert limits.critical
    permitted = limits.value.permitted_subtrees or []
    [name] = [str(one.value) for one in permitted if isinstance(one, x509.DNSName)]
    assert name.endswith(".local")
    networks = [ipaddress.ip_network(str(one.value)) for one in permitted if isinstance(one, x509.IPAddress)]
    assert {network.version for network in networks} == {4, 6}  # a family that is not named would not be limited
    for address in ("8.8.8.8", "2001:db8::1"):
        assert not any(ipaddress.ip_address(address) in network for network in networks)
    assert held.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(
        ca=True, path_length=0
    )
    key = held.public_key()
    assert isinstance(key, EllipticCurvePublicKey)
    assert isinstance(key.curve, SECP256R1)
    assert (tmp_path / "web-authority.pem").stat().st_mode & 0o777 == 0o600


def test_web_67_an_address_of_the_internet_is_not_signed(tmp_path: Path) -> None:
    Authority(tmp_path, NOON).signed(("8.8.8.8", "2001:db8::1", "10.0.0.7"), NOON)
    names = names_in(tmp_path / "web-certificate.pem")
    assert names[1:] == ("10.0.0.7",)


def test_web_68_a_certificate_keeps_the_limits_of_the_platforms(tmp_path: Path) -> None:
    held = signed(tmp_path)
    held.verify_directly_issued_by(Authority(tmp_path, NOON).certificate)
    assert held.not_valid_after_utc - held.not_valid_before_utc <= timedelta(days=398)
    usage = held.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert names_in(tmp_path / "web-certificate.pem")[1:] == HOSTS
    assert (tmp_path / "web-certificate.pem").stat().st_mode & 0o777 == 0o600


def test_web_68_it_is_made_again_in_time_and_for_other_addresses(tmp_path: Path) -> None:
    first = signed(tmp_path)
    assert signed(tmp_path, NOON + 50 * DAY) == first
    assert signed(tmp_path, NOON + 60 * DAY) != first
    second = signed(tmp_path, NOON + 60 * DAY, ("10.0.0.7",))
    assert signed(tmp_path, NOON + 61 * DAY, ("10.0.0.7",)) == second
    (tmp_path / "web-authority.pem").unlink()
    assert signed(tmp_path, NOON + 61 * DAY, ("10.0.0.7",)) != second  # by another authority


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_certificates_are_signed_with_a_clock_at_its_limits(tmp_path: Path, now: int) -> None:
    """ENT-570, CAUS-300: and once the clock is right, the certificate is made again."""
    held = signed(tmp_path, now)
    assert held.not_valid_before_utc <= held.not_valid_after_utc
    assert signed(tmp_path, now).not_valid_before_utc == held.not_valid_before_utc
    assert signed(tmp_path) != held


@pytest.mark.parametrize("content", [b"", b"nonsense", None])
def test_web_69_what_is_not_a_certificate_is_said(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Problem, match="is not a certificate") as refused:
        names_in(file)
    assert refused.value.code == "bad-certificate"
