"""What grows: one thing is done where there are few of something, and where there are many (docs/specs/benchmarks.md).

Time on a core, in one process and without a network; each is the least of some repetitions. The sizes take turns, so
that a machine whose speed changes slows all of them. A store lives long: hosts come with every copy and reinstallation,
and never go.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import apsw
from tests.support.holder import Holder

from lottisync.causality.chain import VALUE_BYTES, ChainPart, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import HIGH, Entity
from lottisync.entities.registers import Registers, Stamp, Write, ordered
from lottisync.entities.version import Version
from lottisync.journal.task_list import Wanted, page_of
from lottisync.journal.types import ENTRY_LINK
from lottisync.store.peer_chain import extend
from lottisync.store.store import Store
from lottisync.sync.conversation import Conversation
from lottisync.sync.incoming import opened
from tools.bench.figure import Figure, at_most, value_at_most
from tools.bench.plot import Curve
from tools.bench.record import ident, task
from tools.bench.setting import Setting
from tools.bench.store import NOW, Bench

REPETITIONS = 15
PER_PAGE = 50
ENTITIES = 100
"""Of a store in which something else is many."""


class Growth(NamedTuple):
    """`cost(bench, count)` gives a thing to be done again and again; `counts` ascend. The goal is a ratio of the cost
    at the last of them to that at the first, or with `most` microseconds at the last."""

    name: str
    counts: tuple[int, ...]
    cost: Callable[[Bench, int], Callable[[int], object]]
    goal: float
    most: float | None = None


def growth(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    figures, curves = grown(setting, GROWTHS)
    return [*figures, *_statements(Bench(setting.folder / "statements"))], curves


def grown(setting: Setting, growths: Iterable[Growth]) -> tuple[list[Figure], list[Curve]]:
    """What each of them costs, and how that grows."""
    figures, curves = [], []
    for number, each in enumerate(growths):
        folder = setting.folder / f"growth-{number}"
        acts = {}
        for count in each.counts:
            setting.doing(f"{each.name}: {count:,}")
            acts[count] = each.cost(Bench(folder / str(count)), count)
        points = _least(acts)
        shutil.rmtree(folder)
        curves.append(Curve(each.name, points))
        few, many = each.counts[0], each.counts[-1]
        goal = at_most(each.goal) if each.most is None else value_at_most(each.most)
        figures.append(Figure(f"{each.name}: {many:,}", points[many], "µs", points[few], f"at {few:,}", goal))
    return figures, curves


def _statements(bench: Bench) -> list[Figure]:
    """How often SQLite is asked for one change, on each side."""
    stores = {"sender": _filled(bench, ENTITIES), "receiver": bench.store()}
    act = _one_change(*stores.values())
    act(1)
    counted = dict.fromkeys(stores, 0)

    def counting(name: str) -> Callable[[object], None]:
        def one(event: object) -> None:
            counted[name] += 1

        return one

    for name, store in stores.items():
        for connection in (store._connection, *store._resting):
            connection.trace_v2(apsw.SQLITE_TRACE_STMT, counting(name))
    act(2)
    goals = {"sender": 27, "receiver": 22}
    return [
        Figure(f"one change, statements of the {name}", count, "", goal=value_at_most(goals[name]))
        for name, count in counted.items()
    ]


def _least(acts: Mapping[int, Callable[[int], object]]) -> dict[int, float]:
    """Microseconds on a core, of each."""
    took = dict.fromkeys(acts, 1e9)
    for number in range(REPETITIONS):
        for count, act in acts.items():
            began = time.process_time()
            act(number)
            took[count] = min(took[count], time.process_time() - began)
    return {count: seconds * 1e6 for count, seconds in took.items()}


# -- what is many


def _filled(bench: Bench, count: int) -> Store:
    store = bench.store()
    with store.transaction(NOW, HIGH) as tx:
        tx.put_all((ident(number), "task", task(number)) for number in range(count))
    return store


def _entities(bench: Bench, count: int) -> Callable[[int], object]:
    return _one_change(_filled(bench, count), bench.store())


def _hosts_known(bench: Bench, count: int) -> Callable[[int], object]:
    store = _filled(bench, ENTITIES)
    for number in range(count):
        with store.transaction(NOW, HIGH) as tx:
            tx.new_host()
            tx.put(
                ident(number % ENTITIES), "task", {"source": str(number)} if number < ENTITIES else {"estimate": number}
            )
            if number >= ENTITIES:
                tx.put(f"{ident(number)}-of", "task", {"title": "x"})
    return _one_change(store, bench.store())


def _one_change(a: Store, b: Store) -> Callable[[int], object]:
    """A change made in A until B has it and A knows; the two are in step before."""
    giving, taking = (_side(store, number) for number, store in enumerate((a, b)))
    giving.greet()
    taking.greet()
    _pump(giving, taking)

    def act(number: int) -> None:
        with a.transaction(NOW + number, HIGH) as tx:
            tx.put(ident(number), "task", {"note": f"edition {number}"})
        giving.local_change()
        _pump(giving, taking)

    return act


def _side(store: Store, number: int) -> Conversation:
    return Conversation(
        Holder(f"{number:064x}", {store.schema.name: store}), boot=bytes(16), dialled=bool(number), now=NOW
    )


def _pump(one: Conversation, other: Conversation) -> None:
    moved = True
    while moved:
        moved = False
        for said, heard in ((one, other), (other, one)):
            while frame := said.data_to_send():
                heard.receive(frame, NOW)
                moved = True


def _devices(bench: Bench, count: int) -> Callable[[int], object]:
    """A change here, while so many devices are connected: for each of them."""
    store = _filled(bench, ENTITIES)
    pairs = [(_side(store, 0), _side(bench.store(), number)) for number in range(1, count)]
    for giving, taking in pairs:
        giving.greet()
        taking.greet()
        _pump(giving, taking)

    def act(number: int) -> None:
        with store.transaction(NOW + number, HIGH) as tx:
            tx.put(ident(number), "task", {"note": f"edition {number}"})
        for giving, taking in pairs:
            giving.local_change()
            _pump(giving, taking)

    return act


def _hosts_in_a_clock(bench: Bench, count: int) -> Callable[[int], object]:
    """Receiving an entity; `REPETITIONS` of a batch each."""
    hosts = [Host(f"{number + 1_000_000:016x}") for number in range(count)]
    store = bench.store()
    with store.transaction(NOW, None) as tx:
        for host in hosts:
            extend(tx, ChainPart(host, "", 1, genesis(host), bytes(VALUE_BYTES)))
    clock = dict.fromkeys(hosts, 1)
    registers = Registers.of({"title": (Write(Stamp(HIGH, NOW, 0, hosts[0], 1), b'"x"'),)})
    batches = [
        [version.close(Entity(ident(number), "task", clock, registers)) for number in range(first, first + ENTITIES)]
        for first in range(0, REPETITIONS * ENTITIES, ENTITIES)
    ]
    return lambda number: _join(store, batches[number])


def _siblings(bench: Bench, count: int) -> Callable[[int], object]:
    """Joining one more write to a register that holds so many."""
    hosts = [Host(f"{number + 1_000_000:016x}") for number in range(count + REPETITIONS)]
    store = bench.store()

    def made(some: list[Host]) -> Version:
        held = ordered(Write(Stamp(HIGH, NOW, 0, host, 1), canonical.encode(host)) for host in some)
        return version.close(Entity("t", "task", dict.fromkeys(some, 1), Registers.of({"title": held})))

    with store.transaction(NOW, None) as tx:
        for host in hosts:
            extend(tx, ChainPart(host, "", 1, genesis(host), bytes(VALUE_BYTES)))
    _join(store, [made(hosts[:count])])
    return lambda number: _join(store, [made([hosts[count + number]])])


def _join(store: Store, versions: list[Version]) -> None:
    with store.transaction(NOW, None) as tx:
        for some in opened(versions).good:
            tx.apply(some)


def _history(bench: Bench, count: int) -> Callable[[int], object]:
    """Editing a field that was edited so often."""
    store = bench.store()

    def edit(number: int) -> None:
        with store.transaction(NOW + number, HIGH) as tx:
            tx.put("t", "task", {"note": f"edition {number}"})

    for number in range(count):
        edit(number)
    return lambda number: edit(count + number)


def _listed(bench: Bench, count: int) -> Callable[[int], object]:
    """The first page of the list of tasks, as the command shows it."""
    store, file = _filled(bench, count), bench.folder / "task-list.index"
    page_of(file, store, Wanted())  # builds the index
    return lambda number: page_of(file, store, Wanted(limit=PER_PAGE))


def _links(bench: Bench, count: int) -> Callable[[int], object]:
    """Linking an entity that has so many links."""
    store = bench.store()
    with store.transaction(NOW, HIGH) as tx:
        for number in range(count):
            tx.link(ENTRY_LINK, "t", ident(number))

    def act(number: int) -> None:
        with store.transaction(NOW + number, HIGH) as tx:
            tx.link(ENTRY_LINK, "t", ident(count + number))

    return act


def entities(*counts: int) -> tuple[Growth, ...]:
    """What is to stay the same where there are more of them."""
    return (
        Growth("one change, entities", counts, _entities, 1.5),
        Growth("a page of 50 of the list of tasks, tasks", counts, _listed, 1.2),
    )


GROWTHS = (
    *entities(1_000, 10_000, 100_000),
    Growth("one change, hosts known", (10, 30, 100, 300, 1_000), _hosts_known, 1.5),
    Growth("one change, devices connected, of all together", (2, 10, 30, 100), _devices, 110),
    Growth("receiving 100 entities, hosts in each clock", (1, 3, 10, 30, 100), _hosts_in_a_clock, 0, 15_000),
    Growth("joining a write, siblings of it", (2, 10, 50, 200), _siblings, 5),
    Growth("editing a field, writes of it before", (10, 50, 150, 450), _history, 1.5),
    Growth("linking, links of the entity before", (10, 100, 1_000, 10_000), _links, 1.5),
)
