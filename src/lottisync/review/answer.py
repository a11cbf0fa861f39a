"""What a model is told about what it proposed (docs/specs/10-review.md, section 4, REV-20 to REV-22).

A model that asks for what is so already is told so, and nobody is asked to review it. If the look-up of what is so
fails, the proposal is kept (`looked_up`): a needless question costs a tap, a swallowed one is never missed by
anybody.
"""

from collections.abc import Callable
from typing import TypeVar

QUEUED = "Proposal queued for user review."
T = TypeVar("T")


def looked_up(resolve: Callable[[], T]) -> T | None:
    """What `resolve` finds, or None if it cannot say (S4-12, S4-13)."""
    try:
        return resolve()
    except Exception:  # noqa: BLE001 - S4-13: whatever goes wrong in a look-up, the proposal is kept
        return None


def skipped(phrase: str) -> str:
    return f"Skipped: {phrase}" if phrase.endswith(".") else f"Skipped: {phrase}."


def batch_answer(queued: int, redundant: list[str], refused: list[str], notes: list[str]) -> str:
    """What the model is told about a batch: how many items are queued, of the others why not (S0-16), and
    what else there is to say of the queued ones."""
    lines = []
    if queued:
        lines.append(f"Proposal queued for user review ({queued} item(s) queued).")
    if redundant:
        lines.append(f"Skipped {len(redundant)} redundant update(s): {'; '.join(redundant)}.")
    if refused:
        lines.append(f"Skipped {len(refused)} item(s):")
        lines += [f"- {reason}" for reason in refused]
    lines += notes
    return "\n".join(lines)
