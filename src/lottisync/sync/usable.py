"""The stores whose files can be used (docs/specs/05-store.md, section 14).

A store whose file cannot be used is left out, and the others sync. One with corrupt pages stays out until the program
is started again. One whose disk failed comes back when the disk answers again.
"""

from collections.abc import Iterator, Mapping

from lottisync.device.device import Device
from lottisync.problem import Problem, Sentence
from lottisync.store.database import DAMAGED
from lottisync.store.store import Store

FAILED = "disk-failed"


class UsableStores(Mapping[str, Store]):
    """Store name -> store, without those whose disk fails. The one that holds the roster is always there: nothing goes
    without it."""

    def __init__(self, device: Device) -> None:
        self._device, self._stores = device, device.stores
        self._roster = device.space.schema.name
        self._why: dict[str, Problem] = {}
        self.files: Mapping[str, Problem] = {}
        """The files that could not be opened at the last look, and why."""

    def __getitem__(self, name: str) -> Store:
        if self._is_hidden(name):
            raise KeyError(name)
        return self._stores[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._stores if not self._is_hidden(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def look(self) -> None:
        """Look which stores there are."""
        self.files = self._device.look_for_stores()

    def _is_hidden(self, name: str) -> bool:
        return name != self._roster and name in self.failing()

    def leave_out(self, problem: Problem) -> str | None:
        """If the file of a store that is not out yet is the problem, leave it out, and give its name."""
        name = self._named(problem)
        if name is None or name in self._why:
            return None
        self._why[name] = problem
        return name

    def is_out(self, problem: Problem) -> bool:
        """Whether this is about a store that is left out."""
        return self._named(problem) in self._why

    def _named(self, problem: Problem) -> str | None:
        """The store whose file cannot be used, if that is the problem."""
        path = problem.arguments.get("path") if problem.code in (DAMAGED, FAILED) else None
        return next((name for name, store in self._stores.items() if store.file == path), None)

    def shared(self) -> dict[str, Store]:
        """The stores that a connection may sync."""
        return {name: store for name, store in self._stores.items() if name not in self._why}

    def failing(self) -> list[str]:
        """The stores whose disk fails."""
        return [name for name, problem in self._why.items() if problem.code == FAILED]

    def why(self) -> dict[str, Sentence]:
        """Why stores are left out, by name."""
        return {name: each.sentence for name, each in sorted({**self.files, **self._why}.items())}

    def answers(self, name: str) -> bool:
        """Whether the disk of a store reads and writes now; then it is left out no longer."""
        try:
            self._stores[name].try_disk()
        except Problem:
            return False
        self._why.pop(name, None)
        return True
