"""What a store's file says of its own schema (docs/specs/05-store.md, section 18).

A program declares the schema of its stores in code. The file keeps a description of it: name, owner's column, types,
indexes, leading types, and the store's position in the order of delivery. So every other program (the daemon, `check`,
`history`) can open the file and do its part without a word of what the entities mean. The views of a type and the SQL
of local tables stay the program's own.

A description has a version. A program with a higher one brings the file up to it; a program with a lower one goes by
what the file says.
"""

import contextlib
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lottisync.entities import version
from lottisync.entities.schema import EntityType, StoreSchema
from lottisync.entities.version import BadVersion, Damaged
from lottisync.problem import Problem
from lottisync.store import tables
from lottisync.store.columns import DerivedColumns, columns_between, columns_of, own_column_names
from lottisync.store.known_hosts import Latest
from lottisync.store.reader import Reader

_LOCAL = re.compile(r"\bcreate\s+(?:unique\s+)?(?:table|view|index|trigger)\s+if\s+not\s+exists\s+(\w+)", re.IGNORECASE)
_VIEW = re.compile(r"^create view if not exists (\w+)( as .+?);$", re.MULTILINE | re.DOTALL)
_STRIDE = 500
"""Rows whose columns are computed at a time."""


class _Type(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    owner: str | None = None
    subtype: str | None = None
    link: bool = False
    together: tuple[tuple[str, ...], ...] = ()


class _Description(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    version: int
    owner_column: str
    types: list[_Type]
    indexes: dict[str, str]
    leading: list[str]


def written(schema: StoreSchema) -> bytes:
    """The description of a schema: JSON, the same bytes for the same schema."""
    types = [_Type(each.name, each.owner, each.subtype, each.link, each.together) for each in schema.types.values()]
    description = _Description(
        schema.name,
        schema.version,
        schema.owner_column,
        sorted(types, key=lambda each: each.name),
        dict(schema.indexes),
        sorted(schema.leading),
    )
    return msgspec.json.encode(description, order="deterministic")


def read(raw: bytes) -> StoreSchema:
    """The schema that a description is of, without views. Raises `ValueError` if it is damaged."""
    try:
        found = msgspec.json.decode(raw, type=_Description)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    types = {
        each.name: EntityType(each.name, owner=each.owner, subtype=each.subtype, link=each.link, together=each.together)
        for each in found.types
    }
    return StoreSchema(
        found.name, types, found.owner_column, found.indexes, frozenset(found.leading), version=found.version
    )


def describe(connection: apsw.Connection, schema: StoreSchema, position: int) -> None:
    """Write the description of a schema into a file that has its tables."""
    connection.execute(
        "insert or replace into schema values (1, ?, ?)", (position, written(schema).decode())
    ).fetchall()


def settled(
    connection: apsw.Connection, file: Path, given: StoreSchema | None, position: int | None
) -> tuple[StoreSchema, int]:
    """The schema to open a file with, and its position in the order of delivery. The file is brought up to what the
    program has `given`, if that is newer, or if the file's own description is missing or damaged.

    Raises `Problem` if the file holds another store, if nothing says what it holds, if it is another program's store of
    this name, and if the program gives another schema under the version that the file has."""
    rows: list[Any] = connection.execute("select position, description from schema").fetchall()
    if (
        given is not None
        and len(rows) == 1
        and rows[0][1] == written(given).decode()
        and position in (None, rows[0][0])
    ):
        return given, int(rows[0][0])  # nearly always
    if _needs_nothing(connection, file, given, position):
        return _effective(connection, file, given)
    assert given is not None
    connection.execute("begin immediate").fetchall()
    try:
        if not _needs_nothing(connection, file, given, position):  # nor has another program done it meanwhile
            _bring_up(connection, file, given, position)
        connection.execute("commit").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback").fetchall()
        raise
    return _effective(connection, file, given)


class InForce:
    """The schema that an open store goes by. Another program may bring the file up to a newer one meanwhile: by the old
    one a row would get wrong columns, or none (STORE-360)."""

    def __init__(self, schema: StoreSchema) -> None:
        self._held = (b"", schema)

    @property
    def schema(self) -> StoreSchema:
        """As it was in the last transaction."""
        return self._held[1]

    def at(self, connection: apsw.Connection) -> StoreSchema:
        """The schema in the transaction that has just begun, of which this is the first read. A description that is
        damaged meanwhile changes nothing: the tables are what they were."""
        text, schema = self._held  # one look: several threads may be here
        if (found := _text(connection)) and found != text:
            schema = _reread(connection, schema)
            self._held = (found, schema)
        return schema


def _text(connection: apsw.Connection) -> bytes:
    """The description as it is in the file now; nothing if there is none, or if its page cannot be read."""
    with contextlib.suppress(apsw.CorruptError):
        rows: list[Any] = connection.execute("select cast(description as blob) from schema").fetchall()
        return bytes(rows[0][0]) if rows else b""
    return b""


def _reread(connection: apsw.Connection, held: StoreSchema) -> StoreSchema:
    described = _described(connection)
    return held if described is None or written(described[0]) == written(held) else _with_own(described[0], held)


def add_local_tables(connection: apsw.Connection, definitions: str) -> None:
    """Make what the file lacks of these local tables, and views that have changed: they are not described, so no
    version says that a program has new ones. A disk that takes nothing is left as it is, for reading goes on without
    them."""
    wanted = local_names(definitions)
    if not wanted:
        return
    held = {name: str(sql) for name, sql in connection.execute("select name, sql from sqlite_schema")}
    old = [name for name, body in local_views(definitions) if name in held and not held[name].endswith(body)]
    if old or not wanted <= held.keys():
        with contextlib.suppress(apsw.FullError, apsw.ReadOnlyError, apsw.IOError), connection:
            for name in old:
                connection.execute(f"drop view {name}").fetchall()
            connection.execute(definitions).fetchall()


@lru_cache
def local_views(definitions: str) -> tuple[tuple[str, str], ...]:
    """The names of the views in the SQL of local tables, each with what it selects."""
    return tuple(_VIEW.findall(definitions))


@lru_cache
def local_names(definitions: str) -> frozenset[str]:
    """The tables, views, indexes and triggers that the SQL of local tables makes."""
    return frozenset(_LOCAL.findall(definitions))


def _described(connection: apsw.Connection) -> tuple[StoreSchema, int] | None:
    """What the file says of itself; None if it says nothing that can be true."""
    rows: list[Any] = connection.execute("select position, cast(description as blob) from schema").fetchall()
    try:
        found = read(bytes(rows[0][1]))
    except (IndexError, ValueError):
        return None
    return (found, int(rows[0][0])) if _owner_column(connection, found) == found.owner_column else None


def _needs_nothing(connection: apsw.Connection, file: Path, given: StoreSchema | None, position: int | None) -> bool:
    described = _described(connection)
    if given is None:
        return True
    if described is None:
        return False
    found, held = described
    if found.name != given.name:
        raise Problem(
            "wrong-store",
            "{file} holds the store {name!r}, not {name2!r}",
            file=file,
            name=found.name,
            name2=given.name,
        )
    if found.types and given.types and not found.types.keys() & given.types.keys():
        raise Problem(
            "name-taken",
            "{file} belongs to another program: that one's {name!r} holds {there}, and this program's holds {here}. "
            "Give one of the two stores another name",
            file=file,
            name=given.name,
            there=_some(found.types),
            here=_some(given.types),
        )
    if found.version == given.version and written(found) != written(given):
        raise Problem(
            "changed-schema",
            "{file} was made with another schema of version {version}. Raise the version of the schema",
            file=file,
            version=given.version,
        )
    return found.version >= given.version and position in (None, held)


def _some(types: Collection[str]) -> str:
    first, rest = sorted(types)[:3], len(types) - 3
    return ", ".join(first) + (f" and {rest} more" if rest > 0 else "")


def _effective(connection: apsw.Connection, file: Path, given: StoreSchema | None) -> tuple[StoreSchema, int]:
    described = _described(connection)
    if described is None:
        raise Problem(
            "damaged",
            "{file} does not say what it holds, or the text is damaged. Open it with the program that made it",
            file=file,
        )
    found, position = described
    return (found if given is None else _with_own(found, given)), position


def _with_own(found: StoreSchema, given: StoreSchema) -> StoreSchema:
    """What a file says, with what it does not say and a program's own schema does: its views and its local tables."""
    views = {name: each.view for name, each in given.types.items()}
    types = {name: each.viewed_as(views[name]) if name in views else each for name, each in found.types.items()}
    return msgspec.structs.replace(found, types=types, local_tables=given.local_tables)


def _bring_up(connection: apsw.Connection, file: Path, given: StoreSchema, position: int | None) -> None:
    described = _described(connection)
    if described is None or described[0].version < given.version:
        _rename_owner(connection, file, given)
        _make_indexes(connection, given)
        if given.local_tables:
            connection.execute(given.local_tables).fetchall()
        _fill_columns(connection, given)
    schema = given if described is None or described[0].version < given.version else described[0]
    held = described[1] if described else 0
    describe(connection, schema, held if position is None else position)


def _owner_column(connection: apsw.Connection, schema: StoreSchema) -> str | None:
    """What the owner's column is called in the file; None if the file has no tables of that name."""
    rows: list[Any] = connection.execute(
        "select name from pragma_table_info(?) where cid = 2", (tables.names(schema)[0],)
    ).fetchall()
    return str(rows[0][0]) if rows else None


def _rename_owner(connection: apsw.Connection, file: Path, given: StoreSchema) -> None:
    held = _owner_column(connection, given)
    if held is None:
        raise Problem("wrong-store", "{file} does not hold a store {name!r}", file=file, name=given.name)
    if held != given.owner_column:
        entities, _ = tables.names(given)
        connection.execute(f'alter table {entities} rename column "{held}" to {given.owner_column}').fetchall()


def _make_indexes(connection: apsw.Connection, given: StoreSchema) -> None:
    """Make the indexes of the schema, and no others; the local tables bring theirs."""
    entities, _ = tables.names(given)
    lasting = tuple(f"idx_{entities}_{ending}" for ending in tables.LASTING_INDEXES)
    held: list[Any] = connection.execute(
        "select name from sqlite_schema where type = 'index' and tbl_name = ? and sql is not null", (entities,)
    ).fetchall()
    for (name,) in held:
        if name not in lasting:
            connection.execute(f'drop index "{name}"').fetchall()
    connection.execute(tables.indexes(given)).fetchall()


def _fill_columns(connection: apsw.Connection, given: StoreSchema) -> None:
    """Compute once more what every row shows of its document. A row that cannot be read, or whose columns cannot be
    computed, stays as it is: `check` names it."""
    reader, last = Reader(given, connection, Latest()), -1
    select = f"select n, {tables.RAW_COLUMNS} from rows where n > ? order by n limit {_STRIDE}"
    while rows := reader.local(select, (last,)):
        held, last = columns_between(reader, last, rows[-1][0]), rows[-1][0]
        for n, *parts in rows:
            try:
                expected = columns_of(given, version.open_foreign(tables.raw_version(*parts)))
            except (BadVersion, Damaged):
                continue
            if expected[:4] != held[n][:4]:
                _show(connection, given, n, held[n].table, expected)


def _show(connection: apsw.Connection, schema: StoreSchema, n: int, table: str, columns: DerivedColumns) -> None:
    """Write the columns of row `n`, which is in `table`; move it, if it belongs in the other one."""
    first, second = own_column_names(schema, columns.table)
    if table == columns.table:
        sql = f"update {table} set {first} = ?, {second} = ?, created_at = ? where n = ?"
        connection.execute(sql, (*columns[1:4], n)).fetchall()
        return
    kept = ", ".join(tables.KEPT_COLUMNS)
    connection.execute(
        f"""insert into {columns.table}({first}, {second}, created_at, {kept})
            select ?, ?, ?, {kept} from {table} where n = ?""",
        (*columns[1:4], n),
    ).fetchall()
    connection.execute(f"delete from {table} where n = ?", (n,)).fetchall()
