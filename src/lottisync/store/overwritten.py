"""Writes and what they replaced: the history of an entity from another store, and what one host wrote.

The store keeps its own as it writes (`lottisync.store.write_buffer`), and `Reader.overwritten` reads all of them.
"""

from typing import Any, NamedTuple

from lottisync.entities import canonical
from lottisync.entities.registers import Stamp
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader


class HistoryEntry(NamedTuple):
    """A write to the register `path`: whether it counts now, and what it replaced; None if nothing, or not known."""

    path: str
    value: Any
    stamp: Stamp
    current: bool
    replaced: Any


def history(reader: Reader, entity_id: str) -> list[HistoryEntry]:
    """The writes to an entity that is here, oldest first, as far back as they are kept."""
    entity = reader.entity(entity_id)
    assert entity is not None, "the caller has found it"
    # Not what was there before by the clock: of two that did not know of each other, neither replaced the other.
    # Of several that went at once it is the one that was shown, the greatest.
    old = sorted(reader.overwritten(entity_id), key=lambda o: (o.precedence, o.millis, o.ticks, o.host, o.counter))
    replaced = {(o.path, o.by_host, o.by_counter): canonical.decode(o.value) for o in old}
    written = [(o.path, o.value, Stamp(o.precedence, o.millis, o.ticks, o.host, o.counter), False) for o in old]
    written += [(path, held.value, held.stamp, True) for path, writes in entity.registers.items() for held in writes]
    lines = [
        HistoryEntry(path, canonical.decode(value), stamp, current, replaced.get((path, *stamp.dot)))
        for path, value, stamp, current in written
    ]
    return sorted(lines, key=lambda line: (line.stamp.millis, line.path))


def add(tx: Merge, entity_id: str, path: str, stamp: tuple[int, int, int, str, int], value: bytes) -> None:
    """Keep that `path` once held `value` (canonical JSON), written as `stamp` says. Which write came after it is not
    known here."""
    tx.execute("insert into history values (?, ?, ?, ?, ?, ?, ?, ?, '', 0)", (entity_id, path, *stamp, value.decode()))


def written_by(reader: Reader, host: str, first: int, last: int) -> list[tuple[str, int, bool]]:
    """The entities that a host wrote with its counters from `first` to `last`, in the order of its writes: id, position
    in the feed, and whether one write has filled all registers of an entity that was not there before."""
    return reader.local(_WRITTEN_BY, (host, first, last))


_WRITTEN_BY = """select r.id, r.feed, json_extract(r.stamps, '$[0][3]') = ?1
        and json_extract(r.stamps, '$[0][4]') between ?2 and ?3
        and json_extract(r.stamps, '$[1]') = '{}' and json_extract(r.stamps, '$[2]') = '{}'
        and not exists (select 1 from history where entity = r.id and by_host = ?1 and by_counter between ?2 and ?3)
    from components c join hosts h on h.n = c.host join rows r on r.n = c.n
    where h.host = ?1 and c.counter between ?2 and ?3 order by c.counter"""
