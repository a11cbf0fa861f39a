"""Runs a schedule on devices with real stores, and looks after every step whether the laws still hold.

There is no network, no thread and no clock: messages wait at the ends of a wire until a step delivers them, time
is what steps say it is, and chance has been used up when the schedule was made. So the same schedule always
gives the same run, to the byte, and `World.trace` says what happened.

Some sizes are made small for it (`small`), so that a round of five entities has several batches and chains.
"""

import contextlib
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import msgspec
from tests.simulation import laws, lie
from tests.simulation import schedule as s
from tests.simulation.device import Crashed, Device, Image, Kept
from tests.simulation.pool import MAX_DEVICES, first_host
from tests.simulation.reference import DELETED_AT, Broken, Reference, Shown
from tests.simulation.wire import Ended, Wire

from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.device.clock import Environment
from lottisync.entities import canonical
from lottisync.entities.entity import HIGH, is_clean_tombstone, is_deleted
from lottisync.entities.identifier import time_ordered
from lottisync.entities.schema import link_id
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame as framed
from lottisync.store import chain, forgetting
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction
from lottisync.sync import outgoing, rounds_out

NOON = 1_764_590_400_000  # 2025-12-01T12:00:00Z
MIN_AGE = 5
"""Milliseconds that a tombstone stays at least: a few steps."""
MAX_WIRES = 5
MAX_BACKUPS = 5
MAX_WORDS = 1_000
"""Messages until two devices have to be quiet."""
MAX_MEETINGS = 12
"""Times that all pairs meet until all devices have to be equal."""
TYPES = {"space": "setting", "journal": "task", "agent": "changeDecision"}


@contextlib.contextmanager
def small() -> Iterator[None]:
    """Batches of a version or two, bursts of a few messages."""
    before = outgoing.BATCH_BYTES, rounds_out.SMALL_BYTES, m.MAX_VALUES
    outgoing.BATCH_BYTES, rounds_out.SMALL_BYTES, m.MAX_VALUES = 200, 300, 5
    try:
        yield
    finally:
        outgoing.BATCH_BYTES, rounds_out.SMALL_BYTES, m.MAX_VALUES = before


class Spared:
    """What somebody has tampered with, or lied about: (store, entity). Nobody can be asked what of that he shows."""

    def __init__(self) -> None:
        self._some: set[tuple[str, str]] = set()
        self.everything = False

    def add(self, store: str, entity: str) -> None:
        self._some.add((store, entity))

    def clear(self) -> None:
        self._some.clear()

    def __contains__(self, entity: object) -> bool:
        return self.everything or entity in self._some

    def __bool__(self) -> bool:
        return self.everything or bool(self._some)


COUNTED = (
    "steps", "writes", "decisions", "wires", "rounds", "rounds cut off", "Reject", "crashes", "power cuts", "survived",
    "restores", "of one", "went back", "mislaid", "gone", "clones", "forks", "purged", "retired", "revived",
    "quarantined", "diverged", "mended", "lies", "refused", "relay losses", "expired", "revoked", "brought back",
    "usurped", "deceived", "restored", "newcomers", "frames",
)  # fmt: skip
"""What of `World.count` shows whether schedules still do what they are for."""


class UnderWay(NamedTuple):
    """A write that was not acknowledged yet when the power went."""

    device: Device
    store: str
    entity: str
    dot: Dot
    saw: frozenset[int]


class Purge(NamedTuple):
    """A purge that was not acknowledged yet when the power went: what stood in the store before it, each with the
    writes that were seen of it."""

    device: Device
    store: str
    seen: dict[str, frozenset[int]]


class World:
    def __init__(self, made: s.Schedule) -> None:
        self.schedule = made
        self.reference = Reference()
        self.count: Counter[str] = Counter()
        self.trace: list[str] = []
        self.now = NOON
        self._minted = 0
        self._environment = Environment(
            lambda: self.now, lambda now: time_ordered(now, bytes(10)), self._mint, lambda: bytes(32)
        )
        self._by_value: dict[bytes, tuple[str, str, tuple[int, ...]]] = {}
        self._instants: set[int] = set()
        self._spared = Spared()
        self._lies: list[s.Lie] = []
        self._lied_about: dict[str, str] = {}
        self._has_lied = False
        self._under_way: UnderWay | Purge | None = None
        self._owned: set[Host] = set()
        self._backups: list[Image] = []
        self.wires: list[Wire] = []
        self.devices: list[Device] = []
        self._once: set[str] = set()
        for _ in range(made.devices):
            self._add()
        for device in self.devices:
            device.household = {other.id: (1, True) for other in self.devices}

    # -- the run

    def run(self) -> None:
        """All steps, and then whether everything comes to one end. Raises `Broken`, or what a device raised."""
        for number, step in enumerate(self.schedule.steps):
            self.step(number, step)
        self.finish()

    def step(self, number: int, step: s.AnyStep) -> None:
        self.now += 1
        try:
            getattr(self, f"_{type(step).__name__.lower()}")(step)
        except Crashed:
            pass
        except Problem:
            if not any(device.dead for device in self.devices):
                raise
        while dead := next((device for device in self.devices if device.dead), None):
            self._reopen(dead)
        self._examine()
        self.trace.append(f"{number} {type(step).__name__} {self._state()}")

    def _state(self) -> str:
        parts = hashlib.sha256()
        for device in self.devices:
            for kept in device.kept.values():
                if kept.summary is not None:
                    parts.update(kept.summary.known + kept.summary.digest)
        for wire in self.wires:
            parts.update(b"".join(frame for end in wire.ends for frame in end.arriving))
        return parts.hexdigest()[:12]

    def _examine(self) -> None:
        """Note what has changed, wake who waits for changes, and hold it all against the laws."""
        any_changed = False
        for device in self.devices:
            changed = [kept for kept in device.kept.values() if kept.changed()]
            for kept in changed:
                kept.observe(self.reference, self._by_value, self._spared)
            if device in self._honest():
                for kept in changed:
                    laws.knowledge_is_true(device, kept, self._by_value, self.reference, self._spared)
                    laws.no_stranger_has_come_in(device, kept, self._owned)
                    if self._has_lied:
                        laws.clocks_do_not_follow(device, kept, self.now)
                if changed:
                    laws.no_decision_before_its_effect(device, self.reference)
            if changed:
                any_changed = True
                for wire in self.wires:
                    for end in wire.ends:
                        if end.device is device:
                            end.conversation.local_change()
        if any_changed and not self._spared:
            laws.equal_knowledge_means_equal_digest(self._honest())

    def finish(self) -> None:
        """All meet until they are equal; then nobody has anything to say, and the laws of the end hold."""
        for device in self.devices:
            device.dies_in = None
            if device.disk is not None:
                device.disk.hold()
        for wire in list(self.wires):
            self._close(wire)
        if self._has_lied:
            self._leave(self.devices[s.LIAR])
        if self.count["tampered"]:
            self._mend()
        for _ in range(MAX_MEETINGS):
            self._all_meet(also_equals=False)
            if not sum(self._meets(a, b) for a, b in pairwise(self.devices)):
                break
        else:
            raise Broken("quiet", f"after {MAX_MEETINGS} meetings devices have more to say than a greeting")
        laws.converged(self.devices)
        laws.sound(self.devices, self._spared)
        laws.nothing_is_lost(self.devices, self.reference, self._spared)
        laws.no_decision_without_its_effect(self.devices, self.reference)
        self.trace.append(f"end {self._state()}")
        self.count["steps"] = len(self.schedule.steps)
        self.count["rounds"] = self.count["Ack"]
        self.count["forks"] = len({node for d in self.devices for kept in d.kept.values() for node in kept.nodes})
        self.count["revived"] = len(self.reference.revived)

    def _leave(self, device: Device) -> None:
        device.close()
        self.devices.remove(device)

    def _mend(self) -> None:
        """All compare what they hold. If nothing else was done on top of the damage, it is gone then, and the
        oracle looks at everything again."""
        for _ in range(2):
            self._all_meet()
            self._all_meet(verify=True)
        steps = list(self.schedule.steps)
        since = next(n for n, step in enumerate(steps) if isinstance(step, s.Tamper))
        if all(isinstance(step, s.Tamper | s.Gather) for step in steps[since:]):
            self._spared.clear()
            for device in self.devices:
                for kept in device.kept.values():
                    kept.feed = 0
                    kept.observe(self.reference, self._by_value, ())

    def _all_meet(self, *, verify: bool = False, also_equals: bool = True) -> None:
        """Every two devices once. Two of which each knows what the other has, and that it is the same, would change
        nothing: without `also_equals` they are spared it."""
        for a, b in combinations(self.devices, 2):
            if also_equals or not a.is_in_step_with(b):
                self._meets(a, b, verify=verify)
            else:
                a.signs_in(b)

    def _meets(self, a: Device, b: Device, *, verify: bool = False) -> bool:
        """Two devices meet, to the end; whether they had to say more than a greeting."""
        wire = self._wire(a, b)
        if wire is None:
            return False
        if verify:
            self._flow_on(wire)
            for name in a.kept:
                wire.ends[0].conversation.verify(name)
        self._flow_on(wire)
        self._close(wire)
        self._examine()
        return any(not isinstance(message, m.Hello | m.Gossip) for end in wire.ends for message in end.said)

    def close(self) -> None:
        for device in self.devices:
            device.dies_in = None
            if device.disk is not None:
                device.disk.hold()
        for wire in self.wires:
            wire.cut()
        for device in self.devices:
            device.close()

    # -- finding what a step names

    def _device(self, number: int) -> Device:
        return self.devices[number % len(self.devices)]

    def _wire_of(self, number: int) -> Wire | None:
        return self.wires[number % len(self.wires)] if self.wires else None

    def _mint(self) -> Host:
        self._minted += 1
        host = Host(f"ffffffff{self._minted:08x}")
        self._owned.add(host)
        return host

    def _add(self) -> Device:
        device = Device.new(len(self.devices), self.schedule.stores, self._environment, on_disk=self.schedule.disks)
        self.devices.append(device)
        self._owned |= {first_host(store, device.slot) for store in device.kept}
        return device

    def _kept(self, device: Device, store: str) -> Kept:
        return device.kept.get(store, device.kept["journal"])

    def _report(self, wire: Wire, device: Device, code: str, text: str) -> None:
        self.count[code] += 1
        if not (self._spared or self._lies_on(wire)):
            raise Broken(code, f"device {device.slot}: {text}")

    # -- writing

    def _id(self, number: int) -> str:
        if number < s.ONCE:
            return f"e{number}"
        return f"0193{number:04x}-0000-7000-8000-000000000000"

    def _do(
        self,
        device: Device,
        kept: Kept,
        entity: str,
        work: Callable[[Transaction], Dot],
        saw: frozenset[int] | None = None,
        now: int | None = None,
    ) -> list[int]:
        """A write by the person at a device, and what it was for the oracle."""
        saw = kept.seen.get(entity, frozenset()) if saw is None else saw
        with kept.store.transaction(device.now() if now is None else now, HIGH) as tx:
            dot = work(tx)
            self._under_way = UnderWay(device, kept.name, entity, dot, saw)
        self._under_way = None
        return self._written(kept, entity, dot, saw)

    def _written(self, kept: Kept, entity: str, dot: Dot, saw: frozenset[int]) -> list[int]:
        self.count["writes"] += 1
        with kept.store.reading() as reader:
            value = chain.value_at(reader, dot.host, dot.counter)
            held = reader.entity(entity)
        assert value is not None
        assert held is not None
        numbers = []
        for path, writes in held.registers.items():
            for write in writes:
                if write.stamp.dot == dot:
                    shown = canonical.decode(write.value)
                    deletion = path == DELETED_AT and isinstance(shown, dict)
                    text = shown["at"] if deletion else write.value.decode()
                    one = Shown(*write.stamp[:3], text, deletion)
                    numbers.append(self.reference.write((kept.name, entity), path, one, saw))
        self._by_value[value] = (kept.name, entity, tuple(numbers))
        kept.seen[entity] = kept.seen.get(entity, frozenset()) | saw | frozenset(numbers)
        return numbers

    def _values(self, fields: tuple[str, ...]) -> dict[str, Any]:
        """A value that nothing else in this run has."""
        self.count["values"] += 1
        return dict.fromkeys(fields, f"w{self.count['values']}")

    def _write(self, step: s.Write) -> None:
        device = self._device(step.device)
        kept, entity = self._kept(device, step.store), self._id(step.entity)
        held = kept.store.read(entity)
        kind = held.type if held is not None else TYPES[kept.name]  # somebody may have lied about it
        if step.entity >= s.ONCE and held is None:
            if entity in self._once:
                return  # nobody makes such an id twice
            self._once.add(entity)
        seen: Clock | None
        seen, saw = kept.looks.get(entity, (None, None)) if step.stale else (None, None)
        values = self._values(step.fields)
        self._do(
            device,
            kept,
            entity,
            lambda tx: tx.put(entity, kind, values, precedence=step.precedence, seen=seen),
            saw,
        )

    def _look(self, step: s.Look) -> None:
        kept, entity = self._kept(self._device(step.device), step.store), self._id(step.entity)
        held = kept.store.read(entity)
        if held is not None:
            kept.looks[entity] = (dict(held.clock), kept.seen.get(entity, frozenset()))

    def _delete(self, step: s.Delete) -> None:
        device = self._device(step.device)
        kept, entity = self._kept(device, step.store), self._id(step.entity)
        held = kept.store.read(entity)
        if held is None or is_deleted(held):
            return
        now = device.now()
        while now in self._instants:  # by its time a deletion is recognised
            now += 1
        self._instants.add(now)
        self._do(device, kept, entity, lambda tx: tx.delete(entity, precedence=step.precedence), now=now)

    def _undelete(self, step: s.Undelete) -> None:
        device = self._device(step.device)
        kept, entity = self._kept(device, step.store), self._id(step.entity)
        held = kept.store.read(entity)
        if held is not None and is_deleted(held):
            self._do(device, kept, entity, lambda tx: tx.undelete(entity, precedence=step.precedence))

    def _relate(self, step: s.Relate) -> None:
        device = self._device(step.device)
        ends = self._id(step.entity), self._id(step.other)
        entity = link_id("entryLink", *ends)
        values = {"fromId": ends[0], "toId": ends[1], **self._values(("relations/blocks",))}
        self._do(device, device.kept["journal"], entity, lambda tx: tx.put(entity, "entryLink", values))

    def _decide(self, step: s.Decide) -> None:
        device = self._device(step.device)
        self.count["decisions"] += 1
        number = self.count["decisions"]
        journal, agent = device.kept["journal"], device.kept["agent"]
        effect = self._do(
            device, journal, f"r{number}", lambda tx: tx.put(f"r{number}", "task", self._values(("receipt",)))
        )
        decision = self._do(
            device, agent, f"d{number}", lambda tx: tx.put(f"d{number}", "changeDecision", self._values(("verdict",)))
        )
        for one in decision:
            self.reference.effects[one] = frozenset(effect)

    # -- talking

    def _wire(self, a: Device, b: Device) -> Wire | None:
        """A new connection; one that there was between the same two takes its leave. Nobody dials himself."""
        if a.id == b.id:
            return None
        for wire in list(self.wires):
            if {end.device.id for end in wire.ends} == {a.id, b.id}:
                self._close(wire)
        a.signs_in(b)
        self.count["wires"] += 1
        a.owned = b.owned = self._owned
        wire = Wire((a, b), self._report, self._tell)
        self.wires.append(wire)
        return wire

    def _close(self, wire: Wire) -> None:
        if wire in self.wires:
            self.wires.remove(wire)
            self.count["rounds cut off"] += wire.in_rounds()
            wire.cut()

    def _connect(self, step: s.Connect) -> None:
        if len(self.wires) < MAX_WIRES:
            self._wire(self._device(step.device), self._device(step.other))

    def _deliver(self, step: s.Deliver) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None:
            self._arrives(wire, step.side)

    def _arrives(self, wire: Wire, side: int, most: int = 1) -> None:
        try:
            messages = wire.deliver(side, most)
        except Ended as fault:
            if not (self._spared or self._lies_on(wire)):
                raise Broken("refused", str(fault)) from None
            self.count["refused"] += 1
            self._close(wire)
            return
        for message in messages:
            self.count[type(message).__name__] += 1

    def _speak(self, step: s.Speak) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None:
            wire.speak(step.side)

    def _flow(self, step: s.Flow) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None:
            self._flow_on(wire)

    def _flow_on(self, wire: Wire) -> None:
        for _ in range(MAX_WORDS):
            busy = False
            for side in (0, 1):
                if wire not in self.wires:
                    return
                if wire.waiting(side):
                    self._arrives(wire, side, MAX_WORDS)
                    busy = True
                while wire in self.wires and wire.speak(side):
                    busy = True
            if not busy:
                return
        raise Broken("endless", "two devices never come to an end: " + _kinds(wire))

    def _meet(self, step: s.Meet) -> None:
        wire = self._wire(self._device(step.device), self._device(step.other))
        if wire is not None:
            self._flow_on(wire)
            self._close(wire)

    def _gather(self, step: s.Gather) -> None:
        self._all_meet(also_equals=False)

    def _cut(self, step: s.Cut) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None:
            self._close(wire)

    def _gossip(self, step: s.Gossip) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None:
            wire.gossip(step.side)

    def _verify(self, step: s.Verify) -> None:
        wire = self._wire_of(step.wire)
        if wire is not None and wire.ends[step.side].conversation.greeted:
            wire.ends[step.side].conversation.verify(step.store)

    # -- what becomes of a device

    def _crash(self, step: s.Crash) -> None:
        device = self._device(step.device)
        if step.commits:
            device.dies_in = step.commits - 1
        else:
            self._reopen(device)

    def _reopen(self, device: Device) -> None:
        self.count["crashes"] += 1
        if device.disk is not None:
            self._cut_off(device)
            self._power_on(device)
            return
        self.devices[device.slot] = device.again(self._environment)
        self._cut_off(device)

    def _powercut(self, step: s.PowerCut) -> None:
        device = self._device(step.device)
        if device.disk is not None:
            device.survives = (step.survives, step.chance)
            device.disk.fail_in(step.operations)

    def _power_on(self, device: Device) -> None:
        """All that was seen in it is there; what was under way when the power went may be, or not."""
        again = self.devices[device.slot] = device.powered_on(self._environment)
        self.count["power cuts"] += 1
        under_way, self._under_way = self._under_way, None
        if under_way is not None and under_way.device is device:
            self.count["survived"] += self._survived(again.kept[under_way.store], under_way)
        if device.went_back:
            self._examine_rolled_back(again, device)
        else:
            for name, kept in again.kept.items():
                laws.nothing_durable_is_gone(again, kept, device.kept[name])

    def _survived(self, kept: Kept, under_way: UnderWay | Purge) -> bool:
        """Whether it is in the store that was opened again; then it counts."""
        if isinstance(under_way, Purge):
            gone = under_way.seen.keys() - _ids(kept)
            self.reference.purged |= frozenset().union(*(under_way.seen[entity] for entity in gone))
            return bool(gone)
        with kept.store.reading() as reader:
            survived = chain.value_at(reader, *under_way.dot) is not None
        if survived:
            self._written(kept, under_way.entity, under_way.dot, under_way.saw)
        return survived

    def _cut_off(self, device: Device) -> None:
        """Nobody will hear of a device that is no more."""
        for wire in [wire for wire in self.wires if wire.joins(device)]:
            self.wires.remove(wire)
            self.count["rounds cut off"] += wire.in_rounds()
            with contextlib.suppress(Crashed, Problem):  # the other one dies of it, and is reopened next
                wire.cut(device)

    def _backup(self, step: s.Backup) -> None:
        if len(self._backups) < MAX_BACKUPS:
            self._backups.append(self._device(step.device).image())

    def _restore(self, step: s.Restore) -> None:
        if not self._backups:
            return
        backup = self._backups[step.backup % len(self._backups)]
        same = [device for device in self.devices if device.id == backup.id]
        device = same[step.device % len(same)]
        self.count["restores"] += 1
        device.close()
        self._cut_off(device)
        restored = self.devices[device.slot] = backup.live(device.slot, self._environment)
        if step.noticed:
            for kept in restored.kept.values():
                with kept.store.transaction(restored.now(), HIGH) as tx:
                    tx.rolled_back()
        self._look_what_is_gone()

    def _restoreone(self, step: s.RestoreOne) -> None:
        device = self._device(step.device)
        backups = [backup for backup in self._backups if backup.id == device.id]
        if not backups or step.store not in device.kept:
            return
        self.count["of one"] += 1
        self._cut_off(device)
        held = backups[step.backup % len(backups)].holding[step.store]
        restored = self.devices[device.slot] = device.with_one_restored(step.store, held, self._environment)
        self._mislay(restored, device)
        self._look_what_is_gone()

    def _mislay(self, now: Device, before: Device) -> None:
        """A journal may have lost effects while their decisions stand, here or elsewhere; some of them perhaps before
        anybody had looked at them."""
        if "agent" not in now.kept:
            return
        effects = frozenset().union(*self.reference.effects.values())
        decided = now.kept["agent"].all_seen & self.reference.effects.keys()
        had = before.kept["journal"].all_seen.union(*(self.reference.effects[decision] for decision in decided))
        lost = effects & had - now.kept["journal"].all_seen
        self.count["mislaid"] += len(lost)
        self.reference.mislaid |= lost

    def _look_what_is_gone(self) -> None:
        """A device has gone back: of what was mislaid somewhere it may have been the last that had it."""
        held = frozenset().union(*(device.kept["journal"].all_seen for device in self.devices))
        self.reference.gone |= self.reference.mislaid - held
        self.count["gone"] = len(self.reference.gone)

    def _examine_rolled_back(self, now: Device, before: Device) -> None:
        """Its disk has lost the last of what it had said to have kept: each store is what it was at some earlier
        moment, whole, and together they are unless they went back apart."""
        for kept in now.kept.values():
            kept.observe(self.reference, self._by_value, self._spared)
            laws.knowledge_is_true(now, kept, self._by_value, self.reference, self._spared)
        laws.sound([now], self._spared)
        self.count["went back"] += any(kept.knowledge != before.kept[name].knowledge for name, kept in now.kept.items())
        if before.survives[0] == "apart":
            self._mislay(now, before)
        self._look_what_is_gone()

    def _clone(self, step: s.Clone) -> None:
        if len(self.devices) < min(5, MAX_DEVICES):
            self.count["clones"] += 1
            copied = self._device(step.device).image()
            self.devices.append(copied.live(len(self.devices), self._environment))

    def _newcomer(self, step: s.Newcomer) -> None:
        if len(self.devices) < min(5, MAX_DEVICES):
            device = self._add()
            invited_by = self._device(step.device)
            invited_by.household[device.id] = (1, True)
            device.household = dict(invited_by.household)

    def _jump(self, step: s.Jump) -> None:
        self.now += step.millis

    def _skew(self, step: s.Skew) -> None:
        self._device(step.device).skew = step.millis

    # -- forgetting

    def _purge(self, step: s.Purge) -> None:
        device = self._device(step.device)
        for kept in device.kept.values():
            seen = {entity: kept.seen.get(entity, frozenset()) for entity in _ids(kept)}
            self._under_way = Purge(device, kept.name, seen)
            with kept.store.transaction(device.now(), HIGH) as tx:
                purged = forgetting.purge(tx, device.active(), MIN_AGE)
            self._under_way = None
            self.count["purged"] += purged
            for entity in seen.keys() - _ids(kept) if purged else ():
                self.reference.purged |= seen[entity]

    def _retire(self, step: s.Retire) -> None:
        device, other = self._device(step.device), self._device(step.other)
        if device.id != other.id:
            version, _ = device.household.get(other.id, (1, True))
            device.household[other.id] = (version + 1, False)
            self.count["retired"] += 1

    # -- lies

    def _lie(self, step: s.Lie) -> None:
        self._lies.append(step)

    def _lies_on(self, wire: Wire) -> bool:
        return self._has_lied and any(end.device.slot == s.LIAR for end in wire.ends)

    def _honest(self) -> list[Device]:
        return [device for device in self.devices if device.slot != s.LIAR or not self._has_lied]

    def _tell(self, wire: Wire, device: Device, messages: list[m.Message], frame: bytes) -> bytes:
        """What a device says when it comes to the other: itself, or the lie whose turn it is."""
        if device.slot == s.LIAR:
            for step in self._lies:
                false = self._falsified(step, wire, messages, frame)
                if false is not None:
                    self._lies.remove(step)
                    self._has_lied = True
                    self.count[f"lie: {step.how}"] += 1
                    self.count["lies"] += 1
                    frame = false
                    break
            if wire.disguised:
                hosts = [host for host in self._owned if host.startswith(f"{device.slot + 1:08x}")]
                return lie.disguised(framed(m.encode(*messages)), hosts)
        return frame

    def _falsified(self, step: s.Lie, wire: Wire, messages: list[m.Message], frame: bytes) -> bytes | None:
        chance = random.Random(step.chance)
        if step.how == lie.DISGUISE:
            wire.disguised = True
            return frame
        if step.how == lie.GARBLE:
            self._spared.everything = True  # it may have come out as anything
            return lie.garbled(chance, frame)
        false = lie.falsified(step.how, chance, messages)
        if false is None or any(
            "type" in (step.how, self._lied_about.get(entity)) for entity in self._lied_about.keys() & false.harms
        ):
            return None  # what two lies have put into quarantine under one clock is not settled
        self._lied_about |= dict.fromkeys(false.harms, step.how)
        self._harm(false.harms)
        return framed(m.encode(*false.said))

    def _harm(self, entities: frozenset[str]) -> None:
        for store in self.schedule.stores:
            for entity in {entity for device in self.devices for entity in device.kept[store].seen}:
                if entity in entities or entities is lie.EVERYTHING:
                    self._spared.add(store, entity)

    # -- damage

    def _tamper(self, step: s.Tamper) -> None:
        device = self._device(step.device)
        kept, entity = self._kept(device, step.store), self._id(step.entity)
        held = kept.store.read(entity)
        if held is None or is_clean_tombstone(held):  # nobody compares what is gone
            return
        with kept.store.reading() as reader:
            document = _document(reader, entity)
        path = next((path for path in sorted(document) if path != DELETED_AT), None)
        if path is None:
            return
        if step.drop:
            del document[path]
        else:
            document[path] = msgspec.Raw(b'"tampered"')
        text = msgspec.json.encode(document, order="deterministic").decode()
        with kept.store.transaction(0, HIGH) as tx:
            for table in (f"{kept.name}_entities", f"{kept.name}_links"):
                tx.execute(f"update {table} set serialized = ? where id = ?", (text, entity))
        self.count["tampered"] += 1
        self._spared.add(kept.name, entity)


def _document(reader: Reader, entity: str) -> dict[str, msgspec.Raw]:
    rows = reader.local("select serialized from rows where id = ?", (entity,))
    return msgspec.json.decode(rows[0][0], type=dict[str, msgspec.Raw])


def _ids(kept: Kept) -> set[str]:
    with kept.store.reading() as reader:
        return {entity for (entity,) in reader.local("select id from rows")}


def _kinds(wire: Wire) -> str:
    return " | ".join(" ".join(type(message).__name__ for message in end.said[-12:]) for end in wire.ends)


def run(made: s.Schedule) -> World:
    """A schedule from beginning to end. Raises what went wrong."""
    with small():
        world = World(made)
        try:
            world.run()
        finally:
            world.close()
    return world
