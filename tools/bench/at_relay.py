"""What a relay costs: devices of one person at a real NATS server on this machine.

Messages and bytes are those that the server counts, in and out: they do not depend on what else the machine does.
"""

import os
import time
from pathlib import Path

import anyio
from tests.support import rounds
from tests.support.household import Member, inline

from lottisync.relay import setting as settings
from lottisync.relay import visits
from lottisync.relay.participant import Participant
from lottisync.relay.setting import RelaySetting as Address
from lottisync.relay.visits import Visits
from tools.bench.counting import Counted, Counting, counting
from tools.bench.figure import Figure
from tools.bench.plot import Curve
from tools.bench.relay_daemon import beside_daemon
from tools.bench.setting import Setting

SPACE = bytes(range(16))
CHANGES = 5
BOUND_SECONDS = 1_800.0


def at_relay(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """What a change costs, and what a daemon."""
    found, curves = changes(setting)
    return [*found, *beside_daemon(setting)], curves


def household(folder: Path, count: int) -> list[Member]:
    """Devices that were paired with the first one, each while both were up."""
    folder.mkdir(parents=True)
    members = [Member(folder / f"device-{number}", number) for number in range(1, count + 1)]
    first, *others = members
    for each in members:
        Participant(each, SPACE, os.urandom, each.now).close()
    for each in others:
        first.admit(each)
        each.admit(first)
        rounds.pull(first, each, first.now, ["space"])
    for each in others:
        rounds.pull(each, first, each.now, ["space"])
    return members


def visit(member: Member, url: str) -> None:
    member.now += 60_000
    anyio.run(Visits(member, os.urandom, lambda *said: None, inline).once, Address(url, SPACE))


def changes(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """All devices are up: what one change moves, until the last one has it."""
    figures, points = [], dict[str, dict[int, float]]()
    for count in setting.sizes.devices:
        folder = setting.folder / f"relay-{count}"
        setting.doing(f"{count} devices come to a relay", count)
        members = household(folder, count)
        with counting(folder / "server") as server:
            settings.write(members[0].space, server.server.url, SPACE, members[0].now)
            for number, member in enumerate(members, 1):
                visit(member, server.server.url)
                setting.done(number)
            first = server.counted()
            setting.doing(f"{count} devices at a relay", count)
            moved, seconds = anyio.run(_moved, members, server, setting)
        for member in members:
            member.close()
        each = [value / CHANGES for value in moved]
        name = f"a change, {count} devices at a relay"
        figures += [
            Figure(f"the first visits of {count} devices: bytes to the server", first.bytes_in, "B"),
            Figure(f"the first visits of {count} devices: bytes from it", first.bytes_out, "B"),
            Figure(f"{name}: messages to the server", each[0], ""),
            Figure(f"{name}: messages from it", each[1], ""),
            Figure(f"{name}: bytes to the server", each[2], "B"),
            Figure(f"{name}: bytes from it", each[3], "B"),
            Figure(f"{name}: until the last has it", seconds * 1e3, "ms"),
        ]
        for what, value in zip(("messages in", "messages out", "bytes in", "bytes out"), each, strict=True):
            points.setdefault(what, {})[count] = value
    return figures, [Curve(what, found) for what, found in points.items()]


class _Staying(Visits):
    """Visits that say when the first of them is over."""

    def __init__(self, member: Member) -> None:
        super().__init__(member, os.urandom, lambda *said: None, inline)
        self.been = anyio.Event()

    async def visit(self, *args: object, **options: object) -> None:
        await super().visit(*args, **options)  # type: ignore[arg-type]
        self.been.set()


async def _moved(members: list[Member], server: Counting, setting: Setting) -> tuple[Counted, float]:
    """What the server has counted for some changes of the first device, and how long the last one took. What each
    device looks at once a minute, if nothing changes, is not of a change: it is put off. One comes after the other: all
    of them run in this process, and a hundred at once would keep each other from answering in time."""
    async with anyio.create_task_group() as tasks:
        visits.VISIT_SECONDS = BOUND_SECONDS
        for number, member in enumerate(members, 1):
            staying = _Staying(member)
            tasks.start_soon(staying.run)
            await staying.been.wait()
            setting.done(number)
        await _quiet(server)
        await _all_have(members, "begin")
        await _quiet(server)
        before = server.counted()
        for number in range(CHANGES):
            began = time.monotonic()
            await _all_have(members, f"title {number}")
            took = time.monotonic() - began
            await _quiet(server)
        moved = server.counted().since(before)
        tasks.cancel_scope.cancel()
    return moved, took


async def _all_have(members: list[Member], title: str) -> None:
    members[0].put("changed", title)
    with anyio.fail_after(BOUND_SECONDS):
        while any(member.title("changed") != title for member in members):  # noqa: ASYNC110 - stores of many devices
            await anyio.sleep(0.02)


async def _quiet(server: Counting) -> None:
    """Until the server has counted nothing for two seconds."""
    before = server.counted()
    with anyio.fail_after(BOUND_SECONDS):
        while True:
            await anyio.sleep(2)
            now = server.counted()
            if now == before:
                return
            before = now
