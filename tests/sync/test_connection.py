"""Two connections against each other, with real stores, over a cable in memory that can be cut anywhere: SYNC-4 to
SYNC-9, SYNC-24 to SYNC-34."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.support.household import Cable, Member, household, in_step, meet, quiet, until
from tests.support.messages import SUMMARY, hello
from tests.support.script import round_of, wanting
from tests.support.stores import part_beyond

from lottisync.causality import vector_clock
from lottisync.causality.chain import ChainPart, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.entities.version import MAX_VERSION, Version
from lottisync.journal.types import JOURNAL
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, MAX_FRAME, frame
from lottisync.store import chain, forgetting
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store
from lottisync.sync.connection import MAX_OUTBOX, STUCK_SECONDS, Connection
from lottisync.sync.outgoing import BATCH_BYTES

pytestmark = pytest.mark.anyio
STRANGE = Host("5" * 16)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Member]]:
    members = household(tmp_path)
    yield members
    for member in members:
        member.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Member]]:
    members = household(tmp_path, 3)
    yield members
    for member in members:
        member.close()


def kinds(messages: list[m.AnyMessage]) -> list[str]:
    return [type(message).__name__ for message in messages]


def rounds(messages: list[m.AnyMessage]) -> list[str]:
    return [message.store for message in messages if isinstance(message, m.Begin)]


# -- what a round is for


async def test_sync_24_the_first_meeting_brings_everything_both_ways(pair: list[Member]) -> None:
    a, b = pair
    for number in range(5):
        a.put(f"a{number}", f"from a {number}")
        b.put(f"b{number}", f"from b {number}")
    await meet(a, b)
    assert in_step(a, b)
    assert [a.title(f"b{number}") for number in range(5)] == [f"from b {number}" for number in range(5)]
    assert [b.title(f"a{number}") for number in range(5)] == [f"from a {number}" for number in range(5)]


async def test_sync_24_edits_of_one_entity_on_both_sides_are_joined(pair: list[Member]) -> None:
    a, b = pair
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


async def test_sync_25_equal_stores_exchange_only_hellos(pair: list[Member]) -> None:
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    again = await meet(a, b)
    assert kinds(again.said(0)) == ["Hello"]
    assert kinds(again.said(1)) == ["Hello"]
    assert again.total < 900


async def test_sync_26_a_change_made_on_either_side_arrives_while_connected(pair: list[Member]) -> None:
    a, b = pair

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


async def test_sync_8_a_third_device_passes_on_what_it_was_told(three: list[Member]) -> None:
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
    pair: list[Member],
) -> None:
    a, b = pair
    a.put("decision", "yes", store="agent", kind="changeDecision")
    a.put("effect", "Milk")
    cable = await meet(a, b)
    assert rounds(cable.said(0)) == ["space", "journal", "agent"]
    # Each store's round begins only after the one before was told to be durable.
    talk = cable.said(0)
    assert [kind for kind in kinds(talk) if kind in ("Begin", "End")] == ["Begin", "End"] * 3


async def test_sync_6_what_is_told_and_what_is_sent_is_durable_before(pair: list[Member]) -> None:
    """At the moment in which a byte leaves, another process already reads what it says."""
    a, b = pair
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
        snapshot = pair[direction].stores[name].snapshot()
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


# -- cut anywhere


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


async def test_sync_4_a_round_without_its_end_leaves_the_knowledge_as_it_was(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    before = b.knowledge()
    a.put("t", "Milk")
    sender = await speaking(b, a, round_of(a, b, [written(a, "t")]))
    assert b.title("t") == "Milk"
    assert b.knowledge() == before
    assert "Ack" not in kinds(sender.said(1))


async def test_sync_28_after_a_restart_what_has_arrived_is_not_sent_again(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    for number in range(4):
        a.put(f"t{number}", "Milk")
    batches = [[written(a, f"t{place}")] for place in range(3)]
    await speaking(b, a, round_of(a, b, *batches, count=4))
    b = pair[1] = b.restarted()
    cable = await meet(a, b)
    assert in_step(a, b)
    assert cable.versions() == ["t3"]


@pytest.mark.parametrize("clock", ["'{'", "'{}'", "replace(clock, ':', ':9')", "cast(x'ff00' as text)"])
async def test_sync_30_a_damaged_clock_does_not_keep_back_all_the_rest(pair: list[Member], clock: str) -> None:
    """MEND-4: the index says what the row had seen. Under that clock it is what it was, and so are those behind it."""
    a, b = pair
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
async def test_mend_26_a_damaged_row_is_not_sent_and_all_the_rest_is(pair: list[Member], damage: str) -> None:
    """MEND-26, REL-D7. It would count as sound there. Bytes that are no text do not end the connection."""
    a, b = pair
    await meet(a, b)
    for number in range(3):
        a.put(f"t{number}", f"Milk {number}")
    a.stores["journal"]._connection.execute(f"update journal_entities set {damage} where id = 't1'")
    cable = await meet(a, b, done=lambda: b.knowledge() == a.knowledge())
    assert cable.versions() == ["t0", "t2"]
    assert "Close" not in kinds(cable.said(0))
    with b.stores["journal"].reading() as reader:
        assert broken_invariants(reader) == []
        assert reader.quarantined() == []


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
        assert [entity for *_, entity in reader.held_beyond()] == ["t"]
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


async def test_sync_26_a_change_made_in_the_middle_of_a_round_takes_nothing_of_it_back(pair: list[Member]) -> None:
    a, b = pair
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


# -- a peer that does not keep to what it said


async def speaking(
    member: Member,
    peer: Member,
    messages: list[m.AnyMessage],
    *,
    raw: bytes = b"",
    patient: bool = True,
    agreed: bool = True,
) -> Cable:
    """Let `peer` greet, say what it has (if they are to agree) and then this, and hang up when the answer is there;
    the cable's second end is `member`'s. What is said is all in one piece."""
    before: list[m.AnyMessage] = [hello(peer.device, peer.boot), *([wanting(peer)] if agreed else [])]
    cable = Cable()
    end = cable.ends[0]
    connection = member.connection(cable.ends[1], peer, dialled=False)
    done = False

    async def run() -> None:
        nonlocal done
        await connection.run()
        done = True

    async def read() -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                await end.receive()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(read)
        await until(lambda: cable.crossed[1], "the greeting")
        await end.send(b"".join(frame(m.encode(message)) for message in [*before, *messages]) + raw)
        if patient:
            await quiet([cable])
        await end.aclose()
        await until(lambda: done, "the connection's end")
    member.connections.remove(connection)
    return cable


def written(member: Member, entity: str) -> Version:
    with member.stores["journal"].reading() as reader:
        version = reader.version(entity)
    assert version is not None
    return version


def last_word(cable: Cable) -> m.Close:
    close = cable.said(1)[-1]
    assert isinstance(close, m.Close)
    return close


async def test_sync_5_a_round_before_the_two_have_agreed_is_refused_and_asked_for_anew(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    a.put("t", "Milk")
    before = b.state()
    talk = [*round_of(a, b, [written(a, "t")]), m.End(1, SUMMARY)]
    cable = await speaking(b, a, [*talk, wanting(a)], agreed=False)
    assert kinds(cable.said(1)) == ["Hello", "Want", "Gossip", "Reject", "Want"]
    assert b.state() == before


async def test_sync_5_who_has_forgotten_what_the_sender_has_not_seen_refuses(pair: list[Member]) -> None:
    """What the sender holds of it would come back."""
    a, b = pair
    b.put("gone", "Bread")
    await meet(a, b)
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        tx.delete("gone")
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        assert forgetting.purge(tx, [], min_age=0) == 1
    a.put("t", "Milk")
    before = b.state()
    cable = await speaking(b, a, [*round_of(a, b, [written(a, "t")]), m.End(1, SUMMARY)])
    assert "Reject" in kinds(cable.said(1))
    assert "Ack" not in kinds(cable.said(1))
    assert b.state() == before
    await meet(a, b)
    assert a.title("gone") is None


async def test_sync_5_a_store_that_was_restored_under_a_running_connection_recovers(
    pair: list[Member], tmp_path: Path
) -> None:
    a, b = pair
    a.put("t1", "Milk")
    await meet(a, b)
    backup = Store.create(tmp_path / "backup.sqlite", JOURNAL, b.environment.new_host)
    with backup._connection.backup("main", b.stores["journal"]._connection, "main") as running:
        running.step()
    a.put("t2", "Bread")
    await meet(a, b)

    cable = Cable()

    async def work(one: Connection, other: Connection) -> None:
        await until(lambda: one.peer_boot and other.peer_boot, "the greetings")
        with b.stores["journal"]._connection.backup("main", backup._connection, "main") as running:
            running.step()
        assert b.title("t2") is None
        a.put("t3", "Soap")
        await until(lambda: b.title("t3"))
        await until(lambda: in_step(a, b))

    await meet(a, b, cable=cable, meanwhile=work)
    backup.close()
    assert b.title("t2") == "Bread"
    assert "Reject" in kinds(cable.said(1))


async def test_sync_9_a_host_of_nobody_is_refused_and_nothing_is_stored(pair: list[Member], tmp_path: Path) -> None:
    a, b = pair
    await meet(a, b)
    stranger = Store.create(tmp_path / "stranger.sqlite", JOURNAL, lambda: STRANGE)
    with stranger.transaction(a.now, HIGH) as tx:
        tx.put("evil", "task", {"title": "Poison"})
    with stranger.reading() as reader:
        version, part = reader.version("evil"), part_beyond(reader, STRANGE, 0, 1)
    stranger.close()
    assert part is not None
    assert version is not None
    a.put("good", "Milk")
    before = b.state()
    cable = await speaking(b, a, round_of(a, b, [written(a, "good"), version], parts=(part,)))
    assert last_word(cable).code == "unknown-host"
    assert str(STRANGE) in last_word(cable).reason
    assert b.state() == before
    assert ("refused", f"device {a.device[:8]}: {last_word(cable).reason}") in b.reports


async def test_sync_75_a_chain_of_a_host_of_nobody_is_refused_though_no_version_came(pair: list[Member]) -> None:
    """They would stay for ever, and go on to all devices."""
    a, b = pair
    await meet(a, b)
    a.put("good", "Milk")
    part = ChainPart(STRANGE, "", 1, genesis(STRANGE), bytes(16))
    cable = await speaking(b, a, round_of(a, b, count=1, parts=(part,)))
    assert last_word(cable).code == "unknown-host"
    assert str(STRANGE) in last_word(cable).reason
    with b.stores["journal"].reading() as reader:
        assert STRANGE not in chain.logs(reader)


async def test_sync_48_a_bad_version_is_kept_as_it_came_and_the_round_goes_on(three: list[Member]) -> None:
    a, b, c = three
    for one, other in ((a, b), (a, c), (b, c), (a, b)):
        await meet(one, other)
    a.put("good", "Milk")
    a.put("bad", "Bread")
    good, was = written(a, "good"), written(a, "bad")
    bad = Version("bad", was.type, was.clock, was.stamps, was.document + b" ")
    cable = await speaking(b, a, [*round_of(a, b, [good, bad]), m.End(1, SUMMARY)])
    assert kinds(cable.said(1))[-1] != "Close"
    assert b.knowledge() == a.knowledge()
    assert b.title("good") == "Milk"
    assert b.title("bad") is None
    with b.stores["journal"].reading() as reader:
        assert [kept.version for kept in reader.quarantined()] == [bad]
    assert [code for code, _ in b.reports].count("quarantined") == 1
    # Whoever meets b gets it in the same bytes, and has the same digest.
    cable = await meet(b, c)
    assert in_step(b, c)
    with c.stores["journal"].reading() as reader:
        assert [kept.version for kept in reader.quarantined()] == [bad]
    # A later good version takes its place everywhere.
    a.put("bad", "Oat bread")
    for one, other in ((a, b), (b, c)):
        await meet(one, other)
    assert in_step(a, b, c)
    assert c.title("bad") == "Oat bread"


@pytest.mark.parametrize(
    "change",
    [
        {"type": "no type"},
        {"clock": lambda clock: clock.replace(b":", b": ")},
        {"stamps": b"[]"},
        {"document": b"{}"},
        {"document": b'{"title":"\xff"}'},
        {"document": b'{"title":' + b"[" * 100_000},
    ],
    ids=["its type", "its clock", "its stamps", "nothing in it", "no text", "too deep"],
)
async def test_sync_48_whatever_is_bad_about_it(pair: list[Member], change: dict[str, object]) -> None:
    a, b = pair
    await meet(a, b)
    a.put("t", "Milk")
    good = written(a, "t")
    bad = msgspec.structs.replace(
        good, **{field: value(getattr(good, field)) if callable(value) else value for field, value in change.items()}
    )
    cable = await speaking(b, a, [*round_of(a, b, [bad]), m.End(1, SUMMARY)])
    assert kinds(cable.said(1))[-1] != "Close"
    with b.stores["journal"].reading() as reader:
        assert [kept.version for kept in reader.quarantined()] == [bad]
        assert reader.knowledge() == a.knowledge()


async def test_sync_30_a_version_without_a_place_ends_the_session_and_nothing_of_its_frame_is_stored(
    pair: list[Member],
) -> None:
    a, b = pair
    await meet(a, b)
    a.put("good", "Milk")
    good = written(a, "good")
    before = b.state()
    for bad in (
        Version("bad\n", good.type, good.clock, good.stamps, good.document),
        Version("bad", good.type, b"{}", good.stamps, good.document),
        Version("bad", good.type, good.clock, good.stamps, b'"' + b"x" * MAX_VERSION + b'"'),
        Version("bad", good.type, b'{"0000000100000001":9007199254740992}', good.stamps, good.document),
    ):
        cable = await speaking(b, a, round_of(a, b, [good, bad]))
        assert last_word(cable).code == "bad-entity", bad
        assert b.state() == before, bad
    assert await meet(a, b)
    assert in_step(a, b)


def falsify(member: Member, ident: str, old: str, new: str) -> None:
    """Give a write other content under its own name, with the hash and the digest that belong to that content: a fault
    of a program, not of a disk. (A row without its own hash is damaged, and may not be written to: MEND-24.)"""
    with member.stores["journal"].transaction(member.now, None) as tx:
        before = tx.raw_row(ident)
        tx.execute("update journal_entities set serialized = replace(serialized, ?, ?) where id = ?", (old, new, ident))
        after = tx.raw_row(ident)
        assert before is not None
        assert after is not None
        tx.execute("update journal_entities set hash = ? where id = ?", (after.version.hash(), ident))
        tx.recount()


async def test_sync_53_a_write_with_two_meanings_is_settled_and_told(pair: list[Member]) -> None:
    """A fault has changed what a write says, and then something else of it went out in a round."""
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    falsify(a, "t", "Milk", "Beer")
    a.put("t", "Milk", due="2026-01-01")
    falsify(a, "t", "Milk", "Rice")
    b.put("t", "Milk", due="2026-02-02")
    await meet(a, b)
    assert in_step(a, b)
    entity = a.stores["journal"].read("t")
    assert entity is not None
    assert {entity.value("due"), *entity.conflicts()["due"]} == {"2026-01-01", "2026-02-02"}


async def test_sync_53_a_version_with_another_content_under_one_dot_ends_nothing(pair: list[Member]) -> None:
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    good = written(a, "t")
    other = Version(good.id, good.type, good.clock, good.stamps, good.document.replace(b"Milk", b"Oats"))
    cable = await speaking(b, a, round_of(a, b, [other]))
    assert "Close" not in kinds(cable.said(1))
    assert b.title("t") == "Oats"  # of two contents the one with the greater value, on every device
    assert [code for code, _ in b.reports] == ["mended"]
    with b.stores["journal"].reading() as reader:
        assert broken_invariants(reader) == []
        assert [(gone.path, gone.value) for gone in reader.overwritten("t")] == [("title", b'"Milk"')]


async def test_sync_81_what_the_store_cannot_hold_ends_one_connection_with_a_word(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    a.put("t", "a" * 100_000)
    before = b.state()
    disk = b.stores["journal"]._connection
    disk.pragma("max_page_count", disk.pragma("page_count"))
    cable = await speaking(b, a, round_of(a, b, [written(a, "t")]))
    assert last_word(cable).code == "failed"
    assert "disk-full" in last_word(cable).reason
    assert b.state() == before
    disk.pragma("max_page_count", 2**31)
    await meet(a, b)
    assert in_step(a, b)


async def test_sync_65_a_version_beyond_the_chains_that_came_is_refused(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    a.put("t", "Milk")
    before = b.state()
    begin, *_ = round_of(a, b, count=1)
    cable = await speaking(b, a, [begin, m.Batch(1, 0, [written(a, "t")])])
    assert last_word(cable).code == "bad-entity"
    assert "whose chain did not come" in last_word(cable).reason
    assert b.state() == before


async def test_forget_7_a_round_carries_what_was_forgotten(pair: list[Member]) -> None:
    """A device that was away learns of a deletion that nobody holds any more."""
    a, b = pair
    a.put("gone", "Bread")
    await meet(a, b)
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        tx.delete("gone")
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        assert forgetting.purge(tx, [], min_age=0) == 1
    await meet(a, b)
    assert in_step(a, b)
    assert b.title("gone") is None
    with a.stores["journal"].reading() as ours, b.stores["journal"].reading() as theirs:
        assert forgetting.forgotten(ours) == forgetting.forgotten(theirs) != {}


async def test_sync_31_a_store_that_does_not_exist_here_is_refused(pair: list[Member]) -> None:
    a, b = pair
    cable = await speaking(b, a, [m.Begin(1, "diary", {}, {}, behind=False, count=0)])
    assert last_word(cable).code == "unknown-store"


@pytest.mark.parametrize(
    "said",
    [
        [m.Ping(1), m.Close("goodbye", "bye")],
        [m.Begin(1, "journal", {}, {}, behind=False, count=0), m.End(1, SUMMARY), m.Close("goodbye", "bye")],
        [m.Close("goodbye", "bye")],
    ],
    ids=["ping", "round", "nothing"],
)
async def test_sync_20_a_close_in_the_same_breath_as_what_would_be_answered(
    pair: list[Member], said: list[m.AnyMessage]
) -> None:
    a, b = pair
    cable = await speaking(b, a, said, patient=False)
    assert "Close" not in kinds(cable.said(1))


async def test_sync_17_a_fault_in_the_same_breath_as_what_would_be_answered(pair: list[Member]) -> None:
    a, b = pair
    cable = await speaking(b, a, [m.Ping(1)], raw=b"\x00\x00\x00\x00")
    assert last_word(cable).code == "bad-frame"


async def test_sync_32_a_connection_may_be_closed_twice_and_the_first_word_counts(pair: list[Member]) -> None:
    a, b = pair
    cable = Cable()
    connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
    async with anyio.create_task_group() as tasks:
        for connection in connections:
            tasks.start_soon(connection.run)
        await until(lambda: in_step(a, b))
        connections[0].close("duplicate-connection", "a newer connection takes over")
        connections[0].close("revoked", "this device is no longer one of the person's devices")
    assert connections[0].ended == m.Close("duplicate-connection", "a newer connection takes over")
    assert connections[1].ended == connections[0].ended
    a.connections.clear()
    b.connections.clear()


async def test_sync_32_a_device_that_stops_says_goodbye(pair: list[Member]) -> None:
    a, b = pair
    cable = Cable()
    mine, theirs = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(theirs.run)
        async with anyio.create_task_group() as stopping:
            stopping.start_soon(mine.run)
            await until(lambda: in_step(a, b))
            stopping.cancel_scope.cancel()
    assert theirs.ended is not None
    assert theirs.ended.code == "goodbye"
    a.connections.clear()
    b.connections.clear()


async def test_sync_32_a_connection_that_is_stopped_before_it_began_ends(pair: list[Member]) -> None:
    a, b = pair
    cable = Cable()
    connection = a.connection(cable.ends[0], b, dialled=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.cancel_scope.cancel()
    await cable.ends[1].aclose()
    a.connections.clear()


async def test_sync_7_equal_knowledge_with_another_digest_is_reported(pair: list[Member]) -> None:
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        tx._sum ^= 1
        tx.changed = True

    def reported() -> bool:
        """Asked of the reports, which stay. `standing.diverged` holds the store only until the comparison has ended."""
        return all("diverged" in [code for code, _ in member.reports] for member in (a, b))

    await meet(a, b, done=reported)
    for member, other in ((a, b), (b, a)):
        text = f"journal differs from device {other.device[:8]} although both know the same"
        assert member.reports.count(("diverged", text)) == 1


async def test_sync_7_a_mismatch_at_the_end_of_a_round_is_reported(pair: list[Member]) -> None:
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        tx._sum ^= 1
        tx.changed = True
    a.put("t", "Oat milk")
    await meet(a, b, done=lambda: a.knowledge() == b.knowledge())
    assert [code for code, _ in a.reports] == ["diverged"]
    assert [code for code, _ in b.reports] == ["diverged"]


# -- a slow or greedy peer


def many(member: Member, count: int) -> None:
    """So many batches of entities of which each takes only three."""
    with member.stores["journal"].transaction(member.now, HIGH) as tx:
        for number in range(3 * count):
            tx.put(f"large{number:03}", "task", {"title": f"{number:03}" + "x" * 200_000})


async def test_sync_45_no_more_batches_are_under_way_than_were_granted(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    many(a, 30)
    cable = Cable()
    end = cable.ends[1]
    connection = a.connection(cable.ends[0], b, dialled=False)

    async def read_on() -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                await end.receive()

    def large() -> int:
        return sum(isinstance(message, m.Large) for message in cable.said(0))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.start_soon(read_on)
        for message in (hello(b.device, b.boot, ENCODINGS), wanting(b)):
            await end.send(frame(m.encode(message)))
        await quiet([cable])
        assert large() == m.FIRST_CREDIT
        await end.send(frame(m.encode(m.Credit(3))))
        await quiet([cable])
        assert large() == m.FIRST_CREDIT + 3
        # A new request ends the wait: no batch is needed for that.
        await end.send(frame(m.encode(m.Want({}))))
        await quiet([cable])
        assert "Abort" in kinds(cable.said(0))
        assert large() == m.FIRST_CREDIT + 3
        tasks.cancel_scope.cancel()
    await end.aclose()


async def test_sync_45_credit_comes_back_and_a_long_round_goes_through(pair: list[Member]) -> None:
    a, b = pair
    many(a, 40)
    cable = await meet(a, b)
    assert in_step(a, b)
    assert kinds(cable.said(0)).count("Batch") > 3 * m.FIRST_CREDIT
    granted = sum(message.batches for message in cable.said(1) if isinstance(message, m.Credit))
    large = sum(isinstance(message, m.Large) for message in cable.said(0))
    assert 0 <= large - granted < m.FIRST_CREDIT


async def test_sync_45_batches_of_a_round_that_was_refused_are_granted_again(pair: list[Member]) -> None:
    a, b = pair
    a.put("t", "Milk")
    await meet(a, b)
    version = written(a, "t")
    rounds_of_one: list[m.AnyMessage] = []
    for number in range(1, 2 * m.FIRST_CREDIT + 1):
        rounds_of_one += [
            m.Begin(number, "journal", {STRANGE: 7}, {}, behind=False, count=1),
            m.Batch(number, 0, [version]),
            m.End(number, SUMMARY),
        ]
    half = 3 * m.FIRST_CREDIT
    cable = await speaking(b, a, rounds_of_one[:half], agreed=False)
    assert kinds(cable.said(1)).count("Credit") == 2
    cable = await speaking(b, a, rounds_of_one, agreed=False)
    assert last_word(cable).code == "illegal"
    assert "without credit" in last_word(cable).reason


async def test_sync_46_who_asks_and_does_not_read_is_not_listened_to(pair: list[Member]) -> None:
    a, b = pair
    cable = Cable()
    connection = b.connection(cable.ends[1], a, dialled=False)
    sent = 0

    async def ask() -> None:
        nonlocal sent
        await cable.ends[0].send(frame(m.encode(hello(a.device, a.boot))))
        while True:
            await cable.ends[0].send(frame(m.encode(m.Ping(sent))))
            sent += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.start_soon(ask)
        await quiet([cable])
        assert len(connection._outbox) <= MAX_OUTBOX + 1
        assert MAX_OUTBOX < sent < 2 * MAX_OUTBOX
        tasks.cancel_scope.cancel()
    await cable.ends[0].aclose()


# -- limits


async def test_sync_33_batches_are_bounded_in_bytes_and_in_number(pair: list[Member]) -> None:
    a, b = pair
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


async def test_sync_34_a_want_fits_a_frame_however_much_is_held(pair: list[Member]) -> None:
    a, b = pair
    await meet(a, b)
    now = a.now
    with a.stores["journal"].transaction(now, HIGH) as tx:
        for number in range(9000):
            tx.put(f"{'n' * 110}{number:06}", "task", {"t": 1})
    snapshot = a.stores["journal"].snapshot()
    numbers = snapshot.lacking(b.knowledge(), [])
    versions = snapshot.versions(numbers[:-1])
    snapshot.close()
    from lottisync.entities.version import open_foreign

    with b.stores["journal"].transaction(now, HIGH) as tx:
        tx.apply((version, open_foreign(version)) for version in versions)
    assert len(numbers) == 9000
    cable = await meet(a, b)
    wants = [message for message in cable.said(1) if isinstance(message, m.Want)]
    held = wants[0].stores["journal"].held
    assert 4000 < len(held) < m.MAX_HELD
    assert len(m.encode(wants[0])) < MAX_FRAME
    assert in_step(a, b)
    assert len(cable.versions()) == 9000 - len(held)


# -- time


@pytest.mark.parametrize("anyio_backend", ["trio-virtual"], indirect=True)
class TestTime:
    """Under trio's virtual clock: minutes pass in no time."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, object]]:
        from trio.testing import MockClock

        return "trio", {"clock": MockClock(autojump_threshold=0)}

    async def test_sync_78_a_dead_peer_is_noticed_although_the_wall_clock_is_set_back(self, pair: list[Member]) -> None:
        a, b = pair
        cable = Cable()
        connection = b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await cable.ends[0].send(frame(m.encode(hello(a.device, a.boot))))
            await anyio.sleep(1)
            b.now -= 3_600_000
        assert connection.ended is not None
        assert connection.ended.code == "timeout"
        assert 15 <= anyio.current_time() % 1000 < 20
        await cable.ends[0].aclose()

    async def test_sync_23_a_connection_that_is_quiet_lives_on(self, pair: list[Member]) -> None:
        a, b = pair
        cable = Cable()
        connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            for connection in connections:
                tasks.start_soon(connection.run)
            await anyio.sleep(600)
            assert [connection.ended for connection in connections] == [None, None]
            tasks.cancel_scope.cancel()
        assert in_step(a, b)

    async def test_sync_78_a_store_that_is_busy_for_long_is_not_the_peers_silence(self, pair: list[Member]) -> None:
        a, b = pair
        a.put("t", "Milk")
        slow = b.connection

        async def waiting(work: Callable[[], object]) -> object:
            await anyio.sleep(20)
            return work()

        cable = Cable()
        mine, theirs = a.connection(cable.ends[0], b, dialled=True), slow(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mine.run)
            tasks.start_soon(theirs.run)
            await anyio.sleep(1)
            theirs._call = waiting  # type: ignore[assignment]
            a.put("u", "Bread")
            await anyio.sleep(300)
            assert theirs.ended is None
            tasks.cancel_scope.cancel()
        assert in_step(a, b)

    async def test_sync_49_what_is_heard_of_a_third_is_passed_on_at_most_once_a_minute(
        self, pair: list[Member]
    ) -> None:
        a, b = pair
        a.put("t", "Milk")
        await meet(a, b)
        third, clock = "d" * 64, a.knowledge()
        [(host, counter)] = clock.items()

        def heard() -> dict[str, dict[Host, int]]:
            with b.stores["journal"].reading() as reader:
                return forgetting.acknowledged(reader)

        with a.stores["journal"].transaction(a.now, HIGH) as tx:
            forgetting.note(tx, third, clock, direct=True)
        cable = await meet(a, b)
        assert heard()[third] == clock
        assert kinds(cable.said(0)).count("Gossip") == 1
        cable = Cable()
        connections = a.connection(cable.ends[0], b, dialled=True), b.connection(cable.ends[1], a, dialled=False)
        async with anyio.create_task_group() as tasks:
            for connection in connections:
                tasks.start_soon(connection.run)
            await anyio.sleep(5)
            greeted = kinds(cable.said(0)).count("Gossip")
            for number in range(20):
                with a.stores["journal"].transaction(a.now, HIGH) as tx:
                    forgetting.note(tx, third, {host: counter + 1 + number}, direct=False)
                await anyio.sleep(1)
            assert kinds(cable.said(0)).count("Gossip") == greeted
            await anyio.sleep(60)
            assert kinds(cable.said(0)).count("Gossip") == greeted + 1
            assert heard()[third] == {host: counter + 20}
            tasks.cancel_scope.cancel()
        a.connections.clear()
        b.connections.clear()

    async def test_sync_47_who_takes_what_it_asked_for_too_slowly_is_hung_up_on(self, pair: list[Member]) -> None:
        a, b = pair
        await meet(a, b)
        many(a, 30)
        cable = Cable()
        end = cable.ends[1]
        connection = a.connection(cable.ends[0], b, dialled=False)

        async def beat() -> None:
            await end.send(frame(m.encode(hello(b.device, b.boot))))
            await end.send(frame(m.encode(wanting(b))))
            for number in range(100):
                await anyio.sleep(4)
                await end.send(frame(m.encode(m.Ping(number))))

        async def read_on() -> None:
            with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
                while True:
                    await end.receive()

        began_at = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            tasks.start_soon(read_on)
            await connection.run()
            tasks.cancel_scope.cancel()
        assert STUCK_SECONDS <= anyio.current_time() - began_at < STUCK_SECONDS + 10
        assert connection.ended is not None
        assert connection.ended.code == "stuck"
        await end.aclose()

    async def test_sync_21_a_peer_that_says_nothing_is_dropped_after_five_seconds(self, pair: list[Member]) -> None:
        a, b = pair
        cable = Cable()
        connection = b.connection(cable.ends[1], a, dialled=False)
        began_at = anyio.current_time()
        await connection.run()
        assert 5 <= anyio.current_time() - began_at <= 7
        assert last_word(cable).code == "timeout"
        await cable.ends[0].aclose()
