"""What a bench is given: a folder, how large things are, and somebody to tell how far it is."""

from pathlib import Path
from typing import NamedTuple

from rich.progress import Progress, TaskID


class Sizes(NamedTuple):
    many: int
    """Entities of most figures."""
    growth: tuple[int, ...]
    """Entities of the initial syncs that show how cost grows, ascending; `many` is among them."""
    few: int
    """Entities where many would show nothing more."""
    edits: int
    """Edits a side in a partition, a fiftieth of them in conflict."""
    changes: int
    """Changes in one transaction."""
    samples: int
    """Single changes that are timed one by one."""
    idle_seconds: int
    quick: bool = False

    @property
    def large(self) -> tuple[int, ...]:
        """Where a figure is to be the same for many and for as many as there are."""
        return tuple(sorted({self.many, self.growth[-1]}))


FULL = Sizes(100_000, (1_000, 10_000, 100_000), 10_000, 5_000, 1_000, 300, 30)
MILLION = FULL._replace(growth=(*FULL.growth, 1_000_000))
QUICK = Sizes(3_000, (1_000, 3_000), 1_000, 250, 100, 100, 3, quick=True)


class Setting:
    def __init__(self, folder: Path, sizes: Sizes, progress: Progress, bar: TaskID) -> None:
        self.folder = folder
        self.sizes = sizes
        self._progress = progress
        self._bar = bar

    def doing(self, what: str, total: int | None = None) -> None:
        """Say what is being done now, and of how many steps it is (None: of one that takes as long as it takes)."""
        self._progress.reset(self._bar, description=what, total=total)

    def done(self, steps: int) -> None:
        self._progress.update(self._bar, completed=steps)
