"""Forks: how a store finds that it was copied or restored, and splits (docs/specs/13-copies.md, sections 3 and 4).

A split drops nothing and makes no write: a renamed entity is the same writes under other names.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lottisync.causality.chain import VALUE_BYTES, branch_name, genesis
from lottisync.causality.vector_clock import MAX_COUNTER, Clock, Dot, Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import DELETED_AT, Entity, as_deletion
from lottisync.entities.registers import Registers, Write, ordered
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Invalid
from lottisync.store import damage, mending, notice
from lottisync.store.chain import log_of, nodes, value_at
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader

__all__ = ["Division", "Stretch", "branch_name", "mint_if_behind", "nodes", "positions", "settle", "split"]


class Stretch(NamedTuple):
    """Writes `first` to `last` of a host that is divided, and the host they go to."""

    host: Host
    first: int
    last: int


class Division:
    """Which host each write of the divided hosts goes to: per host its stretches in order. The first keeps the
    name, and the last has no end."""

    def __init__(self, stretches: Mapping[Host, list[Stretch]]) -> None:
        self.stretches = stretches

    def host(self, dot: Dot) -> Host:
        for stretch in self.stretches.get(dot.host, ()):
            if dot.counter <= stretch.last:
                return stretch.host
        return dot.host

    def clock(self, clock: Clock, *, cut: bool = False) -> dict[Host, int]:
        """A clock under the new names. It gets a component for every stretch that it reaches into. With `cut` (for what
        another device has said of the old name) it gets only what all branches share, because it is not known which
        branch was meant."""
        renamed: dict[Host, int] = {}
        for host, counter in clock.items():
            if host not in self.stretches:
                renamed[host] = max(counter, renamed.get(host, 0))
                continue
            for stretch in self.stretches[host][: 1 if cut else None]:
                if counter >= stretch.first and stretch.last > 0:
                    renamed[stretch.host] = max(min(counter, stretch.last), renamed.get(stretch.host, 0))
        return renamed

    def entity(self, entity: Entity) -> Entity:
        renamed = {
            path: ordered(self._write(held, path, entity.clock) for held in writes)
            for path, writes in entity.registers.items()
        }
        return Entity(entity.id, entity.type, self.clock(entity.clock), Registers.of(renamed))

    def _write(self, held: Write, path: str, clock: Clock) -> Write:
        value = self._deletion(held, clock) if path == DELETED_AT else held.value
        return Write(held.stamp._replace(host=self.host(held.stamp.dot)), value)

    def _deletion(self, held: Write, clock: Clock) -> bytes:
        """What a deletion had seen is a clock, too. It saw nothing beyond its entity's clock. If it says more, that is
        cut, because otherwise its meaning would depend on the order in which nodes became known."""
        if as_deletion(held) is None:
            return held.value
        decoded = canonical.decode(held.value)
        held_to = {h: min(c, clock.get(h, 0)) if h in self.stretches else c for h, c in decoded["seen"].items()}
        return canonical.encode({**decoded, "seen": self.clock(held_to)})

    def version(self, made: Version) -> Version:
        """A version under the new names. If it cannot be read, only its clock gets new names."""
        try:
            return version.close(self.entity(version.open_foreign(made)))
        except BadVersion:
            clock = canonical.encode(self.clock(version.clock_of(made)))
            return Version(made.id, made.type, clock, made.stamps, made.document)


def split(tx: Merge, found: Iterable[bytes]) -> bool:
    """Take over fork nodes and rename what lies behind them (COPY-5); whether any of them was new.

    If our own host is among those that a node lies on, this store goes on under a new one."""
    new = frozenset(found) - nodes(tx)
    for node in new:
        if len(node) != VALUE_BYTES:
            raise Invalid("a fork node has {limit} bytes; got {size}", limit=VALUE_BYTES, size=len(node))
        tx.execute("insert into forks values (?)", (node,))
    here = positions(tx, new)
    for host, counters in here.items():
        for counter in counters:
            notice.record(tx, tx.execute, host, counter, tx.now)
    if tx.host in here:
        tx.new_host()
    tx.finish()
    stretches = {host: _stretches(tx, host, counters) for host, counters in here.items()}
    division = Division({host: parts for host, parts in stretches.items() if len(parts) > 1})
    if division.stretches:
        _rename(tx, division)
    if division.stretches:
        tx.find_hosts_again()
    tx.changed = tx.changed or bool(new)
    return bool(new)


def positions(reader: Reader, found: Iterable[bytes]) -> dict[Host, list[int]]:
    """Where nodes lie on the logs that are here: host -> counters, in order."""
    wanted, here = frozenset(found), dict[Host, list[int]]()
    for host, parent in reader.local("select host, parent from hosts"):
        if not parent and genesis(host) in wanted:
            here.setdefault(Host(host), []).append(0)
    for node in wanted:
        for host, first, segment in reader.local(
            "select h.host, c.first, c.segment from chain c join hosts h on h.n = c.host where instr(c.segment, ?)",
            (node,),
        ):
            here.setdefault(Host(host), []).extend(
                first + at // VALUE_BYTES
                for at in range(0, len(segment), VALUE_BYTES)
                if segment[at : at + VALUE_BYTES] == node
            )
    return {host: sorted(counters) for host, counters in sorted(here.items())}


def _stretches(tx: Merge, host: Host, counters: list[int]) -> list[Stretch]:
    log = log_of(tx, host)
    assert log is not None, "a node was found on it"
    parts = [Stretch(host, 1, counters[0])]
    for counter, after in zip(counters, [*counters[1:], MAX_COUNTER], strict=True):
        if counter < log.end.end:
            value = value_at(tx, host, counter + 1)
            assert value is not None, "a log has no holes"
            parts.append(Stretch(branch_name(value), counter + 1, after))
    return parts


def _rename(tx: Merge, division: Division) -> None:
    damaged = mending.still_damaged(tx, _touched(tx, division))
    if mending.name_again(tx, damaged):
        tx.finish()
    touched = _touched(tx, division)
    for n in mending.still_damaged(tx, damaged):
        _rename_damaged(tx, division, n)
    for held in sorted({*touched.values()}):
        if damage.is_text(held):
            tx.rewrite(held.decode(), division.version)
    for host, stretches in division.stretches.items():
        _rename_vectors(tx, division, host)
        for stretch, before in zip(stretches[1:], stretches, strict=False):
            written = (host, stretch.first, stretch.last)
            number = _branch(tx, stretch.host, before.host)
            _move_values(tx, host, number, stretch)
            tx.execute(
                "update history set host = ?4 where host = ?1 and counter between ?2 and ?3", (*written, stretch.host)
            )
            tx.execute(
                "update history set by_host = ?4 where by_host = ?1 and by_counter between ?2 and ?3",
                (*written, stretch.host),
            )
            tx.execute(
                "update copies set host = ?4 where host = ?1 and counter between ?2 and ?3", (*written, stretch.host)
            )
            tx.execute(
                """update hosts set parent = ?4 where parent = ?1 and host <> ?4
                   and (select min(first) - 1 from chain where host = hosts.n) between ?2 and ?3""",
                (*written, stretch.host),
            )


def _touched(tx: Merge, division: Division) -> dict[int, bytes]:
    """The rows with a component behind a node, by number, and the bytes of their ids; those that lie before it keep
    their names."""
    found: dict[int, bytes] = {}
    for host, stretches in division.stretches.items():
        found |= tx.local(
            """select r.n, cast(r.id as blob) from (select distinct c.n from components c join hosts h on h.n = c.host
                                                    where h.host = ? and c.counter > ?) c
               join (select n, id from rows union all select n, id from quarantine) r on r.n = c.n""",
            (host, stretches[0].last),
        )
    return found


def _rename_damaged(tx: Merge, division: Division, n: int) -> None:
    """Rename only the index entries of a damaged row: they are used to mend it (STORE-957). The row stays as it is,
    because under other names it would seem sound."""
    clock = division.clock(damage.indexed_clock(tx, n))
    tx.execute("delete from components where n = ?", (n,))
    tx.index(n, clock)


def _branch(tx: Merge, host: Host, parent: Host) -> int:
    number = tx.host_number(host)
    tx.execute("update hosts set parent = ? where n = ?", (parent, number))
    return number


def _move_values(tx: Merge, host: Host, branch: int, stretch: Stretch) -> None:
    """Give the branch its values. Segments lie within one stretch or are cut in two."""
    number = tx.host_number(host)
    for at in (stretch.first, stretch.last + 1):
        tx.execute(
            f"""insert into chain select host, ?2, substr(segment, (?2 - first) * {VALUE_BYTES} + 1) from chain
                where host = ?1 and first < ?2 and first + length(segment) / {VALUE_BYTES} > ?2""",
            (number, at),
        )
        tx.execute(
            f"""update chain set segment = substr(segment, 1, (?2 - first) * {VALUE_BYTES})
                where host = ?1 and first < ?2 and first + length(segment) / {VALUE_BYTES} > ?2""",
            (number, at),
        )
    tx.execute(
        "update chain set host = ?2 where host = ?1 and first between ?3 and ?4",
        (number, branch, stretch.first, stretch.last),
    )


def _rename_vectors(tx: Merge, division: Division, host: Host) -> None:
    """Rename our own knowledge, what was forgotten, and what others said they know."""
    number = tx.host_number(host)
    for (known,) in tx.local("select known from hosts where n = ?", (number,)):
        tx.execute("update hosts set known = 0 where n = ?", (number,))
        for name, counter in division.clock({host: known}).items():
            tx.execute("update hosts set known = max(known, ?) where n = ?", (counter, tx.host_number(name)))
    for (counter,) in tx.execute("delete from forgotten where host = ? returning counter", (number,)):
        for name, renamed in division.clock({host: counter}).items():
            tx.execute(
                """insert into forgotten values (?, ?)
                   on conflict(host) do update set counter = max(counter, excluded.counter)""",
                (tx.host_number(name), renamed),
            )
    for device, known in tx.execute("delete from acknowledged where host = ? returning device, known", (number,)):
        for name, renamed in division.clock({host: known}, cut=True).items():
            tx.execute("insert into acknowledged values (?, ?, ?)", (device, tx.host_number(name), renamed))


def mint_if_behind(tx: Merge, host_end: int) -> bool:
    """A peer's log of our present host ends at `host_end`: if ours is shorter, this store was rolled back and
    has written nothing since; it goes on under a new host (COPY-6)."""
    if host_end <= tx.counter:
        return False
    tx.rolled_back()
    return True


def settle(tx: Merge, file_identity: str) -> None:
    """Called before anything is written: if the store was last written as another file, this file is a copy
    (COPY-7)."""
    recorded = tx.local("select file_identity from state")[0][0]
    if recorded and recorded != file_identity:
        tx.rolled_back()
    if recorded != file_identity:
        tx.execute("update state set file_identity = ?", (file_identity,))
