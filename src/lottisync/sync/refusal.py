"""What was refused between this device and another, each kind once (docs/specs/07-sync.md, section 9).

A device that lies, or is broken, is refused again and again, in several ways. The log has them all. `status` has each
kind, with how often it came up: the latest alone would hide the others. It is kept while the program runs.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import msgspec

from lottisync.problem import Sentence
from lottisync.store.instant import InstantText, iso, millis

Kind = Literal[
    "comparison", "want", "bad-frame", "malformed", "illegal", "version", "wrong-device", "unknown-store",
    "unknown-host", "bad-entity", "no-agreement", "connection", "other",
]  # fmt: skip
"""A comparison or a Want that was one too many in this hour; a connection that was one too many, or that said nothing
(NET-52, NET-53); or the code of a Close; `other` is a code that is not ours."""
KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
NO_REFUSAL = frozenset(
    {"goodbye", "duplicate-connection", "duplicate-key", "revoked", "timeout", "stuck", "failed", "stores"}
)
"""The codes of a Close that refuses nothing of what was said."""
SHOWN_MS = 24 * 3_600_000
"""How long a kind is shown after it came up last."""


class Refusal(msgspec.Struct, frozen=True, rename="camel"):
    """A kind of refusal that came up `count` times, last at `lastAt` (ISO 8601), for this `reason`."""

    kind: Kind
    count: int
    last_at: InstantText
    reason: Sentence


def kind_of(code: str) -> Kind | None:
    """The kind of refusal that a Close is; None if it refuses nothing."""
    return None if code in NO_REFUSAL else KINDS.get(code, "other")


def with_one_more(found: Sequence[Refusal], kind: Kind, reason: Sentence, now: int) -> list[Refusal]:
    """What was refused, the latest kind first, after one more at `now` (ms)."""
    count = sum(each.count for each in found if each.kind == kind)
    return [Refusal(kind, count + 1, iso(now), reason), *(each for each in found if each.kind != kind)]


def recent(found: Sequence[Refusal], now: int) -> list[Refusal]:
    """The refusals that are shown at `now` (ms)."""
    return [each for each in found if now - millis(each.last_at) < SHOWN_MS]
