"""What can still be read of a row that the disk has damaged (docs/specs/05-store.md, section 14).

A row is read as the bytes that it holds. Its clock is stored twice, in the row and in the index of components, so the
index is a second witness of it. `mending` and `check` go by what these functions find.
"""

from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.entities.entity import Entity
from lottisync.entities.version import Version
from lottisync.store import tables
from lottisync.store.reader import Reader, Row, opened

OTHERS_TRIED = 1_000
"""Ids under which the content of a damaged row is hashed: where more are in question, whole pages are damaged."""


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


def row_at(reader: Reader, n: int) -> tuple[Row, bytes] | None:
    """The row of this number, and its id as the bytes that it holds: of a damaged one they may be no text."""
    rows = reader.local(f"select {tables.RAW_COLUMNS}, hash, clean_tombstone from rows where n = ?", (n,))
    if not rows:
        return None
    *parts, stored_hash, clean = rows[0]
    return Row(n, tables.raw_version(*parts), stored_hash, bool(clean)), parts[0]


def shown_as(reader: Reader, entity_id: str) -> list[int]:
    """The numbers of the rows that are shown under this id. A damaged id may be no text: it is shown with signs in
    place of what cannot be read, and found by no look-up."""
    rows = reader.local("select n, cast(id as blob) from rows")
    return [n for n, held in rows if held.decode(errors="replace") == entity_id]


def under_own_id(row: Row, held: bytes, others: Iterable[str]) -> Version | None:
    """A damaged version under its own id, if nothing but that is damaged: under it the row has its stored hash. It is
    looked for among those that differ from the bytes `held` in one bit, and the first `others`."""
    flipped = (held[:at] + bytes([held[at] ^ 1 << bit]) + held[at + 1 :] for at in range(len(held)) for bit in range(8))
    readable = (each.decode() for each in flipped if is_text(each))
    for ident in chain(readable, islice(others, OTHERS_TRIED)):
        made = msgspec.structs.replace(row.version, id=ident)
        if made.hash() == row.hash:
            return made
    return None


def is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


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
    """What `by_type` gives, and the rows that cannot be read: for records of which none may count as absent."""
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
