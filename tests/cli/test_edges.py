"""What a shell, a disk and a hurried person do to a command: a sentence, never a traceback. CLI-3, CLI-40 to CLI-46."""

import contextlib
import errno
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from tests.support.command_line import Result, contents, environment, run, run_here

from lottisync.cli.homes import machine_name
from lottisync.cli.main import main
from lottisync.daemon.home import TaskHome
from lottisync.daemon.starting import Backoff
from lottisync.problem import Problem
from lottisync.review.verdict import Verdicts


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
    """CLI-86, CLI-326, F7; and JSON is UTF-8 all the same."""
    done = shell("L task list", home, PYTHONIOENCODING=encoding)
    assert done.code == 0
    assert "> ?" in done.out
    assert shell("L task list --json", home, PYTHONIOENCODING=encoding).json["tasks"][0]["title"] == "Bröd → 👩"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_cli_1011_a_ticked_item_looks_like_no_open_one(home: Path, encoding: str) -> None:
    """CLI-1011: both were a question mark."""
    assert run_here("task", "add", "Bake", "--item", "Flour", "--item", "Salt", home=home).code == 0
    assert run_here("task", "check", "flour", home=home).code == 0
    done = shell("L task show bake", home, PYTHONIOENCODING=encoding)
    ticked, still_open = (line.split()[0] for line in done.out.splitlines() if "Flour" in line or "Salt" in line)
    assert ticked == "x"
    assert still_open not in ("x", "?")


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
@pytest.mark.parametrize("call", ["status", "task list", "task add Milk"])
def test_cli_41_a_home_that_cannot_be_written_to_is_a_sentence(home: Path, call: str) -> None:
    """CLI-41, REL-D11"""
    done = read_only(call, home)
    assert done.code == 1, done
    assert "Make the" in done.err
    assert "writable" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("store", ["space", "journal", "agent"])
def test_cli_42_a_store_that_is_missing_is_made_by_a_command_that_is_named(home: Path, store: str) -> None:
    """CLI-42, CLI-327, F11: "run init", and init refused."""
    (home / f"{store}.sqlite").unlink()
    for call in (("status",), ("init", "--name", "x")):
        assert "lottisync init --missing" in run_here(*call, home=home).err
    made = run_here("init", "--missing", "--name", "desk", "--json", home=home)
    assert made.json["storesMade"] == [store]
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
def test_cli_320_a_command_that_is_mistyped_is_guessed(home: Path, typed: str, meant: str) -> None:
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


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EMFILE, "Too many open files. Mend that"), (errno.EROFS, "Read-only file system. Make it writable")],
)
def test_cli_46_what_the_system_refuses_is_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    """CLI-41, CLI-46: no command expects it, and no traceback is shown."""

    def refused(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("lottisync.cli.task_lists._show", refused)
    done = run_here("task", "list", home=home)
    assert done.code == 1
    assert said in done.err


def test_f11_a_message_never_shows_how_python_writes_text(home: Path) -> None:
    """F11: Added 'emoji U+1F469\\u200d...'"""
    assert "Added '👩\u200d👧'" in run_here("task", "add", "👩\u200d👧", home=home).out
    assert "'ü\u2424x'" in run_here("task", "show", "ü\nx", home=home).err


FULL_DISK = """
import json, subprocess, sys
from pathlib import Path
from typing import NoReturn
from tests.support.command_line import run_here
folder = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
home = folder / "home"
run_here("init", "--name", "laptop", home=home)
run_here("task", "add", "Milk", home=home)
for store in ("space", "journal", "agent"):
    assert not (home / f"{store}.sqlite-shm").exists()
with (folder / "filling").open("wb", buffering=0) as filling:
    try:
        while filling.write(bytes(4096)):
            pass
    except OSError:
        pass
for call in json.loads(sys.argv[2]):
    print(json.dumps([call, *run_here(*call.split(), home=home)]), flush=True)
"""


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
def test_rel_d10_on_a_full_disk_everything_can_be_read(tmp_path: Path) -> None:
    """STORE-80, REV-160, CLI-126, REL-D10: where there is not even room for the file that programs share."""
    reads = ("task list", "task show milk", "search milk", "review list", "status", "devices", "conflicts", "check")
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL_DISK, str(tmp_path), json.dumps([*reads, "task add Bread"])],
        capture_output=True,
        timeout=60,
        env=environment(),
        check=False,
    )
    answers = {call: Result(*rest) for call, *rest in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == {*reads, "task add Bread"}, done.stderr
    for call in reads:
        assert answers[call].code == 0, (call, answers[call])
    assert all("Milk" in answers[call].out for call in reads[:3])
    assert answers["task add Bread"].code == 1
    assert "the disk is full" in answers["task add Bread"].err


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
def test_backup_617_a_home_on_a_full_disk_is_backed_up_to_another_one(tmp_path: Path) -> None:
    """BACKUP-617, STORE-80: at once, and the copy is whole."""
    disk, copies = tmp_path / "disk", tmp_path / "copies"
    disk.mkdir()
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL_DISK, str(disk), json.dumps([f"backup {copies}"])],
        capture_output=True,
        timeout=60,
        env=environment(),
        check=False,
    )
    [(_, code, *_)] = map(json.loads, done.stdout.splitlines())
    assert code == 0, (done.stdout, done.stderr)
    assert run_here("restore", str(copies), home=tmp_path / "again").code == 0
    assert "Milk" in run_here("task", "list", home=tmp_path / "again").out


def test_rev430_reading_goes_on_where_recovery_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-430, CLI-126"""

    def full(*_: object) -> NoReturn:
        raise Problem("disk-full", "the disk is full")

    monkeypatch.setattr(Verdicts, "recover", full)
    monkeypatch.setattr("lottisync.cli.review_items.printed.remember", lambda *_: False)
    done = run_here("review", home=home)
    assert done.code == 0
    assert "look again before you decide" in done.err


def test_rel_d10_a_daemon_waits_for_room(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-125, REL-D10"""
    looks = iter([True, True, True, False])
    begun = []
    slept: list[float] = []

    async def run(*arguments: object, **options: object) -> None:
        begun.append(next(looks, None))

    monkeypatch.setattr("lottisync.daemon.starting.is_full", lambda path: next(looks))
    monkeypatch.setattr("lottisync.cli.daemons.Backoff", partial(Backoff, sleep=slept.append))
    monkeypatch.setattr("lottisync.daemon.daemon.run", run)
    done = run_here("daemon", home=home)
    assert done.code == 0
    assert done.err.count("is full. The daemon waits, and starts when it can") == 1
    assert begun == [None]
    assert slept == [2, 4, 8]


def test_cli_127_other_users_of_the_machine_cannot_read_the_home(tmp_path: Path) -> None:
    """CLI-127: whatever the umask; the files in it are reached through the folder alone."""
    home, umask = tmp_path / "home", os.umask(0)
    try:
        assert run_here("init", "--name", "laptop", home=home).code == 0
    finally:
        os.umask(umask)
    assert home.stat().st_mode & 0o077 == 0
    assert (home / "device.json").stat().st_mode & 0o077 == 0


CALLS = (
    "status", "task list", "task show milk", "task add Bread", "task done milk", "search milk", "review list",
    "conflicts", "history x", "check", "devices", "doctor", "config list", "agent list", "purge", "export", "verify",
    "pair --invitations", "task time list milk", "task label add milk x", "review confirm x", "devices retire x",
    "import no-such-file",
)  # fmt: skip


@pytest.mark.parametrize("store", ["space", "journal", "agent"])
def test_cli_128_without_one_of_the_stores_every_command_is_a_sentence(home: Path, store: str) -> None:
    """CLI-128: a test's `run_here` raises what would be a traceback."""
    (home / f"{store}.sqlite").unlink()
    for call in CALLS:
        done = run_here(*call.split(), home=home)
        assert done.code in (0, 1, 2), (call, done)
        assert "Traceback" not in done.err, (call, done)
        if done.code:
            assert done.err.startswith("lottisync: ") or call == "doctor", (call, done)


def test_cli_128_output_that_cannot_be_written_is_a_sentence_for_every_command(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CLI-40, CLI-128"""
    for call in (*CALLS, *(f"{call} --json" for call in CALLS)):
        with Path("/dev/full").open("w", encoding="utf-8") as full, pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "stdout", full)
            with pytest.raises(SystemExit) as ended:
                main([*call.split(), "--home", str(home)])
            assert ended.value.code in (0, 1, 2), call
            with contextlib.suppress(OSError):
                full.flush()
        said = capsys.readouterr().err
        assert "Traceback" not in said, call
        assert ended.value.code != 0 or said == "", (call, said)
