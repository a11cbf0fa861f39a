"""What happens at a relay, for the program that drives a participant."""

from typing import NamedTuple

from lottisync.problem import Sentence
from lottisync.relay.header import Name


class PassedOver(NamedTuple):
    """A message was passed over."""

    name: Name
    reason: Sentence


class WentBack(NamedTuple):
    """The relay shows less of a device's log than it has shown before, or than another device has seen of it."""

    device: str
    shown: int
    known: int


class Differs(NamedTuple):
    """A device knows the same of a store as this one, and its digest is another one."""

    device: str
    store: str


class Split(NamedTuple):
    """A copy of a store was found through the relay."""

    store: str


class Taken(NamedTuple):
    """Something of a store was taken from the relay."""

    store: str
    device: str


Event = PassedOver | WentBack | Differs | Split | Taken


def words(event: Event) -> tuple[str, Sentence] | None:
    """A code and a sentence, for a log and for people; None if nobody needs to see it."""
    match event:
        case PassedOver(name, reason):
            return "relay-refused", Sentence(
                "message {number} of {channel} at the relay was passed over: {reason}",
                number=name.number,
                channel=name.channel,
                reason=reason,
            )
        case WentBack(_, shown, known):
            return "relay-went-back", Sentence(
                "the relay shows {shown} of a device's messages, and has had {known}: it was set back, is another one "
                "than before, or hides some. What it lacks is published again",
                shown=shown,
                known=known,
            )
        case Differs(_, store):
            return "relay-differs", Sentence(
                "{store} differs from another device's although both know the same. Connect the two: they compare",
                store=store,
            )
        case Split(store):
            return "relay-copy", Sentence(
                "a copy of a device's {store} was found through the relay; both are kept apart now", store=store
            )
        case Taken():
            return None
