"""A file system that fails on purpose, and one that loses power (docs/specs/05-store.md).

`FaultVfs` passes everything on to the real one and counts the operations that change files. At a chosen operation it
raises a chosen I/O error, or takes the power away: from then on every operation fails. It remembers for each file
what was synced and what was written since, so that `crash` can write the images a real disk might hold afterwards:
none of the unsynced writes, the first few of them, or any of them, torn at a sector's edge. `crash_unsynced` is for
a disk that has said that it synced, and has not: it kept the order of the writes, and lost the last of them."""

import random
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

SECTOR = 512
Fault = Literal["eio", "full", "power"]


class Change(NamedTuple):
    """One change of a file: the number of the operation, and what was written where, or the new size."""

    operation: int
    done: tuple[int, bytes] | int


class Written:
    """One file: what it held at first, and what was changed since, in order; the first `synced` of the changes are
    said to be on the disk."""

    def __init__(self, first: bytes) -> None:
        self.first = first
        self.changes: list[Change] = []
        self.synced = 0

    def image(self, survives: list[bool], tear: random.Random | None = None) -> bytes:
        """What is on the disk if these of the changes reached it, torn at sectors if there is `tear`."""
        content = bytearray(self.first)
        for number, ((_, change), kept) in enumerate(zip(self.changes, survives, strict=True)):
            if not kept:
                continue
            if isinstance(change, int):
                del content[change:]
                continue
            offset, data = change
            if tear is not None and number >= self.synced and tear.random() < 0.3:
                data = data[: tear.randrange(len(data) // SECTOR + 1) * SECTOR]
            if len(content) < offset:
                content.extend(bytes(offset - len(content)))
            content[offset : offset + len(data)] = data
        return bytes(content)


class FaultVfs(apsw.VFS):
    """Registered under `name` until `unregister`. `at` is the number of the operation that fails, from 1."""

    def __init__(self, name: str, fault: Fault, at: int) -> None:
        self.fault, self.at = fault, at
        self.operations = 0
        self.dead = False
        self.files: dict[str, Written] = {}
        self.syncs: list[tuple[int, str]] = []
        """The number of each operation that synced a file, and the database that this belongs to."""
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> "FaultFile":  # noqa: N802
        return FaultFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.step()
        self.files.pop(filename, None)
        super().xDelete(filename, syncdir)

    def step(self) -> None:
        """Count one operation; fail if it is the chosen one, or if the power is gone."""
        self.operations += 1
        if self.dead:
            raise apsw.IOError("the power is gone")
        if self.operations == self.at:
            if self.fault == "full":
                raise apsw.FullError("planted: the disk is full")
            self.dead = self.fault == "power"
            raise apsw.IOError("planted: an I/O error")

    def crash(self, folder: Path, mode: Literal["none", "prefix", "any"], seed: int) -> None:
        """Write what a disk might hold after the power went: the files under `folder`."""
        chance = random.Random(seed)
        for name, written in self.files.items():
            count = len(written.changes) - written.synced
            first = chance.randrange(count + 1)
            survives = {
                "none": [False] * count,
                "prefix": [i < first for i in range(count)],
                "any": [chance.random() < 0.5 for _ in range(count)],
            }[mode]
            if not name.endswith("-shm"):
                image = written.image([True] * written.synced + survives, chance if mode == "any" else None)
                (folder / Path(name).name).write_bytes(image)

    def crash_unsynced(self, folder: Path, most: int, seed: int, *, together: bool) -> None:
        """Write what a disk might hold that had only said that it synced: of each database (`together`: of all of
        them as one) nothing is there behind one of its last `most` syncs. Goes back to `begin` at the furthest."""
        chance = random.Random(seed)
        databases = sorted({database_of(name) for name in self.files})
        common = self._some_sync(chance, most, databases)
        for database in databases:
            last = common if together else self._some_sync(chance, most, [database])
            for name, written in self.files.items():
                if database_of(name) == database and not name.endswith("-shm"):
                    image = written.image([change.operation <= last for change in written.changes])
                    (folder / Path(name).name).write_bytes(image)

    def _some_sync(self, chance: random.Random, most: int, databases: list[str]) -> int:
        """The operation before which all is kept."""
        points = [0, *(operation for operation, database in self.syncs if database in databases)]
        return chance.choice(points[-most:])

    def begin(self) -> None:
        """What is there now survives a power cut."""
        self.files = {name: Written(Path(name).read_bytes()) for name in self.files if Path(name).exists()}
        self.syncs.clear()


def database_of(name: str) -> str:
    """The database that a file belongs to: itself, or the one of which it is the log."""
    return name.removesuffix("-wal").removesuffix("-shm").removesuffix("-journal")


class FaultFile(apsw.VFSFile):
    def __init__(self, vfs: FaultVfs, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)
        if self._path and self._path not in vfs.files:
            vfs.files[self._path] = Written(Path(self._path).read_bytes() if Path(self._path).exists() else b"")

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xWrite(data, offset)
        if self._path:
            self._vfs.files[self._path].changes.append(Change(self._vfs.operations, (offset, bytes(data))))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xTruncate(size)
        if self._path:
            self._vfs.files[self._path].changes.append(Change(self._vfs.operations, size))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xSync(flags)
        if self._path:
            written = self._vfs.files[self._path]
            written.synced = len(written.changes)
            self._vfs.syncs.append((self._vfs.operations, database_of(self._path)))
