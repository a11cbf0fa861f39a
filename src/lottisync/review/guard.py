"""The sovereignty of the checklist: who may change a tick (docs/specs/10-review.md, SOV).

A person who ticks an item has said something. A model that finds no note about it has found nothing:
absence of evidence is not evidence of absence. So an item that the user set keeps its state unless
the proposal gives a reason that is long enough to name what was read. The guard is one pure function,
run when a change is proposed, so that nobody is shown what could not be applied, and again when it is
confirmed, because the item may have changed hands in between.

It looks at the tick alone. A new title is always allowed, and a proposal that leaves the tick as it
is needs no reason.
"""

MIN_REASON = 20
"""Characters that a reason has at least, after trimming (S0-50): "ok" and "done" cite nothing."""


def objection(
    *, is_checked: bool, checked_by: str | None, checked_at: str | None, proposed: bool | None, reason: str | None
) -> str | None:
    """Why `isChecked` must stay as it is, in the words that the model is told; None if it may change.

    Whoever is not `agent` counts as the user: a record without provenance and a word that this
    version has never heard are both protected (S0-05, S0-51)."""
    if proposed is None or proposed == is_checked or checked_by == "agent":
        return None
    if len((reason or "").strip()) >= MIN_REASON:
        return None
    return (
        f"User set this item at {checked_at or 'unknown'}. "
        "Provide a reason citing evidence from after that time to override."
    )
