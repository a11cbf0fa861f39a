"""What lies in the place of a message, and only a newcomer sees (docs/specs/19-relay.md, sections 5 and 6)."""

from pathlib import Path

import pytest
from tests.support.household import in_step
from tests.support.relay import Relay, Visitor, visitors

from lottisync.relay import snapshot_out
from lottisync.relay.content import MAX_REFUSED
from lottisync.relay.header import Name
from lottisync.relay.recording import PART_BYTES

MINUTE, HOUR = 60_000, 3_600_000


@pytest.fixture
def three(tmp_path: Path) -> tuple[Relay, Visitor, Visitor, Visitor]:
    relay, (laptop, phone, tablet) = visitors(tmp_path, 3)
    return relay, laptop, phone, tablet


def write(visitor: Visitor, large: int = 0) -> None:
    """A task; `large` ones are more than one message holds."""
    for number in range(large):
        text = "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4))
        visitor.member.put(f"large{number}", text)
    visitor.member.put("t1", "one")


def visit(*several: Visitor) -> None:
    for each in several:
        each.member.now += MINUTE
        each.visit()


@pytest.mark.parametrize("large", [0, 5])
@pytest.mark.parametrize("restarted", [False, True])
def test_relay_891_what_a_newcomer_cannot_use_is_looked_at_by_those_who_count_on_it(
    three: tuple[Relay, Visitor, Visitor, Visitor], large: int, restarted: bool
) -> None:
    """RELAY-890, RELAY-891: an operator puts something else there under the same number; or the programs were started
    again since, and a frame is not read by one that has all that was in it."""
    relay, laptop, phone, tablet = three
    write(laptop, large)
    visit(laptop, phone, laptop)
    bad = max(name for name in relay.messages if name.channel == ("snap.1" if large else "log"))
    relay.messages[bad] = b"nothing"
    for each in (laptop, phone):
        if restarted:
            each.start()
    visit(tablet)
    assert tablet.member.title("t1") is None
    visit(phone, laptop, tablet)
    assert tablet.member.title("t1") == "one"
    assert in_step(laptop.member, phone.member, tablet.member)


def test_relay_891_a_frame_that_is_sound_goes_on_counting(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-891: the relay has shown something else to one device, once."""
    relay, laptop, phone, tablet = three
    write(laptop, 5)
    visit(laptop, phone, laptop)
    frame = max(name for name in relay.messages if name.channel == "snap.1")
    tablet.read({**relay.messages, frame: b"nothing"})
    tablet.publish(leaving=True)
    before = {name for name in relay.messages if name.channel.startswith("snap.")}
    visit(laptop, phone, tablet)
    assert {name for name in relay.messages if name.channel.startswith("snap.")} == before
    assert tablet.member.title("t1") == "one"


def test_relay_891_a_liar_has_a_message_read_again_once_an_hour(three: tuple[Relay, Visitor, Visitor, Visitor]) -> None:
    """RELAY-891"""
    relay, laptop, liar, _ = three
    write(laptop)
    visit(laptop, liar, laptop)
    [log] = [name for name in relay.messages if name.channel == "log" and name.lane == _lane(laptop)]
    asked: list[Name] = []
    receive = laptop.participant.receive

    def counted(name: Name, data: bytes | None, now: int) -> None:
        asked.append(name)
        receive(name, data, now)

    laptop.participant.receive = counted  # type: ignore[method-assign]
    liar.participant._receiving.refused = lambda: [log]  # type: ignore[method-assign]
    for _ in range(5):
        liar.member.put("t2", str(len(asked)))
        visit(liar, laptop)
    assert asked.count(log) == 1
    laptop.member.now += HOUR
    liar.member.put("t2", "again")
    visit(liar, laptop)
    assert asked.count(log) == 2


def test_relay_890_a_flood_of_what_is_nothing_leaves_room_for_a_frame(
    three: tuple[Relay, Visitor, Visitor, Visitor],
) -> None:
    """RELAY-890"""
    relay, laptop, _, tablet = three
    write(laptop, 5)
    visit(laptop)
    frame = max(name for name in relay.messages if name.channel == "snap.1")
    relay.messages[frame] = b"nothing"
    for number in range(2 * MAX_REFUSED):
        relay.put(Name(_lane(laptop), "keys", 1_000 + number), b"nothing")
    tablet.read()
    said = tablet.participant._receiving.refused()
    assert len(said) == MAX_REFUSED
    assert said[0] == frame


def test_relay_892_a_relay_that_loses_everything_again_and_again_is_filled_once_an_hour(
    three: tuple[Relay, Visitor, Visitor, Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-892: whatever is started again; and a revocation is answered at once."""
    monkeypatch.setattr(snapshot_out, "MAX_SNAPSHOTS_PER_DAY", 3)
    relay, laptop, phone, tablet = three
    write(laptop, 5)
    for _ in range(8):
        visit(laptop)
        relay.messages.clear()
        laptop.start()
    assert _begun(laptop) == 3
    laptop.member.now += HOUR
    visit(laptop)
    assert _begun(laptop) == 4
    visit(laptop)
    laptop.member.members.revoke(tablet.member.id, [], laptop.member.now)
    visit(laptop, phone)
    assert _begun(laptop) == 5
    assert phone.member.title("large4") == laptop.member.title("large4")


def _lane(visitor: Visitor) -> bytes:
    return visitor.participant.publishing.lane.id


def _begun(visitor: Visitor) -> int:
    return visitor.participant.publishing.lane.last("snap")
