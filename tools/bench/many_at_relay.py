"""Many at a relay: records that a device joins with, changes that it catches up with, and persons."""

import os
import time

import anyio
from tests.support.household import Member, inline

from lottisync.entities.entity import HIGH
from lottisync.relay.jetstream import JetStream
from lottisync.relay.participant import Participant
from lottisync.relay.setting import RelaySetting as Address
from lottisync.relay.visits import Visits
from tools.bench.at_relay import SPACE, household, visit
from tools.bench.counting import counting
from tools.bench.devices import IMPORT
from tools.bench.figure import Figure
from tools.bench.persons import persons
from tools.bench.plot import Curve
from tools.bench.record import ident, task
from tools.bench.setting import Setting

WEEK = 700
"""Changes of a week: a hundred a day."""


def many_at_relay(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """All of it, one after the other."""
    found = [bench(setting) for bench in (joins, weeks, persons)]
    return [figure for figures, _ in found for figure in figures], [curve for _, curves in found for curve in curves]


def joins(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """A device joins from a snapshot of many records, into its stores."""
    figures, put, joined = list[Figure](), dict[int, float](), dict[int, float]()
    for count in setting.sizes.growth:
        setting.doing(f"join of {count:,} at a relay")
        folder = setting.folder / f"relay-join-{count}"
        first, second = household(folder, 2)
        for start in range(0, count, IMPORT):
            with first.stores["journal"].transaction(first.now, HIGH) as tx:
                tx.put_all((ident(n), "task", task(n)) for n in range(start, min(start + IMPORT, count)))
        with counting(folder / "server") as server:
            began = time.monotonic()
            visit(first, server.server.url)
            published = time.monotonic() - began
            before = server.counted()
            began = time.monotonic()
            visit(second, server.server.url)
            took = time.monotonic() - began
            moved = server.counted().since(before)
        with second.stores["journal"].reading() as reader:
            assert reader.count() == count
        for member in (first, second):
            member.close()
        put[count], joined[count] = published / count * 1e6, took / count * 1e6
        figures += [
            Figure(f"{count:,} records, put into a relay", published, "s"),
            Figure(f"{count:,} records, joined from a relay", took, "s"),
            Figure(f"{count:,} records, joined from a relay: bytes of a record", moved.bytes_out / count, "B"),
            Figure(f"{count:,} records, joined from a relay: messages from it", moved.messages_out, ""),
        ]
    return figures, [Curve("record put", put), Curve("record joined", joined)]


def weeks(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """A device was away: one message for each change."""
    figures, costs = list[Figure](), dict[int, float]()
    for count in (7, 70) if setting.sizes.quick else (WEEK // 7, WEEK):
        setting.doing(f"{count} changes while a device was away", count)
        folder = setting.folder / f"relay-week-{count}"
        first, second = household(folder, 2)
        with counting(folder / "server") as server:
            for member in (first, second, first, second):
                visit(member, server.server.url)
            anyio.run(_written, first, server.server.url, count, setting)
            before = server.counted()
            began = time.monotonic()
            visit(second, server.server.url)
            took = time.monotonic() - began
            moved = server.counted().since(before)
        assert second.title(ident(count - 1)) is not None
        for member in (first, second):
            member.close()
        costs[count] = took / count * 1e6
        figures += [
            Figure(f"{count} changes while a device was away, caught up", took, "s"),
            Figure(f"{count} changes while a device was away: bytes of a change", moved.bytes_out / count, "B"),
        ]
    return figures, [Curve("change caught up", costs)]


async def _written(member: Member, url: str, count: int, setting: Setting) -> None:
    """So many changes, each published for itself."""
    relay = await JetStream.connect(Address(url, SPACE), bytes(8))
    participant = Participant(member, SPACE, os.urandom, member.now)
    visits = Visits(member, os.urandom, lambda *said: None, inline)
    for number in range(count):
        member.put(ident(number), f"Title {number}")
        await visits.visit(relay, participant, all_of_it=number == 0)
        setting.done(number)
    participant.close()
    await relay.close()
