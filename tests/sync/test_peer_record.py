"""What is written down of a device that is away: MEET-41, MEET-43, MEET-49."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import anyio
import pytest
from tests.support.household import Member, inline

from lottisync.causality.hlc import MAX_DRIFT_MILLIS
from lottisync.device.absence import Away
from lottisync.device.peers import (
    ClockHeard,
    forget_handed_over,
    last_absences,
    last_clocks,
    remember_address,
    remember_introduction,
    remembered_addresses,
)
from lottisync.identity.pairing_message import Introduction
from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.store.instant import iso
from lottisync.sync.peer import AddressState, PeerState, why_away
from lottisync.sync.peer_record import KEPT_MS, PeerRecord

PHONE = "b" * 64

SILENT = Sentence("no answer")


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    made = Member(tmp_path, 1)
    yield made
    made.close()


def written(member: Member) -> dict[str, Away]:
    with member.space.reading() as reader:
        return last_absences(reader)


def test_meet_43_the_time_of_the_last_attempt_is_written_now_and_then_and_at_a_stop(member: Member) -> None:
    """MEET-311, MEET-312: before, it was the time of the last change of the reason: hours old, of a device that was
    tried a minute ago."""
    record = PeerRecord(member.space, inline, clock=lambda: member.now, report=lambda code, text: None)
    began = member.now

    def note(*, stopping: bool = False) -> None:
        away = Away("unreachable", iso(member.now), iso(began), "192.0.2.1:1", 0, SILENT, "2125-01-01T00:00:00.000Z")

        async def go() -> None:
            await record.away({PHONE: away}, stopping=stopping)

        anyio.run(go)

    note()
    first = written(member)[PHONE]
    assert first == Away("unreachable", iso(began), iso(began), "192.0.2.1:1", 0, SILENT, "2125-01-01T00:00:00.000Z")
    for _ in range(3):
        member.now += 30_000
        note()
        assert written(member)[PHONE] == first, "no write for each attempt"
    member.now = began + KEPT_MS
    note()
    assert written(member)[PHONE].tried_at == iso(began + KEPT_MS)
    member.now += 1000
    note(stopping=True)
    assert written(member)[PHONE].tried_at == iso(began + KEPT_MS + 1000)


def test_caus_670_how_far_a_clock_is_is_written_down_without_a_write_for_each_ping(member: Member) -> None:
    """CAUS-670"""
    record = PeerRecord(member.space, inline, clock=lambda: member.now, report=lambda code, text: None)
    far = 2 * MAX_DRIFT_MILLIS

    def heard(off: int, *, stopping: bool = False) -> ClockHeard:
        found = ClockHeard(off, iso(member.now))

        async def go() -> None:
            await record.clocks({PHONE: found}, stopping=stopping)

        anyio.run(go)
        return found

    def kept() -> ClockHeard:
        with member.space.reading() as reader:
            return last_clocks(reader)[PHONE]

    first = heard(1)
    assert kept() == first
    member.now += 2 * KEPT_MS
    heard(2)
    assert kept() == first, "a clock that is right is not news"
    turned = heard(far)
    assert kept() == turned
    member.now += KEPT_MS - 1
    heard(far + 1)
    assert kept() == turned
    member.now += 1
    assert heard(far + 2) == kept(), "it is five minutes old"
    member.now += 1
    assert heard(3) == kept(), "somebody has set the clock"
    member.now += 1
    assert heard(4, stopping=True) == kept()


@pytest.mark.parametrize("why", ["no-address", "unreachable", "refused", "version", "stopped", "looking"])
def test_meet_44_each_word_is_kept(member: Member, why: str) -> None:
    away = Away(why, iso(member.now))  # type: ignore[arg-type]  # a word of the list
    record = PeerRecord(member.space, inline, clock=lambda: member.now, report=lambda code, text: None)

    async def go(there: Away | None) -> None:
        await record.away({PHONE: there})

    anyio.run(go, away)
    assert written(member) == {PHONE: away}
    anyio.run(go, None)
    assert written(member) == {}


def test_meet_44_an_unreadable_row_hides_no_other(member: Member) -> None:
    with member.space.transaction(member.now, None) as tx:
        tx.execute("insert into absences values ('x', 'asleep', '', null, null, 0, null, null)")
        tx.execute("insert into absences values ('y', 'stopped', '', null, null, 0, null, null)")
    assert written(member) == {"y": Away("stopped", "")}


def test_meet_41_what_was_handed_over_and_never_worked_is_forgotten(member: Member) -> None:
    """Before, a stale address of a pairing was dialled for ever."""
    dead, worked = Address("192.0.2.1", 1), Address("192.0.2.2", 2)
    remember_introduction(member.space, PHONE, Introduction([dead.uri, worked.uri]), member.now)
    remember_address(member.space, PHONE, worked, member.now)
    forget_handed_over(member.space, PHONE, [dead, worked], member.now)
    assert remembered_addresses(member.space, PHONE) == [worked]


@pytest.mark.parametrize(
    ("code", "stranger", "why"),
    [("unreachable", False, "stopped"), ("refused", True, "stopped"), ("refused", False, "refused")],
)
def test_meet_430_after_a_goodbye_only_the_device_itself_refuses(
    code: Literal["unreachable", "refused"], stranger: bool, why: str
) -> None:
    """MEET-430"""
    at = AddressState("192.0.2.1:1", ["worked"], code=code, failure=Sentence("somebody else"), stranger=stranger)
    left = PeerState(PHONE, "phone", left_at=iso(0), addresses=[at])
    assert why_away(left, iso(1)).reason == why
    never = PeerState(PHONE, "phone", addresses=[at])
    assert why_away(never, iso(1)).reason == code
