"""Reading a replicated store, within one transaction: everything read in it belongs to one moment."""

from collections.abc import Container
from contextlib import suppress
from typing import Any, NamedTuple

import apsw
import msgspec

from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, version
from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import Entity
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Damaged, Version
from lottisync.entities.view import Kind, T, view_stored, views_stored
from lottisync.problem import Fault, Invalid
from lottisync.store import known_hosts, quarantine, tables
from lottisync.store.known_hosts import KnownHosts, Latest, OwnHost
from lottisync.store.quarantine import QuarantinedVersion

_ONE_ROW = f"select n, {tables.BYTES_COLUMNS}, hash, clean_tombstone from rows where id = ?"
_OWN = f"""select s.host, s.counter, {known_hosts.OWN_VALUE}, s.digest, s.moment, s.marks,
        (select count(*) from forks), exists (select 1 from forgotten)
    from state s left join hosts h on h.host = s.host"""
_DOCUMENT = "cast(id as blob), cast(type as blob), cast(serialized as blob), deleted_at is not null"
"""The fields of a `Document`."""


class Row(NamedTuple):
    """A version as it lies in its table; `n` is the row's number in this file."""

    n: int
    version: Version
    hash: bytes
    clean_tombstone: bool

    @property
    def is_sound(self) -> bool:
        """Whether the row's bytes have the hash that was stored with them."""
        return self.version.hash() == self.hash

    def sound(self) -> Entity:
        """The entity, to be joined or written to. Raises `Damaged` if the row's bytes do not have the hash that was
        stored with them (MEND-24): after a join, nobody could see what the disk has changed."""
        if not self.is_sound:
            raise Damaged(self.version.id, Invalid("its content does not have the hash that was stored with it"))
        return version.open_stored(self.version)


class Document(msgspec.Struct, frozen=True):
    """What an entity shows now: the flat document of its winning values (canonical JSON), without the writes behind
    them. Reading a document that the disk has damaged raises `Damaged`."""

    id: str
    type: str
    stored: bytes
    deleted: bool

    def document(self) -> dict[str, Any]:
        try:
            fields: dict[str, Any] = canonical.decode(self.stored)
        except UNREADABLE as error:
            raise Damaged(self.id, error) from None
        return fields

    def view(self, kind: Kind[T]) -> T:
        """As the struct of its type."""
        try:
            return view_stored(self.id, self.stored, kind)
        except UNREADABLE as error:
            raise Damaged(self.id, error) from None


class Change(NamedTuple):
    """One entry of the change feed: the entity changed, here or on another device. `feed` is its place in the
    feed."""

    feed: int
    id: str
    type: str
    deleted: bool


class ChangeToken(NamedTuple):
    """A change token of a store: it differs after every change of the content, by any program."""

    host: Host
    counter: int
    digest: bytes
    marks: bytes
    """What is known of all other hosts (`lottisync.store.known_hosts`)."""
    nodes: int
    """How many fork nodes are known."""


class FileMoment(NamedTuple):
    """What a file held when one connection looked: two moments are equal only if nothing was written to the file
    between them. `version` changes with what other connections and programs write, `changes` with the statements of
    this connection, and `token` with a copy that was put back through this connection, which SQLite counts as
    neither."""

    version: int
    changes: int
    token: ChangeToken


class Overwritten(NamedTuple):
    """A write that another one replaced: what it was, and the dot that came after it ('' and 0 if unknown)."""

    path: str
    precedence: int
    millis: int
    ticks: int
    host: Host
    counter: int
    value: bytes
    by_host: Host
    by_counter: int


class Reader:
    """All that can be asked of one store at one moment, and nothing else. The methods are many, since the questions
    are; they share the transaction and no other state. `Store.reading` gives one."""

    def __init__(self, schema: StoreSchema, connection: apsw.Connection, hosts: Latest) -> None:
        self.schema = schema
        self._connection = connection
        self._latest = hosts
        self._entities, self._links = tables.names(schema)

    def _execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, bindings).fetchall()

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._execute(sql, bindings)

    # -- the store as a whole

    @property
    def host(self) -> Host:
        return Host(self._rows("select host from state")[0][0])

    @property
    def counter(self) -> int:
        return int(self._rows("select counter from state")[0][0])

    def digest(self) -> bytes:
        return bytes(self._rows("select digest from state")[0][0])

    def change_token(self) -> ChangeToken:
        return ChangeToken(
            *self._rows("select host, counter, digest, marks, (select count(*) from forks) from state")[0]
        )

    def file_moment(self) -> FileMoment:
        version = int(self._rows("pragma data_version")[0][0])
        return FileMoment(version, self._connection.total_changes(), self.change_token())

    def hosts(self) -> tuple[OwnHost, KnownHosts]:
        """What is known of the own host, and of all others."""
        ((host, counter, value, digest, moment, marks, forks, forgets),) = self._rows(_OWN)
        found = known_hosts.read(self._connection, self._latest.hosts, Host(host), moment, marks)
        self._latest.hosts = found
        own = OwnHost(Host(host), counter, bytes(value or b""), bytes(digest), bytes(marks), forks, bool(forgets))
        return own, found

    def host_faults(self) -> list[Fault]:
        """What is wrong with the numbers that are kept of the hosts."""
        ((host, marks),) = self._rows("select host, marks from state")
        return known_hosts.faults(self._connection, Host(host), marks)

    def knowledge(self) -> Knowledge:
        own, others = self.hosts()
        return others.knowledge(own.counter)

    def count(self) -> int:
        """How many entities there are, tombstones included."""
        return int(self._rows("select count(*) from rows")[0][0])

    def quarantined(self) -> list[QuarantinedVersion]:
        """What came from peers and cannot be taken, oldest first."""
        self._rows("select 1")
        return quarantine.read(self._connection)

    def count_quarantined(self) -> int:
        return int(self._rows("select count(*) from quarantine")[0][0])

    # -- one entity

    def _row(self, entity_id: str) -> Row | None:
        try:
            rows: list[Any] = self._connection.execute(_ONE_ROW, (entity_id,)).fetchall()
        except UnicodeDecodeError as error:  # its type: the other parts are read as bytes
            raise Damaged(entity_id, error) from None
        if not rows:
            return None
        n, *parts, stored_hash, clean = rows[0]
        return Row(n, Version(*parts), stored_hash, bool(clean))

    def version(self, entity_id: str) -> Version | None:
        row = self._row(entity_id)
        return row.version if row else None

    def entity(self, entity_id: str) -> Entity | None:
        """The entity, be it deleted or not; None if there never was one here."""
        row = self._row(entity_id)
        return version.open_stored(row.version) if row else None

    def document(self, entity_id: str) -> Document | None:
        """What the entity shows, be it deleted or not: cheaper than `entity`, and enough for reading it."""
        for table in (self._entities, self._links):
            rows = self._rows(f"select {_DOCUMENT} from {table} where id = ?", (entity_id,))
            if rows:
                return _document(*rows[0])
        return None

    def overwritten(self, entity_id: str) -> list[Overwritten]:
        """The entity's writes that were replaced here, oldest first, as far back as they are kept."""
        return [
            Overwritten(p, precedence, millis, ticks, Host(host), counter, value, Host(by_host), by_counter)
            for p, precedence, millis, ticks, host, counter, value, by_host, by_counter in self._rows(
                """select path, precedence, millis, ticks, host, counter, cast(value as blob), by_host, by_counter
                   from history where entity = ? order by millis, ticks, host, counter""",
                (entity_id,),
            )
        ]

    # -- many

    def _query(self, table: str, where: str, bindings: tuple[Any, ...], *, deleted: bool = False) -> list[Entity]:
        """The entities of the rows that can be read. The scrub and `check` name the others (STORE-70)."""
        live = "" if deleted else " and deleted_at is null"
        rows = self._rows(
            f"select {tables.RAW_COLUMNS} from {table} where {where}{live} order by created_at, id", bindings
        )
        return [entity for row in rows if (entity := opened(*row)) is not None]

    def by_type(self, type_name: str, *, owner: str | None = None, subtype: str | None = None) -> list[Entity]:
        """Live entities of a type, oldest first, optionally of one owner and one subtype. Rows that cannot be read are
        left out."""
        where, bindings = "type = ?", [type_name]
        if owner is not None:
            where, bindings = where + f" and {self.schema.owner_column} = ?", [*bindings, owner]
        if subtype is not None:
            where, bindings = where + " and subtype = ?", [*bindings, subtype]
        return self._query(self._entities, where, tuple(bindings))

    def owned_by(self, owner: str, *, deleted: bool = False) -> list[Entity]:
        """All live entities of an owner (a book's recipes, a folder's notes), with
        `deleted` also those that are not live any more."""
        return self._query(self._entities, f"{self.schema.owner_column} = ?", (owner,), deleted=deleted)

    def documents(
        self,
        type_name: str | None = None,
        *,
        owner: str | None = None,
        subtype: str | None = None,
        or_unset: Container[str] = (),
    ) -> list[Document]:
        """What live entities show, oldest first: those of a type, an owner or a subtype, or of any two or all of these.
        With `owner` or `subtype` in `or_unset`, those that have none are among them; one without an owner owns itself.
        Rows whose id or type is not text any more are left out. The scrub and `check` name them (STORE-70)."""
        return self.documents_beside_damage(type_name, owner=owner, subtype=subtype, or_unset=or_unset)[0]

    def documents_beside_damage(
        self,
        type_name: str | None = None,
        *,
        owner: str | None = None,
        subtype: str | None = None,
        or_unset: Container[str] = (),
    ) -> tuple[list[Document], list[Damaged]]:
        """`documents`, and which rows were left out."""
        owned, kind = f"{self.schema.owner_column} = ?", "subtype = ?"
        if "owner" in or_unset:
            owned = f"({owned} or {self.schema.owner_column} = id)"
        if "subtype" in or_unset:
            kind = f"({kind} or subtype is null)"
        wanted = {"type = ?": type_name, owned: owner, kind: subtype}
        where = " and ".join(condition for condition, value in wanted.items() if value is not None)
        rows = self._rows(
            f"""select {_DOCUMENT} from {self._entities}
                where {where} and deleted_at is null order by created_at, id""",
            tuple(value for value in wanted.values() if value is not None),
        )
        found, damaged = [], []
        for row in rows:
            try:
                found.append(_document(*row))
            except Damaged as problem:
                damaged.append(problem)
        return found, damaged

    def views(self, type_name: str, kind: type[T]) -> tuple[list[T], list[Damaged]]:
        """What the live entities of a type show, as its structs, in no order; and what can't be read: one row that
        the disk has damaged hides no other."""
        rows = self._rows(
            f"""select cast(id as blob), cast(serialized as blob) from {self._entities}
                where type = ? and deleted_at is null""",
            (type_name,),
        )
        with suppress(*UNREADABLE):
            return views_stored([(str(ident, "utf-8"), stored) for ident, stored in rows], kind), []
        found, damaged = [], []
        for ident, stored in rows:
            try:
                found.append(view_stored(str(ident, "utf-8"), stored, kind))
            except UNREADABLE as error:
                damaged.append(Damaged(ident.decode(errors="replace"), error))
        return found, damaged

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

    def conflicted(self) -> list[Entity]:
        """Every entity with siblings of different values, or with an edit that its deletion had not seen."""
        found = []
        for table in (self._entities, self._links):
            found += self._query(table, "conflicted", (), deleted=True)
        return found

    # -- what changed, and what is this store's own

    def changes(self, after: int, limit: int) -> list[Change]:
        """What changed here behind position `after` of the feed, in order. An entity that changed several times is
        given at the last of its positions."""
        found = []
        for table in (self._entities, self._links):
            found += self._rows(
                f"""select feed, cast(id as blob), cast(type as blob), deleted_at is not null from {table}
                    where feed > ? order by feed limit ?""",
                (after, limit),
            )
        return [
            Change(feed, ident.decode(errors="replace"), kind.decode(errors="replace"), bool(gone))
            for feed, ident, kind, gone in sorted(found)[:limit]
        ]

    def cursor(self, consumer: str) -> int:
        """How far a consumer of the feed has come; 0 if it never said."""
        rows = self._rows("select feed from cursors where consumer = ?", (consumer,))
        return int(rows[0][0]) if rows else 0

    def local(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the local tables, which never replicate."""
        return self._rows(sql, bindings)


def opened(ident: bytes, kind: bytes, *parts: bytes) -> Entity | None:
    """The entity of `RAW_COLUMNS`; None if it cannot be read."""
    try:
        return version.open_stored(Version(str(ident, "utf-8"), str(kind, "utf-8"), *parts))
    except (Damaged, UnicodeDecodeError):
        return None


def _document(ident: bytes, kind: bytes, stored: bytes, deleted: int) -> Document:
    try:
        return Document(ident.decode(), kind.decode(), stored, bool(deleted))
    except UnicodeDecodeError as error:
        raise Damaged(ident.decode(errors="replace"), error) from None
