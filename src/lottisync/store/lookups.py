"""Questions that the columns of the rows answer: ids, subtypes, times, the ends of links, and the dots of writes. No
entity is read for them, so they are cheap, and a row that cannot be read answers them too.

They are functions of a `Reader`, and not methods, because few programs ask them.
"""

from collections.abc import Sequence

from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical
from lottisync.store import tables
from lottisync.store.reader import Reader

_PLAIN = "replace(lower(id), '-', '')"
"""An id as it is compared with what a person typed."""


def _text(held: bytes | None) -> str:
    """Text of a column. What is not UTF-8 any more is shown with signs in its place, and leads to no row."""
    return bytes(held or b"").decode(errors="replace")


def ids(reader: Reader) -> list[str]:
    """The ids of all entities, tombstones included, in order."""
    return [_text(ident) for (ident,) in reader.local("select cast(id as blob) from rows order by id")]


def deleted_ids(reader: Reader, type_name: str) -> list[str]:
    """The ids of the deleted entities of a type that are not forgotten yet, in order."""
    rows = reader.local(
        "select cast(id as blob) from rows where type = ? and deleted_at is not null order by id", (type_name,)
    )
    return [_text(ident) for (ident,) in rows]


def last_changed(reader: Reader, limit: int) -> list[str]:
    """The ids of the entities that changed last here, the newest first."""
    rows = reader.local("select cast(id as blob) from rows order by feed desc limit ?", (limit,))
    return [_text(ident) for (ident,) in rows]


def live_since(reader: Reader, feed: int) -> list[tuple[str, str]]:
    """The id and the document (JSON) of each live entity that changed after the position `feed` of the feed."""
    rows = reader.local(
        "select cast(id as blob), cast(serialized as blob) from rows where feed > ? and deleted_at is null", (feed,)
    )
    return [(_text(ident), _text(document)) for ident, document in rows]


def ids_beside(reader: Reader, entity_id: str) -> list[str]:
    """The ids next to this one in their order: the one before it and the one after it, as far as there are any. Links
    do not count."""
    entities, _ = tables.names(reader.schema)
    before = reader.local(
        f"select cast(id as blob) from {entities} where id < ? order by id desc limit 1", (entity_id,)
    )
    after = reader.local(f"select cast(id as blob) from {entities} where id > ? order by id limit 1", (entity_id,))
    return [_text(other) for (other,) in (*before, *after)]


def ids_with_prefix(reader: Reader, type_name: str, prefix: str, limit: int) -> list[str]:
    """Ids of a type that begin with `prefix`, letter by letter, in order; at most `limit`."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"select cast(id as blob) from {entities} where type = ? and id >= ? and id < ? order by id limit ?",
        (type_name, prefix, prefix + "\U0010ffff", limit),
    )
    return [_text(ident) for (ident,) in rows]


def subtype(reader: Reader, entity_id: str) -> str | None:
    """The subtype of an entity; None if it has none, or is not here."""
    entities, _ = tables.names(reader.schema)
    for (held,) in reader.local(f"select cast(subtype as blob) from {entities} where id = ?", (entity_id,)):
        return _text(held) if held is not None else None
    return None


def made_at(reader: Reader, chosen: str, bindings: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(when it was made, id) of the entities whose ids the query `chosen` gives, the oldest first."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"""select cast(created_at as blob), cast(id as blob) from {entities} where id in ({chosen})
            order by created_at, id""",
        tuple(bindings),
    )
    return [(_text(at), _text(ident)) for at, ident in rows]


def made_since(reader: Reader, type_name: str, since: str) -> list[tuple[str, str]]:
    """(id, subtype) of the live entities of a type that were made at `since` (ISO 8601) or later."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"""select cast(id as blob), cast(subtype as blob) from {entities}
            where type = ? and created_at >= ? and deleted_at is null""",
        (type_name, since),
    )
    return [(_text(ident), _text(held)) for ident, held in rows]


def subtypes(reader: Reader, type_name: str) -> set[str]:
    """The subtypes of the entities of a type."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"select cast(subtype as blob) from {entities} where type = ? and subtype is not null", (type_name,)
    )
    return {_text(held) for (held,) in rows}


def updated_at(reader: Reader, entity_id: str) -> str:
    """When an entity was written last (ISO 8601); '' if it is not here."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(f"select cast(updated_at as blob) from {entities} where id = ?", (entity_id,))
    return next((_text(at) for (at,) in rows), "")


def ids_like(reader: Reader, abbreviated: str, limit: int, type_name: str | None = None) -> list[str]:
    """Ids that begin or end with what a person typed, at most `limit`; with a type only its live ones. They fit
    with or without their dashes, in capitals or not."""
    typed = "".join(abbreviated.split()).replace("-", "").lower()
    if not typed:
        return []
    of_type = "" if type_name is None else "type = ?3 and deleted_at is null and "
    return [
        _text(ident)
        for (ident,) in reader.local(
            f"""select cast(id as blob) from rows
                where {of_type}(instr({_PLAIN}, ?1) = 1 or substr({_PLAIN}, -length(?1)) = ?1)
                order by id limit ?2""",
            (typed, limit) if type_name is None else (typed, limit, type_name),
        )
    ]


def ends_from(reader: Reader, from_id: str, type_name: str) -> list[str]:
    """What an entity is linked to: the other ends of its live links, oldest first."""
    return _ends(reader, "to_id", "from_id", from_id, type_name)


def ends_to(reader: Reader, to_id: str, type_name: str) -> list[str]:
    """What is linked to an entity."""
    return _ends(reader, "from_id", "to_id", to_id, type_name)


def _ends(reader: Reader, wanted: str, given: str, ident: str, type_name: str) -> list[str]:
    _, links = tables.names(reader.schema)
    rows = reader.local(
        f"""select cast({wanted} as blob) from {links} where {given} = ? and type = ? and deleted_at is null
            order by created_at, id""",
        (ident, type_name),
    )
    return [_text(end) for (end,) in rows]


def held_beyond(reader: Reader) -> list[tuple[Host, int, str]]:
    """The dots held beyond the knowledge, each with its entity: what cut-off rounds left here."""
    _, others = reader.hosts()
    return held_of(reader, {host: others.known.get(host, 0) for host in others.beyond})


def held_of(reader: Reader, known: Clock) -> list[tuple[Host, int, str]]:
    """The dots beyond what is known of these hosts, but for those of a row that is gone or whose id is damaged: what
    that row held is lacking, and is sent again. `cross join` makes SQLite look at the hosts first, so that only what
    lies beyond is read of the index."""
    if not known:
        return []
    entities, links = tables.names(reader.schema)
    listed = canonical.encode_normal(list(known.items())).decode()
    return [
        (Host(host), counter, _text(entity))
        for host, counter, entity in reader.local(
            f"""select h.host, c.counter, cast(coalesce((select id from {entities} where n = c.n),
                    (select id from {links} where n = c.n), (select id from quarantine where n = c.n)) as blob)
               from json_each(?) w cross join hosts h on h.host = w.value ->> 0
               cross join components c on c.host = h.n and c.counter > w.value ->> 1 order by 1, 2, 3""",
            (listed,),
        )
        if entity is not None and entity.isascii()
    ]


def forgotten(reader: Reader) -> Knowledge:
    """F: one clock that covers everything that was purged here, or at a peer whose round was completed."""
    return {
        Host(host): counter
        for host, counter in reader.local(
            "select h.host, f.counter from forgotten f join hosts h on h.n = f.host order by h.host"
        )
    }
