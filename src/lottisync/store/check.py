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
from lottisync.problem import Fault
from lottisync.store import chain, damage, lookups, tables
from lottisync.store.chain import HostLog
from lottisync.store.columns import DerivedColumns, columns_between, columns_of, own_column_names
from lottisync.store.quarantine import QuarantinedVersion
from lottisync.store.reader import Reader
from lottisync.store.rows import MODULUS

STRIDE = 500
"""Rows read at a time, and between two calls of `progress`."""


def broken_invariants(reader: Reader, progress: Callable[[int, int], None] = lambda done, of: None) -> list[Fault]:
    """One sentence for everything that is wrong; empty for a sound store. `progress(done, of)` counts rows."""
    found = [
        Fault("damaged-file", "SQLite finds {text}", text=text)
        for (text,) in reader.local("pragma integrity_check")
        if text != "ok"
    ]
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
                    found.append(_not_indexed(row.id, host, counter))
                if host == own and counter > made:
                    found.append(
                        Fault(
                            "row-ahead",
                            "{entity}: knows write {counter} of this store, which has made {made}",
                            entity=row.id,
                            counter=counter,
                            made=made,
                        )
                    )
        progress(done, total)
    for held in kept:
        found.append(
            Fault(
                "in-quarantine",
                "{entity}: in quarantine, kept as it came: {reason}",
                entity=held.version.id,
                reason=held.reason,
            )
        )
        if held.version.hash() != held.hash:
            found.append(
                Fault(
                    "wrong-hash",
                    "{entity}: in quarantine, and not with the hash that was stored with it",
                    entity=held.version.id,
                )
            )
        digest = (digest + held.weight) % MODULUS
        components += len(held.clock)
        for host, counter in held.clock.items():
            if host not in numbers or not _indexed(reader, numbers[host], counter, held.n):
                found.append(_not_indexed(held.version.id, host, counter))
    newest = reader.local("select max(n) from rows where feed > (select feed from state)")[0][0]
    if newest is not None:
        found.append(
            Fault("feed-behind", "row {row} was changed after the last change that the feed knows of", row=newest)
        )
    indexed = reader.local("select count(*) from components")[0][0]
    if indexed != components:
        found.append(
            Fault(
                "wrong-index",
                "the index has {indexed} components, the clocks have {components}",
                indexed=indexed,
                components=components,
            )
        )
    if digest.to_bytes(32, "big") != reader.digest():
        stored, given = reader.digest().hex()[:16], f"{digest:064x}"[:16]
        found.append(
            Fault("wrong-digest", "the digest is {stored}..., the rows give {given}...", stored=stored, given=given)
        )
    found += _broken_logs(reader)
    found += reader.host_faults()
    for host, counter in lookups.forgotten(reader).items():
        if counter > known.get(host, 0):
            found.append(
                Fault(
                    "forgotten-unknown",
                    "write {counter} of {host} was forgotten, and {known} of its writes are known",
                    counter=counter,
                    host=host,
                    known=known.get(host, 0),
                )
            )
    if known.get(own, 0) != made:
        found.append(
            Fault(
                "wrong-counter",
                "the store has made {made} writes and knows {known} of host {host}",
                made=made,
                known=known.get(own, 0),
                host=own,
            )
        )
    return found


def _not_indexed(entity: str, host: Host, counter: int) -> Fault:
    return Fault(
        "wrong-index",
        "{entity}: its component ({host}, {counter}) is not in the index",
        entity=entity,
        host=host,
        counter=counter,
    )


def _broken_logs(reader: Reader) -> list[Fault]:
    """Every component is covered by a log without holes, which ends at its last fork node (COPY-3, 30, 31)."""
    found = []
    known, nodes = reader.knowledge(), chain.nodes(reader)
    indexed: dict[int, int] = dict(reader.local("select host, max(counter) from components group by host"))
    for host, log in chain.logs(reader).items():
        reach = max(known.get(host, 0), indexed.get(log.number, 0))
        if reach > log.end.end:
            found.append(
                Fault(
                    "broken-chain",
                    "the chain of {host} ends at {end}, and {reach} of its writes have been heard of",
                    host=host,
                    end=log.end.end,
                    reach=reach,
                )
            )
        found += _broken_log(reader, host, log, nodes)
    return found


def _broken_log(reader: Reader, host: Host, log: HostLog, nodes: frozenset[bytes]) -> list[Fault]:
    expected, first = log.end.first, log.end.first
    for begins, segment in reader.local(
        "select first, segment from chain where host = ? order by first", (log.number,)
    ):
        if begins != expected or not segment or len(segment) % VALUE_BYTES:
            return [
                Fault(
                    "broken-chain",
                    "the chain of {host} has a hole or an overlap at {counter}",
                    host=host,
                    counter=min(begins, expected),
                )
            ]
        expected = begins + len(segment) // VALUE_BYTES
        inner = segment if expected <= log.end.end else segment[:-VALUE_BYTES]
        if any(inner[at : at + VALUE_BYTES] in nodes for at in range(0, len(inner), VALUE_BYTES)):
            return [Fault("broken-chain", "the chain of {host} goes on behind a fork node", host=host)]
    before = chain.value_at(reader, log.parent, first - 1) if log.parent else None
    if log.parent and before not in nodes:
        return [
            Fault(
                "broken-chain",
                "the chain of {host} does not begin at a fork node of {parent}",
                host=host,
                parent=log.parent,
            )
        ]
    begun = chain.value_at(reader, host, first)
    if log.parent and (begun is None or branch_name(begun) != host):
        return [Fault("broken-chain", "the chain of {host} does not begin with the value that names it", host=host)]
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
    schema: StoreSchema, row: Version, stored_hash: bytes, marked: bool, conflicted: bool, columns: DerivedColumns
) -> list[Fault]:
    found = []
    if row.hash() != stored_hash:
        found.append(
            Fault("wrong-hash", "{entity}: its content does not have the hash that was stored with it", entity=row.id)
        )
    try:
        entity: Entity = version.open_foreign(row)
    except BadVersion as error:
        return [*found, _impossible(row.id, error)]
    if marked == version.adds_to_digest(entity):
        found.append(
            Fault("wrong-mark", "{entity}: is marked as a clean tombstone", entity=row.id)
            if marked
            else Fault("wrong-mark", "{entity}: is not marked as a clean tombstone", entity=row.id)
        )
    if conflicted != has_conflict(entity):
        found.append(
            Fault("wrong-mark", "{entity}: is marked as in conflict", entity=row.id)
            if conflicted
            else Fault("wrong-mark", "{entity}: is not marked as in conflict", entity=row.id)
        )
    try:
        expected = columns_of(schema, entity)
    except BadVersion as error:
        return [*found, _impossible(row.id, error)]
    if columns.table != expected.table:
        return [
            *found,
            Fault(
                "wrong-column",
                "{entity}: lies in {table}, and belongs into {expected}",
                entity=row.id,
                table=columns.table,
                expected=expected.table,
            ),
        ]
    names = (*own_column_names(schema, expected.table), "created_at", "updated_at", "deleted_at")
    return found + [
        Fault(
            "wrong-column",
            "{entity}: its column {name} says {stored}, its document {document}",
            entity=row.id,
            name=name,
            stored=repr(stored),
            document=repr(document),
        )
        for name, stored, document in zip(names, columns[1:], expected[1:], strict=True)
        if stored != document
    ]


def _impossible(entity: str, error: BadVersion) -> Fault:
    return Fault(
        "impossible-row", "{entity}: no correct program can have written it ({error})", entity=entity, error=error
    )


def _stood_for(kept: list[QuarantinedVersion], row: Version) -> bool:
    return any(held.version.id == row.id and vector_clock.covers(held.clock, _clock(row)) for held in kept)


def _clock(row: Version) -> Clock:
    try:
        return row.read_clock()
    except ValueError:  # `_broken_row` has named it
        return {}


def _indexed(reader: Reader, host: int, counter: int, n: int) -> bool:
    return bool(reader.local("select 1 from components where host = ? and counter = ? and n = ?", (host, counter, n)))
