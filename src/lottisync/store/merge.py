"""Joining what other devices wrote (docs/specs/05-store.md, sections 4, 9 and 15).

A join is not a write: it takes no counter and leaves the knowledge as it is. So devices that join the same versions
hold the same bytes, in every order of arrival. A version that cannot be joined is kept in quarantine.

A peer may know more of this store's own writes than the store itself. Then the file was copied, or restored from a
backup, and the store goes on under a fresh host. Beside joining, `Merge` has what replaces rows without being a
write: renaming after a fork, reviving, mending.
"""

from collections.abc import Callable, Iterable
from operator import itemgetter

import apsw

from lottisync.causality import hlc, vector_clock
from lottisync.causality.chain import genesis
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import version
from lottisync.entities.batch import Plain
from lottisync.entities.entity import Entity, EqualDots, join, succeeds
from lottisync.entities.registers import Stamp
from lottisync.entities.revival import revived
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import BadVersion, Damaged, Version
from lottisync.problem import Sentence
from lottisync.store import notice, quarantine
from lottisync.store.batch import Batches, NewRows, PendingEdit
from lottisync.store.columns import own_columns
from lottisync.store.known_hosts import Latest
from lottisync.store.quarantine import QuarantinedVersion
from lottisync.store.reader import Row

_reading = itemgetter(1, 2)
"""When a stamp's write was made: its milliseconds and ticks."""


class Merge(Batches):
    """A transaction that makes no writes. `Store.transaction` gives one for the precedence None."""

    def __init__(
        self, schema: StoreSchema, connection: apsw.Connection, mint: Callable[[], Host], now: int, hosts: Latest
    ) -> None:
        super().__init__(schema, connection, mint, now, hosts)
        self.ahead: dict[Host, int] = {}
        """Hosts whose clocks are so far ahead that this one does not follow, with the latest time they said (ms)."""

    # -- what comes from peers

    def apply(
        self,
        versions: Plain | Iterable[tuple[Version, Entity]],
        *,
        revive_absent: Clock | None = None,
        clashes: list[tuple[Version, Entity]] | None = None,
    ) -> int:
        """Join versions that came from a peer, already checked; returns how many changed a row. One that is
        good by itself and cannot be taken into what is here goes to quarantine: of another type under the same
        id, a link under another's id, or too large once joined.

        Joining is not a write: it takes no counter and leaves the knowledge as it is. If a clock shows
        our own host beyond our own counter, this store was rolled back, and gets a new host (STORE-9).

        With `revive_absent` (what was forgotten, here and there), what is not here is revived over it. If this store
        has seen all of it, it was forgotten here, and stays so. What a join cannot settle (a row here that can't
        be read, a dot with two meanings) is put into `clashes`, for `lottisync.store.mending`; without that list it
        raises."""
        if isinstance(versions, Plain):
            present = self._load(versions.columns.ids)
            if not present and revive_absent is None and self._join_new(versions):
                return len(versions.clocks)
            return self._join_plain(versions, present, revive_absent, clashes)
        versions = list(versions)
        present = self._load(incoming.id for incoming, _ in versions) if len(versions) > 1 else {}
        self._observe(stamp for _, entity in versions for stamp in entity.registers.all_stamps())
        return sum(
            self._join_one(present.pop(incoming.id, None), incoming, entity, revive_absent, clashes)
            for incoming, entity in versions
        )

    def _join_plain(
        self,
        versions: Plain,
        present: dict[str, Row],
        revive_absent: Clock | None,
        clashes: list[tuple[Version, Entity]] | None,
    ) -> int:
        """Join a batch of plain versions: usual edits by column, the rest one by one, all in their order."""
        self._observe(versions.all_stamps())
        edits = self._edits(versions, present)
        hashes = versions.columns.hashes() if edits else []
        changed, taken = 0, []
        for at, ident in enumerate(versions.columns.ids):
            row, made = present.pop(ident, None), edits.get(at)
            if made is None or row is None:
                changed += self._join_one(row, *versions.opened_at(at), revive_absent, clashes)
            elif row.hash != hashes[at]:
                self._feed += 1
                taken.append(PendingEdit(row, made, hashes[at], self._feed))
        self._edit_all(taken)
        return changed + len(taken)

    def _join_one(
        self,
        row: Row | None,
        incoming: Version,
        entity: Entity,
        revive_absent: Clock | None,
        clashes: list[tuple[Version, Entity]] | None,
    ) -> bool:
        """Join one version with what is here, `row` if that is at hand; whether it changed anything."""
        row = row or self._row(incoming.id)
        if row is None and revive_absent is not None and vector_clock.covers(self.knowledge(), entity.clock):
            return False  # it was seen here, and forgotten (FORGET-831)
        if row is not None and row.version == incoming:
            return False
        try:
            before = row.sound() if row else None
            joined, changes = self._joined(before, entity)
            closed = incoming if joined is entity else _refuse_over_limit(version.close(joined))
        except BadVersion as error:
            self.quarantine(incoming, error.sentence)
            return False
        except (EqualDots, Damaged):
            if clashes is None:
                raise
            clashes.append((incoming, entity))
            return False
        stored = self._store(row, before, joined, closed, changes)
        self._notice_own_future(entity.clock)
        if before is None and revive_absent is not None:
            self.revive(incoming.id, revive_absent)
        return stored is not None

    def _join_new(self, batch: Plain) -> bool:
        """Join a batch of what is new here, column by column. False, and nothing is done, if anything in it asks for
        more."""
        if any(clock.get(self._host, 0) > self._counter for clock in batch.clocks):
            return False
        if not self._takes(batch.columns.ids, batch.columns.types):
            return False
        self._observe(batch.all_stamps())
        self._add_all(NewRows(batch.columns, batch.column, batch.clocks, *batch.times()))
        return True

    def _observe(self, stamps: Iterable[Stamp]) -> None:
        """Let the clock follow what the writers' clocks said. The latest comes first: once it is followed, the others
        say nothing more."""
        for stamp in sorted(stamps, key=_reading, reverse=True):
            if _reading(stamp) <= self._clock:
                return
            self._clock = hlc.observe(self._clock, stamp.hlc, self.now)
            if hlc.is_far_future(stamp.hlc, self.now):
                self.ahead[stamp.host] = max(stamp.millis, self.ahead.get(stamp.host, 0))

    def _joined(self, present: Entity | None, entity: Entity) -> tuple[Entity, set[str]]:
        """What is here and what came as one, and in which paths that differs from what is here."""
        self._refuse_strange_link(entity)
        if present is None:
            return entity, set()
        if present.type != entity.type:
            raise BadVersion(
                "{entity} is a {here} here, and came as a {there}",
                entity=entity.id,
                here=present.type,
                there=entity.type,
            )
        changes = entity.registers.differing(present.registers)
        if succeeds(entity, present, changes):
            return entity, changes
        joined = join(present, entity)
        self._refuse_strange_link(joined)
        return joined, joined.registers.differing(present.registers)

    def _refuse_strange_link(self, entity: Entity) -> None:
        described = self._storage(entity.type).described
        if described is not None and described.link:
            own_columns(described, entity.id, entity.type, entity.value)

    def quarantine(self, incoming: Version, reason: Sentence) -> None:
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
            new = QuarantinedVersion(self._n, incoming, clock, incoming.hash(), quarantine.counts(incoming), reason)
            self._quarantined.add(new)
            self._sum += new.weight
            self.index(self._n, clock)
            if row is not None:
                self._sum += self._weight(row)
            self.changed = True
        self._notice_own_future(clock)

    def kept_now(self) -> list[QuarantinedVersion]:
        """What this transaction has put into quarantine."""
        return self._quarantined.added

    def adopt(self, knowledge: Clock) -> None:
        """Take over a peer's knowledge: allowed only when every frame of its round is in (SYNC-4)."""
        for host, known in knowledge.items():
            self._learn(self.host_number(host), known=known)
        self.changed = True
        if knowledge.get(self.host, 0) > self._counter:
            self.rolled_back()

    # -- when this store was copied or restored

    def _notice_own_future(self, clock: Clock) -> None:
        if clock.get(self._host, 0) > self._counter:
            self.rolled_back()

    def rolled_back(self) -> Host:
        """This store was copied or restored: go on under a fresh host, and note it for the person (COPY-8)."""
        notice.record(self, self.execute, self.host, self._counter, self.now)
        return self.new_host()

    def new_host(self) -> Host:
        """Go on under a fresh host, with its counter at 0."""
        # What the present host has written is known from its counter; from now on only this says so.
        self._learn(self._number, known=self._counter)
        self._host, self._counter = self._mint(), 0
        self._chain_value = genesis(self.host)
        self._number = self.host_number(self.host)
        self.changed = True
        return self.host

    def rewrite(self, entity_id: str, change: Callable[[Version], Version]) -> None:
        """Put `change(version)` in the place of what is here of an entity, its row and what is kept of it: the
        same writes under other names, so that nothing is overwritten. `change` keeps the order of clocks: a
        version that has seen another one has still seen it. A damaged row stays as it is."""
        row, all_kept = self._row(entity_id), self._quarantined.of(entity_id)
        rest = self._sum - self._weight_of(row, all_kept)
        for kept in all_kept:
            self._keep_raw(kept.n, change(kept.version), kept.reason)
        if row is not None and row.is_sound and (changed := change(row.version)) != row.version:
            self._buffer.flush()
            self._execute("delete from components where n = ?", (row.n,))
            try:
                self._store(row, None, version.open_stored(changed), changed, set())
            except BadVersion as error:  # another of its siblings wins now, and does not fit
                for table in (self._entities, self._links):
                    self._execute(f"delete from {table} where n = ?", (row.n,))
                self._keep_raw(row.n, changed, error.sentence)
        self._sum = rest + self._weight_of(self._row(entity_id), self._quarantined.of(entity_id))
        self.changed = True

    def _weight_of(self, row: Row | None, all_kept: list[QuarantinedVersion]) -> int:
        """What an entity adds to the digest."""
        return (self._weight(row) if row else 0) + sum(kept.weight for kept in all_kept)

    def _keep_raw(self, n: int, made: Version, reason: Sentence) -> None:
        self._quarantined.put(
            QuarantinedVersion(n, made, clock := version.clock_of(made), made.hash(), quarantine.counts(made), reason)
        )
        self.index(n, clock)

    # -- what is neither a write nor a join: reviving, mending

    def replace(self, after: Entity, *, dots: int = 0, before: Entity | None = None) -> None:
        """Put an entity in the place of what is here, without a join. It may carry the next `dots` counters of this
        store; they are then used. What `before` held and `after` does not hold is kept in the history.
        Raises `BadVersion`, and changes nothing, for a link under another's id."""
        self._refuse_strange_link(after)
        self.remove(after.id)
        version_hash = self._store(None, None, after, version.close(after), set())
        assert version_hash is not None, "what is not there is always stored"
        if before is not None:
            self._remember(before, after, after.registers.differing(before.registers))
        self._extend_chain([version_hash] * dots)
        self._notice_own_future(after.clock)

    def revive(self, entity_id: str, forgotten: Clock) -> None:
        """Write an entity again under new counters, over everything that may have been forgotten (FORGET-9)."""
        entity = self.entity(entity_id)
        if entity is not None:
            after, dots = revived(entity, self.host, self._counter, forgotten)
            self.replace(after, dots=dots)

    def let_go(self, kept: QuarantinedVersion) -> None:
        """Take a version out of quarantine; the row in whose place it counted counts again."""
        row = self._row(kept.version.id)
        before = self._weight(row) if row else 0
        self._release(kept)
        self._sum += (self._weight(row) if row else 0) - before
        self.changed = True

    def recount(self) -> None:
        """Compute the digest again from the stored hashes, and what is kept of each host from chains and index."""
        self.find_hosts_again()
        kept = self.quarantined()
        self._sum = sum(held.weight for held in kept)
        stored = "select hash from rows where not clean_tombstone and id not in (select id from quarantine)"
        for (row_hash,) in self._connection.execute(stored):
            self._sum += int.from_bytes(row_hash, "big")
        for entity_id in {held.version.id for held in kept}:
            row = self._row(entity_id)
            self._sum += self._weight(row) if row else 0
        self.changed = True


def _passes(clock: Clock, other: Clock) -> bool:
    """Whether one clock has seen all of the other, and more."""
    return vector_clock.covers(clock, other) and not vector_clock.covers(other, clock)


def _refuse_over_limit(made: Version) -> Version:
    if made.size() > version.MAX_VERSION:
        raise BadVersion(
            "{entity} joined would have {size} bytes; at most {limit} are taken",
            entity=made.id,
            size=made.size(),
            limit=version.MAX_VERSION,
        )
    return made
