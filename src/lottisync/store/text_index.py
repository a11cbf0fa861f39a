"""Full-text search over replicated stores (docs/specs/05-store.md, section 14).

The index is a file of its own, `search.index` (`lottisync.store.feed_index`). The program says by which words an entity
is found; here nothing is known of types.

SQLite's tokenizer (FTS5, `unicode61`) finds whole words and beginnings of words, whatever their capitals and accents.
Chinese, Japanese and Thai are written without spaces, and it would take a whole sentence for one word. So a character
of these scripts is indexed as a word of its own, and a search for several of them is a search for the phrase.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from lottisync.store.feed_index import FeedIndex
from lottisync.store.reader import Change, Document, Reader
from lottisync.store.store import Store

FILE = "search.index"
VERSION = 2
"""The version of the tables below."""
MAX_WORDS = 32
"""Words of a query that are looked for; what a person types has fewer."""
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)
_SEPARATED = re.compile(rf" ?(\[?){_UNSPACED.pattern}(\]?) ?")
_TABLES = """
    create virtual table texts using fts5(store unindexed, id unindexed, type unindexed, text,
        tokenize="unicode61 remove_diacritics 2");
    create table rowids (store text not null, id text not null, text_rowid integer not null,
        primary key (store, id)) strict
"""


class Hit(NamedTuple):
    """An entity whose words match, and a piece of its text around them; each match is between `[` and `]`."""

    store: str
    id: str
    type: str
    piece: str


class TextIndex(FeedIndex[str]):
    """See the module. `words` gives the text by which an entity is found; an empty one for an entity that is not."""

    def __init__(self, file: Path, stores: Mapping[str, Store], words: Callable[[Document], str]) -> None:
        super().__init__(file, stores, _TABLES, VERSION)
        self._words = words

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

    def look(self, reader: Reader, change: Change) -> str:
        document = None if change.deleted else reader.document(change.id)
        return _separated(self._words(document)) if document is not None else ""

    def take(self, store: str, change: Change, seen: str) -> None:
        entity = change.id
        old = self._connection.execute(
            "delete from rowids where store = ? and id = ? returning text_rowid", (store, entity)
        ).fetchall()
        if old:
            self._connection.execute("delete from texts where rowid = ?", old[0]).fetchall()
        if not seen.strip():
            return
        self._connection.execute(
            "insert into texts(store, id, type, text) values (?, ?, ?, ?)", (store, entity, change.type, seen)
        ).fetchall()
        rowid = self._connection.last_insert_rowid()
        self._connection.execute("insert into rowids values (?, ?, ?)", (store, entity, rowid)).fetchall()

    def drop(self, store: str) -> None:
        for table in ("texts", "rowids"):
            self._connection.execute(f"delete from {table} where store = ?", (store,)).fetchall()


def _separated(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _match(query: str) -> str:
    """The query in the language of FTS5: every word quoted, so that none of it is taken for an operator."""
    words = [_separated(word).split() for word in query.replace("\0", " ").split()[:MAX_WORDS]]
    phrases = ['"{}"'.format(" ".join(parts).replace('"', '""')) for parts in words if parts]
    phrases = [phrase for phrase in phrases if any(sign.isalnum() for sign in phrase)]
    return " ".join([*phrases[:-1], f"{phrases[-1]}*"]) if phrases else ""
