"""The sentence and the exit code of what cannot be done."""

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from random import Random

import anyio
import apsw
import pytest
from tests.support.command_line import Result, contents, environment, run, run_here
from tests.support.event_loop import BOUND_SECONDS
from tests.support.stores import NOON

from lottisync.daemon.home import TaskHome
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing_offer import CodeOffer
from lottisync.journal import tasks
from lottisync.net.address import Address
from lottisync.net.pairing import Self, show_code
from lottisync.problem import Problem

CODE = "123456789"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two tasks."""
    home = tmp_path_factory.mktemp("template") / "home"
    assert run_here("init", "--name", "laptop", home=home).code == 0
    assert run_here("task", "add", "Milk", "--item", "oat", home=home).code == 0
    assert run_here("task", "add", "Bread", home=home).code == 0
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "home", ignore=shutil.ignore_patterns("bells"))
    copied = TaskHome.open(tmp_path / "home")
    copied.bind_hosts(NOON)  # a copy gets hosts of its own; that is not what is tested here
    copied.close()
    return tmp_path / "home"


def fails(result: Result, code: int, *words: str) -> None:
    """One line for the person, no traceback, the right exit code; and with --json an object for programs."""
    assert result.code == code, result
    assert result.err.startswith("lottisync: "), result
    assert result.err.count("\n") == 1, result
    assert result.err.endswith("\n"), result
    assert "Traceback" not in result.err + result.out
    for word in words:
        assert word in result.err, result


def check(home: Path, arguments: tuple[str, ...], code: int, *words: str, at: Path | None = None) -> None:
    before = contents(home)
    spoken = run_here(*arguments, "--json", home=at or home)
    fails(spoken, code, *words)
    error = json.loads(spoken.out)["error"]
    assert set(error) == {"code", "message"}
    assert spoken.err == f"lottisync: {error['message']}\n"
    assert contents(home) == before


CALLS: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "unknown id": (("task", "show", "ffffffff"), 1, ("ffffffff",)),
    "unknown item": (("task", "check", "ffffffff"), 1, ("ffffffff",)),
    "bad due date": (("task", "add", "x", "--due", "some day"), 2, ("some day",)),
    "a day that does not exist": (("task", "add", "x", "--due", "2026-02-30"), 2, ("2026-02-30",)),
    "empty title": (("task", "add", "  "), 2, ()),
    "bad priority": (("task", "add", "x", "--priority", "P9"), 2, ("P9",)),
    "bad estimate": (("task", "add", "x", "--estimate", "an hour"), 2, ("an hour",)),
    "negative estimate": (("task", "add", "x", "--estimate", "-5"), 2, ("-5",)),
    "no such command": (("tidy",), 2, ("tidy", "--help")),
    "no verb": (("task",), 2, ("Missing command", "lottisync task --help")),
    "no such option": (("task", "list", "--colour"), 2, ("--colour", "--help")),
    "missing argument": (("task", "show"), 2, ("TASK",)),
    "listen on a port that is too large": (("daemon", "--listen", "127.0.0.1:65536"), 2, ("65536",)),
    "listen on a port that is not a number": (("daemon", "--listen", "127.0.0.1:²"), 2, ("²",)),
    "listen on a very long number": (("daemon", "--listen", "127.0.0.1:" + "9" * 5000), 2, ("HOST:PORT",)),
    "listen where nobody can": (("daemon", "--no-discovery", "--listen", "192.0.2.1:4711"), 1, ("192.0.2.1:4711",)),
    "pair with a malformed code": (("pair", "12345678"), 2, ("9 digits",)),
    "pair at a malformed address": (("pair", CODE, "--at", "here"), 2, ("--at",)),
    "pair where nobody listens": (("pair", CODE, "--at", "127.0.0.1:1"), 1, ("127.0.0.1:1",)),
    "import of no file": (("import", "/nonexistent.json"), 1, ("/nonexistent.json",)),
    "import of a folder": (("import", "/"), 1, ("/",)),
}


@pytest.mark.parametrize("case", CALLS)
def test_cli_3_a_call_that_cannot_be_done_says_so_in_one_line_and_changes_nothing(home: Path, case: str) -> None:
    """CLI-300"""
    arguments, code, words = CALLS[case]
    if case in ("no such command",):
        fails(run(*arguments), code, *words)
        fails(run(*arguments, "--json"), code, *words)
    else:
        check(home, arguments, code, *words)


@pytest.mark.parametrize("group", ["task", "agent"])
def test_cli_3_a_group_without_a_verb_is_an_error_for_programs(group: str) -> None:
    """CLI-3, CLI-68: its help was on standard error, and nothing on standard output. People still get the help."""
    asked = run("--json", group)
    fails(asked, 2, "Missing command", f"lottisync {group} --help")
    assert json.loads(asked.out)["error"]["code"] == "usage"
    assert run(group).err.startswith(f"Usage: lottisync {group} ")


def test_cli_3_a_title_that_is_not_text(home: Path) -> None:
    """CLI-300"""
    before = contents(home)
    fails(run("task", "add", b"\xff\xfe", home=home), 1, "not Unicode")
    assert contents(home) == before


def test_cli_3_without_json_nothing_is_on_standard_output(home: Path) -> None:
    plain, spoken = (run_here("task", "show", "ffffffff", *more, home=home) for more in ((), ("--json",)))
    assert (plain.code, plain.out) == (1, "")
    assert plain.err == spoken.err


@pytest.mark.parametrize("arguments", [("task", "list"), ("status",), ("daemon",), ("pair",), ("devices",)], ids=str)
def test_cli_4_a_folder_that_is_not_a_home_is_named_and_stays_as_it_is(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    check(tmp_path / "nothing", arguments, 1, "nothing", "lottisync init")
    assert not (tmp_path / "nothing").exists()


def test_cli_319_a_home_is_not_made_twice_nor_where_something_else_is(home: Path, tmp_path: Path) -> None:
    check(home, ("init", "--name", "phone"), 1, "already")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    check(tmp_path / "photos", ("init", "--name", "phone"), 2, "not empty")
    check(tmp_path / "new", ("init", "--name", "two\nlines"), 2, "control characters")
    check(tmp_path / "new", ("init", "--name", "phone"), 1, "cannot be made", at=Path("/dev/null/home"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "photos"]


def test_cli_3_an_ambiguous_id_is_refused(home: Path) -> None:
    opened = TaskHome.open(home)
    with opened.journal.transaction(1000, HIGH) as tx:
        for beginning in ("one", "two"):
            tasks.add_task(tx, f"{beginning}-abcdef", beginning)
    opened.close()
    check(home, ("task", "show", "abcdef"), 1, "abcdef")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff",
        b"[]",
        b'{"format": "lottisync-tasks/2", "tasks": []}',
        b'{"format": "lottisync-tasks/1", "tasks": [{"key": "a"}]}',
        b'{"format": "lottisync-tasks/1", "tasks": [{"key": "a", "title": "x"}, {"key": "a", "title": "y"}]}',
        b"[" * 100_000,
    ],
    ids=["empty", "binary", "array", "later-format", "no-title", "twice", "nested"],
)
def test_cli_3_a_damaged_import_file_adds_nothing(home: Path, tmp_path: Path, content: bytes) -> None:
    """CLI-300"""
    file = tmp_path / "tasks.json"
    file.write_bytes(content)
    before = contents(home)
    result = run_here("import", str(file), home=home)
    fails(result, result.code, "tasks.json")
    assert result.code in (1, 2)
    assert contents(home) == before


def test_cli_1084_what_is_not_json_names_the_options_of_other_formats(home: Path, tmp_path: Path) -> None:
    """CLI-1084: a checklist from standard input was JSON that is malformed at byte 1."""
    file = tmp_path / "list.txt"
    file.write_text("- [ ] Milk")
    said = run_here("import", str(file), home=home).err
    assert "list.txt: line 1: this is no JSON" in said
    assert "--markdown" in said
    assert run_here("import", str(file), "--markdown", home=home).code == 0


# -- files that something has happened to


def newer(home: Path) -> None:
    connection = apsw.Connection(str(home / "journal.sqlite"))
    connection.pragma("user_version", 99)
    connection.close()


def foreign(home: Path) -> None:
    (home / "journal.sqlite").unlink()
    connection = apsw.Connection(str(home / "journal.sqlite"))
    connection.execute("create table birds (name)")
    connection.close()


def overwritten(home: Path) -> None:
    (home / "journal.sqlite").write_bytes(b"not a database at all" * 1000)


def damaged_within(home: Path) -> None:
    file = home / "journal.sqlite"
    connection = apsw.Connection(str(file))
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)


def missing(home: Path) -> None:
    (home / "journal.sqlite").unlink()


def key_with(edit: Callable[[dict[str, str]], object]) -> Callable[[Path], None]:
    def damage(home: Path) -> None:
        file = home / "device.json"
        document = json.loads(file.read_text())
        file.write_text(json.dumps(edit(document)))

    return damage


def key_of_bytes(home: Path) -> None:
    (home / "device.json").write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    ("damage", "command", "words"),
    [
        (newer, ("task", "list"), ("format 99", "newer lottisync")),
        (foreign, ("task", "list"), ("not made by lottisync",)),
        (overwritten, ("task", "list"), ("journal.sqlite is damaged",)),
        (damaged_within, ("task", "list"), ("journal.sqlite is damaged",)),
        (missing, ("task", "list"), ("journal.sqlite does not exist",)),
        (newer, ("daemon", "--no-discovery", "--listen", "127.0.0.1:0"), ("format 99",)),
        (overwritten, ("review",), ("journal.sqlite is damaged",)),
        (key_with(lambda d: {**d, "seed": "00" * 32}), ("devices",), ("device.json is damaged",)),
        (key_with(lambda d: {**d, "seed": "zz"}), ("devices",), ("device.json is damaged",)),
        (key_with(lambda d: {**d, "seed": "00"}), ("pair",), ("device.json is damaged",)),
        (key_with(lambda d: {"device": d["device"]}), ("status",), ("device.json is damaged",)),
        (key_with(lambda d: [d]), ("daemon",), ("device.json is damaged",)),
        (key_of_bytes, ("devices",), ("device.json is damaged",)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_cli_5_a_file_that_cannot_be_used_is_named_and_left_as_it_is(
    home: Path, damage: Callable[[Path], None], command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    damage(home)
    check(home, command, 1, *words)


def written_over(home: Path, value: str) -> str:
    """A task's row that holds something else than was stored there; its id."""
    connection = apsw.Connection(str(home / "journal.sqlite"))
    milk = "serialized like '%Milk%' and type = 'task'"
    [(ident,)] = connection.execute(
        f"update journal_entities set serialized = {value} where {milk} returning id"
    ).fetchall()
    connection.close()
    return str(ident)


def test_store_29_a_damaged_row_is_named_and_hides_no_other_task(home: Path) -> None:
    """STORE-29, STORE-70, CLI-3, CLI-7"""
    ident = written_over(home, "substr(serialized, 1, 20)")
    for options in ((), ("--json",)):
        listed = run_here("task", "list", *options, home=home)
        fails(listed, 0, ident, "is damaged", "lottisync check", "lottisync verify")
        assert "Bread" in listed.out
        assert "Milk" not in listed.out
    assert [row["title"] for row in listed.json["tasks"]] == ["Bread"]
    for command in (("task", "show"), ("history",), ("agent", "create")):
        check(home, (*command, ident), 1, ident, "is damaged", "lottisync check")
    assert ident in run_here("check", home=home).out


def test_store_29_a_row_whose_text_is_not_text(home: Path) -> None:
    """STORE-29, STORE-70: the list names it, and so does the page."""
    ident = written_over(home, "cast(x'7bfffe7d' as text)")
    listed = run_here("task", "list", home=home)
    fails(listed, 0, ident, "is damaged", "lottisync check")
    assert "Bread" in listed.out
    fails(run_here("task", "show", ident, home=home), 1, ident, "is damaged", "lottisync check")
    assert ident in run_here("check", home=home).out


def test_cli_3_a_port_that_is_taken(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        check(home, ("daemon", "--no-discovery", "--listen", at), 1, f"cannot listen on {at}", "--listen")
        check(home, ("pair", "--no-discovery", "--listen", at), 1, f"cannot listen on {at}")


@contextmanager
def showing(clock: Callable[[], int]) -> Iterator[Address]:
    """A device of this test's own that shows a code, until it gives up."""
    ready: Queue[int] = Queue()

    async def show() -> None:
        me = Self(DeviceKey.from_seed(b"s" * 32), "laptop", Random(1).randbytes)
        with pytest.raises(Problem):
            await show_code(
                me, CodeOffer(CODE, 121_000), Address("127.0.0.1", 0), discover=False, clock=clock, ready=ready.put
            )

    thread = threading.Thread(target=anyio.run, args=(show,))
    thread.start()
    yield Address("127.0.0.1", ready.get(timeout=BOUND_SECONDS))
    thread.join(BOUND_SECONDS)
    assert not thread.is_alive()


def test_cli_3_a_wrong_code_is_refused_and_after_three_the_offer_is_gone(home: Path) -> None:
    """CLI-300"""
    before = contents(home)
    with showing(lambda: 1000) as at:
        for _ in range(3):
            fails(run_here("pair", "987654321", "--at", str(at), home=home), 1, "code")
    fails(run_here("pair", CODE, "--at", str(at), home=home), 1, str(at))
    assert contents(home) == before


def test_cli_3_an_expired_code_is_refused(home: Path) -> None:
    """CLI-300"""
    before = contents(home)
    moments = iter([1000])
    with showing(lambda: next(moments, 121_001)) as at:
        fails(run_here("pair", CODE, "--at", str(at), home=home), 1, "expired")
    assert contents(home) == before


def test_cli_6_a_reader_that_has_had_enough_is_not_an_error(home: Path) -> None:
    call = f'"{sys.executable}" -m lottisync task list --json --home "{home}" | true; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", call], capture_output=True, timeout=BOUND_SECONDS, env=environment(), check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_cli_3_without_a_command_the_help_is_shown() -> None:
    result = run()
    assert result.code == 2
    assert "task" in result.err + result.out
    assert "Traceback" not in result.err
