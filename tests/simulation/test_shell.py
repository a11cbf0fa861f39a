"""Connections with their tasks and timers, on cables that are cut anywhere, under a clock of trio's."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.simulation.shell import forget_prepared, run
from tests.support.household import Cable, household
from trio.testing import MockClock

SEEDS = int(os.environ.get("SEEDS", "500"))
FIRST = int(os.environ.get("SEED", "1000"))


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> Iterator[None]:
    yield
    forget_prepared()


def test_devices_are_in_step_whatever_is_cut() -> None:
    """SYNC-4, SYNC-24, SYNC-28, SYNC-32: and no connection says anything worse than goodbye."""
    for seed in range(6):
        run(seed)


@pytest.mark.deep
def test_devices_are_in_step_whatever_is_cut_many_times() -> None:
    """SYNC-4, SYNC-24, SYNC-28, SYNC-32."""
    for seed in range(FIRST, FIRST + SEEDS):
        run(seed)


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert run(7) == run(7)


@pytest.mark.parametrize("steps", range(6))
def test_a_connection_that_is_cancelled_while_it_starts_ends(tmp_path: Path, steps: int) -> None:
    """SYNC-32: its writer is shielded, and must not be left behind by the task that was to let it go."""

    async def start_and_stop() -> None:
        cable = Cable()
        connection = a.connection(cable.ends[0], b, dialled=True)

        async def watch() -> None:
            """A minute later: a writer that was left behind would wait for ever, so it is let go here."""
            with anyio.CancelScope(shield=True):
                await anyio.sleep(60)
            left.append(not connection._sender.leaving)
            connection._sender.leave()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            tasks.start_soon(connection.run)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        for end in cable.ends:
            await end.aclose()

    left: list[bool] = []
    a, b = household(tmp_path)
    try:
        anyio.run(start_and_stop, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})
    finally:
        a.close()
        b.close()
    assert left == [False]
