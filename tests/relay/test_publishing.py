"""What a device puts at a relay, and what it does when the relay has lost something (docs/specs/19-relay.md)."""

from pathlib import Path

import pytest
from tests.support import rounds
from tests.support.household import Member, in_step
from tests.support.relay import Relay, Visitor, large, logs, settle

from lottisync.relay.event import PassedOver, WentBack
from lottisync.relay.header import Kind, parts_of
from lottisync.relay.lane import Publication
from lottisync.relay.publishing import OTHERS_SECONDS

MINUTE, DAY = 60_000, 24 * 3_600_000


def test_relay_7_nothing_that_lies_there_can_be_read(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-7"""
    relay, laptop, phone = two
    laptop.member.put("recognisable", "Zephyranthes")
    settle(laptop, phone)
    with laptop.member.space.reading() as reader:
        host = reader.host
    everything = b"".join(relay.everything)
    for secret in (b"Zephyranthes", b"recognisable", b"device 1", host.encode(), bytes.fromhex(laptop.member.id)):
        assert secret not in everything


def test_relay_5_a_salt_is_drawn_for_every_message(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-5"""
    relay, laptop, phone = two
    large(laptop)
    settle(laptop, phone)
    salts = [parts_of(data).header.salt for data in relay.everything]
    assert len({*salts}) == len(salts) > 5


def test_relay_16_the_same_bytes_are_sent_until_they_are_acknowledged(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-16, RELAY-34"""
    _, laptop, _ = two
    laptop.member.put("t1", "one")
    laptop.read()
    first = _next_of_log(laptop)
    laptop.start()
    laptop.read()
    laptop.member.put("t2", "two")
    assert _next_of_log(laptop) == first
    laptop.participant.acknowledged(first.name, laptop.member.now)
    laptop.relay.put(*first)
    laptop.read()
    assert _next_of_log(laptop).name.number == first.name.number + 1


def test_relay_17_a_relay_that_goes_back_is_noticed(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-17: found by a device that has seen more, and by one that has read what another device had seen."""
    relay, laptop, phone, tablet = three
    settle(laptop, phone)
    laptop.member.put("t1", "one")
    laptop.visit()
    settle(phone, times=1)
    lane = laptop.participant.publishing.lane.id
    hidden = {n: d for n, d in relay.messages.items() if n.lane != lane or n.channel != "log"}
    for visitor in (phone, tablet):
        visitor.read(hidden)
        visitor.participant.publish(visitor.member.now)
        visitor.events += visitor.participant.events()
        assert visitor.happened(WentBack)


def test_relay_17_also_if_only_the_own_lane_lost_something(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-17"""
    relay, laptop, _ = two
    for number in range(2):
        laptop.member.put(f"t{number}", "one")
        laptop.visit()
    del relay.messages[max(logs(relay))]
    laptop.start()
    laptop.visit()
    assert [(e.shown, e.known) for e in laptop.happened(WentBack) if isinstance(e, WentBack)] == [(1, 2)]


def test_relay_17_also_after_a_new_start(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-17"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    settle(laptop, phone)
    phone.start()
    phone.read({name: data for name, data in relay.messages.items() if name.channel != "log"})
    assert phone.happened(WentBack)


def test_relay_897_it_is_said_once_whatever_is_started_again(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-897: and again if it lacks more then."""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    settle(laptop, phone)
    laptop.member.put("t2", "two")
    settle(laptop, phone)
    own = sorted(name for name in logs(relay) if name.lane == laptop.participant.publishing.lane.id)
    for hidden, said in (own[-1:], 1), (own[-1:], 0), (own, 1), (own, 0):
        phone.start()
        phone.events.clear()
        phone.read({name: data for name, data in relay.messages.items() if name not in hidden})
        phone.participant.publish(phone.member.now)
        assert len(phone.happened(WentBack)) == said


def test_relay_898_a_space_of_its_own_after_the_relay_was_switched_off_and_on(
    two: tuple[Relay, Visitor, Visitor],
) -> None:
    """RELAY-898: what was made for the old one and not acknowledged is not said in the new one."""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    settle(laptop, phone)
    laptop.member.put("t2", "two")
    laptop.read()
    _next_of_log(laptop)
    relay.messages.clear()
    for each in (laptop, phone):
        each.events.clear()
        each.start(bytes(16))
    settle(laptop, phone)
    assert phone.member.title("t2") == "two"
    assert not [each.events for each in (laptop, phone) if each.happened(WentBack) or each.happened(PassedOver)]


@pytest.mark.parametrize("restarted", [False, True])
def test_relay_18_what_the_relay_has_lost_is_published_again(
    two: tuple[Relay, Visitor, Visitor], restarted: bool
) -> None:
    """RELAY-18: the base is what lies there now, whatever this device has put there before."""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.visit()
    relay.messages.clear()
    if restarted:
        laptop.start()
    settle(laptop, phone)
    assert phone.member.title("t1") == "one"


def test_relay_18_what_came_over_a_connection_is_not_a_base(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-18"""
    _relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    laptop.member.put("t1", "one")
    rounds.pull(phone.member, laptop.member, phone.member.now)
    phone.member.put("t2", "two")
    phone.visit()
    tablet.visit()
    assert tablet.member.title("t1") == "one"
    assert tablet.member.title("t2") == "two"


def test_relay_833_a_relay_that_shows_an_older_state_gets_the_last_one_again(
    two: tuple[Relay, Visitor, Visitor],
) -> None:
    """RELAY-833: it has lost nothing else, so there is nothing else to say."""
    relay, laptop, phone = two
    settle(phone, laptop)
    older = dict(relay.messages)
    phone.member.put("t1", "one")
    rounds.pull(laptop.member, phone.member, laptop.member.now)
    laptop.member.now += MINUTE
    laptop.visit(leaving=False)
    assert relay.messages.keys() - older.keys()
    relay.messages = older
    settle(phone, laptop, phone, times=1)
    [of_laptop] = phone.participant.standing(phone.member.now)
    assert of_laptop.in_step


def test_relay_19_a_relay_that_is_behind_gets_all_of_it(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-19: what was forgotten here since is in no message there."""
    relay, laptop, _ = two
    laptop.member.put("gone", "x")
    laptop.visit()
    laptop.member.delete("gone")
    laptop.member.now += 60 * DAY
    laptop.member.purge()
    laptop.visit()
    entries = laptop.participant._board.entries
    assert entries[max(logs(relay))].extents["journal"].whole


def test_relay_29_what_a_round_left_that_was_cut_off_is_published(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-29"""
    relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    large(laptop)
    laptop.publish()
    frames = logs(relay, Kind.FRAME)
    phone.participant.show(list(relay.messages), phone.member.now)
    while (name := phone.participant.wanted()) != max(frames):
        assert name is not None
        phone.participant.receive(name, relay.messages[name], phone.member.now)
    lane = laptop.participant.publishing.lane.id
    relay.messages = {name: data for name, data in relay.messages.items() if name.lane != lane}
    settle(phone, tablet)
    assert tablet.member.title("large0") == phone.member.title("large0") != None  # noqa: E711


def test_relay_31_what_others_wrote_is_left_to_them_for_a_while(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-31"""
    relay, laptop, phone = two
    settle(laptop, phone)
    laptop.member.put("t1", "one")
    rounds.pull(phone.member, laptop.member, phone.member.now)
    before = len(logs(relay))
    phone.visit(leaving=False)
    assert len(logs(relay)) == before
    phone.member.now += 3 * OTHERS_SECONDS * 1_000
    phone.visit(leaving=False)
    assert len(logs(relay)) == before + 1


def test_relay_21_a_restored_device_goes_on_in_a_new_lane(two: tuple[Relay, Visitor, Visitor], tmp_path: Path) -> None:
    """RELAY-21"""
    relay, laptop, phone = two
    laptop.visit()
    backup = laptop.member.copied(tmp_path / "backup")
    laptop = Visitor(laptop.member.restarted(), relay, 1)
    laptop.member.put("t1", "one")
    laptop.visit()
    restored = Visitor(backup, relay, 2)
    restored.visit()
    assert restored.participant.publishing.lane.id != laptop.participant.publishing.lane.id
    assert backup.title("t1") == "one"
    backup.put("t2", "after it was restored")
    settle(restored, phone)
    assert in_step(backup, phone.member)
    assert len(phone.member.knowledge()) == 2, "the restored device writes under a new host"


def test_relay_21_also_if_the_restored_device_had_only_said_how_it_stands(
    two: tuple[Relay, Visitor, Visitor], tmp_path: Path
) -> None:
    """RELAY-21"""
    relay, laptop, phone = two
    settle(laptop, phone)
    before = {name.lane for name in relay.messages}
    laptop.participant.close()
    backup = Visitor(laptop.member.copied(tmp_path / "backup"), relay, 5)
    laptop.member = Member(tmp_path / "device-1", 1)
    laptop.member.now = phone.member.now
    laptop.start()
    phone.member.put("t1", "one")
    settle(phone, laptop)
    assert {name.lane for name in relay.messages} == before
    backup.member.now = laptop.member.now
    settle(backup, phone)
    assert len({name.lane for name in relay.messages}) == len(before) + 1
    [of_laptop] = phone.participant.standing(phone.member.now)
    assert of_laptop.in_step


def _next_of_log(visitor: Visitor) -> Publication:
    """The next message for the log; what comes before it is put there."""
    while True:
        publication = visitor.participant.publish(visitor.member.now)
        assert publication is not None
        if publication.name.channel == "log":
            return publication
        visitor.relay.put(*publication)
        visitor.participant.acknowledged(publication.name, visitor.member.now)
