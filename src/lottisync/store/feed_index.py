"""An index over replicated stores, in a separate file (docs/specs/05-store.md, section 17).

It is a consumer of the stores' change feeds and never part of a write: a write costs the same with or without it. It
holds nothing that is not in the stores, so its file can be deleted at any time, and is then built again. With the path
`:memory:` there is no file.

Each reader of an index first lets it catch up with the feeds, so it always finds what was committed before. What an
index holds of an entity is its own: a subclass says so.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import apsw

from lottisync.store.reader import Change, Reader
from lottisync.store.store import Store

BATCH = 1_000
"""Changes that are indexed in one transaction."""
UNWRITABLE = (apsw.FullError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError)
"""What SQLite raises for an index on a disk that is full, read-only or gone."""
_FEEDS = "create table feeds (store text primary key, host text not null, feed integer not null) strict;"


Seen = TypeVar("Seen")


class FeedIndex(Generic[Seen]):
    """See the module. `definitions` is the SQL of the index's own tables, `version` theirs; a file of another version
    is built again."""

    def __init__(self, file: Path, stores: Mapping[str, Store], definitions: str, version: int) -> None:
        self._stores = stores
        self._connection = _opened(file, f"{_FEEDS}{definitions}; pragma user_version={version};", version)

    def close(self) -> None:
        self._connection.close()

    def catch_up(self) -> int:
        """Index what the stores have committed since the last time; how many changes that was."""
        return sum(self._catch_up(name, store) for name, store in self._stores.items())

    def build_again(self) -> None:
        """Index everything once more: what it says does not fit what is stored."""
        with self._transaction():
            for name in self._stores:
                self._forget(name)
        self.catch_up()

    def look(self, reader: Reader, change: Change) -> Seen | None:
        """What the index needs to know of an entity that was added, changed or deleted; None if nothing."""
        raise NotImplementedError

    def take(self, store: str, change: Change, seen: Seen) -> None:
        """Index it."""
        raise NotImplementedError

    def drop(self, store: str) -> None:
        """Remove all that is indexed of a store."""
        raise NotImplementedError

    def _catch_up(self, name: str, store: Store) -> int:
        indexed = 0
        with self._transaction():
            after = self._resumed(name, store)
        while True:
            with store.reading() as reader:
                host, changes = reader.host, reader.changes(after, BATCH)
                found = [(change, self.look(reader, change)) for change in changes]
            if not changes:
                return indexed
            with self._transaction():
                for change, seen in found:
                    if seen is not None:
                        self.take(name, change, seen)
                after = changes[-1].feed
                self._connection.execute("replace into feeds values (?, ?, ?)", (name, host, after)).fetchall()
            indexed += len(changes)

    def _resumed(self, name: str, store: Store) -> int:
        """The position in the store's feed behind which the index goes on. A store that was restored from a backup has
        an earlier feed, or does not know the host that the index saw last: its part of the index is built again."""
        rows = self._connection.execute("select host, feed from feeds where store = ?", (name,)).fetchall()
        if not rows:
            return 0
        host, feed = str(rows[0][0]), int(str(rows[0][1]))
        with store.reading() as reader:
            known = reader.local(
                "select (select feed from state), exists (select 1 from hosts where host = ?)", (host,)
            )
        if known[0][1] and known[0][0] >= feed:
            return feed
        self._forget(name)
        return 0

    def _forget(self, name: str) -> None:
        self.drop(name)
        self._connection.execute("delete from feeds where store = ?", (name,)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._connection:
            yield


def _opened(file: Path, definitions: str, wanted: int) -> apsw.Connection:
    """The index file, made if it is not there, and made again if it is of another version or damaged."""
    for attempt in (1, 2):
        connection = apsw.Connection(str(file))
        try:
            connection.set_busy_timeout(30_000)
            connection.execute("pragma journal_mode=wal").fetchall()
            # Nothing is lost with this file, so it need not survive a power cut.
            connection.execute("pragma synchronous=off").fetchall()
            version = connection.pragma("user_version")
            if version == 0:
                with connection:
                    if connection.pragma("user_version") == 0:  # another process may have made them meanwhile
                        connection.execute(definitions).fetchall()
                return connection
            if version == wanted:
                return connection
        except (apsw.NotADBError, apsw.CorruptError):
            if attempt == 2:
                raise
        connection.close()
        for ending in ("", "-wal", "-shm"):
            file.with_name(file.name + ending).unlink(missing_ok=True)
    raise AssertionError("a file that was just made has this version")
