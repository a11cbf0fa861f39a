"""What a bench is given: a folder, how large things are, and somebody to tell how far it is."""

from pathlib import Path
from typing import NamedTuple

from rich.progress import Progress, TaskID


class Sizes(NamedTuple):
    many: int
    """Entities of most figures."""
    growth: tuple[int, ...]
    """Entities of the initial syncs that show how cost grows, ascending; `many` is the last of them."""
    million: tuple[int, ...]
    """The same, for `--million`."""
    few: int
    """Entities where many would show nothing more."""
    edits: int
    """Edits a side in a partition, a fiftieth of them in conflict."""
    changes: int
    """Changes in one transaction."""
    samples: int
    """Single changes that are timed one by one."""
    idle_seconds: int
    devices: tuple[int, ...]
    """Of one person at a relay."""
    persons: tuple[tuple[int, int], ...]
    """At a cluster of relays: so many, with a stream of so many replicas each."""
    quick: bool = False


FULL = Sizes(
    many=100_000,
    growth=(1_000, 10_000, 100_000),
    million=(10_000, 100_000, 1_000_000),
    few=10_000,
    edits=5_000,
    changes=1_000,
    samples=300,
    idle_seconds=30,
    devices=(2, 10, 30, 100),
    persons=((100, 1), (1_000, 1), (100, 3), (1_000, 3)),
)
QUICK = Sizes(
    many=3_000,
    growth=(1_000, 3_000),
    million=(1_000, 3_000),
    few=1_000,
    edits=250,
    changes=100,
    samples=100,
    idle_seconds=3,
    devices=(2, 5),
    persons=((10, 1), (3, 3)),
    quick=True,
)


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
