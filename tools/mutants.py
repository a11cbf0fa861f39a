"""Planted faults: each is put into a copy of the source, and a named test has to catch it.

A check that is meant to catch something is shown to catch it. `tests/mutants/*.toml` lists the faults:

    [[mutant]]
    name = "a sibling is dropped at the join"
    file = "lottisync/entities/entity.py"
    find = "registers[path] = ordered(kept)"          exactly one place of the file
    replace = "registers[path] = ordered(kept)[:1]"
    caught_by = "tests/entities/test_entity.py::test_join_loses_nothing"

A fault whose place is not found any more, or whose test does not exist or does not fail, is an error:
the list cannot go stale. `python -m tools.mutants [NAME...]` runs them; `make deep` does, too.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

FOLDER = Path("tests/mutants")
SOURCE = Path("src")
SECONDS = 180
_SKIPPED = re.compile(r"\d+ skipped in .*")
"""The last line of tests none of which ran."""


class Mutant(NamedTuple):
    name: str
    file: str
    find: str
    replace: str
    caught_by: str


class Survived(Exception):
    """A planted fault that its test did not catch, or that could not be planted."""


class NotTried(Exception):
    """A planted fault whose test is skipped on this machine, for want of a browser, say."""


def listed(folder: Path = FOLDER) -> list[Mutant]:
    return list(_read(folder))


def _read(folder: Path) -> Iterator[Mutant]:
    for file in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(file.read_text())["mutant"]:
            yield Mutant(**entry)


def kill(mutant: Mutant, source: Path = SOURCE) -> None:
    """Plant the fault in a copy and run its test there; `Survived` unless the test fails, `NotTried` if it is
    skipped."""
    with tempfile.TemporaryDirectory(prefix="lottisync-mutant-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        target = copy / mutant.file
        text = target.read_text()
        if text.count(mutant.find) != 1:
            raise Survived(f"{mutant.name}: {mutant.find!r} stands {text.count(mutant.find)} times in {mutant.file}")
        target.write_text(text.replace(mutant.find, mutant.replace))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.caught_by]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode == 0 and _SKIPPED.fullmatch(done.stdout.strip().rpartition("\n")[2]):
        raise NotTried(f"{mutant.name}: {mutant.caught_by} is skipped here")
    if done.returncode != 1:  # 0: nothing failed; 2 to 5: the test could not be run at all
        raise Survived(f"{mutant.name}: {mutant.caught_by} ended with {done.returncode}\n{done.stdout[-2000:]}")


def main() -> int:
    console = Console()
    wanted = sys.argv[1:]
    survived = 0
    for mutant in listed():
        if wanted and mutant.name not in wanted:
            continue
        try:
            kill(mutant)
            console.print(Text(f"caught    {mutant.name}  ({mutant.caught_by})", "green"))
        except NotTried as reason:
            console.print(Text(f"not tried {reason}", "yellow"))
        except Survived as fault:
            survived += 1
            console.print(Text(f"SURVIVED  {fault}", "bold red"))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
