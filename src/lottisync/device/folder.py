"""The stores of one device in a folder, one file each: `cookbook` is in `cookbook.sqlite`.

A program says which stores it knows. The order of that list is the order in which rounds deliver them. The folder may
hold more of them: stores of other programs, which describe themselves (docs/specs/05-store.md, section 18). They come
after those that are listed, in the order that their own program gave them.

A store is opened when it is first used, so a command that reads one store opens one file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Literal

from lottisync.causality.vector_clock import Host
from lottisync.entities.schema import StoreSchema
from lottisync.problem import Problem
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
        listed = list(schemas)
        self._schemas = {schema.name: schema for schema in listed}
        if len(self._schemas) < len(listed):
            names = ", ".join(schema.name for schema in listed)
            raise ValueError(
                f"each store of a device has its own name; got {names}. Rename one of the two that are equal"
            )
        self._new_host = new_host
        self._detect: Literal["early", "late"] = detect
        self._open: dict[str, Store] = {}

    def missing(self) -> list[StoreSchema]:
        """The listed stores that are not there yet, in their order."""
        return [schema for name, schema in self._schemas.items() if not self._file(name).exists()]

    def create(self, schemas: Iterable[StoreSchema]) -> None:
        """Make the files of these stores, in this order."""
        for schema in schemas:
            name = schema.name
            self._open[name] = Store.create(self._file(name), schema, self._new_host, position=self._position(name))

    def __getitem__(self, name: str) -> Store:
        if name not in self._open and name in self._schemas:
            self._open[name] = self._opened(name)
        return self._open[name] if name in self._schemas else self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._schemas, *self._found])

    def __len__(self) -> int:
        return len(self._schemas) + len(self._found)

    @cached_property
    def _found(self) -> dict[str, Store]:
        """The stores in the folder that are not listed. A file that is not a store, or that holds one of another
        name, is passed over: it is a copy made by hand."""
        found = []
        for file in sorted(self.path.glob("*.sqlite")):
            if file.stem not in self._schemas:
                with _foreign_passed_over():
                    found.append(self._opened(file.stem))
        for store in found:
            self._open[store.file.stem] = store
        named = [store for store in found if store.schema.name == store.file.stem]
        return {store.schema.name: store for store in sorted(named, key=lambda each: (each.position, each.file))}

    def _opened(self, name: str) -> Store:
        listed = name in self._schemas
        return Store.open(
            self._file(name),
            self._schemas[name] if listed else None,
            self._new_host,
            position=self._position(name) if listed else None,
            detect=self._detect,
        )

    def _position(self, name: str) -> int:
        return list(self._schemas).index(name)

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()
        self.__dict__.pop("_found", None)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.sqlite"


@contextmanager
def _foreign_passed_over() -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        if problem.code != "foreign":
            raise
