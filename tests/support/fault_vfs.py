"""A file system that fails on purpose, and one that loses power (docs/specs/05-store.md).

`FaultVfs` passes everything on to the real one and counts the operations that change files. At the
operation it was told to it raises the I/O error it was told to raise, or takes the power away: from then
on every operation fails. It remembers for each file what was synced and what was written since, so
that `crash` can write the images a real disk might hold afterwards: none of the unsynced writes, the
first few of them, or any of them, torn at a sector's edge.
"""

import random
from pathlib import Path
from typing import Any, Literal

import apsw

SECTOR = 512
Fault = Literal["eio", "full", "power"]


class Written:
    """One file: what is surely on the disk, and what was changed since, in order."""

    def __init__(self) -> None:
        self.durable = b""
        self.since: list[tuple[int, bytes] | int] = []

    def image(self, survives: list[bool], tear: random.Random | None) -> bytes:
        """What is on the disk if these of the changes reached it, torn at sectors if there is `tear`."""
        content = bytearray(self.durable)
        for change, kept in zip(self.since, survives, strict=True):
            if not kept:
                continue
            if isinstance(change, int):
                del content[change:]
                continue
            offset, data = change
            if tear is not None and tear.random() < 0.3:
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
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> "FaultFile":  # noqa: N802
        return FaultFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.step()
        self.files.pop(filename, None)
        super().xDelete(filename, syncdir)

    def step(self) -> None:
        """Count one operation; fail if it is the one, or if the power is gone."""
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
            count = len(written.since)
            first = chance.randrange(count + 1)
            survives = {
                "none": [False] * count,
                "prefix": [i < first for i in range(count)],
                "any": [chance.random() < 0.5 for _ in range(count)],
            }[mode]
            if not name.endswith("-shm"):
                (folder / Path(name).name).write_bytes(written.image(survives, chance if mode == "any" else None))


class FaultFile(apsw.VFSFile):
    def __init__(self, vfs: FaultVfs, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)
        if self._path:
            known = vfs.files.setdefault(self._path, Written())
            if not known.durable and not known.since and Path(self._path).exists():
                known.durable = Path(self._path).read_bytes()

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xWrite(data, offset)
        if self._path:
            self._vfs.files[self._path].since.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xTruncate(size)
        if self._path:
            self._vfs.files[self._path].since.append(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.step()
        super().xSync(flags)
        if self._path:
            written = self._vfs.files[self._path]
            written.durable = Path(self._path).read_bytes()
            written.since.clear()
