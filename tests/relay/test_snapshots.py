"""Snapshots at a relay (docs/specs/19-relay.md)."""

from pathlib import Path

import pytest
from tests.support import rounds
from tests.support.household import Member, in_step
from tests.support.relay import Relay, Visitor, large, logs, settle

from lottisync.relay import publishing, recording
from lottisync.relay.event import PassedOver
from lottisync.relay.header import Kind, parts_of
from lottisync.relay.recording import PART_BYTES


def test_relay_20_a_device_with_empty_stores_gets_everything(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-20"""
    relay, laptop, phone = two
    large(laptop)
    laptop.visit()
    laptop.member.put("t1", "behind the snapshot")
    laptop.visit()
    phone.read()
    assert phone.member.title("t1") == "behind the snapshot"
    assert phone.member.title("large4") == laptop.member.title("large4")
    assert relay.size < 3 * 5 * PART_BYTES


def test_relay_577_signed_records_of_several_frames_are_judged_together(
    two: tuple[Relay, Visitor, Visitor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-577: which device wrote the records of the first frame is said in a later one."""
    relay, laptop, phone = two
    for module in (recording, publishing):
        monkeypatch.setattr(module, "PART_BYTES", 600)
    for each in (laptop, phone):
        each.member.put(f"t{each.member.number}", "one")
        each.visit()
    assert len(logs(relay, Kind.FRAME)) > 4
    newcomer = Member(tmp_path / "newcomer", 9)
    for one, other in ((laptop.member, newcomer), (newcomer, laptop.member)):
        one.admit(other)
    tablet = Visitor(newcomer, relay)
    rounds.pull(laptop.member, newcomer, newcomer.now, ["space"])
    settle(tablet, laptop, phone)
    assert not [event for event in tablet.happened(PassedOver) if "no known device" in str(event)]
    assert in_step(laptop.member, phone.member, newcomer)


def test_relay_22_a_log_goes_only_where_a_snapshot_covers_it(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-22"""
    relay, laptop, _ = two
    laptop.member.put("t1", "one")
    laptop.visit()
    laptop.member.put("t2", "two")
    laptop.visit()
    assert len(logs(relay)) == 2
    large(laptop)
    laptop.visit()
    assert not logs(relay)
    assert len(logs(relay, Kind.MANIFEST)) == 1


def test_relay_22_a_snapshot_that_lost_a_frame_covers_nothing(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-22"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.visit()
    large(laptop)
    laptop.read()
    laptop.publish()
    del relay.messages[logs(relay, Kind.FRAME)[0]]
    laptop.read()
    before = len(logs(relay))
    laptop.clean()
    assert len(logs(relay)) == before
    settle(laptop, phone)
    assert phone.member.title("large0") == laptop.member.title("large0")


def test_relay_23_of_two_snapshots_of_the_same_one_stays(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-23: both makers clean up by what they saw, and what is left is enough."""
    relay, laptop, phone, tablet = three
    settle(laptop, phone)
    large(laptop)
    rounds.pull(phone.member, laptop.member, phone.member.now)
    for visitor in (laptop, phone):
        visitor.publish(leaving=True)
    assert len(logs(relay, Kind.MANIFEST)) == 2
    for visitor in (laptop, phone):
        visitor.read()
        visitor.member.put(f"behind{visitor.member.number}", "the manifest is not the last message then")
        visitor.publish(leaving=True)
    for visitor in (laptop, phone):
        visitor.read()
    purges = [(visitor, visitor.participant.purges(visitor.member.now)) for visitor in (laptop, phone)]
    for _, several in purges:
        for purge in several:
            relay.delete(*purge)
    tablet.read()
    assert tablet.member.title("large0") == laptop.member.title("large0")


def test_relay_28_the_manifest_comes_after_its_frames(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-28"""
    relay, laptop, _ = two
    large(laptop)
    laptop.publish()
    order = [parts_of(data).header.kind for data in relay.everything]
    assert order.index(Kind.MANIFEST) > max(at for at, kind in enumerate(order) if kind is Kind.FRAME)


def test_relay_28_no_manifest_for_frames_that_were_lost(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-28: the relay has lost a frame by the time when the last one lies there."""
    relay, laptop, phone = two
    large(laptop)
    laptop.publish(most=2)
    del relay.messages[logs(relay, Kind.FRAME)[0]]
    laptop.participant.show(list(relay.messages), laptop.member.now)
    while not (manifests := logs(relay, Kind.MANIFEST)):
        laptop.publish(most=1)
    entry = laptop.participant._board.entries[manifests[0]]
    assert entry.whole(set(relay.messages))
    phone.read()
    assert phone.member.title("large0") == laptop.member.title("large0")


def test_relay_28_a_snapshot_that_was_cut_off_is_cleared_away(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-38"""
    relay, laptop, phone = two
    large(laptop)
    laptop.publish(most=3)
    assert logs(relay, Kind.FRAME)
    assert not logs(relay, Kind.MANIFEST)
    laptop.start()
    settle(laptop, phone)
    assert {name.channel for name in logs(relay, Kind.FRAME)} == {"snap.2"}
    assert phone.member.title("large0") == laptop.member.title("large0")
