"""Tables and help pages on narrow terminals."""

import textwrap
from pathlib import Path

import pytest
from tests.support.command_line import run_here

from lottisync.cli.columns import Cell, blocks, widths

HEADINGS = ["name", "state", "where"]
ROWS = [
    ("laptop", Cell("away", "yellow"), "not seen since 2026-11-24 03:31, and then no more"),
    ("phone", "", "here"),
]


def test_cli_1082_what_fits_is_as_wide_as_its_text() -> None:
    assert widths(HEADINGS, ROWS, 100) == [6, 5, 49]


def test_cli_1082_what_nearly_fits_breaks_between_words() -> None:
    """CLI-1082: the date was cut where a column before it had room."""
    found = widths([*HEADINGS, "title"], [(*row, "a title of many words") for row in ROWS], 72)
    assert found is not None
    assert sum(found) <= 72 - 3 * 4
    assert found[2] >= len("2026-11-24")
    assert found[:2] == [6, 5]


@pytest.mark.parametrize(("rows", "room"), [(ROWS, 40), ([("a" * 40, "b", "c" * 40)], 80)])
def test_cli_1082_rows_that_do_not_fit_take_lines_of_their_own(rows: list[tuple[str, str, str]], room: int) -> None:
    """CLI-1082: cells of four letters stood below each other, and dates were cut."""
    assert widths(HEADINGS, rows, room) is None
    lines = ["".join(parts) for parts in blocks(HEADINGS, rows, room)]
    assert all(len(line) <= room for line in lines)
    text = " ".join(" ".join(line.split()) for line in lines)
    for row in rows:
        assert all(cell in text for cell in row)


def test_cli_1082_a_cell_keeps_its_style_and_its_heading() -> None:
    lines = list(blocks(HEADINGS, ROWS, 40))
    assert lines[:2] == [["laptop"], ["  ", "state: away"]]
    assert [part.style for part in lines[1] if isinstance(part, Cell)] == ["yellow"]
    assert lines[-1] == ["  ", "where: here"]


def test_cli_1500_an_address_in_a_table_is_not_broken_at_a_hyphen() -> None:
    """CLI-1500: the rest of it stood on the next line, and could not be copied."""
    address = "the-laptop-in-the-attic.my-vpn.example:22067"
    lines = ["".join(parts) for parts in blocks(HEADINGS, [(address, "away", f"at {address}")], 40)]
    assert [line.split()[-1] for line in lines if "-" in line] == [address, address]


@pytest.mark.parametrize("columns", [40, 80])
def test_cli_1083_a_help_page_is_as_wide_as_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-1083: it took 50 columns, and the terminal broke its lines anywhere."""
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run_here("agent", "--help", home=Path("nowhere")).out
    assert max(map(len, shown.splitlines())) <= columns
    assert textwrap.dedent(shown) == shown
