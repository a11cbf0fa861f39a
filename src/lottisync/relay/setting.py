"""Which relay a person's devices use: one record in `space`, which replicates like everything else
(docs/specs/19-relay.md, section 10)."""

import re

import msgspec

from lottisync.entities import path
from lottisync.entities.entity import DELETED_AT, HIGH, is_deleted
from lottisync.problem import Problem
from lottisync.relay import ledger
from lottisync.relay.header import SPACE_BYTES
from lottisync.store.store import Store

SETTING, RECORD = "setting", "relay"
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----")
_URL = re.compile(r"\A(nats|tls)://\S{1,500}\Z")


class RelaySetting(msgspec.Struct, frozen=True):
    """`url` may hold a name and a password, or a token; `space` is how this person's devices find each other there;
    `certificate` (PEM) is the one that the server shows, empty if this machine trusts it anyway. `credentials` is where
    this device keeps a file of them, empty without one: all else is the same on every device."""

    url: str
    space: bytes
    certificate: str = ""
    credentials: str = ""

    @property
    def shown(self) -> str:
        """The URL without what is secret in it."""
        return re.sub(r"//[^/]*@", "//", self.url)


def parse_url(url: str) -> str:
    """Raises `Problem` for a text that is not the address of a NATS server."""
    if not _URL.match(url):
        raise Problem(
            "bad-value",
            "{url!r} is not the address of a NATS server. It looks like nats://host:4222",
            url=url.rpartition("@")[2][:80],
        )
    return url


def parse_certificate(text: str) -> str:
    """The certificates in a text, in PEM. Raises `Problem` if there is none, or a private key is with them."""
    import ssl  # here: `status` reads the setting, and needs none of it

    found = _CERTIFICATE.findall(text)
    certificate = "\n".join(found) + "\n"
    try:
        ssl.create_default_context(cadata=certificate)
    except ssl.SSLError:
        found = []
    if not found or "PRIVATE KEY" in text:
        raise Problem("bad-value", "this is not a certificate in PEM, or a private key is with it")
    return certificate


def read(space: Store) -> RelaySetting | None:
    """The setting; None if no relay is used."""
    with space.reading() as reader:
        entity = reader.entity(RECORD)
        credentials = ledger.credentials(reader)
    if entity is None or is_deleted(entity):
        return None
    fields = path.nest(entity.document())
    url, named, certificate = fields.get("url"), fields.get("space"), fields.get("certificate")
    if not (isinstance(url, str) and isinstance(named, str) and _URL.match(url)):
        return None
    try:
        found = bytes.fromhex(named)
    except ValueError:
        return None
    if len(found) != SPACE_BYTES:
        return None
    return RelaySetting(url, found, certificate if isinstance(certificate, str) else "", credentials)


def write(space: Store, url: str, new_space: bytes, now: int, certificate: str = "") -> RelaySetting:
    """Use this relay from now on. The space stays what it was, if there was one."""
    before = read(space)
    named = before.space if before is not None else new_space
    fields = {"url": parse_url(url), "space": named.hex(), "certificate": certificate}
    with space.transaction(now, HIGH) as tx:
        switched_off = (held := tx.entity(RECORD)) is not None and is_deleted(held)
        tx.put(RECORD, SETTING, {**fields, DELETED_AT: None} if switched_off else fields)
    with space.reading() as reader:
        credentials = ledger.credentials(reader)
    return RelaySetting(fields["url"], named, certificate, credentials)


def use_credentials(space: Store, file: str, now: int) -> None:
    """Let this device, and no other, use the file of credentials at this path; none if it is empty."""
    with space.transaction(now, None) as tx:
        ledger.keep_credentials(tx, file)


def remove(space: Store, now: int) -> bool:
    """Use no relay any more; False if none was used."""
    if read(space) is None:
        return False
    with space.transaction(now, HIGH) as tx:
        tx.delete(RECORD)
    return True
