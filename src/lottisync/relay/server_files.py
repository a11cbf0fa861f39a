"""What a household's NATS server needs: its whole configuration, and a certificate of its own
(docs/specs/19-relay.md, section 10).

An account for each person is the unit: nothing crosses accounts, and each has its own bounds. A person's devices share
one name and password, for the URL replicates among them anyway. It may do what a device does, and no more: it can
neither delete the stream nor change its bounds.
"""

import ipaddress
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lottisync.relay.header import MAX_MESSAGE
from lottisync.store.instant import there

MAX_PAYLOAD = MAX_MESSAGE + 1024
STREAM_BYTES = 64 * 1024 * 1024
"""Reserved when a stream is made; the owner of the account raises it."""
STREAMS = 4
"""For one person: a new stream is made when the relay was switched off and set again."""
CONSUMERS = 256
"""Lists that are read at the same time: each device may look when another has published."""
CONNECTIONS = 64
MEMORY_BYTES = 16 * 1024 * 1024
"""For the lists of what lies there, while devices read them."""
YEARS, A_DAY = 10, 86_400_000

PUBLISH = (
    "ls.>",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.STREAM.CREATE.*",
    "$JS.API.STREAM.MSG.DELETE.*",
    "$JS.API.CONSUMER.>",
    "$JS.API.DIRECT.GET.>",
)
SUBSCRIBE = ("ls.>", "_INBOX.>")
"""What a device needs, and nothing else."""


def configuration(listen: str, passwords: Mapping[str, str], *, tls: bool) -> str:
    """The file of a server at `listen` (HOST:PORT) with an account for each person. It is started in the folder of this
    file, where `certificate.pem` and `key.pem` lie, too."""
    bytes_of_a_person = STREAMS * STREAM_BYTES
    lines = [
        "# A relay for lottisync. Start it in this folder: nats-server -c nats-server.conf",
        "server_name: lottisync-relay",
        f"listen: {json.dumps(listen)}",
        f"max_payload: {MAX_PAYLOAD}",
        f"max_connections: {CONNECTIONS}",
        *(['tls { cert_file: "certificate.pem", key_file: "key.pem", timeout: 5 }'] if tls else []),
        "jetstream {",
        '  store_dir: "store"',
        f"  max_file_store: {bytes_of_a_person * len(passwords)}",
        f"  max_memory_store: {MEMORY_BYTES * len(passwords)}",
        "}",
        "accounts {",
        *(line for person in passwords.items() for line in _account(*person, bytes_of_a_person)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _account(person: str, password: str, limit: int) -> Iterable[str]:
    limits = f"max_file: {limit}, max_mem: {MEMORY_BYTES}, max_streams: {STREAMS}, max_consumers: {CONSUMERS}"
    return (
        f"  {person}: {{",
        f"    jetstream: {{ {limits} }}",
        "    users: [ {",
        f"      user: {json.dumps(person)}, password: {json.dumps(password)}",
        f"      permissions: {{ publish: {json.dumps(PUBLISH)}, subscribe: {json.dumps(SUBSCRIBE)} }}",
        "    } ]",
        "  }",
    )


def certificate(hosts: Sequence[str], now: int) -> tuple[str, str]:
    """A certificate for these names or addresses, signed by itself, and its key: PEM. `now` in ms."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a relay of lottisync")])
    public = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    use = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(there(now - A_DAY, UTC))
        .not_valid_after(there(now + 365 * YEARS * A_DAY, UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(use, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(public, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(public), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), secret.decode()


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
