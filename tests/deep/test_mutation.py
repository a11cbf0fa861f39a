"""A mutation of a pure module is noticed by its tests, or listed with the reason why none can notice it.

`MUTATIONS=n` says how many are tried, from number `MUTATIONS_FIRST` on; CI tries others each day. Without it all are.
"""

import os

import pytest
from tools.mutation import Mutation, all_mutations, faults, listed, survives

ALL = all_mutations()
COUNT, FIRST = int(os.environ.get("MUTATIONS", str(len(ALL)))), int(os.environ.get("MUTATIONS_FIRST", "0"))
SHARE = [ALL[(FIRST + number) % len(ALL)] for number in range(min(COUNT, len(ALL)))]
KNOWN = listed()


@pytest.mark.deep
@pytest.mark.parametrize("mutation", SHARE, ids=[mutation.name for mutation in SHARE])
def test_a_mutation_is_noticed_or_listed(mutation: Mutation) -> None:
    assert list(faults([mutation], KNOWN)) == []


@pytest.mark.deep
def test_a_module_without_a_change_survives() -> None:
    """The tool itself can fail: these tests pass in a fork of this process, too."""
    assert survives(Mutation("causality/vector_clock.py", "no change", None))


@pytest.mark.deep
def test_a_survivor_that_is_listed_and_killed_is_reported() -> None:
    killed = next(each for each in ALL if each.name.startswith("causality/vector_clock.py validate: "))
    assert list(faults([killed], {killed.name: "it changes nothing"})) == [
        f"listed as a survivor, but a test kills it: {killed.name}"
    ]
