"""Devices at a relay that lies, under seeded schedules; and that a fault in them is found, and made short."""

from collections.abc import Iterator

import pytest
from tests.simulation import pool, relayed
from tests.simulation.shrink import shrink, verdict
from tests.support.relay_falsehood import FALSEHOODS
from tests.support.relay_world import LIES

from lottisync.relay.board import Board
from lottisync.relay.header import Kind

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


def test_every_lie_and_everything_that_may_happen_is_among_the_schedules() -> None:
    steps = [step for seed in range(300) for step in relayed.generate(seed).steps]
    assert {step.name for step in steps} == {*relayed.WEIGHTS}
    assert {step.arguments[1] for step in steps if step.name == "read"} == {None, *LIES}
    assert {step.arguments[1] for step in steps if step.name == "deceive"} == {*FALSEHOODS}
    assert {step.arguments[1] for step in steps if step.name == "babble"} == {kind.name for kind in Kind}


def test_the_same_seed_gives_the_same_run() -> None:
    one, other = (relayed.run(relayed.generate(3)).relay.everything for _ in range(2))
    assert [len(data) for data in one] == [len(data) for data in other]


def test_relay_904_what_was_said_under_fewer_fork_nodes_goes_for_a_later_snapshot() -> None:
    """RELAY-904: who was revoked comes back with files of before that. The others find its copy, and cannot get rid of
    what they have sealed under the old epoch, so that they publish one snapshot after the other."""
    steps = ("back_up", (2,)), ("revoke", (1, 2)), ("bring_back", (1,)), ("restore", (2,))
    happenings = tuple(relayed.Happening(name, arguments) for name, arguments in steps)
    relayed.run(relayed.RelaySchedule(2620, happenings, newcomer=False, small=True, retired=True))


@pytest.mark.deep
def test_a_base_that_does_not_go_back_with_the_relay_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    show = Board.show
    monkeypatch.setattr(Board, "show", lambda board, names: show(board, {*names, *board.present}))
    made = next(made for made in map(relayed.generate, range(48, 200)) if verdict(made, relayed.run))
    short = shrink(made, relayed.run, 20)
    assert len(short.steps) < len(made.steps)
    assert verdict(short, relayed.run)
