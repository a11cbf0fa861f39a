"""Devices at a relay that lies, under seeded schedules; and that a fault in them is found, and made short."""

from collections.abc import Iterator

import pytest
from tests.simulation import pool, relayed
from tests.simulation.shrink import shrink, verdict

from lottisync.relay.board import Board

SEEDS = 8


@pytest.fixture(scope="module", autouse=True)
def _pool() -> Iterator[None]:
    relayed.paired.cache_clear()
    yield
    relayed.paired.cache_clear()
    pool.forget()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_relay_1_devices_end_equal_under_any_schedule(seed: int) -> None:
    """RELAY-1, RELAY-7, RELAY-20, RELAY-24"""
    relayed.run(relayed.generate(seed))


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = (relayed.run(relayed.generate(3)).relay.everything for _ in range(2))
    assert [len(data) for data in one] == [len(data) for data in other]


def test_a_base_that_does_not_go_back_with_the_relay_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    show = Board.show
    monkeypatch.setattr(Board, "show", lambda board, names: show(board, {*names, *board.present}))
    made = next(made for made in map(relayed.generate, range(200)) if verdict(made, relayed.run))
    short = shrink(made, relayed.run, 60)
    assert len(short.steps) <= len(made.steps)
    assert verdict(short, relayed.run)
