"""Signed statements about devices: the records of which a roster is made (docs/specs/06-identity-and-pairing.md).

A `MembershipRecord` says that a device was added, renamed, revoked or retired; a `HostBinding` says whose a host is.
They replicate as immutable documents. Here is what is signed, and how a record is written and read; what follows from
a set of them is `lottisync.identity.roster`.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Literal, Self, TypeVar, get_args

import msgspec

from lottisync.entities.schema import is_store_name
from lottisync.identity.device_key import (
    SIGNATURE_BYTES,
    DeviceKey,
    IdentityError,
    device_id_of,
    parse_device_id,
)
from lottisync.identity.device_name import parse_device_name

MEMBERSHIP_LABEL = b"lottisync/membership/1\x00"
HOST_BINDING_LABEL = b"lottisync/host-binding/1\x00"
MAX_AT_MS = 2**53 - 1
"""The largest integer every JSON reader keeps exact, and SQLite and we with it."""
MembershipKind = Literal["added", "renamed", "revoked", "retired"]
_T = TypeVar("_T")
Fields = dict[str, str | int]
_HOST = re.compile(r"\A[0-9a-f]{16}\Z")
_encode = msgspec.msgpack.Encoder().encode


class MembershipRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One signed statement about a device. Well-formed by construction; whether it is *true* is for `verify`.

    `name` is '' unless added or renamed, `certificate` (DER) is b'' unless added. `at_ms`: milliseconds since 1970,
    at least 0, by the clock of `by`. Raises `IdentityError`.
    """

    kind: MembershipKind
    device: str
    name: str
    certificate: bytes
    by: str
    at_ms: int
    signature: bytes

    def __post_init__(self) -> None:
        if self.kind not in get_args(MembershipKind):
            raise IdentityError(
                "a membership record is added, renamed, revoked or retired; got {kind!r}", kind=self.kind
            )
        parse_device_id(self.device)
        parse_device_id(self.by)
        if not 0 <= self.at_ms <= MAX_AT_MS:
            raise IdentityError("at_ms is 0 to 2^53-1; got {at_ms}", at_ms=self.at_ms)
        if len(self.signature) != SIGNATURE_BYTES:
            raise IdentityError(
                "a signature has {signature_bytes} bytes; got {count}",
                signature_bytes=SIGNATURE_BYTES,
                count=len(self.signature),
            )
        if self.kind in ("added", "renamed"):
            parse_device_name(self.name)
        elif self.name:
            raise IdentityError("a {kind} record has no name", kind=self.kind)
        if self.kind == "added":
            if device_id_of(self.certificate) != self.device:
                raise IdentityError("the certificate in an added record is of another device")
        elif self.certificate:
            raise IdentityError("a {kind} record has no certificate", kind=self.kind)
        if self.kind == "revoked" and self.device == self.by:
            raise IdentityError("a device does not revoke itself; it retires")

    @classmethod
    def adding(cls, key: DeviceKey, *, certificate: bytes, name: str, at_ms: int) -> Self:
        """`key`'s device says: the device of this certificate belongs to us. Its own first record names itself."""
        return cls._signed_by(key, "added", device_id_of(certificate), at_ms=at_ms, name=name, certificate=certificate)

    @classmethod
    def renaming(cls, key: DeviceKey, *, device: str, name: str, at_ms: int) -> Self:
        return cls._signed_by(key, "renamed", device, at_ms=at_ms, name=name)

    @classmethod
    def revoking(cls, key: DeviceKey, *, device: str, at_ms: int) -> Self:
        """Take `device` out: lost, stolen, sold. `at_ms` from `Roster.next_at`."""
        return cls._signed_by(key, "revoked", device, at_ms=at_ms)

    @classmethod
    def retiring(cls, key: DeviceKey, *, device: str, at_ms: int) -> Self:
        """Put `device` away: still ours, but nobody waits for it or dials it until it comes back by itself."""
        return cls._signed_by(key, "retired", device, at_ms=at_ms)

    @classmethod
    def _signed_by(
        cls,
        key: DeviceKey,
        kind: MembershipKind,
        device: str,
        *,
        at_ms: int,
        name: str = "",
        certificate: bytes = b"",
    ) -> Self:
        signed = _membership_bytes(kind, device, name, certificate, key.device_id, at_ms)
        return cls(
            kind=kind,
            device=device,
            name=name,
            certificate=certificate,
            by=key.device_id,
            at_ms=at_ms,
            signature=key.sign(signed),
        )

    @property
    def signed_bytes(self) -> bytes:
        """What the signature is over (ROSTER-1)."""
        return _membership_bytes(self.kind, self.device, self.name, self.certificate, self.by, self.at_ms)

    @property
    def record_id(self) -> str:
        """'m-' and 32 hex characters of the SHA-256 of the signed bytes (ROSTER-2)."""
        return "m-" + hashlib.sha256(self.signed_bytes).hexdigest()[:32]

    def to_fields(self) -> Fields:
        """The fields of the document; bytes as standard base64, `name` and `certificate` only where they belong."""
        fields: Fields = {
            "kind": self.kind,
            "device": self.device,
            "by": self.by,
            "at_ms": self.at_ms,
            "signature": _base64(self.signature),
        }
        if self.name:
            fields["name"] = self.name
        if self.certificate:
            fields["certificate"] = _base64(self.certificate)
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """The record in a document's fields. Unknown fields are ignored. Raises `IdentityError`."""
        given = _convert(fields, _MembershipFields)
        return cls(
            kind=given.kind,
            device=given.device,
            name=given.name,
            certificate=_from_base64(given.certificate),
            by=given.by,
            at_ms=given.at_ms,
            signature=_from_base64(given.signature),
        )


def binding_id(host: str) -> str:
    """'host-' and the host id: a host is bound once."""
    return "host-" + host


class HostBinding(msgspec.Struct, frozen=True, kw_only=True):
    """'Host `host` of my store `store` is mine', signed by `device`.

    `host`: 16 lowercase hex characters; `store`: 1 to 32 of a-z, 0-9 and '-'. Raises `IdentityError`.
    """

    host: str
    store: str
    device: str
    signature: bytes

    def __post_init__(self) -> None:
        if not _HOST.match(self.host):
            raise IdentityError("a host id has 16 lowercase hex characters; got {host!r}", host=self.host[:40])
        if not is_store_name(self.store):
            raise IdentityError("a store is named by a-z, 0-9 and '-'; got {store!r}", store=self.store[:40])
        parse_device_id(self.device)
        if len(self.signature) != SIGNATURE_BYTES:
            raise IdentityError(
                "a signature has {signature_bytes} bytes; got {count}",
                signature_bytes=SIGNATURE_BYTES,
                count=len(self.signature),
            )

    @classmethod
    def signed_by(cls, key: DeviceKey, *, host: str, store: str) -> Self:
        signed = _host_bytes(host, store, key.device_id)
        return cls(host=host, store=store, device=key.device_id, signature=key.sign(signed))

    @property
    def signed_bytes(self) -> bytes:
        """What the signature is over (ROSTER-1)."""
        return _host_bytes(self.host, self.store, self.device)

    @property
    def record_id(self) -> str:
        return binding_id(self.host)

    def to_fields(self) -> Fields:
        return {
            "host": self.host,
            "store": self.store,
            "device": self.device,
            "signature": _base64(self.signature),
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """The binding in a document's fields. Raises `IdentityError`."""
        given = _convert(fields, _HostFields)
        return cls(
            host=given.host,
            store=given.store,
            device=given.device,
            signature=_from_base64(given.signature),
        )


class _MembershipFields(msgspec.Struct, frozen=True):
    kind: MembershipKind
    device: str
    by: str
    at_ms: int
    signature: str
    name: str = ""
    certificate: str = ""


class _HostFields(msgspec.Struct, frozen=True):
    host: str
    store: str
    device: str
    signature: str


def _convert(fields: Mapping[str, object], into: type[_T]) -> _T:
    try:
        return msgspec.convert(dict(fields), into)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise IdentityError("the fields are not those of such a record: {error}", error=error) from error


def _membership_bytes(kind: MembershipKind, device: str, name: str, certificate: bytes, by: str, at_ms: int) -> bytes:
    return MEMBERSHIP_LABEL + _packed(kind, device, name, certificate, by, at_ms)


def _host_bytes(host: str, store: str, device: str) -> bytes:
    return HOST_BINDING_LABEL + _packed(host, store, device)


def _packed(*values: str | bytes | int) -> bytes:
    # A name may hold half a surrogate pair, a number may be too large: neither can be signed.
    try:
        return _encode(values)
    except (UnicodeEncodeError, OverflowError) as error:
        raise IdentityError("this cannot be signed: {error}", error=error) from error


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise IdentityError("this is not base64: {error}", error=error) from error
    # The last character has bits to spare; one form only, or one record has many documents.
    if _base64(data) != text:
        raise IdentityError("this base64 is not in its one canonical form")
    return data
