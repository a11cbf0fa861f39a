"""Devices that are never up at the same time exchange all they have through a relay."""

from pathlib import Path

from tests.support.household import in_step
from tests.support.relay import visitors


def test_relay_1_two_devices_that_never_meet_end_equal(tmp_path: Path) -> None:
    """RELAY-1"""
    _, (laptop, phone) = visitors(tmp_path)
    laptop.member.put("t1", "Repair the bicycle")
    laptop.visit()
    phone.member.put("t2", "Buy milk")
    phone.visit()
    laptop.visit()
    phone.visit()
    laptop.visit()
    assert phone.member.title("t1") == "Repair the bicycle"
    assert laptop.member.title("t2") == "Buy milk"
    assert in_step(laptop.member, phone.member)
    assert [each.in_step for each in laptop.participant.standing(laptop.member.now)] == [True]
