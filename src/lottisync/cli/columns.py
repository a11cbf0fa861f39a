"""How wide the columns of a table are, and what its rows and other lines look like where they do not fit."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from lottisync.language import headed
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
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_TOKEN = re.compile(rf"( +)|([{_WIDE}]|[0-9a-f]{{4}}-(?=[0-9a-f]{{4}}\b))|[^ {_WIDE}]+")
"""White space; what may be at the end of a line: a character of a script that is written without white space, a group
of a device's id; a word, or a part of one."""


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
            yield from fold([Cell(first, first.style or "bold")], room)
        line: list[str] = []
        for heading, cell in cells[1:]:
            said = Cell(headed(heading, cell) if heading else cell, cell.style)
            if line and sum(map(cell_len, line)) + 2 + cell_len(said) > room:
                yield line
                line = []
            if cell_len(said) + 2 > room:
                yield from fold(["  ", said], room)
            else:
                line += ["  ", said]
        if line:
            yield line


def fold(parts: Sequence[str], room: int, further: str | None = None) -> Iterator[list[str]]:
    """A line as lines that fit, broken between words; each but the first begins with `further`, or is indented. A
    word that is wider than the room, as a link, stays whole: the terminal breaks it, and copies it in one piece."""
    if sum(map(cell_len, parts)) <= room:
        yield list(parts)
        return
    words = list(_words(parts))
    if further is None:
        further = f"{words[0][0][: room // 2]}  "
    line: list[str] = []
    used = 0
    for gap, pieces in words:
        wide = sum(map(cell_len, pieces))
        if line and used + len(gap) + wide > room:
            yield line
            line, used, gap = [], 0, further
        line += [gap, *pieces] if gap else pieces
        used += len(gap) + wide
    yield line


def _words(parts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each word with the white space before it, in pieces that keep their styles."""
    gap, pieces, ended = "", list[str](), False
    for part in parts:
        for token in _TOKEN.finditer(part):
            blank, alone = (group is not None for group in token.groups())
            if pieces and (blank or alone or ended):
                yield gap, pieces
                gap, pieces = "", []
            text = Cell(token[0], part.style) if isinstance(part, Cell) else token[0]
            if not blank:
                pieces.append(text)
            else:
                gap = gap + text if gap else text
            ended = alone
    if pieces:
        yield gap, pieces


def cell_len(text: str) -> int:
    """How many columns of the terminal a text takes; what counts them is loaded for text that needs it."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as counted

    return counted(text)


def _literal(cell: Any) -> Cell:
    return Cell(one_line(str(cell)), cell.style if isinstance(cell, Cell) else "")
