"""Writing: one transaction of a replicated store (docs/specs/05-store.md, sections 3 to 6).

A write takes the next counter of the store's host in the transaction that stores it, so a counter is
never burnt and never used twice; neither host nor counter outlives the transaction in memory. All
that a change entails is kept in step here: the row, the index over its clock, the digest (the *stored*
hash is subtracted and the new one added), the chain, the history of what was overwritten, the feed.

What goes into the tables is gathered in a `WriteBuffer` and written together; anything that reads sees it, because
reading writes it down first.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

import apsw

from lottisync.causality import hlc, vector_clock
from lottisync.causality.chain import chained, genesis
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.entities import canonical, path, version
from lottisync.entities.entity import (
    DELETED_AT,
    Entity,
    EqualDots,
    deletion,
    has_conflict,
    is_deleted,
    join,
    succeeds,
    write,
)
from lottisync.entities.identifier import made_once
from lottisync.entities.link import FROM_ID, TO_ID
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.revival import revived
from lottisync.entities.schema import EntityType, StoreSchema, link_id
from lottisync.entities.version import BadVersion, Damaged, Version
from lottisync.problem import LocalError, Problem
from lottisync.store import chain, notice, quarantine
from lottisync.store.columns import (
    CREATED_AT,
    deleted_at,
    lasting_columns,
    lasting_columns_are_kept,
    own_column_names,
    own_columns,
    updated_at,
)
from lottisync.store.instant import iso
from lottisync.store.quarantine import Kept, Quarantine
from lottisync.store.reader import Moment, Reader, Row
from lottisync.store.statements import Statements, statements_for
from lottisync.store.write_buffer import GATHERED_ROWS, WriteBuffer

MODULUS = 2**256

BEGIN = f"""select s.host, s.counter, s.millis, s.ticks, s.digest, s.n, s.feed, h.n, {chain.OWN_VALUE},
        exists (select 1 from quarantine), exists (select 1 from forgotten)
    from state s join hosts h on h.host = s.host"""
"""All that a transaction has to know of its store, in one look."""
INSERT_COMPONENT = "insert into components values (?, ?, ?)"
DELETE_COMPONENT = "delete from components where host = ? and counter = ? and n = ?"


class _Place(NamedTuple):
    """Where versions of a type go; `described` is None for a type that this device has never heard of."""

    described: EntityType | None
    statements: Statements


class Transaction(Reader):
    """Writes within one transaction; reads in it see them. Made by `Store.transaction`."""

    def __init__(
        self,
        schema: StoreSchema,
        connection: apsw.Connection,
        mint: Callable[[], Host],
        now: int,
        precedence: int | None,
    ) -> None:
        super().__init__(schema, connection)
        self.now = now
        self.precedence = precedence
        self.changed = False
        self._mint = mint
        self._host: Host
        self._number: int
        self._counter: int
        self._n: int
        self._feed: int
        kept: int
        forgotten: int
        (self._host, self._counter, millis, ticks, digest, self._n, self._feed, self._number, link, kept, forgotten) = (
            self._execute(BEGIN)[0]
        )
        self._clock = Hlc(millis, ticks)
        self._sum = int.from_bytes(digest, "big")
        self._numbers: dict[str, int] = {self._host: self._number}
        self._places: dict[str, _Place] = {}
        self._link: bytes = bytes(link or genesis(self._host))
        self._quarantined = Quarantine(connection, empty=not kept)
        self._forgotten: Clock | None = None if forgotten else {}
        self.ahead: dict[Host, int] = {}
        """Hosts whose clocks are so far ahead that this one does not follow, with the latest time they said (ms)."""
        self._absent: set[str] = set()
        """Ids that were looked for, and that have no row."""
        # Components are inserted before any is deleted: one that has gone never comes back.
        self._buffer = WriteBuffer(connection, (INSERT_COMPONENT, DELETE_COMPONENT))

    # -- what a transaction knows that is not in its tables yet

    @property
    def host(self) -> Host:
        return self._host

    @property
    def counter(self) -> int:
        return self._counter

    def digest(self) -> bytes:
        return (self._sum % MODULUS).to_bytes(32, "big")

    def knowledge(self) -> dict[Host, int]:
        known = super().knowledge()
        if self._counter:
            known[self.host] = self._counter
        return dict(sorted(known.items()))

    def moment(self) -> Moment:
        self.finish()
        return super().moment()

    def held_beyond(self) -> list[tuple[Host, int, str]]:
        self.finish()  # the query reads our own counter from its table
        return super().held_beyond()

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        self._buffer.flush()
        return self._execute(sql, bindings)

    # -- writes

    def put(
        self,
        entity_id: str,
        type_name: str,
        fields: Mapping[str, Any],
        *,
        precedence: int | None = None,
        seen: Clock | None = None,
    ) -> Dot:
        """Write `fields` (nested or flat; see `path.flatten`) in one write with one dot (STORE-3), with the
        transaction's precedence, or a lower one.

        `seen` is the clock that the writer had read; what is here beyond it stays as siblings. Raises
        `Problem` for an id of another type, an empty write, a document that is too large, and for an id,
        a type, a path or a value that no peer would take."""
        try:
            version.validated_id(entity_id)
            version.validated_type(type_name)
            values = path.flatten(fields)
            if not values:
                raise Problem("empty-write", f"a write to {entity_id} needs at least one field")
            row = self._row(entity_id)
            if row is None and DELETED_AT not in values and not self._begins_from(entity_id):
                return self._write_new(entity_id, type_name, values, self._allowed(precedence))
            encoded = {p: canonical.encode_normal(value) for p, value in values.items()}
            return self._write(row, entity_id, type_name, encoded, self._allowed(precedence), seen)
        except (BadVersion, path.PathError, canonical.NotCanonical) as error:
            raise Problem("bad-value", f"{entity_id[:80]!r} cannot be written: {error}") from None

    def put_all(self, entities: Iterable[tuple[str, str, Mapping[str, Any]]], *, precedence: int | None = None) -> None:
        """`put` each of (id, type, fields). Which of them are not here yet is looked up for many at once."""
        remaining = iter(entities)
        while some := list(islice(remaining, GATHERED_ROWS)):
            self._look_for([entity_id for entity_id, _, _ in some])
            for entity_id, type_name, fields in some:
                self.put(entity_id, type_name, fields, precedence=precedence)

    def link(
        self,
        type_name: str,
        from_id: str,
        to_id: str,
        fields: Mapping[str, Any] = {},
        *,
        precedence: int | None = None,
    ) -> Dot:
        """Link two entities. A link that is there already is said anew not to be deleted; one that was deleted is
        brought back as by `undelete`."""
        ident = link_id(type_name, from_id, to_id)
        entity = self.entity(ident)
        if entity is None:
            values = {FROM_ID: from_id, TO_ID: to_id, CREATED_AT: iso(self.now)}
        else:
            values = (entity.document() if is_deleted(entity) else {}) | {DELETED_AT: None}
        return self.put(ident, type_name, {**values, **fields}, precedence=precedence)

    def keep(self, entity_id: str, values: Mapping[str, bytes], *, precedence: int | None = None) -> Dot:
        """Write values that are held here anew, by path and as the bytes that they are: a map that somebody wrote as
        one value stays one, which `put` would split."""
        row, entity = self._existing(entity_id)
        return self._write(row, entity_id, entity.type, values, self._allowed(precedence), None)

    def delete(self, entity_id: str, *, precedence: int | None = None) -> Dot:
        """Write a tombstone that records what the deleter saw."""
        row, entity = self._existing(entity_id)
        value = deletion(iso(self.now), entity.clock)
        return self._write(row, entity_id, entity.type, {DELETED_AT: value}, self._allowed(precedence), None)

    def undelete(self, entity_id: str, *, precedence: int | None = None) -> Dot:
        """Bring an entity back: every register is written anew, so that no older deletion covers it."""
        row, entity = self._existing(entity_id)
        values = {p: writes[0].value for p, writes in entity.registers.items()}
        return self._write(row, entity_id, entity.type, values | {DELETED_AT: b"null"}, self._allowed(precedence), None)

    def _allowed(self, precedence: int | None) -> int:
        """The precedence of a write: the transaction's, or a lower one that was asked for (STORE-31)."""
        if self.precedence is None:
            raise LocalError("a transaction that was opened without a precedence writes nothing of its own")
        if precedence is None:
            return self.precedence
        if precedence > self.precedence:
            raise LocalError(f"a transaction of precedence {self.precedence} cannot write with precedence {precedence}")
        return precedence

    def _existing(self, entity_id: str) -> tuple[Row, Entity]:
        row = self._row(entity_id)
        if row is None:
            raise Problem("unknown-id", f"there is no {entity_id} in the {self.schema.name} store")
        return row, version.open_stored(row.version)

    def _begins_from(self, entity_id: str) -> Clock:
        """The clock under the first write on an absent id: all that was forgotten, for the id may have been among
        it; nothing if the id is one that is made once (FORGET-6)."""
        if self._forgotten is None:
            self._forgotten = self.forgotten()
        return {} if not self._forgotten or made_once(entity_id) else self._forgotten

    def _write_new(self, entity_id: str, type_name: str, values: dict[str, Any], precedence: int) -> Dot:
        """The first write of an entity: its version is made straight from the values."""
        place = self._place(type_name)
        own = own_columns(place.described, entity_id, type_name, values.get)
        document = canonical.encode_normal(values)
        if len(document) > version.MAX_DOCUMENT:
            raise _too_large(entity_id, len(document))
        self._clock = hlc.tick(self._clock, self.now)
        self._counter += 1
        dot = Dot(self._host, self._counter)
        made = version.first(entity_id, type_name, precedence, self._clock, dot, document)
        version_hash = self._add_new(place.statements, own, made, self._clock.millis, values.get(CREATED_AT))
        self._buffer.add(INSERT_COMPONENT, (self._number, self._counter, self._n))
        self._extend_chain(version_hash)
        return dot

    def _write(
        self,
        row: Row | None,
        entity_id: str,
        type_name: str,
        values: Mapping[str, bytes],
        precedence: int,
        seen: Clock | None,
    ) -> Dot:
        entity = (
            version.open_stored(row.version)
            if row
            else Entity(entity_id, type_name, self._begins_from(entity_id), Registers.of({}))
        )
        if entity.type != type_name:
            raise Problem("wrong-type", f"{entity_id} is a {entity.type}, not a {type_name}")
        reading = hlc.tick(self._clock, self.now)
        stamp = Stamp(precedence, reading.millis, reading.ticks, self._host, self._counter + 1)
        after = write(entity, values, stamp, seen)
        changes = after.registers.differing(entity.registers)
        closed = version.close(after)
        if len(closed.document) > version.MAX_DOCUMENT or closed.size() > version.MAX_VERSION:
            raise _too_large(entity_id, len(closed.document))
        written = self._store(row, entity, after, closed, changes)
        assert written is not None, "a write always changes the clock"
        self._clock, self._counter = reading, stamp.counter
        self._extend_chain(written)
        return stamp.dot

    def _extend_chain(self, version_hash: bytes) -> None:
        self._link = chained(self._link, version_hash)
        self._buffer.link(self._number, self._counter, self._link)

    # -- what comes from peers

    def apply(
        self,
        versions: Iterable[tuple[Version, Entity]],
        *,
        revive_absent: Clock | None = None,
        clashes: list[tuple[Version, Entity]] | None = None,
    ) -> int:
        """Join versions that came from a peer, already checked; returns how many changed a row. One that is
        good by itself and cannot be taken into what is here goes to quarantine: of another type under the same
        id, a link under another's id, or too large once joined.

        Joining is not a write: it takes no counter and leaves the knowledge as it is. If a clock shows
        our own host beyond our own counter, this store was rolled back, and gets a new host (STORE-9).

        With `revive_absent` (what was forgotten, here and there), what is not here is revived over it. What a join
        cannot settle (a row here that can't be read, a dot with two meanings) is put into `clashes`, for
        `lottisync.store.mending`; without that list it raises."""
        changed = 0
        versions = list(versions)
        self._look_for([incoming.id for incoming, _ in versions])
        for incoming, entity in versions:
            self._observe(entity)
            row = self._row(incoming.id)
            if row is not None and row.version == incoming:
                continue
            try:
                present = version.open_stored(row.version) if row else None
                joined, changes = self._joined(present, entity)
                closed = incoming if joined is entity else _refuse_over_limit(version.close(joined))
            except BadVersion as error:
                self.quarantine(incoming, str(error))
                continue
            except (EqualDots, Damaged):
                if clashes is None:
                    raise
                clashes.append((incoming, entity))
                continue
            if self._store(row, present, joined, closed, changes) is not None:
                changed += 1
            self._notice_own_future(entity.clock)
            if present is None and revive_absent is not None:
                self.revive(incoming.id, revive_absent)
        return changed

    def _observe(self, entity: Entity) -> None:
        """Let the clock follow what the entity's writers' clocks said."""
        for stamp in entity.registers.all_stamps():
            if (stamp.millis, stamp.ticks) > self._clock:
                self._clock = hlc.observe(self._clock, stamp.hlc, self.now)
                if hlc.is_far_future(stamp.hlc, self.now):
                    self.ahead[stamp.host] = max(stamp.millis, self.ahead.get(stamp.host, 0))

    def _joined(self, present: Entity | None, entity: Entity) -> tuple[Entity, set[str]]:
        """What is here and what came as one, and in which paths that differs from what is here."""
        self._refuse_strange_link(entity)
        if present is None:
            return entity, set()
        if present.type != entity.type:
            raise BadVersion(f"{entity.id} is a {present.type} here, and came as a {entity.type}")
        changes = entity.registers.differing(present.registers)
        if succeeds(entity, present, changes):
            return entity, changes
        joined = join(present, entity)
        self._refuse_strange_link(joined)
        return joined, joined.registers.differing(present.registers)

    def _refuse_strange_link(self, entity: Entity) -> None:
        described = self._place(entity.type).described
        if described is not None and described.link:
            own_columns(described, entity.id, entity.type, entity.value)

    def quarantine(self, incoming: Version, reason: str) -> None:
        """Keep a version that cannot be taken as the bytes that came, unless what is here has seen it already.
        Raises `BadVersion` if not even its id and its clock can be read."""
        clock = version.clock_of(incoming)
        row = self._row(incoming.id)
        seen_by_row = row is not None and vector_clock.covers(quarantine.clock_or_none(row.version), clock)
        kept = self._quarantined.of(incoming.id)
        if not seen_by_row and not any(k.version == incoming or _passes(k.clock, clock) for k in kept):
            if row is not None:
                self._sum -= self._weight(row)
            for old in kept:
                if _passes(clock, old.clock):
                    self._release(old)
            self._n += 1
            new = Kept(self._n, incoming, clock, incoming.hash(), quarantine.counts(incoming), reason)
            self._quarantined.add(new)
            self._sum += new.weight
            self.index(self._n, clock)
            if row is not None:
                self._sum += self._weight(row)
            self.changed = True
        self._notice_own_future(clock)

    def kept_now(self) -> list[Kept]:
        """What this transaction has put into quarantine."""
        return self._quarantined.added

    def _release(self, kept: Kept) -> None:
        """Something here has seen all that a kept version had: it is of the past."""
        self._buffer.flush()  # its components may be among what is gathered
        self._quarantined.remove(kept)
        self._sum -= kept.weight

    def _weight(self, row: Row) -> int:
        """What a row adds to the digest: nothing if something in quarantine stands for it."""
        counted = not row.clean_tombstone and not self._stood_for(row.version)
        return int.from_bytes(row.hash, "big") if counted else 0

    def _stood_for(self, made: Version) -> bool:
        return self._quarantined.stands_for(made)

    def _notice_own_future(self, clock: Clock) -> None:
        if clock.get(self._host, 0) > self._counter:
            self.rolled_back()

    def adopt(self, knowledge: Clock) -> None:
        """Take over a peer's knowledge: allowed only when every frame of its round is in (SYNC-4)."""
        for host, known in knowledge.items():
            number = self._host_number(host)
            self._execute("update hosts set known = max(known, ?) where n = ?", (known, number))
        self.changed = True
        if knowledge.get(self.host, 0) > self._counter:
            self.rolled_back()

    def rewrite(self, entity_id: str, change: Callable[[Version], Version]) -> None:
        """Put `change(version)` in the place of what is here of an entity, its row and what is kept of it: the
        same writes under other names, so that nothing is overwritten. `change` keeps the order of clocks, so
        that whatever has seen another version has seen it still."""
        row, all_kept = self._row(entity_id), self._quarantined.of(entity_id)
        rest = self._sum - self._weight_of(row, all_kept)
        for kept in all_kept:
            self._keep_raw(kept.n, change(kept.version), kept.reason)
        if row is not None and (changed := change(row.version)) != row.version:
            self._buffer.flush()
            self._execute("delete from components where n = ?", (row.n,))
            try:
                self._store(row, None, version.open_stored(changed), changed, set())
            except BadVersion as error:  # another of its siblings wins now, and does not fit
                for table in (self._entities, self._links):
                    self._execute(f"delete from {table} where n = ?", (row.n,))
                self._keep_raw(row.n, changed, str(error))
        self._sum = rest + self._weight_of(self._row(entity_id), self._quarantined.of(entity_id))
        self.changed = True

    def _weight_of(self, row: Row | None, all_kept: list[Kept]) -> int:
        """What an entity adds to the digest."""
        return (self._weight(row) if row else 0) + sum(kept.weight for kept in all_kept)

    def _keep_raw(self, n: int, made: Version, reason: str) -> None:
        self._quarantined.put(
            Kept(n, made, clock := version.clock_of(made), made.hash(), quarantine.counts(made), reason)
        )
        self.index(n, clock)

    def rolled_back(self) -> Host:
        """This store was copied or restored: go on under a fresh host, and have the person told (COPY-8)."""
        notice.record(self, self.execute, self.host, self._counter, self.now)
        return self.new_host()

    def new_host(self) -> Host:
        """Go on under a fresh host, with its counter at 0."""
        # What the present host has written is known from its counter; from now on only this says so.
        self._execute("update hosts set known = max(known, ?) where host = ?", (self._counter, self._host))
        self._host, self._counter = self._mint(), 0
        self._link = genesis(self.host)
        self._number = self._host_number(self.host)
        self.changed = True
        return self.host

    # -- what is neither a write nor a join: forgetting, reviving, mending

    def remove(self, entity_id: str) -> None:
        """Take an entity's row away, and all that is kept in step with it; what was overwritten stays."""
        row = self.raw_row(entity_id)  # which inserts what is gathered
        if row is None:
            return
        self._sum -= self._weight(row)
        if row.version.hash() == row.hash:
            for host, counter in row.version.read_clock().items():
                self._execute(DELETE_COMPONENT, (self._host_number(host), counter, row.n))
        else:  # its clock may not be the one that is in the index
            self._execute("delete from components where n = ?", (row.n,))
        for table in (self._entities, self._links):
            self._execute(f"delete from {table} where n = ?", (row.n,))
        self.changed = True

    def replace(self, after: Entity, *, dots: int = 0, before: Entity | None = None) -> None:
        """Put an entity in the place of what is here, whatever that is: nothing is joined. It may carry the next
        `dots` counters of this store; they are taken. What `before` held and `after` does not is kept for people.
        Raises `BadVersion`, and changes nothing, for a link under another's id."""
        self._refuse_strange_link(after)
        self.remove(after.id)
        version_hash = self._store(None, None, after, version.close(after), set())
        assert version_hash is not None, "what is not there is always stored"
        if before is not None:
            self._remember(before, after, after.registers.differing(before.registers))
        for _ in range(dots):
            self._counter += 1
            self._extend_chain(version_hash)
        self._notice_own_future(after.clock)

    def revive(self, entity_id: str, forgotten: Clock) -> None:
        """Write an entity anew under fresh counters, over everything that may have been forgotten (FORGET-9)."""
        entity = self.entity(entity_id)
        if entity is not None:
            after, dots = revived(entity, self.host, self._counter, forgotten)
            self.replace(after, dots=dots)

    def index(self, n: int, clock: Clock) -> None:
        """Enter a row's or a kept version's clock into an index that does not have it."""
        for host, counter in clock.items():
            self._buffer.add(INSERT_COMPONENT, (self._host_number(host), counter, n))

    def let_go(self, kept: Kept) -> None:
        """Take a version out of quarantine; the row that it stood for counts again."""
        row = self._row(kept.version.id)
        before = self._weight(row) if row else 0
        self._release(kept)
        self._sum += (self._weight(row) if row else 0) - before
        self.changed = True

    def recount(self) -> None:
        """Add the digest up anew from the hashes that are stored."""
        kept = self.quarantined()
        self._sum = sum(held.weight for held in kept)
        stored = "select hash from rows where not clean_tombstone and id not in (select id from quarantine)"
        for (row_hash,) in self._connection.execute(stored):
            self._sum += int.from_bytes(row_hash, "big")
        for entity_id in {held.version.id for held in kept}:
            row = self._row(entity_id)
            self._sum += self._weight(row) if row else 0
        self.changed = True

    # -- the end

    def finish(self) -> None:
        """Write down all that is not in the tables yet; the commit is the store's."""
        self._buffer.flush()
        if self.changed:
            self._execute(
                "update state set host = ?, counter = ?, millis = ?, ticks = ?, digest = ?, n = ?, feed = ?",
                (self._host, self._counter, *self._clock, self.digest(), self._n, self._feed),
            )

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """SQL for the local tables that stand beside the replicated ones and never replicate."""
        self._forgotten = None  # it may be what is being written
        self._absent.clear()
        return self._rows(sql, bindings)

    # -- rows

    def _row(self, entity_id: str) -> Row | None:
        if entity_id in self._absent:
            return None
        if self._buffer.holds(entity_id):
            self._buffer.flush()
        row = super()._row(entity_id)
        if row is None:
            self._absent.add(entity_id)
        return row

    def _look_for(self, ids: Iterable[str]) -> None:
        """Find out for many ids at once which of them have no row; most of an import or a first round has none."""
        unknown = [ident for ident in ids if ident.isascii() and not self._buffer.holds(ident)]
        found = self._execute(
            f"""select value from json_each(?)
                where value in (select id from {self._entities}) or value in (select id from {self._links})""",
            (canonical.encode_normal(unknown).decode(),),
        )
        self._absent.update(unknown)
        self._absent.difference_update(ident for (ident,) in found)

    def _host_number(self, host: Host) -> int:
        number = self._numbers.get(host)
        if number is None:
            rows = self._execute("select n from hosts where host = ?", (host,))
            if not rows:
                rows = self._execute("insert into hosts(host) values (?) returning n", (host,))
            number = self._numbers[host] = int(rows[0][0])
        return number

    def _store(
        self, row: Row | None, before: Entity | None, after: Entity, closed: Version, changes: set[str]
    ) -> bytes | None:
        """Put an entity's one version in its row, and keep everything in step; its hash, None if nothing differs.
        `changes` are the paths in which it differs from what was there `before`."""
        if row is not None and row.version == closed:
            return None
        place = self._place(after.type)
        registers = after.registers
        if row is None and _one_write(registers):
            own = own_columns(place.described, after.id, after.type, registers.decoded.get)
            millis, created = registers.base.millis, registers.decoded.get(CREATED_AT)
            version_hash = self._add_new(place.statements, own, closed, millis, created)
            self.index(self._n, after.clock)
            return version_hash
        version_hash = closed.hash()
        clean = not version.adds_to_digest(after)
        columns: tuple[str | None, ...] = ()
        if row is not None and before is not None and lasting_columns_are_kept(place.described, after, changes):
            statement = place.statements.refresh
        else:
            columns = lasting_columns(place.described, after)
            statement = place.statements.rewrite if row else place.statements.insert
        old_clock: Clock = {}
        if row is not None and before is not None:
            self._sum -= self._weight(row)
            self._remember(before, after, changes)
            old_clock = before.clock
        self._count(closed, version_hash, clean=clean)
        if row is None:
            self._n += 1
        n = row.n if row else self._n
        values = (
            *columns,
            updated_at(after),
            deleted_at(after),
            closed.document.decode(),
            closed.clock.decode(),
            closed.stamps.decode(),
            version_hash,
            clean,
            has_conflict(after),
            self._feed,
            n,
        )
        self._absent.discard(after.id)
        self._buffer.entity(after.id, statement, values if row else (*values, after.id, after.type))
        for host, counter in after.clock.items():
            past = old_clock.get(host, 0)
            if counter != past:
                number = self._host_number(host)
                if past:
                    self._buffer.add(DELETE_COMPONENT, (number, past, n))
                self._buffer.add(INSERT_COMPONENT, (number, counter, n))
        return version_hash

    def _add_new(
        self, statements: Statements, own: tuple[str | None, str | None], made: Version, millis: int, created: Any
    ) -> bytes:
        """Gather the row of an entity that is new here, and that one write of time `millis` has filled; its hash."""
        version_hash = made.hash()
        self._count(made, version_hash, clean=False)
        self._n += 1
        written = iso(millis)
        row = (
            *own,
            created if isinstance(created, str) else written,
            written,
            made.document.decode(),
            made.clock.decode(),
            made.stamps.decode(),
            version_hash,
            self._feed,
            self._n,
            made.id,
            made.type,
        )
        self._absent.discard(made.id)
        self._buffer.entity(made.id, statements.add, row)
        return version_hash

    def _count(self, made: Version, version_hash: bytes, *, clean: bool) -> None:
        """Take an entity's new version into the feed and the digest."""
        self.changed = True
        self._feed += 1
        if not self._quarantined.empty:
            for kept in self._quarantined.of(made.id):
                if vector_clock.covers(made.read_clock(), kept.clock):
                    self._release(kept)
            clean = clean or self._stood_for(made)
        if not clean:
            self._sum += int.from_bytes(version_hash, "big")

    def _place(self, type_name: str) -> _Place:
        place = self._places.get(type_name)
        if place is None:
            described = self.schema.types.get(type_name)
            table = self._links if described is not None and described.link else self._entities
            place = _Place(described, statements_for(table, own_column_names(self.schema, table)))
            self._places[type_name] = place
        return place

    def _remember(self, before: Entity, after: Entity, changes: set[str]) -> None:
        """Keep what was overwritten, locally, for people: `lottisync history` (STORE-16)."""
        for p in sorted(changes):
            now = after.registers.get(p, ())
            gone = [held for held in before.registers.get(p, ()) if held not in now]
            if gone:
                self._keep(before.id, p, gone, now[0].stamp if now else None)

    def _keep(self, entity_id: str, p: str, gone: list[Write], by: Stamp | None) -> None:
        by_host, by_counter = (by.host, by.counter) if by else ("", 0)
        self._buffer.overwritten(
            entity_id, p, [(entity_id, p, *held.stamp, held.value.decode(), by_host, by_counter) for held in gone]
        )


def _one_write(registers: Registers) -> bool:
    """Whether a single write has filled them all, and it is no deletion."""
    return not registers.stamps and not registers.siblings and DELETED_AT not in registers.decoded


def _passes(clock: Clock, other: Clock) -> bool:
    """Whether one clock has seen all of the other, and more."""
    return vector_clock.covers(clock, other) and not vector_clock.covers(other, clock)


def _refuse_over_limit(made: Version) -> Version:
    if made.size() > version.MAX_VERSION:
        raise BadVersion(f"{made.id} joined would have {made.size()} bytes; at most {version.MAX_VERSION} are taken")
    return made


def _too_large(entity_id: str, size: int) -> Problem:
    """What a local write may make is far smaller than what a store takes: versions of several devices, each of
    the largest size, still join to one that fits a frame (STORE-23)."""
    return Problem("too-large", f"{entity_id} would have {size} bytes; a document may have {version.MAX_DOCUMENT}")
