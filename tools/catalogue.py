"""Collect every message of the code into the catalogues, `src/lottisync/locale/<language>/LC_MESSAGES/lottisync.po`.

    python -m tools.catalogue            write them again: new messages without a translation, none that is left over
    python -m tools.catalogue --check    say which messages have no translation yet

A message is the literal text that one of these gets: `say`, `marked`, `several`, `gettext`, `ngettext`, `Sentence`,
`counted`, or the constructor of a `Problem`, an `Invalid` or a `Fault`; a hint; and, in the command line, what a help
page is made of, and the sentences of click. In templates of the pages, `say` and `several`. The files are sorted by the
English text, so that two branches merge easily.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment
from jinja2.ext import extract_from_ast

import lottisync
from lottisync.cli.help_pages import SPEAKING, prose
from lottisync.cli.main import COMMANDS
from lottisync.cli.main import lottisync as command_line
from lottisync.language import LANGUAGES, OURS

SOURCE = Path(lottisync.__file__).parent
TRANSLATED = tuple(language for language in LANGUAGES if language != "en")
MESSAGE_AT = {
    **dict.fromkeys(("say", "marked", "heading", "fact", "gettext", "Sentence", "IdentityError", "_"), (0,)),
    **dict.fromkeys(
        ("Problem", "Fault", "Usage", "refusal", "Withheld", "ModelError", "Unacceptable", "PairingError"),
        (1,),
    ),
    **dict.fromkeys(
        ("Invalid", "HlcError", "ClockError", "NotCanonical", "PathError", "EqualDots", "BadVersion", "BadFrame"), (0,)
    ),
    **dict.fromkeys(("MalformedMessage", "BadChain", "Gap", "BadMessage", "BadAddress"), (0,)),
    "Outcome": (2,),
    **dict.fromkeys(("several", "ngettext", "counted"), (0, 1)),
}
"""Which arguments of a call are messages; of two, the second is the plural of the first."""
SPEAKS = re.compile(r"^from lottisync\.(language|web\.words|web) import |^def say\(text", re.MULTILINE)
"""A file whose `say` is the catalogue's. In the daemon one of this name writes the log: its first word is a code."""
APART = ("adapter", "conformance", "demo", "scripted_model")
"""What speaks to programs, or to somebody who looks at the code."""


class Message(NamedTuple):
    """A message of the code: its English text, the plural if it has one, and the file."""

    text: str
    plural: str | None
    file: str


def collected() -> dict[str, Message]:
    """Every message by its English text."""
    found: dict[str, Message] = {}
    for message in (*of_code(), *of_templates(), *of_help(), *of_click()):
        held = found.get(message.text)
        if held is None or held.plural is None:
            found[message.text] = message
    return found


def of_code() -> Iterator[Message]:
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE)
        if place.parts[0] not in APART:
            text = file.read_text(encoding="utf-8")
            found = of_module(ast.parse(text), str(place))
            yield from found if re.search(SPEAKS, text) else (one for one in found if one.text.count(" "))


def of_module(tree: ast.AST, file: str) -> Iterator[Message]:
    """The messages of one file of Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node, file)
            yield from _headings(node, file)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and file == "cli/hints.py":
            yield from (Message(text, None, file) for text in _values(node.value))


def _of_call(call: ast.Call, file: str) -> Iterator[Message]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    places = MESSAGE_AT.get(name, ())
    given = _arguments(call)
    texts = [_literals(given[place]) if place < len(given) else [] for place in places]
    if len(places) == 2 and all(texts):
        yield Message(texts[0][0], texts[1][0], file)
    elif len(places) == 1:
        yield from (Message(text, None, file) for text in texts[0])


def _headings(call: ast.Call, file: str) -> Iterator[Message]:
    """Those of a table in the command line."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "table" and call.args:
        columns = call.args[0].elts if isinstance(call.args[0], ast.List | ast.Tuple) else []
        yield from (Message(text, None, file) for each in columns for text in _literals(each) if text)


def _arguments(call: ast.Call) -> list[ast.expr]:
    """The arguments by their places; `*(a, b)` stands for two."""
    found: list[ast.expr] = []
    for each in call.args:
        found += each.value.elts if isinstance(each, ast.Starred) and isinstance(each.value, ast.Tuple) else [each]
    return found


def _literals(node: ast.expr) -> list[str]:
    """The texts that an expression may be: a literal, or one of two."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return [*_literals(node.body), *_literals(node.orelse)]
        case _:
            return []


def _values(node: ast.expr | None) -> list[str]:
    return [text for value in node.values for text in _literals(value)] if isinstance(node, ast.Dict) else []


def of_templates() -> Iterator[Message]:
    environment = Environment(autoescape=True)
    for file in sorted((SOURCE / "web" / "templates").glob("*")):
        tree = environment.parse(file.read_text(encoding="utf-8"))
        for _, name, texts in extract_from_ast(tree, ("say", "several")):
            one, *more = texts if isinstance(texts, tuple) else (texts,)
            if one is not None:
                plural = more[0] if name == "several" and more else None
                yield Message(one, plural, f"web/templates/{file.name}")


def of_help() -> Iterator[Message]:
    """What the help pages of all commands are made of."""
    for _, text in COMMANDS.values():
        yield Message(text, None, "cli/main.py")
    for path, command in commands(command_line):
        for text in prose(command.help or ""):
            yield Message(text, None, f"help of {path}")
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                yield Message(" ".join(parameter.help.split()), None, f"help of {path}")
    yield Message("Show this message and exit.", None, "click")


def commands(command: click.Command, path: str = "lottisync") -> Iterator[tuple[str, click.Command]]:
    """Every command and every group, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}")


def of_click() -> Iterator[Message]:
    """What click says to a person; what it says to somebody who writes a command line is left out."""
    for module in SPEAKING:
        assert module.__file__ is not None
        for message in of_module(ast.parse(Path(module.__file__).read_text(encoding="utf-8")), "click"):
            if not any(word in message.text for word in FOR_AUTHORS):
                yield message


FOR_AUTHORS = (
    "eprecat",
    "declar",
    "decls",
    "iterable",
    "defined twice",
    "Unknown color",
    "start character",
    "UUID",
    "same flag",
)
"""Words of click's sentences for somebody who writes a command line, and of types that no command of ours has."""


# -- the files

HEADER = """\
msgid ""
msgstr ""
"Project-Id-Version: lottisync\\n"
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural_forms}\\n"

"""
"""It has no dates: they would differ in every branch."""


def file_of(language: str) -> Path:
    return OURS.folder / language / "LC_MESSAGES" / f"{OURS.domain}.po"


def read(language: str) -> Catalog:
    with file_of(language).open("rb") as file:
        return read_po(file, locale=language)


def written(language: str, messages: dict[str, Message], old: Catalog) -> Catalog:
    """A catalogue of these messages, with the translations that there are."""
    made = Catalog(locale=language, project="lottisync", fuzzy=False)
    for text in sorted(messages):
        plural = messages[text].plural
        held = old.get(text)
        wanted = made.num_plurals if plural else 1
        forms = _forms(held)
        if len(forms) != wanted:
            forms = [""] * wanted
        made.add((text, plural) if plural else text, tuple(forms) if plural else forms[0])
    return made


def _forms(message: Entry | None) -> list[str]:
    if message is None:
        return []
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def write(language: str, catalog: Catalog) -> None:
    header = HEADER.format(language=language, plural_forms=catalog.plural_forms)
    with file_of(language).open("wb") as file:
        file.write(header.encode())
        write_po(file, catalog, width=0, no_location=True, omit_header=True)


def main(arguments: list[str]) -> int:
    messages = collected()
    missing = 0
    for language in TRANSLATED:
        catalog = written(language, messages, read(language))
        lacking = [entry.id for entry in catalog if entry.id and not all(_forms(entry))]
        missing += len(lacking)
        if "--check" in arguments:
            for text in lacking:
                print(f"{language}: {text!r} has no translation")
        else:
            write(language, catalog)
            print(f"{language}: {len(messages)} messages, {len(lacking)} without a translation")
    return 1 if missing and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
