"""What became of a verdict (docs/specs/10-review.md, section 5)."""

from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.review.effect import StaleField
from lottisync.review.item_view import ItemView

WriteResult = Literal["applied", "no-op"]
Result = Literal["applied", "no-op", "stale", "failed", "already", "rejected", "deferred", "undone", "kept"]


class Outcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of a verdict on one item. `message` says why where nothing was done; `stale` shows
    what was, is and was proposed; `decision` is the id of the decision that counts, `view` the present view where it
    is not what was shown."""

    item: str
    result: Result
    message: str = ""
    decision: str | None = None
    stale: list[StaleField] = []
    view: ItemView | None = None


class Done(NamedTuple):
    """The result of the journal's transaction: the arguments that took effect, the sentence that says so, the journal's
    knowledge after it, and whether anything was written (None for an undo)."""

    outcome: Outcome
    args: dict[str, Any]
    summary: str = ""
    knowledge: Clock | None = None
    result: WriteResult | None = None
