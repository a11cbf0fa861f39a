"""What a person sets once for this device's daemon: `config.toml` in the home
(docs/specs/11-command-line.md, section 5).

The file is flat: a line for each setting. So a setting is changed by changing its line, and comments stay. Whatever was
written is read again before it takes the place of the old file.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from lottisync.net.address import BadAddress, parse
from lottisync.problem import Problem, Usage

SETTINGS_FILE = "config.toml"
OFF = "off"

Value = str | bool


class Settings(msgspec.Struct, frozen=True):
    """`listen` and `web` are HOST:PORT; None means what the daemon does without them. `web` may be `off`."""

    listen: str | None = None
    web: str | None = None
    discovery: bool = True
    agents: bool = True


NAMES = Settings.__struct_fields__


def read_settings(home: Path) -> Settings:
    """The settings of a home; the usual ones without a file. Raises `Problem` for a file that cannot be used."""
    file = home / SETTINGS_FILE
    return _checked(_table(_text(file), file), file)


def given(home: Path) -> dict[str, Value]:
    """The settings that are in the file."""
    file = home / SETTINGS_FILE
    table = _table(_text(file), file)
    _checked(table, file)
    return table


def change(home: Path, name: str, text: str | None) -> None:
    """Set `name` to what `text` means, or with None take it out of the file. Raises `Usage` for a name or a value that
    is not one, and `Problem` for a file that cannot be used; then nothing is changed."""
    known(name)
    file = home / SETTINGS_FILE
    old = _text(file)
    wanted = _table(old, file)
    _checked(wanted, file)
    if text is None:
        wanted.pop(name, None)
    else:
        wanted[name] = _value(name, text)
    new = _with_line(old, name, wanted.get(name))
    if not _says(new, wanted):
        raise Problem("bad-config", "{file} has no line of its own for {name}. Change it by hand", file=file, name=name)
    _replace(file, new)


def known(name: str) -> str:
    """`name`, if there is such a setting. Raises `Usage` with the names that are like it."""
    if name not in NAMES:
        raise Usage("unknown-setting", "there is no setting {name}. {like}", name=repr(name), like=_like(name))
    return name


def _like(name: str) -> str:
    near: Iterable[str] = difflib.get_close_matches(name, NAMES)
    return f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(NAMES)}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("bad-config", "{file} cannot be read: {error}", file=file, error=error) from None


def _table(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problem("bad-config", "{file} is not TOML: {error}. Mend that line", file=file, error=error) from None


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _checked(table: dict[str, Any], file: Path) -> Settings:
    for name in table:
        if name not in NAMES:
            raise Problem(
                "bad-config", "{file} has a setting {name}. {like}", file=file, name=repr(name), like=_like(name)
            )
    try:
        settings = msgspec.convert(table, Settings)
        for name in ("listen", "web"):
            _check_address(name, getattr(settings, name))
    except (msgspec.ValidationError, BadAddress) as error:
        raise Problem("bad-config", "{file}: {error}. Mend that setting", file=file, error=error) from None
    return settings


def _value(name: str, text: str) -> Value:
    """What a text from the command line means for a setting."""
    if isinstance(getattr(Settings(), name), bool):
        if text not in ("true", "false"):
            raise Usage("bad-value", "{name} is true or false; got {text}", name=name, text=repr(text))
        return text == "true"
    try:
        _check_address(name, text)
    except BadAddress as error:
        raise Usage("bad-value", "{name}: {error}", name=name, error=error) from None
    return text


def _check_address(name: str, text: str | None) -> None:
    if text is not None and not (name == "web" and text == OFF):
        parse(text)


def _with_line(text: str, name: str, value: Value | None) -> str:
    """The file's text with one line for `name`, or with none."""
    its_line = re.compile(rf"^[ \t]*{name}[ \t]*=.*\n?", re.MULTILINE)
    if value is None:
        return its_line.sub("", text)
    # A JSON string or boolean is one of TOML, too.
    line = f"{name} = {msgspec.json.encode(value).decode()}\n"
    if its_line.search(text):
        return its_line.sub(lambda _: line, text)
    return (text if not text or text.endswith("\n") else text + "\n") + line


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(file.name + ".new")
    with fresh.open("w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(file)
