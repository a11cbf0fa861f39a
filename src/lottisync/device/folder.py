"""The stores of one device in a folder, one file each: `cookbook` is in `cookbook.sqlite`.

Whoever makes the folder says which stores exist. The order of that list is the order in which rounds deliver them.
A store is opened when it is first used, so a command that reads one store opens one file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from lottisync.causality.vector_clock import Host
from lottisync.entities.schema import StoreSchema
from lottisync.store.store import Store


class StoreFolder(Mapping[str, Store]):
    """Store name -> store, in the order of delivery."""

    def __init__(
        self,
        path: Path,
        schemas: Iterable[StoreSchema],
        new_host: Callable[[], Host],
        *,
        detect: Literal["early", "late"] = "early",
    ) -> None:
        self.path = path
        self._schemas = {schema.name: schema for schema in schemas}
        self._new_host = new_host
        self._detect: Literal["early", "late"] = detect
        self._open: dict[str, Store] = {}

    def missing(self) -> list[StoreSchema]:
        """The listed stores that are not there yet, in their order."""
        return [schema for name, schema in self._schemas.items() if not self._file(name).exists()]

    def create_missing(self) -> None:
        for schema in self.missing():
            self._open[schema.name] = Store.create(self._file(schema.name), schema, self._new_host)

    def __getitem__(self, name: str) -> Store:
        if name not in self._open:
            self._open[name] = self._opened(name)
        return self._open[name]

    def _opened(self, name: str) -> Store:
        return Store.open(self._file(name), self._schemas[name], self._new_host, detect=self._detect)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.sqlite"
