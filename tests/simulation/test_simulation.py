"""Whole devices under seeded schedules, the schedules that once broke a law, and faults that each law has to catch."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.simulation import schedule as s
from tests.simulation.device import forget_prepared
from tests.simulation.reference import Broken
from tests.simulation.schedule import KINDS, Schedule, generate
from tests.simulation.shrink import shrink, verdict
from tests.simulation.world import World, run, small

from lottisync.causality.vector_clock import Clock
from lottisync.entities import entity
from lottisync.entities.version import Version
from lottisync.store import chain, forgetting, transaction
from lottisync.store.transaction import Transaction
from lottisync.sync import agreement, exchange, incoming, outgoing
from lottisync.sync.agreement import Agreement, Believed

JOURNAL = ("journal",)
A, B, C = 0, 1, 2
SEEDS = 20


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> Iterator[None]:
    yield
    forget_prepared()


def scenario(*steps: s.AnyStep, stores: tuple[str, ...] = JOURNAL, devices: int = 3) -> Schedule:
    return Schedule(devices, stores, steps)


@pytest.mark.parametrize("kind", KINDS)
def test_every_law_holds(kind: str) -> None:
    """SYNC-4, SYNC-5, SYNC-24, SYNC-25, SYNC-27, SYNC-28, COPY-5, FORGET-8, MEND-7: whatever the order of things."""
    for seed in range(SEEDS):
        try:
            run(generate(seed, kind))
        except Exception as error:
            raise AssertionError(f"python -m tests.simulation --kind {kind} --first {seed} --seeds 1") from error


def test_the_same_seed_gives_the_same_run() -> None:
    for kind in ("fork", "three"):
        assert run(generate(1, kind)).trace == run(generate(1, kind)).trace


def test_a_schedule_is_data() -> None:
    made = generate(3, "all")
    assert Schedule.parsed(made.printed()) == made


# -- what once broke a law


def test_a_third_device_brings_a_copys_writes_after_two_have_agreed() -> None:
    """COPY-4: C is restored and writes another first write. A has agreed with B, which has the old one, and then
    hears of the new one from C: to B it must not pass it on as if B had it."""
    run(RESTORED_BEHIND_AN_AGREEMENT)


RESTORED_BEHIND_AN_AGREEMENT = scenario(
    s.Backup(C),
    s.Write(C, 0, ("x",)),
    s.Meet(B, C),
    s.Restore(0, 0),
    s.Connect(A, B),
    s.Connect(C, A),
    s.Deliver(0, 0),
    s.Deliver(0, 1),
    s.Write(C, 0, ("z",)),
    s.Deliver(0, 0),
    s.Flow(1),
    s.Write(A, 0, ("x",), 0),
    s.Flow(0),
)


def test_what_cannot_be_mended_is_not_compared_for_ever(tmp_path: Path) -> None:
    """MEND-3: a row loses its only field. Nobody can read it, nobody has another copy: the two say so, and go on."""
    steps = (s.Write(A, 0), s.Tamper(A, 0, drop=True), s.Connect(A, B), s.Flow(0), s.Write(B, 1), s.Flow(0))
    with small():
        world = World(scenario(*steps), tmp_path)
        for number, step in enumerate(steps):
            world.step(number, step)
        assert world.count["diverged"] >= 1
        assert world.count["Compare"] <= 6
        assert world.devices[A].kept["journal"].found("e1") is not None
        world.close()
