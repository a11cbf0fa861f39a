"""A figure: what was measured, what was measured beside it in the same run, and what it should come to.

Seconds depend on the machine and on what else it does; the ratio of two things measured within the same
minute hardly does. So whatever can be a ratio is one.
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Goal(NamedTuple):
    """A bound for the ratio, or with `of_value` for what was measured itself."""

    bound: float
    at_most: bool = True
    of_value: bool = False


class Figure(NamedTuple):
    """`value` is ours; `beside` is the same of `what`, in the same unit, measured in the same run."""

    name: str
    value: float
    unit: str
    beside: float | None = None
    what: str = ""
    goal: Goal | None = None
    range: tuple[float, float] | None = None
    """The least and the greatest of several runs, of what is judged."""

    @property
    def judged(self) -> float:
        """What a goal is for: the ratio, where there is one."""
        if self.ratio is None or (self.goal is not None and self.goal.of_value):
            return self.value
        return self.ratio

    @property
    def ratio(self) -> float | None:
        return self.value / self.beside if self.beside else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal, or without what it is judged by."""
        if self.goal is None:
            return None
        judged = self.value if self.goal.of_value else self.ratio
        if judged is None:
            return None
        return judged <= self.goal.bound if self.goal.at_most else judged >= self.goal.bound

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """Name, ours, what was measured beside, ratio, least to greatest, goal."""
        beside = "" if self.beside is None else f"{short(self.beside)} {self.unit}, {self.what}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        spread = "" if self.range is None else f"{self.range[0]:.3g} to {self.range[1]:.3g}"
        return self.name, f"{short(self.value)} {self.unit}", beside, ratio, spread, self._goal()

    def _goal(self) -> str:
        if self.goal is None:
            return ""
        sign, unit = "≤" if self.goal.at_most else "≥", f" {self.unit}" if self.goal.of_value else ""
        return f"{sign} {self.goal.bound:,g}{unit}, " + {True: "met", False: "missed", None: "not judged"}[self.met]


def median_of(runs: list[Figure]) -> Figure:
    """The same figure of several runs: the one in the middle, with the least and the greatest."""
    ordered = sorted(runs, key=lambda figure: figure.judged)
    middle = ordered[len(ordered) // 2]
    return middle._replace(range=(ordered[0].judged, ordered[-1].judged)) if len(runs) > 1 else middle


def at_least(bound: float) -> Goal:
    return Goal(bound, at_most=False)


def at_most(bound: float) -> Goal:
    return Goal(bound)


def value_at_most(bound: float) -> Goal:
    return Goal(bound, of_value=True)


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def alternately(ours: Callable[[int], object], bare: Callable[[int], object], slices: int) -> tuple[float, float]:
    """The median seconds of a slice of ours, and of the same slice done the bare way. The slices take turns, so
    that what else the machine does slows both, and the median leaves out what slowed one of them."""
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(slices):
        for way, seconds in zip((ours, bare), took, strict=True):
            started = time.perf_counter()
            way(number)
            seconds.append(time.perf_counter() - started)
    return statistics.median(took[0]), statistics.median(took[1])
