"""What can happen to a person's devices, as data (a schedule is a list of steps), and where schedules come from.

A step names devices, wires and entities by number, modulo how many there are, and one that cannot happen does
nothing. So whatever is left of a schedule when steps are taken out of it is a schedule: that is how one that
breaks a law is made short enough to be read, and how it is kept as a named scenario.
"""

import random
from typing import NamedTuple

import msgspec
from tests.simulation.lie import LIES
from tests.simulation.pool import SCHEMAS
from tests.simulation.power import Survives

DAY = 24 * 3_600_000


class Step(msgspec.Struct, frozen=True, tag=True):
    """What they have in common: the tag, for printing them as JSON."""


class Write(Step, frozen=True):
    """Some fields of an entity, by a user (precedence 1) or the agent; each value is written once in a run. `stale`:
    by somebody who has read the entity earlier (`Look`) and knows nothing of what came since."""

    device: int
    entity: int
    fields: tuple[str, ...] = ("x",)
    precedence: int = 1
    store: str = "journal"
    stale: bool = False


class Look(Step, frozen=True):
    device: int
    entity: int
    store: str = "journal"


class Delete(Step, frozen=True):
    device: int
    entity: int
    precedence: int = 1
    store: str = "journal"


class Undelete(Step, frozen=True):
    device: int
    entity: int
    precedence: int = 1
    store: str = "journal"


class Relate(Step, frozen=True):
    """Link two entities: an entity whose id follows from what it is, so that many make the same."""

    device: int
    entity: int
    other: int


class Decide(Step, frozen=True):
    """An effect in the journal and then the decision in the agent store, as a verdict is carried out."""

    device: int


class Connect(Step, frozen=True):
    device: int
    other: int


class Deliver(Step, frozen=True):
    """One message arrives at a side of a wire, is carried out there, and is answered."""

    wire: int
    side: int


class Speak(Step, frozen=True):
    """A side of a wire says what it has to say of itself, one frame of it."""

    wire: int
    side: int


class Flow(Step, frozen=True):
    """Everything that both sides of a wire have to say, until they are quiet."""

    wire: int


class Meet(Step, frozen=True):
    """Connect, flow, cut."""

    device: int
    other: int


class Gather(Step, frozen=True):
    """Every two devices meet."""


class Cut(Step, frozen=True):
    wire: int


class Gossip(Step, frozen=True):
    wire: int
    side: int


class Verify(Step, frozen=True):
    wire: int
    side: int
    store: str = "journal"


class Crash(Step, frozen=True):
    """The device dies in place of its `commits`-th commit from now, whatever it is doing then; 0: at once."""

    device: int
    commits: int = 0


class PowerCut(Step, frozen=True):
    """The power of a device goes at the `operations`-th write to its disk from now, in the
    middle of whatever it is doing then; 0: at once. Of what was not synced the disk keeps what `survives` says; or
    it had not synced when it said so, and its stores are back at an earlier moment, all at one or each at its own."""

    device: int
    operations: int
    survives: Survives
    chance: int


class Backup(Step, frozen=True):
    device: int


class Restore(Step, frozen=True):
    """A device goes back to one of its backups; `noticed`: its files show at once that they were restored."""

    backup: int
    device: int
    noticed: bool = False


class RestoreOne(Step, frozen=True):
    """Of a device one store alone goes back to one of the device's backups; the others stay as they are."""

    backup: int
    device: int
    store: str = "journal"


class Clone(Step, frozen=True):
    """The same device, live a second time."""

    device: int


class Newcomer(Step, frozen=True):
    device: int
    """Who invites it."""


class Jump(Step, frozen=True):
    """Time passes."""

    millis: int


class Skew(Step, frozen=True):
    """The clock of a device is set wrong."""

    device: int
    millis: int


class Purge(Step, frozen=True):
    device: int


class Retire(Step, frozen=True):
    device: int
    other: int


class Tamper(Step, frozen=True):
    """Somebody changes a value of a row where it lies, or takes it out (`drop`)."""

    device: int
    entity: int
    drop: bool = False
    store: str = "journal"


class Lie(Step, frozen=True):
    """The next time that it has something to say that fits, device `LIAR` says what is not so
    (`tests.simulation.lie`)."""

    how: str
    chance: int


AnyStep = (
    Write | Look | Delete | Undelete | Relate | Decide | Connect | Deliver | Speak | Flow | Meet | Gather | Cut
    | Gossip | Verify | Crash | PowerCut | Backup | Restore | RestoreOne | Clone | Newcomer | Jump | Skew | Purge
    | Retire | Tamper | Lie
)  # fmt: skip


class Schedule(msgspec.Struct, frozen=True):
    """`devices` begin empty, each with these `stores`; then the steps, one after the other. `disks`: their stores lie
    on disks of which the power can be cut."""

    devices: int
    stores: tuple[str, ...]
    steps: tuple[AnyStep, ...]
    disks: bool = False

    def printed(self) -> str:
        """As JSON, a step a line."""
        steps = ",\n  ".join(msgspec.json.encode(step).decode() for step in self.steps)
        stores = msgspec.json.encode(self.stores).decode()
        disks = ', "disks": true' if self.disks else ""
        return f'{{"devices": {self.devices}, "stores": {stores}{disks}, "steps": [\n  {steps}\n]}}'

    @staticmethod
    def parsed(text: str | bytes) -> "Schedule":
        return msgspec.json.decode(text, type=Schedule)


class Kind(NamedTuple):
    """A sort of schedule: how often each step comes, and which stores there are."""

    weights: dict[str, float]
    stores: tuple[str, ...] = ("journal",)
    steps: tuple[int, int] = (50, 110)
    disks: bool = False


_TALK = {
    "connect": 4,
    "deliver": 18,
    "speak": 9,
    "flow": 2,
    "meet": 2,
    "cut": 1,
    "crash": 0.7,
    "look": 0.7,
    "skew": 0.3,
    "jump": 0.3,
}
_FORGET = {"delete": 4, "undelete": 0.4, "purge": 4, "gossip": 1, "meet": 6, "gather": 0.5, "forget": 2}
_COPY = {"backup": 1.2, "restore": 1.2, "clone": 0.3}
_PART_FORGOTTEN = {"purge": 1, "forget": 0.5, "gather": 0.3, "newcomer": 0.1}
_LIED_TO = {"meet": 6, "gather": 1, "purge": 1, "forget": 0.7, "backup": 0.3, "restore": 0.3, "skew": 0.0}
_PAIR = ("journal", "agent")
_ALL = tuple(SCHEMAS)

KINDS = {
    "basic": Kind(_TALK | {"write": 8, "delete": 1, "undelete": 0.4, "relate": 0.5, "verify": 0.5}),
    "purge": Kind(_TALK | {"write": 5, "relate": 0.5} | _FORGET),
    "retire": Kind(_TALK | {"write": 5} | _FORGET | {"retire": 0.6, "newcomer": 0.2, "abandon": 1.5}),
    "fork": Kind(_TALK | {"write": 8, "delete": 1, "undelete": 0.2} | _COPY),
    "web": Kind(
        {"write": 5, "connect": 5, "deliver": 40, "speak": 18, "flow": 0.7, "cut": 1.5, "crash": 0.5} | _COPY,
        steps=(80, 160),
    ),
    "all": Kind(
        _TALK | {"write": 6, "verify": 0.3} | _FORGET | _COPY | {"retire": 0.4, "newcomer": 0.15, "abandon": 0.7}
    ),
    "two": Kind(_TALK | {"write": 4, "delete": 1, "decide": 5}, _PAIR),
    "twoall": Kind(_TALK | {"write": 4, "decide": 4} | _FORGET | _COPY | {"purge": 2, "abandon": 0.5}, _PAIR),
    "three": Kind(
        _TALK | {"write": 6, "delete": 1, "decide": 4, "verify": 0.3} | _FORGET | _COPY | {"purge": 2, "abandon": 0.3},
        _ALL,
    ),
    "liar": Kind(_TALK | {"write": 8, "lie": 6, "delete": 2, "verify": 0.5} | _LIED_TO),
    "power": Kind(
        _TALK | {"write": 8, "power": 3, "crash": 0, "delete": 1, "gather": 0.5, "purge": 1, "forget": 0.5}, disks=True
    ),
    "power2": Kind(_TALK | {"write": 4, "decide": 5, "power": 3, "crash": 0, "delete": 1}, _PAIR, disks=True),
    "part": Kind(
        _TALK | {"write": 5, "delete": 1, "decide": 4, "restore-one": 0.7, "part": 1.5} | _COPY | _PART_FORGOTTEN, _ALL
    ),
    "unsync": Kind(
        _TALK
        | {"write": 5, "decide": 4, "unsynced": 1.5, "sunk": 0.7, "power": 0.7, "crash": 0, "delete": 1}
        | _PART_FORGOTTEN,
        _ALL,
        disks=True,
    ),
    "tamper": Kind(_TALK | {"write": 8, "delete": 1, "gather": 0.5}),
}


def generate(seed: int, kind: str) -> Schedule:
    """The schedule of a seed."""
    chance = random.Random(f"{kind}/{seed}")
    made = KINDS[kind]
    names, weights = list(made.weights), list(made.weights.values())
    entities = chance.choice((1, 2, 3, 5))
    steps: list[AnyStep] = []
    length = chance.randint(*made.steps)
    while len(steps) < length:
        steps += _steps(chance, chance.choices(names, weights)[0], entities, made.stores)
    if kind == "tamper":
        steps += [Gather()] * 3
        steps += [Tamper(1, chance.randrange(entities), chance.random() < 0.4) for _ in range(chance.randint(1, 3))]
    return Schedule(chance.choice((3, 3, 4)), made.stores, tuple(steps), made.disks)


def _steps(chance: random.Random, name: str, entities: int, stores: tuple[str, ...]) -> list[AnyStep]:
    """One step; or some that rarely come together by chance: what it takes until something is forgotten."""
    a, b, away = chance.sample(range(3), 3)
    deleted = Delete(a, chance.randrange(entities), 1, chance.choice(stores))
    if name == "forget":
        return [deleted, Gather(), Gather(), *(Purge(device) for device in (a, b)[: chance.choice((1, 2))])]
    if name == "abandon":
        unseen: list[AnyStep] = [Write(away, deleted.entity, ("y",), 1, deleted.store)] if chance.random() < 0.5 else []
        left = [Retire(a, away), deleted, *unseen, Meet(a, b), Meet(b, a), Purge(a)]
        return [*left, Purge(b)] if chance.random() < 0.5 else left
    if name in ("part", "sunk"):
        return _back(chance, (a, b, away), entities, stores, sunk=name == "sunk")
    return [_step(chance, name, entities, stores)]


def _back(
    chance: random.Random, devices: tuple[int, int, int], entities: int, stores: tuple[str, ...], *, sunk: bool
) -> list[AnyStep]:
    """One store is restored to before some writes, of which another device knows the first (or the disk has lost the
    last syncs); then it writes nothing, less than, exactly to, or past what that one knows."""
    a, b, c = devices
    store = chance.choice(stores)
    count, known = chance.randint(1, 4), chance.randint(0, 4)
    writes: list[AnyStep] = [
        Decide(a) if chance.random() < 0.3 else Write(a, chance.randrange(entities), ("x",), 1, store)
        for _ in range(count)
    ]
    again: list[AnyStep] = [
        Write(a, chance.randrange(entities), (chance.choice("xyz"),), 1, store) for _ in range(chance.randint(0, 5))
    ]
    first = [Meet(a, c)] if chance.random() < 0.5 else []
    lie: list[Survives] = ["back", "apart"]
    back = PowerCut(a, 0, chance.choice(lie), chance.randrange(1_000)) if sunk else RestoreOne(-1, a, store)
    return [Backup(a), *writes[:known], Meet(a, b), *writes[known:], back, *again, *first, Meet(a, b)]


def _step(chance: random.Random, name: str, entities: int, stores: tuple[str, ...]) -> AnyStep:
    device, other, wire, side = chance.randrange(12), chance.randrange(12), chance.randrange(12), chance.randrange(2)
    entity, store, precedence = chance.randrange(entities), chance.choice(stores), chance.choice((0, 1))
    if chance.random() < 0.15:
        entity += ONCE
    match name:
        case "write":
            fields = tuple(chance.sample("xyz", chance.choice((1, 1, 2))))
            return Write(device, entity, fields, precedence, store, chance.random() < 0.2)
        case "look":
            return Look(device, entity, store)
        case "delete":
            return Delete(device, entity, chance.choice((0, 1, 1)), store)
        case "undelete":
            return Undelete(device, entity, precedence, store)
        case "relate":
            return Relate(device, entity, other % entities)
        case "decide":
            return Decide(device)
        case "connect":
            return Connect(device, other)
        case "deliver":
            return Deliver(wire, side)
        case "speak":
            return Speak(wire, side)
        case "flow":
            return Flow(wire)
        case "meet":
            return Meet(device, other)
        case "gather":
            return Gather()
        case "cut":
            return Cut(wire)
        case "gossip":
            return Gossip(wire, side)
        case "verify":
            return Verify(wire, side, store)
        case "crash":
            return Crash(device, chance.choice((0, 1, 1, 2, 3)))
        case "backup":
            return Backup(device)
        case "restore":
            return Restore(other, device, chance.random() < 0.2)
        case "restore-one":
            return RestoreOne(other, device, store)
        case "clone":
            return Clone(device)
        case "newcomer":
            return Newcomer(device)
        case "jump":
            return Jump(chance.choice((1_000, DAY, 40 * DAY)))
        case "skew":
            return Skew(device, chance.choice((0, 5, -5, DAY, -DAY, 30 * DAY)))
        case "purge":
            return Purge(device)
        case "retire":
            return Retire(device, other)
        case "power" | "unsynced":
            honest: list[Survives] = ["none", "prefix", "any"]
            lying: list[Survives] = ["back", "apart"]
            survives = chance.choice(honest if name == "power" else lying)
            return PowerCut(
                device,
                chance.choice((0, chance.randint(1, 12), chance.randint(1, 60))),
                survives,
                chance.randrange(1_000),
            )
        case "lie":
            return Lie(chance.choice(LIES), chance.randrange(1_000))
    raise ValueError(f"{name!r} is not a step")


LIAR = 2
"""The device that lies, if one does."""
ONCE = 1_000
"""Entities from this number on have an id that nobody makes twice."""
