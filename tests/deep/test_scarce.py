"""What a device needs runs short, and nothing beside it stops (docs/specs/05-store.md, section 19): file descriptors,
room on the disk, the right to write, and a clock that tells the time. Commands end with success or a sentence. Once
there is enough again, all that stands beside works: a task is added and done, a proposal is confirmed, and another
device gets both.

`SCARCE=n` says how many examples are tried; `SCARCE_FIRST=n` with `SCARCE=1` repeats one that failed.
"""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.beside import READS, WRITES, Homes, beside, ends_well, make
from tests.support.command_line import Result, environment, run_here

from lottisync.device import clock

FIRST, COUNT = int(os.environ.get("SCARCE_FIRST", "0")), int(os.environ.get("SCARCE", "40"))
NUMBERS = range(FIRST, FIRST + COUNT)
MORE = ("task delete {last}",)
LAST = "Passing"
CALLS = 12
"""Commands of one example."""
CLOCKS = (0, 1, clock.EARLIEST - 1, clock.LATEST, 2**48 - 1, 253_402_300_799_999, 4_000_000_000_000, 1_000_000_000_000)
"""In milliseconds since 1970: a flat battery, far ahead, beyond the last year that text can say."""
CAN_MOUNT = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0
pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    """What is done last there is what `undo` takes back: a task that nobody looks at afterwards."""
    homes = make(tmp_path_factory.mktemp("scarce"))
    done = run_here("task", "add", LAST, home=homes.laptop)
    assert done.code == 0, done
    return homes


def reads(homes: Homes) -> list[str]:
    return [call.format(task=homes.task, victim=homes.task) for call in READS]


def drawn(homes: Homes, chance: random.Random) -> list[str]:
    words = {"task": homes.task, "victim": homes.task, "item": "none", "last": LAST}
    return [call.format(**words) for call in chance.sample((*READS, *WRITES, *MORE), CALLS)]


@pytest.mark.parametrize("number", NUMBERS)
def test_rel_d8_an_odd_clock_stops_nothing(
    number: int, template: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CAUS-300, CAUS-423: each command at another time; then the clock is right again."""
    homes, chance = template.copied(tmp_path), random.Random(number)
    with monkeypatch.context() as patched:
        for call in drawn(homes, chance):
            now = chance.choice(CLOCKS)
            patched.setattr(clock, "now", lambda now=now: now)
            ends_well(run_here(*call.split(), home=homes.laptop), (call, now))
    beside(homes)


SHORT = """
import json, resource, sys
from pathlib import Path
from tests.support.command_line import run_here
home, calls, limit = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
run_here("status", home=home)  # what is imported for it is loaded
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
for call in calls:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    done = run_here(*call.split(), home=home)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(json.dumps([call, *done]), flush=True)
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_cli_46_too_few_file_descriptors_stop_nothing(number: int, template: Homes, tmp_path: Path) -> None:
    """REL-D5, CLI-671: from none that is free to a few."""
    homes, chance = template.copied(tmp_path), random.Random(number)
    calls, limit = drawn(homes, chance), chance.randint(4, 24)
    said(["-c", SHORT, str(homes.laptop), json.dumps(calls), str(limit)], calls, limit)
    beside(homes)


MOUNTED = """
import json, subprocess, sys
from pathlib import Path
from tests.support.command_line import run_here
home, calls, left, mode = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if mode == "full":
    with (home / "filling").open("wb", buffering=0) as filling:
        try:
            while filling.write(bytes(4096)):
                pass
        except OSError:
            filling.truncate(max(0, filling.tell() - left))
else:
    subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
for call in calls:
    print(json.dumps([call, *run_here(*call.split(), home=home)]), flush=True)
"""


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
@pytest.mark.parametrize("mode", ["full", "read-only"])
@pytest.mark.parametrize("number", NUMBERS)
def test_rel_d10_a_disk_that_takes_little_or_nothing_stops_nothing(
    number: int, mode: str, template: Homes, tmp_path: Path
) -> None:
    """REL-D11, REV-430, CLI-126: up to 200 kB are left, or the file system is read-only; then there is a disk
    again. A read never ends for want of room."""
    homes, chance = template.copied(tmp_path), random.Random(number)
    calls = list(dict.fromkeys([*drawn(homes, chance), *reads(homes)]))
    left, small = chance.randint(0, 50) * 4096, tmp_path / "small"
    small.mkdir()
    program = shlex.join([sys.executable, "-c", MOUNTED, str(small), json.dumps(calls), str(left), mode])
    home, disk = shlex.quote(str(homes.laptop)), shlex.quote(str(small))
    script = (
        f"mount -t tmpfs -o size=6m tmpfs {disk} && cp -r {home}/. {disk}/ && {program}; ended=$?;"
        f" mount -o remount,rw {disk}; rm -f {disk}/filling && rm -r {home} && cp -r {disk} {home}; exit $ended"
    )
    answers = said(["unshare", "-rm", "bash", "-c", script], calls, (mode, left))
    for call in reads(homes):
        assert "lottisync: the disk is full" not in answers[call].err, (call, left, answers[call])
    beside(homes)


def said(command: list[str], calls: list[str], why: object) -> dict[str, Result]:
    """Run a program that calls these commands, and look at how each has ended."""
    whole = [sys.executable, *command] if command[0] == "-c" else command
    place = {**environment(), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(whole, capture_output=True, timeout=120, env=place, check=False)
    answers = {call: Result(*rest) for call, *rest in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == set(calls), (why, done.stderr.decode()[-2000:])
    for call, answer in answers.items():
        print(why, call, answer.code, answer.err)
        ends_well(answer, (call, why))
    return answers


def test_what_is_copied_is_what_was_made(template: Homes, tmp_path: Path) -> None:
    """The test itself: without any shortage all that stands beside works."""
    homes = template.copied(tmp_path)
    shutil.rmtree(homes.laptop / "bells", ignore_errors=True)
    beside(homes)
