"""Register paths (docs/specs/03-entities.md, section 2).

A document is a flat map from *path* to value. A path is a field (`title`) or a field and a key
(`labels/bug`), so that two devices can touch different keys of one map without a conflict. Whatever
lies deeper is one value. `/` and `~` in a key are written `~1` and `~0`, as in a JSON pointer.

The flat form has no trouble where a scalar meets a map: `labels` and `labels/bug` are two registers,
both kept, and the nested view shows the map.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lottisync.entities.canonical import MAX_EXACT, PLAIN, normal
from lottisync.problem import Invalid

MAX_PATH = 320
_PATH = re.compile(r"\A[A-Za-z][A-Za-z0-9_]{0,63}(/(?:[^/~\x00-\x1f\ud800-\udfff]|~[01])+)?\Z")


class PathError(Invalid):
    """A path outside of the grammar, or named twice."""


@lru_cache(maxsize=4096)
def join(field: str, key: str) -> str:
    return validated(f"{field}/{key.replace('~', '~0').replace('/', '~1')}")


def split(path: str) -> tuple[str, str | None]:
    field, slash, key = path.partition("/")
    return field, key.replace("~1", "/").replace("~0", "~") if slash else None


@lru_cache(maxsize=4096)
def validated(path: str) -> str:
    if len(path) > MAX_PATH or _PATH.match(path) is None:
        raise PathError(
            "a path is a field or field/key, at most {limit} characters; got {path!r}", limit=MAX_PATH, path=path[:80]
        )
    return path


@lru_cache(maxsize=256)
def validate(paths: tuple[str, ...]) -> None:
    """Raise `PathError` unless all are paths. Documents of one type mostly have the same ones."""
    for path in paths:
        validated(path)


def flatten(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Split every map-valued field one level down: `{"labels": {"bug": True}}` -> `{"labels/bug": True}`.
    Keys of a mapping that are paths already pass as they are. The values come out in normal form; raises
    `PathError`, also if one register is named twice (`labels` with `bug`, and `labels/bug`), and `NotCanonical`
    for a value that has none."""
    flat = dict(fields)
    named = len(flat)
    for field, value in [item for item in fields.items() if type(item[1]) not in PLAIN]:
        if type(value) is dict and "/" not in field:
            del flat[field]
            named += len(value) - 1
            for key, item in value.items():
                flat[join(field, key)] = item if type(item) in PLAIN else normal(item)
        elif type(value) is not int or not -MAX_EXACT <= value <= MAX_EXACT:
            flat[field] = normal(value)
    if len(flat) != named:
        raise _named_twice(fields)
    validate(tuple(flat))
    return flat


def _named_twice(fields: Mapping[str, Any]) -> PathError:
    maps = [(field, value) for field, value in fields.items() if type(value) is dict and "/" not in field]
    twice = min({join(field, key) for field, value in maps for key in value} & fields.keys())
    return PathError(
        "{path!r} is named twice, by itself and in the map {field!r}; give it one value",
        path=twice,
        field=split(twice)[0],
    )


def nest(document: Mapping[str, Any]) -> dict[str, Any]:
    """The nested view of a flat document. A null is an absent value (that is how a key is removed)."""
    nested = {path: value for path, value in document.items() if value is not None}
    maps: dict[str, dict[str | None, Any]] = {}
    for path in [path for path in nested if "/" in path]:
        field, key = split(path)
        maps.setdefault(field, {})[key] = nested.pop(path)
    return nested | maps
