"""What the person's devices have and lack, as they have said it themselves at the relay: what `relay status` shows
(docs/specs/19-relay.md, section 8)."""

import msgspec

from lottisync.device.device import Device
from lottisync.problem import Sentence, counted
from lottisync.relay.circle import Circle
from lottisync.relay.states import States
from lottisync.store.instant import iso, to_the_minute
from lottisync.sync.local_state import LocalState

SILENT_DAYS = 3
"""After this time a person is asked to look: a relay that hides a device looks the same as one that is switched off."""
DAY = 86_400_000


class Standing(msgspec.Struct, frozen=True, rename="camel"):
    """One device. `heard_at` is when it spoke last, by its own clock (ISO 8601; empty: never). `in_step` holds if both
    know the same of every store that both have, with equal digests; `lacking` is how many changes it has said that it
    has, and that the relay does not hold; `differs` whether
    it knows the same of a store and holds something else; `silent` whether it has said nothing for `SILENT_DAYS`."""

    device: str
    name: str
    heard_at: str
    in_step: bool
    lacking: int
    silent: bool
    differs: bool = False

    @property
    def text(self) -> Sentence:
        """For people."""
        if not self.heard_at:
            return Sentence("nothing was ever heard of {name} at the relay", name=self.name)
        at = to_the_minute(self.heard_at)
        if self.lacking:
            return self._lacking(at)
        if self.differs:
            return Sentence(
                "{name} knows the same as this device and holds something else, last heard at {at}. "
                "Let both be up in one network: they compare, and mend it",
                name=self.name,
                at=at,
            )
        if self.silent:
            if self.in_step:
                return Sentence("nothing heard of {name} since {at}, when both were in step", name=self.name, at=at)
            return Sentence("nothing heard of {name} since {at}", name=self.name, at=at)
        if self.in_step:
            return Sentence("in step with {name} as of {at}", name=self.name, at=at)
        return Sentence("{name} had not all changes of this device when it spoke last, at {at}", name=self.name, at=at)

    def _lacking(self, at: str) -> Sentence:
        return counted(
            "{name} has said 1 change that the relay does not hold; last heard at {at}",
            "{name} has said {count} changes that the relay does not hold; last heard at {at}",
            self.lacking,
            name=self.name,
            at=at,
        )


def standing(device: Device, circle: Circle, states: States, now: int) -> list[Standing]:
    """The other active devices, in order of name."""
    summaries = {}
    for name, store in device.stores.items():
        with store.reading() as reader:
            summaries[name] = LocalState(reader).summary
    found = []
    for other in sorted(circle.active - {device.id}):
        state = states.last.get(other)
        said = state.stores if state is not None else {}
        shared = said.keys() & summaries.keys()
        in_step = bool(shared) and all(said[name].summary == summaries[name] for name in shared)
        differs = any(
            said[name].summary.known == summaries[name].known and said[name].summary.digest != summaries[name].digest
            for name in shared
        )
        member = circle.roster.members[other]
        heard_at, silent = (iso(state.at), now - state.at > SILENT_DAYS * DAY) if state is not None else ("", True)
        found.append(Standing(other, member.name, heard_at, in_step, states.lacks(other), silent, differs))
    return sorted(found, key=lambda each: each.name)
