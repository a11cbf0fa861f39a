"""A figure: what was measured, what was measured beside it in the same run, and what it should come to.

Seconds depend on the machine and on what else it does; the ratio of two things measured within the same
minute hardly does. So whatever can be a ratio is one.
"""

from collections.abc import Callable, Sequence
from statistics import quantiles
from typing import NamedTuple


class Limit(NamedTuple):
    """`of` is what is judged: the ratio, or the value itself where the goal names a size."""

    bound: float
    at_most: bool = True
    of_ratio: bool = True

    def holds(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound


class Figure(NamedTuple):
    name: str
    value: float
    unit: str
    beside: float | None = None
    """The same of `what`, in the same unit, measured in the same run."""
    what: str = ""
    limit: Limit | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.beside if self.beside else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None if there is no goal, or nothing to judge it by."""
        judged = self.ratio if self.limit is not None and self.limit.of_ratio else self.value
        return None if self.limit is None or judged is None else self.limit.holds(judged)

    def cells(self) -> tuple[str, str, str, str, str]:
        """Name, value, what was measured beside, ratio, goal."""
        beside = f"{_number(self.beside)} {self.unit} ({self.what})" if self.beside is not None else ""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return self.name, f"{_number(self.value)} {self.unit}", beside, ratio, self._goal()

    def _goal(self) -> str:
        if self.limit is None:
            return ""
        sign = "≤" if self.limit.at_most else "≥"
        bound = f"{_number(self.limit.bound)}" + ("" if self.limit.of_ratio else f" {self.unit}")
        return f"{sign} {bound}" + {True: " ✓", False: " ✗", None: ""}[self.met]


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def median(samples: Sequence[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def percentile_99(samples: Sequence[float]) -> float:
    return quantiles(samples, n=100)[98]


def median_run(make: Callable[[], Figure], runs: int) -> Figure:
    """The run with the median ratio of several."""
    return sorted((make() for _ in range(runs)), key=lambda figure: figure.ratio or 0.0)[runs // 2]
