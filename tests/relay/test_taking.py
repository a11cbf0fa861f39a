"""What is taken from a relay into the stores (docs/specs/19-relay.md)."""

from contextlib import closing

import pytest
from tests.support import rounds
from tests.support.household import in_step
from tests.support.relay import Relay, Visitor, introduce, large, logs, settle

from lottisync.entities.entity import HIGH
from lottisync.protocol.message import Batch
from lottisync.relay.event import PassedOver, Split
from lottisync.relay.header import Kind
from lottisync.relay.recording import Recording
from lottisync.relay.taking import take_whole
from lottisync.store import fork
from lottisync.sync.incoming import Outdated

DAY = 24 * 3_600_000


def test_relay_13_knowledge_comes_with_the_last_frame(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-13"""
    relay, laptop, phone = two
    large(laptop)
    laptop.visit()
    frames = logs(relay, Kind.FRAME)
    assert len(frames) > 1
    shown = dict(relay.messages)
    phone.participant.show(list(shown), phone.member.now)
    while (name := phone.participant.wanted()) != max(frames):
        assert name is not None
        phone.participant.receive(name, shown[name], phone.member.now)
    assert phone.member.title("large0") is not None
    assert not phone.member.knowledge()
    phone.participant.receive(max(frames), shown[max(frames)], phone.member.now)
    assert phone.member.knowledge() == laptop.member.knowledge()


def test_relay_13_a_segment_that_was_cut_short_is_not_taken(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-13: what a member has sealed may be wrong, too."""
    _, laptop, phone = two
    for number in range(3):
        laptop.member.put(f"t{number}", "one")
    snapshot = laptop.member.stores["journal"].snapshot()
    recording = Recording("journal", snapshot, {})
    *chains, batch = recording.parts()
    assert isinstance(batch, Batch)
    short = Batch(batch.round, batch.number, batch.versions[:2])
    introduce(laptop.member, phone.member)
    strangers = phone.member.strangers()
    with pytest.raises(Outdated), phone.member.stores["journal"].transaction(phone.member.now, None) as tx:
        take_whole(recording.extent(), [*chains, short], tx, strangers)
    snapshot.close()
    assert not phone.member.knowledge()


def test_relay_15_chains_alone_are_not_a_base(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-15: a snapshot that was cut off has left the chains here, and not all versions."""
    relay, laptop, phone = two
    large(laptop)
    laptop.visit()
    laptop.member.put("t1", "behind the snapshot")
    laptop.visit()
    frames = logs(relay, Kind.FRAME)
    phone.participant.show(list(relay.messages), phone.member.now)
    while (name := phone.participant.wanted()) != max(frames):
        assert name is not None
        phone.participant.receive(name, relay.messages[name], phone.member.now)
    phone.read({name: data for name, data in relay.messages.items() if name not in frames})
    assert not phone.member.knowledge()


def test_relay_13_a_snapshot_without_a_frame_is_not_begun(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-13"""
    relay, laptop, phone = two
    large(laptop)
    laptop.visit()
    del relay.messages[logs(relay, Kind.FRAME)[1]]
    phone.read()
    assert phone.member.title("large0") is None


def test_relay_14_a_later_store_waits_for_what_it_was_read_with(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-14: a decision never comes before its effect."""
    relay, laptop, phone = two
    settle(laptop, phone)
    laptop.member.put("effect", "done")
    laptop.publish()
    effect = max(logs(relay))
    laptop.member.put("decision", "confirmed", store="agent", kind="agentMessage")
    laptop.publish()
    phone.read({name: data for name, data in relay.messages.items() if name != effect})
    assert phone.member.title("decision", store="agent") is None
    phone.read()
    assert phone.member.title("decision", store="agent") == "confirmed"
    assert phone.member.title("effect") == "done"


def test_relay_15_a_segment_is_taken_by_a_device_that_has_its_base(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-15"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.publish()
    first = max(logs(relay))
    laptop.member.put("t2", "two")
    laptop.publish()
    phone.read({name: data for name, data in relay.messages.items() if name != first})
    assert phone.member.title("t2") is None
    assert phone.participant._receiving.lacking
    phone.read()
    assert phone.member.title("t2") == "two"


def test_relay_15_another_hosts_loss_holds_up_nothing(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-15, RELAY-33"""
    relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    laptop.member.put("t1", "one")
    laptop.publish()
    lost = max(logs(relay), key=lambda name: list(relay.messages).index(name))
    phone.read()
    phone.member.put("t2", "two")
    phone.publish()
    tablet.read({name: data for name, data in relay.messages.items() if name != lost})
    assert tablet.member.title("t1") is None
    assert tablet.member.title("t2") == "two"


def test_relay_26_a_device_that_was_away_for_long_forgets_too(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-26, RELAY-36"""
    relay, laptop, phone = two
    laptop.member.put("gone", "to be deleted")
    laptop.member.put("kept", "stays")
    settle(laptop, phone)
    laptop.member.delete("gone")
    phone.member.put("mine", "written while away")
    laptop.member.now += 60 * DAY
    laptop.member.purge()
    relay.messages.clear()
    settle(laptop, phone)
    assert in_step(laptop.member, phone.member)
    assert phone.member.title("gone") is None
    assert laptop.member.title("mine") == "written while away"
    assert laptop.member.title("kept") == "stays"


@pytest.mark.parametrize("over", ["a connection", "the relay"])
def test_relay_36_an_edit_of_what_was_forgotten_meanwhile_is_not_lost(
    two: tuple[Relay, Visitor, Visitor], over: str
) -> None:
    """RELAY-36, FORGET-300: an edit that the deletion had not seen brings the entity back, on both ways alike."""
    _, laptop, phone = two
    laptop.member.put("gone", "to be deleted")
    laptop.member.put("kept", "stays")
    settle(laptop, phone)
    laptop.member.delete("gone")
    phone.member.put("gone", "edited while away")
    laptop.member.now += 60 * DAY
    phone.member.now += 60 * DAY
    laptop.member.purge()
    if over == "a connection":
        for _ in range(2):
            rounds.pull(phone.member, laptop.member, phone.member.now)
            rounds.pull(laptop.member, phone.member, phone.member.now)
    else:
        settle(laptop, phone, times=4)
    assert in_step(laptop.member, phone.member)
    assert laptop.member.title("gone") == phone.member.title("gone") == "edited while away"
    assert laptop.member.title("kept") == "stays"


def test_relay_36_an_edit_of_what_was_forgotten_meets_a_device_that_has_the_deletion_still(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-36: joined as it is, the edit had seen less than the deletion where that is forgotten, and not where it
    is still held: two that know the same would hold something else."""
    relay, laptop, phone, tablet = three
    laptop.member.put("gone", "to be deleted")
    settle(laptop, phone, tablet)
    earlier = dict(relay.messages)
    laptop.member.delete("gone")
    settle(laptop, tablet)
    laptop.member.now += 60 * DAY
    laptop.member.purge()
    phone.member.put("gone", "edited while away")
    phone.read(earlier)
    phone.publish()
    settle(laptop, tablet)
    assert len({each.member.state()["journal"][0] for each in (laptop, tablet)}) == 1
    settle(phone, laptop, tablet)
    assert in_step(laptop.member, phone.member, tablet.member)
    assert tablet.member.title("gone") == "edited while away"


def test_relay_26_a_tail_waits_for_what_its_sender_has_forgotten(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-26: the tail of the tablet stands on nothing that the laptop wrote, and the phone has not seen what the
    two have forgotten: the relay withholds it."""
    relay, laptop, phone, tablet = three
    laptop.member.put("gone", "to be deleted")
    tablet.member.put("kept", "as it was")
    settle(laptop, tablet, phone)
    before = set(logs(relay))
    laptop.member.delete("gone")
    settle(laptop, tablet)
    withheld = set(logs(relay)) - before
    for each in (laptop, tablet):
        each.member.now += 60 * DAY
        each.member.purge()
    tablet.member.put("kept", "behind it")
    tablet.visit()
    phone.member.now = tablet.member.now
    phone.read({name: data for name, data in relay.messages.items() if name not in withheld})
    assert phone.member.title("kept") == "as it was"
    assert not phone.happened(PassedOver)
    settle(phone, laptop, tablet)
    assert phone.member.title("kept") == "behind it"
    assert len({each.member.state()["journal"][0] for each in (laptop, phone, tablet)}) == 1


def test_relay_830_what_was_published_before_the_forgetting_was_heard_of_is_not_lost(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-830, RELAY-36: an edit of what is forgotten, and a task of its own; the third has read neither."""
    _, laptop, phone, tablet = three
    laptop.member.put("gone", "to be deleted")
    laptop.member.put("kept", "stays")
    settle(laptop, phone)
    with laptop.member.stores["journal"].transaction(laptop.member.now, HIGH) as tx:
        tx.delete("gone")
    laptop.member.now += 60 * DAY
    laptop.member.purge()
    phone.member.put("gone", "edited while away")
    phone.member.put("new", "written while away")
    settle(phone, laptop, tablet)
    assert in_step(laptop.member, phone.member, tablet.member)
    titles = [tablet.member.title(name) for name in ("gone", "kept", "new")]
    assert titles == ["edited while away", "stays", "written while away"]
    stands = laptop.participant.standing(laptop.member.now)
    assert all(each.in_step for each in stands)


def test_forget_831_what_was_seen_and_forgotten_here_does_not_come_back(two: tuple[Relay, Visitor, Visitor]) -> None:
    """FORGET-831: each has forgotten what the other has not, and what each publishes then is of everything."""
    _, laptop, phone = two
    for name in ("one", "other"):
        laptop.member.put(name, "to be deleted")
    settle(laptop, phone)
    for each, name in ((laptop, "one"), (phone, "other")):
        each.member.now += 60 * DAY
        with each.member.stores["journal"].transaction(each.member.now, HIGH) as tx:
            tx.delete(name)
        each.member.now += 60 * DAY
        each.member.purge()
    settle(phone, laptop)
    assert in_step(laptop.member, phone.member)
    assert [phone.member.title(name) for name in ("one", "other")] == [None, None]


def test_relay_27_a_copy_is_found_through_the_relay_and_nothing_is_lost(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-27, RELAY-37, RELAY-39"""
    relay, laptop, phone = two
    settle(laptop, phone)
    laptop.member.put("t0", "before")
    settle(laptop, phone)
    copy = Visitor(laptop.member.copied(laptop.member.folder.parent / "copy"), relay, 5)
    (copy.member.folder / "hosts").write_text("100")  # hosts are random elsewhere
    laptop = Visitor(laptop.member.restarted(), relay, 1)
    laptop.member.put("t1", "of the laptop")
    laptop.publish()
    copy.member.put("t2", "of its copy")
    settle(copy, phone, laptop, times=5)
    assert in_step(laptop.member, phone.member, copy.member)
    assert phone.member.title("t1") == "of the laptop"
    assert phone.member.title("t2") == "of its copy"
    assert any(visitor.happened(Split) for visitor in (laptop, phone, copy))


def test_relay_15_a_segment_names_the_base_of_every_host_in_its_clocks(
    two: tuple[Relay, Visitor, Visitor],
) -> None:
    """RELAY-15"""
    _, laptop, phone = two
    laptop.member.put("t1", "one")
    rounds.pull(phone.member, laptop.member, phone.member.now)
    before = phone.member.knowledge()
    phone.member.put("t1", "two")
    with closing(phone.member.stores["journal"].snapshot()) as snapshot:
        recording = Recording("journal", snapshot, before)
        extent = recording.extent(list(recording.parts()))
    [of_laptop] = laptop.member.knowledge()
    assert set(extent.knowledge) != {of_laptop}
    assert extent.base.get(of_laptop) == 1


def test_relay_27_fork_nodes_are_heard_in_a_state(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-27"""
    relay, laptop, phone = two
    laptop.visit()
    phone.visit()
    with laptop.member.stores["journal"].transaction(laptop.member.now, None) as tx:
        fork.split(tx, [bytes([7]) * 16])
    laptop.member.now += 60_000
    laptop.visit()
    phone.read({name: data for name, data in relay.messages.items() if name.channel != "log"})
    assert phone.happened(Split)
    with phone.member.stores["journal"].reading() as reader:
        assert fork.nodes(reader) == {bytes([7]) * 16}
