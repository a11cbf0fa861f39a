"""The sovereignty of the checklist: who may change a tick (docs/specs/10-review.md, SOV).

A person who ticks an item has said something. A model that finds no note about it has found nothing:
absence of evidence is not evidence of absence. So an item that the user set keeps its state unless
the proposal gives a reason that is long enough to name what was read. The guard is one pure function,
run when a change is proposed, so that nobody is shown what could not be applied, and again when it is
confirmed, because the item may have changed hands in between.

How much is asked is the person's setting. With `reason` a reason is enough, and what it cites must not
be older than the tick. With `evidence` it must cite entries, and they must come after the tick or, for
a person to judge, beside it.

It looks at the tick alone. A new title is always allowed, and a proposal that leaves the tick as it
is needs no reason.
"""

from lottisync.review.action import Grade
from lottisync.review.terms import Sovereignty
from lottisync.shown import visible

MIN_REASON = 20
"""Visible characters that a reason has at least, after trimming (S0-50): "ok" and "done" cite nothing, and neither do
characters that nobody sees."""


def objection(
    *,
    is_checked: bool,
    checked_by: str | None,
    checked_at: str | None,
    proposed: bool | None,
    reason: str | None,
    grade: Grade = Grade.NONE,
    sovereignty: Sovereignty = "reason",
) -> str | None:
    """Why `isChecked` must stay as it is, in the words that the model is told; None if it may change.

    Whoever is not `agent` counts as the user: a record without provenance and a word that this
    version has never heard are both protected (S0-05, S0-51)."""
    if proposed is None or proposed == is_checked or checked_by == "agent":
        return None
    refusal = (
        f"User set this item at {checked_at or 'unknown'}. "
        "Provide a reason citing evidence from after that time to override."
    )
    if len(visible(reason or "")) < MIN_REASON:
        return refusal
    if grade is Grade.BEFORE:
        return f"{refusal} What you cite is older."
    if sovereignty == "evidence" and grade in (Grade.NONE, Grade.UNFIT):
        return f"{refusal} Name the user's entries in evidenceEntryIds."
    return None


def is_order_unknown(*, is_checked: bool, checked_by: str | None, proposed: bool | None, grade: Grade) -> bool:
    """Whether a person should be told that the evidence was written beside the tick, not after it."""
    return proposed is not None and proposed != is_checked and checked_by != "agent" and grade is Grade.UNKNOWN
