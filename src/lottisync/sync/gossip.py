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
from lottisync.store.reader import Reader
from lottisync.sync.parties import Parties


class GossipExchange:
    """`members` are the devices that are, or were, this person's. What is said of any other device is not noted. With
    None, what is said of every device is noted."""

    def __init__(self, parties: Parties, members: Container[str] | None) -> None:
        self._parties, self._members = parties, members
        self._received = m.Gossip({})
        self._shared = b""
        self._greeted: dict[str, dict[str, Knowledge]] = {}
        """What the greeting has the hash of; it is sent if the peer's differs."""

    def known(self, reader: Reader, own: Knowledge) -> dict[str, Knowledge]:
        """What this device knows of every device's knowledge of a store, by device; its `own` included."""
        return {**forgetting.acknowledged(reader), self._parties.device: own}

    def greeting(self, known: dict[str, dict[str, Knowledge]]) -> bytes:
        """The hash (8 bytes) of what this device knows now, store -> device -> knowledge."""
        self._greeted, self._shared = known, summary.gossip_hash(known)
        return self._shared

    def greeted(self, theirs: bytes) -> list[m.Message]:
        """The answer to a greeting with the hash `theirs`: nothing if both knew the same when they greeted."""
        known, self._greeted = self._greeted, {}
        return [m.Gossip(known)] if theirs != self._shared else []

    def receive(self, gossip: m.Gossip) -> None:
        """Note it now, and once more at the end: hosts of which nothing is here yet are not noted, and rounds that come
        later may bring something of them."""
        for name in self._parties.stores:  # of others nothing is noted (SYNC-283)
            self._note(name, None, gossip.stores.get(name, {}))
        self._received = gossip

    def pass_on(self) -> list[m.Message]:
        """Write down what the peer has acknowledged, and send what is known of all devices if that has changed."""
        self._remember()
        known = {}
        for name, store in self._parties.stores.items():
            with store.reading() as reader:
                known[name] = self.known(reader, reader.knowledge())
        short = summary.gossip_hash(known)
        if short == self._shared:
            return []
        self._shared = short
        return [m.Gossip(known)]

    def close(self) -> None:
        """Write down what the peer has acknowledged."""
        with contextlib.suppress(Problem):  # it only decides what may be forgotten, and comes again
            self._remember()

    def _remember(self) -> None:
        acknowledged = self._parties.status.acknowledged
        for name in self._parties.stores:
            self._note(name, acknowledged.get(name), self._received.stores.get(name, {}))

    def _note(self, name: str, said: Knowledge | None, devices: dict[str, Knowledge]) -> None:
        """What the peer has said of itself, if it has, and of others."""
        if said is None and not devices:
            return
        store, peer = self._parties.stores[name], self._parties.peer
        with store.reading() as reader:
            known = forgetting.acknowledged(reader)
        news = {
            device: knowledge
            for device, knowledge in devices.items()
            if device not in (self._parties.device, peer)
            and (self._members is None or device in self._members)
            and not (device in known and vector_clock.covers(known[device], knowledge))
        }
        if said == known.get(peer):
            said = None
        if said is None and not news:
            return
        with store.transaction(self._parties.now, None) as tx:
            if said is not None:
                forgetting.note(tx, peer, said, direct=True)
            for device, knowledge in news.items():
                forgetting.note(tx, device, knowledge, direct=False)
