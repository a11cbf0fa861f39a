"""Full-text search over replicated stores (docs/specs/05-store.md, section 14).

The index is a file of its own, `search.sqlite`, beside the stores. It is a consumer of their change feeds and never
part of a write: a write costs the same with or without it. It holds nothing that is not in the stores, so it can be
deleted at any time, and is then built again.

A search first catches up with the feeds, so it always finds what was committed before it began. The program says which
words stand for an entity; here nothing is known of types.

SQLite's tokenizer (FTS5, `unicode61`) finds whole words and beginnings of words, whatever their capitals and accents.
Chinese, Japanese and Thai are written without spaces, and it would take a whole sentence for one word. So a character
of these scripts is indexed as a word of its own, and a search for several of them is a search for the phrase.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from lottisync.store.reader import Document
from lottisync.store.store import Store

FILE = "search.sqlite"
VERSION = 1
"""Of the tables below; a file of another version is built again."""
BATCH = 1_000
"""Changes that are indexed in one transaction."""
MAX_WORDS = 32
"""Words of a query that are looked for; what a person types has fewer."""
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)
_SEPARATED = re.compile(rf" ?(\[?){_UNSPACED.pattern}(\]?) ?")
_TABLES = f"""
    create table feeds (store text primary key, host text not null, feed integer not null) strict;
    create virtual table texts using fts5(store unindexed, id unindexed, type unindexed, text,
        tokenize="unicode61 remove_diacritics 2");
    create table places (store text not null, id text not null, place integer not null, primary key (store, id)) strict;
    pragma user_version={VERSION};
"""


class Hit(NamedTuple):
    """An entity whose words match, and a piece of its text around them; `[` and `]` stand around each match."""

    store: str
    id: str
    type: str
    piece: str


class TextIndex:
    """See the module. `words` gives the text by which an entity is found; an empty one for an entity that is not."""

    def __init__(self, file: Path, stores: Mapping[str, Store], words: Callable[[Document], str]) -> None:
        self._stores, self._words = stores, words
        self._connection = _opened(file)

    def close(self) -> None:
        self._connection.close()

    def search(self, query: str, limit: int = 50) -> list[Hit]:
        """The entities that have all words of the query, the best match first. The last word may be a beginning."""
        self.catch_up()
        match = _match(query)
        if not match:
            return []
        return [
            Hit(str(store), str(entity), str(kind), _SEPARATED.sub(r"\1\2\3", str(piece)))
            for store, entity, kind, piece in self._connection.execute(
                "select store, id, type, snippet(texts, 3, '[', ']', ' … ', 12) from texts where texts match ?"
                " order by rank, rowid limit ?",
                (match, limit),
            )
        ]

    def catch_up(self) -> int:
        """Index what the stores have committed since the last time; how many entities that was."""
        return sum(self._catch_up(name, store) for name, store in self._stores.items())

    def _catch_up(self, name: str, store: Store) -> int:
        indexed = 0
        with self._transaction():
            after = self._resumed(name, store)
        while True:
            with store.reading() as reader:
                host = reader.host
                changes = reader.changes(after, BATCH)
                documents = [(change, reader.document(change.id)) for change in changes]
            if not changes:
                return indexed
            with self._transaction():
                for change, document in documents:
                    self._index(name, change.id, None if change.deleted else document)
                after = changes[-1].feed
                self._connection.execute("replace into feeds values (?, ?, ?)", (name, host, after)).fetchall()
            indexed += len(changes)

    def _resumed(self, name: str, store: Store) -> int:
        """The place in the store's feed behind which the index goes on. A store that was restored from a backup has an
        earlier feed, or does not know the host that the index saw last: its part of the index is built again."""
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
        for table in ("texts", "places", "feeds"):
            self._connection.execute(f"delete from {table} where store = ?", (name,)).fetchall()
        return 0

    def _index(self, store: str, entity: str, document: Document | None) -> None:
        old = self._connection.execute(
            "delete from places where store = ? and id = ? returning place", (store, entity)
        ).fetchall()
        if old:
            self._connection.execute("delete from texts where rowid = ?", old[0]).fetchall()
        text = _separated(self._words(document)) if document is not None else ""
        if document is None or not text.strip():
            return
        self._connection.execute(
            "insert into texts(store, id, type, text) values (?, ?, ?, ?)", (store, entity, document.type, text)
        ).fetchall()
        place = self._connection.last_insert_rowid()
        self._connection.execute("insert into places values (?, ?, ?)", (store, entity, place)).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._connection:
            yield


def _opened(file: Path) -> apsw.Connection:
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
                        connection.execute(_TABLES).fetchall()
                return connection
            if version == VERSION:
                return connection
        except (apsw.NotADBError, apsw.CorruptError):
            if attempt == 2:
                raise
        connection.close()
        for ending in ("", "-wal", "-shm"):
            file.with_name(file.name + ending).unlink(missing_ok=True)
    raise AssertionError("a file that was just made has this version")


def _separated(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _match(query: str) -> str:
    """The query in the language of FTS5: every word quoted, so that none of it is taken for an operator."""
    words = [_separated(word).split() for word in query.replace("\0", " ").split()[:MAX_WORDS]]
    phrases = ['"{}"'.format(" ".join(parts).replace('"', '""')) for parts in words if parts]
    phrases = [phrase for phrase in phrases if any(sign.isalnum() for sign in phrase)]
    return " ".join([*phrases[:-1], f"{phrases[-1]}*"]) if phrases else ""
