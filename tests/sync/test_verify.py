"""Comparing stores because somebody asked or because damage was found, with two engines on loopback: MEND-9 to MEND-13,
SYNC-7."""

import contextlib
from collections.abc import Iterator

import pytest
from tests.support import rounds, sqlite
from tests.support.engines import connected, engine_of, faults, introduce, running
from tests.support.event_loop import until
from tests.support.holder import Holder
from tests.support.household import Member, in_step

from lottisync.entities.entity import HIGH, Entity
from lottisync.entities.registers import Registers
from lottisync.protocol import message as m
from lottisync.store import damage, doorbell, mending
from lottisync.store.doorbell import Bell
from lottisync.sync import scrub, verification
from lottisync.sync.comparisons import UNASKED_COMPARISONS, Verified
from lottisync.sync.conversation import Conversation
from lottisync.sync.event import Diverged
from lottisync.sync.exchange import Exchange
from lottisync.sync.local_state import own_summary
from lottisync.sync.range_comparison import RangeComparison
from lottisync.sync.verification_request import VerificationRequest, VerificationState, ask, requests, withdraw

pytestmark = pytest.mark.anyio
STORES = ("space", "journal", "agent")


@contextlib.contextmanager
def listening(member: Member, name: str = "verify-test") -> Iterator[str]:
    bell = Bell(member.folder / "bells", name)
    try:
        yield name
    finally:
        bell.close()


def sql(member: Member, text: str) -> None:
    """A hand in an SQLite browser."""
    store = member.stores["journal"]
    with store._turn:
        sqlite.connection(store).execute(text).fetchall()


def outcome(member: Member, bell: str) -> dict[str, VerificationRequest]:
    return {request.store: request for request in requests(member.stores["space"], bell)}


def settled(member: Member, bell: str) -> bool:
    return not any(request.open for request in requests(member.stores["space"], bell))


TAMPERED = {
    "a flipped bit": "update journal_entities set serialized = replace(serialized, 'Milk 3', 'Mils 3')",
    "a flipped bit in an id": "update journal_entities set id = cast(x'F433' as text) where id = 't3'",
    "another id": "update journal_entities set id = 'x9' where id = 't3'",
    "a row taken away": "delete from journal_entities where id = 't3'",
    "another hash": "update journal_entities set hash = zeroblob(32) where id = 't3'",
    "another clock": """update journal_entities set clock = replace(clock, ':4', ':3') where id = 't3'""",
    "what cannot be read": "update journal_entities set serialized = cast(x'ff00' as text) where id = 't3'",
}


# -- because somebody asked


async def test_mend_9_what_is_asked_for_is_compared_and_what_differs_is_mended(members: list[Member]) -> None:
    """MEND-300"""
    a, b = members
    async with connected(a, b):
        sql(a, TAMPERED["a flipped bit"])
        sql(b, TAMPERED["a row taken away"].replace("t3", "t5"))
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, store) for store in STORES], a.now)
            await until(lambda: settled(a, bell), "the comparison")
            found = outcome(a, bell)
        assert {store: (request.state, request.mended) for store, request in found.items()} == {
            "space": (VerificationState.EQUAL, 0),
            "journal": (VerificationState.EQUAL, 2),
            "agent": (VerificationState.EQUAL, 0),
        }
        assert found["journal"].done == found["journal"].total == 20
        assert (a.title("t3"), b.title("t5")) == ("Milk 3", "Milk 5")
        assert faults(a, b) == []


@pytest.mark.parametrize("what", TAMPERED)
@pytest.mark.parametrize("asker", [0, 1])
async def test_mend_9_whatever_was_done_to_a_row_and_whichever_side_asks(
    members: list[Member], what: str, asker: int
) -> None:
    """MEND-300: MEND-19"""
    a, b = members
    async with connected(a, b):
        sql(a, TAMPERED[what])
        me, other = members[asker], members[1 - asker]
        with listening(me) as bell:
            ask(me.stores["space"], bell, [(other.device, "journal")], me.now)
            await until(lambda: settled(me, bell), "the comparison")
            assert outcome(me, bell)["journal"].state is VerificationState.EQUAL
        assert a.title("t3") == "Milk 3"
        assert in_step(a, b)
        assert faults(a, b) == []
        assert [(code, text) for code, text in a.reports + b.reports if code in ("failed", "fault", "refused")] == []


@pytest.mark.parametrize(
    "damage",
    [
        "update journal_entities set task_id = 't9' where id = 't3'",
        "update journal_entities set conflicted = 1 where id = 't3'",
        "delete from components where n = (select n from journal_entities where id = 't3')",
    ],
)
async def test_mend_9_what_no_peer_can_tell_is_put_right_where_it_was_asked_for(
    members: list[Member], damage: str
) -> None:
    """MEND-300"""
    a, b = members
    async with connected(a, b):
        sql(a, damage)
        assert faults(a) != []
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, "journal")], a.now)
            await until(lambda: settled(a, bell), "the comparison")
            assert outcome(a, bell)["journal"].state is VerificationState.EQUAL
        assert faults(a, b) == []


async def test_mend_41_what_both_have_damaged_is_said_and_what_is_beside_it_is_mended(members: list[Member]) -> None:
    """MEND-40, MEND-41, REL-D7"""
    a, b = members
    async with connected(a, b):
        sql(a, TAMPERED["a flipped bit"])
        sql(b, TAMPERED["a flipped bit"].replace("Mils", "Mild"))
        sql(b, TAMPERED["a flipped bit"].replace("3", "5"))
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, "journal")], a.now)
            await until(lambda: settled(a, bell), "the comparison")
            assert outcome(a, bell)["journal"].state is VerificationState.DIFFERS
        assert b.title("t5") == "Milk 5"
        assert all("t3" in fault or "the digest" in fault for fault in faults(a, b))
        with a.stores["journal"].transaction(a.now, HIGH) as tx:
            mending.accept(tx, "t3")
        await until(lambda: b.title("t3") == "Mils 3", "the accepted content")
        await until(lambda: faults(a, b) == [], "what was damaged")


async def test_mend_51_what_is_asked_for_while_a_comparison_runs_waits_for_the_next_one(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, `verify` said "the same" of a row that was damaged after the running comparison had begun."""
    a, b = members
    begun: list[Exchange] = []

    def verify(self: Exchange, name: str) -> None:
        self.comparisons.verified.pop(name, None)
        begun.append(self)

    def ends(mended: int) -> None:
        begun[-1].comparisons.verified["journal"] = Verified(equal=True, comparable=True, mended=mended, read=20)
        engine._verification.look()

    async with connected(a, b) as (engine, _):
        monkeypatch.setattr(Exchange, "verify", verify)
        with listening(a, "first") as first, listening(a, "second") as second:
            ask(a.stores["space"], first, [(b.device, "journal")], a.now)
            await until(lambda: len(begun) == 1)
            ask(a.stores["space"], second, [(b.device, "journal")], a.now)
            ends(mended=0)
            await until(lambda: settled(a, first) and len(begun) == 2)
            assert not settled(a, second)
            ends(mended=1)
            await until(lambda: settled(a, second))
            assert (outcome(a, first)["journal"].mended, outcome(a, second)["journal"].mended) == (0, 1)


async def test_mend_10_a_request_waits_for_the_device_and_ends_with_its_program(members: list[Member]) -> None:
    """MEND-20"""
    a, b = members
    first = engine_of(a)
    space = a.stores["space"]
    async with running(first):
        with listening(a) as bell, listening(a, "verify-killed") as killed:
            ask(space, bell, [(b.device, "journal")], a.now)
            ask(space, killed, [(b.device, "agent")], a.now)
            await until(lambda: len(requests(space)) == 2)
        assert not doorbell.listening(a.folder / "bells", killed)
        with listening(a) as bell:
            await until(lambda: [request.bell for request in requests(space)] == [bell], "the dead one's end")
            assert requests(space)[0].state is VerificationState.ASKED
            second = engine_of(b)
            async with running(second):
                introduce(a, b, second.port)
                await until(lambda: settled(a, bell), "the comparison")
                assert outcome(a, bell)["journal"].state is VerificationState.EQUAL
            withdraw(space, [bell], a.now)
            assert requests(space) == []


async def test_mend_10_a_connection_that_breaks_leaves_the_request_to_the_next_one(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = members
    async with connected(a, b) as (first, _):
        (connection,) = first.connections.values()
        monkeypatch.setattr(connection.conversation, "verify", lambda name: None)  # nothing ever comes of it
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, "journal")], a.now)
            await until(lambda: outcome(a, bell)["journal"].state is VerificationState.COMPARING)
            connection.close("goodbye", "cut")
            await until(lambda: settled(a, bell), "the comparison on the next connection")
            assert outcome(a, bell)["journal"].state is VerificationState.EQUAL


async def test_mend_11_stores_that_do_not_know_the_same_wait_until_they_do(members: list[Member]) -> None:
    a, b = members
    async with connected(a, b) as (first, second):
        (connection,), (other,) = first.connections.values(), second.connections.values()
        await until(lambda: connection.idle and other.idle, "the first rounds")
        held_back = connection.local_change
        connection.local_change = lambda moments=None: None  # type: ignore[method-assign]
        connection.look = lambda moments: None  # type: ignore[method-assign]
        a.put("t0", "Oat milk")
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, "journal")], a.now)
            await until(lambda: outcome(a, bell)["journal"].state is VerificationState.WAITING)
            held_back()
            await until(lambda: settled(a, bell), "the comparison")
            assert outcome(a, bell)["journal"].state is VerificationState.EQUAL
        assert b.title("t0") == "Oat milk"


async def test_mend_11_a_comparison_that_is_given_up_takes_no_damage_for_good(members: list[Member]) -> None:
    """MEND-21, MEND-301: the peer went on writing. Until it has been compared, the flipped bit must not get a hash of
    its own."""
    a, b = members
    async with connected(a, b) as (first, second):
        sql(a, TAMPERED["a flipped bit"])
        for engine in (first, second):
            for connection in engine.connections.values():
                connection.local_change = lambda moments=None: None  # type: ignore[method-assign]
                connection.look = lambda moments: None  # type: ignore[method-assign]
        (mine,), (theirs,) = first.connections.values(), second.connections.values()
        await until(lambda: mine.idle and theirs.idle)
        a.put("t0", "Oat milk")
        await theirs.verify("journal")
        await until(lambda: mine.conversation.verified and theirs.conversation.verified)
        assert not mine.conversation.verified["journal"].comparable
        with a.stores["journal"].reading() as reader:
            row = damage.raw_row(reader, "t3")
        assert row is not None
        assert row.version.hash() != row.hash
        mine.conversation.local_change()
        mine._work.set()
        await until(lambda: b.title("t0") == "Oat milk")
        await until(lambda: in_step(a, b))
        await mine.verify("journal")
        await until(lambda: "journal" in mine.conversation.verified)
        assert a.title("t3") == b.title("t3") == "Milk 3"
        assert faults(a, b) == []


async def test_mend_11_what_was_not_compared_to_the_end_is_not_repaired(members: list[Member]) -> None:
    """MEND-301: the peer has vouched for no row, so the damaged one stays known as damaged."""
    a, b = members
    async with connected(a, b):
        sql(a, TAMPERED["a flipped bit"])
        given_up = RangeComparison("journal", a.stores["journal"])
        given_up.end(a.now)
        given_up.close()
        with a.stores["journal"].reading() as reader:
            row = damage.raw_row(reader, "t3")
    assert row is not None
    assert row.version.hash() != row.hash


async def test_mend_11_a_round_that_crosses_a_comparison_does_not_make_it_one(members: list[Member]) -> None:
    """MEND-21: in the end both know the same and say the same, but nothing was compared."""
    a, b = members
    async with connected(a, b) as (first, _):
        (connection,) = first.connections.values()
        exchange = connection.conversation._exchange
        given_up = RangeComparison("journal", a.stores["journal"])
        given_up.close()
        exchange.comparisons._ended["journal"] = given_up
        with a.stores["journal"].reading() as reader:
            same = own_summary(reader)
        exchange.carry_out([m.Mended("journal", 0, same, "")], a.now)
        assert connection.conversation.verified["journal"] == Verified(equal=True, comparable=False, mended=0, read=20)


async def test_mend_11_stores_that_are_written_to_all_the_time_are_not_compared_for_ever(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEND-22"""
    a, b = members
    tries = 0

    def verify(self: Exchange, name: str) -> None:
        nonlocal tries
        tries += 1
        self.comparisons.verified[name] = Verified(equal=False, comparable=False, mended=0, read=0)

    async with connected(a, b):
        monkeypatch.setattr(Exchange, "verify", verify)
        with listening(a) as bell:
            ask(a.stores["space"], bell, [(b.device, "journal")], a.now)
            await until(lambda: settled(a, bell))
            assert outcome(a, bell)["journal"].state is VerificationState.UNSETTLED
    assert tries == verification.TRIES


# -- without anybody asking


async def test_sync_7_a_digest_that_differs_is_found_mended_and_said(members: list[Member]) -> None:
    """A sum that is wrong, and a row that differs behind a hash that fits it: the next change brings it to light."""
    a, b = members
    async with connected(a, b) as (first, second):
        with b.stores["journal"].transaction(b.now, HIGH) as tx:
            made = tx.entity("t3")
            assert made is not None
            registers = {
                path: tuple(held._replace(value=held.value.replace(b"Milk", b"Beer")) for held in writes)
                for path, writes in made.registers.items()
            }
            tx.replace(Entity(made.id, made.type, made.clock, Registers.of(registers)))
        assert not in_step(a, b)
        a.put("t0", "Oat milk")
        await until(lambda: b.title("t0") == "Oat milk")
        await until(lambda: in_step(a, b), "mending")
        for engine, other in ((first, b), (second, a)):
            await until(lambda engine=engine, other=other: engine.connections[other.device].status.mended)  # type: ignore[misc]
            (state,) = await engine.snapshot()
            assert (state.diverged, state.mended, state.comparing) == ([], {"journal": 1}, {})
        codes = {code for code, _ in a.reports + b.reports}
        assert {"diverged", "mended"} <= codes
        assert ("diverged", "journal differs from device 2 although both know the same") in a.reports
        assert a.title("t3") == b.title("t3") == "Milk 3"
        assert faults(a, b) == []


def differing(a: Member, b: Member) -> None:
    """The two hold the same, and then a row differs on `b` behind a hash that fits it."""
    a.put("t3", "Milk 3")
    rounds.send(a.stores["journal"], b.stores["journal"])
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        made = tx.entity("t3")
        assert made is not None
        writes = made.registers["title"]
        registers = {**made.registers, "title": (writes[0]._replace(value=b'"Beer 3"'),)}
        tx.replace(Entity(made.id, made.type, made.clock, Registers.of(registers)))


async def test_mend_9_what_both_sides_want_is_compared_once(
    members: list[Member],
) -> None:
    """MEND-9: one side asks, the other suspects the store. A second comparison would say that nothing was mended."""
    leading, asking = sorted(members, key=lambda member: member.device)
    differing(leading, asking)
    ends = [
        Conversation(
            Holder(member.device, {"journal": member.stores["journal"]}),
            boot=bytes(16),
            dialled=member is asking,
            now=member.now,
        )
        for member in (leading, asking)
    ]
    ends[1].verify("journal")
    moved = True
    while moved:
        moved = False
        for said, heard in (ends, reversed(ends)):
            while frame := said.data_to_send():
                heard.receive(frame, leading.now)
                moved = True
    verified = ends[1].verified["journal"]
    for end in ends:
        end.release()
    assert (verified.equal, verified.mended) == (True, 1)
    assert leading.title("t3") == asking.title("t3")


async def test_mend_13_a_peer_that_lies_about_its_digest_is_not_compared_with_for_ever(members: list[Member]) -> None:
    a, b = sorted(members, key=lambda member: member.device)
    async with connected(a, b) as (first, _):
        (connection,) = first.connections.values()
        exchange = connection.conversation._exchange
        begun: list[str] = []
        with a.stores["journal"].reading() as reader:
            true, knowledge = own_summary(reader), reader.knowledge()
        lie = m.Summary(true.known, b"?" * 32)
        for _ in range(10):
            exchange.comparisons.heard_from("journal", knowledge, lie, true, a.now)
            begun += exchange.comparisons.wanted
            exchange.comparisons.wanted.clear()
        assert begun == ["journal"] * UNASKED_COMPARISONS
        assert exchange.events.count(Diverged("journal")) == 1
        exchange.comparisons.heard_from("journal", knowledge, true, true, a.now)
        assert exchange.status.diverged == []
        exchange.comparisons.heard_from("journal", knowledge, lie, true, a.now)
        assert exchange.comparisons.wanted == {"journal"}
        exchange.comparisons.wanted.clear()


@pytest.mark.parametrize("what", TAMPERED)
async def test_mend_12_what_the_scrub_finds_is_mended_with_a_peer_that_is_connected(
    members: list[Member], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEND-23"""
    monkeypatch.setattr(scrub, "PAUSE_SECONDS", 0.01)
    a, b = members
    async with connected(a, b) as (first, _):
        sql(a, TAMPERED[what])
        await until(lambda: any(code == "damaged" for code, _ in a.reports), "the scrub")
        await until(lambda: first.scrub.damaged() == [] and not faults(a), "mending")
        assert a.title("t3") == "Milk 3"
        assert in_step(a, b)
        # A row that was read while it lacked its place in the sum may have been named beside it; nothing is said twice.
        said = [text for code, text in a.reports if code == "damaged"]
        assert len(said) == len(set(said))


async def test_mend_12_damage_found_without_a_connection_waits_for_one(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "PAUSE_SECONDS", 0.01)
    a, b = members
    async with connected(a, b):
        pass
    sql(a, TAMPERED["a flipped bit"])
    first, second = engine_of(a), engine_of(b)
    async with running(first):
        await until(lambda: first.scrub.damaged() == ["journal/t3"])
        async with running(second):
            introduce(b, a, first.port)
            await until(lambda: a.title("t3") == "Milk 3" and first.scrub.damaged() == [], "mending")
    assert faults(a, b) == []
