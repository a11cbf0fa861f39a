"""The list of planted faults is not stale: each has its place, and a test. `make deep` plants them."""

import re
from pathlib import Path

import pytest
from tools.mutants import SOURCE, Mutant, listed


@pytest.mark.parametrize("mutant", listed(), ids=lambda mutant: mutant.name)
def test_a_planted_fault_has_its_place_and_its_test(mutant: Mutant) -> None:
    """C-21"""
    assert (SOURCE / mutant.file).read_text().count(mutant.find) == 1
    file, _, name = mutant.caught_by.partition("::")
    text = Path(file).read_text()
    for part in filter(None, re.sub(r"\[.*", "", name).split("::")):
        assert re.search(rf"(def|class) {part}\b", text), mutant.caught_by
