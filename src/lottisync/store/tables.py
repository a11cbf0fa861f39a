"""The tables of a replicated store (docs/specs/05-store.md, section 2).

Two tables hold the versions, under the names and columns that were required (S3-11, S3-14) with the replication
columns beside them; `rows` is both of them as one. `components` is the index over every component of
every clock. It is not unique: one write may show in the clocks of several entities after healing.

`chain` keeps a value for every write of every host, so that two branches that share a counter can be told
apart, `forks` where they part, `copies` what is to be shown to a person about it; `forgotten` and `acknowledged` are
what purging needs; `history` keeps what was overwritten, for people; `cursors` where consumers of the change
feed are. All these are this store's own and never replicate.
"""

from functools import lru_cache
from typing import NamedTuple

from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version
from lottisync.store import known_hosts, quarantine

FORGETTING = """create table forgotten (host integer primary key, counter integer not null) strict;
    create table acknowledged (device text not null, host integer not null, known integer not null,
        primary key (device, host)) strict, without rowid;"""
VERSION_COLUMNS = "id, type, clock, stamps, serialized"
PARTS = frozenset({"clock", "stamps", "serialized"})
"""The columns of a version that are canonical JSON."""
BYTES_COLUMNS = "id, type, cast(clock as blob), cast(stamps as blob), cast(serialized as blob)"
"""The columns with the parts as the bytes that a `Version` has."""
RAW_COLUMNS = f"cast(id as blob), cast(type as blob){BYTES_COLUMNS.removeprefix('id, type')}"
"""All of it as bytes, for `raw_version`: what a flipped bit leaves may be no text any more, and has to be looked at all
the same."""

COPIES = """create table chain (host integer not null, first integer not null, segment blob not null,
        primary key (host, first)) strict, without rowid;
    create table forks (node blob primary key) strict, without rowid;
    create table copies (host text not null, counter integer not null, at integer, noticed integer not null,
        shown integer, primary key (host, counter)) strict, without rowid;"""


SCHEMA = """create table schema (one integer primary key check (one = 1), position integer not null,
        description text not null) strict;"""
"""What the store says of itself (`lottisync.store.description`)."""

LASTING_INDEXES = ("feed", "conflicted", "tombstones")
"""The ends of the names of those that a table of entities has whatever its schema says."""
KEPT_COLUMNS = (
    "n", "id", "type", "updated_at", "deleted_at", "serialized", "schema_version", "clock", "stamps", "hash",
    "clean_tombstone", "conflicted", "feed",
)  # fmt: skip
"""The tables that do not depend on the schema."""


def raw_version(ident: bytes, kind: bytes, clock: bytes, stamps: bytes, document: bytes) -> Version:
    """A version of `RAW_COLUMNS`. Bytes of its id or type that are not UTF-8 are replaced. Such an id
    matches no entity."""
    return Version(ident.decode(errors="replace"), kind.decode(errors="replace"), clock, stamps, document)


def names(schema: StoreSchema) -> tuple[str, str]:
    """The table of entities and the table of links. SQL takes no hyphen, and no store's name has an underscore."""
    name = schema.name.replace("-", "_")
    return f"{name}_entities", f"{name}_links"


def tombstones(table: str) -> str:
    """The index that purging goes by; only what is gone is in it."""
    return f"create index idx_{table}_tombstones on {table}(updated_at) where clean_tombstone;"


def indexes(schema: StoreSchema) -> str:
    """What the entities are looked up by."""
    entities, _ = names(schema)
    return "\n    ".join(
        f"create index idx_{entities}_{ending} on {entities}({of});" for ending, of in schema.indexes.items()
    )


def definitions(schema: StoreSchema) -> str:
    (entities, links), owner = names(schema), schema.owner_column
    common = """created_at text not null, updated_at text not null, deleted_at text, serialized text not null,
        schema_version integer not null default 1, clock text not null, stamps text not null, hash blob not null,
        clean_tombstone integer not null, conflicted integer not null, feed integer not null"""
    columns = f"n, {VERSION_COLUMNS}, hash, clean_tombstone, conflicted, deleted_at, feed"
    return f"""
    {SCHEMA}
    create table {entities} (n integer primary key, id text not null unique, {owner} text not null,
        type text not null, subtype text, {common}) strict;
    {indexes(schema)}
    create index idx_{entities}_feed on {entities}(feed);
    create index idx_{entities}_conflicted on {entities}(id) where conflicted;
    {tombstones(entities)}
    create table {links} (n integer primary key, id text not null unique, from_id text not null,
        to_id text not null, type text not null, {common}, unique(from_id, to_id, type)) strict;
    create index idx_{links}_from on {links}(from_id, type);
    create index idx_{links}_to on {links}(to_id, type);
    create index idx_{links}_type on {links}(type);
    create index idx_{links}_feed on {links}(feed);
    create index idx_{links}_conflicted on {links}(id) where conflicted;
    {tombstones(links)}
    create view rows as select {columns} from {entities} union all select {columns} from {links};
    create table hosts (n integer primary key, host text not null unique, known integer not null default 0,
        parent text not null default '', {known_hosts.COLUMNS}) strict;
    {known_hosts.INDEX}
    create table components (host integer not null, counter integer not null, n integer not null,
        primary key (host, counter, n)) strict, without rowid;
    {COPIES}
    {FORGETTING}
    create table history (entity text not null, path text not null, precedence integer not null,
        millis integer not null, ticks integer not null, host text not null, counter integer not null,
        value text not null, by_host text not null, by_counter integer not null) strict;
    create index idx_history on history(entity, path);
    {quarantine.TABLE}
    create table cursors (consumer text primary key, feed integer not null) strict, without rowid;
    create table state (one integer primary key check (one = 1), host text not null, counter integer not null,
        millis integer not null, ticks integer not null, digest blob not null, n integer not null,
        feed integer not null, file_identity text not null default '', {known_hosts.STATE_COLUMNS}) strict;
    """


# -- writing a row


class Statements(NamedTuple):
    """The statements for one table of versions. All take their values in the order of `insert`: the two columns that
    are the table's own, when the entity was made, changed and deleted, the version, what follows from it, number, id
    and type."""

    add: str
    """Inserts the row of a single write: without a deletion, a tombstone's mark or a conflict."""
    insert: str
    """Inserts any row."""
    rewrite: str
    """Rewrites the row with a number; takes the same values without the last two, for id and type never change."""
    refresh: str
    """An update without the first three columns: few writes change them, and they are in most indexes."""


@lru_cache(maxsize=16)
def statements_for(table: str, own: tuple[str, str]) -> Statements:
    columns = (
        *own, "created_at", "updated_at", "deleted_at", "serialized", "clock", "stamps", "hash",
        "clean_tombstone", "conflicted", "feed", "n", "id", "type",
    )  # fmt: skip
    given = [name for name in columns if name not in ("deleted_at", "clean_tombstone", "conflicted")]
    updates = [f"{name} = {_placeholder(name)}" for name in columns[:-3]]
    return Statements(
        f"""insert into {table}({", ".join(given)}, clean_tombstone, conflicted)
            values ({", ".join(map(_placeholder, given))}, 0, 0)""",
        f"insert into {table}({', '.join(columns)}) values ({', '.join(map(_placeholder, columns))})",
        f"update {table} set {', '.join(updates)} where n = ?",
        f"update {table} set {', '.join(updates[3:])} where n = ?",
    )


def _placeholder(column: str) -> str:
    """The parts of a version are bytes here, and text for a person who looks into the file."""
    return "cast(? as text)" if column in PARTS else "?"
