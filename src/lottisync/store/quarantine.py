"""Versions that this store cannot take: kept as the bytes that came, sent on, and counted in the digest.

Why they are kept, and which version replaces which: docs/specs/05-store.md, section 15. A kept version has a number and
components like a row, so that rounds treat the two alike.
"""

from typing import Any, NamedTuple

import apsw

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock
from lottisync.entities import version
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Sentence
from lottisync.wording import column, of_column

TABLE = """create table quarantine (n integer primary key, id text not null, type text not null, clock blob not null,
        stamps blob not null, document blob not null, hash blob not null, counted integer not null,
        reason text not null) strict;
    create index idx_quarantine on quarantine(id);"""
VERSION_COLUMNS = "id, type, clock, stamps, document"
RAW_COLUMNS = "cast(id as blob), cast(type as blob), clock, stamps, document"
"""The columns of a version as bytes, for `tables.raw_version`."""
MAX_REASON, MAX_WORDS = 300, 1200
"""Characters of a reason: as English text, and as words that keep their values. One whose words are more than that is
kept as text, and cut off."""


class QuarantinedVersion(NamedTuple):
    """A version in quarantine; `counted` unless it is a tombstone that adds nothing to the digest."""

    n: int
    version: Version
    clock: Clock
    hash: bytes
    counted: bool
    reason: Sentence

    @property
    def weight(self) -> int:
        return int.from_bytes(self.hash, "big") if self.counted else 0


def counts(kept: Version) -> bool:
    """Whether a device that takes this version counts it; one that cannot be read is taken for one that does."""
    try:
        return version.adds_to_digest(version.open_foreign(kept))
    except BadVersion:
        return True


class Quarantine:
    """What is kept, within one transaction. It is nearly always empty: then nothing is looked up in it. A peer
    may fill it all the same, so it is never in memory as a whole."""

    def __init__(self, connection: apsw.Connection, *, empty: bool) -> None:
        self.added: list[QuarantinedVersion] = []
        self._connection = connection
        self.empty = empty

    def of(self, entity_id: str) -> list[QuarantinedVersion]:
        return [] if self.empty else read(self._connection, "where id = ?", (entity_id,))

    def stands_for(self, row: Version) -> bool:
        """Whether a kept version has seen all that a row has, and counts in its place."""
        kept = self.of(row.id)
        return bool(kept) and any(vector_clock.covers(k.clock, clock_or_none(row)) for k in kept)

    def put(self, kept: QuarantinedVersion) -> None:
        """Keep a version in the place of the one that is kept under its number, if any is."""
        self.remove(kept)
        self._insert(kept)

    def add(self, kept: QuarantinedVersion) -> None:
        self._insert(kept)
        self.added.append(kept)

    def _insert(self, kept: QuarantinedVersion) -> None:
        self._execute(
            "insert into quarantine values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                kept.n,
                kept.version.id,
                kept.version.type,
                kept.version.clock,
                kept.version.stamps,
                kept.version.document,
                kept.hash,
                kept.counted,
                stored_reason(kept.reason),
            ),
        )
        self.empty = False

    def remove(self, kept: QuarantinedVersion) -> None:
        self._execute("delete from quarantine where n = ?", (kept.n,))
        self._execute("delete from components where n = ?", (kept.n,))

    def _execute(self, sql: str, bindings: tuple[Any, ...]) -> None:
        self._connection.execute(sql, bindings).fetchall()


def read(connection: apsw.Connection, where: str = "", bindings: tuple[Any, ...] = ()) -> list[QuarantinedVersion]:
    """What is kept, oldest first."""
    columns = f"n, {VERSION_COLUMNS}, hash, counted, reason"
    rows: list[Any] = connection.execute(f"select {columns} from quarantine {where} order by n", bindings).fetchall()
    return [
        QuarantinedVersion(
            n, made := Version(*parts), clock_or_none(made), stored_hash, bool(counted), of_column(reason)
        )
        for n, *parts, stored_hash, counted, reason in rows
    ]


def stored_reason(reason: Sentence) -> str:
    """A reason as the column holds it."""
    words = column(reason)
    return words if len(words) <= MAX_WORDS else reason[:MAX_REASON]


def clock_or_none(made: Version) -> Clock:
    """What a version here has seen; nothing if that cannot be read."""
    try:
        return version.clock_of(made)
    except BadVersion:  # somebody has changed it here by hand; `check` finds that, and nothing else should stop
        return {}
