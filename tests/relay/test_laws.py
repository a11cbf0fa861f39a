"""Laws over random histories at a relay that lies (docs/specs/19-relay.md, section 9)."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.relay_falsehood import FALSEHOODS
from tests.support.relay_world import LIES, World

from lottisync.relay.event import PassedOver, WentBack
from lottisync.relay.header import Kind

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
History = list[tuple[str, tuple[object, ...]]]
Steps = dict[str, st.SearchStrategy[tuple[object, ...]]]
DEVICES = st.integers(0, 2)
STEPS: Steps = {
    "write": st.tuples(DEVICES, st.sampled_from(["journal", "agent"]), st.integers(1, 4)),
    "delete": st.tuples(DEVICES, st.integers(1, 4)),
    "read": st.tuples(DEVICES, st.sampled_from([None, *LIES])),
    "publish": st.tuples(DEVICES, st.sampled_from(["all", "all", "acknowledged", "lost"])),
    "meet": st.tuples(DEVICES, DEVICES),
    "restart": st.tuples(DEVICES),
    "pass_time": st.tuples(),
    "leave": st.tuples(DEVICES),
    "forget": st.tuples(DEVICES, st.integers(1, 4)),
}
REVOCATION: Steps = {"revoke": st.tuples(DEVICES, DEVICES)}
HONEST: Steps = {name: steps for name, steps in STEPS.items() if name != "read"} | {
    "read": st.tuples(DEVICES, st.none()),
}
MALICE: Steps = {
    "babble": st.tuples(DEVICES, st.sampled_from(list(Kind))),
    "bring_back": st.tuples(DEVICES),
    "deceive": st.tuples(DEVICES, st.sampled_from(sorted(FALSEHOODS))),
}
"""What the model of the design leaves out: members that lie, and one that was revoked and is paired again."""
LOSSES: Steps = {name: st.tuples() for name in ("lose", "wipe", "go_back", "expire")}


def histories(steps: Steps) -> st.SearchStrategy[History]:
    one = st.one_of([st.tuples(st.just(name), arguments) for name, arguments in steps.items()])
    return st.lists(one, min_size=5, max_size=30)


def lived(paired: Path, history: History, law: Callable[[World], None]) -> None:
    """Live through a history with three devices, and look whether a law holds then."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "household", paired, 3, 1)
        try:
            for step, arguments in history:
                getattr(world, step)(*arguments)
            law(world)
        finally:
            world.close()


def equal_at_the_end(world: World) -> None:
    world.assert_equal(world.heal())
    world.assert_nothing_lost()


@examples(4, suppress_health_check=SLOW)
@given(history=histories(STEPS))
def test_relay_1_devices_end_equal_whatever_the_relay_has_shown_them(paired: Path, history: History) -> None:
    """RELAY-1, RELAY-13"""
    lived(paired, history, equal_at_the_end)


@examples(4, suppress_health_check=SLOW)
@given(history=histories(STEPS | LOSSES))
def test_relay_18_devices_end_equal_whatever_the_relay_has_lost(paired: Path, history: History) -> None:
    """RELAY-1, RELAY-13, RELAY-18"""
    lived(paired, history, equal_at_the_end)


@examples(3, suppress_health_check=SLOW)
@given(history=histories(STEPS | LOSSES | REVOCATION))
def test_relay_24_the_devices_that_stay_end_equal(paired: Path, history: History) -> None:
    """RELAY-1, RELAY-24, RELAY-25"""
    lived(paired, history, equal_at_the_end)


@examples(4, suppress_health_check=SLOW)
@given(history=histories(STEPS | MALICE | REVOCATION))
def test_relay_2_false_data_and_a_restored_member_break_nothing(paired: Path, history: History) -> None:
    """RELAY-1, RELAY-2, RELAY-24"""
    lived(paired, history, equal_at_the_end)


@examples(3, suppress_health_check=SLOW)
@given(history=histories(STEPS | LOSSES))
def test_relay_20_a_newcomer_gets_everything_and_no_stranger_can_read_any_of_it(paired: Path, history: History) -> None:
    """RELAY-7, RELAY-20"""

    def law(world: World) -> None:
        equal_at_the_end(world)
        world.assert_complete()
        world.assert_unreadable()

    lived(paired, history, law)


@examples(4, suppress_health_check=SLOW)
@given(history=histories(HONEST))
def test_a_relay_that_tells_the_truth_is_never_blamed(paired: Path, history: History) -> None:
    def law(world: World) -> None:
        equal_at_the_end(world)
        for visitor in world.visitors:
            assert not visitor.happened(PassedOver)
            assert not visitor.happened(WentBack)

    lived(paired, history, law)


def test_relay_570_a_device_that_is_revoked_and_paired_again_ends_equal(paired: Path) -> None:
    """RELAY-570: the third learns of the revocation with the keys, ahead of all else."""

    def law(world: World) -> None:
        equal_at_the_end(world)
        world.assert_complete()

    lived(paired, [("revoke", (1, 0)), ("bring_back", (1,))], law)


def test_relay_580_keys_are_read_where_something_else_was_refused(paired: Path) -> None:
    """RELAY-580: a message that is not one of keys was read and is lost; the real one has its name."""
    lived(paired, [("revoke", (0, 1)), ("babble", (0, Kind.KEYS)), ("read", (2, None)), ("lose", ())], equal_at_the_end)


def test_relay_832_what_a_device_said_in_a_lane_that_it_has_left_is_not_its_last_word(paired: Path) -> None:
    """RELAY-832: it found in its lane what it does not know, and went on in another one within the same minute."""
    history: History = [
        ("publish", (2, "all")),
        ("babble", (2, Kind.ENVELOPE)),
        ("write", (2, "journal", 1)),
        ("publish", (2, "acknowledged")),
        ("publish", (2, "all")),
    ]

    def law(world: World) -> None:
        equal_at_the_end(world)
        assert sum(name.channel == "state" for name in world.relay.messages) == len(world.visitors)

    lived(paired, history, law)


def test_relay_900_keys_are_said_again_in_a_new_lane(paired: Path) -> None:
    """RELAY-900: a copy of the device has put other keys under the name of its keys. Who stays hears of a revocation by
    them alone."""
    history: History = [("read", (1, None)), ("revoke", (1, 0)), ("deceive", (1, "keys")), ("publish", (1, "all"))]
    lived(paired, history, equal_at_the_end)


@pytest.mark.deep
@examples(60, suppress_health_check=SLOW)
@given(history=histories(STEPS | LOSSES | REVOCATION | MALICE))
def test_relay_1_many_histories(paired: Path, history: History) -> None:
    """RELAY-1"""

    def law(world: World) -> None:
        equal_at_the_end(world)
        world.assert_complete()
        world.assert_unreadable()

    lived(paired, history, law)
