"""What a store has to know of its types (docs/specs/05-store.md, section 2).

All stores run the same code; each has its own registry of types. To join, keep and pass on an entity, a store needs no
registry. It only says which columns are filled, so that queries have an index. An entity of a type that is not in the
registry is stored like any other.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import msgspec.inspect

from lottisync.causality.digest import sha256


class EntityType(msgspec.Struct, frozen=True):
    """A type of entities, called `name` in its store.

    `view` is the struct as which an entity of the type is read. Its first field is `id`, and it has at least one other
    field; each of the others has a default, for an entity may lack any of them. None: other code reads the type, as it
    does signed records. `owner` and `subtype` name the two fields of the document that have an index; they hold text.
    `link`: the entities are edges between two others. Each group of fields in `together` is written together, so one
    write wins for all of them, and a conflict of theirs is settled together.

    Raises `ValueError` for a struct that cannot be a view, and for a field that the struct does not have."""

    name: str
    view: type[msgspec.Struct] | None = None
    owner: str | None = None
    subtype: str | None = None
    link: bool = False
    together: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.view is None:
            return
        fields = self.view.__struct_encode_fields__
        if fields[:1] != ("id",) or len(fields) < 2:
            raise ValueError(
                f"{self.view.__name__} cannot be the struct of {self.name!r}: its first field has to be "
                '`id: str = ""`, and it needs at least one other field'
            )
        for use, named in [("owner", self.owner), ("subtype", self.subtype), *self._together()]:
            if named is not None and named not in fields:
                raise ValueError(
                    f"{use} of {self.name!r} names the field {named!r}, which {self.view.__name__} does not have. Its "
                    f"fields, as they are stored: {', '.join(fields)}"
                )
        _refuse_required(self.name, self.view)
        for use, named in [("owner", self.owner), ("subtype", self.subtype)]:
            if named is not None:
                _refuse_unless_text(f"{use} of {self.name!r}", self.view, named)

    def viewed_as(self, view: type[msgspec.Struct] | None) -> "EntityType":
        """This type for a program that reads it as `view`. That program may be older, so its struct may lack a field
        that has an index by now."""
        made = msgspec.structs.replace(self, view=None)
        msgspec.structs.force_setattr(made, "view", view)
        return made

    def _together(self) -> list[tuple[str, str]]:
        return [("together", field) for group in self.together for field in group]

    def written_with(self, field: str) -> tuple[str, ...]:
        """The group that a field belongs to, itself included."""
        return next((group for group in self.together if field in group), (field,))


def _refuse_required(name: str, view: type[msgspec.Struct]) -> None:
    """An entity that was made before the field was could not be read."""
    defaults: tuple[Any, ...] = view.__struct_defaults__  # of the last fields
    without = (msgspec.NODEFAULT,) * (len(view.__struct_fields__) - len(defaults))
    for field, default in list(zip(view.__struct_fields__, without + defaults, strict=True))[1:]:
        if default is msgspec.NODEFAULT:
            raise ValueError(
                f"{view.__name__} cannot be the struct of {name!r}: the field {field!r} has no default. Give it one, "
                "for an entity may have been written without it"
            )


def _refuse_unless_text(use: str, view: type[msgspec.Struct], named: str) -> None:
    """The index is one of texts: by it, nothing else is ever found."""
    field = view.__struct_fields__[view.__struct_encode_fields__.index(named)]
    if getattr(view, "__annotations__", {}).get(field) in (str, "str"):
        return  # nearly always; to look into a type costs a program time at each start
    (declared,) = (each.type for each in msgspec.structs.fields(view) if each.name == field)
    if not _is_text(msgspec.inspect.type_info(declared)):
        shown = declared.__name__ if isinstance(declared, type) else declared
        raise ValueError(
            f"{use} names the field {named!r} of {view.__name__}, whose type is {shown}. A field with an index is a str"
        )


def _is_text(kind: msgspec.inspect.Type) -> bool:
    """Whether all values of a type are texts, or None beside texts."""
    match kind:
        case msgspec.inspect.Metadata():
            return _is_text(kind.type)
        case msgspec.inspect.UnionType():
            return all(isinstance(each, msgspec.inspect.NoneType) or _is_text(each) for each in kind.types)
        case msgspec.inspect.LiteralType():
            return all(isinstance(value, str) for value in kind.values)
        case msgspec.inspect.EnumType():
            return all(isinstance(member.value, str) for member in kind.cls)
        case _:
            return isinstance(kind, msgspec.inspect.StrType)


_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_OWNER_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,31}_id")
_INDEX = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TIMES_AND_KINDS = frozenset({"id", "type", "subtype", "created_at", "updated_at", "deleted_at"})


class StoreSchema(msgspec.Struct, frozen=True):
    """What a store is called and what it knows of its types. Raises `ValueError` for a name that cannot be one."""

    name: str
    """On the wire and of its file (`cookbook` -> `cookbook.sqlite`): small letters, digits and `-`."""
    types: Mapping[str, EntityType]
    owner_column: str
    """What the indexed owner is called in its table; ends in `_id`."""
    indexes: Mapping[str, str]
    """The end of an index's name -> its columns, each with or without ` desc`."""
    leading: frozenset[str] = frozenset()
    """Entities of these types are sent before all others of a round: readers of the others need them."""
    version: int = 1
    """Raised by a program that changes its schema; a store is brought up to the highest that it has met."""
    local_tables: str = ""
    """SQL of tables and indexes of this device only, which never replicate. Each statement says `if not exists`."""

    def __post_init__(self) -> None:
        if not is_store_name(self.name):
            raise ValueError(f"a store has a name of small letters, digits and '-', at most 32, not {self.name!r}")
        if not _OWNER_COLUMN.fullmatch(self.owner_column):
            raise ValueError(f"the owner's column has a name like recipe_id, not {self.owner_column!r}")
        columns = _TIMES_AND_KINDS | {self.owner_column}
        for ending, indexed in self.indexes.items():
            if not _INDEX.fullmatch(ending):
                raise ValueError(f"an index has a name of small letters, digits and '_', not {ending!r}")
            for column in indexed.split(","):
                if column.strip().removesuffix(" desc") not in columns:
                    raise ValueError(f"an index is over {', '.join(sorted(columns))}, not {column.strip()!r}")
        if self.version < 1:
            raise ValueError(f"a schema's version is 1 or more, not {self.version}")


def schema(
    name: str,
    types: Iterable[EntityType],
    *,
    owner_column: str = "owner_id",
    indexes: Mapping[str, str] | None = None,
    leading: frozenset[str] = frozenset(),
    version: int = 1,
    local_tables: str = "",
) -> StoreSchema:
    """The schema of a store. Without `indexes` there are two, for what an entity owns and for what is of a type. More
    would cost each entity another copy of its owner's id and of its time.

    Raises `ValueError` for a name that cannot be one, for two types of one name, and for two types, other than links,
    that are read as one struct: a program names a type by its struct."""
    declared = list(types)
    _refuse_twice(declared)
    if indexes is None:
        owned = f"{owner_column.removesuffix('_id')}_type"
        indexes = {owned: f"{owner_column}, type", "type": "type, created_at"}
    return StoreSchema(name, {t.name: t for t in declared}, owner_column, indexes, leading, version, local_tables)


def _refuse_twice(declared: Iterable[EntityType]) -> None:
    for name, times in Counter(each.name for each in declared).items():
        if times > 1:
            raise ValueError(f"each type of a store has its own name; {times} are called {name!r}")
    read_as: dict[type[msgspec.Struct], str] = {}
    for each in declared:
        if each.view is None or each.link:
            continue
        other = read_as.setdefault(each.view, each.name)
        if other != each.name:
            raise ValueError(
                f"each type of a store has its own struct; {other!r} and {each.name!r} both have {each.view.__name__}"
            )


def is_store_name(name: str) -> bool:
    """Whether a store may be called so. It is a word of the protocol, part of a file's name and of tables' names, and a
    part of signed records."""
    return _NAME.fullmatch(name) is not None


def derived_id(*parts: str) -> str:
    """An id that every device computes alike from what makes the entity unique (ENT-5): 32 hexadecimal
    digits of SHA-256 over the parts, each preceded by its length."""
    raws = [part.encode() for part in parts]
    return sha256(b"".join(len(raw).to_bytes(4, "big") + raw for raw in raws)).hex()[:32]


def link_id(type_name: str, from_id: str, to_id: str) -> str:
    """The id of a link: two devices that link the same two things make one link (ENT-6)."""
    return derived_id("link", type_name, from_id, to_id)
