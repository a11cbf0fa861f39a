"""What devices know, as the others tell it (docs/specs/14-forgetting.md, section 1).

Each device notes what every other one said last of its knowledge, and passes it on: it decides what may be forgotten.
"""

import contextlib
from collections.abc import Container

from lottisync.causality import vector_clock
from lottisync.causality.knowledge import Knowledge
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol import summary
from lottisync.store import forgetting
from lottisync.sync.parties import Parties


class Hearsay:
    """`members` are the devices that are, or were, this person's: of others nothing is noted. None takes all."""

    def __init__(self, parties: Parties, members: Container[str] | None) -> None:
        self._parties, self._members = parties, members
        self._heard = m.Heard({})
        self._shared = b""

    def own(self) -> tuple[dict[str, dict[str, Knowledge]], bytes]:
        """What this device has heard that devices know, itself included; and that in eight bytes."""
        told = {}
        for name, store in self._parties.stores.items():
            with store.reading() as reader:
                told[name] = {**forgetting.told(reader), self._parties.device: reader.knowledge()}
        return told, summary.heard(told)

    def greeted(self, theirs: bytes) -> list[m.Message]:
        """The peer greets with what it has heard, in eight bytes."""
        told, self._shared = self.own()
        return [m.Heard(told)] if theirs != self._shared else []

    def heard(self, heard: m.Heard) -> None:
        """Noted now, and once more at the end: of hosts of which nothing is here yet it says nothing, and the rounds
        that bring something of them come behind it."""
        self._note(heard)
        self._heard = heard

    def pass_on(self) -> list[m.Message]:
        """Write down what the peer has told, and say what is heard of others if that has changed."""
        self._remember()
        told, short = self.own()
        if short == self._shared:
            return []
        self._shared = short
        return [m.Heard(told)]

    def close(self) -> None:
        """Write down what the peer has told."""
        with contextlib.suppress(Problem):  # it only decides what may be forgotten, and will be told again
            self._remember()

    def _remember(self) -> None:
        for name, knowledge in self._parties.standing.told.items():
            with self._parties.stores[name].reading() as reader:
                known = forgetting.told(reader).get(self._parties.peer) == knowledge
            if not known:
                with self._parties.stores[name].transaction(self._parties.now, None) as tx:
                    forgetting.hear(tx, self._parties.peer, knowledge, direct=True)
        self._note(self._heard)

    def _note(self, heard: m.Heard) -> None:
        """Of the stores that are here (SYNC-62)."""
        for name, devices in heard.stores.items():
            if name in self._parties.stores:
                self._note_store(name, devices)

    def _note_store(self, name: str, devices: dict[str, Knowledge]) -> None:
        with self._parties.stores[name].reading() as reader:
            told = forgetting.told(reader)
        news = {
            device: knowledge
            for device, knowledge in devices.items()
            if device not in (self._parties.device, self._parties.peer)
            and (self._members is None or device in self._members)
            and not vector_clock.covers(told.get(device, {}), knowledge)
        }
        if news:
            with self._parties.stores[name].transaction(self._parties.now, None) as tx:
                for device, knowledge in news.items():
                    forgetting.hear(tx, device, knowledge, direct=False)
