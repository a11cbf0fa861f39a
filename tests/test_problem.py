"""A `Problem`: its sentence, its code, its hint."""

import gc
import weakref

import pytest

from lottisync.problem import Invalid, Problem, Sentence, Usage


def test_a_problem_has_a_code_for_programs_and_a_sentence_for_people() -> None:
    problem = Problem("disk-full", "the disk is full")
    assert (problem.code, problem.message, str(problem), problem.exit_code) == (
        "disk-full",
        "the disk is full",
        "the disk is full",
        1,
    )


def test_a_call_that_was_wrong_has_an_exit_code_of_its_own() -> None:
    assert Usage("exists", "x").exit_code == 2
    assert isinstance(Usage("exists", "x"), Problem)


class Large:
    """What a caller has in hand while something fails."""


@pytest.mark.parametrize("kind", [ValueError, lambda text: Problem("x", text), Invalid])
def test_a_sentence_holds_the_words_of_an_error_and_nothing_that_its_callers_held(kind: type[Exception]) -> None:
    """A refusal is kept while a program runs; by a traceback it would keep a whole message of the other device."""

    def refused() -> tuple[Sentence, "weakref.ref[Large]"]:
        large = Large()
        try:
            raise kind("it is bad")
        except Exception as error:  # noqa: BLE001 - any of the three
            return Sentence("why: {error}", error=error), weakref.ref(large)

    said, large = refused()
    gc.collect()
    assert said == "why: it is bad"
    assert large() is None


def test_a_value_may_be_called_as_a_parameter_is() -> None:
    assert Problem("x", "{code} of {template}", code=1, template="t").message == "1 of t"
