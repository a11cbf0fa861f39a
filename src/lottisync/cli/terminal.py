"""What a command has in common with every other: its home, its output, `--json` (docs/specs/11-command-line.md).

With `--json` a command prints one answer on standard output and nothing else: a struct of `lottisync.answers`, as
docs/json.md shows it. Without, it prints for people: tables and colour where a terminal is there to show them, plain
text in a pipe.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lottisync.cli.columns import NARROW, Cell, blocks, fold, widths
from lottisync.cli.options import asked, default_path, everywhere, speak_to
from lottisync.cli.output import answer_line, drop, writing
from lottisync.daemon.home import TaskHome
from lottisync.language import say, several
from lottisync.problem import Marked, Problem, Usage
from lottisync.shown import lines, one_line

if TYPE_CHECKING:
    import msgspec
    from rich.console import Console

    from lottisync.net.address import Address
    from lottisync.net.listener import Listen

F = TypeVar("F", bound=Callable[..., Any])


DRAWN_ROWS = 200
MARGIN = "  │ "


class Terminal:
    """The output of one command. `emit` ends it."""

    def __init__(self, home: str | None, as_json: bool) -> None:
        self.as_json = as_json
        self._given = home
        self._console: Console | None = None

    @property
    def path(self) -> Path:
        return default_path(self._given)

    @functools.cached_property
    def home(self) -> TaskHome:
        """The home, which has to exist."""
        return TaskHome.open(self.path)

    @property
    def console(self) -> "Console":
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False, soft_wrap=True)
        return self._console

    def width(self) -> int:
        """How wide a line may be: the terminal's width; in a pipe COLUMNS, or no limit."""
        if drawn():
            return self.console.width
        given = os.environ.get("COLUMNS", "")
        return int(given) if given.isdecimal() and int(given) > 0 else NARROW

    def begin_page(self) -> None:
        """Clear the screen for a page that is shown again, if there is a screen."""
        if not self.as_json:
            click.clear()

    def emit(self, answer: "msgspec.Struct", shown: Callable[[], None]) -> None:
        """The result of a command: `answer` for programs, on one line, or `shown()` for people."""
        if not self.as_json:
            shown()
            return
        with writing():
            answer_line(answer)

    def line(self, text: str = "", style: str | None = None, *, further: str | None = None) -> None:
        """A line for people, `text` taken literally; nothing with `--json`. Under 72 columns it is folded, and each
        further line begins with `further`."""
        self.pieces([Cell(text, style) if style else text], further)

    def pieces(self, parts: Sequence[str], further: str | None = None) -> None:
        """A line of several parts, each a text or a `Cell`."""
        if self.as_json:
            return
        width = self.width()
        lines = fold([_shown(part) for part in parts], width, further) if width < NARROW else [parts]
        with writing():
            for each in lines:
                self._write(each)

    def _write(self, parts: Sequence[str]) -> None:
        if not drawn():
            sys.stdout.write(f"{one_line(''.join(parts))}\n")
            return
        from rich.text import Text

        self.console.print(Text.assemble(*map(_literal, parts)))

    def fact(self, label: str | Marked, text: object, style: str | None = None) -> None:
        """A line of a page with a label before it, which is a message."""
        self.line(f"{say(label):7} {text}", style)

    def heading(self, text: str) -> None:
        """The heading of a part of a page, below an empty line."""
        self.line()
        self.line(text, "bold")

    def warn(self, text: str) -> None:
        """A warning that does not stop the command: a line on standard error, also with `--json`."""
        click.echo(f"lottisync: {one_line(text)}", err=True)

    def text(self, text: str, head: str = "") -> None:
        """Text of several lines for people, the first one after `head`. Each further line begins with a mark with
        which no line of our own begins."""
        first, *rest = lines(text)
        for line in (head + first, *(MARGIN + line for line in rest)):
            self.line(line, further=MARGIN)

    def markup(self, text: str) -> None:
        """A line for people in rich's markup; never with text that came from outside."""
        if not self.as_json:
            with writing():
                self.console.print(text)

    def table(
        self, headings: Sequence[str | Marked], rows: Iterable[Sequence[Any]], *, title: str | None = None
    ) -> None:
        """A table; a heading is a message, or empty. Where all are empty, there is no line of them. Cells are text,
        taken literally, or a `Cell`. In a pipe, and for very many rows, the columns are only aligned:
        drawing ten thousand rows takes seconds. Where the rows do not fit, each takes lines of its own."""
        columns = [say(each) if each else "" for each in headings]
        listed = list(rows)
        plain = not drawn() or len(listed) > DRAWN_ROWS
        if plain and self.width() >= NARROW:
            self._plain_table(columns, listed, title)
            return
        room = widths(columns, listed, self.width())
        if room is None:
            if title:
                self.line(title)
            for parts in blocks(columns, listed, self.width()):
                self.pieces(parts)
            return
        if plain:
            self._plain_table(columns, listed, title)
            return
        from rich import box
        from rich.table import Column, Table

        headed = any(columns)
        lines = box.SIMPLE_HEAD if headed else None
        named = [Column(name, width=wide) for name, wide in zip(columns, room, strict=True)]
        table = Table(*named, title=title, title_justify="left", show_header=headed, box=lines, pad_edge=False)
        for row in listed:
            table.add_row(*(_literal(cell) for cell in row))
        with writing():
            self.console.print(table)

    def _plain_table(self, columns: Sequence[str], rows: list[Sequence[Any]], title: str | None) -> None:
        columns_of_text, layout = [], []
        for cells in zip(columns, *rows, strict=True):
            texts = cells if set(map(type, cells)) <= {str, Cell} else tuple(map(str, cells))
            if not ((joined := "".join(texts)).isascii() and joined.isprintable()):
                texts = tuple(map(one_line, texts))
            columns_of_text.append(texts)
            layout.append(f"%-{max(map(len, texts))}s")
        aligned = "  ".join([*layout[:-1], "%s"])
        lines = [(aligned % cells).rstrip() for cells in zip(*columns_of_text, strict=True)]
        if not any(columns):
            del lines[0]
        with writing():
            sys.stdout.write("\n".join([title, *lines] if title else lines) + "\n")

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask the person before what cannot be taken back; `yes` is `--yes`. Raises `Problem` for a no, and `Usage`
        where there is nobody to ask."""
        if yes:
            return
        if self.as_json or not sys.stdin.isatty():
            raise Usage(
                "not-confirmed", "{one_line} Nobody is here to ask. If it is so, say --yes", one_line=one_line(question)
            )
        if not click.confirm(one_line(question), err=True):
            raise Problem("not-confirmed", "nothing was changed")

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar on standard error for long work, if a person is watching; yields `advance(n)`."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda done: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done: bar.advance(task, done)

    @contextmanager
    def gauge(self, label: str, *, hidden: bool = False) -> Iterator[Callable[[str, float], None]]:
        """A bar on standard error for work that says itself how far it is, if a person is watching and the bar is not
        `hidden`; yields `show(label, fraction)`."""
        if hidden or self.as_json or not sys.stderr.isatty():
            yield lambda label, fraction: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=1.0)
            yield lambda label, fraction: bar.update(task, description=label, completed=fraction)

    @contextmanager
    def waiting(self, label: str) -> Iterator[None]:
        """A spinner on standard error while something takes its time, if a person is watching."""
        if self.as_json or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(label):
            yield


def drawn() -> bool:
    """Whether standard output shows colours and boxes; plain text needs nothing loaded (CLI-680)."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def common(function: F) -> F:
    """Give a command `--home` and `--json`, and a `Terminal` as its first argument."""

    @everywhere
    @functools.wraps(function)
    def command(*args: Any, home: str | None, as_json: bool, **kwargs: Any) -> Any:
        context = click.get_current_context()
        terminal = Terminal(*asked(context))
        speak_to(context, terminal.path, as_json=terminal.as_json)
        try:
            return function(terminal, *args, **kwargs)
        except BrokenPipeError:
            # Here, because click turns it into exit code 1.
            drop()
            return 0
        finally:
            if "home" in terminal.__dict__:
                terminal.home.close()

    return command  # type: ignore[return-value]


@contextmanager
def judging_the_call() -> Iterator[None]:
    """On the command line, a value that breaks a rule of the journal is a wrong call: exit code 2."""
    try:
        yield
    except Problem as problem:
        problem.exit_code = Usage.exit_code
        raise


def address(text: str, *, what: str, usual: int | None = None) -> tuple[str, int]:
    """`HOST:PORT` (or `[V6]:PORT`) in its parts, and an IP address alone where a port is `usual`; `Problem` with exit
    code 2 otherwise."""
    from lottisync.net.address import BadAddress, parse

    try:
        return parse(text, usual)
    except BadAddress as error:
        raise Usage("bad-address", "{what}: {error}", what=what, error=error.sentence) from None


def listen_at(text: str | None) -> "Listen":
    """Where to listen: at HOST:PORT; without a port, or without anything, at the usual port or another free one."""
    from lottisync.net.address import names_no_port
    from lottisync.net.listener import DEFAULT_PORT, EVERYWHERE, Listen

    if text is None:
        return Listen(EVERYWHERE, DEFAULT_PORT, firm=False)
    return Listen(*address(text, what="--listen", usual=DEFAULT_PORT), firm=not names_no_port(text.strip()))


def remote_address(text: str, *, what: str) -> "Address":
    """An address at which another machine can be reached; `Problem` with exit code 2 otherwise."""
    from lottisync.net.address import Address, BadAddress, check_remote

    try:
        return check_remote(Address(*address(text, what=what)))
    except BadAddress as error:
        raise Usage("bad-address", "{what}: {error}", what=what, error=error.sentence) from None


def _shown(part: str) -> str:
    """A part of a line as people see it, before it is measured."""
    return Cell(one_line(part), part.style) if isinstance(part, Cell) else one_line(part)


def _literal(text: Any) -> Any:
    """Rich `Text` of what may come from outside, as one line: a model must not choose what a person sees beside its
    proposal (CLI-13)."""
    from rich.text import Text

    return Text(one_line(str(text)), style=text.style if isinstance(text, Cell) else "")


def cut(text: str, columns: int) -> str:
    """The text in one line of at most so many columns of a terminal; what does not fit ends at a whole character."""
    from rich.cells import cell_len, set_cell_size

    line = one_line(text)
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 1).rstrip()}…"


def short(entity_id: str) -> str:
    """The end of an id, enough for people to tell ids apart (the beginning is the time)."""
    return entity_id[-8:]


def waits_for_you(proposals: int) -> str:
    """`3 proposals wait for you`."""
    return several("{count} proposal waits for you", "{count} proposals wait for you", proposals)
