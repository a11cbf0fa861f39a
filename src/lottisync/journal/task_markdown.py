"""Tasks as a Markdown checklist (docs/specs/08-journal.md, section 5).

    - [ ] Buy milk `P1` `due 2026-12-01` `label shopping` <!-- task id=0193... -->
        - [x] Look into the fridge
        > The shop has none.

A box in the outermost list is a task. What is indented below it belongs to it: a box is a checklist item, whatever its
depth, and a quote is a note. Behind the title follow the task's other values in code spans, and what only programs need
in a comment, which no viewer shows.

Files of other programs are read by the same rules. Any other line is left out, and its number is named; so is what is
in a fenced block.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import Any, NamedTuple

from lottisync.journal.task_file import TaskFile
from lottisync.journal.task_rows import FileRow, Kind, bad_line, by_the_clock, decoded, file_of
from lottisync.journal.types import PRIORITIES, STATUSES
from lottisync.problem import Sentence

HEADING = "# Tasks"
INDENT = "    "
MAX_LINE = 10_000
"""Characters of a line with a box."""
_BOX = re.compile(r"[-*+] \[([ xX])\](?: +|$)(.*)|\d{1,9}[.)] \[([ xX])\](?: +|$)(.*)", re.DOTALL)
_FENCE = re.compile(r"```|~~~")
_SPECIAL = re.compile(r"[\\`*_\[\]<>~&]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_PIECE = re.compile(
    r"(?P<text>(?:\\[!-/:-@\[-`{-~]|[^`<\\]|\\|<(?!!--))+)"
    r"|(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|<!--(?P<comment>.*?)-->|(?P<rest>`+|<)",
    re.DOTALL,
)
"""Without possessive quantifiers: the first releases of Python 3.11 match them wrongly."""
_NOTED = re.compile(r"\\*\*[^*]*\* <!-- (note|time)( .*)?-->")
"""The first line of a note. A line of a note that looks like one gets a backslash in front."""
_NO_SECONDS = re.compile(r":00(?=[+-])")
_FACT = re.compile(r"(due|remind|repeat|label|category|language) (.+)|(\d+) min|([A-Z][A-Z ]+?)(?:: (.+))?", re.DOTALL)


class MarkdownTasks(NamedTuple):
    """The tasks of a document, and the numbers of the lines that were left out."""

    tasks: TaskFile
    left_out: list[int]


# -- writing


def lines(rows: Iterable[FileRow], zone: tzinfo | None = None) -> Iterator[bytes]:
    """The rows as lines of Markdown, without the ends of the lines; instants by the clock in that zone (None: this
    machine's)."""
    yield HEADING.encode()
    before: Kind | None = None
    for row in rows:
        if row.kind == "task" or before in ("note", "time"):
            yield b""  # else two tasks or notes would be one
        for line in _noted(row, zone) if row.kind in ("note", "time") else [_boxed(row, zone)]:
            yield line.encode()
        before = row.kind


def _boxed(row: FileRow, zone: tzinfo | None) -> str:
    box = "x" if row.status in ("DONE", "REJECTED") else " "
    title = _SPECIAL.sub(r"\\\g<0>", row.text)
    facts = _facts(row, zone) if row.kind == "task" else ()
    parts = [f"- [{box}]", title, *map(_code, facts), _comment(row, zone)]
    return ("" if row.kind == "task" else INDENT) + " ".join(parts)


def _facts(row: FileRow, zone: tzinfo | None) -> Iterator[str]:
    """What a person sees of a task behind its title."""
    shown_by_the_box = row.status in ("OPEN", "DONE") and not row.reason
    if row.status and not shown_by_the_box:
        yield f"{row.status}: {row.reason}" if row.reason else row.status
    if row.priority:
        yield row.priority
    if row.minutes:
        yield f"{row.minutes} min"
    remind = _NO_SECONDS.sub("", by_the_clock(row.remind, zone)).replace("T", " ") if row.remind else ""
    named = {"due": row.due, "remind": remind, "repeat": row.repeat, "category": row.category, "language": row.language}
    for name, value in named.items():
        if value:
            yield f"{name} {value}"
    for label in row.labels:
        yield f"label {label}"


def _code(text: str) -> str:
    """A code span: between more backticks than there are in it, with spaces that do not count."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}" if longest else f"{ticks}{text}{ticks}"


def _comment(row: FileRow, zone: tzinfo | None) -> str:
    minutes = row.minutes if row.kind == "time" else ""
    held = {"at": by_the_clock(row.at, zone) if row.at else "", "minutes": minutes, "id": row.id}
    return " ".join(["<!--", row.kind, *(f"{name}={value}" for name, value in held.items() if value), "-->"])


def _noted(row: FileRow, zone: tzinfo | None) -> Iterator[str]:
    day = by_the_clock(row.at, zone)[:16].replace("T", " ") if row.at else ""
    spent = f", {row.minutes} min" if row.minutes and row.kind == "time" else ""
    yield f"{INDENT}> *{day}{spent}* {_comment(row, zone)}"
    for line in row.text.split("\n"):
        yield f"{INDENT}> " + (f"\\{line}" if _NOTED.fullmatch(line) else line)


# -- reading


def read(raw: bytes, name: str, now: int) -> MarkdownTasks:
    """The tasks of a document, checked whole; what has no instant gets `now` (ms). Raises `Problem` with the number of
    the line."""
    reading = _Reading(name)
    for number, line in enumerate(decoded(raw, name).split("\n"), 1):
        reading.take(line, number)
    reading.end_note()
    return MarkdownTasks(file_of(reading.rows, name, now), reading.left_out)


class _Reading:
    """A document, line by line."""

    def __init__(self, name: str) -> None:
        self.rows: list[FileRow] = []
        self.left_out: list[int] = []
        self._name = name
        self._indent: int | None = None
        """The indentation of the last task's box."""
        self._fenced = False
        self._note: dict[str, Any] | None = None
        self._quoted: list[str] = []

    def take(self, line: str, number: int) -> None:
        content = line.lstrip(" \t")
        indent = len(line[: len(line) - len(content)].expandtabs(4))
        if content.startswith(">") and self._indent is not None and indent > self._indent and not self._fenced:
            self._take_quoted(content[1:].removeprefix(" "), number)
            return
        self.end_note()
        box = None if self._fenced else _BOX.fullmatch(content)
        if _FENCE.match(content):
            self._fenced = not self._fenced
        elif box is not None:
            self._take_box(box, indent, number)
        elif self._fenced or (content.strip() and not content.startswith("#")):
            self.left_out.append(number)

    def _take_box(self, box: re.Match[str], indent: int, number: int) -> None:
        ticked, text = (box[1], box[2]) if box[1] else (box[3], box[4])
        if len(text) > MAX_LINE:
            raise bad_line(
                self._name,
                number,
                Sentence("it has {many:,} characters; it may have {most:,}", many=len(text), most=MAX_LINE),
            )
        is_task = self._indent is None or indent <= self._indent
        if is_task:
            self._indent = indent
        title, values = _title_and_values(text, facts=is_task)
        done = {"status": "OPEN" if ticked == " " else "DONE"}
        self.rows.append(FileRow(kind="task" if is_task else "item", text=title, line=number, **{**done, **values}))

    def _take_quoted(self, text: str, number: int) -> None:
        head = _NOTED.fullmatch(text)
        if head is not None and text.startswith("*"):
            self.end_note()
            self._note = {"kind": head[1], "line": number, **_held(head[2] or "")}
            return
        if self._note is None:
            self._note = {"kind": "note", "line": number}
        self._quoted.append(text[1:] if head is not None else text)

    def end_note(self) -> None:
        if self._note is not None:
            self.rows.append(FileRow(text="\n".join(self._quoted), **self._note))
        self._note, self._quoted = None, []


def _title_and_values(text: str, *, facts: bool) -> tuple[str, dict[str, Any]]:
    """The title in a line with a box, and what follows it."""
    pieces = list(_PIECE.finditer(text))
    values: dict[str, Any] = {}
    labels: list[str] = []
    while pieces:
        said = _said(pieces[-1], facts=facts)
        if said is None or (said.keys() & values.keys()):
            break
        labels += said.pop("labels", ())
        values |= said
        pieces.pop()
    if labels:
        values["labels"] = tuple(reversed(labels))
    title = "".join(_ESCAPED.sub(r"\1", piece[0]) if piece["text"] else piece[0] for piece in pieces)
    return title, values


def _said(piece: re.Match[str], *, facts: bool) -> dict[str, Any] | None:
    """What a piece of a line says of the task; None for a piece of the title."""
    if piece["comment"] is not None:
        kind, _, held = piece["comment"].strip().partition(" ")
        return _held(held) if kind in ("task", "item") else {}
    if piece["code"] is not None and facts:
        return _fact(piece["code"].removeprefix(" ").removesuffix(" ") if "`" in piece["code"] else piece["code"])
    return {} if piece["text"] is not None and not piece["text"].strip(" \t") else None


def _fact(code: str) -> dict[str, Any] | None:
    if code in PRIORITIES:
        return {"priority": code}
    found = _FACT.fullmatch(code)
    if found is None:
        return None
    name, value, minutes, status, reason = found.groups()
    if name == "label":
        return {"labels": [value]}
    if name:
        return {name: value}
    if minutes:
        return {"minutes": minutes}
    return {"status": status, "reason": reason or ""} if status in STATUSES else None


def _held(comment: str) -> dict[str, str]:
    pairs = (word.split("=", 1) for word in comment.split() if "=" in word)
    return {name: value for name, value in pairs if name in ("at", "minutes", "id")}
