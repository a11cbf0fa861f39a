"""What this device alone remembers of the others: where it has reached them, and when they were connected last.

Kept in local tables of `space`, which do not replicate: what worked from here may not work from
elsewhere, and no other device can remove it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from lottisync import wording
from lottisync.device.absence import Away
from lottisync.device.addresses import read_reach
from lottisync.identity.announcement import SECRET_BYTES
from lottisync.identity.pairing_message import Introduction
from lottisync.net.address import Address, from_uri
from lottisync.problem import Sentence
from lottisync.store.instant import iso, millis
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store

MAX_REMEMBERED = 8
"""Addresses of a device that are kept, those that worked last. A device leaves one in every network."""
NOWHERE = Address("", 0)
"""In place of an address, where only is noted when the device was connected."""
NEVER = ""
"""In place of a time: the device named this address when it was paired, and it has not been dialled yet."""


def remembered_addresses(space: Store, device: str) -> list[Address]:
    """Where a device was reached, the latest first; then where it said at pairing that it is."""
    with space.reading() as reader:
        return [address for address, _ in remembered(reader, device)]


def remembered(reader: Reader, device: str) -> list[tuple[Address, str]]:
    """As `remembered_addresses`, each with when it worked last (ISO 8601, or `NEVER`)."""
    rows = reader.local(
        "select host, port, seen_at from peers where device = ? and host <> ? order by seen_at desc, host, port",
        (device, NOWHERE.host),
    )
    return [(Address(host, port), at) for host, port, at in rows]


def known_hosts(reader: Reader) -> set[str]:
    """Where devices of this person are, or were: hosts of addresses that worked from here, and of those that
    replicate. Names among them are not looked up."""
    worked = {host for (host,) in reader.local("select distinct host from peers")} - {NOWHERE.host}
    return worked.union(*({at.host for at in (*it.addresses, *it.given)} for it in read_reach(reader).values()))


def remember_address(space: Store, device: str, address: Address, now: int) -> None:
    """A connection was made at this address. The oldest are forgotten."""
    with space.transaction(now, None) as tx:
        _remember(tx, [(device, *address, iso(now))])
        tx.execute(
            "delete from peers where device = ?1 and host <> ?2 and (host, port) not in (select host, port from peers"
            " where device = ?1 and host <> ?2 order by seen_at desc limit ?3)",
            (device, NOWHERE.host, MAX_REMEMBERED),
        )


def remember_connections(space: Store, seen: Mapping[str, str], now: int) -> None:
    """When devices were connected last (ISO 8601), in either direction."""
    with space.transaction(now, None) as tx:
        _remember(tx, [(device, *NOWHERE, at) for device, at in seen.items()])


def remember_absences(space: Store, absences: Mapping[str, Away | None], now: int) -> None:
    """Why devices are away; None for one that no longer is."""
    with space.transaction(now, None) as tx:
        for device, away in absences.items():
            tx.execute("delete from absences where device = ?", (device,))
            if away is not None:
                held = msgspec.structs.astuple(away)
                fields = [wording.column(each) if isinstance(each, Sentence) else each for each in held]
                tx.execute("insert into absences values (?, ?, ?, ?, ?, ?, ?, ?)", (device, *fields))


def last_absences(reader: Reader) -> dict[str, Away]:
    """Why each device was away when it was tried last. A row that no version wrote counts as absent."""
    found = {}
    for device, *fields in reader.local("select * from absences"):
        held = dict(zip(Away.__struct_encode_fields__, fields, strict=True))
        with suppress(msgspec.ValidationError):
            found[device] = msgspec.convert(held, Away, dec_hook=_read_column)
    return found


def _read_column(kind: type, value: object) -> object:
    return wording.of_column(value) if isinstance(value, str) else wording.decoded(kind, value)


class ClockHeard(NamedTuple):
    """What the clock of a device said last, less what ours said then (ms), and when that was, by ours (ISO 8601)."""

    off: int
    at: str


def remember_clocks(space: Store, heard: Mapping[str, ClockHeard], now: int) -> None:
    """How far the clocks of devices are from ours."""
    with space.transaction(now, None) as tx:
        for device, (off, at) in heard.items():
            tx.execute("insert or replace into clock_differences values (?, ?, ?)", (device, off, at))


def last_clocks(reader: Reader) -> dict[str, ClockHeard]:
    """How far the clock of each device was from ours when it was heard last. A row whose time cannot be read counts as
    absent."""
    found = {}
    for device, off, at in reader.local("select * from clock_differences"):
        with suppress(ValueError):
            millis(at)
            found[device] = ClockHeard(off, at)
    return found


def forget_handed_over(space: Store, device: str, addresses: Iterable[Address], now: int) -> None:
    """Forget these addresses, as far as the device only named them at pairing and none of them has ever worked."""
    with space.transaction(now, None) as tx:
        for address in addresses:
            tx.execute(
                "delete from peers where device = ? and host = ? and port = ? and seen_at = ?",
                (device, *address, NEVER),
            )


def remember_listening(space: Store, listen: Address, now: int) -> None:
    """Where this device's own program listens, for commands that say it to others."""
    with space.transaction(now, None) as tx:
        tx.execute("insert or replace into listening values (0, ?, ?)", tuple(listen))


def listened_last(reader: Reader) -> Address | None:
    """Where this device's own program listens, or listened when it ran last; None if it never did."""
    return next((Address(host, port) for host, port in reader.local("select host, port from listening")), None)


def remember_introduction(space: Store, device: str, introduction: Introduction, now: int) -> None:
    """What a device handed over when it was paired (MEET-6)."""
    addresses = [address for uri in introduction.ways if (address := from_uri(uri)) is not None][:MAX_REMEMBERED]
    with space.transaction(now, None) as tx:
        for address in addresses:
            tx.execute(
                "insert or ignore into peers(device, host, port, seen_at) values (?, ?, ?, ?)",
                (device, *address, NEVER),
            )
        if len(introduction.secret) == SECRET_BYTES:
            tx.execute(
                "insert or replace into introductions(device, secret) values (?, ?)",
                (device, introduction.secret),
            )


def introduced(reader: Reader) -> dict[str, bytes]:
    """The secrets that devices handed over when they were paired, for as long as their records have not come."""
    return dict(reader.local("select device, secret from introductions"))


def _remember(tx: Merge, rows: Iterable[tuple[str, str, int, str]]) -> None:
    for row in rows:
        tx.execute(
            "insert into peers(device, host, port, seen_at) values (?, ?, ?, ?)"
            " on conflict(device, host, port) do update set seen_at = excluded.seen_at",
            row,
        )
