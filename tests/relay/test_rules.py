"""The rules of a relay, one by one (docs/specs/19-relay.md)."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.support import rounds
from tests.support.household import Member, in_step
from tests.support.relay import SPACE, Relay, Visitor, chance, digest, introduce, visitors

from lottisync.device.space import BOX_KEY
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.identity.statement import MembershipRecord
from lottisync.problem import Sentence
from lottisync.protocol.message import Batch
from lottisync.relay import box, content, keyring, ledger, publishing, recording
from lottisync.relay.box import BoxKey, BoxRecord, wrap_context
from lottisync.relay.event import PassedOver, Split, WentBack
from lottisync.relay.header import BadMessage, Kind, Name, parts_of
from lottisync.relay.lane import Publication
from lottisync.relay.participant import Participant
from lottisync.relay.publishing import OTHERS_SECONDS
from lottisync.relay.receiving import RelayReader
from lottisync.relay.recording import PART_BYTES, Recording
from lottisync.relay.seal import unsealed_once
from lottisync.relay.taking import take_whole
from lottisync.store import fork
from lottisync.sync.incoming import Outdated, Unacceptable

MINUTE, DAY = 60_000, 24 * 3_600_000


@pytest.fixture
def two(tmp_path: Path) -> tuple[Relay, Visitor, Visitor]:
    relay, (laptop, phone) = visitors(tmp_path)
    return relay, laptop, phone


@pytest.fixture
def three(tmp_path: Path) -> tuple[Relay, Visitor, Visitor, Visitor]:
    relay, (laptop, phone, tablet) = visitors(tmp_path, 3)
    return relay, laptop, phone, tablet


def logs(relay: Relay, kind: Kind = Kind.ENVELOPE) -> list[Name]:
    return [name for name, data in relay.messages.items() if parts_of(data).header.kind is kind]


def large(visitor: Visitor, count: int = 5) -> None:
    """More than one message holds."""
    for number in range(count):
        visitor.member.put(f"large{number}", "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4)))


def settle(*several: Visitor, times: int = 3) -> None:
    for _ in range(times):
        for each in several:
            each.member.now += 60_000
            each.visit()


class TestSignatures:
    def test_relay_2_what_no_member_has_signed_is_refused(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_4_a_message_goes_on_behind_the_one_before_it(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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


class TestKeys:
    def test_relay_30_a_lost_keys_message_is_wrapped_again(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-30"""
        relay, laptop, phone = two
        laptop.member.put("t1", "one")
        laptop.visit()
        relay.messages = {name: data for name, data in relay.messages.items() if name.channel != "keys"}
        phone.visit()
        assert phone.member.title("t1") is None
        settle(laptop, phone)
        assert phone.member.title("t1") == "one"

    def test_relay_547_an_epoch_is_left_after_ninety_days(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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

    def test_relay_35_what_the_revoked_could_read_is_replaced(
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
    ) -> None:
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor], tmp_path: Path
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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

    def test_relay_903_a_device_finds_its_wrap_at_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    def test_relay_980_many_first_visits_put_one_keys_message_there(self, tmp_path: Path) -> None:
        """RELAY-980: also where the one that has put it there never comes again."""
        relay, everybody = visitors(tmp_path, 5)
        for number, each in enumerate(everybody):
            each.member.put(f"t{number}", "one")
            each.visit()
        assert [name.number for name in relay.messages if name.channel == "keys"] == [1]
        settle(*everybody[1:])
        assert [everybody[-1].member.title(f"t{number}") for number in range(5)] == ["one"] * 5
        assert in_step(*(each.member for each in everybody[1:]))

    def test_relay_980_keys_that_are_gone_are_not_enough(self, three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
        """RELAY-980"""
        relay, laptop, phone, tablet = three
        laptop.member.put("t1", "one")
        laptop.visit()
        phone.visit()
        relay.messages = {name: data for name, data in relay.messages.items() if name.channel != "keys"}
        phone.visit()
        tablet.visit()
        assert tablet.member.title("t1") == "one"

    def test_relay_980_keys_for_fewer_devices_are_not_enough(self, tmp_path: Path) -> None:
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
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

    def test_relay_578_keys_for_a_hundred_devices_are_one_message(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-578"""
        relay, laptop, phone = two
        others = [DeviceKey.from_seed(digest(b"other", bytes([n]))) for n in range(98)]
        for key in others:
            name = key.device_id[:8]
            laptop.member.sign(MembershipRecord.adding(key, certificate=key.certificate, name=name, at_ms=10))
            laptop.member.sign(
                MembershipRecord.adding(laptop.member.key, certificate=key.certificate, name=name, at_ms=10)
            )
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
        self, two: tuple[Relay, Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
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

    def test_relay_12_a_stranger_is_not_let_in(self, two: tuple[Relay, Visitor, Visitor], tmp_path: Path) -> None:
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

    def test_relay_24_nothing_is_taken_from_a_lane_of_the_revoked(
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
    ) -> None:
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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


class TestTaking:
    def test_relay_13_knowledge_comes_with_the_last_frame(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_13_a_segment_that_was_cut_short_is_not_taken(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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
            take_whole(recording.head(), [*chains, short], tx, strangers)
        snapshot.close()
        assert not phone.member.knowledge()

    def test_relay_15_chains_alone_are_not_a_base(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_13_a_snapshot_without_a_frame_is_not_begun(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-13"""
        relay, laptop, phone = two
        large(laptop)
        laptop.visit()
        del relay.messages[logs(relay, Kind.FRAME)[1]]
        phone.read()
        assert phone.member.title("large0") is None

    def test_relay_14_a_later_store_waits_for_what_it_was_read_with(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_15_a_segment_is_taken_by_a_device_that_has_its_base(
        self, two: tuple[Relay, Visitor, Visitor]
    ) -> None:
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

    def test_relay_15_another_hosts_loss_holds_up_nothing(self, three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
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

    def test_relay_26_a_device_that_was_away_for_long_forgets_too(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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
        self, two: tuple[Relay, Visitor, Visitor], over: str
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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

    def test_forget_831_what_was_seen_and_forgotten_here_does_not_come_back(
        self, two: tuple[Relay, Visitor, Visitor]
    ) -> None:
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

    def test_relay_27_a_copy_is_found_through_the_relay_and_nothing_is_lost(
        self, two: tuple[Relay, Visitor, Visitor]
    ) -> None:
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


class TestPublishing:
    def test_relay_7_nothing_that_lies_there_can_be_read(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-7"""
        relay, laptop, phone = two
        laptop.member.put("recognisable", "Zephyranthes")
        settle(laptop, phone)
        with laptop.member.space.reading() as reader:
            host = reader.host
        everything = b"".join(relay.everything)
        for secret in (b"Zephyranthes", b"recognisable", b"device 1", host.encode(), bytes.fromhex(laptop.member.id)):
            assert secret not in everything

    def test_relay_5_a_salt_is_drawn_for_every_message(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-5"""
        relay, laptop, phone = two
        large(laptop)
        settle(laptop, phone)
        salts = [parts_of(data).header.salt for data in relay.everything]
        assert len({*salts}) == len(salts) > 5

    def test_relay_16_the_same_bytes_are_sent_until_they_are_acknowledged(
        self, two: tuple[Relay, Visitor, Visitor]
    ) -> None:
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

    def test_relay_17_a_relay_that_goes_back_is_noticed(self, three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
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

    def test_relay_17_also_if_only_the_own_lane_lost_something(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-17"""
        relay, laptop, _ = two
        for number in range(2):
            laptop.member.put(f"t{number}", "one")
            laptop.visit()
        del relay.messages[max(logs(relay))]
        laptop.start()
        laptop.visit()
        assert [(e.shown, e.known) for e in laptop.happened(WentBack) if isinstance(e, WentBack)] == [(1, 2)]

    def test_relay_17_also_after_a_new_start(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-17"""
        relay, laptop, phone = two
        laptop.member.put("t1", "one")
        settle(laptop, phone)
        phone.start()
        phone.read({name: data for name, data in relay.messages.items() if name.channel != "log"})
        assert phone.happened(WentBack)

    def test_relay_897_it_is_said_once_whatever_is_started_again(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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
        self, two: tuple[Relay, Visitor, Visitor]
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
        self, two: tuple[Relay, Visitor, Visitor], restarted: bool
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

    def test_relay_18_what_came_over_a_connection_is_not_a_base(
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
    ) -> None:
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
        self, two: tuple[Relay, Visitor, Visitor]
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

    def test_relay_19_a_relay_that_is_behind_gets_all_of_it(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-19: what was forgotten here since is in no message there."""
        relay, laptop, _ = two
        laptop.member.put("gone", "x")
        laptop.visit()
        laptop.member.delete("gone")
        laptop.member.now += 60 * DAY
        laptop.member.purge()
        laptop.visit()
        entries = laptop.participant._board.entries
        assert entries[max(logs(relay))].heads["journal"].whole

    def test_relay_29_what_a_round_left_that_was_cut_off_is_published(
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
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

    def test_relay_31_what_others_wrote_is_left_to_them_for_a_while(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_21_a_restored_device_goes_on_in_a_new_lane(
        self, two: tuple[Relay, Visitor, Visitor], tmp_path: Path
    ) -> None:
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


class TestSnapshots:
    def test_relay_20_a_device_with_empty_stores_gets_everything(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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
        self, two: tuple[Relay, Visitor, Visitor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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

    def test_relay_22_a_log_goes_only_where_a_snapshot_covers_it(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_22_a_snapshot_that_lost_a_frame_covers_nothing(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_23_of_two_snapshots_of_the_same_one_stays(
        self, three: tuple[Relay, Visitor, Visitor, Visitor]
    ) -> None:
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

    def test_relay_28_the_manifest_comes_after_its_frames(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-28"""
        relay, laptop, _ = two
        large(laptop)
        laptop.publish()
        order = [parts_of(data).header.kind for data in relay.everything]
        assert order.index(Kind.MANIFEST) > max(at for at, kind in enumerate(order) if kind is Kind.FRAME)

    def test_relay_28_no_manifest_for_frames_that_were_lost(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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

    def test_relay_28_a_snapshot_that_was_cut_off_is_cleared_away(self, two: tuple[Relay, Visitor, Visitor]) -> None:
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


def _next_of_log(visitor: Visitor) -> Publication:
    """The next message for the log; what comes before it is put there."""
    while True:
        publication = visitor.participant.publish(visitor.member.now)
        assert publication is not None
        if publication.name.channel == "log":
            return publication
        visitor.relay.put(*publication)
        visitor.participant.acknowledged(publication.name, visitor.member.now)


def test_what_a_member_sends_that_is_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="sealed bytes that are not of the kind envelope"):
        content.decode(b"\xff", content.Envelope)
    with pytest.raises(ValueError, match="sealed bytes that are not of the kind state"):
        content.decode(content.encode(content.Wraps([], b"")), content.State)


def test_an_unknown_program_of_a_device_reads_alone(tmp_path: Path) -> None:
    """A device that was never paired publishes for itself, and reads that again."""
    relay = Relay()
    alone = Visitor(Member(tmp_path / "alone", 1), relay)
    alone.member.put("t1", "one")
    alone.visit()
    again = Participant(alone.member, SPACE, chance(9), alone.member.now)
    again.show(list(relay.messages), alone.member.now)
    while (name := again.wanted()) is not None:
        again.receive(name, relay.messages[name], alone.member.now)
    assert not again.events()


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
        head = recording.head(list(recording.parts()))
    [of_laptop] = laptop.member.knowledge()
    assert set(head.knowledge) != {of_laptop}
    assert head.base.get(of_laptop) == 1


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


class TestReadingEnds:
    """What waits for a key, or for what comes before it, is asked for again; but not without end."""

    def test_relay_576_an_older_state_that_waited_for_its_key(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-576"""
        relay, laptop, phone = two
        laptop.visit()
        held_back = {name: data for name, data in relay.messages.items() if name.channel == "keys"}
        phone.read({name: data for name, data in relay.messages.items() if name not in held_back})
        older = dict(relay.messages)
        laptop.member.put("t1", "one")
        laptop.member.now += MINUTE
        laptop.visit()
        assert {name for name in older if name.channel == "state"} - relay.messages.keys()
        phone.read({**older, **relay.messages})
        assert phone.member.title("t1") == "one"

    def test_relay_576_what_waited_for_its_key_and_is_gone(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-576"""
        relay, laptop, phone = two
        laptop.member.put("t1", "one")
        laptop.visit()
        shown = dict(relay.messages)
        phone.read({name: data for name, data in shown.items() if name.channel != "keys"})
        _read_while_it_goes(phone, shown, {name for name in shown if name.channel != "keys"})
        assert phone.member.title("t1") is None
        phone.read()
        assert phone.member.title("t1") == "one"

    def test_relay_576_what_waited_for_another_and_is_gone(self, two: tuple[Relay, Visitor, Visitor]) -> None:
        """RELAY-576"""
        relay, laptop, phone = two
        laptop.visit()
        phone.read()
        for title in ("one", "two"):
            laptop.member.put("t1", title)
            laptop.visit()
        first, second = sorted(logs(relay))[-2:]
        phone.read({name: data for name, data in relay.messages.items() if name != first})
        assert phone.member.title("t1") is None
        _read_while_it_goes(phone, relay.messages, {second})
        assert phone.member.title("t1") == "one"
        phone.read()
        assert phone.member.title("t1") == "two"


def _read_while_it_goes(visitor: Visitor, shown: dict[Name, bytes], gone: set[Name]) -> None:
    """Read what is shown; some of it is deleted after the look."""
    visitor.participant.show(list(shown), visitor.member.now)
    for _ in range(100):
        if (name := visitor.participant.wanted()) is None:
            return
        visitor.participant.receive(name, None if name in gone else shown[name], visitor.member.now)
    raise AssertionError("it reads without end")
