"""Long, seeded histories of three real stores: writes, deletions, rounds that are cut off (`make deep`).

The oracle is independent of the merge: it follows every write by the set of writes that its author had
seen, and knows from that alone what must still be held at the end. A failure prints its seed; replay it
with `SEED=n SEEDS=1 make deep`.
"""

import os
import random
from collections.abc import Iterator
from itertools import count, permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support import rounds

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import HIGH, Entity
from lottisync.journal.types import JOURNAL
from lottisync.store import lookups
from lottisync.store.store import Store
from lottisync.sync import outgoing

FIRST = int(os.environ.get("SEED", "1"))
SEEDS = int(os.environ.get("SEEDS", "150"))
STEPS = 60
ONE_VERSION = 1
"""Bytes of a batch, at least one version: a round of three entities can be cut off between them, as a large one is."""


class Written(NamedTuple):
    """One write as the oracle remembers it."""

    path: str
    value: int
    seen: frozenset[Dot]


class Holding:
    """One store, and the writes that each entity there has seen."""

    def __init__(self, file: Path, hosts: Iterator[int]) -> None:
        self.store = Store.create(file, JOURNAL, lambda: Host(f"{next(hosts):016x}"))
        self.seen: dict[str, frozenset[Dot]] = {}


class World:
    """Three devices, a schedule drawn from a seed, and everything that was ever written."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        hosts = count(1)
        self.devices = [Holding(folder / f"{seed}-{name}.sqlite", hosts) for name in "abc"]
        self.written: dict[str, dict[Dot, Written]] = {}
        self.now = 1_000_000

    def write(self, device: Holding) -> None:
        entity, path = self.chance.choice("xyz"), self.chance.choice(("title", "estimate", "labels/a", "labels/b"))
        value = self.chance.randrange(1000)
        with device.store.transaction(self.now + self.chance.randrange(-86_400_000, 86_400_000), HIGH) as tx:
            dot = tx.put(entity, "task", {path: value}, precedence=self.chance.randrange(2))
        seen = device.seen.get(entity, frozenset())
        self.written.setdefault(entity, {})[dot] = Written(path, value, seen)
        device.seen[entity] = seen | {dot}

    def round(self, sender: Holding, receiver: Holding, *, batches: int | None) -> None:
        """One round, cut off after so many `batches`; its knowledge is adopted only if it is whole."""
        for arrived in rounds.send(sender.store, receiver.store, now=self.now, batches=batches):
            receiver.seen[arrived] = receiver.seen.get(arrived, frozenset()) | sender.seen[arrived]

    def run(self) -> None:
        for _ in range(STEPS):
            self.now += self.chance.randrange(1000)
            if self.chance.random() < 0.6:
                self.write(self.chance.choice(self.devices))
            else:
                sender, receiver = self.chance.sample(self.devices, 2)
                self.round(sender, receiver, batches=self.chance.choice((None, None, 0, 1)))
        for _ in range(3):
            for sender, receiver in permutations(self.devices, 2):
                self.round(sender, receiver, batches=None)

    def check(self) -> None:
        states = []
        for device in self.devices:
            with device.store.reading() as reader:
                states.append((reader.knowledge(), reader.digest(), lookups.held_beyond(reader)))
                for entity, writes in self.written.items():
                    self.check_entity(entity, writes, reader.entity(entity))
        assert states[0] == states[1] == states[2]
        assert states[0][2] == []

    def check_entity(self, entity: str, writes: dict[Dot, Written], found: object) -> None:
        assert isinstance(found, Entity)
        for path in {write.path for write in writes.values()}:
            of_path = {dot for dot, write in writes.items() if write.path == path}
            overwritten = {dot for write in writes.values() if write.path == path for dot in write.seen & of_path}
            assert found.dots(path) == of_path - overwritten, (entity, path)

    def close(self) -> None:
        for device in self.devices:
            device.store.close()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_no_write_is_lost_and_equal_knowledge_means_equal_digest(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "BATCH_BYTES", ONE_VERSION)
    world = World(seed, tmp_path)
    try:
        world.run()
        world.check()
    finally:
        world.close()
