"""Tasks as CSV, for spreadsheets (docs/specs/08-journal.md, section 5).

One line is a row of `task_rows`; the first line names the columns. A file may have any of the columns, in any order; it
must have `text`, or `title`, which is the same. Spreadsheets run a cell that begins like a formula, so such a cell gets
an apostrophe in front, which is taken off when the file is read.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import zip_longest
from typing import Any

from lottisync.journal.task_file import TaskFile
from lottisync.journal.task_rows import FileRow, Kind, bad_line, by_the_clock, decoded, file_of
from lottisync.problem import Sentence
from lottisync.shown import quoted

COLUMNS = (
    *("type", "text", "status", "reason", "priority", "due", "remind", "repeat", "minutes"),
    *("labels", "category", "language", "at", "id"),
)
KINDS: dict[str, Kind] = {"": "task", "task": "task", "item": "item", "note": "note", "time": "time"}
INSTANTS = ("remind", "at")
"""The columns with instants; a due date is a day."""
DELIMITERS = ",;\t"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")
_LABEL = re.compile(r"(?:\\.|[^;])+", re.DOTALL)


def lines(rows: Iterable[FileRow], zone: tzinfo | None = None) -> Iterator[bytes]:
    """The rows as lines of CSV, without the ends of the lines; instants by the clock in that zone (None: this
    machine's), with its offset."""
    yield _line(COLUMNS)
    for row in rows:
        instants = {name: by_the_clock(held, zone) for name in INSTANTS if (held := getattr(row, name))}
        cells = [row.kind, *(instants.get(name, getattr(row, name)) for name in COLUMNS[1:])]
        yield _line(_marked(_joined(cell) if isinstance(cell, tuple) else cell) for cell in cells)


def read(raw: bytes, name: str, now: int) -> TaskFile:
    """The tasks of a CSV file, checked whole; what has no instant gets `now` (ms). Raises `Problem` with the number of
    the line."""
    return file_of(_rows(decoded(raw, name), name), name, now)


def _line(cells: Iterable[str]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue().removesuffix("\r\n").encode()


def _rows(text: str, name: str) -> Iterator[FileRow]:
    head = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    begins = 1
    try:
        for cells in reader:
            if not columns:
                columns = _columns(cells, name)
            elif any(cells):
                yield _row(columns, cells, name, begins)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise bad_line(name, begins, _mistake(error)) from None
    if not columns:
        raise bad_line(name, 1, Sentence("it names no columns; they are {columns}", columns=", ".join(COLUMNS)))


def _mistake(error: csv.Error) -> Sentence:
    """What is wrong with a line that the reader of CSV does not take: it says that in English alone."""
    said = str(error)
    if "unexpected end" in said:
        return Sentence("a quotation mark is opened and not closed")
    if "expected after" in said:
        return Sentence("a cell goes on behind the quotation mark that closes it")
    if "field limit" in said:
        return Sentence("a cell has more than {most:,} characters", most=csv.field_size_limit())
    return Sentence("it is no CSV ({error})", error=error)


def _columns(cells: list[str], name: str) -> list[str]:
    columns = ["text" if cell.strip().lower() == "title" else cell.strip().lower() for cell in cells]
    for cell, column in zip(cells, columns, strict=True):
        if column not in COLUMNS:
            raise bad_line(
                name,
                1,
                Sentence("{cell} is not a column; they are {columns}", cell=quoted(cell), columns=", ".join(COLUMNS)),
            )
        if columns.count(column) > 1:
            raise bad_line(name, 1, Sentence("the column {column} stands there twice", column=column))
    if "text" not in columns:
        raise bad_line(name, 1, Sentence("there is no column text (or title)"))
    return columns


def _row(columns: list[str], cells: list[str], name: str, line: int) -> FileRow:
    if len(cells) > len(columns):
        raise bad_line(
            name,
            line,
            Sentence("it has {cells} cells, and there are {columns} columns", cells=len(cells), columns=len(columns)),
        )
    values: dict[str, Any] = dict(zip_longest(columns, map(_unmarked, cells), fillvalue=""))
    kind = values.pop("type", "").strip().lower()
    if kind not in KINDS:
        raise bad_line(
            name,
            line,
            Sentence("a type is one of {kinds}; got {kind}", kinds=", ".join(filter(None, KINDS)), kind=quoted(kind)),
        )
    values["labels"] = _split(values.get("labels", ""))
    return FileRow(kind=KINDS[kind], line=line, **values)


def _marked(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _unmarked(cell: str) -> str:
    return cell[1:] if _MARKED.match(cell) else cell


def _joined(labels: tuple[str, ...]) -> str:
    return "; ".join(label.replace("\\", "\\\\").replace(";", "\\;") for label in labels)


def _split(cell: str) -> tuple[str, ...]:
    pieces = (piece.strip() for piece in _LABEL.findall(cell))
    return tuple(re.sub(r"\\(.)", r"\1", piece) for piece in pieces if piece)
