"""NATS servers that say what they have counted: messages and bytes, in and out. That does not depend on what else the
machine does."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.nats_server import Server
from tests.support.ports import free_port

from tools.bench.devices import HERE
from tools.bench.process import cpu_seconds, memory


class Counted(NamedTuple):
    """What a server has counted: messages and bytes, to it and from it."""

    messages_in: int
    messages_out: int
    bytes_in: int
    bytes_out: int

    def since(self, before: "Counted") -> "Counted":
        return Counted(*(now - was for now, was in zip(self, before, strict=True)))


class Counting:
    """A server, and what it counts."""

    def __init__(self, folder: Path, more: str = "", storage: str = "") -> None:
        self._monitor = free_port()
        self.server = Server(folder, more=f"http: '{HERE}:{self._monitor}'\n{more}", storage=storage)

    def counted(self) -> Counted:
        found = self._asked("varz")
        return Counted(found["in_msgs"], found["out_msgs"], found["in_bytes"], found["out_bytes"])

    @property
    def stored(self) -> int:
        """Bytes in its streams."""
        return int(self._asked("jsz")["bytes"])

    @property
    def streams(self) -> int:
        """How many streams it has a copy of."""
        return int(self._asked("jsz")["streams"])

    def is_whole(self) -> bool:
        """Whether it has found all its streams again, and somebody leads."""
        try:
            return self._asked("healthz").get("status") == "ok"
        except OSError:
            return False

    def _asked(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://{HERE}:{self._monitor}/{what}") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    @property
    def resident(self) -> int:
        return memory(self.server._process.pid)[0]

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds(self.server._process.pid)


@contextlib.contextmanager
def counting(folder: Path, more: str = "", storage: str = "") -> Iterator[Counting]:
    made = Counting(folder, more, storage)
    try:
        yield made
    finally:
        made.server.stop()
