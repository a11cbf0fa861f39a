"""The fields of many writes at once, column by column (docs/specs/03-entities.md, sections 2 and 3).

An import mostly names the same fields in every entity. Then each field is a column: what types its values have is one
loop of C, and so are the documents, which are written without a dictionary for each. Looked at value by value, this is
a quarter of what an import costs. Entities that differ in their fields are flattened and encoded one by one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import msgspec

from lottisync.entities import canonical, path
from lottisync.entities.canonical import MAX_EXACT, PLAIN

_UNNAMEABLE = frozenset('"\\')
"""Characters of a path that msgspec takes for no name of a field."""


class Fields(NamedTuple):
    """`paths` are those that any of them has; `column` gives the values of one path, None where it is absent."""

    paths: Collection[str]
    documents: list[bytes]
    column: Callable[[str], Iterable[Any]]


def fields_of(many: Sequence[Mapping[str, Any]]) -> Fields | None:
    """What `path.flatten` and `canonical.encode_normal` make of each; None if one of them is empty. Raises where those
    raise."""
    columns = _columns(many)
    if columns is None or not _UNNAMEABLE.isdisjoint("".join(columns)):
        return _one_by_one(many)
    paths = sorted(columns)
    path.validate(tuple(paths))
    absent = [None] * len(many)
    made = map(_document(tuple(paths)), *map(columns.__getitem__, paths))
    return Fields(columns.keys(), canonical.encode_each(made), lambda wanted: columns.get(wanted, absent))


def _one_by_one(many: Iterable[Mapping[str, Any]]) -> Fields | None:
    flat = list(map(path.flatten, many))
    if not all(flat):
        return None
    documents = canonical.encode_each(flat)
    return Fields(set().union(*flat), documents, lambda wanted: map(dict.get, flat, repeat(wanted)))


def _columns(many: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]] | None:
    """Path -> values in normal form, if all name the same fields, and the same keys of each map, and none twice."""
    columns: dict[str, Sequence[Any]] = {}
    named = 0
    for field, column in _split(many) or ():
        kinds = set(map(type, column))
        if dict not in kinds or "/" in field:
            columns[field] = _normal(column, kinds)
            named += 1
            continue
        keys = _split(column)
        if keys is None:
            return None
        for key, values in keys:
            columns[path.join(field, key)] = _normal(values, set(map(type, values)))
        named += len(keys)
    return columns if columns and named == len(columns) else None


def _split(maps: Sequence[Any]) -> list[tuple[str, Sequence[Any]]] | None:
    """Key -> values, of maps that have the same keys in the same order; None if they have not."""
    if set(map(type, maps)) != {dict} or len(keys := set(map(tuple, maps))) != 1:
        return None
    return list(zip(*keys, zip(*map(dict.values, maps), strict=True), strict=True))


def _normal(column: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
    """The values in normal form; they are of these types."""
    if kinds <= PLAIN or (kinds == {int} and -MAX_EXACT <= min(column) <= max(column) <= MAX_EXACT):
        return column
    return list(map(canonical.normal, column))


@lru_cache(maxsize=64)
def _document(paths: tuple[str, ...]) -> Callable[..., Any]:
    """What is encoded as an object with these keys, in this order."""
    names = [f"_{number}" for number in range(len(paths))]
    return msgspec.defstruct("Document", names, rename=dict(zip(names, paths, strict=True)), gc=False)
