"""Long histories of three devices, drawn from a seed.

The oracle knows no merging: it follows every write by the set of writes that its author had seen, and
knows from that alone what must still be held, what is deleted, and which clock every entity has on
every device at every moment. It is told of arrivals in one way only: after a round an entity on the
receiver is either what it was or what it was *and* the sender's, and its clock says which.
"""

from typing import Any, NamedTuple

from conformance.testee import Failure
from conformance.world import Replica, Round, World

STEPS = 45
ENTITIES = ("x", "y", "z")
PATHS = ("title", "estimate", "labels/a", "labels/b")
DELETED = "deletedAt"

Dot = tuple[str, int]
Seen = frozenset[Dot]


class _Written(NamedTuple):
    """A write as the oracle remembers it: what it set, and what its author had seen."""

    values: dict[str, Any]
    precedence: int
    seen: Seen
    deletes: bool


class _Running(NamedTuple):
    round: Round
    source: dict[str, Seen]
    """What the sender had seen when the round began."""
    knowledge: dict[str, int]
    target: Replica


class _History:
    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = world.chance
        self.devices = [world.device(name, frame_entities=self.chance.choice((1, 1, 2, 100))) for name in "abc"]
        self.written: dict[str, dict[Dot, _Written]] = {entity: {} for entity in ENTITIES}
        self.seen: dict[str, dict[str, Seen]] = {d.name: dict.fromkeys(ENTITIES, frozenset()) for d in self.devices}
        self.knowledge: dict[str, dict[str, int]] = {device.name: {} for device in self.devices}
        self.running: list[_Running] = []

    # -- steps

    def step(self) -> None:
        self.world.now += self.chance.choice((0, 1, 1000, -86_400_000, 86_400_000))
        kind = self.chance.choices(
            (self.write, self.delete, self.undelete, self.sync, self.begin, self.go_on, self.reopen),
            (40, 6, 4, 25, 8, 12, 2),
        )[0]
        kind()

    def _anywhere(self) -> tuple[Replica, str]:
        return self.chance.choice(self.devices), self.chance.choice(ENTITIES)

    def write(self) -> None:
        device, entity = self._anywhere()
        fields = {
            path: self.chance.randrange(1000) for path in self.chance.sample(PATHS, self.chance.choice((1, 1, 2)))
        }
        actor = self.chance.choice(("user", "agent"))
        self._note(device, entity, device.write(entity, fields, actor=actor), fields, actor, deletes=False)

    def delete(self) -> None:
        device, entity = self._anywhere()
        if self.seen[device.name][entity]:
            actor = self.chance.choice(("user", "user", "agent"))
            self._note(device, entity, device.delete(entity, actor=actor), {DELETED: ...}, actor, deletes=True)

    def undelete(self) -> None:
        device, entity = self._anywhere()
        if self.seen[device.name][entity]:
            fields = device.fields(entity) | {DELETED: None}
            self._note(device, entity, device.undelete(entity), fields, "user", deletes=False)

    def _note(
        self, device: Replica, entity: str, named: dict[str, Any], values: dict[str, Any], actor: str, *, deletes: bool
    ) -> None:
        dot = (named["host"], named["counter"])
        own = self.knowledge[device.name]
        self.world.expect(
            "the next counter of its host", named, {"host": named["host"], "counter": own.get(dot[0], 0) + 1}
        )
        own[dot[0]] = dot[1]
        seen = self.seen[device.name][entity]
        self.written[entity][dot] = _Written(values, int(actor == "user"), seen, deletes)
        self.seen[device.name][entity] = seen | {dot}

    def sync(self) -> None:
        source, target = self.chance.sample(self.devices, 2)
        cut = self.chance.choice((None, None, 0, 1, 2))
        faults = [fault for fault in ("duplicate", "reorder") if self.chance.random() < 0.25]
        moment, knowledge = dict(self.seen[source.name]), dict(self.knowledge[source.name])
        complete = self.world.sync(source, target, abort_after=cut, faults=faults)["complete"]
        self._arrived(target, moment, knowledge, complete=complete)

    def begin(self) -> None:
        source, target = self.chance.sample(self.devices, 2)
        moment, knowledge = dict(self.seen[source.name]), dict(self.knowledge[source.name])
        self.running.append(_Running(self.world.begin(source, target), moment, knowledge, target))

    def go_on(self) -> None:
        if not self.running:
            return
        running = self.chance.choice(self.running)
        if self.chance.random() < 0.15:
            running.round.abort()
            self.running.remove(running)
            return
        done = running.round.step()
        self._arrived(running.target, running.source, running.knowledge, complete=done)
        if done:
            self.running.remove(running)

    def reopen(self) -> None:
        """Closing takes a device off the line, and its rounds with it."""
        for running in self.running:
            running.round.abort()
        self.running = []
        device = self.chance.choice(self.devices)
        device.close()
        device.open()

    def _arrived(self, target: Replica, moment: dict[str, Seen], known: dict[str, int], *, complete: bool) -> None:
        own = self.knowledge[target.name]
        if complete:
            for host, counter in known.items():
                own[host] = max(own.get(host, 0), counter)
        self.world.expect(f"knowledge of {target.name}", target.knowledge(), own)
        for entity, theirs in moment.items():
            ours = self.seen[target.name][entity]
            found = target.read(entity)
            clock = found["clock"] if found else {}
            if clock == _clock(ours | theirs):
                self.seen[target.name][entity] = ours | theirs
            elif complete or clock != _clock(ours):
                expected = [_clock(ours | theirs)] if complete else [_clock(ours), _clock(ours | theirs)]
                raise Failure(f"the clock of {entity} on {target.name} after a round", expected, clock)

    # -- the end

    def finish(self) -> None:
        for running in self.running:
            running.round.abort()
        self.world.meet(*self.devices)
        for entity, writes in self.written.items():
            if writes:
                self._check(entity, writes)

    def _check(self, entity: str, writes: dict[Dot, _Written]) -> None:
        device = self.devices[0]
        registers = next(found for found in device.dump() if found["id"] == entity)["registers"]
        survivors: dict[str, set[Dot]] = {}
        for path in {path for write in writes.values() for path in write.values}:
            of_path = {dot: write for dot, write in writes.items() if path in write.values}
            overwritten = {dot for write in of_path.values() for dot in write.seen}
            survivors[path] = set(of_path) - overwritten
            held = {(write["host"], write["counter"]): write for write in registers.get(path, [])}
            what = f"the writes held in {path} of {entity}"
            self.world.expect(what, sorted(map(list, held)), sorted(map(list, survivors[path])))
            for dot, write in held.items():
                if not writes[dot].deletes:
                    self.world.expect(f"what {dot} wrote to {path}", write["value"], writes[dot].values[path])
                self.world.expect(f"who wrote {dot}", write["precedence"], writes[dot].precedence)
        self._check_deletion(entity, writes, survivors, registers)

    def _check_deletion(
        self, entity: str, writes: dict[Dot, _Written], survivors: dict[str, set[Dot]], registers: dict[str, Any]
    ) -> None:
        """Deleted stays deleted, unless somebody who may have edited without having seen it."""
        ends = survivors.get(DELETED, set())
        deletions = {dot for dot in ends if writes[dot].deletes}
        edits = {dot for path, dots in survivors.items() if path != DELETED for dot in dots}
        stamps = {
            (held["host"], held["counter"]): (held["precedence"], held["hlc"], held["host"], held["counter"])
            for held in registers.get(DELETED, [])
        }
        last = max(ends, key=lambda dot: stamps[dot]) if ends else None
        unseen = {dot for dot in edits if all(dot not in writes[by].seen for by in deletions)}
        deleted = last in deletions and all(writes[dot].precedence <= writes[last].precedence for dot in unseen)
        contested = bool(deletions) and (deletions != ends or bool(unseen))
        for device in self.devices:
            found = device.read(entity)
            self.world.expect(f"{entity} is deleted on {device.name}", found["deleted"], deleted)
            self.world.expect(f"{entity} is contested on {device.name}", DELETED in found["conflicts"], contested)


def _clock(dots: Seen) -> dict[str, int]:
    clock: dict[str, int] = {}
    for host, counter in dots:
        clock[host] = max(clock.get(host, 0), counter)
    return clock


def history(world: World) -> None:
    """Writes, deletions, cut, doubled and reordered rounds: equal knowledge, equal digest, nothing lost (STORE-8)."""
    history = _History(world)
    for _ in range(STEPS):
        history.step()
    history.finish()
