"""What this device alone remembers of the others: where it has reached them, and when they were connected last.

Kept in local tables of `space`, which do not replicate: what worked from here says nothing about elsewhere, and nobody
else can take it away.
"""

from collections.abc import Iterable, Mapping

import msgspec

from lottisync.device.addresses import read_reach
from lottisync.identity.announcement import SECRET_BYTES
from lottisync.identity.pairing import Introduction
from lottisync.net.address import Address, from_uri
from lottisync.store.instant import iso
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store

MOST_REMEMBERED = 8
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
            (device, NOWHERE.host, MOST_REMEMBERED),
        )


def remember_connections(space: Store, seen: Mapping[str, str], now: int) -> None:
    """When devices were connected last (ISO 8601), in either direction."""
    with space.transaction(now, None) as tx:
        _remember(tx, [(device, *NOWHERE, at) for device, at in seen.items()])


class LastFailure(msgspec.Struct, frozen=True, rename="camel"):
    """Why a device was away when it was tried last. Times are ISO 8601: since `failing_since` it has failed, at last at
    `tried_at`, for the reason `error` (`code`: unreachable, refused, version)."""

    address: str
    code: str
    error: str
    failing_since: str
    tried_at: str

    @property
    def text(self) -> str:
        """For people."""
        return f"when last tried, {self.tried_at[:16].replace('T', ' ')}, at {self.address}: {self.error}"


def remember_failures(space: Store, failures: Mapping[str, LastFailure | None], now: int) -> None:
    """Why devices are away; None for one that no longer is."""
    with space.transaction(now, None) as tx:
        for device, failure in failures.items():
            tx.execute("delete from failures where device = ?", (device,))
            if failure is not None:
                tx.execute(
                    "insert into failures values (?, ?, ?, ?, ?, ?)", (device, *msgspec.structs.astuple(failure))
                )


def last_failures(reader: Reader) -> dict[str, LastFailure]:
    """Why each device was away when it was tried last."""
    return {device: LastFailure(*rest) for device, *rest in reader.local("select * from failures")}


def remember_introduction(space: Store, device: str, introduction: Introduction, now: int) -> None:
    """What a device handed over when it was paired (MEET-6)."""
    addresses = [address for uri in introduction.ways if (address := from_uri(uri)) is not None][:MOST_REMEMBERED]
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
