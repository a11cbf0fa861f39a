"""What a paired device that lies may cost: MEND-14, MEND-27, MEND-28."""

from pathlib import Path

import pytest
from tests.support.counted import NOON
from tests.support.holder import Holder
from tests.support.household import Member, household
from tests.support.messages import SUMMARY
from tests.support.stores import new_store

from lottisync.entities.entity import HIGH
from lottisync.protocol import message as m
from lottisync.store.fingerprint import BYTES, FAN
from lottisync.sync.allowance import HOUR, MAX_COMPARISONS_PER_HOUR, Allowance
from lottisync.sync.event import AskedTooOften, ComparisonRefused, OverAllowance
from lottisync.sync.exchange import Exchange
from lottisync.sync.local_state import own_summary
from lottisync.sync.range_comparison import RangeComparison

LIES = [b"\xff" * BYTES] * FAN


def met(member: Member, allowance: Allowance) -> Exchange:
    """Its side of a conversation with a device that has greeted."""
    exchange = Exchange(
        Holder("d" * 64, member.stores),
        boot=bytes(16),
        allowance=allowance,
    )
    exchange.hello()
    exchange.carry_out([m.Hello(m.PROTOCOL_VERSION, b"e" * 32, bytes(16), bytes(16), bytes(8))], NOON)
    exchange.carry_out([m.Want({"journal": m.Have(SUMMARY, {})})], NOON)
    return exchange


def compared(member: Member, exchange: Exchange, times: int, now: int = NOON) -> list[m.Message]:
    """What is said to a peer that begins so many comparisons, each with a root of its own."""
    with member.stores["journal"].reading() as reader:
        known = own_summary(reader).known
    for number in range(times):
        root = m.TreeNode(b"", [number.to_bytes(BYTES, "big")] * FAN)
        exchange.carry_out([m.Compare("journal", known, [root])], now)
    said = list(exchange.comparisons.due)
    exchange.comparisons.due.clear()
    return said


def refusals(said: list[m.Message]) -> list[str]:
    return [message.refused for message in said if isinstance(message, m.Mended) and message.refused]


def test_mend_27_a_peer_that_begins_comparisons_without_end_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    """MEND-233, MEND-28, REL-D9: nor does it help to connect again. An hour later it may begin again."""
    (a,) = household(tmp_path, 1)
    a.put("t1", "Milk")
    allowance = Allowance()
    exchange = met(a, allowance)
    exchange.comparisons.leads = False
    said = compared(a, exchange, MAX_COMPARISONS_PER_HOUR)
    assert refusals(said) == []
    (reason,) = refusals(compared(a, exchange, 1))
    assert "too often" in reason
    assert OverAllowance("journal") in exchange.events
    (host,) = a.knowledge()
    assert exchange.carry_out([m.Probe("journal", host, [1])], NOON) != []
    exchange.close()

    again = met(a, allowance)
    again.comparisons.leads = False
    assert len(refusals(compared(a, again, 2))) == 2
    assert refusals(compared(a, again, 1, NOON + HOUR)) == []
    again.close()
    a.close()


def test_mend_27_mends_without_end_are_refused(tmp_path: Path) -> None:
    (a,) = household(tmp_path, 1)
    a.put("t1", "Milk")
    exchange = met(a, Allowance(mends=3))
    compared(a, exchange, 1)
    for _ in range(4):
        exchange.carry_out([m.Mend("journal", [], ["t1"])], NOON)
    said = list(exchange.comparisons.due)
    assert len(refusals(said)) == 1
    assert len([message for message in said if isinstance(message, m.Mend)]) == 3
    exchange.close()
    a.close()


def test_mend_234_a_refused_comparison_ends_and_the_reason_is_reported(tmp_path: Path) -> None:
    (a,) = household(tmp_path, 1)
    exchange = met(a, Allowance())
    exchange.verify("journal")
    exchange.more(8)
    with a.stores["journal"].reading() as reader:
        own = own_summary(reader)
    exchange.carry_out([m.Mended("journal", 0, own, "too often")], NOON)
    assert exchange.comparisons.verified["journal"].refused == "too often"
    assert ComparisonRefused("journal", "too often") in exchange.events
    assert exchange.status.comparing == {}
    exchange.close()
    a.close()


def test_mend_27_a_false_digest_costs_no_more_than_a_comparison_that_is_begun(tmp_path: Path) -> None:
    """On every new connection it could cause three (MEND-13); all of them together are counted."""
    (a,) = household(tmp_path, 1)
    a.put("t1", "Milk")
    allowance = Allowance(comparisons=4)
    begun = 0
    with a.stores["journal"].reading() as reader:
        true, knowledge = own_summary(reader), reader.knowledge()
    for _ in range(3):
        comparisons = met(a, allowance).comparisons
        comparisons.leads = True
        for _ in range(3):
            comparisons.heard_from("journal", knowledge, m.Summary(true.known, b"?" * 32), true, NOON)
            begun += len(comparisons.wanted)
            comparisons.wanted.clear()
    assert begun == 4
    a.close()


@pytest.mark.parametrize("leads", [True, False])
def test_mend_14_a_node_is_answered_once_and_only_below_one_that_this_side_has_said(
    tmp_path: Path, leads: bool
) -> None:
    """Else one comparison would read the store as often as a peer that lies likes, and keep its answers."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        for number in range(2_500):
            tx.put(f"t{number}", "task", {"title": "Milk"})
    comparison = RangeComparison("journal", store)
    if leads:
        comparison.opening()
        first = b"\x07"
    else:
        assert len(answered(comparison, b"")) == FAN
        first = b"\x07\x01"
    assert len(answered(comparison, first)) == FAN
    for prefix in (b"", first, b"\x08\x01\x01\x01", b"\x09\x01\x01\x01\x01"):
        assert answered(comparison, prefix) == []
    comparison.close()
    store.close()


def answered(comparison: RangeComparison, prefix: bytes) -> list[m.TreeNode]:
    """The nodes that are said to a peer that claims that all below this one differs."""
    (said,) = comparison.take(m.Compare("journal", comparison.known, [m.TreeNode(prefix, LIES)]))
    assert isinstance(said, m.Compare)
    return said.tree_nodes


def test_sync_100_wants_without_end_are_passed_over_and_the_session_goes_on(tmp_path: Path) -> None:
    """SYNC-100, SYNC-305, SYNC-306: over all connections; an hour later it is answered again."""
    (a,) = household(tmp_path, 1)
    a.put("t1", "Milk")
    allowance = Allowance(wants=3)
    want = m.Want({"journal": m.Have(SUMMARY, {})})
    exchange = met(a, allowance)
    exchange.more(100)
    for _ in range(5):
        exchange.carry_out([want], NOON)
    assert exchange.events.count(AskedTooOften()) == 1
    assert any(isinstance(said, m.Begin) for said in exchange.more(100))
    assert len(compared(a, exchange, 1)) == 1
    again = met(a, allowance)
    assert again.events.count(AskedTooOften()) == 1
    assert again.carry_out([want], NOON + HOUR) == []
    assert again.events.count(AskedTooOften()) == 1
    assert any(isinstance(said, m.Begin) for said in again.more(100))
