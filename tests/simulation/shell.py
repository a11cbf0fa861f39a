"""The asynchronous shell: real connections under trio's virtual clock, on cables that are cut anywhere.

An exchange is simulated step by step in `tests.simulation.world`; here it is the tasks around it, with their
timers: heartbeats, gossip, credit, the farewell. Trio runs ready tasks in an order of chance, which is
seeded, too, and an hour passes in no time. Store calls run where they stand, since a clock that jumps would
let deadlines pass while a thread works.
"""

import hashlib
import random
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import anyio
import trio
from anyio.abc import TaskGroup
from tests.simulation.pool import memory
from tests.simulation.reference import Broken
from tests.support.household import Cable, Member, household, in_step
from trio.testing import MockClock

from lottisync.device.membership import bind_hosts
from lottisync.sync.connection import Connection

MEMBERS = 3
STEPS = 30
PATIENCE_SECONDS = 120
"""Of virtual time, until devices whose cables hold are in step."""
DETERMINISTIC = "_ALLOW_DETERMINISTIC_SCHEDULING"
"""Trio's own switch for what Hypothesis does with it: ready tasks run in an order that a seed gives."""
HARMLESS = {"diverged"}
"""Reports that a connection may make although nothing is wrong: none but this, and only for a moment."""


@cache
def _prepared() -> Path:
    folder = Path(mkdtemp(prefix="lottisync-household-", dir=memory()))
    for member in household(folder, MEMBERS):
        member.close()
    return folder


def forget_prepared() -> None:
    if _prepared.cache_info().currsize:
        shutil.rmtree(_prepared(), ignore_errors=True)
        _prepared.cache_clear()


class Shell:
    """Three devices and the cables between them, from one seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(f"shell/{seed}")
        shutil.copytree(_prepared(), folder, dirs_exist_ok=True)
        self.members = [Member(folder / f"device-{number}", number) for number in range(1, MEMBERS + 1)]
        for member in self.members:  # each file is a copy, and gets a host of its own
            bind_hosts(member.stores, member.key, member.now)
        self.written: dict[str, tuple[str, str]] = {}
        self.cables: dict[tuple[int, int], Cable] = {}
        self.all_cables: list[Cable] = []

    async def run(self) -> str:
        """What crossed all cables, in one hash."""
        async with anyio.create_task_group() as tasks:
            for _ in range(STEPS):
                await self._step(tasks)
            for cable in self.cables.values():
                cable.cut()
            await anyio.sleep(60)
            for pair in ((0, 1), (1, 2), (0, 2)):
                self._connect(tasks, pair, None)
            with anyio.move_on_after(PATIENCE_SECONDS):
                while not in_step(*self.members):  # noqa: ASYNC110 - a condition has no event
                    await anyio.sleep(1)
            self._judge()
            tasks.cancel_scope.cancel()
        crossed = hashlib.sha256()
        for cable in self.all_cables:
            crossed.update(cable.crossed[0] + b"/" + cable.crossed[1])
        return crossed.hexdigest()

    async def _step(self, tasks: TaskGroup) -> None:
        match self.chance.choice(("write", "write", "write", "connect", "connect", "cut", "wait")):
            case "write":
                self._write(self.chance.choice(self.members))
            case "connect":
                pair = self.chance.choice(((0, 1), (1, 2), (0, 2)))
                self._connect(tasks, pair, self.chance.choice((None, self.chance.randrange(6_000))))
            case "cut":
                if self.cables:
                    self.cables[self.chance.choice(sorted(self.cables))].cut()
            case _:
                await anyio.sleep(self.chance.choice((0.01, 1, 20, 130)))
        for _ in range(self.chance.randrange(30)):
            await anyio.lowlevel.checkpoint()

    def _write(self, member: Member) -> None:
        number = len(self.written)
        store, kind = self.chance.choice((("journal", "task"), ("agent", "changeDecision"), ("space", "setting")))
        entity = f"{member.number}-{number}"
        self.written[entity] = (store, f"w{number}")
        member.put(entity, f"w{number}" + "." * self.chance.choice((0, 0, 2_000)), store=store, kind=kind)

    def _connect(self, tasks: TaskGroup, pair: tuple[int, int], abort_after: int | None) -> None:
        """A new connection; the older one between the same two gives way."""
        if pair in self.cables:
            self.cables[pair].cut()
        a, b = (self.members[number] for number in pair)
        cable = self.cables[pair] = Cable(abort_after)
        self.all_cables.append(cable)
        for end, member, peer in ((0, a, b), (1, b, a)):
            connection = member.connection(cable.ends[end], peer, dialled=end == 0)
            member.changed = lambda member=member: _tell(member)  # type: ignore[misc]
            tasks.start_soon(self._runs, member, connection)

    async def _runs(self, member: Member, connection: Connection) -> None:
        await connection.run()
        member.connections.remove(connection)

    def _judge(self) -> None:
        if not in_step(*self.members):
            raise Broken("converged", f"devices are not in step after {PATIENCE_SECONDS} s")
        for member in self.members:
            for entity, (store, title) in self.written.items():
                if not str(member.title(entity, store=store)).startswith(title):
                    raise Broken("lost", f"{entity} on device {member.number}")
            wrong = [text for code, text in member.reports if code not in HARMLESS]
            if wrong:
                raise Broken("refused", f"device {member.number}: {wrong}")

    def close(self) -> None:
        for member in self.members:
            member.close()


def _tell(member: Member) -> None:
    for connection in member.connections:
        connection.local_change()


def run(seed: int) -> str:
    """One seed from beginning to end: what crossed the cables, in one hash. Raises `Broken`."""
    scheduler = trio._core._run
    before = getattr(scheduler, DETERMINISTIC)
    setattr(scheduler, DETERMINISTIC, True)
    scheduler._r.seed(seed)
    folder = Path(mkdtemp(prefix="lottisync-shell-", dir=memory()))
    shell = Shell(seed, folder)
    try:
        clock = MockClock(autojump_threshold=0)
        return anyio.run(shell.run, backend="trio", backend_options={"clock": clock})
    finally:
        setattr(scheduler, DETERMINISTIC, before)
        shell.close()
        shutil.rmtree(folder)
