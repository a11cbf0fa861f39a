"""Two programs that have never seen each other, the bytes of their sessions carried by the runner (C-20)."""

import base64
import random
from typing import Any

from conformance import wire
from conformance.testee import Failure
from conformance.world import JOURNAL, Replica, World

LEVEL = 2
MAX_TURNS = 20_000
"""Deliveries after which a meeting that does not come to rest never will."""


class Line:
    """A connection between two replicas: what one says waits until the runner carries some bytes of it across."""

    def __init__(self, world: World, dialling: Replica, accepting: Replica) -> None:
        self._world = world
        self._ends = (accepting, dialling)
        self._waiting = (bytearray(), bytearray())
        """By end, the bytes that it has said and the other has not heard."""
        self.said = [b"", b""]
        """By end, all that it has said."""
        self.dropped = False
        """Whether a side has given up because it heard nothing for too long."""
        self._sessions = []
        for end, role in ((0, "responder"), (1, "initiator")):
            opened = self._ends[end].ask("session.open", role=role, now=world.now)
            self._sessions.append(opened["session"])
            self._sent(end, opened["send"])

    def _sent(self, end: int, frames: list[str]) -> None:
        for frame in frames:
            self._waiting[end].extend(base64.b64decode(frame))
            self.said[end] += base64.b64decode(frame)

    def carry(self, end: int, count: int) -> None:
        """Deliver so many bytes of what this end has said."""
        data = bytes(self._waiting[end][:count])
        del self._waiting[end][:count]
        self._answered(1 - end, "session.receive", bytes=base64.b64encode(data).decode())

    def tick(self) -> None:
        self._world.now += 1000
        for end in (0, 1):
            self._answered(end, "session.tick")

    def _answered(self, end: int, op: str, **fields: Any) -> None:
        answer = self._ends[end].ask(op, session=self._sessions[end], now=self._world.now, **fields)
        self._sent(end, answer["send"])
        if answer["closed"] is not None:
            if answer["closed"]["code"] != "timeout" and not self.dropped:
                raise Failure(f"{self._ends[end].name} goes on", None, answer["closed"])
            self.dropped = True

    def waiting(self) -> list[int]:
        """The ends that have said something which is still under way."""
        return [end for end in (0, 1) if self._waiting[end]]

    def rest(self, chance: random.Random | None = None) -> None:
        """Carry everything, in pieces if there is chance, until nobody has anything to say."""
        quiet = 0
        for _ in range(MAX_TURNS):
            waiting = self.waiting()
            if self.dropped:
                raise Failure("a line that goes on is not given up")
            if waiting:
                quiet = 0
                end = chance.choice(waiting) if chance else waiting[0]
                self.carry(end, chance.randint(1, 4000) if chance else 1 << 20)
            elif quiet == 2:
                return
            else:
                quiet += 1
                self.tick()
        raise Failure("a meeting comes to rest", f"within {MAX_TURNS} deliveries", [len(f) for f in self.said])

    def cut(self) -> None:
        """What was under way is lost, and neither side is told why."""
        for end in (0, 1):
            self._ends[end].ask("session.close", session=self._sessions[end])


def _met(world: World, a: Replica, b: Replica) -> None:
    """They meet, undisturbed, until all is said; then they are equal, and meeting again is two greetings."""
    for _ in range(2):
        line = Line(world, a, b)
        line.rest()
        line.cut()
    world.expect_in_sync(a, b)
    again = Line(world, b, a)
    for end in (0, 1):
        while again.waiting() and end in again.waiting():
            again.carry(end, 1 << 20)
    tags = [[message[0] for message in wire.messages(frames)] for frames in again.said]
    world.expect("meeting again", [tags, again.waiting()], [[["hello"], ["hello"]], []])
    again.cut()


def _random_write(world: World, devices: list[Replica]) -> None:
    device = world.chance.choice(devices)
    entity = f"t{world.chance.randrange(12)}"
    found = device.read(entity)
    match world.chance.randrange(10):
        case 0 if found is not None and not found["deleted"]:
            device.delete(entity)
        case 1 if found is not None and found["deleted"]:
            device.undelete(entity)
        case 2:
            device.write(f"s{world.chance.randrange(3)}", {"value": world.now}, type="setting", store="space")
        case 3:
            device.write(entity, {"note": "x" * world.chance.randrange(20_000)})
        case _:
            device.write(entity, {world.chance.choice(["title", "due", "labels/bug"]): f"{device.name}{world.now}"})


def history(world: World) -> None:
    """Random writes on both while they talk, their bytes cut anywhere and the line cut in the middle: in the end they
    hold the same, and say nothing but hello (SYNC-1, SYNC-4, SYNC-24, SYNC-25)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    chance = world.chance
    for _ in range(chance.randint(3, 6)):
        for _ in range(chance.randint(0, 8)):
            _random_write(world, [a, b])
        line = Line(world, *chance.sample([a, b], 2))
        for _ in range(chance.randint(0, 60)):
            waiting = line.waiting()
            if line.dropped:  # a greeting that took longer than five seconds: the writes take their time
                break
            if chance.random() < 0.15:
                _random_write(world, [a, b])
            elif not waiting or chance.random() < 0.1:
                line.tick()
            else:
                line.carry(chance.choice(waiting), chance.choice([1, 5, 200, 5_000, 100_000]))
        if not line.dropped and chance.random() < 0.3:
            line.rest(chance)
        line.cut()
        if chance.random() < 0.3:
            restarted = chance.choice([a, b])
            restarted.close()
            restarted.open()
    _met(world, a, b)


def everything_at_once(world: World) -> None:
    """A full device and an empty one, without a disturbance (SYNC-24, SYNC-25)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    for number in range(60):
        a.write(f"t{number}", {"title": f"task {number}"})
    _met(world, a, b)
    world.expect("entities on the other side", len(b.dump()), 60)


def one_end_holds_a_damaged_row(world: World) -> None:
    """It takes no part in the meeting: what is in it reaches nobody, the others go both ways, the session goes on. A
    later version of it from the other end takes its place (MEND-26)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    a.write("t1", {"title": "one"})
    a.write("t2", {"title": "two"})
    _met(world, a, b)
    a.write("t3", {"title": "three"})
    a.ask("corrupt", store=JOURNAL, entity="t1", path="title", value="forged")
    b.write("t4", {"title": "four"})
    line = Line(world, a, b)
    line.rest()
    crossed = [b.fields("t3"), a.fields("t4")]
    world.expect("what stands beside it went over", crossed, [{"title": "three"}, {"title": "four"}])
    world.expect("the other end has what was written", b.fields("t1"), {"title": "one"})
    b.write("t1", {"title": "one more"})
    line.rest()
    line.cut()
    world.expect("a later version takes its place", a.fields("t1"), {"title": "one more"})
    world.expect("both are sound", [a.check(), b.check()], [[], []])
    a.write("t5", {"title": "five"})
    a.ask("corrupt", store=JOURNAL, entity="t5", path="title", value="forged")
    line = Line(world, b, a)
    line.rest()
    line.cut()
    held = b.read("t5")
    world.expect("nobody takes a forged value for sound", held and held["fields"], None)
    world.expect("and the other end is sound", b.check(), [])


def byte_by_byte(world: World) -> None:
    """The bytes may come one at a time (SYNC-1)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    a.write("t1", {"title": "x"})
    b.write("t1", {"title": "y"})
    line = Line(world, a, b)
    while waiting := line.waiting():
        line.carry(waiting[0], 1)
    line.cut()
    world.expect("what both hold", [a.dump(), a.knowledge()], [b.dump(), b.knowledge()])
    _met(world, a, b)


def a_change_while_connected(world: World) -> None:
    """Is there without meeting again, and makes no echo (SYNC-26)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    line = Line(world, a, b)
    line.rest()
    for device, other in ((a, b), (b, a)):
        device.write("t1", {"title": f"by {device.name}"})
        line.rest()
        world.expect(f"on {other.name}", other.fields("t1"), {"title": f"by {device.name}"})
    line.cut()
    _met(world, a, b)


def a_copied_home_meets_its_original(world: World) -> None:
    """Each has gone on under the same host: both find it out, and nothing that either wrote is lost (COPY-5)."""
    a = world.device("a")
    for number in range(5):
        a.write(f"t{number}", {"title": "before"})
    a.close()
    copied = world.copy(a, "copy")
    a.open()
    b = world.opened_from(copied, "b", elsewhere=True)
    for device in (a, b):
        device.write("t1", {"title": f"by {device.name}"})
        device.write(device.name, {"title": "new"})
    _met(world, a, b)
    shown = a.read("t1")
    both = sorted([shown["fields"]["title"], *shown["conflicts"]["title"]])
    world.expect("both titles", both, ["by a", "by b"])
    world.expect("both new ones", [a.fields("b"), b.fields("a")], [{"title": "new"}, {"title": "new"}])


def a_restored_backup_meets_who_knows_more(world: World) -> None:
    """It had written past its own mark before it met: both branches are kept (COPY-5, COPY-6)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    a.write("t1", {"title": "before"})
    a.close()
    backup = world.copy(a, "backup")
    a.open()
    a.write("t1", {"title": "lost, but for b"})
    _met(world, a, b)
    a.close()
    world.restore(a, backup)
    a.write("t1", {"title": "written after the restore"})
    a.write("t2", {"title": "new"})
    _met(world, a, b)
    shown = b.read("t1")
    both = sorted([shown["fields"]["title"], *shown["conflicts"]["title"]])
    world.expect("both titles", both, ["lost, but for b", "written after the restore"])
    world.expect("the new one", b.fields("t2"), {"title": "new"})


def a_device_put_back_to_before_its_first_write(world: World) -> None:
    """Its chain and that of its earlier self part at the genesis: the node is the chain value of counter 0, and both
    branches are whole logs (COPY-5, COPY-6, COPY-50)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    a.close()
    backup = world.copy(a, "backup")
    a.open()
    a.write("t1", {"title": "the very first"})
    a.write("t2", {"title": "only before"})
    _met(world, a, b)
    a.close()
    world.restore(a, backup)
    for title in ("first again", "second", "third"):
        a.write("t1", {"title": title})
    _met(world, a, b)
    shown = b.read("t1")
    both = sorted([shown["fields"]["title"], *shown["conflicts"]["title"]])
    world.expect("both titles", both, ["the very first", "third"])
    world.expect("what only the first branch had", a.fields("t2"), {"title": "only before"})
    world.expect_sound(a, b)


def what_was_held_is_not_sent_again(world: World) -> None:
    """A line that is cut again and again gets somewhere all the same (SYNC-28)."""
    a, b = world.device("a"), world.device("b", elsewhere=True)
    for number in range(12):
        a.write(f"t{number}", {"title": "x", "note": world.chance.randbytes(50_000).hex()})
    for _ in range(60):
        line = Line(world, a, b)
        for _ in range(12):
            for end in line.waiting():
                line.carry(end, 400_000)
        line.cut()
        if b.knowledge() == a.knowledge():
            break
    world.expect("knowledge in the end", b.knowledge(JOURNAL), a.knowledge(JOURNAL))
    _met(world, a, b)
