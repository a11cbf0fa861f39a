"""The sovereignty guard as a table: the six required cases (S0-36 to S0-41), and its edges."""

import pytest

from lottisync.journal.guard import MIN_REASON, is_order_unknown, objection
from lottisync.review.action import Grade
from lottisync.review.policy import Sovereignty

REASON = "The 22:30 note says it is not done"


@pytest.mark.parametrize(
    ("case", "checked_by", "is_checked", "proposed", "reason", "allowed"),
    [
        ("S0-36, SOV-2: set by the user, no reason", "user", True, False, None, False),
        ("S0-04, S0-48: set by the user, with a reason, is not a hard block", "user", True, False, REASON, True),
        ("S0-38, SOV-4: set by the agent", "agent", True, False, None, True),
        ("S0-38: set by the agent, the other way", "agent", False, True, None, True),
        ("S0-40, SOV-3: a record without provenance", None, True, False, None, False),
        ("S0-51, SOV-3: a word of a newer version", "robot", False, True, None, False),
        ("S0-41: blank", "user", True, False, " " * 30, False),
        ("S0-50: 19 characters", "user", True, False, "x" * (MIN_REASON - 1), False),
        ("S0-50: 20 characters", "user", True, False, "x" * MIN_REASON, True),
        ("S0-50: trimmed before it is counted", "user", True, False, " " + "x" * 19 + " ", False),
        ("S0-18, SOV-5: the tick stays as it is", "user", True, True, None, True),
        ("S0-14, SOV-6: a title alone", "user", True, None, None, True),
        ("S0-09: ticking what the user left open", "user", False, True, None, False),
    ],
    ids=lambda value: value if isinstance(value, str) and ":" in value else "",
)
def test_the_guard(
    case: str, checked_by: str | None, is_checked: bool, proposed: bool | None, reason: str | None, allowed: bool
) -> None:
    said = objection(is_checked=is_checked, checked_by=checked_by, checked_at=None, proposed=proposed, reason=reason)
    assert (said is None) is allowed, case


@pytest.mark.parametrize(("grade", "allowed"), [(grade, grade in (Grade.FOLLOWS, Grade.UNKNOWN)) for grade in Grade])
def test_sov_evidence_is_asked_for_where_the_setting_says_so(grade: Grade, allowed: bool) -> None:
    """SOV-11: only what follows the tick, or may follow it, is evidence. Else a reason will do, unless what it cites is
    older."""
    cases: tuple[tuple[Sovereignty, bool], ...] = (("evidence", allowed), ("reason", grade is not Grade.BEFORE))
    for sovereignty, expected in cases:
        said = objection(
            is_checked=True, checked_by="user", checked_at=None, proposed=False, reason=REASON, grade=grade,
            sovereignty=sovereignty,
        )  # fmt: skip
        assert (said is None) is expected


@pytest.mark.parametrize(
    ("checked_by", "proposed", "grade", "unknown"),
    [
        ("user", False, Grade.UNKNOWN, True),
        ("user", False, Grade.FOLLOWS, False),
        ("user", True, Grade.UNKNOWN, False),
        ("user", None, Grade.UNKNOWN, False),
        ("agent", False, Grade.UNKNOWN, False),
    ],
)
def test_the_order_is_unknown_where_the_evidence_is_concurrent_with_a_tick_of_the_user(
    checked_by: str, proposed: bool | None, grade: Grade, unknown: bool
) -> None:
    said = is_order_unknown(is_checked=True, checked_by=checked_by, proposed=proposed, grade=grade)
    assert said is unknown


def test_sov_2_a_reason_has_twenty_characters() -> None:
    assert MIN_REASON == 20


@pytest.mark.parametrize(("at", "shown"), [("2026-02-28T22:00:00.000Z", "2026-02-28T22:00:00.000Z"), (None, "unknown")])
def test_sov7_the_answer_is_the_required_one_to_the_letter(at: str | None, shown: str) -> None:
    """SOV-7, S0-19."""
    said = objection(is_checked=True, checked_by="user", checked_at=at, proposed=False, reason=None)
    assert said == (
        f"User set this item at {shown}. Provide a reason citing evidence from after that time to override."
    )
