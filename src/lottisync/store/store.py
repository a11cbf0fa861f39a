"""The replicated store: entities with clocks in one SQLite file (docs/specs/05-store.md).

Each of the domains `journal`, `agent` and `space` is one `Store`: the same code, another registry of
types. The store is synchronous and knows nothing of tasks, networks or event loops. Several
processes may hold one open; SQLite's transactions are the only lock between them, and neither the
host nor its counter is remembered across transactions.

A row is a version (`lottisync.entities.version`) with a few columns pulled out for queries. Beside
the two tables stands one index, from (host, counter) to entity, over every component of every clock:
"what does this peer lack" is a range scan whose cost grows with what is missing, not with what is
stored. The digest is the sum of the rows' hashes modulo 2^256, kept in the same transaction by
subtracting the *stored* hash and adding the new one.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from lottisync.causality import hlc
from lottisync.causality.hlc import Hlc
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import canonical, path, version
from lottisync.entities.entity import DELETED_AT, USER, Entity, Stamp, deletion, is_deleted, join, write
from lottisync.entities.schema import EntityType, StoreSchema, link_id
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Problem
from lottisync.store import doorbell
from lottisync.store.database import APPLICATION_ID, FORMAT, connect, explained
from lottisync.store.instant import iso

MODULUS = 2**256


def _tables(schema: StoreSchema) -> str:
    """The seeds' tables and columns (S3-11, S3-14), with the replication columns beside them."""
    replication = "clock text not null, stamps text not null, hash blob not null, clean_tombstone integer not null"
    common = f"""created_at text not null, updated_at text not null, deleted_at text, serialized text not null,
        schema_version integer not null default 1, {replication}"""
    entities, links, owner = f"{schema.name}_entities", f"{schema.name}_links", schema.owner_column
    by_kind = f"idx_{entities}_{owner.removesuffix('_id')}_type_sub"
    columns = "n, id, type, clock, stamps, hash, clean_tombstone, serialized, deleted_at"
    return f"""
    create table {entities} (n integer primary key, id text not null unique, {owner} text not null,
        type text not null, subtype text, {common}) strict;
    create index idx_{entities}_{owner} on {entities}({owner});
    create index idx_{entities}_type on {entities}(type, {owner}, created_at desc);
    create index {by_kind} on {entities}({owner}, type, subtype, created_at desc);
    create table {links} (n integer primary key, id text not null unique, from_id text not null,
        to_id text not null, type text not null, {common}, unique(from_id, to_id, type)) strict;
    create index idx_{links}_from on {links}(from_id, type);
    create index idx_{links}_to on {links}(to_id, type);
    create index idx_{links}_type on {links}(type);
    create view rows as select {columns} from {entities} union all select {columns} from {links};
    create table hosts (n integer primary key, host text not null unique, known integer not null default 0) strict;
    create table components (host integer not null, counter integer not null, n integer not null,
        primary key (host, counter, n)) strict, without rowid;
    create table meta (key text primary key, value any) strict, without rowid;
    """


class Store:
    """One open replicated store. Threads may share it; transactions take turns."""

    def __init__(self, file: Path, schema: StoreSchema, connection: apsw.Connection, mint: Callable[[], Host]) -> None:
        self.file = file
        self.schema = schema
        self._connection = connection
        self._mint = mint
        self._turn = threading.RLock()
        self._bells = file.parent / "bells"
        self._entities, self._links = f"{schema.name}_entities", f"{schema.name}_links"

    # -- opening

    @staticmethod
    def create(file: Path, schema: StoreSchema, mint: Callable[[], Host], extra_tables: str = "") -> "Store":
        """Make the file with its tables and a first host; opening an existing file is an error."""
        connection = connect(file, create=True)
        with explained(file), connection:
            connection.execute(_tables(schema) + extra_tables).fetchall()
            host = mint()
            connection.execute("insert into hosts(host) values (?)", (host,)).fetchall()
            for key, value in (
                ("host", host),
                ("counter", 0),
                ("millis", 0),
                ("ticks", 0),
                ("digest", bytes(32)),
                ("n", 0),
            ):
                connection.execute("insert into meta values (?, ?)", (key, value)).fetchall()
            connection.execute(f"pragma application_id={APPLICATION_ID}").fetchall()
            connection.execute(f"pragma user_version={FORMAT}").fetchall()
        return Store(file, schema, connection, mint)

    @staticmethod
    def open(file: Path, schema: StoreSchema, mint: Callable[[], Host]) -> "Store":
        return Store(file, schema, connect(file), mint)

    def close(self) -> None:
        self._connection.close()

    # -- transactions

    @contextlib.contextmanager
    def transaction(self, now: int) -> Iterator["Transaction"]:
        """A write transaction at wall time `now` (ms): all of it is committed, or nothing is. What was
        committed is durable before this returns, and listeners are told after that."""
        with self._turn, explained(self.file):
            self._connection.execute("begin immediate").fetchall()
            try:
                transaction = Transaction(self, self._connection, now)
                yield transaction
                transaction.finish()
                self._connection.execute("commit").fetchall()
            except BaseException:
                self._rollback()
                raise
            changed = transaction.changed
        if changed:
            doorbell.ring(self._bells)

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback").fetchall()

    @contextlib.contextmanager
    def reading(self) -> Iterator["Reader"]:
        """A read transaction: everything read in it belongs to one moment."""
        with self._turn, explained(self.file):
            if self._connection.in_transaction:
                yield Reader(self.schema, self._connection)
                return
            self._connection.execute("begin").fetchall()
            try:
                yield Reader(self.schema, self._connection)
            finally:
                self._rollback()

    def snapshot(self) -> "Snapshot":
        """A moment of this store, held on a connection of its own until closed; writers go on meanwhile."""
        return Snapshot(self.schema, connect(self.file))

    # -- one-line reads

    def read(self, entity_id: str) -> Entity | None:
        with self.reading() as reader:
            return reader.entity(entity_id)

    def changes(self) -> int:
        """A number that differs after every commit of another connection or process."""
        with self._turn:
            return int(self._connection.pragma("data_version"))


class Reader:
    """Reads within one transaction."""

    def __init__(self, schema: StoreSchema, connection: apsw.Connection) -> None:
        self.schema = schema
        self._connection = connection
        self._entities, self._links = f"{schema.name}_entities", f"{schema.name}_links"

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, bindings).fetchall()

    def _meta(self, key: str) -> Any:
        return self._rows("select value from meta where key = ?", (key,))[0][0]

    @property
    def host(self) -> Host:
        return Host(self._meta("host"))

    @property
    def counter(self) -> int:
        return int(self._meta("counter"))

    def digest(self) -> bytes:
        return bytes(self._meta("digest"))

    def knowledge(self) -> Knowledge:
        return {
            Host(host): known
            for host, known in self._rows("select host, known from hosts where known > 0 order by host")
        }

    def held_beyond(self) -> list[tuple[Host, int, str]]:
        """The dots held beyond the knowledge, each with its entity: what cut-off rounds left here."""
        return [
            (Host(host), counter, entity)
            for host, counter, entity in self._rows(
                """select h.host, c.counter, r.id from hosts h
                   join components c on c.host = h.n and c.counter > h.known
                   join rows r on r.n = c.n order by 1, 2, 3"""
            )
        ]

    def _version(self, entity_id: str) -> tuple[int, Version, bytes, bool] | None:
        rows = self._rows(
            "select n, id, type, clock, stamps, serialized, hash, clean_tombstone from rows where id = ?",
            (entity_id,),
        )
        if not rows:
            return None
        n, ident, type_name, clock, stamps, document, stored_hash, clean = rows[0]
        return (
            n,
            Version(ident, type_name, clock.encode(), stamps.encode(), document.encode()),
            stored_hash,
            bool(clean),
        )

    def version(self, entity_id: str) -> Version | None:
        row = self._version(entity_id)
        return row[1] if row else None

    def entity(self, entity_id: str) -> Entity | None:
        row = self._version(entity_id)
        return version.open_stored(row[1]) if row else None

    def _query(self, table: str, where: str, bindings: tuple[Any, ...], *, deleted: bool = False) -> list[Entity]:
        live = "" if deleted else " and deleted_at is null"
        rows = self._rows(
            f"select id, type, clock, stamps, serialized from {table} where {where}{live} order by created_at, id",
            bindings,
        )
        return [
            version.open_stored(Version(ident, type_name, clock.encode(), stamps.encode(), document.encode()))
            for ident, type_name, clock, stamps, document in rows
        ]

    def by_type(self, type_name: str, *, owner: str | None = None, subtype: str | None = None) -> list[Entity]:
        """Live entities of a type, oldest first, optionally of one owner and one subtype."""
        where, bindings = "type = ?", [type_name]
        if owner is not None:
            where, bindings = where + f" and {self.schema.owner_column} = ?", [*bindings, owner]
        if subtype is not None:
            where, bindings = where + " and subtype = ?", [*bindings, subtype]
        return self._query(self._entities, where, tuple(bindings))

    def owned_by(self, owner: str, *, deleted: bool = False) -> list[Entity]:
        """All live entities of an owner (a task's items and entries, an agent's messages ...), with
        `deleted` also those that are not live any more."""
        return self._query(self._entities, f"{self.schema.owner_column} = ?", (owner,), deleted=deleted)

    def links_from(self, from_id: str, type_name: str | None = None) -> list[Entity]:
        where, bindings = (
            ("from_id = ?", (from_id,)) if type_name is None else ("from_id = ? and type = ?", (from_id, type_name))
        )
        return self._query(self._links, where, bindings)

    def links_to(self, to_id: str, type_name: str | None = None) -> list[Entity]:
        where, bindings = (
            ("to_id = ?", (to_id,)) if type_name is None else ("to_id = ? and type = ?", (to_id, type_name))
        )
        return self._query(self._links, where, bindings)

    def ids_starting(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin with `prefix` (which people abbreviate), at most `limit`."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "\U0010ffff"
        return [
            row[0]
            for row in self._rows(
                "select id from rows where id >= ? and id < ? order by id limit ?", (prefix, end, limit)
            )
        ]

    def local(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the local tables that stand beside the replicated ones and never replicate."""
        return self._rows(sql, bindings)

    def count(self) -> int:
        """How many entities there are, tombstones included."""
        return int(self._rows("select count(*) from rows")[0][0])


class Transaction(Reader):
    """Writes within one transaction; reads in it see them."""

    def __init__(self, store: Store, connection: apsw.Connection, now: int) -> None:
        super().__init__(store.schema, connection)
        self._mint = store._mint
        self.now = now
        self.changed = False
        self._digest = int.from_bytes(self.digest(), "big")
        self._clock = Hlc(self._meta("millis"), self._meta("ticks"))
        self._hosts: dict[Host, int] = {}

    def put(
        self,
        entity_id: str,
        type_name: str,
        fields: Mapping[str, Any],
        *,
        precedence: int = USER,
        seen: Clock | None = None,
    ) -> Dot:
        """Write `fields` (nested or flat; see `path.flatten`) in one write with one dot (STORE-3).

        `seen` is the clock that the writer had read; what is here beyond it stays as siblings. Raises
        `Problem` for an id of another type, an empty write, a document that is too large, and for an id,
        a type, a path or a value that no peer would take."""
        try:
            version.validated_id(entity_id)
            version.validated_type(type_name)
            values = {p: canonical.encode(value) for p, value in path.flatten(fields).items()}
        except (BadVersion, path.PathError, canonical.NotCanonical) as error:
            raise Problem("bad-value", f"{entity_id[:80]!r} cannot be written: {error}") from None
        return self._write(entity_id, type_name, values, precedence, seen)

    def delete(self, entity_id: str, *, precedence: int = USER) -> Dot:
        """Write a tombstone that records what the deleter saw."""
        entity = self._existing(entity_id)
        return self._write(
            entity_id, entity.type, {DELETED_AT: deletion(iso(self.now), entity.clock)}, precedence, None
        )

    def undelete(self, entity_id: str, *, precedence: int = USER) -> Dot:
        """Bring an entity back: every register is written anew, so that no older deletion covers it."""
        entity = self._existing(entity_id)
        values = {p: writes[0].value for p, writes in entity.registers.items()}
        return self._write(entity_id, entity.type, values | {DELETED_AT: b"null"}, precedence, None)

    def _existing(self, entity_id: str) -> Entity:
        entity = self.entity(entity_id)
        if entity is None:
            raise Problem("unknown-id", f"there is no {entity_id} in the {self.schema.name} store")
        return entity

    def _write(
        self, entity_id: str, type_name: str, values: Mapping[str, bytes], precedence: int, seen: Clock | None
    ) -> Dot:
        if not values:
            raise Problem("empty-write", f"a write to {entity_id} needs at least one field")
        row = self._version(entity_id)
        entity = version.open_stored(row[1]) if row else Entity(entity_id, type_name, {}, {})
        if entity.type != type_name:
            raise Problem("wrong-type", f"{entity_id} is a {entity.type}, not a {type_name}")
        host, counter = self.host, self.counter + 1
        self._clock = hlc.tick(self._clock, self.now)
        stamp = Stamp(precedence, *self._clock, host, counter)
        self._store(row, write(entity, values, stamp, seen))
        self._rows("update meta set value = ? where key = 'counter'", (counter,))
        self._rows("update hosts set known = ? where host = ?", (counter, host))
        return Dot(host, counter)

    def apply(self, versions: Iterable[tuple[Version, Entity]]) -> int:
        """Join versions that came from a peer, already checked; returns how many changed a row.

        Joining is not a write: it takes no counter and leaves the knowledge as it is. If a clock shows
        our own host beyond our own counter, this store was rolled back, and gets a new host (STORE-9)."""
        changed = 0
        for incoming, entity in versions:
            row = self._version(incoming.id)
            if row is not None and row[1] == incoming:
                continue
            joined = entity if row is None else join(version.open_stored(row[1]), entity)
            if self._store(row, joined):
                changed += 1
            for writes in entity.registers.values():
                for held in writes:
                    self._clock = hlc.observe(self._clock, held.stamp.hlc, self.now)
            if entity.clock.get(self.host, 0) > self.counter:
                self.new_host()
        return changed

    def adopt(self, knowledge: Clock) -> None:
        """Take over a peer's knowledge: allowed only when every frame of its round is in (SYNC-4)."""
        for host, known in knowledge.items():
            n = self._host_number(host)
            self._rows("update hosts set known = max(known, ?) where n = ?", (known, n))
        self.changed = True
        if knowledge.get(self.host, 0) > self.counter:
            self.new_host()

    def new_host(self) -> Host:
        """Go on under a fresh host, with its counter at 0."""
        host = self._mint()
        self._host_number(host)
        self._rows("update meta set value = ? where key = 'host'", (host,))
        self._rows("update meta set value = 0 where key = 'counter'")
        self.changed = True
        return host

    def finish(self) -> None:
        if self.changed:
            self._rows("update meta set value = ? where key = 'digest'", (self._digest.to_bytes(32, "big"),))
            self._rows("update meta set value = ? where key = 'millis'", (self._clock.millis,))
            self._rows("update meta set value = ? where key = 'ticks'", (self._clock.ticks,))

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """SQL for the local tables that stand beside the replicated ones and never replicate."""
        return self._rows(sql, bindings)

    # -- rows

    def _host_number(self, host: Host) -> int:
        number = self._hosts.get(host)
        if number is None:
            rows = self._rows("select n from hosts where host = ?", (host,))
            if not rows:
                rows = self._rows("insert into hosts(host) values (?) returning n", (host,))
            number = self._hosts[host] = int(rows[0][0])
        return number

    def _store(self, row: tuple[int, Version, bytes, bool] | None, entity: Entity) -> bool:
        """Put an entity's one version in its row; keeps index and digest true. False if nothing differs."""
        closed = version.close(entity)
        if closed.size() > version.MAX_VERSION:
            raise Problem(
                "too-large",
                f"{entity.id} would have {closed.size()} bytes; a document may have {version.MAX_VERSION}",
            )
        if row is not None and row[1] == closed:
            return False
        self.changed = True
        old_clock: Clock = {}
        if row is None:
            n = self._meta("n") + 1
            self._rows("update meta set value = ? where key = 'n'", (n,))
        else:
            n, old, stored_hash, was_clean = row
            old_clock = old.read_clock()
            if not was_clean:
                self._digest = (self._digest - int.from_bytes(stored_hash, "big")) % MODULUS
        clean = not version.adds_to_digest(entity)
        new_hash = closed.hash()
        if not clean:
            self._digest = (self._digest + int.from_bytes(new_hash, "big")) % MODULUS
        self._write_row(n, entity, closed, new_hash, clean)
        for host, counter in entity.clock.items():
            before = old_clock.get(host, 0)
            if counter == before:
                continue
            number = self._host_number(host)
            if before:
                self._rows("delete from components where host = ? and counter = ? and n = ?", (number, before, n))
            self._rows("insert into components values (?, ?, ?)", (number, counter, n))
        return True

    def _write_row(self, n: int, entity: Entity, closed: Version, new_hash: bytes, clean: bool) -> None:
        described = self.schema.types.get(entity.type)
        own: dict[str, str | None]
        stamps = [writes[0].stamp for writes in entity.registers.values()]
        created = entity.value("createdAt")
        common = {
            "created_at": created if isinstance(created, str) else iso(min(stamp.millis for stamp in stamps)),
            "updated_at": iso(max(stamp.millis for stamp in stamps)),
            "deleted_at": _deleted_at(entity),
            "serialized": closed.document.decode(),
            "clock": closed.clock.decode(),
            "stamps": closed.stamps.decode(),
            "hash": new_hash,
            "clean_tombstone": clean,
        }
        if described is not None and described.link:
            from_id, to_id = _text(entity, "fromId"), _text(entity, "toId")
            if entity.id != link_id(entity.type, from_id, to_id):
                raise BadVersion(f"{entity.id} is not the id of a {entity.type} from {from_id!r} to {to_id!r}")
            table, own = self._links, {"from_id": from_id, "to_id": to_id}
        else:
            subtype = _text(entity, described.subtype) or None if described and described.subtype else None
            table, own = self._entities, {self.schema.owner_column: _owner(entity, described), "subtype": subtype}
        columns = {"n": n, "id": entity.id, "type": entity.type, **own, **common}
        names = ", ".join(columns)
        updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in ("n", "id", "type"))
        places = ", ".join("?" * len(columns))
        self._rows(
            f"insert into {table}({names}) values ({places}) on conflict(n) do update set {updates}",
            tuple(columns.values()),
        )


class Snapshot(Reader):
    """A moment of a store, for one round (docs/specs/06-sync.md): its knowledge and what a peer lacks of it."""

    def __init__(self, schema: StoreSchema, connection: apsw.Connection) -> None:
        super().__init__(schema, connection)
        self._rows("begin")
        self.knowledge()  # the moment is the first read's, not that of `begin`

    def lacking(self, knowledge: Clock, held: Iterable[tuple[Host, int, str]]) -> list[int]:
        """The row numbers of every entity with a clock component beyond `knowledge`, less those whose
        components beyond it are all in `held`; leading types first, then in the order they were made here."""
        wanted: dict[int, set[tuple[Host, int]]] = {}
        for number, host in self._rows("select n, host from hosts"):
            for counter, n in self._rows(
                "select counter, n from components where host = ? and counter > ?",
                (number, knowledge.get(host, 0)),
            ):
                wanted.setdefault(n, set()).add((host, counter))
        for host, counter, entity in held:
            for (n,) in self._rows("select n from rows where id = ?", (entity,)):
                if n in wanted:
                    wanted[n].discard((host, counter))
        numbers = sorted(n for n, dots in wanted.items() if dots)
        if self.schema.leading:
            first = {
                n
                for leading in self.schema.leading
                for (n,) in self._rows("select n from rows where type = ?", (leading,))
            }
            numbers.sort(key=lambda n: (n not in first, n))
        return numbers

    def versions(self, numbers: Iterable[int]) -> list[Version]:
        found = []
        for n in numbers:
            ident, type_name, clock, stamps, document = self._rows(
                "select id, type, clock, stamps, serialized from rows where n = ?", (n,)
            )[0]
            found.append(Version(ident, type_name, clock.encode(), stamps.encode(), document.encode()))
        return found

    def close(self) -> None:
        self._connection.close()


def _owner(entity: Entity, described: EntityType | None) -> str | None:
    """The indexed owner: the field that the type names, the entity itself if it names none, '' if unknown."""
    if described is None:
        return ""
    return (_text(entity, described.owner) if described.owner else "") or entity.id


def _text(entity: Entity, field: str) -> str:
    value = entity.value(field)
    return value if isinstance(value, str) else ""


def _deleted_at(entity: Entity) -> str | None:
    return str(entity.value(DELETED_AT)["at"]) if is_deleted(entity) else None
