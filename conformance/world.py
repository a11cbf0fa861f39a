"""What a scenario is told in: replicas that write and meet, under a clock and chance of our own.

Nothing here depends on the machine's time. `now` moves on by a second with every write and every
round; a scenario that wants it otherwise sets it.
"""

import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.testee import Failure, Refused, Testee

JOURNAL, AGENT, SPACE = "journal", "agent", "space"
START = 1_772_316_000_000
"""28 February 2026, 22:00 UTC."""
DAY = 86_400_000


class Round:
    """A round in the runner's hands."""

    def __init__(self, world: "World", begun: dict[str, Any]) -> None:
        self._world = world
        self.number, self.frames = begun["round"], begun["frames"]

    def step(self) -> bool:
        return bool(self._world.ask("round.step", round=self.number)["done"])

    def finish(self) -> None:
        while not self.step():
            pass

    def abort(self) -> None:
        self._world.ask("round.abort", round=self.number)


class Replica:
    """A device of the scenario. Operations default to the journal, a user, and the world's clock."""

    def __init__(
        self,
        world: "World",
        name: str,
        folder: Path,
        frame_entities: int | None = None,
        *,
        testee: Testee,
        stores: Iterable[str] = (),
    ) -> None:
        self._world = world
        self.testee = testee
        self.name, self.folder, self.frame_entities = name, folder, frame_entities
        self.stores = list(stores)
        """Stores that it has beside the three."""
        self.hosts: dict[str, str] = {}

    def open(self) -> None:
        asked: dict[str, Any] = {"replica": self.name, "dir": str(self.folder)}
        if self.frame_entities is not None:
            asked["frame_entities"] = self.frame_entities
        if self.stores:
            asked["stores"] = self.stores
        self.hosts = self.testee.ask("open", **asked, seed=self._world.seed(), now=self._world.now)["hosts"]

    def ask(self, op: str, **fields: Any) -> Any:
        """An operation on this device, in the process that has it."""
        return self.testee.ask(op, replica=self.name, **fields)

    def close(self) -> None:
        self.ask("close")

    def write(
        self,
        entity: str,
        fields: dict[str, Any],
        *,
        type: str = "task",
        store: str = JOURNAL,
        actor: str = "user",
        seen: dict[str, int] | None = None,
    ) -> dict[str, Any]:
        asked: dict[str, Any] = {} if seen is None else {"seen": seen}
        return self._written("write", store, entity=entity, type=type, set=fields, actor=actor, **asked)

    def delete(self, entity: str, *, store: str = JOURNAL, actor: str = "user") -> dict[str, Any]:
        return self._written("delete", store, entity=entity, actor=actor)

    def undelete(self, entity: str, *, store: str = JOURNAL, actor: str = "user") -> dict[str, Any]:
        return self._written("undelete", store, entity=entity, actor=actor)

    def _written(self, op: str, store: str, **fields: Any) -> dict[str, Any]:
        self._world.now += 1000
        dot: dict[str, Any] = self.ask(op, store=store, now=self._world.now, **fields)
        return dot

    def read(self, entity: str, store: str = JOURNAL) -> Any:
        return self.ask("read", store=store, entity=entity)

    def fields(self, entity: str, store: str = JOURNAL) -> Any:
        found = self.read(entity, store)
        return None if found is None else found["fields"]

    def knowledge(self, store: str = JOURNAL) -> dict[str, int]:
        return dict(self.ask("knowledge", store=store))

    def digest(self, store: str = JOURNAL) -> str:
        return str(self.ask("digest", store=store))

    def dump(self, store: str = JOURNAL) -> list[dict[str, Any]]:
        return list(self.ask("dump", store=store))

    def check(self) -> list[str]:
        return list(self.ask("check"))


class World:
    """`peer` is the other program, for scenarios in which two of them meet."""

    def __init__(self, testee: Testee, peer: Testee, folder: Path, seed: int) -> None:
        self._testee = testee
        self._peer = peer
        self._folder = folder
        self.chance = random.Random(seed)
        self._seeds = seed * 1000
        self.now = START
        self.replicas: dict[str, Replica] = {}

    def ask(self, op: str, **fields: Any) -> Any:
        return self._testee.ask(op, **fields)

    def seed(self) -> int:
        """Another one for every opening: two devices that draw the same numbers are not two devices."""
        self._seeds += 1
        return self._seeds

    def device(
        self, name: str, frame_entities: int | None = None, *, elsewhere: bool = False, stores: Iterable[str] = ()
    ) -> Replica:
        """A new device, open; `elsewhere` in the process of the other program. `stores` are those beside the three."""
        testee = self._peer if elsewhere else self._testee
        return self._opened(name, self._folder / name, frame_entities, testee, stores)

    def _opened(
        self, name: str, folder: Path, frame_entities: int | None, testee: Testee, stores: Iterable[str] = ()
    ) -> Replica:
        replica = self.replicas[name] = Replica(self, name, folder, frame_entities, testee=testee, stores=stores)
        replica.open()
        return replica

    def devices(self, names: str, frame_entities: int | None = None) -> list[Replica]:
        return [self.device(name, frame_entities) for name in names.split()]

    def copy(self, original: Replica, folder: str) -> Path:
        """Copy the folder of a closed device, as a backup or to another machine."""
        target = self._folder / folder
        shutil.copytree(original.folder, target)
        return target

    def restore(self, replica: Replica, backup: Path) -> None:
        """Put a backup in the place of a closed device's folder, and open it again."""
        shutil.rmtree(replica.folder)
        shutil.copytree(backup, replica.folder)
        replica.open()

    def opened_from(self, folder: Path, name: str, *, elsewhere: bool = False) -> Replica:
        """A device whose folder is there already."""
        return self._opened(name, folder, None, self._peer if elsewhere else self._testee)

    def crash(self) -> None:
        """Kill the adapter, and open every device of it again."""
        self._testee.kill()
        self.now += 1000
        for replica in self.replicas.values():
            if replica.testee is self._testee:
                replica.open()

    # -- meeting

    def sync(
        self,
        source: Replica,
        target: Replica,
        store: str | None = JOURNAL,
        abort_after: int | None = None,
        faults: Iterable[str] = (),
    ) -> dict[str, Any]:
        """One round; of all stores, in order, if `store` is None."""
        self.now += 1000
        asked: dict[str, Any] = {"from": source.name, "to": target.name, "now": self.now}
        if store is not None:
            asked["store"] = store
        if abort_after is not None:
            asked["abort_after"] = abort_after
        if faults:
            asked["faults"] = list(faults)
        result: dict[str, Any] = self.ask("sync", **asked)
        if abort_after is None and result["complete"] is not True:
            raise Failure("a round that nobody cuts is complete", True, result)
        return result

    def begin(self, source: Replica, target: Replica, store: str = JOURNAL) -> Round:
        self.now += 1000
        begun = self.ask("round.begin", **{"from": source.name, "to": target.name, "store": store, "now": self.now})
        return Round(self, begun)

    def meet(self, *replicas: Replica) -> None:
        """Rounds between all of them until everybody has everything, then the proof of it."""
        for _ in range(2):
            for source in replicas:
                for target in replicas:
                    if source is not target:
                        self.sync(source, target, store=None)
        self.expect_in_sync(*replicas)

    # -- expectations

    def expect(self, what: str, got: Any, expected: Any) -> None:
        if not same(got, expected):
            raise Failure(what, expected, got)

    def expect_in_sync(self, *replicas: Replica) -> None:
        """Equal knowledge, equal digest, equal entities, and nothing broken, in every store."""
        first = replicas[0]
        for store in (SPACE, JOURNAL, AGENT):
            knowledge, digest, dump = first.knowledge(store), first.digest(store), first.dump(store)
            for other in replicas[1:]:
                self.expect(f"{other.name} knows of {store} what {first.name} knows", other.knowledge(store), knowledge)
                self.expect(f"{other.name} holds in {store} what {first.name} holds", other.dump(store), dump)
                self.expect(
                    f"the digest of {store} on {other.name} is that on {first.name}", other.digest(store), digest
                )
        self.expect_sound(*replicas)

    def expect_sound(self, *replicas: Replica) -> None:
        for replica in replicas:
            self.expect(f"check of {replica.name}", replica.check(), [])

    def expect_refused(self, what: str, code: str, op: str, **fields: Any) -> None:
        try:
            got = self.ask(op, **fields)
        except Refused as refused:
            self.expect(what, refused.code, code)
        else:
            raise Failure(what, {"error": code}, got)


def same(a: Any, b: Any) -> bool:
    """Equal as JSON: `true` is not 1, while 1 and 1.0 are one number."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
