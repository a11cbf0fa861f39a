"""The programs that the documentation shows are programs: each page runs, and passes the type checker.

The ```python blocks of a page are one program, from top to bottom. It runs in an empty folder, with its own home. A
block that another test runs, because it waits for something or never ends, has a line `<!-- run by FILE -->` above it.

The package sybil is not used: it evaluates each block within the process of the tests, and here a page is one file,
which a process of its own runs as a reader would, with warnings as errors, and which mypy checks as a whole.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^(?:<!-- run by (\S+) -->\n+)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 60


class Block(NamedTuple):
    language: str
    line: int
    """Of the page, where the code begins; the first is 1."""
    code: str
    run_by: str
    """A file of tests that runs this block; empty if it is run here."""


def blocks(text: str) -> Iterator[Block]:
    for found in BLOCK.finditer(text):
        yield Block(found[2], text.count("\n", 0, found.start(3)) + 1, found[3], found[1] or "")


def program(text: str) -> str:
    """The Python blocks of a page that are run here, each on the lines that it has on the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in blocks(text):
        if block.language == "python" and not block.run_by:
            code = block.code.splitlines()
            lines[block.line - 1 : block.line - 1 + len(code)] = code
    return "\n".join(lines).rstrip() + "\n"


WITH_PROGRAMS = [page for page in PAGES if program(page.read_text()).strip()]


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.name)
def test_the_program_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    ran(program(page.read_text()), page.stem, tmp_path)


def ran(source: str, name: str, folder: Path) -> str:
    """What the program printed; fails with what it said if it did not end well."""
    file = folder / f"{name}.py"
    file.write_text(source)
    environment = os.environ | {"LOTTISYNC_HOME": str(folder / "home"), "PYTHONWARNINGS": "error"}
    call = [sys.executable, "-X", "dev", file.name]
    done = subprocess.run(
        call, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_programs_pass_the_type_checker(tmp_path: Path) -> None:
    """Also those that another test runs."""
    files = []
    for page in PAGES:
        for number, block in enumerate(block for block in blocks(page.read_text()) if block.run_by):
            files.append(tmp_path / f"{page.stem}_{number}.py")
            files[-1].write_text(block.code)
    for page in WITH_PROGRAMS:
        files.append(tmp_path / f"{page.stem}.py")
        files[-1].write_text(program(page.read_text()))
    assert files
    call: list[str | Path] = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *files]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_block_that_is_run_elsewhere_names_a_test_that_reads_its_page() -> None:
    for page in PAGES:
        for block in blocks(page.read_text()):
            if block.run_by:
                assert page.name in (ROOT / block.run_by).read_text(), f"{page.name}:{block.line}"


PAGE = """# A page

```sh
not python
```

```python
x = 1
```

<!-- run by tests/test_x.py -->
```python
while True: pass
```

```python
print(x + 1)
```
"""


def test_the_blocks_of_a_page_are_one_program_on_their_own_lines(tmp_path: Path) -> None:
    source = program(PAGE)
    assert {number: line for number, line in enumerate(source.splitlines(), 1) if line} == {
        8: "x = 1",
        17: "print(x + 1)",
    }
    assert ran(source, "page", tmp_path) == "2\n"


def test_a_program_that_fails_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 4"):
        ran(program("# A page\n\n```python\n1 / 0\n```\n"), "page", tmp_path)


UNCOMMON = re.compile(
    r"\b(whoever|whomever|anew|is none of (?:ours|theirs|its)|for what is no|(?:day|time|path|id) that is none)\b",
    re.IGNORECASE,
)
"""Words that readers whose English is not native read twice. Better: "a device that", "again", "not a"."""


def uncommon(text: str) -> list[str]:
    """Also in names, whose words hang together by underscores."""
    return [found[0] for found in UNCOMMON.finditer(" ".join(text.replace("_", " ").split()))]


@pytest.mark.parametrize("folder", ["src", "docs", "tests", "conformance", "tools"])
def test_the_prose_uses_common_words(folder: str) -> None:
    files = [file for suffix in ("py", "md", "toml") for file in (ROOT / folder).rglob(f"*.{suffix}")]
    found = {file.relative_to(ROOT): uncommon(file.read_text()) for file in files if file != Path(__file__)}
    assert {file: words for file, words in found.items() if words} == {}


NO_NOUN = re.compile(
    r"\b(?:that|what|which|who) (?:is|are) (?:none(?! of (?:your|the person's) devices)|no)\b"
    r"(?! (?:longer|more|help|failure|error|reason|news|secret|way|other)\b)"
)


@pytest.mark.parametrize("folder", ["src", "docs", "tests", "conformance", "tools"])
def test_what_is_not_a_thing_is_called_that(folder: str) -> None:
    """Readers stumble over "what is no number": better "what is not a number". Also in the names of tests; those of
    conformance cases are published."""
    files = [file for suffix in ("py", "md", "toml") for file in (ROOT / folder).rglob(f"*.{suffix}")]
    found = {file.relative_to(ROOT): no_noun(file.read_text()) for file in files if file != Path(__file__)}
    assert {file: words for file, words in found.items() if words} == {}
    assert no_noun("What is left; of what is no\n# number, one that is none") == ["what is no", "that is none"]
    assert no_noun("def test_what_is_no_day_is_refused(): bytes_that_are_no_message()") == ["what is no"]


def no_noun(text: str) -> list[str]:
    named = re.sub(r"\btest_\w+", lambda name: name[0].replace("_", " "), text)
    return NO_NOUN.findall(re.sub(r"\s+(?:# )?", " ", named))


def test_uncommon_words_are_found() -> None:
    text = "Whoever\nasks gets it anew. Here is a day that is\nnone. There is none of this id. def test_whoever_asks()"
    assert uncommon(text) == ["Whoever", "anew", "day that is none", "whoever"]
