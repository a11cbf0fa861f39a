"""How wide the columns of a table are, and what its rows look like where they do not fit."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from lottisync.shown import one_line


class Cell(str):
    """Text in rich's style `style`, for a table or a line: it costs nothing in a pipe."""

    style: str

    def __new__(cls, text: str, style: str) -> "Cell":
        cell = super().__new__(cls, text)
        cell.style = style
        return cell


NARROW = 72
"""Columns under which what is a row elsewhere takes lines of its own."""
BETWEEN = 3
"""Columns of the terminal for each column of a table, beside its text."""


def widths(headings: Sequence[str], rows: Sequence[Sequence[Any]], room: int) -> list[int] | None:
    """How wide each column is so that no word is cut, within `room`; None if a row needs lines of its own."""
    columns = [[one_line(str(cell)) for cell in column] for column in zip(headings, *rows, strict=True)]
    most = [max(map(cell_len, column)) for column in columns]
    spare = room - BETWEEN * len(columns)
    if sum(most) <= spare:
        return most
    found = [max(cell_len(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
    spare -= sum(found)
    if room < NARROW or spare < 0:
        return None
    growing = sorted(range(len(found)), key=lambda at: most[at] - found[at])
    for done, at in enumerate(growing):
        more = min(most[at] - found[at], spare // (len(growing) - done))
        found[at], spare = found[at] + more, spare - more
    return found


def blocks(headings: Sequence[str], rows: Sequence[Sequence[Any]], room: int) -> Iterator[list[str]]:
    """The lines of rows that do not fit: the first cell, and below it the others with their headings."""
    for row in rows:
        cells = [(heading, _literal(cell)) for heading, cell in zip(headings, row, strict=True) if str(cell)]
        for _, first in cells[:1]:
            for text in _wrapped(first, room):
                yield [Cell(text, first.style or "bold")]
        line: list[str] = []
        for heading, cell in cells[1:]:
            said = Cell(f"{heading}: {cell}" if heading else cell, cell.style)
            if line and sum(map(cell_len, line)) + 2 + cell_len(said) > room:
                yield line
                line = []
            if cell_len(said) + 2 > room:
                for text in _wrapped(said, room - 2):
                    yield [Cell(f"  {text}", said.style)]
            else:
                line += ["  ", said]
        if line:
            yield line


def _wrapped(text: str, room: int) -> list[str]:
    """Lines of whole words: what is broken at a hyphen, an address above all, cannot be copied."""
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)


def cell_len(text: str) -> int:
    """How many columns of the terminal a text takes; what counts them is loaded for text that needs it."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as counted

    return counted(text)


def _literal(cell: Any) -> Cell:
    return Cell(one_line(str(cell)), cell.style if isinstance(cell, Cell) else "")
