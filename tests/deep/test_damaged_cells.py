"""Any cell of any row may be damaged by a disk, and nothing beside it stops (docs/specs/05-store.md, section 19).

The bytes are damaged in place, or in a home that is copied afterwards, as one that is moved off a failing disk.
`CELLS=n` says how many are tried; `CELLS_FIRST=n` with `CELLS=1` repeats one that failed.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tests.support.beside import Homes, everything_works, make, scripted_model

FIRST, COUNT = int(os.environ.get("CELLS_FIRST", "0")), int(os.environ.get("CELLS", "300"))
COLUMNS = ("id", "type", "serialized", "clock", "stamps", "hash", "updated_at")
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "no text": lambda raw: b"\xff\x00" + raw[2:],
    "a flipped bit": lambda raw: raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 2]) + raw[len(raw) // 2 + 1 :],
    "the high bit": lambda raw: raw[:1] + bytes([raw[1] ^ 128]) + raw[2:],
    "cut off": lambda raw: raw[: len(raw) // 2],
    "nothing": lambda raw: b"",
}


class Cell(NamedTuple):
    store: str
    table: str
    column: str
    id: str
    damage: str


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return make(tmp_path_factory.mktemp("cells"))


def drawn(homes: Homes, number: int) -> Cell:
    chance = random.Random(number)
    kinds = sorted({victim.type for victim in homes.victims})
    victim = chance.choice([victim for victim in homes.victims if victim.type == kinds[number % len(kinds)]])
    table = f"{victim.store}_links" if victim.type in LINKS else f"{victim.store}_entities"
    return Cell(victim.store, table, chance.choice(COLUMNS), victim.id, chance.choice(list(DAMAGES)))


LINKS = ("entryLink", "agent_state", "agent_task", "agent_report_head")


def damage(home: Path, cell: Cell) -> None:
    """Change the bytes of one cell; its column keeps its type."""
    kind = "blob" if cell.column == "hash" else "text"
    with apsw.Connection(str(home / f"{cell.store}.sqlite")) as connection:
        where = f"from {cell.table} where id = ?"
        [(raw,)] = connection.execute(f"select cast({cell.column} as blob) {where}", (cell.id,)).fetchall()
        assert isinstance(raw, bytes)
        connection.execute(
            f"update {cell.table} set {cell.column} = cast(? as {kind}) where id = ?",
            (DAMAGES[cell.damage](raw), cell.id),
        )
        assert connection.changes() == 1
    connection.close()


@pytest.mark.deep
@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_rel_d7_a_damaged_cell_stops_nothing_beside_it(number: int, template: Homes, tmp_path: Path) -> None:
    """STORE-101, STORE-942, REL-D2, REL-D7: every second one in a copied home."""
    homes, cell = template.copied(tmp_path), drawn(template, number)
    print(cell, "copied" if number % 2 else "in place")
    damage(homes.laptop, cell)
    if number % 2:
        shutil.move(homes.laptop, tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", homes.laptop)
    with scripted_model():
        everything_works(homes, next(victim for victim in homes.victims if victim.id == cell.id))
