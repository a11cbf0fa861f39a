"""Each kind of message, altered, dropped, repeated, in another order, in another lane, and from another epoch: nothing
of it is taken, and nothing is lost once the relay shows what was put there."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.household import in_step
from tests.support.relay import Relay, View, Visitor, visitors

from lottisync.relay.event import PassedOver
from lottisync.relay.header import HEADER_BYTES, SIGNATURE_BYTES, Kind, Name, parts_of
from lottisync.relay.recording import PART_BYTES

Lie = Callable[[View, list[Name]], View]
"""What is shown instead of the messages with these names."""


def altered(part: slice) -> Lie:
    def lie(view: View, names: list[Name]) -> View:
        return {**view, **{name: _flipped(view[name], part) for name in names}}

    return lie


def _flipped(data: bytes, part: slice) -> bytes:
    """With one bit of it turned round, in the middle of a part."""
    places = range(*part.indices(len(data)))
    at = places[len(places) // 2]
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def dropped(view: View, names: list[Name]) -> View:
    return {name: data for name, data in view.items() if name not in names}


def repeated(view: View, names: list[Name]) -> View:
    return {**view, **{name._replace(number=name.number + 100): view[name] for name in names}}


def reordered(view: View, names: list[Name]) -> View:
    """The last first, and each under the name of another one."""
    return {**dict(reversed(view.items())), **{a: view[b] for a, b in zip(names, reversed(names), strict=True)}}


def in_another_lane(view: View, names: list[Name]) -> View:
    lanes = sorted({name.lane for name in view})
    other = dict(zip(lanes, [*lanes[1:], lanes[0]], strict=True))
    return {**dropped(view, names), **{name._replace(lane=other[name.lane]): view[name] for name in names}}


def from_another_epoch(view: View, names: list[Name]) -> View:
    return {**view, **{name: _under(bytes(range(100, 116)), view[name]) for name in names}}


def _under(epoch: bytes, data: bytes) -> bytes:
    return parts_of(data).header._replace(epoch=epoch).packed() + data[HEADER_BYTES:]


LIES: dict[str, Lie] = {
    "header": altered(slice(0, HEADER_BYTES)),
    "signature": altered(slice(HEADER_BYTES, HEADER_BYTES + SIGNATURE_BYTES)),
    "rest": altered(slice(HEADER_BYTES + SIGNATURE_BYTES, None)),
    "dropped": dropped,
    "repeated": repeated,
    "reordered": reordered,
    "another lane": in_another_lane,
    "another epoch": from_another_epoch,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("kind", list(Kind), ids=[kind.name.lower() for kind in Kind])
def test_relay_1_each_kind_of_message_and_each_lie_about_it(tmp_path: Path, kind: Kind, lie: str) -> None:
    """RELAY-1, RELAY-2, RELAY-3, RELAY-13"""
    relay, (laptop, phone, tablet) = visitors(tmp_path, 3)
    _written(laptop, relay, large=True)
    _written(phone, relay, large=False)
    names = [name for name, data in relay.messages.items() if parts_of(data).header.kind is kind]
    assert len({name.lane for name in names}) == (1 if kind in (Kind.FRAME, Kind.MANIFEST) else 2)
    tablet.read(LIES[lie](dict(relay.messages), names))
    said = [event.name for event in tablet.happened(PassedOver) if isinstance(event, PassedOver)]
    harmless = _harmless(kind, lie, len(names))
    assert bool(said) == (lie != "dropped" and not harmless)
    before = _held(tablet)
    assert before.items() <= {**_held(laptop), **_held(phone)}.items()
    assert harmless or kind is Kind.STATE or lie == "repeated" or len(before) < 7
    tablet.publish(leaving=True)
    for each in (phone, laptop, tablet, phone, laptop, tablet):
        each.member.now += 60_000
        each.visit()
    assert in_step(laptop.member, phone.member, tablet.member)
    assert len(_held(tablet)) == 7


def _harmless(kind: Kind, lie: str, count: int) -> bool:
    """One message in another order is where it was; and frames that no manifest names are not read."""
    return (lie == "reordered" and count == 1) or (kind is Kind.FRAME and lie in ("repeated", "another lane"))


def _written(visitor: Visitor, relay: Relay, *, large: bool) -> None:
    """An envelope, and with `large` a snapshot before it; keys and a state."""
    visitor.read({name: data for name, data in relay.messages.items() if name.channel != "keys"})  # so it wraps its own
    for number in range(5 if large else 0):
        text = "".join(chr(33 + (n * n + number) % 90) for n in range(PART_BYTES // 4))
        visitor.member.put(f"large{number}", text)
    visitor.publish()
    visitor.member.put(f"t{visitor.member.number}", "one")
    visitor.publish(leaving=True)
    assert relay.messages


def _held(visitor: Visitor) -> dict[str, object]:
    entities = [*(f"large{number}" for number in range(5)), "t1", "t2"]
    titles = {entity: visitor.member.title(entity) for entity in entities}
    return {entity: title for entity, title in titles.items() if title is not None}
