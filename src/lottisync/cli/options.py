"""`--home` and `--json`, which every command and every group takes: they may stand anywhere in a call."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Asked(NamedTuple):
    """What a call says for the whole command; `home` as it was typed, or None."""

    home: str | None
    as_json: bool


def everywhere(command: F) -> F:
    """Give a command or a group both options. They come as `home` and `as_json`."""
    home = click.option(
        "--home", metavar="DIR", help="The home to use; else LOTTISYNC_HOME, else the platform's folder."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    return home(as_json(command))


def asked(context: click.Context | None) -> Asked:
    """What was asked for: what stands behind the last word of the command counts before what stands further left."""
    home: str | None = None
    as_json = False
    while context is not None:
        home = home or context.params.get("home")
        as_json = as_json or context.params.get("as_json", False)
        context = context.parent
    return Asked(home, as_json)
