"""What a shell, a disk and a hurried person do to a command: a sentence, never a traceback. CLI-3, CLI-40 to CLI-46."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import Result, contents, environment, run, run_here

from lottisync.cli.homes import machine_name
from lottisync.daemon.home import TaskHome


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert run_here("init", "--name", "laptop", home=tmp_path / "home").code == 0
    assert run_here("task", "add", "Bröd → 👩", home=tmp_path / "home").code == 0
    return tmp_path / "home"


def shell(call: str, home: Path, **more: str) -> Result:
    """A line of a shell, in which `L` is the command line with this home."""
    command = f'"{sys.executable}" -m lottisync'
    done = subprocess.run(
        ["bash", "-c", call.replace("L ", f'{command} --home "{home}" ', 1)],
        capture_output=True,
        timeout=60,
        env={**environment(), **more},
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


@pytest.mark.parametrize("call", ["task list", "status", "task list --json", "--help"])
def test_cli_40_output_to_a_full_disk_is_a_sentence(home: Path, call: str) -> None:
    """CLI-40, F7"""
    done = shell(f"L {call} > /dev/full", home)
    assert done.code == 1
    assert "No space left" in done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("call", ["status >&-", "task list >&- 2>&-", "task list --json <&- >&-"])
def test_cli_85_output_that_is_closed_goes_nowhere(home: Path, call: str) -> None:
    """CLI-85, F7"""
    before = contents(home)
    done = shell(f"L {call}", home)
    assert (done.code, done.err) == (0, "")
    assert contents(home) == before


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_cli_86_what_a_terminal_cannot_show_is_a_question_mark(home: Path, encoding: str) -> None:
    """CLI-86, F7; and JSON is UTF-8 all the same."""
    done = shell("L task list", home, PYTHONIOENCODING=encoding)
    assert done.code == 0
    assert "? ?" in done.out
    assert shell("L task list --json", home, PYTHONIOENCODING=encoding).json["tasks"][0]["title"] == "Bröd → 👩"


def read_only(call: str, home: Path) -> Result:
    """In a namespace in which the home is mounted so that nobody can write to it."""
    mount = f'mount --bind "{home}" "{home}" && mount -o remount,bind,ro "{home}" &&'
    command = f'"{sys.executable}" -m lottisync --home "{home}" {call}'
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", f"{mount} {command}"],
        capture_output=True,
        timeout=60,
        env=environment(),
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


CAN_MOUNT = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
@pytest.mark.parametrize("call", ["status", "task list", "task add Milk", "daemon --no-discovery --listen 127.0.0.1:0"])
def test_cli_41_a_home_that_cannot_be_written_to_is_a_sentence(home: Path, call: str) -> None:
    """CLI-41, REL-D11"""
    done = read_only(call, home)
    assert done.code == 1, done
    assert "Make the" in done.err
    assert "writable" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("store", ["space", "journal", "agent"])
def test_cli_42_a_store_that_is_missing_is_made_by_a_command_that_is_named(home: Path, store: str) -> None:
    """CLI-42, F11: "run init", and init refused."""
    (home / f"{store}.sqlite").unlink()
    for call in (("status",), ("init", "--name", "x")):
        assert "lottisync init --missing" in run_here(*call, home=home).err
    made = run_here("init", "--missing", "--name", "desk", "--json", home=home)
    assert made.json["stores"] == [store]
    assert run_here("status", home=home).code == 0
    assert run_here("check", home=home).code == 0
    assert run_here("task", "add", "Milk", home=home).code == 0
    assert run_here("init", "--missing", home=home).code == 1


def test_cli_87_what_is_left_of_a_missing_store_is_kept(home: Path) -> None:
    """Its write-ahead log must not become part of the new file."""
    (home / "journal.sqlite").unlink()
    (home / "journal.sqlite-wal").write_bytes(b"changes")
    assert run_here("init", "--missing", home=home).code == 0
    assert [file.read_bytes() for file in home.glob("journal.sqlite-wal.*.kept")] == [b"changes"]
    assert run_here("task", "list", "--json", home=home).json["tasks"] == []


def test_cli_43_home_and_json_may_stand_anywhere(home: Path) -> None:
    """CLI-1, CLI-43, F11"""
    for call in (
        ("--home", str(home), "task", "list", "--json"),
        ("--json", "task", "--home", str(home), "list"),
        ("task", "--json", "list", "--home", str(home)),
    ):
        assert [row["title"] for row in run(*call).json["tasks"]] == ["Bröd → 👩"], call
    renamed = run("devices", "--json", "--home", str(home), "rename", "laptop", "desk")
    assert renamed.json["name"] == "desk"


@pytest.mark.parametrize(("typed", "meant"), [("taks", "task"), ("reviews", "review"), ("statsu", "status")])
def test_cli_43_a_command_that_is_mistyped_is_guessed(home: Path, typed: str, meant: str) -> None:
    """F11"""
    done = run_here(typed, home=home)
    assert done.code == 2
    assert f"'{meant}'" in done.err


def test_cli_44_ids_are_taken_as_they_are_printed(home: Path) -> None:
    """CLI-44, F9"""
    [task] = run_here("task", "list", "--json", home=home).json["tasks"]
    ident = task["id"]
    for typed in (ident.upper(), ident.replace("-", ""), ident[-10:].upper(), ident.replace("-", "")[-14:]):
        assert run_here("task", "show", typed, "--json", home=home).json["id"] == ident
    assert "there is no task ''" in run_here("task", "show", "", home=home).err
    device = run_here("devices", home=home).out.splitlines()[1].split()[-1]
    for typed in (device, device[:9], device.upper(), device[:12] + "..."):
        assert run_here("devices", "rename", typed, "laptop", home=home).code == 0


def test_cli_44_several_that_fit_are_listed(home: Path) -> None:
    """F11"""
    opened = TaskHome.open(home)
    from lottisync.entities.entity import HIGH
    from lottisync.journal import tasks

    with opened.journal.transaction(1_772_316_000_000, HIGH) as tx:
        for end in ("aa", "ab"):
            tasks.add_task(tx, f"abcdef-{end}", f"Milk {end}")
    opened.close()
    said = run_here("task", "show", "abcdef", home=home).err
    assert "'Milk aa'" in said
    assert "'Milk ab'" in said


def test_cli_45_pair_at_without_a_code_says_so_at_once(home: Path) -> None:
    """CLI-45, F11"""
    done = run_here("pair", "--at", "127.0.0.1:1", home=home)
    assert done.code == 2
    assert "CODE" in done.err


def test_cli_45_init_without_a_name_takes_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F11"""
    for host, name in (("desk.example.org", "desk"), ("\u200b", "device"), ("", "device")):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        assert machine_name() == name
    monkeypatch.setattr("socket.gethostname", lambda: "desk.example.org")
    assert run_here("init", "--json", home=tmp_path / "new").json["name"] == "desk"


def test_cli_46_what_the_system_refuses_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-46: no command expects it, and it is no traceback."""

    def refused(*arguments: object, **options: object) -> None:
        raise OSError(24, os.strerror(24))

    monkeypatch.setattr("lottisync.cli.tasks._show_list", refused)
    done = run_here("task", "list", home=home)
    assert done.code == 1
    assert "Too many open files" in done.err


def test_f11_a_message_never_shows_how_python_writes_text(home: Path) -> None:
    """F11: Added 'emoji U+1F469\\u200d...'"""
    assert "Added '👩\u200d👧'" in run_here("task", "add", "👩\u200d👧", home=home).out
    assert "'ü\u2424x'" in run_here("task", "show", "ü\nx", home=home).err
