"""The projection's laws, and its table: from change sets, decisions and time to statuses."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.reviewer import DAY, START

from lottisync.review.change import ChangeDecision, ChangeItem, ChangeSet
from lottisync.review.projection import EXPIRY, FOREVER, ItemState, ItemStatus, SetState, SetStatus, heads_of, project
from lottisync.store.instant import iso

CREATED = iso(START)


def item(number: int, set_id: str = "s") -> ChangeItem:
    return ChangeItem(f"{set_id}.{number}", "update_task_estimate", {"minutes": 60}, "", "digest", f"op{number}")


def change_set(count: int = 1, ident: str = "s") -> ChangeSet:
    return ChangeSet(ident, items=[item(n, ident) for n in range(count)], created_at=CREATED)


def decision(ident: str, verdict: str, *, op: str = "op0", seen: tuple[str, ...] = (), **more: Any) -> ChangeDecision:
    fields: dict[str, Any] = {"args": {"minutes": 60}, "created_at": iso(START + 1000), **more}
    return ChangeDecision(ident, operation_id=op, verdict=verdict, seen=list(seen), **fields)


def one(*decisions: ChangeDecision, now: int = START + 2000) -> tuple[str, bool, bool]:
    [state] = project([change_set()], decisions, now)["s"].items.values()
    return state.status, state.contested, state.expired


def test_rev31_what_is_not_a_time_is_as_early_as_can_be() -> None:
    """Of two times until when an item waits, one that cannot be read is never the later one; and a set that does not
    say when it was made expires when it would if it had been made at the beginning of time."""
    unreadable, early = decision("a", "deferred", until="soon"), decision("b", "deferred", until=iso(1))
    for decisions in itertools.permutations((unreadable, early)):
        assert project([change_set()], decisions, START)["s"].items["s.0"].until == iso(1)
    timeless = ChangeSet("s", items=[item(0)], created_at="some day")
    for now, expired in ((EXPIRY - 1, False), (EXPIRY, True)):
        assert project([timeless], [], now)["s"].items["s.0"].expired is expired


@pytest.mark.parametrize(
    ("decisions", "status", "contested"),
    [
        ([], "pending", False),
        ([("a", "confirmed", ())], "confirmed", False),
        ([("a", "rejected", ())], "rejected", False),
        ([("a", "confirmed", ()), ("b", "confirmed", ())], "confirmed", False),
        ([("a", "rejected", ()), ("b", "rejected", ())], "rejected", False),
        ([("a", "confirmed", ()), ("b", "rejected", ())], "confirmed", True),
        ([("a", "confirmed", ()), ("b", "rejected", ("a",))], "rejected", False),
        ([("a", "rejected", ()), ("b", "confirmed", ("a",))], "confirmed", False),
        ([("a", "confirmed", ()), ("b", "rejected", ()), ("c", "confirmed", ("a", "b"))], "confirmed", False),
        ([("a", "confirmed", ()), ("b", "rejected", ()), ("c", "rejected", ("b",))], "confirmed", True),
        ([("a", "deferred", ()), ("b", "rejected", ())], "rejected", False),
        ([("a", "deferred", ()), ("b", "confirmed", ())], "confirmed", False),
        ([("a", "retracted", ())], "retracted", False),
        ([("a", "retracted", ()), ("b", "rejected", ())], "rejected", False),
        ([("a", "rejected", ("a",))], "rejected", False),
        ([("a", "confirmed", ("a",)), ("b", "rejected", ())], "confirmed", True),
        ([("a", "confirmed", ("b",)), ("b", "rejected", ("a",))], "confirmed", True),
    ],
)
def test_rev31_heads_and_contests(
    decisions: list[tuple[str, str, tuple[str, ...]]], status: str, contested: bool
) -> None:
    """REV-31, REV-316."""
    assert one(*(decision(i, v, seen=seen) for i, v, seen in decisions)) == (status, contested, False)


def test_rev31_confirmed_with_other_arguments_is_contested() -> None:
    """REV-316."""
    other = decision("b", "confirmed", args={"minutes": 90})
    assert one(decision("a", "confirmed"), other) == ("confirmed", True, False)
    worded = decision("b", "confirmed", args={"minutes": 60, "reason": "other words"})
    assert one(decision("a", "confirmed"), worded) == ("confirmed", False, False)


def test_rev31_an_agent_that_takes_its_proposal_back_does_not_contest_a_person() -> None:
    """REV-316."""
    retracted = decision("b", "retracted", actor="agent")
    assert one(decision("a", "confirmed"), retracted) == ("confirmed", False, False)
    assert one(decision("a", "confirmed"), decision("b", "retracted")) == ("confirmed", True, False)


def test_s1_53_expiry_is_seven_days_and_a_verdict_beats_it() -> None:
    """S1-53, REV-33, REV-317: on every device, with nothing written."""
    assert one(now=START + EXPIRY - 1) == ("pending", False, False)
    assert one(now=START + EXPIRY) == ("pending", False, True)
    assert one(decision("a", "rejected"), now=START + EXPIRY) == ("rejected", False, False)
    late = decision("a", "confirmed", created_at=iso(START + 30 * DAY))
    assert one(late, now=START + 60 * DAY) == ("confirmed", False, False)


def test_rev34_deferred_sleeps_wakes_and_has_seven_days_again() -> None:
    """REV-34."""
    put_off = decision("a", "deferred", until=iso(START + 30 * DAY))
    assert one(put_off, now=START + 30 * DAY - 1) == ("deferred", False, False)
    assert one(put_off, now=START + 30 * DAY) == ("pending", False, False)
    assert one(put_off, now=START + 37 * DAY - 1) == ("pending", False, False)
    assert one(put_off, now=START + 37 * DAY) == ("pending", False, True)
    assert one(decision("a", "deferred", until="soon")) == ("pending", False, False)


@pytest.mark.parametrize(
    ("verdicts", "days", "status"),
    [
        ([None, None], 0, SetStatus.PENDING),
        (["confirmed", None], 0, SetStatus.PARTIALLY_RESOLVED),
        (["rejected", "deferred"], 0, SetStatus.PARTIALLY_RESOLVED),
        ([None, "deferred"], 0, SetStatus.PENDING),
        (["confirmed", "rejected"], 0, SetStatus.RESOLVED),
        (["retracted", "rejected"], 0, SetStatus.RESOLVED),
        ([None, None], 8, SetStatus.EXPIRED),
        (["confirmed", None], 8, SetStatus.RESOLVED),
    ],
)
def test_s2_11_statuses_of_sets(verdicts: list[str | None], days: int, status: SetStatus) -> None:
    """S2-11, REV-32, S1-57."""
    decisions = [
        decision(f"d{n}", verdict, op=f"op{n}", until=iso(START + DAY)) for n, verdict in enumerate(verdicts) if verdict
    ]
    state = project([change_set(len(verdicts))], decisions, START + 2000 + days * DAY)["s"]
    assert state.status == status
    assert (state.resolved_at is not None) == (status is SetStatus.RESOLVED)


def test_rev30_equal_proposals_share_their_verdicts() -> None:
    """REV-30."""
    states = project([change_set(1, "s"), change_set(1, "z")], [decision("a", "rejected")], START)
    assert {state.items[ident].status for (s, state), ident in zip(states.items(), ("s.0", "z.0"), strict=True)} == {
        "rejected"
    }


def state_of(*decisions: ChangeDecision, now: int = START + 2000, count: int = 1) -> SetState:
    return project([change_set(count)], decisions, now)["s"]


def item_of(*decisions: ChangeDecision, now: int = START + 2000) -> ItemState:
    return state_of(*decisions, now=now).items["s.0"]


def test_rev34_of_two_deferrals_the_later_one_counts() -> None:
    """REV-34: whichever of them is the older decision."""
    soon, late = iso(START + 10 * DAY), iso(START + 30 * DAY)
    for first, second in ((soon, late), (late, soon)):
        put_off = decision("a", "deferred", until=first), decision("b", "deferred", until=second)
        assert item_of(*put_off).until == late
        assert one(*put_off, now=START + 30 * DAY - 1) == ("deferred", False, False)


@pytest.mark.parametrize(
    ("decisions", "shown", "undone", "successor"),
    [
        ([], "pending", False, None),
        ([decision("a", "confirmed")], "confirmed", False, None),
        ([decision("a", "rejected")], "rejected", False, None),
        ([decision("a", "confirmed"), decision("b", "rejected")], "contested", False, None),
        ([decision("a", "retracted")], "undone", True, None),
        ([decision("a", "retracted", actor="agent")], "retracted", False, None),
        ([decision("a", "retracted", actor="agent", superseded_by="s.1")], "superseded", False, "s.1"),
        ([decision("a", "retracted", superseded_by="s.1")], "undone", True, "s.1"),
        ([decision("a", "rejected", superseded_by="s.1")], "rejected", False, None),
    ],
)
def test_rev_660_what_became_of_an_item_is_one_word(
    decisions: list[ChangeDecision], shown: str, undone: bool, successor: str | None
) -> None:
    """REV-660"""
    state = item_of(*decisions)
    assert (state.shown_status, state.undone, state.superseded_by) == (shown, undone, successor)


def test_rev33_an_expired_item_is_shown_as_expired() -> None:
    assert item_of(now=START + EXPIRY).shown_status == "expired"
    assert item_of(now=START + EXPIRY - 1).shown_status == "pending"


def test_rev_660_of_two_that_took_its_place_the_later_decision_names_it() -> None:
    def retracted(ident: str, at: int, successor: str) -> ChangeDecision:
        return decision(ident, "retracted", actor="agent", superseded_by=successor, created_at=iso(START + at))

    assert item_of(retracted("a", 10, "s.1"), retracted("b", 20, "s.2")).superseded_by == "s.2"
    assert item_of(retracted("b", 10, "s.1"), retracted("a", 20, "s.2")).superseded_by == "s.2"


@pytest.mark.parametrize(
    ("decisions", "days", "is_open", "is_settled"),
    [
        ([], 0, True, False),
        ([], 8, False, False),
        ([decision("a", "confirmed")], 0, False, True),
        ([decision("a", "confirmed"), decision("b", "rejected")], 0, True, False),
        ([decision("a", "deferred", until=iso(START + 30 * DAY))], 0, False, False),
    ],
)
def test_rev33_what_waits_for_the_person_and_what_is_settled(
    decisions: list[ChangeDecision], days: int, is_open: bool, is_settled: bool
) -> None:
    """REV-34: a set that was put off or has expired does not wait now, and may be decided later."""
    state = state_of(*decisions, now=START + 2000 + days * DAY)
    assert (state.open, state.settled) == (is_open, is_settled)


def test_rev33_a_state_says_from_when_until_when_it_holds() -> None:
    """REV-34, REV-317: what is decided holds for ever, a number that JSON carries."""
    assert (state_of().since, state_of().until) == (0, START + EXPIRY)
    expired = state_of(now=START + EXPIRY)
    assert (expired.since, expired.until) == (START + EXPIRY, FOREVER)
    decided = state_of(decision("a", "rejected"))
    assert (decided.since, decided.until) == (0, FOREVER)
    put_off = decision("a", "deferred", until=iso(START + 30 * DAY))
    assert (state_of(put_off).since, state_of(put_off).until) == (0, START + 30 * DAY)
    woken = state_of(put_off, now=START + 30 * DAY)
    assert (woken.since, woken.until) == (START + 30 * DAY, START + 37 * DAY)
    assert FOREVER == 9_007_199_254_740_991


# -- laws

_verdicts = st.sampled_from(["confirmed", "rejected", "deferred", "retracted"])


@st.composite
def histories(draw: st.DrawFn) -> list[ChangeDecision]:
    """Decisions of devices that know of some of the earlier ones."""
    made: list[ChangeDecision] = []
    for n in range(draw(st.integers(0, 7))):
        op = f"op{draw(st.integers(0, 2))}"
        known = [d.id for d in made if d.operation_id == op and draw(st.booleans())]
        made.append(
            decision(
                f"d{n}",
                draw(_verdicts),
                op=op,
                seen=tuple(known),
                args={"minutes": draw(st.sampled_from([60, 90]))},
                actor=draw(st.sampled_from(["user", "user", "agent"])),
                created_at=iso(START + draw(st.integers(0, 5000))),
                until=iso(START + draw(st.integers(0, 20)) * DAY),
            )
        )
    return made


@given(histories(), st.integers(0, 30), st.randoms(use_true_random=False))
def test_rev30_the_order_of_arrival_is_nothing(history: list[ChangeDecision], days: int, chance: random.Random) -> None:
    """REV-30."""
    sets = [change_set(2, "s"), change_set(3, "z")]
    shuffled, shuffled_sets = [*history, *history], list(sets)
    chance.shuffle(shuffled)
    chance.shuffle(shuffled_sets)
    now = START + days * DAY
    assert project(shuffled_sets, shuffled, now) == project(sets, history, now)


@given(histories(), st.integers(0, 30))
def test_rev31_no_verdict_is_lost(history: list[ChangeDecision], days: int) -> None:
    """REV-31, REV-316. Every decision counts, or one that counts had seen it. Those are shown."""
    states = project([change_set(3)], history, START + days * DAY)["s"].items
    for number, state in enumerate(states.values()):
        known = {d.id: d for d in history if d.operation_id == f"op{number}"}
        reached, todo = set(), [head.id for head in state.heads]
        while todo:
            ident = todo.pop()
            reached.add(ident)
            todo += [i for i in known[ident].seen if i in known and i not in reached]
        assert reached == set(known)
        verdicts = {head.verdict for head in state.heads}
        by_user = {head.verdict for head in state.heads if head.actor == "user"}
        if "confirmed" in verdicts:
            assert state.status is ItemStatus.CONFIRMED
            assert state.contested or "rejected" not in verdicts
            assert state.contested or "retracted" not in by_user
        assert not (state.expired and state.decided)
        if "rejected" in verdicts or "retracted" in (by_user or verdicts):
            assert state.decided


def test_rev31_every_pair_of_concurrent_verdicts_is_symmetric() -> None:
    """REV-31."""
    for first, second in itertools.product(["confirmed", "rejected", "deferred", "retracted"], repeat=2):
        assert one(decision("a", first), decision("b", second)) == one(decision("a", second), decision("b", first))


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdefg")), min_size=1))
def test_rev31_heads_are_those_that_nothing_else_has_seen(listed: dict[str, set[str]]) -> None:
    """REV-31, rings too: a head has seen all that has seen it, over any number of steps."""
    seen = {ident: set(others) & listed.keys() for ident, others in listed.items()}
    for _ in listed:
        seen = {ident: others.union(*(seen[other] for other in others)) for ident, others in seen.items()}
    expected = [a for a in sorted(listed) if all(b in seen[a] or b == a for b in listed if a in seen[b])]
    known = {ident: decision(ident, "rejected", seen=tuple(others)) for ident, others in listed.items()}
    assert [head.id for head in heads_of(known)] == expected


def test_rev31_a_ring_of_confirmations_is_not_hidden_by_a_retraction() -> None:
    ring = decision("a", "confirmed", seen=("b",)), decision("b", "confirmed", seen=("a",))
    assert one(*ring, decision("u", "retracted")) == ("confirmed", True, False)


def test_rev161_what_a_decision_undoes_does_not_decide_the_status() -> None:
    """REV-326"""
    rejected = decision("n", "rejected")
    back = decision("u", "deferred", seen=("n",), undoes="n", until=iso(START))
    assert one(rejected, back) == one(rejected, decision("u", "deferred", seen=("n",), until=iso(START)))
    assert one(rejected, back) == ("pending", False, False)


def test_rev162_prose_does_not_make_other_arguments() -> None:
    """REV-162"""
    alike = (
        decision("a", "confirmed", args={"minutes": 60}),
        decision("b", "confirmed", args={"minutes": 60, "reason": "x"}),
    )
    assert one(*alike) == ("confirmed", False, False)
