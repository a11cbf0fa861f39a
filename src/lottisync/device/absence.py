"""Why another device is away (docs/specs/16-meeting.md, section 7).

The engine says it while it runs, and writes it down for when it does not (`lottisync.device.peers`). Both are this one
struct, and every program shows it with the same sentence, with times in the zone of the device that shows it.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from lottisync.problem import Sentence
from lottisync.store.instant import InstantText, to_the_minute

Reason = Literal["no-address", "unreachable", "refused", "version", "stopped", "looking"]


class Away(msgspec.Struct, frozen=True, rename="camel"):
    """`reason` is a word of docs/specs/16-meeting.md. `failure` says in words what failed last, at `address`, the
    likeliest of those that fail; `others` counts the rest. Times are ISO 8601: it is away since `awaySince`, and was
    tried last at `triedAt` (where nothing can be tried: it was looked for then). `clockSaid` is what the device's clock
    said, if that was far ahead of ours."""

    reason: Reason
    tried_at: InstantText
    away_since: InstantText | None = None
    address: str | None = None
    others: int = 0
    failure: Sentence | None = None
    clock_said: InstantText | None = None


def shown_away(away: Away, clock: Callable[[str], str] = to_the_minute) -> Sentence:
    """For people; `clock` says a time. Empty if there is nothing to say yet."""
    match away.reason:
        case "looking":
            return away.failure or Sentence("")
        case "stopped":
            return Sentence("it was stopped at {at}", at=clock(away.away_since or away.tried_at))
        case "no-address":
            return (
                Sentence("{error}; no address known", error=away.failure)
                if away.failure
                else Sentence("no address known")
            )
        case "version":
            return away.failure or Sentence("it speaks another version")
    return Sentence(
        "{what}{where}{since}, last tried {at}: {why}",
        what=Sentence("not reachable") if away.reason == "unreachable" else Sentence("no connection"),
        where=_where(away),
        since=Sentence(" since {at}", at=clock(away.away_since)) if away.away_since else "",
        at=clock(away.tried_at),
        why=away.failure or Sentence(away.reason),
    )


def _where(away: Away) -> str:
    if away.address is None:
        return ""
    if not away.others:
        return Sentence(" at {address}", address=away.address)
    return Sentence(" at {address} and {others} more", address=away.address, others=away.others)
