"""Two devices that know each other, and their daemons: the real command, in processes of its own, on loopback.

They are watched from outside, as any program may: by opening their stores and hearing their bells.
"""

import contextlib
import select
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.peers import remember_address
from lottisync.entities.entity import HIGH
from lottisync.net.address import Address
from lottisync.store.doorbell import Bell
from lottisync.store.reader import Reader
from tools.bench.process import BOUND_SECONDS, Child, running
from tools.bench.record import ident, task

HERE = "127.0.0.1"
IMPORT = 10_000
"""Entities written in one transaction when a store is filled."""

Progress = Callable[[int], None]


class Met(NamedTuple):
    """What it took two daemons to come in step: seconds from the connection on, the peak memory of each (bytes), and
    the time on a core of both together (s)."""

    seconds: float
    peaks: tuple[int, int]
    processor: float


class Pair:
    """Two homes in a folder, each in the other's roster. `a` is filled, `b` gets it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.a, self.b = (self._home(name) for name in "ab")

    def _home(self, name: str) -> TaskHome:
        path = self.folder / name
        if path.exists():
            return TaskHome.open(path)
        return TaskHome.create(path, name)

    @staticmethod
    def made(folder: Path, count: int, progress: Progress = lambda done: None) -> "Pair":
        """With `count` tasks on `a`, and nothing on `b`."""
        folder.mkdir(parents=True)
        pair = Pair(folder)
        for home, other, name in ((pair.a, pair.b, "b"), (pair.b, pair.a, "a")):
            home.members.add(name, other.key.certificate, clock.now())
        fill(pair.a, range(count), progress)
        return pair

    def close(self) -> None:
        self.a.close()
        self.b.close()

    def replace_b(self, name: str) -> None:
        """Let `b` be another device, which holds nothing."""
        self.b.close()
        shutil.rmtree(self.b.path)
        self.b = TaskHome.create(self.folder / "b", name)
        self.a.members.add(name, self.b.key.certificate, clock.now())
        self.b.members.add("a", self.a.key.certificate, clock.now())

    @contextlib.contextmanager
    def daemons(self, via: Callable[[int], int] = lambda port: port) -> Iterator[tuple[Child, Child]]:
        """Both daemons; `b` is told where `a` is. What is read next from `b` is its connection. `via` may put
        something between them: given the port of `a` it says which one `b` is told."""
        with running(_daemon(self.a)) as (first,):
            port = first.event("started")["port"]
            with self.b.space.transaction(clock.now(), HIGH) as tx:
                tx.execute("delete from peers")
            with self.a.space.transaction(clock.now(), HIGH) as tx:
                tx.execute("delete from peers")
            remember_address(self.b.space, self.a.id, Address(HERE, via(port)), clock.now())
            with running(_daemon(self.b)) as (second,):
                yield first, second

    def until_in_step(self, progress: Progress = lambda done: None) -> float:
        """Wait until both know the same of all stores; when that was (monotonic seconds)."""
        with Watch(self.b) as at_b, Watch(self.a) as at_a:

            def arrived() -> bool:
                """The cheap question first: it is asked at every commit, and takes time on a core from both daemons."""
                with self.b.journal.reading() as reader:
                    progress(feed(reader))
                    there = reader.digest()
                with self.a.journal.reading() as reader:
                    same = reader.digest() == there
                return same and states(self.a) == states(self.b)

            # Most of the time one waits for `b`, whose every commit rings.
            while not arrived():
                if not at_b.heard(0.05):
                    at_a.heard(0.0)
            return time.monotonic()

    def meet(self, progress: Progress = lambda done: None) -> Met:
        """Run both daemons until they are in step."""
        with self.daemons() as both:
            both[1].event("connected")
            started, used = time.monotonic(), _processor(both)
            took = self.until_in_step(progress) - started
            return Met(took, (both[0].peak, both[1].peak), _processor(both) - used)


def _processor(children: Iterable[Child]) -> float:
    return sum(child.cpu_seconds for child in children)


def _daemon(home: TaskHome) -> tuple[str, ...]:
    options = ("--listen", f"{HERE}:0", "--no-discovery", "--no-agents", "--json")
    return ("-m", "lottisync", "daemon", "--home", str(home.path), *options)


def fill(home: TaskHome, numbers: range, progress: Progress = lambda done: None) -> None:
    for start in range(numbers.start, numbers.stop, IMPORT):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            some = range(start, min(start + IMPORT, numbers.stop))
            tx.put_all((ident(number), "task", task(number)) for number in some)
        progress(start - numbers.start + IMPORT)


def feed(reader: Reader) -> int:
    """How many changes of rows a store has seen."""
    return int(reader.local("select feed from state")[0][0])


def states(home: TaskHome) -> list[tuple[bytes, dict[str, int]]]:
    """Digest and knowledge of each store: two devices with the same are in step."""
    found: list[tuple[bytes, dict[str, int]]] = []
    for store in home.stores.values():
        with store.reading() as reader:
            found.append((reader.digest(), {str(host): known for host, known in reader.knowledge().items()}))
    return found


class Watch:
    """Hears every commit into a home."""

    def __init__(self, home: TaskHome) -> None:
        self._bell = Bell(home.bells, "bench")

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *of: object) -> None:
        self._bell.close()

    def heard(self, seconds: float) -> bool:
        """Wait for a ring; False if there was none for so long."""
        ready, _, _ = select.select([self._bell], [], [], seconds)
        self._bell.clear()
        return bool(ready)

    def rung(self, condition: Callable[[], bool]) -> float:
        """Wait until a commit has made it so; when its bell rang (monotonic seconds). Nothing is read before that, so
        that the one who waits takes no part in what is measured."""
        bound = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < bound:
            heard, at = self.heard(1.0), time.monotonic()
            if condition():
                return at if heard else time.monotonic()
        raise TimeoutError("what was waited for has not happened")

    def until(self, condition: Callable[[], bool]) -> float:
        """Wait until a commit has made it so; when that was (monotonic seconds)."""
        bound = time.monotonic() + BOUND_SECONDS
        while not condition():
            if time.monotonic() > bound:
                raise TimeoutError("what was waited for has not happened")
            self.heard(1.0)
        return time.monotonic()
