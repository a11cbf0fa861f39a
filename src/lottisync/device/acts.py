"""What was done on this device, and taking it back (docs/specs/11-command-line.md, section 6).

An *act* is one transaction in which somebody changed a store from one place, which may be a terminal or a browser. The
store keeps the newest acts in two local tables, in the transaction of the act itself: which entities it wrote to, and
what each register held before. An entity that the act made has no "before".

An act is taken back as a whole, or not at all. Each register must still hold what the act wrote, and nothing else: a
later write of anybody, and a concurrent one beside it, is left alone and named. To take back is an act, too, so it can
be taken back in turn.

A large act is taken back in several transactions, so that a daemon and other programs can write between them. First all
of it is looked at, and nothing is done if something was written since. Then it goes on even if the process is killed:
to take the act back once more does the rest.

If an act was taken back, its registers hold the old values again, under new dots. So the new dot *stands for* the dots
of the old values. That is how an older act can be taken back after a newer one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, is_deleted
from lottisync.entities.registers import Stamp
from lottisync.problem import Problem, Sentence
from lottisync.store import lookups, overwritten, tables
from lottisync.store.merge import Merge
from lottisync.store.reader import Document, Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

KEPT_ACTS = 200
"""The newest acts that can be taken back; older ones are forgotten."""
BATCH = 500
"""How many entities of an act are taken back in one transaction; a few more, so that what belongs together stays so."""
NAMED = 3
"""How many titles the sentence of an act names."""

TABLE = """
create table if not exists acts (n integer primary key autoincrement, at integer not null, place text not null,
    said text not null, host text not null, first integer not null, last integer not null,
    feed integer not null, undoes integer, redo integer not null, about text not null) strict;
create table if not exists act_writes (act integer not null, entity text not null, was text,
    primary key (act, entity)) strict, without rowid;
create table if not exists act_parts (act integer not null, host text not null, first integer not null,
    last integer not null) strict;
create table if not exists act_words (act integer primary key, words text not null) strict;
create table if not exists acts_begun (act integer primary key, undo integer not null) strict;
"""
"""`first` and `last` are the counters of the act's writes under `host`; `feed` is the place of the change feed up to
which they came; `undoes` is the act that it takes back, `redo` is 1 if that one took back another; `about` are ids of
what it concerned in another store, as a JSON array. `was` is null for an entity that the act made. `act_parts` are
the further transactions of an act that took several. `acts_begun` are the acts that are taken back in part, each with
the act that does so. `said` is the sentence in English, `words` the same with its template and values, so that it can
be shown in the reader's language (`_words`)."""


class Act(NamedTuple):
    """`n` is its number, `at` in ms. `undone_by` is the act that took it back. `about` are the ids of what it concerned
    in another store, `left` says of how many entities it is still to be taken back, where that was begun."""

    n: int
    at: int
    place: str
    said: Sentence
    undoes: int | None
    redo: bool
    undone_by: int | None
    about: list[str]
    left: int = 0

    @property
    def open(self) -> bool:
        """Whether the plain `undo` may take it back: nobody has, and it is no undo itself."""
        return self.undone_by is None and (self.undoes is None or self.redo)


class _Old(msgspec.Struct, array_like=True, frozen=True):
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


class _Dots:
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


Writer = Callable[[Stamp], str]
"""What a person calls the writer of a stamp; the program on top knows."""
UndoProgress = Callable[[int, int], None]
"""Called with how many entities are as before, and how many the act wrote to."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_Was = dict[str, _Old | None]
_read_was = msgspec.json.Decoder(_Was).decode


# -- noting


@contextmanager
def acting(store: Store, now: int, place: str, said: str) -> Iterator[Transaction]:
    """A transaction of a person's writes, at `now` (ms), that is noted as an act. `said` says what is done; the titles
    of what it was done to are added. A transaction that writes nothing is no act."""
    with store.transaction(now, HIGH) as tx:
        begun = tx.counter
        yield tx
        if tx.counter > begun:
            _note(tx, begun, place, said)


def note_elsewhere(
    store: Store, now: int, place: str, said: str, about: Iterable[str], undoes: int | None = None
) -> int:
    """Note an act whose writes are kept elsewhere, and that only another package can take back; or, with `undoes`, that
    it was taken back. Gives its number."""
    with store.transaction(now, None) as tx:
        ((number,),) = tx.execute(
            """insert into acts (at, place, said, host, first, last, feed, undoes, redo, about)
               values (?, ?, ?, '', 0, 0, 0, ?, 0, ?) returning n""",
            (now, place, str(said), undoes, _listed(about)),
        )
        _note_words(tx, number, said)
    return int(number)


def _note(tx: Transaction, begun: int, place: str, said: str, undoes: Act | None = None) -> int:
    dots = _Range(tx.host, begun + 1, tx.counter)
    written = overwritten.written_by(tx, *dots.bindings)
    idents = [ident for ident, _, _ in written]
    if undoes is None:
        said = said_of(_sentence(said), _titles(tx, idents))
    ((number,),) = tx.execute(
        """insert into acts (at, place, said, host, first, last, feed, undoes, redo, about)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, '[]') returning n""",
        (
            *(tx.now, place, str(said), *dots.bindings, max((feed for _, feed, _ in written), default=0)),
            *(undoes and undoes.n, int(undoes is not None and undoes.undoes is not None and not undoes.redo)),
        ),
    )
    _note_words(tx, number, said)
    _note_writes(tx, number, written, dots)
    for table in ("act_writes", "act_parts", "act_words", "acts_begun"):
        tx.execute(f"delete from {table} where act <= ?", (number - KEPT_ACTS,))
    tx.execute("delete from acts where n <= ?", (number - KEPT_ACTS,))
    return int(number)


def _note_part(tx: Transaction, begun: int, number: int) -> None:
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
    was: _Was = dict.fromkeys(paths)
    for path, writes in old.items():
        shown = max(writes, key=lambda each: (each.precedence, each.millis, each.ticks, each.host, each.counter))
        was[path] = _Old(msgspec.Raw(shown.value), [(each.host, each.counter) for each in writes])
    return msgspec.json.encode(was).decode()


def _titles(reader: Reader, idents: list[str]) -> Sentence | str:
    shown = ", ".join(title_of(reader.document(ident)) for ident in idents[:NAMED])
    more = len(idents) - NAMED
    return Sentence("{titles} and {count} more", titles=shown, count=f"{more:,}") if more > 0 else shown


def said_of(what: Sentence, titles: Sentence | str) -> Sentence:
    """The sentence of an act: what was done, and to what."""
    return Sentence("{what}: {titles}", what=what, titles=titles)


def _sentence(said: str) -> Sentence:
    """What is done, as a sentence that can be translated: a plain text is its own template."""
    return said if isinstance(said, Sentence) else Sentence(said)


class _Words(msgspec.Struct, array_like=True, frozen=True):
    """A sentence as it is stored: each value is a text or a sentence."""

    template: str
    values: dict[str, "str | _Words"] = {}


def _note_words(tx: Merge, number: int, said: str) -> None:
    tx.execute(
        "insert or replace into act_words values (?, ?)",
        (number, msgspec.json.encode(_words(_sentence(said))).decode()),
    )


def _words(said: Sentence) -> _Words:
    values = said.arguments.items()
    return _Words(said.template, {k: _words(v) if isinstance(v, Sentence) else str(v) for k, v in values})


def _read_words(words: _Words) -> Sentence:
    values = {k: _read_words(v) if isinstance(v, _Words) else v for k, v in words.values.items()}
    return Sentence(words.template, **values)


def _said(said: str, words: str | None) -> Sentence:
    """The sentence of an act; one that an earlier program noted has no words."""
    return Sentence(said) if words is None else _read_words(msgspec.json.decode(words, type=_Words))


def title_of(document: Document | None) -> str:
    """What a person knows an entity by: its title, name or text, else its type."""
    held = document.document() if document is not None else {}
    values = (held.get(path) for path in ("title", "displayName", "name", "text"))
    found = next((value for value in values if isinstance(value, str) and value), None)
    return found or (document.type if document is not None else "something that was forgotten")


# -- reading


_ACT = """select n, at, place, said, undoes, redo,
        (select words from act_words w where w.act = a.n),
        (select max(u.n) from acts u where u.undoes = a.n and u.n not in (select undo from acts_begun)), about,
        (select (select count(*) from act_writes w where w.act = a.n)
            - (select count(*) from act_writes w where w.act = b.undo) from acts_begun b where b.act = a.n)
    from acts a"""


def newest(reader: Reader, limit: int) -> list[Act]:
    """The newest acts, the last one first."""
    return [_act(*row) for row in reader.local(f"{_ACT} order by n desc limit ?", (limit,))]


def last_of(reader: Reader, place: str) -> Act:
    """The last act from a place that is not taken back. Raises `Problem` if there is none."""
    rows = reader.local(f"{_ACT} where place = ? order by n desc", (place,))
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
        text = "act {n} was taken back already, by act {by}"
        raise Problem("already", text, hint="redo", n=n, by=found.undone_by)
    return found


def about(reader: Reader, idents: Sequence[str]) -> Act | None:
    """The newest act about exactly these, if it is not taken back."""
    rows = reader.local(f"{_ACT} where about = ? order by n desc limit 1", (_listed(idents),))
    found = _act(*rows[0]) if rows else None
    return found if found is not None and found.open else None


def _listed(idents: Iterable[str]) -> str:
    return msgspec.json.encode(list(idents)).decode()


def _act(n: int, at: int, place: str, said: str, *rest: Any) -> Act:
    undoes, redo, words, by, about, left = rest
    idents = msgspec.json.decode(about, type=list[str])
    return Act(n, at, place, _said(said, words), undoes, bool(redo), by, idents, left or 0)


# -- taking back


def take_back(
    store: Store, now: int, place: str, act: Act, writer: Writer, progress: UndoProgress = lambda done, of: None
) -> Act:
    """Write back what an act replaced, and give the act that this is. `writer` names who wrote with a stamp. Raises
    `Problem` if something was written since; then nothing is changed. What is written while a large act is being taken
    back, or before somebody goes on with it, stays, and is counted in the `Problem` at the end."""
    with store.reading() as reader:
        numbered(reader, act.n)
        undoing, goes_on = _Undoing(reader, act.n, writer), _begun(reader, act.n) is not None
        batches = undoing.batches()
        if len(batches) > 1 and not goes_on:
            for ident in undoing.writes:
                undoing.restoration(ident)
    total, done = len(undoing.writes), 0
    for number, groups in enumerate(batches, 1):
        with store.transaction(now, HIGH) as tx:
            undo = _take_back_some(tx, place, undoing.at(tx), groups, last=number == len(batches))
        done += sum(map(len, groups))
        progress(done, total)
    with store.reading() as reader:
        if undoing.kept:
            raise Problem(
                "changed-since",
                "{kept} of {total} were changed meanwhile, and stay as they are. The others were taken back",
                hint="history",
                kept=len(undoing.kept),
                total=total,
            )
        return numbered(reader, undo)


def _take_back_some(tx: Transaction, place: str, undoing: "_Undoing", groups: list[list[str]], *, last: bool) -> int:
    """Take an act back from some entities, and give the number of the act that does so."""
    act = numbered(tx, undoing.number)
    undo = _begun(tx, act.n)
    before, restorations = tx.counter, list[_Restoration]()
    for idents in groups:
        if undo is None:
            restorations += [undoing.restoration(ident) for ident in idents]
        elif not any(_is_noted(tx, undo, ident) for ident in idents):
            restorations += undoing.possible(idents)
    for restoration in restorations:
        _restore(tx, restoration)
    if undo is None:
        undo = _note(tx, before, place, said_of_undo(act), act)
    else:
        _note_part(tx, before, undo)
    if last:
        tx.execute("delete from acts_begun where act = ?", (act.n,))
    else:
        tx.execute("insert or ignore into acts_begun values (?, ?)", (act.n, undo))
    return undo


def _is_noted(reader: Reader, act: int, ident: str) -> bool:
    return bool(reader.local("select 1 from act_writes where act = ? and entity = ?", (act, ident)))


def _begun(reader: Reader, number: int) -> int | None:
    """The act that takes back this one, and is not finished."""
    rows = reader.local("select undo from acts_begun where act = ?", (number,))
    return int(rows[0][0]) if rows else None


def said_of_undo(act: Act) -> Sentence:
    """The sentence of the act that takes this one back."""
    core = act.said.arguments.get("what", act.said) if act.undoes is not None else act.said
    if act.undoes is None or act.redo:
        return Sentence("took back ({what})", what=core)
    return Sentence("did again ({what})", what=core)


class _Restoration(NamedTuple):
    """What is written to take an act back from one entity. `deleted` says whether it is to be deleted, or brought back;
    None if the act did not touch that."""

    entity: Entity
    values: dict[str, bytes]
    deleted: bool | None


class _Undoing:
    """What one act wrote, against what is there now."""

    def __init__(self, reader: Reader, number: int, writer: Writer) -> None:
        self._reader, self._writer, self.number = reader, writer, number
        self._dots = _Dots(reader, number)
        ((self._feed,),) = reader.local("select feed from acts where n = ?", (number,))
        rows = reader.local("select entity, was from act_writes where act = ?", (number,))
        self.writes = {ident: _read_was(was) if was is not None else None for ident, was in rows}
        self.kept: set[str] = set()

    def at(self, reader: Reader) -> "_Undoing":
        """The same, against what is there in another transaction."""
        self._reader = reader
        self.__dict__.pop("_named_by", None)
        return self

    def batches(self) -> list[list[list[str]]]:
        """What the act wrote, in parts, each of groups of what has one owner. What was made last comes first, for it
        may name what was made before it."""
        entities, _ = tables.names(self._reader.schema)
        rows = self._reader.local(
            f"""with written as (select w.entity, e.n, coalesce(e.{self._reader.schema.owner_column}, w.entity) as owner
                    from act_writes w left join {entities} e on e.id = w.entity where w.act = ?)
                select entity, owner from written
                order by min(n) over (partition by owner) desc, owner, entity""",
            (self.number,),
        )
        parts: list[list[list[str]]] = [[]]
        for _, group in groupby(rows, key=itemgetter(1)):
            if sum(map(len, parts[-1])) >= BATCH:
                parts.append([])
            parts[-1].append([ident for ident, _ in group])
        return parts

    def possible(self, idents: list[str]) -> list["_Restoration"]:
        """What is written to take the act back from entities of one owner. Nothing if one of them was changed since:
        then they are all `kept`."""
        try:
            return [self.restoration(ident) for ident in idents]
        except Problem:
            self.kept.update(idents)
            return []

    def restoration(self, ident: str) -> "_Restoration":
        """What is written to take the act back from an entity. Raises `Problem` if it was changed since."""
        was, entity = self.writes[ident], self._reader.entity(ident)
        if entity is None:
            raise Problem(
                "changed-since", "something that was written then is forgotten by now. Nothing was taken back"
            )
        return self._removal(entity) if was is None else self._former(entity, was)

    def _removal(self, entity: Entity) -> _Restoration:
        """An entity that the act made is deleted, unless somebody wrote to it, or to something that names it."""
        for path in entity.registers if self._written_to(entity) else ():
            if any(dot not in self._dots for dot in self._standing(entity, path)):
                raise self._changed(entity, path)
        if (naming := self._named_by.get(entity.id)) is not None:
            raise self._used(entity, naming)
        return _Restoration(entity, {}, deleted=True)

    @cached_property
    def _named_by(self) -> dict[str, str]:
        """What live entities that changed since the act name, each with one that names it."""
        rows = [*lookups.live_since(self._reader, self._feed), *self._held_by_kept()]
        return {word: ident for ident, held in rows if self._stays(ident) for word in _ID.findall(held)}

    def _held_by_kept(self) -> Iterator[tuple[str, str]]:
        for ident in self.kept:
            entity = self._reader.entity(ident)
            if entity is not None:
                yield ident, entity.registers.stored.decode()

    def _stays(self, ident: str) -> bool:
        return ident not in self.writes or ident in self.kept

    def _written_to(self, entity: Entity) -> bool:
        """Whether anything in an entity is not of the act."""
        return any(stamp.dot not in self._dots for stamp in entity.registers.all_stamps())

    def _former(self, entity: Entity, was: _Was) -> _Restoration:
        """The values from before the act, in registers that hold nothing but what the act wrote."""
        if DELETED_AT not in was and is_deleted(entity):
            raise self._changed(entity, DELETED_AT)
        for path in was:
            standing = self._standing(entity, path)
            if not standing or any(dot not in self._dots for dot in standing):
                raise self._changed(entity, path)
        values = {path: bytes(old.value) if old is not None else b"null" for path, old in was.items()}
        deleted = values.pop(DELETED_AT, None)
        return _Restoration(entity, values, None if deleted is None else _says_deleted(deleted))

    def _standing(self, entity: Entity, path: str) -> set[Dot]:
        """The dots of what a register holds; a dot that took an act back counts as those from before that act."""
        found: set[Dot] = set()
        for dot in entity.dots(path):
            found |= self._stands_for(entity.id, path, dot)
        return found

    def _stands_for(self, ident: str, path: str, dot: Dot) -> set[Dot]:
        if dot in self._dots:
            return {dot}
        rows = self._reader.local(
            """select n, undoes from acts where host = ?1 and ?2 between first and last and undoes is not null
               union select n, undoes from acts join act_parts p on p.act = n
                   where p.host = ?1 and ?2 between p.first and p.last and undoes is not null""",
            tuple(dot),
        )
        if not rows:
            return {dot}
        ((undo, undone),) = rows
        for act in (undone, undo):
            was = self._was(act, ident)
            if path in was:
                old = was[path]
                before = [Dot(Host(host), counter) for host, counter in old.dots] if old is not None else []
                return {earlier for each in before for earlier in self._stands_for(ident, path, each)}
        return {dot}

    def _was(self, act: int, ident: str) -> _Was:
        rows = self._reader.local("select was from act_writes where act = ? and entity = ?", (act, ident))
        return _read_was(rows[0][0]) if rows and rows[0][0] is not None else {}

    # -- what stands in the way

    def _changed(self, entity: Entity, path: str) -> Problem:
        later = [write for write in entity.registers.get(path, ()) if write.stamp.dot not in self._dots]
        return Problem(
            "changed-since",
            "{title!r} was changed since, by {who}: {path} is {value} now. Nothing was taken back",
            hint="history",
            title=title_of(self._reader.document(entity.id)),
            who=self._writer(later[0].stamp) if later else "an undo",
            path=path,
            value=entity.registers[path][0].value.decode()[:80] if path in entity.registers else "absent",
            entity_id=entity.id,
        )

    def _used(self, entity: Entity, naming: str) -> Problem:
        by = self._reader.entity(naming)
        writes = [held[0] for held in by.registers.values()] if by is not None else []
        return Problem(
            "changed-since",
            "{title!r} is in use since then, by {other!r} of {who}. Nothing was taken back",
            hint="history",
            title=title_of(self._reader.document(entity.id)),
            other=title_of(self._reader.document(naming)),
            who=self._writer(max((write.stamp for write in writes), key=lambda stamp: stamp.hlc))
            if writes
            else "another program",
            entity_id=entity.id,
        )


def _says_deleted(value: bytes) -> bool:
    return isinstance(canonical.decode(value), dict)


def _restore(tx: Transaction, restoration: _Restoration) -> None:
    entity, values, deleted = restoration
    if deleted is False and is_deleted(entity):
        # Every register again, so that no older deletion covers it; but those of a conflict stay as they are.
        single = {
            path: bytes(raw) for path, raw in entity.registers.raw.items() if path not in entity.registers.siblings
        }
        values = single | values | {DELETED_AT: b"null"}
    if values:
        tx.keep(entity.id, values)
    if deleted and (values or not is_deleted(entity)):
        # Also over a deletion of the act's own: so this is a write of the undo, and the undo can be undone. With
        # the lower precedence: what a person writes to it elsewhere, without knowing of this, keeps it alive.
        tx.delete(entity.id, precedence=LOW)
