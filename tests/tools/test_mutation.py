"""Which mutations `tools/mutation.py` makes, and that its list of survivors names nothing else."""

import ast
import runpy

import hypothesis
import pytest
from tools import mutation
from tools.mutation import TESTS, all_mutations, changes, files, listed

TEXT = '''
LIMIT = 2
def f(a: int = 1, *, name="x"):
    """Says."""
    if a and not name:
        raise ValueError("no")
    return a <= LIMIT
'''


def test_what_is_changed_and_what_is_left_alone() -> None:
    """Numbers, comparisons, logic and statements are; texts, annotations and docstrings are not."""
    assert [change.words() for change in changes(ast.parse(TEXT))] == [
        "module: 2 -> 3",
        "f: 1 -> 2",
        "f: a and (not name) -> a or not name",
        "f: not name -> name",
        "f: raise ValueError('no') -> pass",
        "f: a <= LIMIT -> a < LIMIT",
    ]


def test_a_mutation_has_a_name_of_its_own_and_code_that_differs() -> None:
    mutations = [each for each in all_mutations() if each.file == "causality/vector_clock.py"]
    assert len({each.name for each in mutations}) == len(mutations) > 10
    assert len({each.code().co_consts for each in mutations}) > 10


def test_each_listed_survivor_is_a_mutation_and_has_a_reason() -> None:
    """What is left of a rule that was changed since must go."""
    known = listed()
    assert set(known) <= {each.name for each in all_mutations()}
    assert all(len(because) >= 20 for because in known.values())


def test_each_pure_file_has_tests() -> None:
    for target in TESTS:
        for file in files(target):
            assert mutation.tests_of(file), file


def test_the_mutation_tester_tries_as_many_examples_within_a_search(request: pytest.FixtureRequest) -> None:
    """It reads the conftest again, and within `make deep`: with five times the examples its tests would not end in
    time, and each survivor would count as killed."""
    now = hypothesis.settings.get_current_profile_name()
    request.addfinalizer(lambda: hypothesis.settings.load_profile(now))
    hypothesis.settings.load_profile("search")
    runpy.run_path("tests/conftest.py")
    noticing = hypothesis.settings.get_profile("notice")
    assert (noticing.max_examples, noticing.derandomize) == (100, True)
