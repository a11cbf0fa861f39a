"""Canonical JSON: one value, one sequence of bytes (docs/specs/03-entities.md, section 3).

A value is encoded once, where it is written. From then on it is carried as those bytes: joining,
storing and passing on never encode it again, so a device that has never heard of a field cannot
damage it. Keys are sorted by their UTF-8 bytes, there is no white space, and a float without a
fraction is written as an integer (1.0 and 1 are one value in most languages' JSON).
"""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec

from lottisync.problem import Invalid

MAX_DEPTH = 32
"""Arrays and objects within each other that a value may have. No document of ours has more than six
levels, and every JSON reader survives 32 without growing its stack."""
MAX_EXACT = 2**53 - 1

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Every way in which bytes that should be JSON of some shape can turn out to be something else."""

PLAIN = frozenset({str, bool, type(None)})
"""Types of which every value is in normal form already."""

_encoder = msgspec.json.Encoder(order="deterministic")
_decode = msgspec.json.decode
_decode_document = msgspec.json.Decoder(dict[str, Any]).decode
_Exact = Annotated[int, msgspec.Meta(ge=-MAX_EXACT, le=MAX_EXACT)]
_decode_simple = msgspec.json.Decoder(dict[str, bool | str | _Exact | None]).decode


class NotCanonical(Invalid):
    """A value that has no canonical form, or bytes that are not one."""


def encode(value: Any) -> bytes:
    """The canonical bytes of a JSON value; `NotCanonical` for what JSON can't hold exactly (ENT-7)."""
    return encode_normal(normal(value))


def encode_normal(value: Any) -> bytes:
    """The canonical bytes of a value in normal form."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError as error:  # half a surrogate pair: a terminal's undecodable bytes look like this
        raise NotCanonical("not Unicode text: {error}", error=error) from None


def encode_each(values: Iterable[Any]) -> list[bytes]:
    """`encode_normal` of each: a loop of C."""
    try:
        return list(map(_encoder.encode, values))
    except UnicodeEncodeError as error:
        raise NotCanonical("not Unicode text: {error}", error=error) from None


def decode(raw: bytes) -> Any:
    return _decode(raw)


def check(raw: bytes) -> None:
    """Raise `NotCanonical` unless `raw` is what `encode` would have written (ENT-9)."""
    try:
        again = encode(_decode(raw))
    except UNREADABLE as error:
        raise NotCanonical("not JSON: {error}", error=error) from None
    if again != raw:
        raise NotCanonical("not in canonical form")


def decode_document(raw: bytes) -> dict[str, Any]:
    """A flat document, path -> value; raises `NotCanonical` unless `raw` is its canonical form (ENT-9). All at once
    this is many times cheaper than `check` for each value. Most documents hold nothing but text, integers and
    truth values: those are in normal form as soon as they are decoded."""
    try:
        try:
            document: dict[str, Any] = _decode_simple(raw)
        except msgspec.ValidationError:
            document = {p: normal(value) for p, value in _decode_document(raw).items()}
        again = encode_normal(document)
    except UNREADABLE as error:
        raise NotCanonical("not a JSON object: {error}", error=error) from None
    if again != raw:
        raise NotCanonical("not in canonical form")
    return document


def decode_documents(raws: Sequence[bytes]) -> list[dict[str, Any]]:
    """`decode_document` of each: a loop of C if all are simple. Raises where that raises, also `UNREADABLE`."""
    try:
        documents = list(map(_decode_simple, raws))
    except msgspec.ValidationError:
        return list(map(decode_document, raws))
    if list(map(_encoder.encode, documents)) != list(raws):
        raise NotCanonical("not in canonical form")
    return documents


def normal(value: Any, depth: int = 0) -> Any:
    """A value as it is encoded: a float without a fraction is an integer, a tuple is a list. Raises
    `NotCanonical` for what JSON can't hold."""
    if type(value) in PLAIN:
        return value
    if depth == MAX_DEPTH and isinstance(value, (list, tuple, dict)):
        raise NotCanonical("nested more than {limit} levels deep", limit=MAX_DEPTH)
    match value:
        case int():
            if not -MAX_EXACT <= value <= MAX_EXACT:
                raise NotCanonical("integers go from -{limit} to {limit}; got {value}", limit=MAX_EXACT, value=value)
            return value
        case float():
            if not math.isfinite(value):
                raise NotCanonical("JSON has no {value}", value=value)
            return int(value) if value.is_integer() and abs(value) <= MAX_EXACT else value
        case str():
            return value
        case list() | tuple():
            return [normal(item, depth + 1) for item in value]
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise NotCanonical("keys are text; got {key!r}", key=key)
            return {key: normal(item, depth + 1) for key, item in value.items()}
        case _:
            raise NotCanonical("not a JSON value: {kind}", kind=type(value).__name__)
