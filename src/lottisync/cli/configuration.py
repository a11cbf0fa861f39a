"""`config`: what is set once for this device's daemon."""

from pathlib import Path

import click

from lottisync.answers.care import SettingAnswer, SettingList
from lottisync.cli.help_pages import Group
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Terminal, common
from lottisync.language import marked, say
from lottisync.problem import Marked

AFTERWARDS = marked("The daemon reads it when it starts.")


@click.group(cls=Group)
@everywhere
def config(home: str | None, as_json: bool) -> None:
    """Show and change what this device's daemon does when it starts."""


@config.command("list")
@common
def list_settings(terminal: Terminal) -> None:
    """List all settings.

    \b
    lottisync config list
    """
    from lottisync.daemon.settings import NAMES, SETTINGS_FILE

    path = terminal.home.path
    found = [_setting(path, name) for name in NAMES]
    terminal.emit(
        SettingList(str(path / SETTINGS_FILE), found),
        lambda: terminal.table(
            ["setting", "value", ""], [(each.name, _shown(each), say("set") if each.is_set else "") for each in found]
        ),
    )


@config.command()
@click.argument("name")
@common
def get(terminal: Terminal, name: str) -> None:
    """Show the setting NAME.

    \b
    lottisync config get listen
    """
    _tell(terminal, name)


@config.command("set")
@click.argument("name")
@click.argument("value")
@common
def set_setting(terminal: Terminal, name: str, value: str) -> None:
    """Set NAME to VALUE.

    Settings are listen and web (HOST:PORT, or an IP address; web may be off), discovery and agents (true or false),
    language (en, de, es, fr or ro), and the command that calls you when proposals wait: on-pending.command,
    on-pending.device, on-pending.after (minutes). An option of `lottisync daemon` counts before them.

    \b
    lottisync config set listen 192.168.1.5:22067
    """
    from lottisync.daemon.settings import change

    change(terminal.home.path, name, value)
    _tell(terminal, name, AFTERWARDS)


@config.command()
@click.argument("name")
@common
def unset(terminal: Terminal, name: str) -> None:
    """Let the daemon choose NAME again.

    \b
    lottisync config unset listen
    """
    from lottisync.daemon.settings import change

    change(terminal.home.path, name, None)
    _tell(terminal, name, AFTERWARDS)


def _tell(terminal: Terminal, name: str, afterwards: str | Marked = "") -> None:
    setting = _setting(terminal.home.path, name)
    terminal.emit(setting, lambda: terminal.line(f"{name} = {_shown(setting)}  {say(afterwards)}".rstrip()))


def _setting(path: Path, name: str) -> SettingAnswer:
    from lottisync.daemon.settings import given, value_of

    return SettingAnswer(name, value_of(path, name), name in given(path))


def _shown(setting: SettingAnswer) -> str:
    match setting.value:
        case None:
            return say("(the daemon chooses)")
        case bool(value):
            return str(value).lower()
        case text:
            return text
