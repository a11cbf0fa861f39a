"""What a row shows of its document, pulled out so that queries find it (docs/specs/05-store.md, section 2).

The document is the truth and these columns follow from it. They are computed here alone: for each row that is
written, by `check`, which compares them, and by `repair`, which writes them again.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.entities.entity import DELETED_AT, Entity, is_deleted
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.schema import EntityType, StoreSchema, link_id
from lottisync.entities.version import BadVersion
from lottisync.store import tables
from lottisync.store.instant import iso
from lottisync.store.reader import Reader

CREATED_AT = "createdAt"


class DerivedColumns(NamedTuple):
    """The table that a row belongs in, and what is in its columns; the first two are a link's ends, or an entity's
    owner and subtype."""

    table: str
    first: str | None
    second: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None


def columns_of(schema: StoreSchema, entity: Entity) -> DerivedColumns:
    """Raises `BadVersion` for a link under another's id."""
    described = schema.types.get(entity.type)
    entities, links = tables.names(schema)
    table = links if described is not None and described.link else entities
    return DerivedColumns(table, *lasting_columns(described, entity), updated_at(entity), deleted_at(entity))


def fits(schema: StoreSchema, entity: Entity) -> bool:
    """Whether a store of this schema can hold it: it cannot hold a link under another's id."""
    try:
        columns_of(schema, entity)
    except BadVersion:
        return False
    return True


def columns_between(reader: Reader, after: int, last: int) -> dict[int, DerivedColumns]:
    """The columns of the rows with numbers behind `after` and up to `last`."""
    found = {}
    for table in tables.names(reader.schema):
        columns = (*own_column_names(reader.schema, table), "created_at", "updated_at", "deleted_at")
        read = ", ".join(f"cast({column} as blob)" for column in columns)
        for n, *stored in reader.local(f"select n, {read} from {table} where n > ? and n <= ?", (after, last)):
            texts: list[Any] = [None if each is None else each.decode(errors="replace") for each in stored]
            found[n] = DerivedColumns(table, *texts)
    return found


def own_column_names(schema: StoreSchema, table: str) -> tuple[str, str]:
    """What the first two columns of a table are called."""
    entities, _ = tables.names(schema)
    return (schema.owner_column, "subtype") if table == entities else ("from_id", "to_id")


def lasting_columns(described: EntityType | None, entity: Entity) -> tuple[str | None, str | None, str]:
    """The columns that few writes change: a type's own two, and when the entity was made."""
    value = entity.registers.decoded.get
    created = value(CREATED_AT)
    return (
        *own_columns(described, entity.id, entity.type, value),
        created if isinstance(created, str) else iso(entity.registers.earliest()),
    )


def lasting_columns_are_kept(
    described: EntityType | None,
    before: Mapping[str, msgspec.Raw],
    after: Mapping[str, msgspec.Raw],
    begins_alike: Callable[[], bool],
) -> bool:
    """Whether those columns are unchanged, for an entity with these values before and after a write. Without a text
    that says when it was made, that is when the first of its winning writes was made: `begins_alike` says whether this
    is at the same time."""
    sources = {CREATED_AT}
    if described is not None:
        sources.update(filter(None, (FROM_ID, TO_ID) if described.link else (described.owner, described.subtype)))
    if any(before.get(each) != after.get(each) for each in sources):
        return False
    return bytes(after.get(CREATED_AT, b"")).startswith(b'"') or begins_alike()


def own_columns(
    described: EntityType | None, entity_id: str, type_name: str, value: Callable[[str], Any]
) -> tuple[str | None, str | None]:
    """The two columns that are a type's own: a link's ends, an entity's owner and subtype. An entity whose
    type names no owner owns itself; one of an unknown type has no owner."""
    if described is None:
        return "", None
    if described.link:
        from_id, to_id = _text(value(FROM_ID)), _text(value(TO_ID))
        if entity_id != link_id(type_name, from_id, to_id):
            raise BadVersion(
                "{entity} is not the id of a {type} from {start!r} to {end!r}",
                entity=entity_id,
                type=type_name,
                start=from_id,
                end=to_id,
            )
        return from_id, to_id
    owner = (_text(value(described.owner)) if described.owner else "") or entity_id
    return owner, (_text(value(described.subtype)) or None) if described.subtype else None


def updated_at(entity: Entity) -> str:
    registers = entity.registers
    return iso(max(stamp.millis for stamp in (registers.base, *registers.stamps.values())))


def deleted_at(entity: Entity) -> str | None:
    return str(entity.value(DELETED_AT)["at"]) if is_deleted(entity) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
