"""Every command where something around it is not as it should be: what the terminal can show, where the output goes,
what the disk allows, which stores are there (docs/specs/11-command-line.md). No command ends in a traceback: each ends
with success, or with a sentence and the exit code that fits.

All of it is in this process, each call on a copy of the same home, so that a call can be compared with the same one
where all is well. That a process does the same is shown for a few calls in `tests/cli/test_edges.py`.
"""

import io
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

import pytest
from tests.support.beside import Homes, make
from tests.support.command_line import Result, environment, run_here
from tests.support.every_command import FIELDS, FIRST_BACKUP, SERVES, every_call
from tests.support.tour import agreeing_systemd

from lottisync.cli.answers import ANSWERS
from lottisync.cli.main import main

CAN_MOUNT = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0
STORES = ("space", "journal", "agent")
pytestmark = pytest.mark.deep


class Homely(NamedTuple):
    homes: Homes
    calls: list[str]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Homely:
    homes = make(tmp_path_factory.mktemp("every"))
    return Homely(homes, every_call(homes))


@pytest.fixture(scope="module")
def sound(template: Homely, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """How each call ends where all is well. Most of them succeed; the others say what they lack."""
    folder = tmp_path_factory.mktemp("sound")
    found = {call: here(template, call, folder) for call in template.calls}
    for call, done in found.items():
        ends_well(call, done)
    assert sum(done.code == 0 for done in found.values()) >= 85, {c: d for c, d in found.items() if d.code}
    return found


def copied(template: Homely, folder: Path) -> Path:
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template.homes.laptop, home, ignore=shutil.ignore_patterns("bells"))
    return home


def words(call: str) -> list[str]:
    return shlex.split(call)


def here(template: Homely, call: str, folder: Path, damage: Callable[[Path], object] = lambda home: None) -> Result:
    """The call, on a fresh copy of the home. `restore` and `init` make a home of their own."""
    home = copied(template, folder)
    damage(home)
    without_what_was_made(template, folder)
    with agreeing_systemd(folder):
        return run_here(*words(call), home=folder / "elsewhere" if call.startswith("restore ") else home)


def without_what_was_made(template: Homely, folder: Path) -> None:
    """As it was before the first call: what an earlier call wrote beside the home is gone."""
    made = template.homes.folder
    (made / "again.jsonl").unlink(missing_ok=True)
    backups = [each for each in (made / "backups").iterdir() if each.name != FIRST_BACKUP]
    for each in (made / "server", folder / "elsewhere", *backups):
        shutil.rmtree(each, ignore_errors=True)


def ends_well(call: str, done: Result) -> None:
    assert done.code in (0, 1, 2), (call, done)
    assert "Traceback" not in done.out + done.err, (call, done)
    is_said = done.err.rstrip().rpartition("\n")[2].startswith("lottisync: ") or done.out
    assert done.code == 0 or is_said, (call, done)


def test_every_command_is_in_the_matrix() -> None:
    """A new command has to be added to it."""
    known = {name.partition(" --")[0] for name in FIELDS}
    assert known | SERVES == set(ANSWERS)


def with_output(template: Homely, call: str, folder: Path, output: TextIO | None) -> tuple[int, str]:
    """The call with this standard output; its exit code, and what it said on standard error."""
    home, said = copied(template, folder), io.StringIO()
    without_what_was_made(template, folder)
    at = folder / "elsewhere" if call.startswith("restore ") else home
    with agreeing_systemd(folder), pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        patched.setattr(sys, "stderr", said)
        with pytest.raises(SystemExit) as ended:
            main([*words(call), "--home", str(at)])
    assert isinstance(ended.value.code, int)
    return ended.value.code, said.getvalue()


@pytest.mark.parametrize("more", ["", " --json"])
def test_cli_86_a_terminal_that_knows_only_ascii_changes_no_exit_code(
    template: Homely, sound: dict[str, Result], tmp_path: Path, more: str
) -> None:
    """CLI-326: and JSON is what it always is."""
    for call in template.calls:
        written = io.BytesIO()
        code, said = with_output(template, call + more, tmp_path, io.TextIOWrapper(written, "ascii"))
        assert code == sound[call].code, (call, said)
        assert "Traceback" not in said, (call, said)
        if more and code == 0:
            for line in written.getvalue().decode("utf-8").splitlines():
                assert isinstance(json.loads(line), dict), (call, line)


def test_cli_85_a_closed_output_changes_no_exit_code(
    template: Homely, sound: dict[str, Result], tmp_path: Path
) -> None:
    for call in template.calls:
        code, said = with_output(template, call, tmp_path, None)
        assert code == sound[call].code, (call, said)
        assert "Traceback" not in said, (call, said)
        if code == 0:
            assert said == sound[call].err, call


def test_cli_40_an_output_that_takes_nothing_is_said(
    template: Homely, sound: dict[str, Result], tmp_path: Path
) -> None:
    """CLI-128. A command that says nothing has nothing to fail with."""
    for call in template.calls:
        with Full() as full:
            code, said = with_output(template, call, tmp_path, full)
        expected = 1 if sound[call].out and sound[call].code == 0 else sound[call].code
        assert code == expected, (call, said)
        assert "Traceback" not in said, (call, said)
        if sound[call].out and sound[call].code == 0:
            assert "No space left" in said, (call, said)


class Full(io.TextIOWrapper):
    """/dev/full, which forgets at the end what it could not write."""

    def __init__(self) -> None:
        super().__init__(io.FileIO("/dev/full", "w"), "utf-8", write_through=True)

    def __exit__(self, *_: object) -> None:
        self.detach().close()


@pytest.mark.parametrize("store", STORES)
def test_cli_128_without_a_store_every_command_ends_with_a_sentence(
    template: Homely, sound: dict[str, Result], tmp_path: Path, store: str
) -> None:
    """CLI-42: each names the command that helps; and what needs no store works as before."""
    for call in template.calls:
        done = here(template, call, tmp_path, lambda home: (home / f"{store}.sqlite").unlink())
        ends_well(call, done)
        if done.code and not sound[call].code and call != "doctor":
            assert "init --missing" in done.err, (call, done)


READ_ONLY = """
import json, shlex, sys
from pathlib import Path
from tests.support.command_line import run_here
for call in json.load(sys.stdin):
    print(json.dumps([call, *run_here(*shlex.split(call), home=Path(sys.argv[1]))]), flush=True)
"""


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
def test_cli_41_in_a_home_that_cannot_be_written_to_every_command_ends_with_a_sentence(
    template: Homely, sound: dict[str, Result], tmp_path: Path
) -> None:
    """CLI-41: all of them in one process, in a namespace in which the home is mounted read-only."""
    home = copied(template, tmp_path)
    calls = [call for call in template.calls if not call.startswith(("restore ", "service "))]
    mount = f"mount --bind {shlex.quote(str(home))} {shlex.quote(str(home))}"
    again = f"mount -o remount,bind,ro {shlex.quote(str(home))}"
    program = shlex.join([sys.executable, "-c", READ_ONLY, str(home)])
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", f"{mount} && {again} && exec {program}"],
        input=json.dumps(calls).encode(),
        capture_output=True,
        timeout=300,
        env={**environment(), "PYTHONPATH": str(Path.cwd())},
        check=False,
    )
    answers = {call: Result(*rest) for call, *rest in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == set(calls), done.stderr.decode()[-2000:]
    for call, answer in answers.items():
        ends_well(call, answer)
        if answer.code and not sound[call].code and call != "doctor":
            assert "writable" in answer.err, (call, answer)
