"""Every planted fault is caught by the test that is named for it (`make deep`, C-21)."""

import os
from pathlib import Path

import pytest
from tools.mutants import Mutant, NotTried, Survived, kill, listed

EVERY, FIRST = int(os.environ.get("MUTANTS_EVERY", "1")), int(os.environ.get("MUTANTS_FIRST", "0"))
"""With a bounded budget every n-th fault is tried, on another day others; without one all of them are."""
MUTANTS = [mutant for number, mutant in enumerate(listed()) if (number + FIRST) % EVERY == 0]


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_planted_fault_is_caught(mutant: Mutant) -> None:
    try:
        kill(mutant)
    except NotTried as reason:
        pytest.skip(str(reason))


@pytest.mark.deep
def test_a_fault_that_changes_nothing_survives() -> None:
    """The tool itself can fail: this one is not a fault."""
    harmless = Mutant(
        "nothing", "lottisync/problem.py", "exit_code = 2", "exit_code = 2 ", "tests/causality/test_vector_clock.py"
    )
    with pytest.raises(Survived):
        kill(harmless)


@pytest.mark.deep
def test_a_fault_whose_test_is_skipped_is_not_called_caught(tmp_path: Path) -> None:
    skipped = tmp_path / "test_skipped.py"
    skipped.write_text("import pytest\n\n@pytest.mark.skip\ndef test_nothing(): ...\n")
    with pytest.raises(NotTried):
        kill(Mutant("nothing", "lottisync/problem.py", "exit_code = 2", "exit_code = 3", str(skipped)))
