"""What a person sets once for this device's daemon: `config.toml` in the home
(docs/specs/11-command-line.md, section 5).

Each setting has a line of its own. So a setting is changed by changing its line, and comments stay. Whatever was
written is read again before it takes the place of the old file. Those of the command that calls the person
(`lottisync.daemon.pending`) have a dot in their names, `on-pending.after`, which TOML reads like a line of the table
`[on-pending]`. Tables come after the lines and are written by hand: `[endpoints.NAME]` is a server of models
(`lottisync.agents.endpoint`).
"""

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from lottisync.agents.endpoint import Endpoint
from lottisync.language import LANGUAGES
from lottisync.net.address import parse
from lottisync.net.listener import DEFAULT_PORT
from lottisync.problem import Invalid, Problem, Sentence, Usage

SETTINGS_FILE = "config.toml"
OFF = "off"

Value = str | bool | int | list[str]


class OnPending(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`command` is a program and its arguments. `device` names the one that runs its command at once; None is this one.
    Another device waits `after` minutes."""

    command: Annotated[list[Annotated[str, msgspec.Meta(pattern=r"\A[^\0]+\Z")]], msgspec.Meta(min_length=1)]
    device: str | None = None
    after: Annotated[int, msgspec.Meta(ge=0, le=7 * 24 * 60)] = 10


class Settings(msgspec.Struct, frozen=True):
    """`listen` and `web` are HOST:PORT, or an IP address; None means what the daemon does without them. `web` may be
    `off`. `language` is that of the person who uses this home (`lottisync.language`); None: that of the system, or of
    the browser."""

    listen: str | None = None
    web: str | None = None
    discovery: bool = True
    agents: bool = True
    language: str | None = None
    endpoints: dict[str, Endpoint] = {}
    on_pending: OnPending | None = msgspec.field(default=None, name="on-pending")


TABLES = ("endpoints", "on-pending")
ON_PENDING = {f"on-pending.{field}": field for field in OnPending.__struct_encode_fields__}
LINES = tuple(name for name in Settings.__struct_encode_fields__ if name not in TABLES)
NAMES = (*LINES, *ON_PENDING)
"""The settings that have a line, or may have one: all that the command line and the pages show and change."""


def read_settings(home: Path) -> Settings:
    """The settings of a home; the usual ones without a file. Raises `Problem` for a file that cannot be used."""
    file = home / SETTINGS_FILE
    return _checked(_table(_text(file), file), file)


def given(home: Path) -> dict[str, Value]:
    """The settings that are in the file."""
    file = home / SETTINGS_FILE
    table = _table(_text(file), file)
    _checked(table, file)
    on_pending = table.get("on-pending", {})
    return table | {name: on_pending[field] for name, field in ON_PENDING.items() if field in on_pending}


def value_of(home: Path, name: str) -> str | bool | None:
    """What counts for a setting, as it is typed; None if the daemon chooses. Raises `Usage` for an unknown name."""
    settings = read_settings(home)
    if known(name) not in ON_PENDING:
        found: str | bool | None = getattr(settings, name)
        return found
    held = getattr(settings.on_pending, ON_PENDING[name], None)
    return shlex.join(held) if isinstance(held, list) else None if held is None else str(held)


def change(home: Path, name: str, text: str | None) -> None:
    """Set `name` to what `text` means, or with None take it out of the file. Raises `Usage` for a name or a value that
    is not one, and `Problem` for a file that cannot be used; then nothing is changed."""
    known(name)
    file = home / SETTINGS_FILE
    old = _text(file)
    wanted = _table(old, file)
    _checked(wanted, file)
    value = None if text is None else _value(name, text)
    new = _with_line(old, name, value)
    wanted = _with(wanted, name, value)
    _checked(wanted, file)
    if not _says(new, wanted):
        raise Problem("bad-config", "{file} has no line of its own for {name}. Change it by hand", file=file, name=name)
    _replace(file, new)


def _with(table: dict[str, Any], name: str, value: Value | None) -> dict[str, Any]:
    """The table with another value for a setting, or with none."""
    of, _, field = name.rpartition(".")
    held = {key: each for key, each in (table.get(of, {}) if of else table).items() if key != field}
    if value is not None:
        held[field] = value
    if not of:
        return held
    return {key: each for key, each in table.items() if key != of} | ({of: held} if held else {})


def known(name: str) -> str:
    """`name`, if there is such a setting. Raises `Usage` with the names that are like it."""
    if name not in NAMES:
        raise Usage("unknown-setting", "there is no setting {name}. {like}", name=repr(name), like=_like(name))
    return name


def _like(name: str) -> Sentence:
    import difflib

    near: Iterable[str] = difflib.get_close_matches(name, NAMES)
    if near:
        return Sentence("Did you mean {names}?", names=" / ".join(near))
    return Sentence("There are: {names}", names=", ".join(NAMES))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("bad-config", "{file} cannot be read: {error}", file=file, error=error) from None


def _table(text: str, file: Path) -> dict[str, Any]:
    if not text:
        return {}  # most homes have no such file: nothing is loaded to read it
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problem("bad-config", "{file} is not TOML: {error}. Mend that line", file=file, error=error) from None


def _says(text: str, wanted: dict[str, Any]) -> bool:
    import tomllib

    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _checked(table: dict[str, Any], file: Path) -> Settings:
    for name in table:
        if name not in (*LINES, *TABLES):
            raise Problem(
                "bad-config", "{file} has a setting {name}. {like}", file=file, name=repr(name), like=_like(name)
            )
    on_pending = table.get("on-pending")
    if isinstance(on_pending, dict) and on_pending and "command" not in on_pending:
        raise Problem(
            "bad-config",
            "{name} means nothing without on-pending.command: set that one first, or take this one away first",
            name=" ".join(f"on-pending.{field}" for field in on_pending),
        )
    try:
        settings = msgspec.convert(table, Settings)
        for name in ("listen", "web", "language"):
            _check(name, getattr(settings, name))
    except (msgspec.ValidationError, ValueError) as error:
        raise Problem("bad-config", "{file}: {error}. Mend that setting", file=file, error=error) from None
    return settings


def _value(name: str, text: str) -> Value:
    """What a text from the command line means for a setting."""
    if name in ON_PENDING:
        return _of_on_pending(name, text)
    if isinstance(getattr(Settings(), name), bool):
        if text not in ("true", "false"):
            raise Usage("bad-value", "{name} is true or false; got {text}", name=name, text=repr(text))
        return text == "true"
    try:
        _check(name, text)
    except ValueError as error:
        raise Usage("bad-value", "{name}: {error}", name=name, error=error) from None
    return text


def _of_on_pending(name: str, text: str) -> Value:
    if name == "on-pending.command":
        return _command(name, text)
    if name == "on-pending.after":
        if not (text.isascii() and text.isdigit()):
            raise Usage("bad-value", "{name} is a number of minutes; got {text}", name=name, text=repr(text))
        return int(text[:9])
    return text


def _command(name: str, text: str) -> list[str]:
    """A program and its arguments: words as a shell reads them, or the list as it is in the file."""
    if re.match(r"\s*\[\S", text):  # `[ -f x ]` is a program
        import tomllib

        try:
            return msgspec.convert(tomllib.loads(f"words = {text.strip()}")["words"], list[str])
        except (tomllib.TOMLDecodeError, msgspec.ValidationError):
            raise Usage(
                "bad-value",
                '{name} is a program and its arguments: words, or a list of texts, like ["touch", "x"]; got {text}',
                name=name,
                text=repr(text),
            ) from None
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Usage("bad-value", "{name}: {error}; got {text}", name=name, error=error, text=repr(text)) from None


def _check(name: str, text: str | None) -> None:
    """Raises `ValueError` for a text that is not a value of the setting."""
    if name == "language":
        if text not in (None, *LANGUAGES):
            raise Invalid("a language is one of {languages}; got {text!r}", languages=", ".join(LANGUAGES), text=text)
    elif text is not None and not (name == "web" and text == OFF):
        parse(text, DEFAULT_PORT)


def _with_line(text: str, name: str, value: Value | None) -> str:
    """The file's text with one line for `name`, or with none."""
    its_line = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=.*\n?", re.MULTILINE)
    if value is None:
        return its_line.sub("", text)
    # A JSON string, boolean, number or array of strings is one of TOML, too.
    line = f"{name} = {msgspec.json.encode(value).decode()}\n"
    if its_line.search(text):
        return its_line.sub(lambda _: line, text)
    table = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    before, after = (text, "") if table is None else (text[: table.start()], text[table.start() :])
    return (before if not before or before.endswith("\n") else before + "\n") + line + after


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(file.name + ".new")
    with fresh.open("w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(file)
