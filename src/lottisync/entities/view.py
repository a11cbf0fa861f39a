"""Typed views: an entity as a struct that code can rely on (docs/specs/03-entities.md, section 6).

A view is for reading. It is laid over the winning values of the raw document and never written back
whole; writers name the fields they change. So a field that this version of the program does not know
survives an edit of another one. A value that does not fit its field (a newer program wrote it, or
somebody edited the file) reads as the field's default: one odd value must not make a whole entity
unreadable.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from typing import Any, Protocol, TypeVar, get_origin

import msgspec

from lottisync.entities import path
from lottisync.entities.canonical import UNREADABLE

T = TypeVar("T", bound=msgspec.Struct)
Kind = type[T]
BATCH = 100
"""Documents that are decoded together: enough to be quick, few enough to stay in the processor's cache."""
_id_of = attrgetter("id")


class Viewed(Protocol):
    """An entity, or anything else that shows a flat document under an id."""

    @property
    def id(self) -> str: ...

    def document(self) -> dict[str, Any]: ...


def view(entity: Viewed, kind: type[T]) -> T:
    """The entity as a `kind`, whose structs all begin with the field `id`."""
    return _view(entity.id, entity.document(), kind)


def view_stored(ident: str, document: bytes, kind: type[T]) -> T:
    """`view` of a document as it is stored: flat canonical JSON, under an id of the grammar of ENT-1. Most are
    their structs but for the id, and are decoded straight into them; one that may have a map for a struct that wants
    it, or has a null where the struct has none, goes the long way."""
    if b"/" in document and _has_maps(kind):
        return _view(ident, _fields(document), kind)
    try:
        viewed: T = _decoding(kind)(_with_id(ident, document))
    except msgspec.DecodeError:
        return _view(ident, _fields(document), kind)
    return viewed


def views_stored(documents: Sequence[tuple[str, bytes]], kind: type[T]) -> list[T]:
    """`view_stored` of many (id, document), in their order. A batch is decoded as one array, in a fraction of the time;
    if one of it does not fit its struct or is damaged, each of it for itself."""
    found: list[T] = []
    for start in range(0, len(documents), BATCH):
        found += _batch(documents[start : start + BATCH], kind)
    return found


def _batch(documents: Sequence[tuple[str, bytes]], kind: type[T]) -> list[T]:
    if not _has_maps(kind):
        with suppress(*UNREADABLE):
            array = b",".join([_with_id(*each) for each in documents])
            viewed: list[T] = _decoding(list[kind])(b"[%b]" % array)  # type: ignore[valid-type]
            # What is damaged could be the end of one element and the beginning of the next.
            if list(map(_id_of, viewed)) == [ident for ident, _ in documents]:
                return viewed
    return [view_stored(ident, document, kind) for ident, document in documents]


def _with_id(ident: str, document: bytes) -> bytes:
    return b'%b,"id":"%b"}' % (document[:-1], ident.encode())


@lru_cache(maxsize=64)
def _has_maps(kind: type[msgspec.Struct]) -> bool:
    return any(get_origin(field.type) is dict for field in msgspec.structs.fields(kind))


@lru_cache(maxsize=64)
def _decoding(kind: type[T]) -> Callable[[bytes], T]:
    return msgspec.json.Decoder(kind).decode


_fields = msgspec.json.Decoder(dict[str, Any]).decode


def _view(ident: str, document: dict[str, Any], kind: type[T]) -> T:
    nested = path.nest(document)
    nested["id"] = ident
    try:
        return msgspec.convert(nested, kind)
    except msgspec.ValidationError:
        return msgspec.convert(_fitting(nested, kind), kind)


def _fitting(nested: dict[str, Any], kind: type[T]) -> dict[str, Any]:
    fitting = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in nested:
            continue
        try:
            msgspec.convert(nested[field.encode_name], field.type)
        except msgspec.ValidationError:
            continue
        fitting[field.encode_name] = nested[field.encode_name]
    return fitting
