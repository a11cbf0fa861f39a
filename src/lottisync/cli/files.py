"""`export` and `import`: data out of a home, and in (docs/specs/17-backup.md, section 3, and 08-journal.md, section 5).

Everything goes as lines of JSON. Tasks go as Markdown or CSV, too: a format is named by an option, or by the ending of
the file.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from lottisync.answers.stores import Exported
from lottisync.answers.tasks import ImportedAnswer
from lottisync.cli.acts import acting
from lottisync.cli.hints import with_hint
from lottisync.cli.output import file_line
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock
from lottisync.language import say, several
from lottisync.problem import Problem, Sentence, Usage
from lottisync.shown import escaped, one_line

if TYPE_CHECKING:
    from lottisync.journal.task_file import TaskFile

F = TypeVar("F", bound=Callable[..., object])
TextFormat = Literal["markdown", "csv"]
ENDINGS: dict[str, TextFormat] = {".md": "markdown", ".markdown": "markdown", ".csv": "csv"}


def _formats(function: F) -> F:
    """The options that name a format, whatever the file is called."""
    for name, title in (("--csv", "CSV"), ("--markdown", "a Markdown checklist")):
        function = click.option(name, is_flag=True, help=f"Tasks as {title}, whatever the file is called.")(function)
    return function


def _text_format(file: Path, *, markdown: bool, csv: bool) -> TextFormat | None:
    """The text format of tasks that was asked for; None for another format."""
    if markdown and csv:
        raise Usage("bad-call", "--markdown and --csv name two formats; give one")
    return "markdown" if markdown else "csv" if csv else ENDINGS.get(file.suffix.lower())


# -- out


@click.command("export")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@_formats
@common
def export_file(terminal: Terminal, file: Path, markdown: bool, csv: bool) -> None:
    """Write everything to FILE ('-': standard output) as lines of JSON: documents, clocks, conflicts, history.

    With --markdown or --csv, or to a FILE that ends in .md or .csv: the tasks, with their checklists and notes.

    \b
    lottisync export everything.jsonl
    lottisync export - | gzip > everything.jsonl.gz
    lottisync export tasks.md
    lottisync export --csv - > tasks.csv
    """
    form = _text_format(file, markdown=markdown, csv=csv)
    label = say("exporting")
    to_screen = str(file) == "-" and sys.stdout.isatty()
    with terminal.gauge(label, hidden=to_screen) as advance:
        counted = _Counted(lambda fraction: advance(label, fraction))
        lines = _all(terminal, counted) if form is None else _tasks(terminal, form, counted)
        if str(file) == "-":
            for line in lines:
                file_line(line, escaped if form is None else one_line)
            return
        _write(file, lines)
    value = Exported(str(file), counted.done)
    terminal.emit(
        value,
        lambda: terminal.line(_exported(counted.done, file, tasks=form is not None), "green"),
    )


class _Counted:
    """How much is exported so far."""

    def __init__(self, show: Callable[[float], None]) -> None:
        self.done = 0
        self._show = show

    def at(self, done: int, of: int) -> None:
        self.done = done
        self._show(done / of if of else 1.0)


def _all(terminal: Terminal, counted: _Counted) -> Iterator[bytes]:
    from lottisync.device import export

    home = terminal.home
    stores = {name: store for name, store in home.stores.items() if name != home.space.schema.name}
    return export.lines(stores, counted.at)


def _tasks(terminal: Terminal, form: TextFormat, counted: _Counted) -> Iterator[bytes]:
    """The tasks at one moment."""
    from lottisync.journal import task_csv, task_markdown, task_rows, tasks

    write = task_markdown.lines if form == "markdown" else task_csv.lines
    with terminal.home.journal.reading() as reader:
        listed, damaged = tasks.all_tasks(reader)
        for problem in damaged:
            terminal.warn(with_hint(problem))
        yield from write(task_rows.rows(reader, listed, counted.at))


def _write(file: Path, lines: Iterator[bytes]) -> None:
    """Write the whole file or nothing: it is written under another name, and then renamed."""
    building = file.with_name(f"{file.name}.new")
    try:
        with building.open("wb") as written:
            for line in lines:
                written.write(line + b"\n")
        building.replace(file)
    except OSError as error:
        raise Problem(
            "cannot-write", "{file} cannot be written: {strerror}", file=file, strerror=error.strerror or error
        ) from None
    finally:
        building.unlink(missing_ok=True)


# -- in


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Read and check the file, say what would be added, and add nothing.")
@_formats
@common
def import_file(terminal: Terminal, file: Path, dry_run: bool, markdown: bool, csv: bool) -> None:
    """Add what is in FILE ('-': standard input). Existing entities stay as they are.

    FILE is what `lottisync export` wrote in any format, or any Markdown checklist (.md), a table of tasks (.csv), tasks
    in JSON (format lottisync-tasks/1), or what Taskwarrior exports.

    \b
    lottisync import shopping.md
    task export > tasks.json && lottisync import tasks.json
    """
    form = _text_format(file, markdown=markdown, csv=csv)
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise Problem("no-file", "{file} cannot be read: {strerror}", file=file, strerror=error.strerror) from None
    from lottisync.device import export

    if form is None and export.FORMAT.encode() in raw[:200]:
        _import_export(terminal, raw.splitlines(), dry_run=dry_run)
    else:
        _import_tasks(terminal, _parsed(terminal, raw, file.name, form), dry_run=dry_run)


def _parsed(terminal: Terminal, raw: bytes, name: str, form: TextFormat | None) -> "TaskFile":
    from lottisync.journal import task_csv, task_file, task_markdown, taskwarrior

    if form == "csv":
        return task_csv.read(raw, name, clock.now())
    if form == "markdown":
        document = task_markdown.read(raw, name, clock.now())
        if document.left_out:
            count, first = len(document.left_out), document.left_out[0]
            what = several("{count} line has no box", "{count} lines have no box", count)
            terminal.warn(
                say(
                    "{name}: {what} and is not a note of a task, and was left out: line {first}",
                    name=name,
                    what=what,
                    first=first,
                )
            )
        return document.tasks
    return (taskwarrior.read if taskwarrior.is_taskwarrior(raw) else task_file.parse)(raw, name)


def _import_tasks(terminal: Terminal, parsed: "TaskFile", *, dry_run: bool) -> None:
    from lottisync.journal import task_file

    with (
        terminal.progress(say("importing"), task_file.size(parsed)) as advance,
        suppress(_DryRun),
        acting(terminal, Sentence("imported")) as tx,
    ):
        added = task_file.add(tx, parsed, advance)
        if dry_run:
            raise _DryRun
    by_type = {"task": added.tasks, "checklistItem": added.items, "entry": added.notes, "label": added.labels}
    value = ImportedAnswer(sum(by_type.values()), added.kept, by_type, dry_run)
    parts = (
        several("{count} task", "{count} tasks", added.tasks),
        several("{count} checklist item", "{count} checklist items", added.items),
        several("{count} note", "{count} notes", added.notes),
        several("{count} label", "{count} labels", added.labels),
    )
    said = _said(", ".join(parts), added.kept, dry_run=dry_run)
    terminal.emit(value, lambda: terminal.line(said))


def _import_export(terminal: Terminal, lines: list[bytes], *, dry_run: bool) -> None:
    from lottisync.device import export

    home = terminal.home
    stores = {name: store for name, store in home.stores.items() if name != home.space.schema.name}
    with terminal.progress(say("importing"), len(lines)) as advance:
        found = export.take(stores, lines, clock.now(), dry_run=dry_run, progress=advance)
    value = ImportedAnswer(found.added, found.present, {}, dry_run)
    added = several("{count} entity", "{count} entities", found.added)
    said = _said(added, found.present, dry_run=dry_run)
    terminal.emit(value, lambda: terminal.line(said))


def _said(added: str, present: int, *, dry_run: bool) -> str:
    here = several("{count} was here already", "{count} were here already", present)
    if dry_run:
        return say("Would add {added}; {here}.", added=added, here=here)
    return say("Added {added}; {here}.", added=added, here=here)


class _DryRun(Exception):
    """Takes back the transaction of a dry run."""


def _exported(done: int, file: Path, *, tasks: bool) -> str:
    if tasks:
        return several("Exported {count} task to {file}", "Exported {count} tasks to {file}", done, file=file)
    return several("Exported {count} entity to {file}", "Exported {count} entities to {file}", done, file=file)
