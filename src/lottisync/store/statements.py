"""The statements that write a row (docs/specs/05-store.md, sections 2 and 6)."""

from functools import lru_cache
from typing import NamedTuple


class Statements(NamedTuple):
    """Of one table of versions. All take their values in the order of `insert`: the two columns that are the table's
    own, when the entity was made, changed and deleted, the version, what follows from it, number, id and type."""

    add: str
    """Inserts the row of a single write: without a deletion, a tombstone's mark or a conflict."""
    insert: str
    """Inserts any row."""
    rewrite: str
    """Rewrites the row with a number; takes the same values without the last two, for id and type never change."""
    refresh: str
    """The same without the first three: few writes change them, and they are in most indexes."""


@lru_cache(maxsize=16)
def statements_for(table: str, own: tuple[str, str]) -> Statements:
    columns = (
        *own, "created_at", "updated_at", "deleted_at", "serialized", "clock", "stamps", "hash",
        "clean_tombstone", "conflicted", "feed", "n", "id", "type",
    )  # fmt: skip
    given = [name for name in columns if name not in ("deleted_at", "clean_tombstone", "conflicted")]
    updates = [f"{name} = ?" for name in columns[:-3]]
    return Statements(
        f"""insert into {table}({", ".join(given)}, clean_tombstone, conflicted)
            values ({"?, " * len(given)}0, 0)""",
        f"insert into {table}({', '.join(columns)}) values ({', '.join('?' * len(columns))})",
        f"update {table} set {', '.join(updates)} where n = ?",
        f"update {table} set {', '.join(updates[3:])} where n = ?",
    )
