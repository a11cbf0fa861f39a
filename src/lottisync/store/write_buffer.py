"""What a transaction has made and not written down yet (docs/specs/05-store.md, section 6).

An import or a round writes thousands of rows by a handful of statements. They are gathered here and written together,
statement by statement. A read flushes first, so that no reader sees a difference.
"""

from collections.abc import Iterable
from itertools import filterfalse
from typing import Any

import apsw

from lottisync.store import chain

GATHERED_ROWS = 1_000
"""How many entities are written together: more gain nothing and cost memory."""
HISTORY_PER_FIELD = 100
"""How many overwritten values of one field are kept; the oldest go first (STORE-16)."""
KEEP_WRITE = "insert into history values (?, ?, ?, ?, ?, ?, ?, cast(? as text), ?, ?)"
TOO_MANY_WRITES = f"""select ?1, ?2
    where (select count(*) from history where entity = ?1 and path = ?2) > {HISTORY_PER_FIELD}"""
FORGET_WRITES = f"""delete from history where rowid in (select rowid from history where entity = ? and path = ?
    order by millis desc, ticks desc, rowid desc limit -1 offset {HISTORY_PER_FIELD})"""

Values = tuple[Any, ...]


class WriteBuffer:
    """`first` are statements that go ahead of all others, in their order."""

    def __init__(self, connection: apsw.Connection, first: Iterable[str]) -> None:
        self._connection = connection
        self._rows: dict[str, list[Values]] = {statement: [] for statement in first}
        self._entities: set[str] = set()
        self._overwritten: set[tuple[str, str]] = set()
        self._host, self._counter, self._values = 0, 0, bytearray()

    def holds(self, entity_id: str) -> bool:
        """Whether a row of this entity waits here."""
        return entity_id in self._entities

    def without(self, ids: Iterable[str]) -> Iterable[str]:
        """The entities of which no row waits here."""
        return filterfalse(self._entities.__contains__, ids) if self._entities else ids

    def add(self, statement: str, row: Values) -> None:
        self._rows.setdefault(statement, []).append(row)

    def entity(self, entity_id: str, statement: str, row: Values) -> None:
        """A row of an entity. A second row of the same entity is written only after a read, which flushes, so the
        order of the statements does not matter."""
        if len(self._entities) >= GATHERED_ROWS:
            self.flush()
        self._rows.setdefault(statement, []).append(row)
        self._entities.add(entity_id)

    def chain_values(self, host: int, first: int, values: bytes) -> None:
        """The next values of the chain of the host with this number, from counter `first` on."""
        if self._values and host != self._host:
            self._flush_values()
        if not self._values:
            self._host, self._counter = host, first
        self._values += values

    def overwritten(self, entity_id: str, path: str, rows: Iterable[Values]) -> None:
        """Rows of the history of one field, of which only so many are kept."""
        self._rows.setdefault(KEEP_WRITE, []).extend(rows)
        self._overwritten.add((entity_id, path))

    def overwritten_more(self, fields: Iterable[tuple[str, str]]) -> None:
        """Fields (entity, path) of whose history more was kept."""
        self._overwritten.update(fields)
        if len(self._overwritten) >= GATHERED_ROWS:
            self.flush()

    def flush(self) -> None:
        for statement, rows in self._rows.items():
            if rows:
                self._connection.executemany(statement, rows).fetchall()
                rows.clear()
        if self._values:
            self._flush_values()
        if self._overwritten:
            full = self._connection.executemany(TOO_MANY_WRITES, self._overwritten).fetchall()
            self._connection.executemany(FORGET_WRITES, full).fetchall()
            self._overwritten.clear()
        self._entities.clear()

    def _flush_values(self) -> None:
        chain.append(self._execute, self._host, self._counter, bytes(self._values))
        self._values.clear()

    def _execute(self, sql: str, bindings: Values) -> list[Values]:
        return self._connection.execute(sql, bindings).fetchall()
