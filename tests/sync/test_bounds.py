"""How long the event loop may be away: SYNC-43."""

import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import pytest
from tests.support.counted import NOON
from tests.support.engines import engine_of, introduce
from tests.support.event_loop import until
from tests.support.household import household

from lottisync.entities.entity import HIGH
from lottisync.store.store import Store

pytestmark = pytest.mark.anyio
COUNT = 6_000
FRAMES = 6
"""At the least: a batch holds at most a thousand versions."""


class Round(NamedTuple):
    """What a round was like: which threads called a store, and the longest time between two turns of the loop, as a
    share of all. Time is what the processor spent on it, so a machine with much to do changes nothing."""

    callers: set[int]
    absence: float


async def test_sync_43_the_loop_calls_no_store_and_is_never_away_for_longer_than_a_frame_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends of a round of six frames on one loop. It is away for what packing a frame takes; the best of three,
    since the collection of garbage takes time, too."""
    absences = []
    for attempt in range(3):
        done = await a_round(tmp_path / str(attempt), monkeypatch)
        assert done.callers
        assert threading.get_ident() not in done.callers
        absences.append(done.absence)
        if absences[-1] < 1 / FRAMES / 2:
            return
    raise AssertionError(f"the loop was away for {absences} of the time that a round took")


async def a_round(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    a, b = household(folder, 2)
    with a.stores["journal"].transaction(NOON, HIGH) as tx:
        for number in range(COUNT):
            tx.put(f"t{number}", "task", {"title": f"Milk {number}", "notes": "x" * 100})
    written = a.knowledge()
    first, second = engine_of(a), engine_of(b)
    longest, callers = 0.0, set[int]()

    async def watch() -> None:
        nonlocal longest
        last = time.thread_time()
        while True:
            await anyio.lowlevel.checkpoint()
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    async with anyio.create_task_group() as tasks:
        await tasks.start(second.run)
        introduce(a, b, second.port)
        await tasks.start(first.run)
        await until(lambda: first.connections and second.connections)
        with monkeypatch.context() as patched:
            for name in ("reading", "transaction", "snapshot"):
                patched.setattr(Store, name, noting(callers, getattr(Store, name)))
            began = time.process_time()
            tasks.start_soon(watch)
            await until(lambda: first.connections[b.device].status.acknowledged.get("journal") == written, "the round")
            whole = time.process_time() - began
            tasks.cancel_scope.cancel()
    assert b.knowledge() == written
    a.close()
    b.close()
    return Round(callers, longest / whole)


def noting(callers: set[int], method: Any) -> Any:
    """A method that notes which thread calls it."""

    def noted(*given: Any, **named: Any) -> Any:
        callers.add(threading.get_ident())
        return method(*given, **named)

    return noted
