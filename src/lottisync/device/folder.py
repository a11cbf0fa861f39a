"""The stores of one device in a folder, one file each: `cookbook` is in `cookbook.sqlite`.

A program says which stores it knows. The order of that list is the order in which rounds deliver them. The folder may
hold more of them: stores of other programs, which describe themselves (docs/specs/05-store.md, section 18). They come
after those that are listed, in the order that their own program gave them.

A store is opened when it is first used, so a command that reads one store opens one file. A file that is damaged, or
that cannot be used for another reason, is left out, and the reason is kept: the other stores work.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from lottisync.causality.vector_clock import Host
from lottisync.entities.schema import StoreSchema
from lottisync.problem import Problem
from lottisync.store.database import DAMAGED, NO_DESCRIPTOR, NOT_WRITTEN
from lottisync.store.store import Store

SUFFIX = ".sqlite"
LEFT_OUT = (DAMAGED, "foreign", "cannot-open")
"""Codes of a file that stays as it is until somebody does something about it."""
State = tuple[tuple[int, int] | None, ...]
"""Time and size of a file and of its log: whether it is worth another look."""


class StoreFolder(Mapping[str, Store]):
    """Store name -> store, in the order of delivery. One whose file is damaged is not among them; asking for it by its
    name raises the `Problem`."""

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
        self._found: dict[str, Store] | None = None
        self._passed_over: dict[str, State] = {}
        self._unusable: dict[str, Problem] = {}
        self._damaged: dict[str, Problem] = {}

    def missing(self) -> list[StoreSchema]:
        """The listed stores that are not there yet, in their order."""
        return [schema for name, schema in self._schemas.items() if not self._file(name).exists()]

    def create(self, schemas: Iterable[StoreSchema]) -> None:
        """Make the files of these stores, in this order."""
        for schema in schemas:
            name = schema.name
            self._open[name] = Store.create(self._file(name), schema, self._new_host, position=self._position(name))

    def __getitem__(self, name: str) -> Store:
        if name not in self._schemas:
            return self._others[name]
        if name in self._damaged:
            raise self._damaged[name]
        if name not in self._open:
            try:
                self._open[name] = self._opened(name)
            except Problem as problem:
                raise _with_help(problem) from None
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*filter(self._is_sound, self._schemas), *self._others])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _is_sound(self, name: str) -> bool:
        """Whether the file of a listed store can be used. Raises `Problem` for what may be over at the next try, and
        for a store of a later version."""
        if name in self._damaged or name in self._open:
            return name not in self._damaged
        state = self._state(name)  # before it is opened: another program may be making it just now
        try:
            _ = self[name]
        except Problem as problem:
            if problem.code not in LEFT_OUT:
                raise
            self._damaged[name], self._passed_over[name] = problem, state
        return name in self._open

    @property
    def unusable(self) -> Mapping[str, Problem]:
        """Why stores are left out, by the name of the file."""
        _ = len(self)
        return {**self._damaged, **self._unusable}

    @property
    def _others(self) -> Mapping[str, Store]:
        if self._found is None:
            self.look()
        return self._found or {}

    def look(self) -> None:
        """Look for stores that are not listed: those that programs have made since the last look are there from here
        on. A file that is not a store, or that holds one of another name, is passed over: it is a copy made by
        hand. What was left out and has changed is tried again."""
        for name in [*self._damaged]:
            self._look_again(name)
        found = dict(self._found or {})
        with os.scandir(self.path) as entries:
            files = sorted(entry.name for entry in entries if entry.name.endswith(SUFFIX))
        for name in (file.removesuffix(SUFFIX) for file in files):
            if name in self._schemas or name in found:
                continue
            state = self._state(name)
            if self._passed_over.get(name) != state:
                self._passed_over[name] = state
                if (store := self._usable(name)) is not None:
                    found[name] = self._open[name] = store
        if self._found is None or len(found) > len(self._found):
            self._found = dict(sorted(found.items(), key=lambda each: (each[1].position, each[0])))

    def _look_again(self, name: str) -> None:
        """Take in a listed store that was left out, if its file was put right or is made again. It is opened here: to
        ask which stores there are then raises nothing about a file that is being made just now."""
        state = self._state(name)
        if state[0] is None or state == self._passed_over[name]:
            return
        try:
            self._open[name] = self._opened(name)
        except Problem as problem:
            if problem.code in LEFT_OUT:
                self._damaged[name], self._passed_over[name] = _with_help(problem), state
        else:
            del self._damaged[name]

    def _usable(self, name: str) -> Store | None:
        """The store in a file that is not listed, if there is one of this name."""
        self._unusable.pop(name, None)
        try:
            store = self._opened(name)
        except Problem as problem:
            if problem.code != "foreign":
                self._leave_out(name, problem)
            return None
        if store.schema.name == name:
            return store
        store.close()
        return None

    def _leave_out(self, name: str, why: Problem) -> None:
        if why.code in (*NOT_WRITTEN, NO_DESCRIPTOR):
            del self._passed_over[name]  # the file may stay as it is, and work at the next look
        self._unusable[name] = Problem(
            why.code, "{why}. If that file is not a store, move it to another folder", why=why.sentence
        )

    def _state(self, name: str) -> State:
        """The state of a file, with that of its log: a store that was made just now is only in the log."""
        return tuple(_time_and_size(file) for file in (self._file(name), self.path / f"{name}{SUFFIX}-wal"))

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
        self._found = None
        self._passed_over.clear()
        self._unusable.clear()
        self._damaged.clear()

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{SUFFIX}"


def _with_help(problem: Problem) -> Problem:
    """The problem of a listed store, with a hint."""
    if problem.code not in LEFT_OUT or problem.hint:
        return problem
    return Problem(problem.code, problem.template, hint="unusable-file", **problem.arguments)


def _time_and_size(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
