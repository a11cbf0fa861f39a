"""A disk of a few megabytes that can be full: a file system in a mount namespace, for as long as somebody is in it."""

import contextlib
import subprocess
from pathlib import Path

CAN_MOUNT = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0
PIECE = 65_536


class SmallDisk:
    """`folder` is where it is for a program that is started with `within`."""

    def __init__(self, folder: Path, size: str) -> None:
        folder.mkdir(parents=True)
        script = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && echo mounted && exec cat'
        self._keeper = subprocess.Popen(
            ["unshare", "-rm", "bash", "-c", script, "bash", size, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == "mounted\n"
        pid = self._keeper.pid
        self.within = ("nsenter", f"--target={pid}", "--user", "--mount", "--preserve-credentials")
        self._ballast = Path(f"/proc/{pid}/root{folder}/ballast")

    def fill(self, left: int = 0) -> None:
        """Something else takes all the room, but for `left` bytes."""
        with contextlib.suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(PIECE))
        if left:
            with self._ballast.open("r+b") as file:
                file.truncate(max(0, self._ballast.stat().st_size - left))

    def clear(self) -> None:
        """There is room again."""
        self._ballast.unlink()

    def close(self) -> None:
        self._keeper.kill()
        self._keeper.communicate()
