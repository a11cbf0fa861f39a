"""Which codes errors have is read off the source (`tools/problem_codes.py`)."""

import re
from pathlib import Path

from tools.problem_codes import codes, compared

from lottisync.problem import Problem

MODULE = """
FULL, GONE = "disk-full", "gone"
class Lost(Problem):
    def __init__(self) -> None:
        super().__init__("lost", "{name} is lost")
class Twice(Lost): ...
class Twice(Struct): ...
def fail(code: str) -> None:
    raise Problem("bad-value", "{what} is wrong")
    raise Problem(FULL, marked("no room"))
    raise Twice("twice", "it is {name}")
    raise Problem(code, "passed on")
    raise ValueError("not-one", "of ours")
"""

NOT_OF_ERRORS = {
    *("goodbye", "duplicate-connection", "duplicate-key", "timeout"),  # how a session ends (docs/specs/07-sync.md)
    "insufficient_quota",  # what a model's server answers
}


def test_a_code_is_found_wherever_a_problem_is_made(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    assert codes(tmp_path) == {
        "bad-value": ["{what} is wrong"],
        "disk-full": ["no room"],
        "lost": ["{name} is lost"],
        "twice": ["it is {name}"],
    }


def test_codes_are_words_for_programs() -> None:
    found = codes()
    assert Problem("unknown-id", "").code in found
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in found)


def test_a_code_that_is_compared_is_one_that_an_error_has() -> None:
    """C-10: a misspelt one would be a branch that is never taken."""
    made, asked_for = codes(), compared()
    assert {code: place for code, place in asked_for.items() if code not in made}.keys() == NOT_OF_ERRORS


def test_a_code_is_found_wherever_one_is_compared(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        'if error.code == "one" or error.code not in ("two", "three") or error.code == X or error.text == "no": ...\n'
        'match error.code:\n    case "four": ...\n    case _: ...\n'
    )
    assert compared(tmp_path) == {
        "one": "module.py:1",
        "two": "module.py:1",
        "three": "module.py:1",
        "four": "module.py:2",
    }
