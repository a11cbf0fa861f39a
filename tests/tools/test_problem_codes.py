"""Which codes errors have is read off the source (`tools/problem_codes.py`)."""

import re
from pathlib import Path

import pytest
from tools.json_page import PAGE
from tools.problem_codes import Unseen, codes, compared

from lottisync.problem import Problem

MODULE = """
FULL, GONE = "disk-full", "gone"
NOTHING = marked("nothing was done")
Codes = Literal["listed", "other"]
class Lost(Problem):
    def __init__(self) -> None:
        super().__init__("lost", "{name} is lost")
class Twice(Problem): ...
class Twice(Struct): ...
class Listed(Problem):
    code: Codes
class Named(Problem):
    def __init__(self, template: str, *, code: str = "bad-name") -> None:
        super().__init__(code, template)
    @classmethod
    def of(cls) -> None:
        return cls("of them", code="named")
def _made(code: str, reason: str) -> Problem:
    return Problem(code, "{reason} is why")
def fail(error: Problem) -> None:
    raise Problem("bad-value", "{what} is wrong")
    raise Problem("few" if few else "many", "{count} of them")
    raise Listed("listed", "it is on the list")
    raise Listed(LISTED[name], "it is {name}")
    raise Listed("other", "it is another")
    raise Named("it is a bad name")
    raise _made("made", Sentence("nobody was there"))
    raise _made("also-made", str(error))
    reason = Sentence("before")
    raise _made("said-before", reason)
    Fault("wrong", "{what} is wrong here")
    raise Problem("nothing", NOTHING)
    raise Problem(FULL, marked("no room"))
    raise Twice("twice", "it is {name}")
    raise Problem(error.code, "passed on")
    raise ValueError("not-one", "of ours")
"""

NOT_OF_ERRORS = {
    *("goodbye", "duplicate-connection", "duplicate-key", "timeout"),  # how a session ends (docs/specs/07-sync.md)
    "insufficient_quota",  # what a model's server answers
}


def test_a_code_is_found_wherever_a_problem_is_made(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    assert codes(tmp_path) == {
        "also-made": ["{reason} is why"],
        "bad-name": ["it is a bad name"],
        "bad-value": ["{what} is wrong"],
        "disk-full": ["no room"],
        "few": ["{count} of them"],
        "listed": ["it is on the list", ""],
        "lost": ["{name} is lost"],
        "made": ["nobody was there"],
        "many": ["{count} of them"],
        "named": ["of them"],
        "nothing": ["nothing was done"],
        "other": ["it is another", ""],
        "said-before": ["before"],
        "twice": ["it is {name}"],
        "wrong": ["{what} is wrong here"],
    }


@pytest.mark.parametrize(
    "fault",
    [
        'raise Problem(f"model-{kind}", "it is wrong")',
        'raise Problem(CODES[kind], "it is wrong")',
        'raise Problem("one" if kind else kind, "it is wrong")',
        "raise Problem(*kind)",
        'raise problem.Problem(kind, "it is wrong")',
        'def fail(code: str) -> None:\n    raise Problem(code, "it is wrong")',
        'class Maker:\n    def _fail(self, code: str) -> None:\n        raise Problem(code, "it is wrong")',
        'def _fail(code: str) -> None:\n    raise Problem(code, "it is wrong")\n_fail(kind)',
        'raise Problem("bare")',
        'class Listed(Problem):\n    code: Codes\nCodes = Literal["one", "two"]\nListed("one", "it is wrong")',
    ],
)
def test_a_code_that_is_made_in_another_way_ends_the_tool(tmp_path: Path, fault: str) -> None:
    """JSON's rule 7: all codes are on the page. Most of these were passed over."""
    (tmp_path / "module.py").write_text(fault)
    with pytest.raises(Unseen):
        codes(tmp_path)


def test_every_way_of_the_source_is_seen() -> None:
    """What the scanner did not see: codes that are put together, of a table, or of a helper."""
    found = codes()
    assert {"usage", "refused-by-system", "damaged-file", "wrong-hash"} <= found.keys()
    assert {"relay-unreachable", "relay-refused-us", "relay-certificate-date"} <= found.keys()
    assert {f"model-{code}" for code in ("not-configured", "timed-out", "refused")} <= found.keys()
    assert all(any(sentences) for sentences in found.values())


def test_a_new_code_is_not_on_the_page(tmp_path: Path) -> None:
    """`make check` says that the page is out of date."""
    (tmp_path / "module.py").write_text('raise Problem("planted", "it was planted")')
    page = PAGE.read_text()
    assert all(f"\n| `{code}` | " in page for code in codes())
    assert not any(f"\n| `{code}` | " in page for code in codes(tmp_path))


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
