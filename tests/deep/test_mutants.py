"""Every planted fault is caught by the test that is named for it (`make deep`, C-21)."""

import os

import pytest
from tools.mutants import Mutant, Survived, kill, listed

EVERY, FIRST = int(os.environ.get("MUTANTS_EVERY", "1")), int(os.environ.get("MUTANTS_FIRST", "0"))
"""With a bounded budget every n-th fault is tried, on another day others; without one all of them are."""
MUTANTS = [mutant for number, mutant in enumerate(listed()) if (number + FIRST) % EVERY == 0]


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_planted_fault_is_caught(mutant: Mutant) -> None:
    kill(mutant)


@pytest.mark.deep
def test_a_fault_that_changes_nothing_survives() -> None:
    """The tool itself can fail: this one is no fault."""
    harmless = Mutant(
        "nothing", "lottisync/problem.py", "exit_code = 2", "exit_code = 2 ", "tests/causality/test_vector_clock.py"
    )
    with pytest.raises(Survived):
        kill(harmless)
