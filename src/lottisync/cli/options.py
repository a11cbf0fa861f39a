"""`--home`, `--json` and `--language`, which every command and every group takes: they may be anywhere in a call."""

import os
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from lottisync.language import LANGUAGES, chosen, speak

F = TypeVar("F", bound=Callable[..., Any])


class Asked(NamedTuple):
    """The options of a call that count for the whole command. `home` is as it was typed, or None."""

    home: str | None
    as_json: bool


_HOME = re.compile(r"--home(=|$)").match
LANGUAGE = "lottisync.language"
"""Where click's context keeps the language that was given."""


def everywhere(command: F) -> F:
    """Give a command or a group the three options. Two come as `home` and `as_json`."""
    home = click.option(
        "--home", metavar="DIR", help="The home to use; else LOTTISYNC_HOME, else the platform's folder."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    language = click.option(
        *("--language", "language"),
        type=click.Choice(LANGUAGES),
        is_eager=True,
        expose_value=False,
        callback=_remember,
        help="The language of the output; else LOTTISYNC_LANGUAGE, else the setting `language`, else LANG.",
    )
    return home(as_json(language(command)))


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[LANGUAGE] = value
        speak(value)


def default_path(given: str | None) -> Path:
    """`--home`, else `LOTTISYNC_HOME`, else the platform's data directory."""
    if given := given or os.environ.get("LOTTISYNC_HOME"):
        # As a shell does: `~` of a user that this machine does not have is a name like any other.
        return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - Path.expanduser() raises there
    import platformdirs

    return Path(platformdirs.user_data_dir("lottisync", appauthor=False))


def speak_to(context: click.Context, home: Path, *, as_json: bool) -> None:
    """Choose the language of a command's output. What programs read is English."""
    if as_json:
        speak("en")
    elif LANGUAGE not in context.meta:
        speak(chosen(None, os.environ, _held_by(home)))


def language_of_call(given: Sequence[str]) -> str:
    """For what is said before a command is read, as help and errors of the call are. `given`: the call's words."""
    if "--json" in given:
        return "en"
    words = zip_longest(given, given[1:], fillvalue="")
    named = [word.partition("=")[2] or after for word, after in words if _HOME(word)]
    return chosen(None, os.environ, _held_by(default_path(named[-1] if named else None)))


def _held_by(home: Path) -> str | None:
    """The setting `language` of a home. A file that cannot be read is another command's problem."""
    try:
        text = (home / "config.toml").read_text(encoding="utf-8")
        if "language" not in text:
            return None
        import tomllib

        held = tomllib.loads(text).get("language")
    except (OSError, ValueError):
        return None
    return held if isinstance(held, str) else None


def asked(context: click.Context | None) -> Asked:
    """The options that count. If a call has one twice, the right one counts."""
    home: str | None = None
    as_json = False
    while context is not None:
        home = home or context.params.get("home")
        as_json = as_json or context.params.get("as_json", False)
        context = context.parent
    return Asked(home, as_json)
