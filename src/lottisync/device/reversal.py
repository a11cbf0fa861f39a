"""Taking an act back (docs/specs/11-command-line.md, section 6).

An act (`lottisync.device.acts`) is taken back as a whole, or not at all. Each register must still hold what the act
wrote, and nothing else: a later write of anybody, and a concurrent one beside it, is left alone and named. To take back
is an act, too, so it can be taken back in turn.

A large act is taken back in several transactions, so that a daemon and other programs can write between them. First all
of it is looked at, and nothing is done if something was written since. Then it goes on even if the process is killed:
to take the act back once more does the rest.

If an act was taken back, its registers hold the old values again, under new dots. So the new dot *stands for* the dots
of the old values. That is how an older act can be taken back after a newer one.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from lottisync.causality.vector_clock import Dot, Host
from lottisync.device import acts
from lottisync.device.acts import Act
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, is_deleted
from lottisync.entities.registers import Stamp
from lottisync.problem import Problem, Sentence
from lottisync.store import lookups, tables
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

BATCH = 500
"""How many entities of an act are taken back in one transaction; a few more, so that what belongs together stays so."""
Writer = Callable[[str, Stamp], str]
"""What a person calls the writer of a register, by path and stamp; the program on top knows."""
UndoProgress = Callable[[int, int], None]
"""Called with how many entities are as before, and how many the act wrote to."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")


def take_back(
    store: Store, now: int, origin: str, act: Act, writer: Writer, progress: UndoProgress = lambda done, of: None
) -> Act:
    """Write back what an act replaced, and give the act that this is. `writer` names who wrote. Raises
    `Problem` if something was written since; then nothing is changed. What is written while a large act is being taken
    back, or before somebody goes on with it, stays, and is counted in the `Problem` at the end."""
    with store.reading() as reader:
        acts.numbered(reader, act.n)
        undoing, goes_on = _Undoing(reader, act.n, writer), _begun(reader, act.n) is not None
        batches = undoing.batches()
        if len(batches) > 1 and not goes_on:
            for ident in undoing.writes:
                undoing.restoration(ident)
    total, done = len(undoing.writes), 0
    for number, groups in enumerate(batches, 1):
        with store.transaction(now, HIGH) as tx:
            undo = _take_back_some(tx, origin, undoing.at(tx), groups, last=number == len(batches))
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
        return acts.numbered(reader, undo)


def _take_back_some(tx: Transaction, origin: str, undoing: "_Undoing", groups: list[list[str]], *, last: bool) -> int:
    """Take an act back from some entities, and give the number of the act that does so."""
    act = acts.numbered(tx, undoing.number)
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
        undo = acts.note_act(tx, before, origin, acts.said_of_undo(act), act)
    else:
        acts.note_part(tx, before, undo)
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
        self._dots = acts.ActDots(reader, number)
        ((self._feed,),) = reader.local("select feed from acts where n = ?", (number,))
        rows = reader.local("select entity, was from act_writes where act = ?", (number,))
        self.writes = {ident: acts.read_before(was) if was is not None else None for ident, was in rows}
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

    def _former(self, entity: Entity, was: acts.Before) -> _Restoration:
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

    def _was(self, act: int, ident: str) -> acts.Before:
        rows = self._reader.local("select was from act_writes where act = ? and entity = ?", (act, ident))
        return acts.read_before(rows[0][0]) if rows and rows[0][0] is not None else {}

    # -- what stands in the way

    def _changed(self, entity: Entity, path: str) -> Problem:
        later = [write for write in entity.registers.get(path, ()) if write.stamp.dot not in self._dots]
        return Problem(
            "changed-since",
            "{title!r} was changed since, by {who}: {path} is {value} now. Nothing was taken back",
            hint="history",
            title=acts.title_of(self._reader.document(entity.id)),
            who=self._writer(path, later[0].stamp) if later else Sentence("an undo"),
            path=path,
            value=entity.registers[path][0].value.decode()[:80] if path in entity.registers else "absent",
            entity_id=entity.id,
        )

    def _used(self, entity: Entity, naming: str) -> Problem:
        by = self._reader.entity(naming)
        writes = [(path, held[0].stamp) for path, held in by.registers.items()] if by is not None else []
        return Problem(
            "changed-since",
            "{title!r} is in use since then, by {other!r} of {who}. Nothing was taken back",
            hint="history",
            title=acts.title_of(self._reader.document(entity.id)),
            other=acts.title_of(self._reader.document(naming)),
            who=self._writer(*max(writes, key=lambda write: write[1].hlc)) if writes else Sentence("another program"),
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
