"""Makes a schedule that breaks a law short: steps are taken out, in ever smaller pieces, while it still breaks it."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec
from tests.simulation.relayed import RelaySchedule
from tests.simulation.schedule import Schedule

S = TypeVar("S", Schedule, RelaySchedule)


def verdict(made: S, run: Callable[[S], object]) -> str:
    """What goes wrong when a schedule is run, without the numbers in it; "" if nothing does."""
    try:
        run(made)
    except Exception as error:  # noqa: BLE001 - whatever a device raises is what went wrong
        return named(error)
    return ""


def named(error: Exception) -> str:
    return f"{type(error).__name__} {error}".partition(":")[0][:60]


def shrink(made: S, run: Callable[[S], object], tries: int = 400) -> S:
    """The shortest schedule found with at most `tries` runs that goes wrong in the same way."""
    wrong = _kind(verdict(made, run))
    size = max(1, len(made.steps) // 2)
    while wrong and tries > 0:
        at, before = 0, len(made.steps)
        while at < len(made.steps) and tries > 0:
            shorter = msgspec.structs.replace(made, steps=made.steps[:at] + made.steps[at + size :])
            tries -= 1
            if _kind(verdict(shorter, run)) == wrong:
                made = shorter
            else:
                at += size
        if size == 1 and len(made.steps) == before:
            break
        size = max(1, size // 2)
    return made


def _kind(wrong: str) -> str:
    """Numbers differ from one run to the next, what is wrong does not."""
    return re.sub(r"[0-9a-f]{6,}|\d+", "#", wrong)
