"""Which codes errors have is read off the source (`tools/problem_codes.py`)."""

import re
from pathlib import Path

from tools.problem_codes import codes

from lottisync.problem import Problem

MODULE = """
FULL, GONE = "disk-full", "gone"
class Lost(Problem):
    def __init__(self) -> None:
        super().__init__("lost", "{name} is lost")
class Twice(Lost): ...
def fail(code: str) -> None:
    raise Problem("bad-value", "{what} is wrong")
    raise Problem(FULL, marked("no room"))
    raise Twice("twice", "it is {name}")
    raise Problem(code, "passed on")
    raise ValueError("not-one", "of ours")
"""


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
