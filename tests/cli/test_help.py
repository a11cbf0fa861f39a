"""What every command has in common, and what it costs to ask: CLI-1, CLI-2, CLI-7, CLI-680."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.support.command_line import environment, run, run_here
from tests.support.event_loop import BOUND_SECONDS
from tests.support.proposals import propose

from lottisync.cli.main import COMMANDS, FOR_PROGRAMS, lottisync
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks

HEAVY = {"openai", "zeroconf", "uvicorn", "pydantic", "cryptography", "starlette", "jinja2", "ifaddr"}


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, (*path, name))
    else:
        yield path, command


@pytest.fixture(scope="module")
def every() -> dict[tuple[str, ...], click.Command]:
    return dict(leaves(lottisync))


def test_cli_1_every_command_takes_a_home_and_json_and_explains_itself(
    every: dict[tuple[str, ...], click.Command],
) -> None:
    assert {path[0] for path in every} <= set(COMMANDS)
    for path, command in every.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--home", "--json"} <= options, path
        assert command.help, path
        assert command.get_short_help_str(), path


def test_cli_318_every_command_of_the_list_is_there(every: dict[tuple[str, ...], click.Command]) -> None:
    assert {path[0] for path in every} == set(COMMANDS)
    for name, (_, text) in COMMANDS.items():
        assert text.endswith("."), name
    result = run("--help")
    assert result.code == 0
    for name in COMMANDS:
        assert (f"  {name} " in result.out) == (name not in FOR_PROGRAMS)


def loaded(*arguments: str) -> set[str]:
    """The top packages that a command has imported by the time it ends."""
    return {name.partition(".")[0] for name in modules(*arguments)}


def modules(*arguments: str) -> set[str]:
    """The modules that a command has imported by the time it ends."""
    script = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))\n"
        f"sys.argv = ['lottisync', *{list(arguments)!r}]\n"
        "from lottisync.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=BOUND_SECONDS, env=environment(), check=True
    )
    return set(json.loads(done.stderr))


def test_cli_2_help_and_lists_load_nothing_heavy(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run("init", "--name", "laptop", home=home).code == 0
    assert run("task", "add", "Milk", home=home).code == 0
    for arguments in (("--help",), ("task", "list", "--help"), ("task", "list", "--home", str(home))):
        found = loaded(*arguments)
        assert "lottisync" in found
        assert not found & HEAVY, arguments
    assert "apsw" not in loaded("--help")
    # Each takes as long as some thousand tasks; a list needs neither a hash, nor rich where nobody looks.
    assert not loaded("task", "list", "--home", str(home)) & {"hashlib", "shutil", "rich"}


def test_cli_680_review_loads_what_its_page_needs(tmp_path: Path) -> None:
    """CLI-680: half of its time went into tools that nobody had called, and into verdicts that nobody gave."""
    home = TaskHome.create(tmp_path / "home", "laptop")
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tasks.add_task(tx, "t1", "Milk")
    propose(home, ("update_task_estimate", {"minutes": 30}))
    home.close()
    found = modules("review", "--home", str(tmp_path / "home"))
    actions = "lottisync.journal.actions."
    assert {name for name in found if name.startswith(actions)} == {f"{actions}update_task_estimate"}
    assert not found & {f"lottisync.review.{name}" for name in ("verdict", "confirmation", "recovery", "undo")}
    packages = {name.partition(".")[0] for name in found}
    assert "pydantic" in packages
    assert not packages & (HEAVY - {"pydantic"} | {"rich", "anyio", "dateparser"})


def test_cli_7_json_is_one_value_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run("init", "--name", "laptop", "--json", home=home).json["name"] == "laptop"
    task = run("task", "add", "Milk", "--item", "oat", "--json", home=home).json
    for arguments in (("task", "list"), ("task", "show", task["id"]), ("devices",), ("status",)):
        result = run(*arguments, "--json", home=home)
        assert (result.code, result.err) == (0, "")
        assert result.out.count("\n") == 1
        assert result.json
    item = run("task", "show", task["id"], "--json", home=home).json
    assert "Milk" in json.dumps(item)


def test_cli_7_the_home_is_the_option_else_the_environment(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert run_here("init", "--name", "here", home=here).code == 0
    assert run_here("init", "--name", "there", home=there).code == 0
    call = [sys.executable, "-m", "lottisync", "status", "--json"]
    given = {**environment(), "LOTTISYNC_HOME": str(here)}
    done = subprocess.run(call, capture_output=True, env=given, timeout=BOUND_SECONDS, check=True)
    assert json.loads(done.stdout)["name"] == "here"
    done = subprocess.run(
        [*call, "--home", str(there)], capture_output=True, env=given, timeout=BOUND_SECONDS, check=True
    )
    assert json.loads(done.stdout)["name"] == "there"


def test_cli_7_a_home_may_be_the_folder_one_stands_in(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    call = [sys.executable, "-m", "lottisync", "init", "--name", "laptop", "--home", "."]
    done = subprocess.run(call, capture_output=True, env=environment(), timeout=BOUND_SECONDS, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "device.json").exists()
