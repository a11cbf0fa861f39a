"""`lottisync task ...` as a person types it, on a home with a few tasks."""

from pathlib import Path
from typing import Any

from tests.support.command_line import Result, contents, run_here


def home_with(path: Path, *titles: str) -> Path:
    """A home with tasks of these titles."""
    assert run_here("init", "--name", "laptop", home=path).code == 0
    for title in titles:
        assert run_here("task", "add", title, home=path).code == 0
    return path


def task(home: Path, *arguments: str) -> Result:
    return run_here("task", *arguments, home=home)


def done(home: Path, *arguments: str) -> Any:
    """The answer of a call that goes well."""
    result = task(home, *arguments, "--json")
    assert result.code == 0, result
    return result.content


def refused(home: Path, *arguments: str, code: int) -> str:
    """The sentence of a call that changes nothing."""
    before = contents(home)
    result = task(home, *arguments)
    assert (result.code, result.out, contents(home)) == (code, "", before)
    return result.err
