"""The record that says where a device is reached: MEET-1 to MEET-5, MEET-10."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st
from tests.support.household import Member

from lottisync.device.addresses import (
    MAX_GIVEN,
    MAX_WAYS,
    Reach,
    give,
    read_reach,
    record_id,
    renew,
    take_away,
)
from lottisync.device.addresses import _reach as reach_of
from lottisync.device.space import ADDRESSES
from lottisync.entities import path
from lottisync.entities.entity import HIGH
from lottisync.net.address import Address, parse
from lottisync.problem import Problem
from lottisync.store.store import Store

SECRET = bytes(range(16))
LAN, VPN = parse("192.0.2.7:22067"), parse("[2001:db8::7]:22067")
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    member = Member(tmp_path / "a", 1)
    yield member
    member.close()


def reach(store: Store) -> dict[str, Reach]:
    with store.reading() as reader:
        return read_reach(reader)


def put(member: Member, fields: dict[str, Any]) -> None:
    with member.stores["space"].transaction(member.now, HIGH) as tx:
        tx.put(record_id(member.device), ADDRESSES, fields)


def counter(member: Member) -> int:
    with member.stores["space"].reading() as reader:
        return reader.counter


def test_meet_1_a_device_says_where_it_is_reached(member: Member) -> None:
    renew(member.stores["space"], member.device, [LAN, VPN], SECRET, member.now)
    (known,) = reach(member.stores["space"]).values()
    assert known == Reach((LAN, VPN), (), SECRET, "2025-12-01T12:00:00.000Z")


def test_meet_235_a_record_that_is_right_is_not_written_again(member: Member) -> None:
    space = member.stores["space"]
    renew(space, member.device, [LAN], SECRET, member.now)
    before = counter(member)
    assert not renew(space, member.device, [LAN], SECRET, member.now + 1)
    assert counter(member) == before
    assert renew(space, member.device, [VPN], SECRET, member.now + 1)
    assert counter(member) == before + 1
    assert reach(space)[member.device][:3] == ((VPN,), (), SECRET)


def test_meet_5_an_address_is_added_and_taken_away_by_hand(member: Member) -> None:
    """What the device writes of itself does not touch it."""
    space, name = member.stores["space"], parse("phone.tailnet.example:22067")
    give(space, member.device, name, member.now)
    give(space, member.device, name, member.now)
    renew(space, member.device, [LAN], SECRET, member.now)
    assert reach(space)[member.device][:2] == ((LAN,), (name,))
    assert take_away(space, member.device, name, member.now)
    assert not take_away(space, member.device, name, member.now)
    assert reach(space)[member.device][:2] == ((LAN,), ())


def test_meet_5_a_person_cannot_add_without_end(member: Member) -> None:
    for number in range(MAX_GIVEN):
        give(member.stores["space"], member.device, Address("192.0.2.7", number + 1), member.now)
    with pytest.raises(Problem, match="at most 8 addresses"):
        give(member.stores["space"], member.device, LAN, member.now)


def test_meet_10_another_secret_takes_the_place_of_the_one_before(member: Member) -> None:
    space = member.stores["space"]
    renew(space, member.device, [LAN], SECRET, member.now)
    assert renew(space, member.device, [LAN], bytes(16), member.now)
    assert reach(space)[member.device].secret == bytes(16)


def test_meet_236_a_record_that_somebody_deleted_is_written_again(member: Member) -> None:
    space = member.stores["space"]
    renew(space, member.device, [LAN], SECRET, member.now)
    with space.transaction(member.now, HIGH) as tx:
        tx.delete(record_id(member.device))
    assert reach(space) == {}
    renew(space, member.device, [VPN], SECRET, member.now)
    assert reach(space)[member.device].addresses == (VPN,)


@pytest.mark.parametrize("field", ["ways", "given", "secret", "renewedAt"])
@generated(value=json)
def test_meet_3_a_field_of_any_shape_counts_as_absent_and_hides_no_other(field: str, value: object) -> None:
    fields = {
        "ways": [LAN.uri],
        "given": {VPN.uri: True},
        "secret": "AAECAwQFBgcICQoLDA0ODw==",
        "renewedAt": "then",
    }
    whole = reach_of(fields)
    assert whole == Reach((LAN,), (VPN,), SECRET, "then")
    odd = reach_of(fields | {field: value})
    place = ["ways", "given", "secret", "renewedAt"].index(field)
    assert [each for n, each in enumerate(odd) if n != place] == [each for n, each in enumerate(whole) if n != place]


@pytest.mark.parametrize(
    "make", [lambda uris: {"ways": uris}, lambda uris: {"given": dict.fromkeys(uris, True)}], ids=["ways", "given"]
)
def test_meet_237_of_a_record_without_end_no_more_is_used_than_the_limit(
    member: Member, make: Callable[[list[str]], dict[str, Any]]
) -> None:
    put(member, make([f"tcp://192.0.2.7:{port}" for port in range(1, 400)]))
    known = reach(member.stores["space"])[member.device]
    assert len(known.addresses) + len(known.given) in (MAX_WAYS, MAX_GIVEN)


def test_meet_234_a_way_of_a_kind_that_is_not_known_is_kept_and_passed_over(member: Member) -> None:
    """A relay will be one."""
    put(member, {"ways": ["relay://relay.example/00", LAN.uri]})
    assert reach(member.stores["space"])[member.device].addresses == (LAN,)


def test_meet_3_a_record_under_an_id_that_is_not_a_devices_is_passed_over(member: Member) -> None:
    with member.stores["space"].transaction(member.now, HIGH) as tx:
        tx.put("at-nobody", ADDRESSES, {"ways": [LAN.uri]})
    assert reach(member.stores["space"]) == {}


def test_meet_42_a_link_local_address_is_added_without_its_interface(member: Member) -> None:
    """`eth0` of the machine where it was typed went to all the others."""
    give(member.space, member.device, Address("fe80::1%eth0", 22067), member.now)
    assert reach(member.space)[member.device].given == (Address("fe80::1", 22067),)
    with member.space.reading() as reader:
        record = reader.entity(record_id(member.device))
    assert record is not None
    assert "eth0" not in str(record.document())
    assert take_away(member.space, member.device, Address("fe80::1%wlan0", 22067), member.now)
    assert reach(member.space)[member.device].given == ()


def test_meet_42_a_record_that_names_an_interface_all_the_same_is_read_without_it(member: Member) -> None:
    put(member, {path.join("given", "tcp://[fe80::1%eth0]:1"): True, "ways": ["tcp://[fe80::2%lo]:1"]})
    found = reach(member.space)[member.device]
    assert (found.addresses, found.given) == ((Address("fe80::2", 1),), (Address("fe80::1", 1),))
    assert take_away(member.space, member.device, Address("fe80::1", 1), member.now)
    assert reach(member.space)[member.device].given == ()
