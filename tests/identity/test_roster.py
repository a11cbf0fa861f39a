"""The roster: ROSTER-1 to ROSTER-20. Laws by hypothesis, the hard cases by name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from lottisync.identity.device_key import DeviceKey, IdentityError, grouped
from lottisync.identity.roster import Roster
from lottisync.identity.statement import MAX_AT_MS, HostBinding, MembershipRecord

ME, ANN, BEN, CAT = (DeviceKey.from_seed(letter * 32) for letter in (b"0", b"a", b"b", b"c"))
EVE, EVES_FRIEND = DeviceKey.from_seed(b"e" * 32), DeviceKey.from_seed(b"f" * 32)
FAMILY = [ME, ANN, BEN, CAT]
NAMES = {key.device_id: name for key, name in zip([*FAMILY, EVE], ["Me", "Ann", "Ben", "Cat", "Eve"], strict=True)}
HOST = "0123456789abcdef"


def add(by: DeviceKey, whom: DeviceKey, at_ms: int = 10, name: str = "") -> MembershipRecord:
    return MembershipRecord.adding(
        by, certificate=whom.certificate, name=name or NAMES.get(whom.device_id, "Other"), at_ms=at_ms
    )


def revoke(by: DeviceKey, whom: DeviceKey, at_ms: int = 20) -> MembershipRecord:
    return MembershipRecord.revoking(by, device=whom.device_id, at_ms=at_ms)


def retire(by: DeviceKey, whom: DeviceKey, at_ms: int = 20) -> MembershipRecord:
    return MembershipRecord.retiring(by, device=whom.device_id, at_ms=at_ms)


def rename(by: DeviceKey, whom: DeviceKey, name: str, at_ms: int = 20) -> MembershipRecord:
    return MembershipRecord.renaming(by, device=whom.device_id, name=name, at_ms=at_ms)


def fold(*records: MembershipRecord, hosts: Sequence[HostBinding] = (), own: DeviceKey = ME) -> Roster:
    return Roster.fold(own.certificate, records, hosts)


def status(roster: Roster, key: DeviceKey) -> str | None:
    member = roster.members.get(key.device_id)
    return member.status if member else None


def active(roster: Roster) -> set[str]:
    return {NAMES[peer.device] for peer in roster.active_peers()}


def reasons(roster: Roster, record: MembershipRecord | HostBinding) -> list[str]:
    return [reason for record_id, reason in roster.rejected if record_id == record.record_id]


def altered(record: MembershipRecord, **changes: Any) -> MembershipRecord:
    fields: dict[str, Any] = {name: getattr(record, name) for name in record.__struct_fields__}
    return MembershipRecord(**(fields | changes))


# Any statement, honest or not, by anybody of `signers` about anybody.


def statements(signers: Sequence[DeviceKey]) -> st.SearchStrategy[MembershipRecord]:
    everybody = [*FAMILY, EVE]

    def made(kind: str, by: DeviceKey, whom: DeviceKey, at_ms: int, name: str) -> MembershipRecord:
        match kind:
            case "added":
                return add(by, whom, at_ms, name)
            case "renamed":
                return rename(by, whom, name, at_ms)
            case "revoked" if by is not whom:
                return revoke(by, whom, at_ms)
            case _:
                return retire(by, whom, at_ms)

    return st.builds(
        made,
        st.sampled_from(["added", "added", "added", "renamed", "revoked", "retired"]),
        st.sampled_from(signers),
        st.sampled_from(everybody),
        st.integers(0, 6),
        st.sampled_from(["x", "y"]),
    )


HOSTS = st.builds(
    lambda key, digit: HostBinding.signed_by(key, host=digit * 16, store="journal"),
    st.sampled_from([*FAMILY, EVE]),
    st.sampled_from("12"),
)


@examples(150)
@given(
    st.lists(statements([*FAMILY, EVE]), max_size=12), st.lists(HOSTS, max_size=4), st.randoms(use_true_random=False)
)
def test_order_and_duplicates_do_not_matter(
    records: list[MembershipRecord], hosts: list[HostBinding], chance: Any
) -> None:
    """ROSTER-4"""
    expected = fold(*records, hosts=hosts)
    shuffled, hosts_again = records + records[:3], hosts + hosts[:1]
    chance.shuffle(shuffled)
    chance.shuffle(hosts_again)
    assert fold(*shuffled, hosts=hosts_again) == expected


@examples(150)
@given(
    st.lists(statements(FAMILY), max_size=8).map(
        lambda made: [record for record in made if record.kind != "added" or record.device != EVE.device_id]
    ),
    st.lists(statements([EVE]), max_size=6),
    st.lists(HOSTS, max_size=3),
)
def test_a_stranger_changes_nothing(
    records: list[MembershipRecord], strange: list[MembershipRecord], hosts: list[HostBinding]
) -> None:
    """ROSTER-6"""
    honest = [host for host in hosts if host.device != EVE.device_id]
    before, after = fold(*records, hosts=honest), fold(*records, *strange, hosts=hosts)
    assert after.members == before.members
    assert after.host_owner == before.host_owner
    assert after.revoked_here_by == before.revoked_here_by
    for record in strange:
        assert reasons(after, record)


@examples(100)
@given(
    st.lists(statements(FAMILY), min_size=1, max_size=8),
    st.integers(0, 7),
    st.integers(0, 63),
    st.integers(1, 255),
)
def test_a_forged_signature_is_as_no_record(records: list[MembershipRecord], which: int, at: int, flip: int) -> None:
    """ROSTER-5"""
    chosen = records[which % len(records)]
    bent = bytearray(chosen.signature)
    bent[at] ^= flip
    forged = altered(chosen, signature=bytes(bent))
    others = [record for record in records if record != chosen]
    expected, got = fold(*others), fold(*others, forged)
    assert got.members == expected.members
    assert reasons(got, forged)


@examples(150)
@given(st.lists(statements([*FAMILY, EVE]), max_size=10), statements(FAMILY))
def test_a_revocation_only_takes_away(records: list[MembershipRecord], one: MembershipRecord) -> None:
    """ROSTER-9, ROSTER-7: no matter who signs it; and in its own roster a device is never removed."""
    before = fold(*records)
    if one.kind == "revoked":
        after = fold(*records, one)
        assert {peer.device for peer in after.active_peers()} <= {peer.device for peer in before.active_peers()}
    assert status(fold(*records, one), ME) in ("active", "retired")


@examples(150)
@given(st.lists(statements(FAMILY), max_size=8), st.lists(statements([EVE]), max_size=6))
def test_nothing_a_revoked_device_says_brings_anybody_in(
    records: list[MembershipRecord], late: list[MembershipRecord]
) -> None:
    """ROSTER-10: whatever date is on it. (It may still take away: ROSTER-9.)"""
    known = [*records, add(ME, EVE, 3), revoke(ME, EVE, MAX_AT_MS)]
    before, after = fold(*known), fold(*known, *late)
    assert status(after, EVE) == "revoked"
    assert {peer.device for peer in after.active_peers()} <= {peer.device for peer in before.active_peers()}
    assert (status(before, ME), status(after, ME)) != ("active", "retired")


@examples(150)
@given(st.lists(statements([*FAMILY, EVE]), max_size=12), st.sampled_from(FAMILY[1:]))
def test_resting_on_tells_whom_a_revocation_costs(records: list[MembershipRecord], whom: DeviceKey) -> None:
    """ROSTER-18, ROSTER-19"""
    before = fold(*records)
    resting = before.resting_on(whom.device_id)
    after = fold(*records, revoke(ME, whom, before.next_at(whom.device_id, 0)))
    belonging = ("active", "retired")
    lost = [
        device
        for device, member in before.members.items()
        if member.status in belonging and after.members[device].status not in belonging
    ]
    assert [device for device in lost if device != whom.device_id] == resting
    assert status(after, whom) not in belonging


def test_the_signed_bytes_are_these() -> None:
    """ROSTER-1, ROSTER-2: written out, so that another implementation can be held against them."""
    record = rename(ME, ANN, "Küche", 300)
    expected = (
        b"lottisync/membership/1\x00"
        + b"\x96"
        + b"\xa7renamed"
        + b"\xd9\x40"
        + ANN.device_id.encode()
        + b"\xa6K\xc3\xbcche"
        + b"\xc4\x00"
        + b"\xd9\x40"
        + ME.device_id.encode()
        + b"\xcd\x01\x2c"
    )
    assert record.signed_bytes == expected
    assert record.signature == ME.sign(expected)
    assert record.record_id == "m-" + hashlib.sha256(expected).hexdigest()[:32]
    binding = HostBinding.signed_by(ME, host=HOST, store="journal")
    assert binding.signed_bytes == (
        b"lottisync/host-binding/1\x00\x93\xb00123456789abcdef\xa7journal\xd9\x40" + ME.device_id.encode()
    )
    assert binding.signature == ME.sign(binding.signed_bytes)
    assert binding.record_id == "host-" + HOST


def test_the_same_statement_is_the_same_record() -> None:
    """ROSTER-2"""
    assert add(ME, ANN) == add(ME, ANN)
    distinct = [
        add(ME, ANN),
        add(ME, ANN, 11),
        add(ME, ANN, name="Anna"),
        add(ME, BEN),
        add(BEN, ANN),
        rename(ME, ANN, "Ann", 10),
        revoke(ME, ANN, 10),
        retire(ME, ANN, 10),
    ]
    assert len({record.record_id for record in distinct}) == len(distinct)


@given(statements([*FAMILY, EVE]))
def test_a_record_survives_its_document(record: MembershipRecord) -> None:
    """ROSTER-3"""
    as_json = msgspec.json.decode(msgspec.json.encode(record.to_fields()))
    assert MembershipRecord.from_fields(as_json) == record
    assert MembershipRecord.from_fields(as_json | {"type": "membership"}) == record


def test_a_binding_survives_its_document() -> None:
    """ROSTER-3"""
    binding = HostBinding.signed_by(ME, host=HOST, store="journal")
    assert HostBinding.from_fields(binding.to_fields()) == binding


ADDED = add(ME, ANN).to_fields()
REVOKED = revoke(ME, ANN).to_fields()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {key: value for key, value in ADDED.items() if key != "certificate"},
        {key: value for key, value in ADDED.items() if key != "signature"},
        ADDED | {"kind": "promoted"},
        ADDED | {"device": BEN.device_id},
        ADDED | {"device": ANN.device_id.upper()},
        ADDED | {"device": ANN.device_id + "\n"},
        ADDED | {"by": "me"},
        ADDED | {"name": ""},
        ADDED | {"name": "a\nb"},
        ADDED | {"name": "\ud800"},
        ADDED | {"name": None},
        ADDED | {"at_ms": -1},
        ADDED | {"at_ms": 2**53},
        ADDED | {"at_ms": 2**70},
        ADDED | {"at_ms": "10"},
        ADDED | {"at_ms": True},
        ADDED | {"at_ms": 1.5},
        ADDED | {"signature": "AAAA"},
        ADDED | {"signature": "*" * 88},
        ADDED | {"signature": str(ADDED["signature"]) + "\n"},
        ADDED | {"signature": "A" * 85 + "B=="},
        ADDED | {"signature": "ü" * 88},
        ADDED | {"certificate": "AAAA"},
        REVOKED | {"name": "Ann"},
        REVOKED | {"certificate": ADDED["certificate"]},
        REVOKED | {"device": ME.device_id},
        REVOKED | {"kind": ["revoked"]},
    ],
)
def test_malformed_fields_are_refused(fields: dict[str, object]) -> None:
    """ROSTER-3"""
    with pytest.raises(IdentityError):
        MembershipRecord.from_fields(fields)


BOUND = HostBinding.signed_by(ME, host=HOST, store="journal").to_fields()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        BOUND | {"host": "0123456789ABCDEF"},
        BOUND | {"host": HOST + "\n"},
        BOUND | {"host": HOST[:-1]},
        BOUND | {"host": 1},
        BOUND | {"store": ""},
        BOUND | {"store": "Journal"},
        BOUND | {"store": "a" * 33},
        BOUND | {"device": "me"},
        BOUND | {"signature": "AAAA"},
    ],
)
def test_malformed_bindings_are_refused(fields: dict[str, object]) -> None:
    """ROSTER-3"""
    with pytest.raises(IdentityError):
        HostBinding.from_fields(fields)


@pytest.mark.parametrize(("at_ms", "name"), [(2**70, "Ann"), (-1, "Ann"), (1, "\ud800"), (1, "")])
def test_nothing_malformed_is_signed(at_ms: int, name: str) -> None:
    """ROSTER-40"""
    with pytest.raises(IdentityError):
        MembershipRecord.renaming(ME, device=ANN.device_id, name=name, at_ms=at_ms)
    with pytest.raises(IdentityError, match="retires"):
        revoke(ME, ME)
    with pytest.raises(IdentityError, match="promoted"):
        altered(revoke(ME, ANN), kind="promoted")


@pytest.mark.parametrize(
    "changes",
    [{"at_ms": 11}, {"name": "Anna"}, {"by": BEN.device_id}, {"device": BEN.device_id, "certificate": BEN.certificate}],
)
def test_a_changed_record_is_rejected(changes: dict[str, object]) -> None:
    """ROSTER-5"""
    changed = altered(add(ME, ANN), **changes)
    roster = fold(add(ME, CAT), changed)
    assert active(roster) == {"Cat"}
    assert reasons(roster, changed)
    rejected = reasons(
        fold(altered(revoke(ME, ANN), kind="retired"), add(ME, ANN)), altered(revoke(ME, ANN), kind="retired")
    )
    assert rejected == ["the signature does not hold"]


def test_a_device_alone_trusts_itself() -> None:
    """ROSTER-7"""
    roster = fold()
    assert roster.self_id == ME.device_id
    assert roster.active_peers() == []
    assert roster.members[ME.device_id].status == "active"
    assert roster.members[ME.device_id].name == grouped(ME.device_id)[:9]
    assert fold(add(ME, ME, name="Desk")).members[ME.device_id].name == "Desk"


def test_a_device_knows_who_has_revoked_it() -> None:
    """ROSTER-7"""
    roster = fold(add(ME, ANN), revoke(ANN, ME), revoke(EVE, ME))
    assert status(roster, ME) == "active"
    assert roster.revoked_here_by == (ANN.device_id,)
    assert active(roster) == {"Ann"}


def test_trust_is_passed_on() -> None:
    """ROSTER-8: pairing with one makes a device known to all."""
    chain = [add(ME, ANN), add(ANN, BEN), add(BEN, CAT)]
    assert active(fold(*chain)) == {"Ann", "Ben", "Cat"}
    assert active(fold(*chain[1:])) == set()
    seen_by_cat = fold(*chain, add(CAT, BEN), add(BEN, ANN), add(ANN, ME), own=CAT)
    assert active(seen_by_cat) == {"Me", "Ann", "Ben"}
    assert fold(*chain).members[CAT.device_id].vouched_by == (BEN.device_id,)


@pytest.mark.parametrize(("at_ms", "expected"), [(9, "active"), (10, "revoked"), (11, "revoked")])
def test_a_revocation_beats_what_is_not_later(at_ms: int, expected: str) -> None:
    """ROSTER-9"""
    assert status(fold(add(ME, ANN, 10), add(ME, BEN), revoke(BEN, ANN, at_ms)), ANN) == expected


def test_a_sponsor_can_be_revoked_by_whom_it_brought() -> None:
    """ROSTER-9, ROSTER-12: the one in hand is out too, until it is added from here; that is the safe side."""
    records = [add(ME, ANN), add(ANN, BEN), revoke(BEN, ANN)]
    assert (status(fold(*records), ANN), status(fold(*records), BEN)) == ("revoked", "unvouched")
    assert active(fold(*records, add(ME, BEN, 30))) == {"Ben"}


def test_two_that_revoke_each_other_are_both_out() -> None:
    """ROSTER-9, ROSTER-11: until a third member decides."""
    records = [add(ME, ANN), add(ME, BEN), revoke(ANN, BEN, 20), revoke(BEN, ANN, 25)]
    assert active(fold(*records)) == set()
    assert active(fold(*records, add(ME, ANN, 30))) == {"Ann"}


def test_a_revoked_device_adds_no_device_by_an_old_date() -> None:
    """ROSTER-10"""
    backdated = add(ANN, EVE, 1)
    roster = fold(add(ME, ANN, 10), revoke(ME, ANN, 20), backdated, add(EVE, EVES_FRIEND, 1))
    assert active(roster) == set()
    assert status(roster, EVE) == status(roster, EVES_FRIEND) == "unvouched"
    assert reasons(roster, backdated) == ["signed by a device that is revoked or that no member vouches for"]
    assert reasons(fold(add(ME, ANN), revoke(ME, ANN), rename(ANN, ME, "Mine")), rename(ANN, ME, "Mine"))


def test_a_remaining_member_readmits() -> None:
    """ROSTER-11"""
    records = [add(ME, ANN, 10), add(ME, BEN, 10), revoke(BEN, ANN, 20)]
    assert active(fold(*records, add(BEN, ANN, 20))) == {"Ben"}
    assert active(fold(*records, add(BEN, ANN, 21))) == {"Ann", "Ben"}
    assert active(fold(*records, add(ANN, ANN, 99))) == {"Ben"}
    assert active(fold(*records, add(BEN, ANN, 21), revoke(ME, ANN, 30))) == {"Ben"}
    assert fold(*records, add(BEN, ANN, 21)).members[ANN.device_id].vouched_by == (BEN.device_id,)


def test_whom_the_revoked_brought_waits_for_a_new_sponsor() -> None:
    """ROSTER-12, ROSTER-18"""
    records = [add(ME, ANN), add(ANN, BEN), add(BEN, CAT)]
    assert set(fold(*records).resting_on(ANN.device_id)) == {BEN.device_id, CAT.device_id}
    assert fold(*records).resting_on(CAT.device_id) == []
    out = fold(*records, revoke(ME, ANN))
    assert [status(out, key) for key in (ANN, BEN, CAT)] == ["revoked", "unvouched", "unvouched"]
    assert out.members[BEN.device_id].name == "Ben"
    assert out.members[BEN.device_id].vouched_by == ()
    assert active(fold(*records, revoke(ME, ANN), add(ME, BEN, 5))) == {"Ben", "Cat"}


def test_the_latest_name_wins() -> None:
    """ROSTER-13"""
    records = [add(ME, ANN, 10), rename(ME, ANN, "Old", 15), rename(ANN, ANN, "New", 20), rename(EVE, ANN, "Bad", 30)]
    assert fold(*records).members[ANN.device_id].name == "New"
    assert fold(*records, add(ME, ANN, 25, name="Paired again")).members[ANN.device_id].name == "Paired again"
    tied = [rename(ME, ANN, name, 20) for name in ("One", "Two")]
    greatest = max(tied, key=lambda record: record.record_id)
    assert fold(add(ME, ANN), *tied).members[ANN.device_id].name == greatest.name


def test_a_retired_device_is_trusted_and_not_active() -> None:
    """ROSTER-14, ROSTER-30, ROSTER-41: what it said holds; it is taken if it asks."""
    roster = fold(add(ME, ANN), add(ANN, BEN), retire(ME, ANN, 20))
    assert status(roster, ANN) == "retired"
    assert active(roster) == {"Ben"}
    assert {NAMES[peer.device] for peer in roster.trusted_peers()} == {"Ann", "Ben"}
    assert status(fold(add(ME, ANN), retire(ANN, ANN, 20)), ANN) == "retired"
    assert status(fold(add(ME, ANN), retire(ME, ANN, 20), add(ME, ANN, 30)), ANN) == "active"
    revoked = fold(add(ME, ANN), retire(ME, ANN, 20), revoke(ME, ANN, 15))
    assert status(revoked, ANN) == "revoked"
    assert revoked.trusted_peers() == []
    assert status(fold(retire(ME, ME)), ME) == "retired"
    put_away = [add(ME, ANN), add(ME, BEN), retire(ANN, BEN, 20)]
    assert active(fold(*put_away, revoke(ME, ANN, 30))) == set()


def test_a_devices_word_about_itself_names_it_and_brings_it_back_from_retirement() -> None:
    """ROSTER-15, ROSTER-20"""
    retired = [add(ME, ANN), add(ANN, ANN, 10), retire(ME, ANN, 20)]
    assert status(fold(*retired), ANN) == "retired"
    assert status(fold(*retired, add(ANN, ANN, 20)), ANN) == "retired"  # not later
    back = fold(*retired, add(ANN, ANN, 30, name="Back"))
    assert status(back, ANN) == "active"
    assert back.members[ANN.device_id].name == "Back"
    assert back.members[ANN.device_id].vouched_by == (ME.device_id,)
    assert status(fold(*retired, add(ANN, ANN, 30), own=ANN), ANN) == "active"
    assert status(fold(*retired, add(ANN, ANN, 30), retire(ME, ANN, 40)), ANN) == "retired"


def test_a_device_cannot_add_itself() -> None:
    """ROSTER-15"""
    assert status(fold(add(EVE, EVE)), EVE) is None
    assert status(fold(add(ME, ANN), revoke(ME, ANN, 20), add(ANN, ANN, 30)), ANN) == "revoked"
    assert status(fold(add(ME, ANN), retire(ME, ANN, 20), revoke(ME, ANN, 25), add(ANN, ANN, 30)), ANN) == "revoked"


def test_a_statement_about_a_device_that_no_member_added_is_rejected() -> None:
    """ROSTER-8"""
    for record in (rename(ME, ANN, "Ann"), revoke(ME, ANN), retire(ME, ANN)):
        roster = fold(record)
        assert list(roster.members) == [ME.device_id]
        assert reasons(roster, record) == ["about a device that no member added"]


def test_a_host_belongs_to_the_device_that_signed() -> None:
    """ROSTER-16: also when that device is out, for what it wrote before is still here."""
    mine = HostBinding.signed_by(ME, host="1" * 16, store="journal")
    anns = HostBinding.signed_by(ANN, host="2" * 16, store="journal")
    eves = HostBinding.signed_by(EVE, host="3" * 16, store="journal")
    roster = fold(add(ME, ANN), revoke(ME, ANN), hosts=[mine, anns, eves])
    assert roster.host_owner == {"1" * 16: ME.device_id, "2" * 16: ANN.device_id}
    assert reasons(roster, eves)
    known_stranger = fold(add(EVE, EVE), hosts=[eves])
    assert known_stranger.host_owner == {}
    assert reasons(known_stranger, eves) == ["signed by a device that never was a member"]


def test_a_forged_binding_is_rejected() -> None:
    """ROSTER-5, ROSTER-16"""
    good = HostBinding.signed_by(ANN, host=HOST, store="journal")
    for forged in (
        HostBinding(host=HOST, store="agent", device=ANN.device_id, signature=good.signature),
        HostBinding(host="f" * 16, store="journal", device=ANN.device_id, signature=good.signature),
        HostBinding(host=HOST, store="journal", device=ME.device_id, signature=good.signature),
    ):
        roster = fold(add(ME, ANN), hosts=[forged])
        assert roster.host_owner == {}
        assert reasons(roster, forged) == ["the signature does not hold"]


def test_two_claims_to_a_host_are_settled_the_same_way_everywhere() -> None:
    """ROSTER-17: the claim of an active member comes before that of a former one; then the smaller id."""
    claims = [HostBinding.signed_by(key, host=HOST, store="journal") for key in (ANN, BEN)]
    both = fold(add(ME, ANN), add(ME, BEN), hosts=claims)
    assert both.host_owner == {HOST: min(ANN.device_id, BEN.device_id)}
    assert [reason for _, reason in both.rejected] == ["the host is another device's"]
    for out, left in ((ANN, BEN), (BEN, ANN)):
        assert fold(add(ME, ANN), add(ME, BEN), revoke(ME, out), hosts=claims).host_owner == {HOST: left.device_id}


def test_a_slow_clock_can_still_revoke() -> None:
    """ROSTER-19"""
    roster = fold(add(ME, ANN, 1_000))
    at_ms = roster.next_at(ANN.device_id, 5)
    assert status(fold(add(ME, ANN, 1_000), revoke(ME, ANN, at_ms)), ANN) == "revoked"
    assert roster.next_at(ANN.device_id, 2_000) == 2_000
    assert roster.next_at(BEN.device_id, 7) == 7
    with pytest.raises(IdentityError, match="new key"):
        fold(add(ME, ANN, MAX_AT_MS)).next_at(ANN.device_id, 0)
