"""Where each device can be reached, as it replicates in `space` (docs/specs/16-meeting.md, section 1).

A device writes its addresses into its own record, when it starts and when they change. The record replicates
like everything else. So two devices that were each paired with a third one only find each other, and a device
that moves to another network is found by all devices that receive it.

The record also holds what a person has entered for the device, each address under its own key, and the secret
behind the device's announcements (`lottisync.identity.announcement`).

A record only says which addresses are dialled. A device that answers has to prove its key, so records are not
signed. A paired device that lies could remove a signed record as well; limits bound what its lies cost.
"""

import base64
import binascii
from collections.abc import Iterable
from typing import Any, NamedTuple

from lottisync.device.space import ADDRESSES
from lottisync.entities import path
from lottisync.entities.entity import HIGH, Entity, is_deleted
from lottisync.identity.announcement import SECRET_BYTES
from lottisync.identity.device_key import IdentityError, parse_device_id
from lottisync.net.address import Address, from_uri
from lottisync.problem import Problem
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_WAYS = 16
"""Addresses of a record that are used: more than a machine has that others can dial."""
MAX_GIVEN = 8
GIVEN = "given"


class Reach(NamedTuple):
    """How a device is reached: what it says itself, the likeliest first; what a person entered; and the secret by which
    its announcements are recognised, if it has one. `renewed_at` is ISO 8601, or empty."""

    addresses: tuple[Address, ...] = ()
    given: tuple[Address, ...] = ()
    secret: bytes | None = None
    renewed_at: str = ""


def record_id(device: str) -> str:
    return f"at-{device}"


def read_reach(reader: Reader) -> dict[str, Reach]:
    """The addresses of each device, by its id. An entry that cannot be read counts as absent (MEET-3)."""
    found = {}
    for entity in reader.by_type(ADDRESSES):
        device = entity.id.removeprefix("at-")
        try:
            parse_device_id(device)
        except IdentityError:
            continue
        found[device] = _reach(path.nest(entity.document()))
    return found


def renew(space: Store, device: str, addresses: Iterable[Address], secret: bytes, now: int) -> bool:
    """Write down where this device is reached now, and the secret of its announcements; False if the record says so
    already (MEET-235)."""
    ways = list(dict.fromkeys(address.within("").uri for address in addresses))[:MAX_WAYS]
    with space.reading() as reader:
        fields = _changes(reader.entity(record_id(device)), ways, secret, now)
    if fields:
        with space.transaction(now, HIGH) as tx:
            before = tx.entity(record_id(device))
            _write(tx, device, before, _changes(before, ways, secret, now))
    return bool(fields)


def _changes(before: Entity | None, ways: list[str], secret: bytes, now: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if before is None or is_deleted(before) or before.value("ways") != ways:
        fields |= {"ways": ways, "renewedAt": iso(now)}
    packed = base64.b64encode(secret).decode()
    if before is None or before.value("secret") != packed:
        fields["secret"] = packed
    return fields


def give(space: Store, device: str, address: Address, now: int) -> None:
    """Add an address by hand, for all of the person's devices. A link-local one is added without its interface, which
    means nothing on another machine (MEET-42). Raises `Problem` if there are too many."""
    address = address.within("")
    with space.transaction(now, HIGH) as tx:
        before = tx.entity(record_id(device))
        given = () if before is None else _reach(path.nest(before.document())).given
        if address not in given:
            if len(given) >= MAX_GIVEN:
                raise Problem(
                    "too-many",
                    "a device has at most {most} addresses entered by hand. Take one away first",
                    most=MAX_GIVEN,
                )
            _write(tx, device, before, {path.join(GIVEN, address.uri): True})


def take_away(space: Store, device: str, address: Address, now: int) -> bool:
    """Take away an address that was entered by hand; False if it was not."""
    address = address.within("")
    with space.transaction(now, HIGH) as tx:
        before = tx.entity(record_id(device))
        given = {} if before is None else path.nest(before.document()).get(GIVEN)
        uris = [uri for uri in given if _addresses([uri], 1) == (address,)] if isinstance(given, dict) else []
        _write(tx, device, before, {path.join(GIVEN, uri): None for uri in uris})
    return bool(uris)


def _write(tx: Transaction, device: str, before: Entity | None, fields: dict[str, Any]) -> None:
    if not fields:
        return
    if before is not None and is_deleted(before):
        tx.undelete(record_id(device))
    tx.put(record_id(device), ADDRESSES, fields)


def _reach(fields: dict[str, Any]) -> Reach:
    ways, given = fields.get("ways"), fields.get(GIVEN)
    renewed_at = fields.get("renewedAt")
    return Reach(
        _addresses(ways if isinstance(ways, list) else [], MAX_WAYS),
        _addresses(sorted(given) if isinstance(given, dict) else [], MAX_GIVEN),
        _secret(fields.get("secret")),
        renewed_at if isinstance(renewed_at, str) else "",
    )


def _addresses(uris: Iterable[object], limit: int) -> tuple[Address, ...]:
    found = dict.fromkeys(address.within("") for uri in uris if (address := from_uri(uri)) is not None)
    return tuple(found)[:limit]


def _secret(text: object) -> bytes | None:
    try:
        secret = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return None
    return secret if len(secret) == SECRET_BYTES else None
