"""How long the event loop may be away: SYNC-43."""

import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from tests.support.counted import NOON
from tests.support.engines import engine_of, introduce
from tests.support.household import household, until

from lottisync.entities.entity import HIGH

pytestmark = pytest.mark.anyio
COUNT = 6_000
FRAMES = 6
"""At the least: a batch holds at most a thousand versions."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_sync_43_the_loop_is_never_away_for_longer_than_a_frame_takes(tmp_path: Path) -> None:
    """Both ends of a round of six frames on one loop. Were a store ever waited for, the loop would be away for as long
    as it takes to store a frame, a sixth of the whole; it is away for what packing one takes, and for what Python
    hands to other threads. The best of three, since a machine may be busy with other things."""
    shares = []
    for attempt in range(3):
        shares.append(await longest_absence(tmp_path / str(attempt)))
        if shares[-1] < 1 / FRAMES / 2:
            return
    raise AssertionError(f"the loop was away for {shares} of the time that a round took")


async def longest_absence(folder: Path) -> float:
    """The longest time between two turns of the loop, as a share of the time that the round took."""
    a, b = household(folder, 2)
    with a.stores["journal"].transaction(NOON, HIGH) as tx:
        for number in range(COUNT):
            tx.put(f"t{number}", "task", {"title": f"Milk {number}", "notes": "x" * 100})
    written = a.knowledge()
    first, second = engine_of(a), engine_of(b)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await anyio.lowlevel.checkpoint()
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    async with anyio.create_task_group() as tasks:
        await tasks.start(second.run)
        introduce(a, b, second.port)
        await tasks.start(first.run)
        await until(lambda: first.connections and second.connections)
        began = time.perf_counter()
        tasks.start_soon(watch)
        await until(lambda: first.connections[b.device].status.acknowledged.get("journal") == written, "the round")
        whole = time.perf_counter() - began
        tasks.cancel_scope.cancel()
    assert b.knowledge() == written
    a.close()
    b.close()
    return longest / whole
