"""A figure of `make bench`: a rate of ours beside the rate of what the machine allows, measured in turns."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Figure(NamedTuple):
    """`ours` and `bare` are rates (per second). The ratio counts: seconds depend on the machine, it hardly does."""

    name: str
    ours: float
    bare: float
    goal: float

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


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
