"""Questions that the columns of the rows answer: ids, subtypes, times. No entity is read for them, so they are cheap,
and a row that cannot be read answers them too.

They are functions of a `Reader`, and not methods, because few programs ask them.
"""

from collections.abc import Sequence

from lottisync.store import tables
from lottisync.store.reader import Reader


def ids(reader: Reader) -> list[str]:
    """The ids of all entities, tombstones included, in order."""
    return [str(ident) for (ident,) in reader.local("select id from rows order by id")]


def deleted_ids(reader: Reader, type_name: str) -> list[str]:
    """The ids of the deleted entities of a type that are not forgotten yet, in order."""
    rows = reader.local("select id from rows where type = ? and deleted_at is not null order by id", (type_name,))
    return [str(ident) for (ident,) in rows]


def last_changed(reader: Reader, limit: int) -> list[str]:
    """The ids of the entities that changed last here, the newest first."""
    return [str(ident) for (ident,) in reader.local("select id from rows order by feed desc limit ?", (limit,))]


def live_since(reader: Reader, feed: int) -> list[tuple[str, str]]:
    """The id and the document (JSON) of each live entity that changed after the place `feed` of the feed."""
    return reader.local("select id, serialized from rows where feed > ? and deleted_at is null", (feed,))


def ids_beside(reader: Reader, entity_id: str) -> list[str]:
    """The ids next to this one in their order: the one before it and the one after it, as far as there are any. Links
    do not count."""
    entities, _ = tables.names(reader.schema)
    before = reader.local(
        f"select cast(id as blob) from {entities} where id < ? order by id desc limit 1", (entity_id,)
    )
    after = reader.local(f"select cast(id as blob) from {entities} where id > ? order by id limit 1", (entity_id,))
    return [other.decode(errors="replace") for (other,) in (*before, *after)]


def ids_with_prefix(reader: Reader, type_name: str, prefix: str, limit: int) -> list[str]:
    """Ids of a type that begin with `prefix`, letter by letter, in order; at most `limit`."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"select id from {entities} where type = ? and id >= ? and id < ? order by id limit ?",
        (type_name, prefix, prefix + "\U0010ffff", limit),
    )
    return [str(ident) for (ident,) in rows]


def subtype(reader: Reader, entity_id: str) -> str | None:
    """The subtype of an entity; None if it has none, or is not here."""
    entities, _ = tables.names(reader.schema)
    for (held,) in reader.local(f"select cast(subtype as blob) from {entities} where id = ?", (entity_id,)):
        return bytes(held).decode(errors="replace") if held is not None else None
    return None


def made_at(reader: Reader, chosen: str, bindings: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(when it was made, id) of the entities whose ids the query `chosen` gives, the oldest first."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"select created_at, id from {entities} where id in ({chosen}) order by created_at, id", tuple(bindings)
    )
    return [(str(at), str(ident)) for at, ident in rows]


def places(reader: Reader, chosen: str) -> dict[str, int]:
    """The places in the change feed of the entities whose ids the query `chosen` gives."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(f"select id, feed from {entities} where id in ({chosen})")
    return {str(ident): int(feed) for ident, feed in rows}


def subtypes(reader: Reader, type_name: str) -> set[str]:
    """The subtypes of the entities of a type."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(f"select subtype from {entities} where type = ? and subtype is not null", (type_name,))
    return {str(held) for (held,) in rows}


def updated_at(reader: Reader, entity_id: str) -> str:
    """When an entity was written last (ISO 8601); '' if it is not here."""
    entities, _ = tables.names(reader.schema)
    return next(
        (str(at) for (at,) in reader.local(f"select updated_at from {entities} where id = ?", (entity_id,))), ""
    )
