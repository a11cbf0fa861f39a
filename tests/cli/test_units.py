"""`service install` and `remove`, with a systemd that agrees: CLI-154, CLI-155."""

import re
import shlex
from pathlib import Path

import pytest
from tests.support.command_line import contents, run_here
from tests.support.tour import agreeing_systemd


def made(path: Path) -> Path:
    assert run_here("init", "--name", "laptop", home=path).code == 0
    return path


def unit_file(folder: Path) -> Path:
    [file] = (folder / "config" / "systemd" / "user").iterdir()
    return file


def test_cli_154_a_unit_is_written_started_and_removed(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    with agreeing_systemd(tmp_path) as calls:
        printed = run_here("service", "install", "--print", home=home)
        assert not (tmp_path / "config").exists()
        done = run_here("service", "install", home=home)
        file = unit_file(tmp_path)
        assert str(file) in done.out
        assert file.read_text() == printed.out
        assert f'-m lottisync daemon --home "{home}"\n' in printed.out
        assert run_here("service", "install", home=home).code == 0, "once more changes nothing"
        assert run_here("service", "remove", home=home).code == 0
        assert not file.exists()
        assert calls.read_text().split("\n")[-4:-1] == [
            f"--user enable --now {file.name}",
            f"--user disable --now {file.name}",
            "--user daemon-reload",
        ]
        assert run_here("service", "remove", home=home).code == 1


def test_cli_755_a_wrong_call_is_not_made_again(tmp_path: Path) -> None:
    """CLI-755: and what may pass is tried again."""
    home = made(tmp_path / "home")
    unit = run_here("service", "install", "--print", home=home).out.split("\n")
    wrong = run_here("daemon", "--listen", "nowhere:x", home=home)
    assert f"RestartPreventExitStatus={wrong.code}" in unit
    assert run_here("daemon", "--listen", "192.0.2.1:22067", home=home).code != wrong.code
    assert "Restart=on-failure" in unit


OF_A_USER = {f"{name}.target" for name in ("basic", "default", "graphical-session", "paths", "sockets", "timers")}
"""Targets that the systemd of a user has; `network.target` and `multi-user.target` are the system's."""


def test_cli_1099_the_unit_names_only_what_the_systemd_of_a_user_has(tmp_path: Path) -> None:
    """CLI-1099: it was to start after `network.target`, which is not there, so that the line did nothing."""
    unit = run_here("service", "install", "--print", home=made(tmp_path / "home")).out
    assert set(re.findall(r"[\w@-]+\.(?:target|service|socket)", unit)) <= OF_A_USER
    assert re.findall(r"^WantedBy=(.*)", unit, re.MULTILINE) == ["default.target"]


def test_cli_311_what_is_not_ours_stays(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    with agreeing_systemd(tmp_path):
        assert run_here("service", "install", home=home).code == 0
        file = unit_file(tmp_path)
        file.write_text("[Service]\nExecStart=/bin/true\n")
        for verb in ("install", "remove"):
            refused = run_here("service", verb, home=home)
            assert (refused.code, "not the unit of this home" in refused.err) == (1, True)
        assert file.read_text().endswith("/bin/true\n")


@pytest.mark.parametrize("systemctl", ["#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n", None])
def test_cli_312_without_systemd_it_says_so_and_changes_nothing(
    tmp_path: Path, systemctl: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = made(tmp_path / "home")
    with agreeing_systemd(tmp_path):
        if systemctl is None:
            monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        else:
            (tmp_path / "bin" / "systemctl").write_text(systemctl)
        before = contents(home)
        refused = run_here("service", "install", home=home)
        assert (refused.code, refused.out) == (1, "")
        assert ("no systemd" if systemctl is None else "Failed to connect to bus") in refused.err
        assert contents(home) == before
        assert not list((tmp_path / "config").rglob("*.service"))


def test_cli_155_a_path_cannot_change_what_is_started(tmp_path: Path) -> None:
    """Each sign that means something to systemd stands as itself; a line break is refused."""
    home = made(tmp_path / 'a "b" $HOME %h \\n')
    printed = run_here("service", "install", "--print", home=home).out
    [start] = [line for line in printed.splitlines() if line.startswith("ExecStart=")]
    words = shlex.split(start.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    assert words[-1] == str(home.resolve())
    other = made(tmp_path / "a\nExecStart=x")
    assert "control characters" in run_here("service", "install", "--print", home=other).err
