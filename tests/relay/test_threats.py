"""Who can do what at a relay: the table of docs/specs/19-relay.md, section 4."""

import re
from pathlib import Path

import msgspec
import pytest
from tests.support.household import in_step
from tests.support.relay import SPACE, Visitor, chance, visitors

from lottisync.identity.statement import MembershipRecord
from lottisync.relay import content
from lottisync.relay.box import BoxKey, wrap_context, wrap_info, wrapped
from lottisync.relay.circle import MOST_LANES
from lottisync.relay.event import PassedOver
from lottisync.relay.header import NO_EPOCH, Header, Kind, Name, signed_bytes
from lottisync.relay.lane import Publication
from lottisync.relay.recording import PART_BYTES
from lottisync.relay.seal import sealed_once

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "specs" / "19-relay.md"
ROWS = re.findall(r"^\|.*\| (RELAY-\d+) \| `(\S+)::(\S+)` \|$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("rule", "file", "name"), ROWS, ids=[row[2] for row in ROWS])
def test_each_cannot_has_its_test(rule: str, file: str, name: str) -> None:
    _, found, rest = (HERE / file).read_text().partition(f"def {name}(")
    assert found
    assert rule in rest.partition("def test_")[0]


def test_the_table_is_there() -> None:
    assert len(ROWS) == 32


def test_relay_15_what_was_cut_out_of_the_middle_of_a_log_is_missed(tmp_path: Path) -> None:
    """RELAY-15, RELAY-544: nothing behind the gap is taken, the person is told how much is missing, and it comes again
    with the next visit of a device that has it."""
    relay, (laptop, phone) = visitors(tmp_path)
    for _ in range(2):
        laptop.visit()
        phone.visit()
    for number in range(3):
        laptop.member.put(f"t{number}", "one")
        laptop.publish()
    laptop.visit()
    lane = laptop.participant.publishing.lane.id
    *_, cut, _ = sorted(name for name in relay.messages if name[:2] == (lane, "log"))
    shown = {name: data for name, data in relay.messages.items() if name != cut}
    phone.read(shown)
    assert [phone.member.title(f"t{number}") for number in range(3)] == ["one", None, None]
    [said] = phone.participant.standing(phone.member.now)
    assert (said.lacking, said.in_step) == (2, False)
    del relay.messages[cut]
    for each in (laptop, phone):
        each.member.now += 60_000
        each.visit()
    assert in_step(laptop.member, phone.member)
    assert [phone.member.title(f"t{number}") for number in range(3)] == ["one"] * 3


def test_relay_546_a_member_cannot_publish_in_another_s_lane(tmp_path: Path) -> None:
    """RELAY-546"""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    laptop.member.put("t1", "one")
    laptop.visit()
    reader.read()
    [lane] = {name.lane for name in relay.messages}
    name = Name(lane, "state", max(name.number for name in relay.messages if name.channel == "state") + 1)
    header = Header(Kind.STATE, SPACE, lane, name.number, bytes(32), NO_EPOCH, bytes(16), chance(1)(16))
    held = content.encode(content.OpenState([]))
    said = len(held).to_bytes(4, "big") + held
    relay.put(name, header.packed() + liar.member.key.sign(signed_bytes(header, said)) + said)
    reader.read()
    assert [event.name for event in reader.happened(PassedOver) if isinstance(event, PassedOver)] == [name]
    assert reader.member.title("t1") == "one"


def test_relay_1043_nobody_is_revoked_in_the_name_of_another(tmp_path: Path) -> None:
    """RELAY-1043: the liar has signed the message, and cannot sign the record in it for the reader."""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    liar.visit()
    reader.visit()
    own = MembershipRecord.revoking(liar.member.key, device=laptop.member.id, at_ms=50)
    forged = MembershipRecord.revoking(reader.member.key, device=laptop.member.id, at_ms=50)
    forged = msgspec.structs.replace(forged, signature=own.signature)
    [lane] = {name.lane for name in relay.messages if reader.participant.circle.device_of(name.lane) == liar.member.id}
    name = Name(
        lane, "keys", max(name.number for name in relay.messages if (name.lane, name.channel) == (lane, "keys")) + 1
    )
    header = Header(Kind.KEYS, SPACE, lane, name.number, bytes(32), NO_EPOCH, bytes(16), chance(1)(16))
    key, public = chance(2)(32), BoxKey(reader.member.key).public
    keyring = content.encode(content.Keyring([], [forged.to_fields()]))
    sealed = sealed_once(key, wrap_context(SPACE, lane, name.number), keyring)
    wraps = content.Wraps([wrapped(key, public, wrap_info(SPACE, lane, name.number, public))], sealed)
    body = content.encode(wraps)
    relay.put(name, header.packed() + liar.member.key.sign(signed_bytes(header, body)) + body)
    reader.visit()
    assert forged.record_id in {record.record_id for record in reader.participant.circle.records}
    assert reader.roster().members[laptop.member.id].status == "active"
    laptop.member.put("t1", "one")
    laptop.visit()
    reader.visit()
    assert reader.member.title("t1") == "one"


def test_relay_575_a_device_whose_lane_was_forged_goes_on_in_a_new_lane(tmp_path: Path) -> None:
    """RELAY-575: a reader that has read the forged message first gets what the owner of the lane publishes after its
    next visit."""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    laptop.member.put("t1", "one")
    laptop.visit()
    [lane] = {name.lane for name in relay.messages}
    relay.put(*_spoken(liar, Name(lane, "keys", 1_000)))
    for name in [name for name in relay.messages if name.number < 1_000 and name.channel == "keys"]:
        del relay.messages[name]
    reader.read()
    assert reader.member.title("t1") is None
    laptop.visit()
    reader.read()
    assert reader.member.title("t1") == "one"
    assert {name.lane for name in relay.messages} > {lane}


def test_relay_575_a_liar_does_not_use_up_the_lanes_of_another(tmp_path: Path) -> None:
    """RELAY-575: the fifth lane is kept, so that readers who know it go on hearing it."""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    for turn in range(MOST_LANES + 2):
        laptop.member.put("t1", str(turn))
        laptop.member.now += 60_000
        laptop.visit()
        reader.read()
        assert reader.member.title("t1") == str(turn)
        relay.put(*_spoken(liar, Name(laptop.participant.publishing.lane.id, "keys", 1_000 + turn)))


def test_relay_579_a_lane_is_free_again_when_what_the_liar_said_is_gone(tmp_path: Path) -> None:
    """RELAY-579: the owner has never seen what was said in its lane, and stays there."""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    laptop.visit()
    lane = laptop.participant.publishing.lane.id
    said = _spoken(liar, Name(lane, "keys", 1_000))
    reader.read({said.name: said.data})
    relay.messages.clear()
    laptop.member.put("t1", "one")
    laptop.visit()
    reader.read()
    assert laptop.participant.publishing.lane.id == lane
    assert reader.member.title("t1") == "one"


def _spoken(liar: Visitor, name: Name) -> Publication:
    """A keys message without any box, signed by a member for this place."""
    header = Header(Kind.KEYS, SPACE, name.lane, name.number, bytes(32), NO_EPOCH, bytes(16), chance(1)(16))
    body = content.encode(content.Wraps([], b""))
    return Publication(name, header.packed() + liar.member.key.sign(signed_bytes(header, body)) + body)


@pytest.mark.parametrize("channel", ["log", "keys", "snap.1"])
def test_relay_831_what_is_put_in_the_place_of_a_message_later_is_not_taken_for_it(
    tmp_path: Path, channel: str
) -> None:
    """RELAY-831: a thief deletes it, and puts something else there under its name."""
    relay, (laptop, phone) = visitors(tmp_path)
    for number in range(5 if channel == "snap.1" else 1):
        laptop.member.put(
            f"t{number}", "one" + "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4))
        )
    laptop.visit()
    taken = max(name for name in relay.messages if name.channel == channel)
    del relay.messages[taken]
    relay.put(taken, b"nothing")
    for _ in range(2):
        for each in (laptop, phone):
            each.member.now += 60_000
            each.visit()
    assert str(phone.member.title("t0")).startswith("one")
    assert in_step(laptop.member, phone.member)
