"""Reading at a relay comes to its end. What waits for a key, or for what comes before it, is asked for again, but not
without end."""

from pathlib import Path

import pytest
from tests.support.household import Member
from tests.support.relay import SPACE, Relay, Visitor, chance, logs

from lottisync.relay import content
from lottisync.relay.header import Name
from lottisync.relay.participant import Participant

MINUTE = 60_000


def test_relay_576_an_older_state_that_waited_for_its_key(two: tuple[Relay, Visitor, Visitor]) -> None:
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


def test_relay_576_what_waited_for_its_key_and_is_gone(two: tuple[Relay, Visitor, Visitor]) -> None:
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


def test_relay_576_what_waited_for_another_and_is_gone(two: tuple[Relay, Visitor, Visitor]) -> None:
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
