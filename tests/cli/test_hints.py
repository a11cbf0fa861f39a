"""Which command helps with a problem."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lottisync.cli.hints import HINTS, told
from lottisync.cli.main import lottisync
from lottisync.problem import Problem

SOURCE = Path(__file__).parent.parent.parent / "src" / "lottisync"


def test_every_hint_that_is_given_is_known_and_no_other() -> None:
    """CLI-3: what a library says is completed by the command line alone."""
    given = {word for file in SOURCE.rglob("*.py") for word in re.findall(r'hint="([a-z-]+)"', file.read_text())}
    assert given == set(HINTS)


@pytest.mark.parametrize("sentence", HINTS.values())
def test_every_hint_names_a_command_that_there_is(sentence: str) -> None:
    for words in re.findall(r"lottisync ((?:[a-z]+ ?)+)", sentence):
        shown = CliRunner().invoke(lottisync, [*words.split()[:1], "--help"])
        assert shown.exit_code == 0, words


def test_a_hint_is_told_behind_the_sentence_with_its_values() -> None:
    problem = Problem("no", "{entity_id} has others", hint="conflict", entity_id="t1")
    assert (problem.message, problem.template) == ("t1 has others", "{entity_id} has others")
    assert told(problem) == "t1 has others. See: lottisync conflicts show t1"
    assert told(Problem("no", "a {brace} stays")) == "a {brace} stays"
