"""A moment of a store, held for one round (docs/specs/07-sync.md): its knowledge, and what a peer lacks of it."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from lottisync.causality.vector_clock import Clock, Host, news, within
from lottisync.entities import canonical
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version
from lottisync.store import damage, quarantine, tables
from lottisync.store.database import sqlite_errors_as_problems
from lottisync.store.known_hosts import KnownHosts, Latest, OwnHost
from lottisync.store.reader import Reader

_STRIDE = 1_000
"""Rows that are looked at together."""


class Snapshot(Reader):
    """On a separate connection, in a transaction that lasts until `close`; writers go on meanwhile. Made by
    `Store.snapshot`."""

    def __init__(
        self,
        schema: StoreSchema,
        connection: apsw.Connection,
        file: Path,
        rest: Callable[[apsw.Connection], None],
        hosts: Latest,
    ) -> None:
        super().__init__(schema, connection, hosts)
        self._file = file
        self._rest = rest
        self._hosts: tuple[OwnHost, KnownHosts] | None = None
        self._left: apsw.Connection | None = connection

    def _execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with sqlite_errors_as_problems(self._file):
            return super()._execute(sql, bindings)

    def hosts(self) -> tuple[OwnHost, KnownHosts]:
        """What is known of all hosts. It is read once, because the moment stays the same."""
        if self._hosts is None:
            self._hosts = super().hosts()
        return self._hosts

    def lacking(
        self, knowledge: Clock, held: Iterable[tuple[Host, int, str]], among: Iterable[Host] | None = None
    ) -> Sequence[int]:
        """The row numbers of every entity with a clock component beyond `knowledge`, less those whose
        components beyond it are all in `held`; leading types first, then in the order they were made here. Damaged rows
        are among them. With `among`, only what was written by these hosts is looked at.

        SQLite puts them in order, and what it gives is kept as eight bytes each: there may be a million."""
        there = {
            (n, host, counter)
            for host, counter, entity in held
            for (n,) in self._rows(
                "select n from rows where id = ?1 union all select n from quarantine where id = ?1", (entity,)
            )
        }
        found = array("q")
        with sqlite_errors_as_problems(self._file):
            for n, host, counter in self._connection.execute(
                """select c.n, h.host, c.counter from json_each(?) w join hosts h on h.host = w.value ->> 0
                   cross join components c on c.host = h.n and c.counter > w.value ->> 1 order by c.n""",
                (canonical.encode_normal(self._news_to(knowledge, among)).decode(),),
            ):
                if (not found or found[-1] != n) and (n, host, counter) not in there:
                    found.append(n)
        if self.schema.leading:
            first = {
                n
                for leading in self.schema.leading
                for (n,) in self._rows("select n from rows where type = ?", (leading,))
            }
            return sorted(found, key=lambda n: (n not in first, n))
        return found

    def _news_to(self, knowledge: Clock, among: Iterable[Host] | None) -> list[tuple[Host, int]]:
        """[host, what the peer knows of it] for the hosts of which a write beyond that may be here."""
        own, others = self.hosts()
        reach = {**others.known, **others.beyond, own.host: own.counter}
        return [(host, knowledge.get(host, 0)) for host in news(within(reach, among), knowledge)]

    def versions(self, numbers: Iterable[int]) -> list[Version]:
        """The versions with these row numbers, in that order, as the bytes that lie there; none for a damaged row."""
        found = self.sound(wanted := list(numbers))
        return [found[n] for n in wanted if n in found]

    def without_damaged(self, numbers: Sequence[int]) -> Sequence[int]:
        """The rows that may be sent. A damaged row is left out, because a peer would take it for a sound one
        (MEND-26)."""
        sound = array("q")
        for start in range(0, len(numbers), _STRIDE):
            some = numbers[start : start + _STRIDE]
            found = self.sound(some)
            sound.extend(n for n in some if n in found)
        return sound

    def sound(self, wanted: Sequence[int]) -> dict[int, Version]:
        """Row number -> version, of the rows that have the hash that was stored with them."""
        listed = (canonical.encode(list(wanted)).decode(),)
        found: dict[int, Version] = {}
        for table, columns in (
            (self._entities, tables.RAW_COLUMNS),
            (self._links, tables.RAW_COLUMNS),
            ("quarantine", quarantine.RAW_COLUMNS),
        ):
            rows = self._rows(
                f"select n, {columns}, hash from {table} where n in (select value from json_each(?))", listed
            )
            for n, *parts, stored_hash in rows:
                made = tables.raw_version(*parts)
                sound = made if made.hash() == stored_hash else damage.under_indexed_clock(self, n, made, stored_hash)
                if sound is not None:
                    found[n] = sound
            if len(found) == len(wanted):
                break
        return found

    def close(self) -> None:
        """May be called twice."""
        connection, self._left = self._left, None
        if connection is not None:
            self._rest(connection)
