"""`config`: what is set once for this device's daemon."""

from pathlib import Path

import click

from lottisync.answers.care import Setting, SettingList
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Terminal, common

AFTERWARDS = "The daemon reads it when it starts."


@click.group()
@everywhere
def config(home: str | None, as_json: bool) -> None:
    """Show and change what this device's daemon does when it starts."""


@config.command("list")
@common
def list_settings(terminal: Terminal) -> None:
    """List all settings. Example: lottisync config list"""
    from lottisync.daemon.settings import NAMES, SETTINGS_FILE

    path = terminal.home.path
    found = [_setting(path, name) for name in NAMES]
    terminal.emit(
        SettingList(str(path / SETTINGS_FILE), found),
        lambda: terminal.table(
            ["setting", "value", ""], [(each.name, _shown(each), "set" if each.is_set else "") for each in found]
        ),
    )


@config.command()
@click.argument("name")
@common
def get(terminal: Terminal, name: str) -> None:
    """Show the setting NAME. Example: lottisync config get listen"""
    _tell(terminal, name)


@config.command("set")
@click.argument("name")
@click.argument("value")
@common
def set_setting(terminal: Terminal, name: str, value: str) -> None:
    """Set NAME to VALUE. Example: lottisync config set listen 192.168.1.5:22067

    Settings are listen and web (HOST:PORT; web may be off), discovery and agents (true or false). An option of
    `lottisync daemon` counts before them."""
    from lottisync.daemon.settings import change

    change(terminal.home.path, name, value)
    _tell(terminal, name, AFTERWARDS)


@config.command()
@click.argument("name")
@common
def unset(terminal: Terminal, name: str) -> None:
    """Let the daemon choose NAME again. Example: lottisync config unset listen"""
    from lottisync.daemon.settings import change

    change(terminal.home.path, name, None)
    _tell(terminal, name, AFTERWARDS)


def _tell(terminal: Terminal, name: str, afterwards: str = "") -> None:
    setting = _setting(terminal.home.path, name)
    terminal.emit(setting, lambda: terminal.line(f"{name} = {_shown(setting)}  {afterwards}".rstrip()))


def _setting(path: Path, name: str) -> Setting:
    from lottisync.daemon.settings import given, known, read_settings

    return Setting(name, getattr(read_settings(path), known(name)), name in given(path))


def _shown(setting: Setting) -> str:
    match setting.value:
        case None:
            return "(the daemon chooses)"
        case bool(value):
            return str(value).lower()
        case text:
            return text
