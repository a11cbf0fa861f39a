"""Many rows at once, column by column (docs/specs/05-store.md, section 6).

An import or a first round fills thousands of rows that are alike: each is new here, and holds neither siblings nor a
deletion. What follows from such a version, its columns, hash, component and place in the chain, is computed for all
of them together, one pass for each. SQLite takes the rows as they come out of these passes.

Edits are alike, too, where what is here is plain and their writer had seen all of it (`lottisync.entities.edit`). They
take the place of rows, and what they replaced becomes history.

Two paths that write one table must be one law. So this one is narrow. It takes rows only if nothing about them is
unusual: no id twice, no link, no unknown type, nothing in quarantine, no news of this store's own host; what is new
only if none of the batch is here. Everything else goes the way of a single version, in `lottisync.store.merge` or
`transaction`. The checks are the same on both ways (`lottisync.entities.batch`). A test feeds both paths the same
batches and compares every table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Host
from lottisync.entities import edit
from lottisync.entities.batch import Columns, Plain
from lottisync.entities.edit import Edit
from lottisync.store.columns import CREATED_AT, lasting_columns_are_kept
from lottisync.store.instant import iso
from lottisync.store.reader import Row
from lottisync.store.rows import DELETE_COMPONENT, INSERT_COMPONENT, Rows
from lottisync.store.write_buffer import KEEP_WRITE

ROWS_TOGETHER = 100
"""Rows that one statement inserts. A run of a statement costs as much as inserting a component does, and a row of an
entity costs a fifth less in such a statement than by itself; with a fourth of these rows it costs more. A statement
with twice as many has more text than apsw keeps prepared (16 KB)."""
_number = partial(int.from_bytes, byteorder="big")
_parts = msgspec.structs.astuple


class NewRows(NamedTuple):
    """Entities that are new here, without siblings or a deletion: their versions, what gives the values of one path
    (None where it is absent), the components of their clocks, and when their first and last winning writes were made
    (ms)."""

    columns: Columns
    values: Callable[[str], Iterable[Any]]
    clocks: Sequence[dict[Host, int]]
    earliest: Sequence[int]
    latest: Sequence[int]


class PendingEdit(NamedTuple):
    """An edit that is to be stored: what is here, the hash of what comes out, and its place in the feed."""

    row: Row
    edit: Edit
    hash: bytes
    feed: int


class Batches(Rows):
    """See the module."""

    def _takes(self, ids: Sequence[str], types: Iterable[str]) -> bool:
        """Whether rows of these entities, of which none is here, may be added together."""
        if len(set(ids)) < len(ids) or not self._quarantined.empty or not self._absent.issuperset(ids):
            return False
        described = [self.schema.types.get(type_name) for type_name in set(types)]
        return not any(each is None or each.link for each in described)

    def _add_all(self, new: NewRows) -> list[bytes]:
        """Add rows that `_takes` has allowed; their hashes."""
        ids, types, clocks, stamps, documents = new.columns
        hashes = new.columns.hashes()
        owners, subtypes = self._owners(new)
        statement = self._storage(types[0]).statements.add
        rows = zip(
            owners, subtypes, _made_at(new), _instants(new.latest), documents, clocks, stamps, hashes,
            count(self._feed + 1), count(self._n + 1), ids, types,
        )  # fmt: skip
        self._insert(statement, list(rows))
        self._insert(INSERT_COMPONENT, self._components(new.clocks))
        self._feed += len(ids)
        self._n += len(ids)
        self._sum += _total(hashes)
        self._absent.difference_update(ids)
        self.changed = True
        return hashes

    def _edits(self, incoming: Plain, present: Mapping[str, Row]) -> dict[int, Edit]:
        """By index, the edits that `_edit_all` may take: usual ones, of rows that are sound and no links."""
        if any(clock.get(self._host, 0) > self._counter for clock in incoming.clocks):
            return {}
        found = edit.received(incoming, {row.version.id: row.version for row in self._editable(present.values())})
        return {at: each for at, each in found.items() if self._keeps_columns(each)}

    def _editable(self, rows: Iterable[Row]) -> list[Row]:
        """The rows that are sound, of a known type, and no links; none if anything is in quarantine."""
        known = [row for row in rows if self._is_known(row.version.type)] if self._quarantined.empty else []
        hashes = Columns.of(row.version for row in known).hashes() if known else []
        return [
            row
            for row, version_hash in zip(known, hashes, strict=True)
            if row.hash == version_hash and not row.clean_tombstone
        ]

    def _is_known(self, type_name: str) -> bool:
        described = self.schema.types.get(type_name)
        return described is not None and not described.link

    def _keeps_columns(self, made: Edit) -> bool:
        described = self.schema.types[made.after.type]
        return lasting_columns_are_kept(described, made.held, made.values, made.begins_alike)

    def _edit_all(self, taken: Sequence[PendingEdit]) -> None:
        """Put edits in the place of what is here, and keep everything in step, as `_store` does for a single one."""
        if not taken:
            return
        rows: list[tuple[Any, ...]] = []
        history: list[tuple[Any, ...]] = []
        fields: list[tuple[str, str]] = []
        begun: list[tuple[int, int, int]] = []
        ended: list[tuple[int, int, int]] = []
        written: dict[int, str] = {}
        for row, made, version_hash, feed in taken:
            (ident, _, clock, stamps, document), n, latest = _parts(made.after), row.n, made.latest()
            if latest not in written:
                written[latest] = iso(latest)
            rows.append((written[latest], None, document, clock, stamps, version_hash, False, False, feed, n))
            for path, stamp, value in made.gone:
                by = made.stamps.get(path, made.base)
                fields.append((ident, path))
                history.append((ident, path, *stamp, value, by.host, by.counter))
            for host, counter in made.clock.items():
                past = made.before.get(host, 0)
                if counter != past:
                    number = self.host_number(host)
                    begun.append((number, counter, n))
                    if past:
                        ended.append((number, past, n))
        self._reach(made.clock for _, made, *_ in taken)
        self._sum += _total(version_hash for _, _, version_hash, _ in taken)
        self._sum -= _total(row.hash for row, *_ in taken)
        self.changed = True
        self._insert(INSERT_COMPONENT, sorted(begun))
        self._connection.executemany(DELETE_COMPONENT, sorted(ended)).fetchall()
        refresh = self._storage(taken[0].row.version.type).statements.refresh
        self._connection.executemany(refresh, rows).fetchall()
        self._insert(KEEP_WRITE, history)
        self._buffer.overwritten_more(fields)

    def _insert(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Give SQLite rows, most of them `ROWS_TOGETHER` at a time."""
        if not rows:
            return
        whole = len(rows) - len(rows) % ROWS_TOGETHER
        values = chain.from_iterable(rows[:whole])
        width = ROWS_TOGETHER * len(rows[0])
        together = (tuple(islice(values, width)) for _ in range(whole // ROWS_TOGETHER))
        self._connection.executemany(_of_many(statement), together).fetchall()
        self._connection.executemany(statement, rows[whole:]).fetchall()

    def _owners(self, new: NewRows) -> tuple[list[str], list[str | None]]:
        """The first two columns of each entity, as `columns.own_columns` gives them for one."""
        described = {name: self.schema.types[name] for name in set(new.columns.types)}
        owners = _named(new, {name: kind.owner or "" for name, kind in described.items()})
        subtypes = _named(new, {name: kind.subtype or "" for name, kind in described.items()})
        return (
            [
                owner if owner and type(owner) is str else ident
                for owner, ident in zip(owners, new.columns.ids, strict=True)
            ],
            [subtype if subtype and isinstance(subtype, str) else None for subtype in subtypes],
        )

    def _reach(self, clocks: Iterable[Mapping[Host, int]]) -> dict[Host, int]:
        """Note that what these clocks name is here now; gives the numbers of their hosts."""
        numbers = {}
        for host, counter in vector_clock.reach(clocks).items():
            numbers[host] = self.host_number(host)
            self._reached(numbers[host], counter)
        return numbers

    def _components(self, clocks: Sequence[dict[Host, int]]) -> list[tuple[int, int, int]]:
        hosts = set(chain.from_iterable(clocks))
        if len(hosts) == 1:  # most of an import, or of a first round, was written by one host
            (host,) = hosts
            number = self.host_number(host)
            counters = list(chain.from_iterable(map(dict.values, clocks)))
            self._reached(number, max(counters))
            return list(zip(repeat(number), counters, range(self._n + 1, self._n + 1 + len(counters)), strict=False))
        numbers = self._reach(clocks)
        rows = (
            (numbers[host], counter, n)
            for n, clock in enumerate(clocks, self._n + 1)
            for host, counter in clock.items()
        )
        return sorted(rows)  # in the order of the table: what lies together there is written together


def _total(hashes: Iterable[bytes]) -> int:
    """The sum of hashes, as the digest is one."""
    return sum(map(_number, hashes))


@lru_cache(maxsize=64)
def _of_many(insert: str) -> str:
    """The statement that inserts so many rows, of the one that inserts one."""
    return insert + f", {insert.partition('values ')[2]}" * (ROWS_TOGETHER - 1)


def _named(new: NewRows, paths: Mapping[str, str]) -> Iterable[Any]:
    """The values at the paths that the types name: `paths` has one for each type, "" for none."""
    columns = {path: new.values(path) if path else repeat(None, len(new.clocks)) for path in set(paths.values())}
    if len(columns) == 1:
        return columns.popitem()[1]
    rows = zip(*columns.values(), strict=True)
    index = {name: list(columns).index(path) for name, path in paths.items()}
    return [row[index[name]] for row, name in zip(rows, new.columns.types, strict=True)]


def _made_at(new: NewRows) -> list[str]:
    return [
        made if isinstance(made, str) else iso(millis)
        for made, millis in zip(new.values(CREATED_AT), new.earliest, strict=True)
    ]


def _instants(millis: Sequence[int]) -> Iterable[str]:
    """The readings as instants. They are computed once for each time: most of a batch was written in one transaction,
    at one time."""
    written = {one: iso(one) for one in set(millis)}
    return map(written.__getitem__, millis)
