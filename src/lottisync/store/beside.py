"""Many things, looked at one after the other: what is damaged hides nothing beside it (docs/specs/05-store.md)."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from lottisync.problem import Problem

DAMAGED = "damaged-row"
Thing = TypeVar("Thing")
Found = TypeVar("Found")


def beside(things: Iterable[Thing], look: Callable[[Thing], Found], damaged: list[Problem]) -> list[Found]:
    """What `look` finds of each thing. One for which it would need a damaged row is left out, and `damaged` gets the
    reason (STORE-942)."""
    found = []
    for thing in things:
        try:
            found.append(look(thing))
        except Problem as problem:
            if problem.code != DAMAGED:
                raise
            damaged.append(problem)
        except UnicodeDecodeError as error:  # of an id, a type or an index: which row it is, `check` finds
            damaged.append(Problem(DAMAGED, "a stored row holds text that is not UTF-8 ({error})", error=error))
    return found
