"""The answers that a model gets to its proposals (docs/specs/10-review.md, section 4, REV-20 to REV-22).

If a model proposes a value that is set already, it gets an answer that says so, and the person is not asked. If the
present value cannot be looked up, the proposal is kept (`looked_up`). A needless question costs the person one tap. A
proposal that was dropped would never be noticed.
"""

from collections.abc import Callable
from typing import TypeVar

QUEUED = "Proposal queued for user review."
T = TypeVar("T")


def looked_up(resolve: Callable[[], T]) -> T | None:
    """The result of `resolve`, or None if it fails (S4-12, S4-13)."""
    try:
        return resolve()
    except Exception:  # noqa: BLE001 - S4-13: if a look-up fails, for any reason, the proposal is kept
        return None


def skipped(phrase: str) -> str:
    return f"Skipped: {phrase}" if phrase.endswith(".") else f"Skipped: {phrase}."


def batch_answer(queued: int, redundant: list[str], refused: list[str], notes: list[str]) -> str:
    """The answer to a batch: how many items are queued, why the others are not (S0-16), and further notes on
    the queued ones."""
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
