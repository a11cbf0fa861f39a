"""What was done on this device (docs/specs/11-command-line.md, section 6).

An *act* is one transaction in which somebody changed a store from one origin, which may be a terminal or a browser. The
store keeps the newest acts in local tables, in the transaction of the act itself: which entities it wrote to, and what
each register held before. An entity that the act made has no "before".

`acting` notes an act, and the functions below it find one again. `lottisync.device.reversal` takes an act back, from
what is noted here; that is an act, too.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from lottisync import wording
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem, Sentence
from lottisync.store import overwritten, tables
from lottisync.store.merge import Merge
from lottisync.store.reader import Document, Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

KEPT_ACTS = 200
"""The newest acts that can be taken back; older ones are forgotten."""
NAMED = 3
"""How many titles the sentence of an act names."""

TABLE = """
create table if not exists acts (n integer primary key autoincrement, at integer not null, origin text not null,
    said text not null, host text not null, first integer not null, last integer not null,
    feed integer not null, undoes integer, redo integer not null, about text not null) strict;
create table if not exists act_writes (act integer not null, entity text not null, was text,
    primary key (act, entity)) strict, without rowid;
create table if not exists act_parts (act integer not null, host text not null, first integer not null,
    last integer not null) strict;
create table if not exists act_words (act integer primary key, words text not null) strict;
create table if not exists acts_begun (act integer primary key, undo integer not null) strict;
"""
"""`first` and `last` are the counters of the act's writes under `host`; `feed` is the position in the change feed up to
which they came; `undoes` is the act that it takes back, `redo` is 1 if that one took back another; `about` are ids of
what it concerned in another store, as a JSON array. `was` is null for an entity that the act made. `act_parts` are
the further transactions of an act that took several. `acts_begun` are the acts that are taken back in part, each with
the act that does so. `said` is the sentence in English, `words` the same with its template and values, so that it can
be shown in the reader's language (`lottisync.wording`)."""


class Act(NamedTuple):
    """`n` is its number, `at` in ms. `undone_by` is the act that took it back. `about` are the ids of what it concerned
    in another store, `left` says of how many entities it is still to be taken back, where that was begun."""

    n: int
    at: int
    origin: str
    said: Sentence
    undoes: int | None
    redo: bool
    undone_by: int | None
    about: list[str]
    left: int = 0

    @property
    def open(self) -> bool:
        """Whether the plain `undo` may take it back: nobody has, and it is not an undo itself."""
        return self.undone_by is None and (self.undoes is None or self.redo)


class OldValue(msgspec.Struct, array_like=True, frozen=True):
    """The value that a register showed before an act, and the dots of all that it held."""

    value: msgspec.Raw
    dots: list[tuple[str, int]]


class _Range(msgspec.Struct, frozen=True):
    """The dots of an act."""

    host: str
    first: int
    last: int

    def __contains__(self, dot: tuple[str, int]) -> bool:
        host, counter = dot
        return host == self.host and self.first <= counter <= self.last

    @property
    def bindings(self) -> tuple[str, int, int]:
        return self.host, self.first, self.last


class ActDots:
    """The dots of an act, of all its transactions."""

    def __init__(self, reader: Reader, act: int) -> None:
        rows = reader.local(
            """select host, first, last from acts where n = ?1
               union all select host, first, last from act_parts where act = ?1""",
            (act,),
        )
        self._ranges = [_Range(*row) for row in rows]

    def __contains__(self, dot: tuple[str, int]) -> bool:
        return any(dot in each for each in self._ranges)


Before = dict[str, OldValue | None]
"""What the registers that an act wrote held before it; None for one that held nothing."""
read_before = msgspec.json.Decoder(Before).decode


# -- noting


@contextmanager
def acting(store: Store, now: int, origin: str, said: str) -> Iterator[Transaction]:
    """A transaction of the higher precedence, at `now` (ms), that is noted as an act. `said` says what is done; the
    titles of what it was done to are added. A transaction that writes nothing is not an act."""
    with store.transaction(now, HIGH) as tx:
        begun = tx.counter
        yield tx
        if tx.counter > begun:
            note_act(tx, begun, origin, said)


def note_elsewhere(
    store: Store, now: int, origin: str, said: str, about: Iterable[str], undoes: int | None = None
) -> int:
    """Note an act whose writes are kept elsewhere, and that only another package can take back; or, with `undoes`, that
    it was taken back. Gives its number."""
    with store.transaction(now, None) as tx:
        ((number,),) = tx.execute(
            """insert into acts (at, origin, said, host, first, last, feed, undoes, redo, about)
               values (?, ?, ?, '', 0, 0, 0, ?, 0, ?) returning n""",
            (now, origin, str(said), undoes, _listed(about)),
        )
        _note_words(tx, number, said)
    return int(number)


def note_rest(store: Store, now: int, act: Act, said: str, about: Iterable[str]) -> None:
    """Note what is left of an act whose writes are kept elsewhere, when a part of it was taken back."""
    with store.transaction(now, None) as tx:
        tx.execute("update acts set said = ?, about = ? where n = ?", (str(said), _listed(about), act.n))
        _note_words(tx, act.n, said)


def note_act(tx: Transaction, begun: int, origin: str, said: str, undoes: Act | None = None) -> int:
    dots = _Range(tx.host, begun + 1, tx.counter)
    written = overwritten.written_by(tx, *dots.bindings)
    idents = [ident for ident, _, _ in written]
    if undoes is None:
        said = said_of(_sentence(said), _titles(tx, idents, said))
    ((number,),) = tx.execute(
        """insert into acts (at, origin, said, host, first, last, feed, undoes, redo, about)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, '[]') returning n""",
        (
            *(tx.now, origin, str(said), *dots.bindings, max((feed for _, feed, _ in written), default=0)),
            *(undoes and undoes.n, int(undoes is not None and undoes.undoes is not None and not undoes.redo)),
        ),
    )
    _note_words(tx, number, said)
    _note_writes(tx, number, written, dots)
    for table in ("act_writes", "act_parts", "act_words", "acts_begun"):
        tx.execute(f"delete from {table} where act <= ?", (number - KEPT_ACTS,))
    tx.execute("delete from acts where n <= ?", (number - KEPT_ACTS,))
    return int(number)


def note_part(tx: Transaction, begun: int, number: int) -> None:
    """Note a further transaction of an act."""
    dots = _Range(tx.host, begun + 1, tx.counter)
    written = overwritten.written_by(tx, *dots.bindings)
    if written:
        tx.execute("insert into act_parts values (?, ?, ?, ?)", (number, *dots.bindings))
        tx.execute("update acts set feed = ? where n = ?", (max(feed for _, feed, _ in written), number))
        _note_writes(tx, number, written, dots)


def _note_writes(tx: Transaction, number: int, written: list[tuple[str, int, bool]], dots: _Range) -> None:
    for ident, _, new in written:
        was = None if new else _before(tx, ident, dots)
        tx.execute("insert into act_writes values (?, ?, ?)", (number, ident, was))


def _before(tx: Transaction, ident: str, dots: _Range) -> str | None:
    """What the registers that the act wrote held before it; None if the act made the entity."""
    entity = tx.entity(ident)
    assert entity is not None, "it was written just now"
    old: dict[str, list[Any]] = {}
    for write in tx.overwritten(ident):
        if (write.by_host, write.by_counter) in dots and (write.host, write.counter) not in dots:
            old.setdefault(write.path, []).append(write)
    paths = [path for path in entity.registers if any(dot in dots for dot in entity.dots(path))]
    if not old and len(paths) == len(entity.registers):
        return None
    was: Before = dict.fromkeys(paths)
    for path, writes in old.items():
        shown = max(writes, key=lambda each: (each.precedence, each.millis, each.ticks, each.host, each.counter))
        was[path] = OldValue(msgspec.Raw(shown.value), [(each.host, each.counter) for each in writes])
    return msgspec.json.encode(was).decode()


def _titles(reader: Reader, idents: list[str], said: str) -> Sentence | str:
    """What an act was done to, each thing once: without what belongs to something that is named, and without what
    `said` names already."""
    owners = _owners(reader, idents)
    roots = [ident for ident in idents if owners.get(ident) in (None, ident) or owners[ident] not in owners]
    known = _values(said) if len(roots) > 1 else set[str]()
    titles, title = list[str](), ""
    while roots and len(titles) < NAMED:
        ident = roots.pop(0)
        title = _title(reader, ident, owners.get(ident))
        titles += [title] if title not in {*titles, *known} else []
    shown, more = ", ".join(titles) or title, len(roots)
    return Sentence("{titles} and {count} more", titles=shown, count=f"{more:,}") if more > 0 else shown


def _owners(reader: Reader, idents: list[str]) -> dict[str, str | None]:
    entities, _ = tables.names(reader.schema)
    column = reader.schema.owner_column
    rows = reader.local(
        f"select id, {column} from {entities} where id in (select value from json_each(?))", (_listed(idents),)
    )
    return dict(rows)


def _values(said: str) -> set[str]:
    """The names in the sentence of an act: what it says of itself, apart from what it was done to."""
    held = said.arguments.values() if isinstance(said, Sentence) else ()
    return {name for value in held for name in str(value).split(", ")}


def _title(reader: Reader, ident: str, owner: str | None) -> str:
    """The title by which a person knows an entity. For a link it is that of the entity it leads from, and for an entity
    without a title that of its owner."""
    document = reader.document(ident)
    held = document.document() if document is not None else {}
    if "fromId" in held:
        return title_of(reader.document(str(held["fromId"])))
    return _own_title(document) or title_of(reader.document(owner) if owner else document)


def said_of(what: Sentence, titles: Sentence | str) -> Sentence:
    """The sentence of an act: what was done, and to what."""
    return Sentence("{what}: {titles}", what=what, titles=titles)


def done_in(act: Act) -> Sentence:
    """What was done in an act, without what it was done to."""
    what = act.said.arguments.get("what")
    return what if isinstance(what, Sentence) else act.said


def said_of_undo(act: Act) -> Sentence:
    """The sentence of the act that takes this one back."""
    core = act.said.arguments.get("what", act.said) if act.undoes is not None else act.said
    if act.undoes is None or act.redo:
        return Sentence("took back ({what})", what=core)
    return Sentence("did again ({what})", what=core)


def _sentence(said: str) -> Sentence:
    """What is done, as a sentence that can be translated: a plain text is its own template."""
    return said if isinstance(said, Sentence) else Sentence(said)


def _note_words(tx: Merge, number: int, said: str) -> None:
    tx.execute(
        "insert or replace into act_words values (?, ?)",
        (number, wording.column(_sentence(said))),
    )


def _said(said: str, words: str | None) -> Sentence:
    """The sentence of an act; one that an earlier program noted has no words."""
    return Sentence(said) if words is None else wording.of_column(words)


def title_of(document: Document | None) -> str:
    """What a person knows an entity by: its title, name or text, else its type."""
    return _own_title(document) or (document.type if document is not None else "something that was forgotten")


def _own_title(document: Document | None) -> str:
    held = document.document() if document is not None else {}
    values = (held.get(path) for path in ("title", "name", "text"))
    return next((value for value in values if isinstance(value, str) and value), "")


# -- reading


_ACT = """select n, at, origin, said, undoes, redo,
        (select words from act_words w where w.act = a.n),
        (select max(u.n) from acts u where u.undoes = a.n and u.n not in (select undo from acts_begun)), about,
        (select (select count(*) from act_writes w where w.act = a.n)
            - (select count(*) from act_writes w where w.act = b.undo) from acts_begun b where b.act = a.n)
    from acts a"""


def newest(reader: Reader, limit: int) -> list[Act]:
    """The newest acts, the last one first."""
    return [_act(*row) for row in reader.local(f"{_ACT} order by n desc limit ?", (limit,))]


def last_of(reader: Reader, origin: str) -> Act:
    """The last act from an origin that is not taken back. Raises `Problem` if there is none."""
    rows = reader.local(f"{_ACT} where origin = ? order by n desc", (origin,))
    found = next((act for row in rows if (act := _act(*row)).open), None)
    if found is None:
        raise Problem("nothing-to-undo", "nothing that was done from here can be taken back", hint="acts")
    return found


def numbered(reader: Reader, n: int) -> Act:
    """The act with this number, which is not taken back yet. Raises `Problem` for any other number."""
    rows = reader.local(f"{_ACT} where n = ?", (n,))
    if not rows:
        raise Problem("unknown-act", "there is no act {n}, or it is too long ago", hint="acts", n=n)
    found = _act(*rows[0])
    if found.undone_by is not None:
        raise Problem("already", "act {n} was taken back already, by act {by}", hint="redo", n=n, by=found.undone_by)
    return found


def about(reader: Reader, idents: Iterable[str]) -> list[tuple[Act, list[str]]]:
    """The acts that are not taken back and were about some of these, each with what else it was about. Of two acts
    about one thing, only the newer one is."""
    wanted, found = set(idents), list[tuple[Act, list[str]]]()
    for row in reader.local(f"{_ACT} where about <> '[]' order by n desc"):
        act = _act(*row)
        if act.open and not wanted.isdisjoint(act.about):
            found.append((act, [ident for ident in act.about if ident not in wanted]))
            wanted.difference_update(act.about)
    return found


def _listed(idents: Iterable[str]) -> str:
    return msgspec.json.encode(list(idents)).decode()


def _act(n: int, at: int, origin: str, said: str, *rest: Any) -> Act:
    undoes, redo, words, by, about, left = rest
    idents = msgspec.json.decode(about, type=list[str])
    return Act(n, at, origin, _said(said, words), undoes, bool(redo), by, idents, left or 0)
