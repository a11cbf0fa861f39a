"""Other programs that keep documents in step, beside ours: loro and pycrdt, if they are installed (`make bench`).

They run in one process and without a network, so they pay for neither; what they send is written to a file
and made durable, as ours is. Each runs in a process of its own, so that its memory can be seen:

    python -m tools.bench.peer loro initial N
    python -m tools.bench.peer loro partition N EDITS CONFLICTS
"""

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from typing import Any, Protocol

import msgspec

from tools.bench.process import Child, memory
from tools.bench.record import ident, task

NAMES = ("loro", "pycrdt")


class Measured(msgspec.Struct):
    seconds: float
    sent: int
    """Bytes that went from one to the other."""
    memory: int
    """Bytes at most, beyond what the process had before."""


class Document(Protocol):
    """A map of maps: id -> field -> value."""

    def put(self, entity: str, fields: dict[str, Any]) -> None: ...
    def get(self, entity: str, field: str) -> Any: ...
    def version(self) -> Any: ...
    def update(self, since: Any = None) -> bytes:
        """All that came after a version."""
        ...

    def merge(self, update: bytes) -> None: ...


class LoroDocument:
    def __init__(self) -> None:
        loro: Any = importlib.import_module("loro")
        self._loro, self._doc = loro, loro.LoroDoc()
        self._root = self._doc.get_map("tasks")

    def put(self, entity: str, fields: dict[str, Any]) -> None:
        there = self._root.get(entity)
        entry = there.container if there is not None else self._root.insert_container(entity, self._loro.LoroMap())
        for field, value in fields.items():
            entry.insert(field, value)

    def get(self, entity: str, field: str) -> Any:
        return self._root.get(entity).container.get(field).value

    def version(self) -> Any:
        self._doc.commit()
        return self._doc.oplog_vv

    def update(self, since: Any = None) -> bytes:
        self._doc.commit()
        mode = self._loro.ExportMode
        return bytes(self._doc.export(mode.Updates(since) if since is not None else mode.Snapshot()))

    def merge(self, update: bytes) -> None:
        self._doc.import_(update)


class YjsDocument:
    def __init__(self) -> None:
        pycrdt: Any = importlib.import_module("pycrdt")
        self._pycrdt, self._doc = pycrdt, pycrdt.Doc()
        self._root = self._doc.get("tasks", type=pycrdt.Map)

    def put(self, entity: str, fields: dict[str, Any]) -> None:
        if entity in self._root:
            entry = self._root[entity]
            for field, value in fields.items():
                entry[field] = value
        else:
            self._root[entity] = self._pycrdt.Map(fields)

    def get(self, entity: str, field: str) -> Any:
        return self._root[entity][field]

    def version(self) -> Any:
        return self._doc.get_state()

    def update(self, since: Any = None) -> bytes:
        return bytes(self._doc.get_update(since) if since is not None else self._doc.get_update())

    def merge(self, update: bytes) -> None:
        self._doc.apply_update(update)


KINDS: dict[str, type[LoroDocument] | type[YjsDocument]] = {"loro": LoroDocument, "pycrdt": YjsDocument}


def installed() -> list[str]:
    return [name for name in NAMES if importlib.util.find_spec(name) is not None]


def measured(name: str, what: str, *numbers: int) -> Measured:
    """Measure a peer in a process of its own."""
    child = Child("-m", "tools.bench.peer", name, what, *map(str, numbers))
    try:
        return msgspec.convert(child.said(), Measured)
    finally:
        child.stop()


# -- in that process


def initial(kind: type[Document], count: int) -> Measured:
    """An empty document gets all of another."""
    before = memory()[0]
    source, target = kind(), kind()
    for number in range(count):
        source.put(ident(number), task(number))
    source.version()
    started = time.perf_counter()
    update = source.update()
    target.merge(update)
    _durably(update)
    took = time.perf_counter() - started
    assert target.get(ident(count - 1), "title") == task(count - 1)["title"]
    return Measured(took, len(update), memory()[1] - before)


def partition(kind: type[Document], count: int, edits: int, conflicts: int) -> Measured:
    """Both sides change `edits` entities without the other, `conflicts` of them the same field of the same one."""
    before = memory()[0]
    one, two = kind(), kind()
    for number in range(count):
        one.put(ident(number), task(number))
    two.merge(one.update())
    common = one.version(), two.version()
    for side, document in enumerate((one, two)):
        for number, fields in edits_of(side, count, edits, conflicts):
            document.put(ident(number), fields)
        document.version()
    started = time.perf_counter()
    updates = one.update(common[0]), two.update(common[1])
    one.merge(updates[1])
    two.merge(updates[0])
    for update in updates:
        _durably(update)
    took = time.perf_counter() - started
    assert [one.get(ident(n), "title") for n in range(conflicts)] == [
        two.get(ident(n), "title") for n in range(conflicts)
    ]
    return Measured(took, sum(map(len, updates)), memory()[1] - before)


def edits_of(side: int, count: int, edits: int, conflicts: int) -> list[tuple[int, dict[str, Any]]]:
    """Entity number and new fields: first those that the other side changes too, then one's own. Each side has its
    own half of the entities, beyond those in conflict."""
    own = range(conflicts + side, count, 2)
    return [(number, {"title": f"title of side {side}"}) for number in range(conflicts)] + [
        (own[edit % len(own)], {"note": f"note {edit} of side {side}"}) for edit in range(edits - conflicts)
    ]


def _durably(update: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(update)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    name, what, *numbers = sys.argv[1:]
    result = {"initial": initial, "partition": partition}[what](KINDS[name], *map(int, numbers))  # type: ignore[operator]
    print(msgspec.json.encode(result).decode(), flush=True)
