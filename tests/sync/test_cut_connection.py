"""Connections that are cut anywhere, and what a round that did not end leaves behind: SYNC-4, SYNC-26 to SYNC-30, over
a cable in memory."""

import contextlib
import shutil
from pathlib import Path

import anyio
import pytest
from tests.support import sqlite
from tests.support.event_loop import until
from tests.support.household import Cable, Member, household, in_step, meet, quiet
from tests.support.messages import hello
from tests.support.script import kinds, round_of, speaking, wanting, written

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame
from lottisync.store import lookups
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store
from lottisync.sync.connection import Connection

pytestmark = pytest.mark.anyio
STRANGE = Host("5" * 16)


def prepared(folder: Path) -> list[Member]:
    """Two devices with something of everything, one of which has met the other before."""
    a, b = household(folder)
    for number in range(3):
        a.put(f"a{number}", "first")
        b.put(f"b{number}", "first")
    a.put("effect", "Milk")
    a.put("decision", "yes", store="agent", kind="changeDecision")
    return [a, b]


def cuts(folder: Path) -> list[int]:
    """Where to cut: at the boundary of every frame, one byte into it, and in its middle."""
    members = prepared(folder)

    async def whole() -> Cable:
        return await meet(*members)

    cable = anyio.run(whole)
    for member in members:
        member.close()
    places, at = set(), 0
    for _, length in cable.pieces:
        places |= {at + 1, at + length // 2, at + length}
        at += length
    return sorted(places)


def no_knowledge_without_its_rows(members: list[Member]) -> list[str]:
    """What a device claims to know, it holds: every dot of the writers' own rows that its knowledge covers."""
    missing = []
    for holder in members:
        for writer in members:
            for name, store in writer.stores.items():
                known = holder.knowledge(name)
                with store.reading() as reader:
                    for (entity,) in reader.local("select id from rows"):
                        version = reader.version(entity)
                        assert version is not None
                        for host, counter in version.read_clock().items():
                            held = holder.stores[name].read(entity)
                            if counter <= known.get(host, 0) and (held is None or held.clock.get(host, 0) < counter):
                                missing.append(f"{holder.number} claims {host}:{counter} without {entity}")
    return missing


def test_sync_4_cut_anywhere_nothing_is_lost_claimed_early_or_sent_twice(tmp_path: Path) -> None:
    places = cuts(tmp_path / "measured")
    assert len(places) > 40
    template = tmp_path / "template"
    template.mkdir()
    for member in prepared(template):
        member.close()
    for place in places:
        folder = tmp_path / f"cut-{place}"
        shutil.copytree(template, folder)
        a, b = Member(folder / "device-1", 1), Member(folder / "device-2", 2)
        anyio.run(cut_and_go_on, a, b, place)
        a.close()
        b.close()
        shutil.rmtree(folder)


async def cut_and_go_on(a: Member, b: Member, place: int) -> None:
    first = await meet(a, b, cable=Cable(place), done=lambda: False)
    assert no_knowledge_without_its_rows([a, b]) == [], place
    for there in (a, b):
        if there.title("decision", store="agent") is not None:
            assert there.title("effect") is not None, place
    arrived = [
        (there.number, name, entity)
        for there, other in ((a, b), (b, a))
        for name, store in there.stores.items()
        for entity in ids(store)
        if entity in ids(other.stores[name])
    ]
    second = await meet(a, b)
    assert in_step(a, b), place
    assert b.title("effect") == "Milk"
    twice = [entity for entity in second.versions() if first.versions().count(entity)]
    assert [entity for entity in twice if sum(entity == found for *_, found in arrived) > 1] == [], place


def ids(store: Store) -> set[str]:
    with store.reading() as reader:
        return {row[0] for row in reader.local("select id from rows")}


async def test_sync_4_a_round_without_its_end_leaves_the_knowledge_as_it_was(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    before = b.knowledge()
    a.put("t", "Milk")
    sender = await speaking(b, a, round_of(a, b, [written(a, "t")]))
    assert b.title("t") == "Milk"
    assert b.knowledge() == before
    assert "Ack" not in kinds(sender.said(1))


async def test_sync_28_after_a_restart_what_has_arrived_is_not_sent_again(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    for number in range(4):
        a.put(f"t{number}", "Milk")
    batches = [[written(a, f"t{place}")] for place in range(3)]
    await speaking(b, a, round_of(a, b, *batches, count=4))
    b = members[1] = b.restarted()
    cable = await meet(a, b)
    assert in_step(a, b)
    assert cable.versions() == ["t3"]


@pytest.mark.parametrize("clock", ["'{'", "'{}'", "replace(clock, ':', ':9')", "cast(x'ff00' as text)"])
async def test_sync_30_a_damaged_clock_does_not_keep_back_all_the_rest(members: list[Member], clock: str) -> None:
    """MEND-4: the index says what the row had seen. Under that clock it is what it was, and so are those behind it."""
    a, b = members
    await meet(a, b)
    for number in range(3):
        a.put(f"t{number}", f"Milk {number}")
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        tx.execute(f"update journal_entities set clock = {clock} where id = 't1'")
    await meet(a, b, done=lambda: b.knowledge() == a.knowledge())
    assert [b.title(f"t{number}") for number in range(3)] == ["Milk 0", "Milk 1", "Milk 2"]


@pytest.mark.parametrize(
    "damage",
    [
        "serialized = replace(serialized, 'Milk', 'Wine')",
        "serialized = cast(x'7bff7d' as text)",
        "stamps = cast(x'ff' as text)",
        "id = cast(x'74ff' as text)",
        "type = cast(x'74ff' as text)",
        "hash = zeroblob(32)",
    ],
)
async def test_mend_26_a_damaged_row_is_not_sent_and_all_the_rest_is(members: list[Member], damage: str) -> None:
    """MEND-26, MEND-231, REL-D7. It would count as sound there. Bytes that are not text do not end the connection."""
    a, b = members
    await meet(a, b)
    for number in range(3):
        a.put(f"t{number}", f"Milk {number}")
    sqlite.connection(a.stores["journal"]).execute(f"update journal_entities set {damage} where id = 't1'")
    cable = await meet(a, b, done=lambda: b.knowledge() == a.knowledge())
    assert cable.versions() == ["t0", "t2"]
    assert "Close" not in kinds(cable.said(0))
    with b.stores["journal"].reading() as reader:
        assert broken_invariants(reader) == []
        assert reader.quarantined() == []


@pytest.mark.parametrize("damaged", ["t0000", "t1001"])
async def test_mend_26_a_large_round_in_which_a_damaged_row_is_met_begins_again(
    members: list[Member], damaged: str
) -> None:
    """MEND-26: the rows of a large round are not looked at before it begins. The later rounds are."""
    a, b = members
    await meet(a, b)
    names = [f"t{number:04}" for number in range(1_002)]
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        tx.put_all((name, "task", {"title": name}) for name in names)
        tx.execute("update journal_entities set hash = zeroblob(32) where id = ?", (damaged,))
    cable = await meet(a, b, done=lambda: b.knowledge() == a.knowledge())
    said = kinds(cable.said(0))
    assert (said.count("Abort"), said.count("End")) == (1, 1)
    assert set(names) - set(cable.versions()) == {damaged}
    with b.stores["journal"].reading() as reader:
        assert broken_invariants(reader) == []


async def test_sync_29_dots_that_both_hold_beyond_their_knowledge_are_not_offered_for_ever(
    three: list[Member],
) -> None:
    a, b, c = three
    for one, other in ((a, b), (a, c), (b, c), (a, b)):
        await meet(one, other)
    c.put("t", "Milk")
    c.put("u", "Bread")
    await speaking(a, c, round_of(c, a, [written(c, "t")], count=2))
    with a.stores["journal"].reading() as reader:
        assert [entity for *_, entity in lookups.held_beyond(reader)] == ["t"]
    first = await meet(a, b)  # `quiet` fails if they talk without end
    assert in_step(a, b)
    assert first.versions() == ["t"]
    again = await meet(a, b)
    assert again.versions() == []
    assert kinds(again.said(0)) == ["Hello"]
    c.now += 1
    await meet(b, c)
    assert in_step(b, c)
    assert b.title("u") == "Bread"


async def test_sync_26_a_change_made_in_the_middle_of_a_round_takes_nothing_of_it_back(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    want = wanting(a)
    a.put("t", "Milk")
    cable = Cable()
    end = cable.ends[0]
    connection = b.connection(cable.ends[1], a, dialled=False)

    async def read() -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                await end.receive()

    async def say(*messages: m.AnyMessage) -> None:
        await end.send(b"".join(frame(m.encode(message)) for message in messages))
        await quiet([cable])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.start_soon(read)
        await say(hello(a.device, a.boot), want, *round_of(a, b, [written(a, "t")]))
        b.put("u", "Bread")
        await quiet([cable])
        tasks.cancel_scope.cancel()
    await end.aclose()
    b.connections.clear()
    sent = [version.id for batch in cable.said(1) if isinstance(batch, m.Batch) for version in batch.versions]
    assert sent == ["u"]


async def test_sync_29_a_change_does_not_bring_held_dots_along_again(three: list[Member]) -> None:
    a, b, c = three
    for one, other in ((a, b), (a, c), (b, c), (a, b)):
        await meet(one, other)
    c.put("t", "Milk")
    c.put("u", "Bread")
    await speaking(a, c, round_of(c, a, [written(c, "t")], count=2))

    async def work(one: Connection, other: Connection) -> None:
        await until(lambda: in_step(a, b))
        a.put("mine", "Soap")
        await until(lambda: b.title("mine"))
        b.put("yours", "Salt")
        await until(lambda: a.title("yours"))

    cable = await meet(a, b, meanwhile=work)
    assert sorted(cable.versions()) == ["mine", "t", "yours"]
