"""The rows of a write transaction (docs/specs/05-store.md, sections 2 to 6).

One entity is one row. All that follows from a row is kept in step with it, here and nowhere else: the index over its
clock, the digest (the *stored* hash is subtracted and the new one added), the change feed, the history of what was
overwritten. `Rows` stores versions and knows neither where they come from nor what they mean: what peers send is
joined in `lottisync.store.merge`, what this device writes is made in `lottisync.store.transaction`.

Neither host nor counter outlives the transaction in memory, because several programs may have one file open. What
goes into the tables is gathered in a `WriteBuffer` and written together. Every read sees it: reading writes it down
first.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Never

import apsw

from lottisync.causality import vector_clock
from lottisync.causality.chain import chained, genesis
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import DELETED_AT, Entity, has_conflict
from lottisync.entities.registers import Registers, lookup
from lottisync.entities.schema import EntityType, StoreSchema
from lottisync.entities.version import Version
from lottisync.problem import Fault, Problem
from lottisync.store import damage, known_hosts
from lottisync.store.columns import (
    CREATED_AT,
    deleted_at,
    lasting_columns,
    lasting_columns_are_kept,
    own_column_names,
    own_columns,
    updated_at,
)
from lottisync.store.instant import iso
from lottisync.store.known_hosts import NO_NEWS, OWN_VALUE, KnownHosts, Latest, News, OwnHost
from lottisync.store.quarantine import Quarantine, QuarantinedVersion
from lottisync.store.reader import ChangeToken, Reader, Row
from lottisync.store.tables import RAW_COLUMNS, Statements, raw_version, statements_for
from lottisync.store.write_buffer import WriteBuffer

MODULUS = 2**256
"""The digest is the sum of the rows' hashes modulo this."""

BEGIN = f"""select s.host, s.counter, s.millis, s.ticks, s.digest, s.n, s.feed, h.n, {OWN_VALUE},
        exists (select 1 from quarantine), exists (select 1 from forgotten), s.moment, s.marks
    from state s join hosts h on h.host = s.host"""
"""All that a transaction has to know of its store, in one look."""
WRITE_STATE = """update state set host = ?, counter = ?, millis = ?, ticks = ?, digest = ?, n = ?, feed = ?, moment = ?,
    marks = ?"""
_ROWS = f"select n, {RAW_COLUMNS}, hash, clean_tombstone"
INSERT_COMPONENT = "insert into components values (?, ?, ?)"
DELETE_COMPONENT = "delete from components where host = ? and counter = ? and n = ?"


def _unknown_host() -> Never:
    raise Problem(
        "damaged",
        "the store does not say which host is its own, and it cannot be found out. Nothing was written. Restore the"
        " store from a backup, or pair this device again",
    )


class _Storage(NamedTuple):
    """Where versions of a type go; `described` is None for a type that this device has never heard of."""

    described: EntityType | None
    statements: Statements


class Rows(Reader):
    """See the module."""

    def __init__(
        self, schema: StoreSchema, connection: apsw.Connection, mint: Callable[[], Host], now: int, hosts: Latest
    ) -> None:
        super().__init__(schema, connection, hosts)
        self.now = now
        self.changed = False
        self._mint = mint
        self._host: Host
        self._number: int
        self._counter: int
        self._n: int
        self._feed: int
        self._moment: int
        kept: int
        forgotten: int
        (
            self._host,
            self._counter,
            millis,
            ticks,
            digest,
            self._n,
            self._feed,
            self._number,
            value,
            kept,
            forgotten,
            self._moment,
            marks,
        ) = (self._execute(BEGIN) or _unknown_host())[0]
        self._clock = Hlc(millis, ticks)
        self._sum = int.from_bytes(digest, "big")
        self._marks = int.from_bytes(marks, "big")
        self._news: dict[int, News] = {}
        """What was learned of hosts and is not in their table yet."""
        self._numbers: dict[str, int] = {self._host: self._number}
        self._storages: dict[str, _Storage] = {}
        self._chain_value: bytes = bytes(value or genesis(self._host))
        self._quarantined = Quarantine(connection, empty=not kept)
        self._forgotten: Clock | None = None if forgotten else {}
        """What was forgotten; None where that has to be looked up."""
        self._state: tuple[Any, ...] = ()
        """What this transaction has written down of `state`."""
        self._absent: set[str] = set()
        """Ids that were looked for, and that have no row."""
        # Components are inserted before any is deleted: one that has gone never comes back.
        self._buffer = WriteBuffer(connection, (INSERT_COMPONENT, DELETE_COMPONENT))

    # -- what this store is, with what is not in its tables yet

    @property
    def host(self) -> Host:
        return self._host

    @property
    def counter(self) -> int:
        return self._counter

    def digest(self) -> bytes:
        return (self._sum % MODULUS).to_bytes(32, "big")

    def hosts(self) -> tuple[OwnHost, KnownHosts]:
        self.finish()
        return super().hosts()

    def change_token(self) -> ChangeToken:
        self.finish()
        return super().change_token()

    # -- reading and writing tables

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        self._buffer.flush()
        return self._execute(sql, bindings)

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """SQL for the local tables, which never replicate."""
        self._forgotten = None  # it may be what is being written
        self._absent.clear()
        return self._rows(sql, bindings)

    def finish(self) -> None:
        """Write down all that is not in the tables yet; the commit is the store's."""
        self._buffer.flush()
        if self._news:
            self._write_hosts()
        marks = self._marks.to_bytes(32, "big")
        state = (self._host, self._counter, *self._clock, self.digest(), self._n, self._feed, self._moment, marks)
        if self.changed and state != self._state:
            self._execute(WRITE_STATE, state)
            self._state = state

    def _learn(self, number: int, *, known: int = 0, reach: int = 0) -> None:
        """Note what is known, or here, of the host with this number; or that its chain has changed."""
        before = self._news.get(number, NO_NEWS)
        self._news[number] = News(max(known, before.known), max(reach, before.reach))

    def _write_hosts(self) -> None:
        """Write down what was learned of hosts. What is known of the own host follows from its writes."""
        news, self._news = self._news, {}
        own = news.pop(self._number, NO_NEWS)
        if own.reach > self._counter:  # this store is about to get another host
            self._news[self._number] = own
        if not news:
            return
        marks = known_hosts.write(self._connection, news, self._moment + 1, self._marks)
        if marks is not None:
            self._moment, self._marks, self.changed = self._moment + 1, marks, True

    def host_faults(self) -> list[Fault]:
        self.finish()
        return super().host_faults()

    def lengthened(self, number: int) -> None:
        """The chain of the host with this number has changed."""
        self._learn(number)
        self.changed = True

    def find_hosts_again(self) -> None:
        """Make the numbers of all hosts again, from the chains and the index."""
        self.finish()
        self._moment += 1
        self._marks = known_hosts.write_all(self._connection, self._moment)
        self.changed = True

    def _row(self, entity_id: str) -> Row | None:
        if entity_id in self._absent:
            return None
        if self._buffer.holds(entity_id):
            self._buffer.flush()
        row = super()._row(entity_id)
        if row is None:
            self._absent.add(entity_id)
        return row

    def _load(self, ids: Iterable[str]) -> dict[str, Row]:
        """The rows of many entities at once. Which of them have no row is known then, too; most of an import or a first
        round has none. Entities that wait in the buffer are left out."""
        unknown = wanted = set(filter(str.isascii, self._buffer.without(ids)))
        found: dict[str, Row] = {}
        for table in (self._entities, self._links):
            if found:
                wanted = unknown - found.keys()
            if not wanted or not self._has_between(table, min(wanted), max(wanted)):
                continue
            listed = canonical.encode_normal(sorted(wanted)).decode()
            rows = self._execute(f"{_ROWS} from {table} where id in (select value from json_each(?))", (listed,))
            for n, *parts, stored_hash, clean in rows:
                made = raw_version(*parts)
                found[made.id] = Row(n, made, stored_hash, bool(clean))
        self._absent |= unknown - found.keys() if found else unknown
        return found

    def _has_between(self, table: str, first: str, last: str) -> bool:
        """Whether any id here lies between these two. Ids grow with time, so new entities mostly lie behind all that is
        here, and one look does for all of them."""
        return bool(
            self._execute(f"select exists (select 1 from {table} where id between ? and ?)", (first, last))[0][0]
        )

    def host_number(self, host: str) -> int:
        """The number of a host in the tables; a host that is new here gets one."""
        number = self._numbers.get(host)
        if number is None:
            rows = self._execute("select n from hosts where host = ?", (host,))
            if not rows:
                rows = self._execute("insert into hosts(host) values (?) returning n", (host,))
            number = self._numbers[host] = int(rows[0][0])
        return number

    # -- writing one row

    def _store(
        self, row: Row | None, before: Entity | None, after: Entity, closed: Version, changes: set[str]
    ) -> bytes | None:
        """Put an entity's one version in its row, and keep everything in step; its hash, None if nothing differs.
        `changes` are the paths in which it differs from what was there `before`."""
        if row is not None and row.version == closed:
            return None
        storage = self._storage(after.type)
        registers = after.registers
        if row is None and _one_write(registers):
            own = own_columns(storage.described, after.id, after.type, registers.decoded.get)
            millis, created = registers.base.millis, registers.decoded.get(CREATED_AT)
            version_hash = self._add_new(storage.statements, own, closed, millis, created)
            self.index(self._n, after.clock)
            return version_hash
        version_hash = closed.hash()
        plain = not registers.siblings and DELETED_AT not in registers
        clean = not plain and not version.adds_to_digest(after)
        columns: tuple[str | None, ...] = ()
        if row and before and _keeps_columns(storage.described, before.registers, registers):
            statement = storage.statements.refresh
        else:
            columns = lasting_columns(storage.described, after)
            statement = storage.statements.rewrite if row else storage.statements.insert
        old_clock: Clock = {}
        if row is not None and before is not None:
            self._sum -= self._weight(row)
            self._remember(before, after, changes)
            old_clock = before.clock
        self._count(closed, version_hash, clean=clean)
        if row is None:
            self._n += 1
        n = row.n if row else self._n
        values = (
            *columns,
            updated_at(after),
            None if plain else deleted_at(after),
            closed.document,
            closed.clock,
            closed.stamps,
            version_hash,
            clean,
            not plain and has_conflict(after),
            self._feed,
            n,
        )
        self._absent.discard(after.id)
        self._buffer.entity(after.id, statement, values if row else (*values, after.id, after.type))
        for host, counter in after.clock.items():
            past = old_clock.get(host, 0)
            if counter != past:
                number = self.host_number(host)
                if past:
                    self._buffer.add(DELETE_COMPONENT, (number, past, n))
                self._reached(number, counter)
                self._buffer.add(INSERT_COMPONENT, (number, counter, n))
        return version_hash

    def _add_new(
        self, statements: Statements, own: tuple[str | None, str | None], made: Version, millis: int, created: Any
    ) -> bytes:
        """Gather the row of an entity that is new here, and that one write of time `millis` has filled; its hash."""
        version_hash = made.hash()
        self._count(made, version_hash, clean=False)
        self._n += 1
        written = iso(millis)
        row = (
            *own,
            created if isinstance(created, str) else written,
            written,
            made.document,
            made.clock,
            made.stamps,
            version_hash,
            self._feed,
            self._n,
            made.id,
            made.type,
        )
        self._absent.discard(made.id)
        self._buffer.entity(made.id, statements.add, row)
        return version_hash

    def _count(self, made: Version, version_hash: bytes, *, clean: bool) -> None:
        """Take an entity's new version into the feed and the digest."""
        self.changed = True
        self._feed += 1
        if not self._quarantined.empty:
            for kept in self._quarantined.of(made.id):
                if vector_clock.covers(made.read_clock(), kept.clock):
                    self._release(kept)
            clean = clean or self._quarantined.stands_for(made)
        if not clean:
            self._sum += int.from_bytes(version_hash, "big")

    def _storage(self, type_name: str) -> _Storage:
        storage = self._storages.get(type_name)
        if storage is None:
            described = self.schema.types.get(type_name)
            table = self._links if described is not None and described.link else self._entities
            storage = _Storage(described, statements_for(table, own_column_names(self.schema, table)))
            self._storages[type_name] = storage
        return storage

    def _remember(self, before: Entity, after: Entity, changes: set[str]) -> None:
        """Keep what was overwritten, locally, for people: `lottisync history` (STORE-16)."""
        for p in sorted(changes):
            held = before.registers.get(p, ())
            if not held:
                continue
            now = after.registers.get(p, ())
            here = lookup(now)
            gone = [each for each in held if each not in here]
            if gone:
                by_host, by_counter = (now[0].stamp.host, now[0].stamp.counter) if now else ("", 0)
                kept = [(before.id, p, *held.stamp, held.value, by_host, by_counter) for held in gone]
                self._buffer.overwritten(before.id, p, kept)

    # -- what is kept in step with it

    def index(self, n: int, clock: Clock) -> None:
        """Enter a row's or a kept version's clock into an index that does not have it."""
        for host, counter in clock.items():
            number = self.host_number(host)
            self._buffer.add(INSERT_COMPONENT, (number, counter, n))
            self._reached(number, counter)

    def _reached(self, number: int, counter: int) -> None:
        """Note that a write of another host is here now. For this store's own host it is not news."""
        if number != self._number or counter > self._counter + 1:
            self._learn(number, reach=counter)

    def _weight(self, row: Row) -> int:
        """What a row adds to the digest: nothing if a version in quarantine counts in its place."""
        counted = not row.clean_tombstone and not self._quarantined.stands_for(row.version)
        return int.from_bytes(row.hash, "big") if counted else 0

    def _release(self, kept: QuarantinedVersion) -> None:
        """Take out of quarantine a version whose writes the row here has all seen."""
        self._buffer.flush()  # its components may be among what is gathered
        self._quarantined.remove(kept)
        self._sum -= kept.weight

    def remove(self, entity_id: str) -> None:
        """Take an entity's row away, and all that is kept in step with it; what was overwritten stays."""
        row = damage.raw_row(self, entity_id)  # which inserts what is gathered
        if row is not None:
            self.remove_row(row)

    def remove_row(self, row: Row) -> None:
        """Take away a row that is in the table, as `remove` does."""
        self._sum -= self._weight(row)
        if row.is_sound:
            for host, counter in row.version.read_clock().items():
                self._execute(DELETE_COMPONENT, (self.host_number(host), counter, row.n))
        else:  # its clock may not be the one that is in the index
            self._execute("delete from components where n = ?", (row.n,))
        for table in (self._entities, self._links):
            self._execute(f"delete from {table} where n = ?", (row.n,))
        self.changed = True

    def _extend_chain(self, hashes: Iterable[bytes]) -> None:
        """Take the next counters, for writes that made the versions with these hashes, and enter the writes into the
        own host's chain."""
        values = chained(self._chain_value, hashes)
        if values:
            self._buffer.chain_values(self._number, self._counter + 1, b"".join(values))
            self._counter += len(values)
            self._chain_value = values[-1]


def _keeps_columns(described: EntityType | None, before: Registers, after: Registers) -> bool:
    return lasting_columns_are_kept(described, before.raw, after.raw, lambda: before.earliest() == after.earliest())


def _one_write(registers: Registers) -> bool:
    """Whether one write has filled all registers, and is not a deletion."""
    return not registers.stamps and not registers.siblings and DELETED_AT not in registers.decoded
