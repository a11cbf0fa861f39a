"""`service install | remove`: a unit of systemd that starts the daemon when the person logs in."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

from lottisync.answers.care import Unit
from lottisync.cli.help_pages import Group
from lottisync.cli.options import default_path, everywhere
from lottisync.cli.terminal import Terminal, common
from lottisync.language import marked, say
from lottisync.problem import Problem, Usage
from lottisync.shown import one_line

SECONDS = 60.0
"""How long systemd may take."""
BOOT = marked("To have it run while you are not logged in: loginctl enable-linger")


@click.group(cls=Group)
@everywhere
def service(home: str | None, as_json: bool) -> None:
    """Have systemd start the daemon when you log in, and again when it fails."""


@service.command()
@click.option("--print", "only_print", is_flag=True, help="Print the unit, and change nothing.")
@common
def install(terminal: Terminal, only_print: bool) -> None:
    """Write a unit of systemd for this home, and start it. It says what it wrote.

    \b
    lottisync service install
    lottisync service install --print
    """
    unit = _unit(terminal)
    if only_print:
        terminal.emit(unit, lambda: _print(unit))
        return
    _check_systemd()
    file = Path(unit.file)
    _check_ours(file, unit)
    new = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(unit.text, encoding="utf-8")
    try:
        _systemctl("daemon-reload")
        _systemctl("enable", "--now", unit.name)
    except Problem:
        if new:
            file.unlink()
        raise

    def shown() -> None:
        terminal.line(say("Wrote {file}, and started it.", file=file), "green")
        terminal.line(say("Look at it with: systemctl --user status {name}  ·  lottisync logs", name=unit.name), "dim")
        terminal.line(say(BOOT), "dim")

    terminal.emit(unit, shown)


@service.command()
@common
def remove(terminal: Terminal) -> None:
    """Stop the daemon that systemd runs for this home, and remove its unit.

    \b
    lottisync service remove
    """
    unit = _unit(terminal)
    file = Path(unit.file)
    if not file.exists():
        raise Problem("no-unit", "there is no unit {file}; nothing was changed", file=file)
    _check_systemd()
    _check_ours(file, unit)
    _systemctl("disable", "--now", unit.name)
    file.unlink()
    _systemctl("daemon-reload")
    terminal.emit(unit, lambda: terminal.line(say("Stopped, and removed {file}.", file=file), "green"))


def _print(unit: Unit) -> None:
    click.echo(unit.text, nl=False)


def _unit(terminal: Terminal) -> Unit:
    """The unit. It waits for no network: the systemd of a user has no such target, and the daemon notices by itself
    when an address comes or goes."""
    home = terminal.home.path.resolve()
    name = "lottisync.service" if home == default_path(None).resolve() else f"lottisync{_escaped(home)}.service"
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    text = f"""[Unit]
Description=lottisync for {_plain(terminal.home.name)}

[Service]
ExecStart={_quoted(sys.executable)} -m lottisync daemon --home {_quoted(str(home))}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus={Usage.exit_code}

[Install]
WantedBy=default.target
"""
    return Unit(name, str(Path(base) / "systemd" / "user" / name), text)


def _plain(name: str) -> str:
    return one_line(name).replace("%", "%%")


def _quoted(text: str) -> str:
    """An argument in `ExecStart`: systemd knows quotes, specifiers (`%`) and variables (`$`)."""
    if not text.isprintable():
        raise Problem("bad-path", "systemd takes no path with line breaks or control characters: {path!r}", path=text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _escaped(home: Path) -> str:
    """A path as part of a unit's name."""
    return re.sub("[^A-Za-z0-9_.]+", "-", str(home)).rstrip("-")


def _check_ours(file: Path, unit: Unit) -> None:
    """Raise `Problem` for a unit of another home, or one that a person has written: it is not changed."""
    start = next(line for line in unit.text.splitlines() if line.startswith("ExecStart="))
    ending = start[start.index(" -m lottisync") :]
    if file.exists() and ending not in file.read_text(encoding="utf-8", errors="replace"):
        raise Problem("other-unit", "{file} is not the unit of this home; it was left as it is", file=file)


def _check_systemd() -> None:
    if shutil.which("systemctl") is None:
        raise Problem(
            "no-systemd",
            "this machine has no systemd. Have its own way of starting programs run: {python} -m lottisync daemon",
            python=sys.executable,
        )


def _systemctl(*arguments: str) -> None:
    done = subprocess.run(
        ["systemctl", "--user", *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        said = one_line(
            done.stderr.strip() or done.stdout.strip() or say("exit code {returncode}", returncode=done.returncode)
        )
        if "connect to bus" in said.lower():
            raise Problem(
                "no-systemd",
                "systemd does not run for this user ({said}). Have another way of starting programs run: "
                "{python} -m lottisync daemon",
                said=said,
                python=sys.executable,
            )
        raise Problem(
            "systemd-refused", "systemctl --user {arguments} failed: {said}", arguments=" ".join(arguments), said=said
        )
