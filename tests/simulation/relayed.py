"""Schedules of devices at a relay that lies: the world of `tests.support.relay_world`, drawn by seed.

Devices sign here, and prove who they are; those of the other kinds do not. So these schedules have a world of their
own, and their devices are files that are copied. In half of them sizes are such (`small`) that a few tasks are a
snapshot of several messages.
"""

import contextlib
import random
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest
from tests.simulation.pool import folder
from tests.support.household import household
from tests.support.relay import SPACE, chance, introduce
from tests.support.relay_falsehood import FALSEHOODS
from tests.support.relay_world import LIES, World

from lottisync.relay import publishing, recording
from lottisync.relay.event import PassedOver
from lottisync.relay.header import Kind, parts_of
from lottisync.relay.participant import Participant

KIND = "relay"
DEVICES = 3
Arguments = tuple[int | str | None, ...]
WEIGHTS = {
    "write": 6, "delete": 2, "read": 8, "publish": 8, "meet": 2, "restart": 1, "pass_time": 2, "lose": 1, "wipe": 0.3,
    "go_back": 0.5, "expire": 0.7, "revoke": 0.7, "bring_back": 1, "babble": 0.7, "usurp": 0.5,
    "forget": 2, "season": 0.8, "deceive": 0.7, "back_up": 1.2, "restore": 1.2,
}  # fmt: skip
PART_BYTES = 4_000
LOSSES = ("lose", "wipe", "go_back", "expire")


class Happening(msgspec.Struct, frozen=True):
    """A method of the world, and what it is called with."""

    name: str
    arguments: Arguments


class RelaySchedule(msgspec.Struct, frozen=True):
    """`newcomer`: in the end a device joins that knows only what the relay has. `small`: messages are small, for what
    is written. `retired`: nobody waits for another one with forgetting."""

    seed: int
    steps: tuple[Happening, ...]
    newcomer: bool
    small: bool
    retired: bool = False

    def printed(self) -> str:
        """As JSON, a step a line."""
        steps = ",\n  ".join(msgspec.json.encode(step).decode() for step in self.steps)
        rest = (
            msgspec.json.encode({"newcomer": self.newcomer, "small": self.small, "retired": self.retired})
            .decode()
            .strip("{}")
        )
        return f'{{"seed": {self.seed}, {rest}, "steps": [\n  {steps}\n]}}'


def generate(seed: int) -> RelaySchedule:
    """The schedule of a seed."""
    draw = random.Random(f"{KIND}/{seed}")
    names = draw.choices(list(WEIGHTS), list(WEIGHTS.values()), k=draw.randint(5, 40))
    steps = tuple(Happening(name, _arguments(draw, name)) for name in names)
    return RelaySchedule(seed, steps, draw.random() < 0.3, draw.random() < 0.5, draw.random() < 0.5)


def _arguments(draw: random.Random, name: str) -> Arguments:
    device, other = draw.randrange(DEVICES), draw.randrange(DEVICES)
    match name:
        case "write":
            return device, draw.choice(("journal", "agent")), draw.randint(1, 4)
        case "delete" | "forget":
            return device, draw.randint(1, 4)
        case "read":
            return device, draw.choice((None, *LIES))
        case "publish":
            return device, draw.choice(("all", "all", "acknowledged", "lost"))
        case "meet" | "revoke" | "usurp":
            return device, other
        case "babble":
            return device, draw.choice(list(Kind)).name
        case "deceive":
            return device, draw.choice(tuple(FALSEHOODS))
        case "restart" | "bring_back" | "back_up" | "restore":
            return (device,)
    return ()


@contextlib.contextmanager
def small() -> Iterator[None]:
    """Snapshots after a few messages, and several frames of them, also of the signed records of `space`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "PART_BYTES", PART_BYTES)
        patch.setattr(publishing, "PART_BYTES", PART_BYTES)
        patch.setattr(publishing, "SNAPSHOT_BYTES", PART_BYTES)
        yield


def run(made: RelaySchedule) -> World:
    """A schedule from beginning to end. Raises what went wrong."""
    with contextlib.ExitStack() as stack:
        where = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder())))
        world = World(where / "household", paired(), DEVICES, made.seed)
        stack.callback(world.close)
        if made.small:
            stack.enter_context(small())
            world.padding = PART_BYTES // 5
        if made.retired:
            world.away = {visitor.member.id for visitor in world.visitors}
        for step in made.steps:
            happen(world, step)
        world.assert_equal(world.heal())
        world.assert_nothing_lost()
        if made.newcomer:
            world.assert_complete()
        world.assert_unreadable()
        _count(world, made)
    return world


def happen(world: World, step: Happening) -> None:
    """One step."""
    arguments = [
        Kind[str(each)] if step.name == "babble" and isinstance(each, str) else each for each in step.arguments
    ]
    getattr(world, step.name)(*arguments)


def _count(world: World, made: RelaySchedule) -> None:
    """What the schedule did, beside what the world has counted itself."""
    names = [step.name for step in made.steps]
    world.count["steps"] = len(names)
    world.count["writes"] = len(world.written)
    world.count["relay losses"] = sum(name in LOSSES for name in names)
    world.count["refused"] = sum(len(visitor.happened(PassedOver)) for visitor in world.visitors)
    world.count["frames"] = sum(parts_of(data).header.kind is Kind.FRAME for data in world.relay.everything)
    world.count["newcomers"] = int(made.newcomer)


@cache
def paired() -> Path:
    """Three devices that were paired, as files: to be copied."""
    where = Path(tempfile.mkdtemp(dir=folder())) / "household"
    members = household(where, DEVICES)
    for member in members:
        Participant(member, SPACE, chance(1), member.now)
    introduce(*members)
    for member in members:
        member.close()
    return where
