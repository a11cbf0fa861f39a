"""A `Problem`: its sentence, its code, its hint."""

from lottisync.problem import Problem, Usage


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
