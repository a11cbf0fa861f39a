"""Where a version lies: its table, what its type fills in that (docs/specs/05-store.md, section 2), and the statements
that write it.

A row is a version with a few columns pulled out for queries. Of these, four say what every version has; the first two,
and when the entity was made, are filled from the document, as its type says: a link's ends, an entity's owner and
subtype.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from lottisync.entities.entity import Entity, Registers
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.schema import EntityType, StoreSchema, link_id
from lottisync.entities.version import BadVersion
from lottisync.store import tables
from lottisync.store.instant import iso

CREATED_AT = "createdAt"


class Columns(NamedTuple):
    """Of one type in one store."""

    type_name: str
    described: EntityType | None
    """None for a type that this device has never heard of."""
    sources: frozenset[str]
    """The paths that the columns are filled from."""
    add: str
    """Inserts the row of a single write: without a deletion or a conflict."""
    insert: str
    """Inserts any row."""
    rewrite: str
    """Rewrites the row with a number; takes what `insert` takes without the last two, for id and type never change."""
    refresh: str
    """The same but for the columns of the document: few writes change them, and they are in most indexes."""

    def own(self, entity_id: str, value: Callable[[str], Any]) -> tuple[str | None, str | None]:
        """The two columns that are a type's own, filled by `value` of a path. An entity whose type names no owner owns
        itself; one of an unknown type belongs to nobody. Raises `BadVersion` for a link under another's id."""
        described = self.described
        if described is None:
            return "", None
        if described.link:
            from_id, to_id = _text(value(FROM_ID)), _text(value(TO_ID))
            if entity_id != link_id(self.type_name, from_id, to_id):
                raise BadVersion(f"{entity_id} is not the id of a {self.type_name} from {from_id!r} to {to_id!r}")
            return from_id, to_id
        owner = (_text(value(described.owner)) if described.owner else "") or entity_id
        return owner, (_text(value(described.subtype)) or None) if described.subtype else None

    def of(self, entity: Entity) -> tuple[str | None, str | None, str]:
        """All three; an entity without a text that says when it was made was made at its earliest write."""
        registers = entity.registers
        value = registers.decoded.get if isinstance(registers, Registers) else entity.value
        created = value(CREATED_AT)
        if not isinstance(created, str):
            created = iso(min(stamp.millis for stamp in entity.winning_stamps()))
        return *self.own(entity.id, value), created

    def are_kept(self, after: Entity, changes: set[str]) -> bool:
        """Whether they are still what they were, where `changes` are the paths that changed."""
        created = after.winner(CREATED_AT)
        return created is not None and created.value.startswith(b'"') and self.sources.isdisjoint(changes)


@lru_cache(maxsize=16)
def _statements(table: str, first: str, second: str) -> tuple[str, str, str, str]:
    columns = (
        first, second, "created_at", "updated_at", "deleted_at", "serialized", "clock", "stamps", "hash",
        "clean_tombstone", "conflicted", "feed", "n", "id", "type",
    )  # fmt: skip
    given = [name for name in columns if name not in ("deleted_at", "clean_tombstone", "conflicted")]
    updates = [f"{name} = ?" for name in columns[:-3]]
    return (
        f"""insert into {table}({", ".join(given)}, clean_tombstone, conflicted)
            values ({"?, " * len(given)}0, 0)""",
        f"insert into {table}({', '.join(columns)}) values ({', '.join('?' * len(columns))})",
        f"update {table} set {', '.join(updates)} where n = ?",
        f"update {table} set {', '.join(updates[3:])} where n = ?",
    )


def columns_of(schema: StoreSchema, type_name: str) -> Columns:
    described = schema.types.get(type_name)
    entities, links = tables.names(schema)
    if described is not None and described.link:
        sources = frozenset((FROM_ID, TO_ID, CREATED_AT))
        return Columns(type_name, described, sources, *_statements(links, "from_id", "to_id"))
    own = (described.owner, described.subtype) if described is not None else ()
    sources = frozenset((CREATED_AT, *filter(None, own)))
    return Columns(type_name, described, sources, *_statements(entities, schema.owner_column, "subtype"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
