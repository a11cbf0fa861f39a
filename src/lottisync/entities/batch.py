"""Many versions at once, column by column (docs/specs/03-entities.md, section 4).

A round brings versions by the thousand. Opened one by one they cost four times what their checks cost: the rest is
objects that are made and functions that are called for each. So a batch is taken apart into columns: all ids, all
clocks, all stamps, all documents. Each check is one pass over a column, and nearly all passes are loops of C.

That pays for versions that are *plain*: no siblings and no deletion. Nearly all are. For a plain batch nothing is
checked less than by `version.open_foreign`, which stays the law: a batch with one version in it that is not plain, or
not good, is not a plain batch, and its versions are opened one by one. So this module never says what is wrong with a
version.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from operator import ge
from typing import Any, NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.digest import sha256_of_each
from lottisync.causality.hlc import MAX_MILLIS, MAX_TICKS
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, path, version
from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.registers import Registers, Stamp
from lottisync.entities.version import MAX_VERSION, Version

_WITHOUT_SIBLINGS = b",{}]"
"""The end of the stamps of an entity without siblings."""
_DELETED_AT = f'"{DELETED_AT}"'.encode()
FEW = 8
"""This many versions, or fewer, are opened one by one, which takes less time."""
TOGETHER = 200
"""How many versions are taken apart together. What is computed of more of them does not stay in the processor's
cache."""
_NAMES_BYTES = 128 + 64
"""The longest id and type together."""
_columns_of = msgspec.structs.astuple
_canonical = b'["%b","%b",%b,%b,%b]'.__mod__
_encode = msgspec.json.Encoder(order="deterministic").encode


class _NotPlain(ValueError):
    """A batch has to be opened one by one, which says what is wrong, if anything is."""


class Columns(NamedTuple):
    """The parts of many versions: a column for each part, in the order of the versions."""

    ids: Sequence[str]
    types: Sequence[str]
    clocks: Sequence[bytes]
    stamps: Sequence[bytes]
    documents: Sequence[bytes]

    @staticmethod
    def of(versions: Iterable[Version]) -> "Columns":
        """Raises `ValueError` where there is no version."""
        ids, types, clocks, stamps, documents = zip(*map(_columns_of, versions), strict=True)
        return Columns(ids, types, clocks, stamps, documents)

    def version(self, at: int) -> Version:
        ids, types, clocks, stamps, documents = self
        return Version(ids[at], types[at], clocks[at], stamps[at], documents[at])

    def hashes(self) -> list[bytes]:
        """What `Version.hash` gives for each."""
        names = map(str.encode, self.ids), map(str.encode, self.types)
        return sha256_of_each(map(_canonical, zip(*names, self.clocks, self.stamps, self.documents, strict=True)))


class Plain(NamedTuple):
    """Plain versions, every part of them checked. `values` are the decoded documents. A winning stamp is the base of
    its entity or one of its `stamps`."""

    columns: Columns
    clocks: list[dict[Host, int]]
    bases: list[Stamp]
    stamps: list[dict[str, Stamp]]
    values: list[dict[str, Any]]
    made: dict[int, Registers]
    """By index, those that somebody has asked for."""

    def opened(self) -> list[tuple[Version, Entity]]:
        """What `version.open_foreign` would have made of each."""
        return list(map(self.opened_at, range(len(self.clocks))))

    def opened_at(self, at: int) -> tuple[Version, Entity]:
        made = self.columns.version(at)
        return made, Entity(made.id, made.type, self.clocks[at], self.registers(at))

    def registers(self, at: int) -> Registers:
        """The registers of the version with this index."""
        made = self.made.get(at)
        if made is None:
            stored, decoded = self.columns.documents[at], self.values[at]
            made = self.made[at] = Registers(self.bases[at], self.stamps[at], {}, stored, decoded=decoded)
        return made

    def column(self, wanted: str) -> Iterable[Any]:
        """The values of one path, None where it is absent."""
        return map(dict.get, self.values, repeat(wanted))

    def stamped(self) -> list[int]:
        """The indices of those with other stamps than their base: entities that were written more than once."""
        return [at for at, stamps in enumerate(self.stamps) if stamps]

    def all_stamps(self) -> Iterator[Stamp]:
        """The stamps of all writes."""
        return chain(self.bases, *(self.stamps[at].values() for at in self.stamped()))

    def times(self) -> tuple[list[int], list[int]]:
        """For each entity, when its earliest and its latest winning write were made (ms)."""
        earliest = [base.millis for base in self.bases]
        latest = earliest.copy()
        for at in self.stamped():
            written = [earliest[at], *(stamp.millis for stamp in self.stamps[at].values())]
            earliest[at], latest[at] = min(written), max(written)
        return earliest, latest


def first(
    ids: Sequence[str],
    types: Sequence[str],
    precedence: int,
    readings: Sequence[tuple[int, int]],
    host: Host,
    counters: Sequence[int],
    documents: Sequence[bytes],
) -> Columns:
    """The versions that the first writes of `host` make with these counters: what `version.first` gives for each."""
    clocks = [f'{{"{host}":{counter}}}'.encode() for counter in counters]
    stamps = [
        f'[[{precedence},{millis},{ticks},"{host}",{counter}],{{}},{{}}]'.encode()
        for (millis, ticks), counter in zip(readings, counters, strict=True)
    ]
    return Columns(ids, types, clocks, stamps, documents)


def looks_plain(made: Version) -> bool:
    """False for what is not plain. Cheap, and true for some that are not plain either."""
    return made.stamps.endswith(_WITHOUT_SIBLINGS) and _DELETED_AT not in made.document


def plain(versions: Sequence[Version]) -> Plain | None:
    """The versions, every part checked (ENT-10); None unless all of them are plain and good."""
    try:
        columns = Columns.of(versions)
        _check_names(columns)
        clocks = _clocks(columns.clocks)
        values = _documents(columns.documents)
        bases, stamps = _stamps(columns.stamps)
        found = Plain(columns, clocks, bases, stamps, values, {})
        _check_stamps(found)
    except (ValueError, KeyError, *UNREADABLE):
        return None
    return None if any(DELETED_AT in document for document in values) else found


def _check_names(columns: Columns) -> None:
    """Ids, types and sizes."""
    version.validated_names(columns.ids, columns.types)
    parts = columns.clocks, columns.stamps, columns.documents
    if _NAMES_BYTES + sum(max(map(len, part)) for part in parts) > MAX_VERSION:
        raise _NotPlain("one of the batch may be too large")


def _clocks(column: Sequence[bytes]) -> list[dict[Host, int]]:
    clocks = list(map(version.decode_clock, column))
    if not all(map(version.is_host, set(chain.from_iterable(clocks)))):
        raise _NotPlain("one of the batch has a clock with a host that is not one")
    counters = set(chain.from_iterable(map(dict.values, clocks)))
    if not 1 <= min(counters) <= max(counters) <= vector_clock.MAX_COUNTER:
        raise _NotPlain("one of the batch has a clock with a counter out of range")
    _refuse_other_form(clocks, column)
    return clocks


def _documents(column: Sequence[bytes]) -> list[dict[str, Any]]:
    documents = canonical.decode_documents(column)
    if not all(documents):
        raise _NotPlain("one of the batch has no register")
    for paths in set(map(tuple, documents)):
        path.validate(paths)
    return documents


def _stamps(column: Sequence[bytes]) -> tuple[list[Stamp], list[dict[str, Stamp]]]:
    decoded = list(map(version.decode_stamps, column))
    if any(siblings for _, _, siblings in decoded):
        raise _NotPlain("one of the batch has siblings")
    _refuse_other_form(decoded, column)
    return [base for base, _, _ in decoded], [stamps for _, stamps, _ in decoded]


def _check_stamps(found: Plain) -> None:
    """Ranges, that the entity's clock covers each write, and that the base is the right one (ENT-8)."""
    precedences, millis, ticks, hosts, counters = zip(*found.bases, strict=True)
    if not (set(precedences) <= {0, 1} and min(counters) >= 1):
        raise _NotPlain("one of the batch has what is not a stamp")
    if not (0 <= min(millis) <= max(millis) <= MAX_MILLIS and 0 <= min(ticks) <= max(ticks) <= MAX_TICKS):
        raise _NotPlain("one of the batch has a clock reading out of range")
    if not all(map(ge, map(dict.get, found.clocks, hosts, repeat(0)), counters)):
        raise _NotPlain("one of the batch holds a write that its clock does not cover")
    for at in found.stamped():
        _check_other_stamps(found, at)


def _check_other_stamps(found: Plain, at: int) -> None:
    ident, clock, stamps, values = found.columns.ids[at], found.clocks[at], found.stamps[at], found.values[at]
    for stamp in stamps.values():
        version.check_stamp(ident, stamp, clock)
    if not stamps.keys() <= values.keys():
        raise _NotPlain("one of the batch names the stamp of a path that it does not have")
    if len(stamps) * 2 < len(values) and found.bases[at] not in stamps.values():
        return  # most paths have the base: it is the right one
    registers = found.registers(at)
    if registers.with_base() is not registers:
        raise _NotPlain("one of the batch does not name the stamps of its paths as it ought to")


def _refuse_other_form(decoded: Iterable[Any], column: Sequence[bytes]) -> None:
    """Each part has one canonical form."""
    if list(map(_encode, decoded)) != list(column):
        raise _NotPlain("one of the batch is not in canonical form")
