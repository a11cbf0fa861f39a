"""The sovereignty of the checklist: who may change a tick (docs/specs/10-review.md, SOV).

A person's tick is a statement. If a model finds no note about it, that is not a reason to remove it:
absence of evidence is not evidence of absence. So an item that the user set keeps its state, unless the
proposal gives a reason that is long enough to name its source. The guard is one pure function. It is
applied when a change is proposed, so that nobody sees a proposal that could not be applied. It is applied
again at confirm, because the user may have set the item meanwhile.

The person sets how strict it is. With `reason`, a reason is enough, and cited entries must not be older
than the tick. With `evidence`, the reason must cite entries that are later than the tick, or concurrent
with it; in the second case the person judges.

The guard is about the tick only. A new title is always allowed, and a proposal that does not change the
tick needs no reason.
"""

from lottisync.problem import Sentence
from lottisync.review.action import Grade
from lottisync.review.policy import Sovereignty
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
) -> Sentence | None:
    """Why `isChecked` must not change, as an answer for the model; None if it may change.

    Every `checked_by` except `agent` counts as the user. So a record without provenance, and a value that this
    version does not know, are both protected (S0-05, S0-51)."""
    if proposed is None or proposed == is_checked or checked_by == "agent":
        return None
    refusal = Sentence(
        "User set this item at {checked_at}. Provide a reason citing evidence from after that time to override.",
        checked_at=checked_at or "unknown",
    )
    if len(visible(reason or "")) < MIN_REASON:
        return refusal
    if grade is Grade.BEFORE:
        return Sentence("{refusal} What you cite is older.", refusal=refusal)
    if sovereignty == "evidence" and grade in (Grade.NONE, Grade.UNFIT):
        return Sentence("{refusal} Name the user's entries in evidenceEntryIds.", refusal=refusal)
    return None


def is_order_unknown(*, is_checked: bool, checked_by: str | None, proposed: bool | None, grade: Grade) -> bool:
    """True if the person should see that the evidence is concurrent with the tick, and not later."""
    return proposed is not None and proposed != is_checked and checked_by != "agent" and grade is Grade.UNKNOWN
