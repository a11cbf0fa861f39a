"""Rounds between two daemons, in processes of their own, over TLS on loopback, beside the floor and beside others."""

import contextlib
import shutil
import statistics
import time
from collections.abc import Iterator

import anyio
from anyio.abc import ByteStream

from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.net import tls
from lottisync.store.snapshot import Snapshot
from tools.bench import floor, peer
from tools.bench.devices import HERE, Pair, Watch, feed
from tools.bench.figure import Figure, at_least, at_most, value_at_most
from tools.bench.floor import FLOOR, FLOOR_BULK
from tools.bench.plot import Curve
from tools.bench.process import Child
from tools.bench.record import ident, task
from tools.bench.relay import Relay
from tools.bench.setting import Setting

MB = 1e6
TURNS = 3
SPREAD = 7_919
"""A prime: numbers that are multiples of it modulo N lie all over the table."""


# -- initial sync


def initial(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    """B is empty and durably gets all that A holds: for growing N, beside both floors and whatever is installed. Where
    N is judged, it is done several times in turns, and the least time of each counts."""
    sizes = setting.sizes
    idle = idle_memory(setting)
    seconds: dict[str, dict[int, float]] = {"lottisync": {}, "floor": {}, "floor-bulk": {}}
    peak: dict[int, float] = {}
    wide: dict[str, float] = {}
    processor: dict[str, float] = {}

    def took(name: str, count: int, each: float, used: float, memory: float) -> None:
        """How long it took, the time on a core (s), and the memory beyond what was there before (bytes)."""
        seconds[name][count] = min(each, seconds[name].get(count, each))
        if count == sizes.many:
            processor[name] = min(used / count * 1e6, processor.get(name, 1e9))
            wide[name] = max(memory / MB, wide.get(name, 0))

    for count in sizes.growth:
        setting.doing(f"initial sync, {count:,} entities: filling A", count)
        pair = Pair.made(setting.folder / f"initial-{count}", count, setting.done)
        for turn in range(TURNS if count == sizes.many else 1):
            if turn:
                pair.replace_b(f"b{turn}")
            setting.doing(f"initial sync, {count:,} entities", count)
            met = pair.meet(setting.done)
            peak[count] = max((max(met.peaks) - idle) / MB, peak.get(count, 0))
            took("lottisync", count, met.seconds, met.processor, max(met.peaks) - idle)
            for mode in (FLOOR, FLOOR_BULK):
                setting.doing(f"{mode.name}, {count:,} entities")
                folder = setting.folder / f"{mode.name}-{count}"
                with floor.pipeline(folder, mode, count) as (line, _):
                    line.round_trip()
                    before, used = line.receiver.resident, line.processor
                    each = line.send_all(count)
                    took(mode.name, count, each, line.processor - used, line.receiver.peak - before)
                shutil.rmtree(folder)
        pair.close()
        if count != sizes.many:
            shutil.rmtree(pair.folder)
    for name in peer.installed():
        seconds[name] = {}
        for count in sizes.growth:
            for _ in range(TURNS if count == sizes.many else 1):
                setting.doing(f"{name}, {count:,} entities")
                found = peer.measured(name, "initial", count)
                took(name, count, found.seconds, 0.0, found.memory)
    many, least = sizes.many, sizes.growth[0]
    rates = {name: {count: count / took for count, took in by.items()} for name, by in seconds.items()}
    ours, what = rates["lottisync"][many], f"initial sync, {many:,} entities"
    cost = {count: 1e6 / rate for count, rate in rates["lottisync"].items()}
    figures = [
        Figure(what, ours, "/s", rates["floor-bulk"][many], "floor-bulk", at_least(0.33)),
        Figure(what, ours, "/s", rates["floor"][many], "floor"),
        Figure(
            f"{what}: processor of both, an entity", processor["lottisync"], "µs", processor["floor-bulk"], "floor-bulk"
        ),
        *(Figure(what, ours, "/s", rates[name][many], f"{name}, in one process") for name in peer.installed()),
        Figure(f"an entity among {many:,}", cost[many], "µs", cost[least], f"among {least:,}", at_most(1.5)),
        Figure(
            f"peak memory over an idle daemon, {many:,}",
            peak[many],
            "MB",
            wide["floor-bulk"],
            "floor-bulk",
            value_at_most(64),
        ),
        *(Figure(f"peak memory, {many:,}", peak[many], "MB", wide[name], name) for name in peer.installed()),
    ]
    curves = [Curve(name, {count: 1e6 / rate for count, rate in by.items()}) for name, by in rates.items()]
    return figures, curves


def idle_memory(setting: Setting) -> int:
    """Resident bytes of a daemon that is connected and has nothing to do; of two the one that has more."""
    setting.doing("an idle daemon's memory")
    pair = Pair.made(setting.folder / "idle-pair", 10)
    with pair.daemons() as children:
        children[1].event("connected")
        pair.until_in_step()
        used = max(child.resident for child in children)
    pair.close()
    return used


def _in_step(setting: Setting, count: int) -> Pair:
    """Two devices that hold so many entities already: those of the initial sync, if that was measured."""
    folder = setting.folder / f"initial-{count}"
    if folder.exists():
        return Pair(folder)
    setting.doing(f"two devices with {count:,} entities", count)
    pair = Pair.made(folder, count, setting.done)
    pair.meet(setting.done)
    return pair


# -- changes


def change(setting: Setting) -> list[Figure]:
    """A change that another program makes on A, until it is committed on B."""
    sizes = setting.sizes
    pair = _in_step(setting, sizes.many)
    with floor.pipeline(setting.folder / "floor-change", FLOOR, sizes.many) as (line, _), pair.daemons() as (_, second):
        second.event("connected")
        pair.until_in_step()
        line.send_all(sizes.many)
        with Watch(pair.b) as at_b:
            # The write-ahead logs grow at first, and growing a file costs more than writing into it: not of interest.
            for number in range(sizes.samples):
                _change(pair, at_b, range(number, number + 1), "warm")
            setting.doing("one change", sizes.samples)
            ours: list[float] = []
            commits: list[float] = []
            trips: list[float] = []
            for number in range(sizes.samples):
                place = number * SPREAD % sizes.many
                commits.append(line.commit(place, number + 1))
                trips.append(line.round_trip())
                ours.append(_change(pair, at_b, range(place, place + 1), f"edition {number}"))
                setting.done(number)
            setting.doing(f"{sizes.changes:,} changes", 3)
            many: list[float] = []
            beside: list[float] = []
            for number in range(3):
                start = number * sizes.changes
                many.append(_change(pair, at_b, range(start, start + sizes.changes), f"all at once, {number}"))
                beside.append(line.change(range(start, start + sizes.changes), number + 1))
                setting.done(number)
    pair.close()
    bare = [2 * commit + trip for commit, trip in zip(commits, trips, strict=True)]
    what = "two commits and a round trip"
    return [
        *(
            Figure(f"one change at {sizes.many:,}, p{part}", _part(ours, part), "ms", _part(bare, part), what, goal)
            for part, goal in ((50, at_most(2.8)), (99, at_most(5)))
        ),
        Figure(
            f"{sizes.changes:,} changes at {sizes.many:,}",
            min(many) * 1e3,
            "ms",
            min(beside) * 1e3,
            "floor",
            at_most(1.9),
        ),
    ]


def _part(seconds: list[float], percent: int) -> float:
    """Milliseconds within which so many of a hundred were done."""
    return statistics.quantiles(seconds, n=100)[percent - 1] * 1e3


def _change(pair: Pair, at_b: Watch, numbers: range, note: str) -> float:
    """Seconds from before the commit on A to after that on B."""
    last = ident(numbers[-1])

    def arrived() -> bool:
        found = pair.b.journal.read(last)
        return found is not None and found.value("note") == note

    at_b.heard(0.0)
    started = time.monotonic()
    with pair.a.journal.transaction(clock.now(), HIGH) as tx:
        tx.put_all((ident(number), "task", {"note": note}) for number in numbers)
    return at_b.rung(arrived) - started


# -- what crosses the wire


def quiet(setting: Setting) -> list[Figure]:
    """Bytes and round trips: of a connection between two that are in step already, of one change, and of a record."""
    sizes = setting.sizes
    setting.doing("a bare handshake")
    pair = Pair.made(setting.folder / "quiet", sizes.few)
    bare = bare_handshake(pair)
    setting.doing(f"bytes of {sizes.few:,} records", sizes.few)
    with _relayed(pair) as (relay, second):
        second.event("connected")
        pair.until_in_step(setting.done)
        relay.settle()
        record = relay.total / sizes.few
        with Watch(pair.b) as at_b:
            relay.reset()
            for number in range(10):
                _change(pair, at_b, range(number, number + 1), f"edition {number}")
            relay.settle()
            one = relay.total / 10
    with floor.pipeline(setting.folder / "floor-bytes", FLOOR_BULK, sizes.few, relayed=True) as (line, counted):
        assert counted is not None
        line.round_trip()
        counted.reset()
        line.send_all(sizes.few)
        plain = counted.total / sizes.few
        counted.reset()
        line.change(range(1), 1)
        plain_one = counted.total
    with pair.b.journal.reading() as reader:
        document = reader.document(ident(0))
    assert document is not None
    own = len(document.stored)
    figures = [
        Figure("bytes of a record on the wire", record, "B", plain, "floor-bulk", value_at_most(200)),
        Figure("bytes of one change, both ways", one, "B", plain_one, "floor", value_at_most(own + 150)),
    ]
    for count in (sizes.few, sizes.many):
        known = pair if count == sizes.few else _in_step(setting, count)
        figures += in_sync(setting, known, count, bare)
        known.close()
    return figures


def in_sync(setting: Setting, pair: Pair, count: int, bare: tuple[int, int]) -> list[Figure]:
    """Two devices that hold the same connect: what they say beyond a `bare_handshake`."""
    setting.doing(f"in sync at {count:,}")
    _ten_hosts(pair)
    pair.meet()
    with _relayed(pair) as (relay, second):
        second.event("connected")
        relay.settle()
        said, flights = relay.total - bare[0], relay.flights - bare[1]
    return [
        Figure(f"in sync at {count:,}, ten hosts: bytes both ways", said, "B", goal=value_at_most(300)),
        Figure(f"in sync at {count:,}, ten hosts: flights", flights, "", goal=value_at_most(2)),
    ]


def _ten_hosts(pair: Pair) -> None:
    with pair.a.journal.reading() as reader:
        missing = 10 - len(reader.knowledge())
    for number in range(missing):
        with pair.a.journal.transaction(clock.now(), HIGH) as tx:
            tx.new_host()
            tx.put(ident(number), "task", task(number))
        pair.a.bind_hosts(clock.now())


@contextlib.contextmanager
def _relayed(pair: Pair) -> Iterator[tuple[Relay, Child]]:
    relays: list[Relay] = []

    def via(port: int) -> int:
        relays.append(Relay(port))
        return relays[0].port

    with pair.daemons(via) as (_, second):
        yield relays[0], second
    relays[0].close()


def bare_handshake(pair: Pair) -> tuple[int, int]:
    """Bytes and flights of a TLS handshake between the two, and nothing more."""
    return anyio.run(_handshake, pair)


async def _handshake(pair: Pair) -> tuple[int, int]:
    keys = pair.a.key, pair.b.key
    serving = tls.sync_context(keys[0], [keys[1].certificate], server=True)
    dialling = tls.sync_context(keys[1], [keys[0].certificate], server=False)
    async with await anyio.create_tcp_listener(local_host=HERE) as listener, anyio.create_task_group() as tasks:
        relay = Relay(listener.extra(anyio.abc.SocketAttribute.local_port))
        done = anyio.Event()

        async def serve(raw: ByteStream) -> None:
            stream = await tls.secured(raw, serving, server=True)
            done.set()
            await anyio.sleep_forever()
            await stream.aclose()

        tasks.start_soon(listener.serve, serve)
        await tls.secured(await anyio.connect_tcp(HERE, relay.port), dialling, server=False)
        await done.wait()
        await anyio.to_thread.run_sync(relay.settle)
        found = relay.total, relay.flights
        relay.close()
        tasks.cancel_scope.cancel()
    return found


# -- two ways at once


def partition(setting: Setting) -> list[Figure]:
    """Both sides have changed much without each other; then they meet. In turns with the others; the least time of each
    counts."""
    sizes = setting.sizes
    numbers = sizes.few, sizes.edits, sizes.edits // 50
    times: dict[str, float] = {}
    both = numbers[2]
    for turn in range(TURNS):
        took, kept = _partition(setting, turn, *numbers)
        times["lottisync"], both = min(took, times.get("lottisync", took)), min(both, kept)
        for other in peer.installed():
            setting.doing(f"{other}, {numbers[1]:,} edits a side")
            took = peer.measured(other, "partition", *numbers).seconds
            times[other] = min(took, times.get(other, took))
    name = f"two ways, {numbers[1]:,} edits a side, {numbers[2]} conflicts"
    figures = [Figure(f"{name}: both values kept", both, "", numbers[2], "conflicts", at_least(1))]
    ours = times.pop("lottisync")
    for other, took in times.items():
        goal = at_most(1.3) if other == "loro" else None
        figures.append(Figure(name, ours, "s", took, f"{other}, one value kept", goal))
    return figures if times else [*figures, Figure(name, ours, "s")]


def _partition(setting: Setting, turn: int, count: int, edits: int, conflicts: int) -> tuple[float, int]:
    """Seconds until both are in step, and how many of the contested titles have both values then."""
    setting.doing(f"two devices with {count:,} entities", count)
    pair = Pair.made(setting.folder / f"partition-{turn}", count, setting.done)
    pair.meet()
    for side, home in enumerate((pair.a, pair.b)):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            for number, fields in peer.edits_of(side, count, edits, conflicts):
                tx.put(ident(number), "task", fields)
    setting.doing(f"{edits:,} edits a side", edits)
    with pair.b.journal.reading() as reader:
        before = feed(reader)
    took = pair.meet(lambda done: setting.done(done - before)).seconds
    both = min(_with_both_values(home.journal.snapshot(), conflicts) for home in (pair.a, pair.b))
    pair.close()
    shutil.rmtree(pair.folder)
    return took, both


def _with_both_values(snapshot: Snapshot, conflicts: int) -> int:
    """In how many of the contested titles both sides' values are there."""
    try:
        found = 0
        for number in range(conflicts):
            entity = snapshot.entity(ident(number))
            assert entity is not None
            values = {write.value for write in entity.registers["title"]}
            found += values == {f'"title of side {side}"'.encode() for side in (0, 1)}
        return found
    finally:
        snapshot.close()


# -- storage


def storage(setting: Setting) -> list[Figure]:
    """What a record takes in the file: its row, indexes, clocks and its place in the chain."""
    count = setting.sizes.many
    pair = _in_step(setting, count)
    setting.doing("storage")
    path = pair.a.path / "journal.sqlite"
    pair.close()
    folder = setting.folder / "floor-storage"
    folder.mkdir()
    floor.filled(folder / "records.sqlite", FLOOR_BULK, count).close()
    beside = floor.size(folder / "records.sqlite") / count
    return [Figure("storage of a record", floor.size(path) / count, "B", beside, "floor's table", at_most(1.3))]
