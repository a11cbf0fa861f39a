"""What devices know, passed on by the others (docs/specs/14-forgetting.md, section 1).

Each device notes the knowledge that every other one has acknowledged last, and passes it on. It decides what may be
forgotten: a device that is met seldom is known through the others.
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


class Gossip:
    """`members` are the devices that are, or were, this person's: of others nothing is noted. None takes all."""

    def __init__(self, parties: Parties, members: Container[str] | None) -> None:
        self._parties, self._members = parties, members
        self._received = m.Gossip({})
        self._shared = b""

    def own(self) -> tuple[dict[str, dict[str, Knowledge]], bytes]:
        """What this device knows of every device's knowledge, store -> device -> knowledge, its own included; and the
        hash of that, 8 bytes."""
        known = {}
        for name, store in self._parties.stores.items():
            with store.reading() as reader:
                known[name] = {**forgetting.acknowledged(reader), self._parties.device: reader.knowledge()}
        return known, summary.gossip_hash(known)

    def greeted(self, theirs: bytes) -> list[m.Message]:
        """The answer to a greeting with the hash `theirs`: nothing if both know the same."""
        known, self._shared = self.own()
        return [m.Gossip(known)] if theirs != self._shared else []

    def receive(self, gossip: m.Gossip) -> None:
        """Note it now, and once more at the end: of hosts of which nothing is here yet nothing is noted, and the rounds
        that bring something of them come behind it."""
        self._note(gossip)
        self._received = gossip

    def pass_on(self) -> list[m.Message]:
        """Write down what the peer has acknowledged, and send what is known of all devices if that has changed."""
        self._remember()
        known, short = self.own()
        if short == self._shared:
            return []
        self._shared = short
        return [m.Gossip(known)]

    def close(self) -> None:
        """Write down what the peer has acknowledged."""
        with contextlib.suppress(Problem):  # it only decides what may be forgotten, and comes again
            self._remember()

    def _remember(self) -> None:
        for name, knowledge in self._parties.status.acknowledged.items():
            with self._parties.stores[name].reading() as reader:
                known = forgetting.acknowledged(reader).get(self._parties.peer) == knowledge
            if not known:
                with self._parties.stores[name].transaction(self._parties.now, None) as tx:
                    forgetting.note(tx, self._parties.peer, knowledge, direct=True)
        self._note(self._received)

    def _note(self, gossip: m.Gossip) -> None:
        """Of the stores that are here (SYNC-283)."""
        for name, devices in gossip.stores.items():
            if name in self._parties.stores:
                self._note_store(name, devices)

    def _note_store(self, name: str, devices: dict[str, Knowledge]) -> None:
        with self._parties.stores[name].reading() as reader:
            known = forgetting.acknowledged(reader)
        news = {
            device: knowledge
            for device, knowledge in devices.items()
            if device not in (self._parties.device, self._parties.peer)
            and (self._members is None or device in self._members)
            and not vector_clock.covers(known.get(device, {}), knowledge)
        }
        if news:
            with self._parties.stores[name].transaction(self._parties.now, None) as tx:
                for device, knowledge in news.items():
                    forgetting.note(tx, device, knowledge, direct=False)
