"""What a store has to know of its types (docs/specs/05-store.md, section 2).

The replicated store is one piece of code with another registry of types for each domain. A store
needs no schema to join, keep and pass on; the registry only says which columns are filled, so that
queries are indexed. A type that is not in the registry is stored all the same.
"""

import re
from collections.abc import Mapping

import msgspec

from lottisync.problem import Problem

_STORE_NAME = re.compile(r"\A[a-z][a-z0-9-]{0,31}\Z")


class EntityType(msgspec.Struct, frozen=True):
    """`view` is the struct as which an entity of the type is read (None: by its own code, as signed records are),
    `owner` and `subtype` name the document fields behind the two indexed columns. Each group of fields in `together` is
    written together, so that it has one stamp and one winner, and is settled together."""

    name: str
    view: type[msgspec.Struct] | None = None
    owner: str | None = None
    subtype: str | None = None
    link: bool = False
    together: tuple[tuple[str, ...], ...] = ()

    def written_with(self, field: str) -> tuple[str, ...]:
        """The group that a field belongs to, itself included."""
        return next((group for group in self.together if field in group), (field,))


class StoreSchema(msgspec.Struct, frozen=True):
    """`name` is the store's name on the wire and its file's (`journal` -> `journal.sqlite`): see `is_store_name`;
    `owner_column` is what the indexed owner is called in its table, `indexes` what that is looked up by. Entities
    of the `leading` types are sent before all others of a round: whoever reads the rest needs them."""

    name: str
    owner_column: str
    types: Mapping[str, EntityType]
    indexes: Mapping[str, str]
    leading: frozenset[str] = frozenset()


def schema(
    name: str,
    owner_column: str,
    types: list[EntityType],
    *,
    indexes: Mapping[str, str] | None = None,
    leading: frozenset[str] = frozenset(),
) -> StoreSchema:
    """Raises `Problem` for a name that no store can have (STORE-40). `indexes` maps the end of an index's name to its
    columns; without it there are two, for what an entity owns and for what is of a type. More would cost each entity
    another copy of its owner's id and of its time."""
    if not is_store_name(name):
        raise Problem(
            "bad-store-name",
            f"a store cannot be called {name[:40]!r}: a name has 1 to 32 of a-z, 0-9 and -, and begins with a letter",
        )
    if indexes is None:
        owned = f"{owner_column.removesuffix('_id')}_type"
        indexes = {owned: f"{owner_column}, type", "type": "type, created_at"}
    return StoreSchema(name, owner_column, {t.name: t for t in types}, indexes, leading)


def is_store_name(name: str) -> bool:
    """Whether a store may be called so. It is a word of the protocol, part of a file's name and of tables' names, and
    stands in signed records."""
    return _STORE_NAME.match(name) is not None


def derived_id(*parts: str) -> str:
    """An id that every device computes alike from what makes the entity unique (ENT-5): 32 hexadecimal
    digits of SHA-256 over the parts, each preceded by its length."""
    import hashlib  # here: it loads OpenSSL, and a command that only reads hashes nothing

    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(4, "big") + raw)
    return digest.hexdigest()[:32]


def link_id(type_name: str, from_id: str, to_id: str) -> str:
    """The id of a link: two devices that link the same two things make one link (ENT-6)."""
    return derived_id("link", type_name, from_id, to_id)
