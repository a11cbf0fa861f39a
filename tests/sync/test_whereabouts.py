"""Each address once, with all who say it: MEET-45."""

from lottisync.device.addresses import Reach
from lottisync.net.address import Address
from lottisync.sync.whereabouts import said_of, states

WORKED, HANDED = Address("192.0.2.1", 22067), Address("192.0.2.2", 22067)
LINK = Address("fe80::1", 22067)


def test_meet_301_an_address_that_was_added_by_hand_and_worked_says_both() -> None:
    """Before, it said `worked` alone; and without a daemon it was listed twice."""
    worked = {WORKED: "2026-11-22T12:00:00.000Z", HANDED: ""}
    reach = Reach(addresses=(HANDED, WORKED), given=(WORKED,))
    found = {each.address: each for each in states(said_of(reach, worked), worked)}
    assert found["192.0.2.1:22067"].sources == ["worked", "given", "recorded"]
    assert found["192.0.2.1:22067"].worked_at == "2026-11-22T12:00:00.000Z"
    assert found["192.0.2.2:22067"].sources == ["handed-over", "recorded"]
    assert len(found) == 2


def test_meet_45_a_link_local_address_from_several_sources_is_one() -> None:
    """MEET-301"""
    worked = {LINK.within("eth0"): "2026-11-22T12:00:00.000Z"}
    said = said_of(Reach(addresses=(LINK,), given=(LINK,)), worked, [LINK.within("eth0")], ["eth0"])
    [one] = states(said, worked)
    assert (one.address, one.sources) == ("[fe80::1%eth0]:22067", ["announced", "worked", "given", "recorded"])
