"""Everything that must be true of a store, looked at row by row (docs/specs/05-store.md, sections 3 and 4).

What a store keeps twice can come apart: an index that misses a component withholds a write from
every peer, a running sum sees neither bit rot nor a hand in an SQLite browser. So the walk computes
all of it again from the documents: the canonical form, its hash, the digest, the index of
components, the logs of chains, the marks of tombstones and conflicts, the columns that queries go by. What is in
quarantine is named, too. It only reads, in one transaction, and holds few rows at a time.
"""

from collections.abc import Callable

from lottisync.causality import vector_clock
from lottisync.causality.chain import VALUE_BYTES, branch_name
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import version
from lottisync.entities.entity import Entity, has_conflict
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import BadVersion, Version
from lottisync.store import chain, damage, lookups, tables
from lottisync.store.chain import Log
from lottisync.store.columns import Columns, columns_between, columns_of, own_column_names
from lottisync.store.quarantine import Kept
from lottisync.store.reader import Reader
from lottisync.store.rows import MODULUS

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
        columns = columns_between(reader, last, rows[-1][0])
        for n, row, stored_hash, marked, conflicted in rows:
            last, done = n, done + 1
            found += _broken_row(reader.schema, row, stored_hash, marked, conflicted, columns[n])
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
    found += _broken_logs(reader)
    found += reader.host_faults()
    for host, counter in lookups.forgotten(reader).items():
        if counter > known.get(host, 0):
            found.append(f"write {counter} of {host} was forgotten, and {known.get(host, 0)} of its writes are known")
    if known.get(own, 0) != made:
        found.append(f"the store has made {made} writes and knows {known.get(own, 0)} of host {own}")
    return found


def _broken_logs(reader: Reader) -> list[str]:
    """Every component is covered by a log without holes, which ends at its last fork node (COPY-3, 30, 31)."""
    found = []
    known, nodes = reader.knowledge(), chain.nodes(reader)
    indexed: dict[int, int] = dict(reader.local("select host, max(counter) from components group by host"))
    for host, log in chain.logs(reader).items():
        reach = max(known.get(host, 0), indexed.get(log.number, 0))
        if reach > log.end.end:
            found.append(f"the chain of {host} ends at {log.end.end}, and {reach} of its writes have been heard of")
        found += _broken_log(reader, host, log, nodes)
    return found


def _broken_log(reader: Reader, host: Host, log: Log, nodes: frozenset[bytes]) -> list[str]:
    expected, first = log.end.first, log.end.first
    for begins, segment in reader.local(
        "select first, segment from chain where host = ? order by first", (log.number,)
    ):
        if begins != expected or not segment or len(segment) % VALUE_BYTES:
            return [f"the chain of {host} has a hole or an overlap at {min(begins, expected)}"]
        expected = begins + len(segment) // VALUE_BYTES
        inner = segment if expected <= log.end.end else segment[:-VALUE_BYTES]
        if any(inner[at : at + VALUE_BYTES] in nodes for at in range(0, len(inner), VALUE_BYTES)):
            return [f"the chain of {host} goes on behind a fork node"]
    before = chain.value_at(reader, log.parent, first - 1) if log.parent else None
    if log.parent and before not in nodes:
        return [f"the chain of {host} does not begin at a fork node of {log.parent}"]
    begun = chain.value_at(reader, host, first)
    if log.parent and (begun is None or branch_name(begun) != host):
        return [f"the chain of {host} does not begin with the value that names it"]
    return []


def damaged_rows(reader: Reader, after: int, limit: int) -> tuple[list[str], int | None]:
    """The ids of the rows behind number `after`, `limit` of them at most, whose content does not have the hash
    that was stored with it; and the last number looked at, None if no more follow."""
    rows = _after(reader, after, limit)
    found = [row.id for _, row, stored_hash, *_ in rows if row.hash() != stored_hash]
    return found, rows[-1][0] if len(rows) == limit else None


def adds_up(reader: Reader) -> bool:
    """Whether the digest is the sum of the hashes that are stored with the rows: if not, a row was taken away or
    put in behind the store's back. Reads every hash."""
    kept = reader.quarantined()
    apart = {held.version.id for held in kept}
    total, last = sum(held.weight for held in kept), -1
    while rows := reader.local(
        "select n, cast(id as blob), hash from rows where n > ? and not clean_tombstone order by n limit ?",
        (last, 20 * STRIDE),
    ):
        last = rows[-1][0]
        for _, raw_id, stored in rows:
            ident = raw_id.decode(errors="replace")
            row = damage.raw_row(reader, ident) if ident in apart else None
            if row is None or not _stood_for(kept, row.version):
                total += int.from_bytes(stored, "big")
    return (total % MODULUS).to_bytes(32, "big") == reader.digest()


_Row = tuple[int, Version, bytes, bool, bool]


def _after(reader: Reader, last: int, limit: int = STRIDE) -> list[_Row]:
    return [
        (n, tables.raw_version(*parts), stored, bool(clean), bool(conflicted))
        for n, *parts, stored, clean, conflicted in reader.local(
            f"""select n, {tables.RAW_COLUMNS}, hash, clean_tombstone, conflicted
                from rows where n > ? order by n limit ?""",
            (last, limit),
        )
    ]


def _broken_row(
    schema: StoreSchema, row: Version, stored_hash: bytes, marked: bool, conflicted: bool, columns: Columns
) -> list[str]:
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
    try:
        expected = columns_of(schema, entity)
    except BadVersion as error:
        return [*found, str(error)]
    if columns.table != expected.table:
        return [*found, f"{row.id}: lies in {columns.table}, and its place is {expected.table}"]
    names = (*own_column_names(schema, expected.table), "created_at", "updated_at", "deleted_at")
    return found + [
        f"{row.id}: its column {name} says {stored!r}, its document {said!r}"
        for name, stored, said in zip(names, columns[1:], expected[1:], strict=True)
        if stored != said
    ]


def _stood_for(kept: list[Kept], row: Version) -> bool:
    return any(held.version.id == row.id and vector_clock.covers(held.clock, _clock(row)) for held in kept)


def _clock(row: Version) -> Clock:
    try:
        return row.read_clock()
    except ValueError:  # `_broken_row` has named it
        return {}


def _indexed(reader: Reader, host: int, counter: int, n: int) -> bool:
    return bool(reader.local("select 1 from components where host = ? and counter = ? and n = ?", (host, counter, n)))
