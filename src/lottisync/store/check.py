"""Everything that must be true of a store, looked at row by row (docs/specs/05-store.md, sections 3 and 4).

What a store keeps twice can come apart: an index that misses a component withholds a write from
every peer, a running sum sees neither bit rot nor a hand in an SQLite browser. So the walk computes
all of it again from the documents: the canonical form, its hash, the digest, the index of
components, the marks of tombstones and conflicts. What is in quarantine is named, too. It only
reads, in one transaction, and holds one row at a time.
"""

from collections.abc import Callable

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock
from lottisync.entities import version
from lottisync.entities.entity import Entity, has_conflict, is_deleted
from lottisync.entities.version import BadVersion, Version
from lottisync.store import tables
from lottisync.store.quarantine import Kept
from lottisync.store.reader import Reader
from lottisync.store.transaction import MODULUS

STRIDE = 500
"""Rows read at a time, and between two calls of `progress`."""


def broken_invariants(reader: Reader, progress: Callable[[int, int], None] = lambda done, of: None) -> list[str]:
    """One sentence for everything that is wrong; empty for a sound store. `progress(done, of)` counts rows."""
    found = [f"SQLite finds {text}" for (text,) in reader.local("pragma integrity_check") if text != "ok"]
    if found:
        return found  # what lies in a damaged file is not worth a second opinion
    known, own, made = reader.knowledge(), reader.host, reader.counter
    numbers: dict[str, int] = dict(reader.local("select host, n from hosts"))
    total, kept = reader.count(), reader.quarantined()
    digest = components = done = 0
    last = -1
    while rows := _after(reader, last):
        for n, row, stored_hash, marked, conflicted, deleted_at in rows:
            last, done = n, done + 1
            found += _broken_row(row, stored_hash, marked, conflicted, deleted_at)
            if not marked and not _stood_for(kept, row):
                digest = (digest + int.from_bytes(row.hash(), "big")) % MODULUS
            clock = _clock(row)
            components += len(clock)
            for host, counter in clock.items():
                if host not in numbers or not _indexed(reader, numbers[host], counter, n):
                    found.append(f"{row.id}: its component ({host}, {counter}) is not in the index")
                if host == own and counter > made:
                    found.append(f"{row.id}: knows write {counter} of this store, which has made {made}")
        progress(done, total)
    for held in kept:
        found.append(f"{held.version.id}: in quarantine, kept as it came: {held.reason}")
        if held.version.hash() != held.hash:
            found.append(f"{held.version.id}: in quarantine, and not with the hash that was stored with it")
        digest = (digest + held.weight) % MODULUS
        components += len(held.clock)
        for host, counter in held.clock.items():
            if host not in numbers or not _indexed(reader, numbers[host], counter, held.n):
                found.append(f"{held.version.id}: its component ({host}, {counter}) is not in the index")
    newest = reader.local("select max(n) from rows where feed > (select feed from state)")[0][0]
    if newest is not None:
        found.append(f"row {newest} was changed after the last change that the feed knows of")
    indexed = reader.local("select count(*) from components")[0][0]
    if indexed != components:
        found.append(f"the index has {indexed} components, the clocks have {components}")
    if digest.to_bytes(32, "big") != reader.digest():
        found.append(f"the digest is {reader.digest().hex()[:16]}..., the rows give {digest:064x}"[:120])
    links = reader.local(
        "select count(*) from chain c join hosts h on h.n = c.host where h.host = ? and c.counter between 1 and ?",
        (own, made),
    )[0][0]
    if links != made:
        found.append(f"the chain has {links} of the {made} values of this store's writes")
    if known.get(own, 0) != made:
        found.append(f"the store has made {made} writes and knows {known.get(own, 0)} of host {own}")
    return found


def damaged_rows(reader: Reader, after: int, limit: int) -> tuple[list[str], int | None]:
    """The ids of the rows behind number `after`, `limit` of them at most, whose content does not have the hash
    that was stored with it; and the last number looked at, None if no more follow."""
    rows = _after(reader, after, limit)
    found = [row.id for _, row, stored_hash, *_ in rows if row.hash() != stored_hash]
    return found, rows[-1][0] if len(rows) == limit else None


_Row = tuple[int, Version, bytes, bool, bool, str | None]


def _after(reader: Reader, last: int, limit: int = STRIDE) -> list[_Row]:
    return [
        (n, Version(*parts), stored, bool(clean), bool(conflicted), deleted)
        for n, *parts, stored, clean, conflicted, deleted in reader.local(
            f"""select n, {tables.RAW_COLUMNS}, hash, clean_tombstone, conflicted, deleted_at
                from rows where n > ? order by n limit ?""",
            (last, limit),
        )
    ]


def _broken_row(row: Version, stored_hash: bytes, marked: bool, conflicted: bool, deleted_at: str | None) -> list[str]:
    found = []
    if row.hash() != stored_hash:
        found.append(f"{row.id}: its content does not have the hash that was stored with it")
    try:
        entity: Entity = version.open_foreign(row)
    except BadVersion as error:
        return [*found, f"{row.id}: {error}"]
    if marked == version.adds_to_digest(entity):
        found.append(f"{row.id}: is {'' if marked else 'not '}marked as a clean tombstone")
    if conflicted != has_conflict(entity):
        found.append(f"{row.id}: is {'' if conflicted else 'not '}marked as in conflict")
    if (deleted_at is not None) != is_deleted(entity):
        found.append(f"{row.id}: its column deleted_at says {deleted_at!r}")
    return found


def _stood_for(kept: list[Kept], row: Version) -> bool:
    return any(held.version.id == row.id and vector_clock.covers(held.clock, _clock(row)) for held in kept)


def _clock(row: Version) -> Clock:
    try:
        return row.read_clock()
    except ValueError:  # `_broken_row` has named it
        return {}


def _indexed(reader: Reader, host: int, counter: int, n: int) -> bool:
    return bool(reader.local("select 1 from components where host = ? and counter = ? and n = ?", (host, counter, n)))
