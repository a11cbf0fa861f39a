"""What a device believes of a message, and which keys open it (docs/specs/19-relay.md)."""

from pathlib import Path

import pytest
from tests.support import rounds
from tests.support.household import Member, in_step
from tests.support.relay import SPACE, Relay, Visitor, digest, introduce, logs, settle, visitors

from lottisync.device.space import BOX_KEY
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.statement import MembershipRecord
from lottisync.problem import Sentence
from lottisync.relay import box, content, keyring, ledger
from lottisync.relay.box import BoxKey, BoxRecord, wrap_context
from lottisync.relay.event import PassedOver
from lottisync.relay.header import BadMessage, Kind, parts_of
from lottisync.relay.receiving import RelayReader
from lottisync.relay.seal import unsealed_once
from lottisync.sync.incoming import Unacceptable

MINUTE, DAY = 60_000, 24 * 3_600_000


def test_relay_2_what_no_member_has_signed_is_refused(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-2"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.visit()
    for name, data in relay.messages.items():
        signature = parts_of(data).signature
        relay.messages[name] = data.replace(signature, bytes([signature[0] ^ 1]) + signature[1:])
    phone.read()
    assert len(phone.happened(PassedOver)) == len(relay.messages)
    assert phone.member.title("t1") is None


def test_relay_4_a_message_goes_on_behind_the_one_before_it(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-4: of two lanes of a device that ran twice under one name, only one goes on."""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.visit()
    copied = laptop.member.copied(laptop.member.folder.parent / "copy")
    laptop = Visitor(laptop.member.restarted(), relay, 1)
    other = Relay()
    other.messages = dict(relay.messages)
    copy = Visitor(copied, other, 2)
    for visitor in (laptop, copy):
        visitor.member.put("t2", str(visitor.relay is relay))
        visitor.visit()
        visitor.member.put("t3", "three")
        visitor.visit()
    mixed = {**relay.messages, **{n: d for n, d in other.messages.items() if (n.channel, n.number) == ("log", 3)}}
    phone.read(mixed)
    assert "does not go on" in str(phone.happened(PassedOver))


def test_relay_30_a_lost_keys_message_is_wrapped_again(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-30"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    laptop.visit()
    relay.messages = {name: data for name, data in relay.messages.items() if name.channel != "keys"}
    phone.visit()
    assert phone.member.title("t1") is None
    settle(laptop, phone)
    assert phone.member.title("t1") == "one"


def test_relay_547_an_epoch_is_left_after_ninety_days(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-547"""
    relay, laptop, phone = two
    laptop.member.put("t1", "one")
    settle(laptop, phone)
    [before] = {parts_of(relay.messages[name]).header.epoch for name in logs(relay)}
    for each in two[1:]:
        each.member.now += 91 * DAY
        each.start()
    laptop.member.put("t2", "two")
    settle(laptop, phone)
    after = parts_of(relay.messages[max(name for name in logs(relay))]).header.epoch
    assert after != before
    assert in_step(laptop.member, phone.member)
    assert phone.participant.keyring.sealing(phone.member.now).id == after


def test_relay_10_a_revocation_makes_an_epoch_that_the_revoked_cannot_open(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-10, RELAY-35"""
    relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    laptop.member.members.revoke(tablet.member.id, [], laptop.member.now)
    laptop.member.put("t1", "secret")
    settle(laptop, phone)
    with tablet.member.space.reading() as reader:
        held = ledger.epochs(reader)
    tablet.start()
    tablet.read()
    sealed = {parts_of(data).header.epoch for name, data in relay.messages.items() if name.channel == "log"}
    newest = parts_of(relay.messages[max(logs(relay) + logs(relay, Kind.MANIFEST))]).header.epoch
    assert newest not in held
    assert not {one.id for one in tablet.participant.keyring.epochs.values()} - held.keys()
    assert tablet.member.title("t1") is None
    assert phone.member.title("t1") == "secret"
    assert sealed


def test_relay_10_an_epoch_that_comes_late_is_not_one_made_without_the_revoked(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-10: its maker had not heard of the revocation that this device knows, and the revoked may hold it."""
    relay, laptop, phone, tablet = three
    phone.member.members.revoke(tablet.member.id, [], phone.member.now)
    phone.member.put("t1", "secret")
    laptop.visit()
    tablet.visit()
    settle(phone, times=1)
    lane = phone.participant.publishing.lane.id
    sealed = {parts_of(relay.messages[name]).header.epoch for name in logs(relay) if name.lane == lane}
    assert sealed
    tablet.read()
    assert not sealed & tablet.participant.keyring.epochs.keys()
    assert tablet.member.title("t1") is None


def test_relay_35_what_the_revoked_could_read_is_replaced(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-35"""
    relay, laptop, phone, tablet = three
    laptop.member.put("t1", "one")
    settle(laptop, phone, tablet)
    with tablet.member.space.reading() as reader:
        held = ledger.epochs(reader)
    laptop.member.members.revoke(tablet.member.id, [], laptop.member.now)
    settle(laptop, phone, times=4)
    lanes = {visitor.participant.publishing.lane.id for visitor in (laptop, phone)}
    own = [data for name, data in relay.messages.items() if name.lane in lanes and name.channel != "keys"]
    assert own
    assert not [data for data in own if parts_of(data).header.epoch in held]


def test_relay_11_a_device_that_accepts_a_key_has_the_revocations_it_was_made_after(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-11, RELAY-32"""
    relay, laptop, phone, tablet = three
    laptop.member.members.revoke(tablet.member.id, [], laptop.member.now)
    laptop.visit()
    keys = [name for name in relay.messages if name.channel == "keys"]
    phone.participant.show(keys, phone.member.now)
    for name in keys:
        phone.participant.receive(name, relay.messages[name], phone.member.now)
    assert tablet.member.id in phone.member.roster().revoked()


def test_relay_12_a_newcomer_shows_the_records_that_let_it_in(
    three: tuple[Relay, Visitor, Visitor, Visitor], tmp_path: Path
) -> None:
    """RELAY-12: the device that let it in is gone, and no other device has its statement."""
    relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    newcomer = Member(tmp_path / "newcomer", 9)
    tablet.member.admit(newcomer)
    newcomer.admit(tablet.member)
    introduce(tablet.member, newcomer)
    visitor = Visitor(newcomer, relay)
    newcomer.put("t9", "from the newcomer")
    settle(visitor, laptop, phone, visitor)
    assert laptop.member.title("t9") == "from the newcomer"
    assert in_step(laptop.member, phone.member, newcomer)


def test_relay_571_the_records_are_sent_again_to_a_device_that_lacks_them(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-571: the tablet was revoked, which all know; and paired again with the phone, which is lost now."""
    relay, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    phone.member.members.revoke(tablet.member.id, [], phone.member.now)
    settle(phone, laptop)
    phone.member.now += MINUTE
    for one, other in ((phone.member, tablet.member), (tablet.member, phone.member)):
        one.members.add_paired(f"device {other.number}", other.key.certificate, phone.member.now)
    introduce(phone.member, tablet.member)
    settle(phone, tablet)
    relay.messages = {name: data for name, data in relay.messages.items() if name.channel == "state"}
    tablet.member.put("t1", "back again")
    settle(tablet, laptop)
    assert laptop.member.title("t1") == "back again"


def test_relay_903_a_device_finds_its_wrap_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-903"""
    _, (laptop, *others) = visitors(tmp_path, 5)
    laptop.visit()
    tried = 0
    opened = BoxKey.opened

    def counted(box: BoxKey, wrapped: bytes, info: bytes) -> bytes:
        nonlocal tried
        tried += 1
        return opened(box, wrapped, info)

    monkeypatch.setattr(BoxKey, "opened", counted)
    for other in others:
        other.read()
        assert other.participant.keyring.epochs == laptop.participant.keyring.epochs
    assert tried == len(others)


def test_relay_980_many_first_visits_put_one_keys_message_there(tmp_path: Path) -> None:
    """RELAY-980: also where the one that has put it there never comes again."""
    relay, everybody = visitors(tmp_path, 5)
    for number, each in enumerate(everybody):
        each.member.put(f"t{number}", "one")
        each.visit()
    assert [name.number for name in relay.messages if name.channel == "keys"] == [1]
    settle(*everybody[1:])
    assert [everybody[-1].member.title(f"t{number}") for number in range(5)] == ["one"] * 5
    assert in_step(*(each.member for each in everybody[1:]))


def test_relay_980_keys_that_are_gone_are_not_enough(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-980"""
    relay, laptop, phone, tablet = three
    laptop.member.put("t1", "one")
    laptop.visit()
    phone.visit()
    relay.messages = {name: data for name, data in relay.messages.items() if name.channel != "keys"}
    phone.visit()
    tablet.visit()
    assert tablet.member.title("t1") == "one"


def test_relay_980_keys_for_fewer_devices_are_not_enough(tmp_path: Path) -> None:
    """RELAY-980: the first knew the third, which had no box key yet, when it was there last. Its state is lost, so
    nothing else makes the second say its keys."""
    relay, (laptop, phone) = visitors(tmp_path, 2)
    newcomer = Member(tmp_path / "newcomer", 3)
    phone.member.admit(newcomer)
    newcomer.admit(phone.member)
    introduce(phone.member, newcomer, laptop.member)
    laptop.member.put("t1", "one")
    laptop.visit()
    relay.messages = {name: data for name, data in relay.messages.items() if name.channel != "state"}
    visitor = Visitor(newcomer, relay)
    introduce(phone.member, newcomer)
    phone.visit()
    visitor.visit()
    assert newcomer.title("t1") == "one"


def test_relay_980_a_member_that_wraps_nothing_for_others_delays_them_by_a_visit(
    three: tuple[Relay, Visitor, Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-980: the laptop lies. It has wrapped for the phone, and garbage for the tablet."""
    _, laptop, phone, tablet = three
    theirs = {each.member.id: each.participant.keyring._box.public for each in (phone, tablet)}
    genuine = box.wrapped
    with monkeypatch.context() as lying:
        lying.setattr(
            keyring, "wrapped",
            lambda key, public, info: genuine(
                bytes(32) if public == theirs[tablet.member.id] else key, public, info
            ),
        )  # fmt: skip
        laptop.member.put("t1", "one")
        laptop.visit()
    phone.visit()
    tablet.visit()
    assert tablet.member.title("t1") is None
    settle(phone, tablet)
    assert tablet.member.title("t1") == "one"


def test_relay_578_keys_for_a_hundred_devices_are_one_message(two: tuple[Relay, Visitor, Visitor]) -> None:
    """RELAY-578"""
    relay, laptop, phone = two
    others = [DeviceKey.from_seed(digest(b"other", bytes([n]))) for n in range(98)]
    for key in others:
        name = key.device_id[:8]
        laptop.member.sign(MembershipRecord.adding(key, certificate=key.certificate, name=name, at_ms=10))
        laptop.member.sign(MembershipRecord.adding(laptop.member.key, certificate=key.certificate, name=name, at_ms=10))
    with laptop.member.stores["space"].transaction(laptop.member.now, HIGH) as tx:
        for record in map(BoxRecord.signed_by, others):
            tx.put(record.record_id, BOX_KEY, record.to_fields())
    laptop.member.put("t1", "one")
    laptop.visit()
    [keys] = [data for name, data in relay.messages.items() if name.channel == "keys"]
    parts = parts_of(keys)
    message = content.decode(parts.rest, content.Wraps)
    assert len(message.wraps) == 99
    assert len(keys) < 256 * 1024
    with pytest.raises(BadMessage):
        unsealed_once(bytes(32), wrap_context(SPACE, parts.header.lane, parts.header.number), message.keyring)
    phone.read()
    assert phone.member.title("t1") == "one"
    assert len(phone.member.roster().members) == 100


def test_cli_440_why_a_message_was_passed_over_can_be_translated(
    two: tuple[Relay, Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-440: the reason keeps its template and its arguments."""
    _, laptop, phone = two
    laptop.visit()

    def refusing(*_: object) -> None:
        raise Unacceptable("unknown-host", "{entity} was written by host {host}", entity="t1", host="8")

    monkeypatch.setattr(RelayReader, "_read", refusing)
    phone.read()
    said = phone.happened(PassedOver)
    assert {each.reason for each in said if isinstance(each, PassedOver)} == {"t1 was written by host 8"}
    assert all(isinstance(each.reason, Sentence) for each in said if isinstance(each, PassedOver))


def test_relay_12_a_stranger_is_not_let_in(two: tuple[Relay, Visitor, Visitor], tmp_path: Path) -> None:
    """RELAY-12"""
    relay, laptop, phone = two
    settle(laptop, phone)
    stranger = Member(tmp_path / "stranger", 8)
    stranger.admit(laptop.member)
    rounds.pull(stranger, laptop.member, stranger.now, ["space"])
    visitor = Visitor(stranger, relay)
    stranger.put("t8", "from a stranger")
    visitor.visit()
    settle(laptop)
    assert laptop.happened(PassedOver)
    assert laptop.member.title("t8") is None
    assert stranger.id not in laptop.member.roster().members


def test_relay_24_nothing_is_taken_from_a_lane_of_the_revoked(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-24"""
    _, laptop, phone, tablet = three
    settle(laptop, phone, tablet)
    tablet.member.put("t1", "too late")
    tablet.visit()
    phone.member.members.revoke(tablet.member.id, [], phone.member.now)
    settle(phone, laptop)
    assert phone.member.title("t1") is None
    assert laptop.member.title("t1") is None


def test_relay_25_what_the_revoked_has_left_there_is_said_again_by_members(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-25"""
    relay, laptop, phone, tablet = three
    tablet.member.put("t1", "in time")
    settle(tablet, laptop)
    laptop.member.members.revoke(tablet.member.id, [], laptop.member.now)
    settle(laptop, phone)
    lane = tablet.participant.publishing.lane.id
    relay.messages = {name: data for name, data in relay.messages.items() if name.lane != lane}
    settle(phone)
    assert phone.member.title("t1") == "in time"


def test_relay_30_the_epochs_of_a_state_are_heard_without_its_key(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-30"""
    relay, laptop, phone, _ = three
    for each in (laptop, phone):  # none has read the other's keys: each seals under an epoch of its own
        each.read({})
        each.publish(leaving=True)
    view = {name: data for name, data in relay.messages.items() if name.channel == "state"}
    laptop.read(view)
    [(device, held)] = laptop.participant.keyring.held_by.values()
    assert device == phone.member.id
    assert held
    assert not held & laptop.participant.keyring.epochs.keys()
