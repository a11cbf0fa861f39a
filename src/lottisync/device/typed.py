"""A store as a program's own structs (docs/library.md).

A program describes each of its types once, by a msgspec struct whose first field is `id: str = ""`. It then reads whole
structs and writes single fields: `Reading` gives the structs of one moment, `Writing` adds, edits and deletes in one
transaction.

Writing checks names and values against the struct before anything is stored: a field that the struct does not have is
refused with the names that it has, and so is a value of another type. What *other* devices wrote is read more kindly. A
value that does not fit reads as the field's default, because a newer version of the program may have written it.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities import canonical
from lottisync.entities.schema import EntityType, StoreSchema
from lottisync.entities.version import Damaged
from lottisync.entities.view import T
from lottisync.problem import Problem
from lottisync.store import conflict
from lottisync.store.conflict import Conflict
from lottisync.store.reader import Document, Reader
from lottisync.store.transaction import Put, Transaction

EntityOrId = str | msgspec.Struct
"""An entity, by its id or by the struct that was read."""


class Replaced(NamedTuple):
    """A value that was replaced: where it stood, its precedence (`HIGH` or `LOW`), when it was written (ms by that
    device's clock), and as which write. A `Candidate` of a conflict says the same of its value."""

    path: str
    value: Any
    precedence: int
    millis: int
    dot: Dot

    @property
    def host(self) -> Host:
        return self.dot.host


class Reading:
    """What a store shows at one moment. `Device.read` gives one."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def get(self, entity: EntityOrId, kind: type[T]) -> T | None:
        """The entity with this id as a `kind`; None if there is none, or if it was deleted.

        Raises `Problem` (`wrong-type`) for an id of another type, and `Damaged` if the disk has damaged its row."""
        described = _described(self._reader.schema, kind)
        document = self._reader.document(id_of(entity))
        if document is None or document.deleted:
            return None
        _same_type(document, described)
        return document.view(kind)

    def all(self, kind: type[T]) -> list[T]:
        """Every entity of a type that is not deleted, oldest first."""
        return self.find(kind)

    def find(self, kind: type[T], /, **fields: str | None) -> list[T]:
        """The entities whose indexed fields read as these values, oldest first. A type has at most two indexed fields:
        the ones that its `EntityType` names as `owner` and `subtype`.

        Raises `Problem`: `not-indexed` for any other field, `bad-value` for a value that the field cannot have."""
        described = _described(self._reader.schema, kind)
        wanted = [_wanted(described, kind, name, value) for name, value in fields.items()]
        documents = self._reader.documents(
            described.name,
            or_unset=[each.column for each in wanted if each.or_unset],
            **{each.column: each.text for each in wanted if each.text is not None},
        )
        found = [document.view(kind) for document in documents]
        for each in wanted:
            found = [entity for entity in found if getattr(entity, each.field) == each.value]
        return found

    def conflicts(self, entity: EntityOrId | None = None) -> list[Conflict]:
        """Fields that two devices wrote without knowing of each other's write: of one entity, or of the whole store.
        Each conflict has all the values; the first is the one that is shown."""
        if entity is None:
            return conflict.of_store(self._reader)
        found = self._reader.entity(id_of(entity))
        return conflict.of_entity(found) if found is not None else []

    def history(self, entity: EntityOrId) -> list[Replaced]:
        """The values that were replaced, oldest first, as far back as this device keeps them. Raises `Damaged` if the
        disk has damaged one."""
        ident = id_of(entity)
        try:
            return [
                Replaced(old.path, canonical.decode(old.value), old.precedence, old.millis, Dot(old.host, old.counter))
                for old in self._reader.overwritten(ident)
            ]
        except canonical.UNREADABLE as error:
            raise Damaged(ident, error) from None


class Writing(Reading):
    """One transaction: all of it is stored, or nothing. `Device.write` gives one. It reads what it has written."""

    def __init__(self, tx: Transaction, new_id: Callable[[int], str]) -> None:
        super().__init__(tx)
        self._tx, self._new_id = tx, new_id

    def add(self, entity: msgspec.Struct) -> str:
        """Store a new entity; returns its id: the struct's own, or a new one if that is empty. Fields that have their
        default value are not written, so that a later version of the program may choose another default.

        Raises `Problem`: `exists` if the id is taken, `bad-value` for a value that cannot be stored."""
        write = self._first_write(entity)
        self._tx.put(*write)
        return write[0]

    def add_all(self, entities: Iterable[msgspec.Struct]) -> list[str]:
        """`add` each of them, and return their ids. Many are added in less time than single ones take.
        Raises as `add` does."""
        writes: dict[str, Put] = {}
        for entity in entities:
            write = self._first_write(entity)
            if write[0] in writes:
                raise _exists(write[1], write[0])
            writes[write[0]] = write
        self._tx.put_all(writes.values())
        return list(writes)

    def edit(self, entity: EntityOrId, /, **fields: Any) -> None:
        """Write these fields of an entity, and no others: what another device wrote to the rest stays. Of a field that
        is a map, the keys that are given are written; a key whose value is None is taken out.

        Raises `Problem`: `unknown-id`, `unknown-field`, `bad-value`."""
        self._tx.put(*self._edit(entity, fields))

    def edit_all(self, edits: Iterable[tuple[EntityOrId, Mapping[str, Any]]]) -> None:
        """`edit` each of these entities, by the fields that are given with it. Many are edited in less time than single
        ones take. Raises as `edit` does."""
        self._tx.put_all([self._edit(entity, fields) for entity, fields in edits])

    def delete(self, entity: EntityOrId) -> None:
        """Delete an entity. An edit on another device that did not know of this is kept, and shown as a conflict."""
        self._tx.delete(id_of(entity))

    def undelete(self, entity: EntityOrId) -> None:
        """Bring a deleted entity back as it was."""
        self._tx.undelete(id_of(entity))

    def keep(self, settled: Conflict, choice: int) -> None:
        """Settle a conflict in favour of its `choice`-th value, counted from 1."""
        conflict.keep(self._tx, settled.entity, settled.path, choice)

    def combine(self, settled: Conflict, value: Any) -> None:
        """Settle a conflict with a value that replaces all of them."""
        conflict.combine(self._tx, settled.entity, settled.path, msgspec.to_builtins(value))

    def _first_write(self, entity: msgspec.Struct) -> Put:
        kind = type(entity)
        described = _described(self._tx.schema, kind)
        ident = id_of(entity)
        if ident and self._tx.version(ident) is not None:
            raise _exists(described.name, ident)
        fields = _fields(kind)
        values = {field.path: value for field in fields if (value := getattr(entity, field.name)) != field.default()}
        if not values:  # an entity exists by its writes, so one field is written all the same
            values = {fields[0].path: getattr(entity, fields[0].name)}
        return ident or self._new_id(self._tx.now), described.name, _checked(described.name, kind, values)

    def _edit(self, entity: EntityOrId, fields: Mapping[str, Any]) -> Put:
        ident = id_of(entity)
        here = self._tx.version(ident)
        if here is None:
            raise Problem(
                "unknown-id", "there is no {ident} in the {name} store", ident=ident, name=self._tx.schema.name
            )
        described = self._tx.schema.types.get(here.type)
        if described is None or described.view is None:
            raise Problem(
                "unknown-type", "{ident} is a {type}, of which this program has no struct", ident=ident, type=here.type
            )
        values = {_path(described.view, name): value for name, value in fields.items()}
        return ident, described.name, _checked(described.name, described.view, values)


def id_of(entity: EntityOrId) -> str:
    return entity if isinstance(entity, str) else str(entity.id)  # type: ignore[attr-defined]


def _described(schema: StoreSchema, kind: type[msgspec.Struct]) -> EntityType:
    for described in schema.types.values():
        if described.view is kind:
            return described
    raise Problem(
        "unknown-type", "the {name} store has no type that is read as {name2}", name=schema.name, name2=kind.__name__
    )


def _same_type(document: Document, described: EntityType) -> None:
    if document.type != described.name:
        raise Problem(
            "wrong-type", "{id} is a {type}, not a {name}", id=document.id, type=document.type, name=described.name
        )


class _Wanted(NamedTuple):
    """That `field` reads as `value`, and what narrows the search to the entities of which that may be so: the `text` of
    the index `column`, None if nothing does; with `or_unset` also those that the index has no text of."""

    field: str
    value: Any
    column: str
    text: str | None
    or_unset: bool


def _wanted(described: EntityType, kind: type[msgspec.Struct], name: str, value: str | None) -> _Wanted:
    path = _path(kind, name)
    columns = {described.owner: "owner", described.subtype: "subtype"}
    if path not in columns:
        raise Problem(
            "not-indexed",
            "{name}.{name2} has no index; indexed fields: {indexed}",
            name=described.name,
            name2=name,
            indexed=", ".join(sorted(field for field in columns if field is not None)) or "none",
        )
    plain = _checked(described.name, kind, {path: value})[path]
    (field,) = (each for each in _fields(kind) if each.name == name)
    read, column, text = msgspec.convert(plain, field.type), columns[path], plain or ""
    # Of an empty text the index has none. What has no text, or one that does not fit, reads as the default.
    if read != field.default():
        return _Wanted(name, read, column, text, or_unset=not text)
    return _Wanted(name, read, column, text if field.type in _ANY_TEXT else None, or_unset=True)


_ANY_TEXT = (str, str | None)
"""Types that each text of an index fits."""


class _Field(NamedTuple):
    """`path` is where the document has the field that the struct calls `name`. `default` makes its default value; what
    a factory makes may be another one tomorrow."""

    name: str
    path: str
    type: Any
    default: Callable[[], Any]


@lru_cache(maxsize=1024)
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    fields = msgspec.structs.fields(kind)
    return tuple(_Field(each.name, each.encode_name, each.type, _default(each)) for each in fields if each.name != "id")


def _default(field: msgspec.structs.FieldInfo) -> Callable[[], Any]:
    if field.default_factory is not msgspec.NODEFAULT:
        return cast("Callable[[], Any]", field.default_factory)
    return lambda: field.default


@lru_cache(maxsize=1024)
def _some_of_its_fields(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """What takes any of the fields of a struct, by their paths."""
    names = {f"_{number}": field.path for number, field in enumerate(_fields(kind))}
    fields = [(name, field.type, UNSET) for name, field in zip(names, _fields(kind), strict=True)]
    return msgspec.defstruct(kind.__name__, fields, rename=names, gc=False)


@lru_cache(maxsize=1024)
def _path(kind: type[msgspec.Struct], name: str) -> str:
    """Where the document has the field that the struct calls `name`."""
    for field in _fields(kind):
        if field.name == name:
            return field.path
    names = ", ".join(field.name for field in _fields(kind))
    raise Problem(
        "unknown-field", "{name} has no field {name2!r}; it has: {names}", name=kind.__name__, name2=name, names=names
    )


def _checked(name: str, kind: type[msgspec.Struct], values: dict[str, Any]) -> dict[str, Any]:
    """The values as JSON has them; `Problem` for one that the struct's field does not take."""
    plain: dict[str, Any] = msgspec.to_builtins(values)
    try:
        msgspec.convert({path: _present(value) for path, value in plain.items()}, _some_of_its_fields(kind))
    except msgspec.ValidationError:
        raise _misfit(name, kind, plain) from None
    return plain


def _misfit(name: str, kind: type[msgspec.Struct], plain: Mapping[str, Any]) -> Problem:
    """What to say of the first value that its field does not take; there is one."""
    types = {field.path: field.type for field in _fields(kind)}
    for path, value in plain.items():
        try:
            msgspec.convert(_present(value), types[path])
        except msgspec.ValidationError as error:
            return Problem(
                "bad-value",
                "{name}.{name2} cannot be {value!r}: {error}",
                name=name,
                name2=path,
                value=value,
                error=error,
            )
    raise AssertionError(f"{name}: every value fits by itself")


def _exists(name: str, ident: str) -> Problem:
    return Problem("exists", "there is a {name} {ident} already; to change it, edit it", name=name, ident=ident)


def _present(value: Any) -> Any:
    """The map without the keys whose value is None."""
    return {key: held for key, held in value.items() if held is not None} if isinstance(value, dict) else value
