"""The command line, on a disk that fails on demand: `python -m tests.support.failing_disk CONTROL ARGUMENT ...`.

While the file CONTROL is there, each operation on a database whose file name is a line of it answers EIO, as a disk
does that has gone: `journal.sqlite write` is one that still reads. Only this process sees it.
"""

import sys
from pathlib import Path
from typing import Any

import apsw

from lottisync.__main__ import main

REAL = apsw.vfs_names()[0]


class FailingVfs(apsw.VFS):
    """The default file system of this process from here on, or one that is opened by its name."""

    def __init__(self, control: Path, *, name: str = "failing", default: bool = True) -> None:
        self._control = control
        super().__init__(name, REAL, makedefault=default)

    def xOpen(self, name: Any, flags: list[int]) -> "FailingFile":  # noqa: N802
        return FailingFile(self, name, flags)

    def check(self, path: str, operation: str) -> None:
        try:
            failing = self._control.read_text().splitlines()
        except FileNotFoundError:
            return
        database = Path(path).name.removesuffix("-wal")
        if database in failing or f"{database} {operation}" in failing:
            raise apsw.IOError(f"{path}: EIO")


class FailingFile(apsw.VFSFile):
    def __init__(self, vfs: FailingVfs, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(REAL, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.check(self._path, "read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.check(self._path, "write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.check(self._path, "write")
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._vfs.check(self._path, "write")
        super().xTruncate(size)


if __name__ == "__main__":
    FAILING = FailingVfs(Path(sys.argv[1]))  # kept: apsw forgets a file system that nobody holds
    sys.argv[1:] = sys.argv[2:]
    main()
