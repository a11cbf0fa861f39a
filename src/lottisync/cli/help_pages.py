"""Help pages in the reader's language.

click puts a page together from what is in the code, and says its own sentences through `gettext`. Both are English
text, and the id of a message: they are looked up when a page is written. Each paragraph of a docstring is a message of
its own. One that begins with `\b` holds examples, which are the same in every language.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

import click
from click import core, decorators, exceptions, formatting, parser, termui, types

from lottisync.language import OURS, say, spoken

VERBATIM = "\b"
_EXTRA = re.compile(r"(?P<text>.*?)(?P<extra>  \[[^\[\]]*\])?", re.DOTALL)
"""A help text of an option, and what click says behind it: `[default: ...]`."""
SPEAKING: tuple[ModuleType, ...] = (core, decorators, exceptions, formatting, parser, termui, types)
"""The modules of click that say something to a person."""


WIDE, NARROW, LEAST = 78, 60, 30
"""Columns of a help page: as many as the terminal has within these bounds."""


class Formatter(click.HelpFormatter):
    """Writes a help page in the reader's language, as wide as the terminal."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        import shutil

        columns = shutil.get_terminal_size().columns - 2
        super().__init__(
            indent_increment, width or formatting.FORCED_WIDTH or min(max(columns, LEAST), WIDE), max_width
        )

    def write_text(self, text: str) -> None:
        super().write_text("\n\n".join(map(_paragraph, text.split("\n\n"))))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        most = col_max if self.width > NARROW else self.width // 3  # a longer term has a line of its own
        super().write_dl([(term, _meaning(text)) for term, text in rows], most, col_spacing)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        with super().section(say(name)):
            yield


class Group(click.Group):
    """A group whose list of commands is in the reader's language."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(command.help or "")) for name, command in commands if command])


def prose(text: str) -> list[str]:
    """The messages of a docstring."""
    paragraphs = text.partition("\f")[0].split("\n\n")
    return [
        " ".join(each.split()) for each in paragraphs if each.strip() and not each.lstrip(" \n").startswith(VERBATIM)
    ]


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, in the reader's language."""
    first, *_ = *prose(text), ""
    return re.split(r"(?<=[.?!])\s", say(first), maxsplit=1)[0]


def _paragraph(text: str) -> str:
    return text if text.lstrip(" \n").startswith(VERBATIM) else say(" ".join(text.split()))


def _meaning(text: str) -> str:
    found = _EXTRA.fullmatch(text)
    assert found is not None
    return say(" ".join(found["text"].split())) + (found["extra"] or "")


def _gettext(text: str) -> str:
    return say(text)


def _ngettext(one: str, many: str, count: int) -> str:
    return OURS.words(spoken()).ngettext(one, many, count)


def prepare() -> None:
    """Let click say everything in the reader's language."""
    click.Context.formatter_class = Formatter
    for module in SPEAKING:
        for name, ours in (("_", _gettext), ("ngettext", _ngettext)):
            if hasattr(module, name):
                setattr(module, name, ours)
