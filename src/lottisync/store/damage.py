"""What can still be read of a row that the disk has damaged (docs/specs/05-store.md, section 14).

A row is read as the bytes that it holds. Its clock is stored twice, in the row and in the index of components, so the
index is a second witness of it. `mending` and `check` go by what these functions find.
"""

from typing import NamedTuple

from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.entities.entity import Entity
from lottisync.entities.version import Version
from lottisync.store import tables
from lottisync.store.reader import Reader, Row, opened


class Unread(NamedTuple):
    """A row that cannot be read, as far as its columns can; `stored` is its document, damaged or not."""

    id: str
    subtype: str
    stored: bytes


def raw_row(reader: Reader, entity_id: str) -> Row | None:
    """A row as the bytes that it holds, whatever became of them."""
    rows = reader.local(f"select n, {tables.RAW_COLUMNS}, hash, clean_tombstone from rows where id = ?", (entity_id,))
    if not rows:
        return None
    n, *parts, stored_hash, clean = rows[0]
    return Row(n, tables.raw_version(*parts), stored_hash, bool(clean))


def indexed_clock(reader: Reader, n: int) -> Knowledge:
    """A row's clock as the index has it: a second witness, where the row is damaged."""
    return {
        Host(host): counter
        for host, counter in reader.local(
            "select h.host, max(c.counter) from components c join hosts h on h.n = c.host where c.n = ? group by 1",
            (n,),
        )
    }


def under_indexed_clock(reader: Reader, n: int, made: Version, stored_hash: bytes) -> Version | None:
    """A damaged version with the clock that the index has of it, if nothing but its clock is damaged."""
    clock = canonical.encode(indexed_clock(reader, n))
    restored = Version(made.id, made.type, clock, made.stamps, made.document)
    return restored if restored.hash() == stored_hash else None


def sorted_out(reader: Reader, type_name: str, *, subtype: str | None = None) -> tuple[list[Entity], list[Unread]]:
    """As `by_type`, with the rows that cannot be read: for records of which none may count as absent."""
    entities, _ = tables.names(reader.schema)
    rows = reader.local(
        f"""select cast(coalesce(subtype, '') as blob), {tables.RAW_COLUMNS} from {entities}
            where type = ?1 and (?2 is null or subtype = ?2) and deleted_at is null order by created_at, id""",
        (type_name, subtype),
    )
    found, unread = [], []
    for held_subtype, *row in rows:
        if (entity := opened(*row)) is not None:
            found.append(entity)
        else:
            ident, subtype_held = (part.decode(errors="replace") for part in (row[0], held_subtype))
            unread.append(Unread(ident, subtype_held, row[-1]))
    return found, unread
