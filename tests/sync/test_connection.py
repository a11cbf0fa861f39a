"""Two connections against each other, with real stores, over a cable in memory: what rounds carry, and their limits
(SYNC-8, SYNC-24 to SYNC-27, SYNC-33, SYNC-34)."""

from collections.abc import Callable

import anyio
import pytest
from tests.support.event_loop import until
from tests.support.household import Cable, Member, in_step, meet, quiet
from tests.support.rounds import send
from tests.support.script import kinds, rounds

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.protocol import message as m
from lottisync.protocol.framing import MAX_FRAME
from lottisync.sync.connection import Connection
from lottisync.sync.outgoing import BATCH_BYTES

pytestmark = pytest.mark.anyio
STRANGE = Host("5" * 16)


# -- what a round is for


async def test_sync_24_the_first_meeting_brings_everything_both_ways(members: list[Member]) -> None:
    a, b = members
    for number in range(5):
        a.put(f"a{number}", f"from a {number}")
        b.put(f"b{number}", f"from b {number}")
    await meet(a, b)
    assert in_step(a, b)
    assert [a.title(f"b{number}") for number in range(5)] == [f"from b {number}" for number in range(5)]
    assert [b.title(f"a{number}") for number in range(5)] == [f"from a {number}" for number in range(5)]


async def test_sync_24_edits_of_one_entity_on_both_sides_are_joined(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk", due="2026-01-01")
    await meet(a, b)
    a.put("t", "Oat milk")
    b.put("t", "Milk", due="2026-02-02")
    await meet(a, b)
    assert in_step(a, b)
    entity = a.stores["journal"].read("t")
    assert entity is not None
    assert entity.value("due") == "2026-02-02"
    assert entity.value("title") == "Oat milk"
    assert entity.conflicts() == {"title": ["Milk"]}


async def test_sync_25_equal_stores_exchange_only_hellos(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    await meet(a, b)
    again = await meet(a, b)
    assert kinds(again.said(0)) == ["Hello"]
    assert kinds(again.said(1)) == ["Hello"]
    assert again.total < 900


async def test_sync_26_a_change_made_on_either_side_arrives_while_connected(members: list[Member]) -> None:
    a, b = members

    async def work(one: Connection, other: Connection) -> None:
        await until(lambda: in_step(a, b))
        a.put("t", "Milk")
        await until(lambda: b.title("t") == "Milk")
        b.put("t", "Oat milk")
        await until(lambda: a.title("t") == "Oat milk")
        await until(lambda: in_step(a, b))

    cable = await meet(a, b, meanwhile=work)
    # One round each way, of one version; nothing comes back as an echo.
    assert rounds(cable.said(0)) == ["space", "journal"]
    assert rounds(cable.said(1)) == ["space", "journal"]
    assert cable.versions().count("t") == 2


async def test_sync_8_a_third_device_passes_on_what_was_acknowledged_to_it(three: list[Member]) -> None:
    a, b, c = three
    cables = Cable(), Cable()
    connections = (
        a.connection(cables[0].ends[0], b, dialled=True),
        b.connection(cables[0].ends[1], a, dialled=False),
        b.connection(cables[1].ends[0], c, dialled=True),
        c.connection(cables[1].ends[1], b, dialled=False),
    )

    def after_each_commit() -> None:
        for member in three:
            for connection in member.connections:
                connection.local_change()

    async with anyio.create_task_group() as tasks:
        for member in three:
            member.changed = after_each_commit
        for connection in connections:
            tasks.start_soon(connection.run)
        await until(lambda: in_step(a, b, c))
        a.put("t", "Milk")
        await until(lambda: c.title("t") == "Milk")
        await until(lambda: in_step(a, b, c))
        await quiet(cables)
        tasks.cancel_scope.cancel()


async def test_sync_27_a_decision_arrives_after_its_effect_and_data_after_the_host_that_wrote_it(
    members: list[Member],
) -> None:
    a, b = members
    a.put("decision", "yes", store="agent", kind="changeDecision")
    a.put("effect", "Milk")
    cable = await meet(a, b)
    assert rounds(cable.said(0)) == ["space", "journal", "agent"]
    # Each store's round begins only after the one before was acknowledged.
    talk = cable.said(0)
    assert [kind for kind in kinds(talk) if kind in ("Begin", "End")] == ["Begin", "End"] * 3


async def test_sync_6_what_is_acknowledged_or_sent_is_durable_before(members: list[Member]) -> None:
    """At the moment in which a byte leaves, another process already reads what it says."""
    a, b = members
    cable = Cable()
    checked: list[str] = []

    begun: dict[tuple[int, int], dict[Host, int]] = {}

    def durable(direction: int, message: m.AnyMessage) -> None:
        match message:
            case m.Begin(round=number, store=name, knowledge=knowledge):
                claimed = begun[direction, number] = knowledge
            case m.Ack(round=number, store=name, knowledge=knowledge):
                claimed = vector_clock.merge(begun[1 - direction, number], knowledge)
            case _:
                return
        snapshot = members[direction].stores[name].snapshot()
        assert vector_clock.covers(snapshot.knowledge(), claimed)
        snapshot.close()
        checked.append(type(message).__name__)

    async def slowly(work: Callable[[], object]) -> object:
        """As in a thread: whatever was said before has left when the work is done."""
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        return work()

    async def slow_down(one: Connection, other: Connection) -> None:
        one._call = other._call = slowly  # type: ignore[assignment]

    cable.watch = durable
    a.put("t", "Milk")
    b.put("u", "Bread")
    await meet(a, b, cable=cable, meanwhile=slow_down)
    assert checked.count("Ack") >= 4
    assert checked.count("Begin") >= 4


# -- limits


async def test_sync_33_batches_are_bounded_in_bytes_and_in_number(members: list[Member]) -> None:
    a, b = members
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        for number in range(1100):
            tx.put(f"small{number:04}", "task", {"title": "x"})
        for number in range(6):
            tx.put(f"large{number}", "task", {"title": "x" * 100_000})
    cable = await meet(a, b)
    batches = [message for message in cable.said(0) if isinstance(message, m.Batch)]
    assert max(len(batch.versions) for batch in batches) == m.MAX_BATCH
    assert max(len(m.encode(batch)) for batch in batches if len(batch.versions) > 1) < BATCH_BYTES + 20_000
    assert sum(len(batch.versions) for batch in batches) > 1100
    assert b.title("large5") is not None


async def test_sync_34_a_want_fits_a_frame_however_much_is_held(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    now = a.now
    with a.stores["journal"].transaction(now, HIGH) as tx:
        for number in range(9000):
            tx.put(f"{'n' * 110}{number:06}", "task", {"t": 1})
    assert len(send(a.stores["journal"], b.stores["journal"], now=now, batches=8)) == 8000
    cable = await meet(a, b)
    wants = [message for message in cable.said(1) if isinstance(message, m.Want)]
    held = wants[0].stores["journal"].held
    assert 4000 < len(held) < m.MAX_HELD
    assert len(m.encode(wants[0])) < MAX_FRAME
    assert in_step(a, b)
    assert len(cable.versions()) == 9000 - len(held)
