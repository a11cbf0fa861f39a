"""A peer that does not keep to what it said, and how a connection ends: SYNC-5 to SYNC-9, SYNC-30 to SYNC-32, SYNC-48,
SYNC-480 to SYNC-482, SYNC-53."""

from pathlib import Path

import anyio
import msgspec
import pytest
from tests.support import sqlite
from tests.support.event_loop import until
from tests.support.household import Cable, Member, in_step, meet
from tests.support.messages import SUMMARY
from tests.support.script import kinds, last_word, round_of, speaking, wanting, written
from tests.support.stores import part_beyond

from lottisync.causality.chain import ChainPart, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.entities.version import MAX_VERSION, Version
from lottisync.journal.types import JOURNAL
from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store import chain, damage, lookups
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store
from lottisync.sync.connection import Connection
from lottisync.sync.peer_states import said_of_close

pytestmark = pytest.mark.anyio
STRANGE = Host("5" * 16)


async def test_sync_5_a_round_before_the_two_have_agreed_is_refused_and_asked_for_again(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    a.put("t", "Milk")
    before = b.state()
    talk = [*round_of(a, b, [written(a, "t")]), m.End(1, SUMMARY)]
    cable = await speaking(b, a, [*talk, wanting(a)], agreed=False)
    assert kinds(cable.said(1)) == ["Hello", "Want", "Gossip", "Reject", "Want"]
    assert b.state() == before


async def test_sync_304_a_receiver_that_has_forgotten_what_the_sender_has_not_seen_refuses(
    members: list[Member],
) -> None:
    """Else what the sender holds of it would come back."""
    a, b = members
    b.put("gone", "Bread")
    await meet(a, b)
    b.delete("gone")
    b.purge(min_age=0)
    a.put("t", "Milk")
    before = b.state()
    cable = await speaking(b, a, [*round_of(a, b, [written(a, "t")]), m.End(1, SUMMARY)])
    assert "Reject" in kinds(cable.said(1))
    assert "Ack" not in kinds(cable.said(1))
    assert b.state() == before
    await meet(a, b)
    assert a.title("gone") is None


async def test_sync_5_a_store_that_was_restored_under_a_running_connection_recovers(
    members: list[Member], tmp_path: Path
) -> None:
    a, b = members
    a.put("t1", "Milk")
    await meet(a, b)
    backup = Store.create(tmp_path / "backup.sqlite", JOURNAL, b.environment.new_host)
    with sqlite.connection(backup).backup("main", sqlite.connection(b.stores["journal"]), "main") as running:
        running.step()
    a.put("t2", "Bread")
    await meet(a, b)

    cable = Cable()

    async def work(one: Connection, other: Connection) -> None:
        await until(lambda: one.peer_boot and other.peer_boot, "the greetings")
        with sqlite.connection(b.stores["journal"]).backup("main", sqlite.connection(backup), "main") as running:
            running.step()
        assert b.title("t2") is None
        a.put("t3", "Soap")
        await until(lambda: b.title("t3"))
        await until(lambda: in_step(a, b))

    await meet(a, b, cable=cable, meanwhile=work)
    backup.close()
    assert b.title("t2") == "Bread"
    assert "Reject" in kinds(cable.said(1))


def foreign(path: Path, now: int) -> tuple[Version, ChainPart]:
    """What a host that belongs to no device has written, and its chain."""
    stranger = Store.create(path, JOURNAL, lambda: STRANGE)
    with stranger.transaction(now, HIGH) as tx:
        tx.put("evil", "task", {"title": "Poison"})
    with stranger.reading() as reader:
        version, part = reader.version("evil"), part_beyond(reader, STRANGE, 0, 1)
    stranger.close()
    assert part is not None
    assert version is not None
    return version, part


async def test_sync_9_a_host_of_no_device_is_refused_and_nothing_is_stored(
    members: list[Member], tmp_path: Path
) -> None:
    a, b = members
    await meet(a, b)
    version, part = foreign(tmp_path / "stranger.sqlite", a.now)
    a.put("good", "Milk")
    before = b.state()
    cable = await speaking(b, a, round_of(a, b, [written(a, "good"), version], parts=(part,)))
    assert last_word(cable).code == "unknown-host"
    assert str(STRANGE) in last_word(cable).reason
    assert b.state() == before
    assert ("refused", f"device {a.device[:8]}: {last_word(cable).reason}") in b.reports


async def test_sync_75_a_chain_of_a_host_of_no_device_is_refused_even_without_a_version(members: list[Member]) -> None:
    """Otherwise they would be stored for ever, and sent to all devices."""
    a, b = members
    await meet(a, b)
    a.put("good", "Milk")
    part = ChainPart(STRANGE, "", 1, genesis(STRANGE), bytes(16))
    cable = await speaking(b, a, round_of(a, b, count=1, parts=(part,)))
    assert last_word(cable).code == "unknown-host"
    assert str(STRANGE) in last_word(cable).reason
    with b.stores["journal"].reading() as reader:
        assert STRANGE not in chain.logs(reader)


async def test_sync_48_a_bad_version_is_kept_as_it_came_and_the_round_goes_on(three: list[Member]) -> None:
    """SYNC-48, SYNC-480, SYNC-481: the person hears of it once."""
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
    # A device that meets b gets it in the same bytes, and has the same digest.
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
async def test_sync_48_whatever_is_bad_about_it(members: list[Member], change: dict[str, object]) -> None:
    """SYNC-48, SYNC-480, SYNC-481"""
    a, b = members
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
    assert [code for code, _ in b.reports].count("quarantined") == 1


async def test_sync_482_a_bad_version_of_no_device_is_not_kept_either(members: list[Member], tmp_path: Path) -> None:
    """SYNC-482, SYNC-9"""
    a, b = members
    await meet(a, b)
    was, part = foreign(tmp_path / "stranger.sqlite", a.now)
    bad = Version(was.id, was.type, was.clock, was.stamps, was.document + b" ")
    a.put("good", "Milk")
    before = b.state()
    cable = await speaking(b, a, round_of(a, b, [written(a, "good"), bad], parts=(part,)))
    assert last_word(cable).code == "unknown-host"
    assert f"evil was written by host {STRANGE}" in last_word(cable).reason
    assert b.state() == before
    with b.stores["journal"].reading() as reader:
        assert list(reader.quarantined()) == []


async def test_sync_30_a_version_without_a_place_ends_the_session_and_nothing_of_its_frame_is_stored(
    members: list[Member],
) -> None:
    """SYNC-30, SYNC-307"""
    a, b = members
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
        before = damage.raw_row(tx, ident)
        tx.execute("update journal_entities set serialized = replace(serialized, ?, ?) where id = ?", (old, new, ident))
        after = damage.raw_row(tx, ident)
        assert before is not None
        assert after is not None
        tx.execute("update journal_entities set hash = ? where id = ?", (after.version.hash(), ident))
        tx.recount()


async def test_sync_53_two_writes_with_one_name_are_settled_and_reported(members: list[Member]) -> None:
    """A fault has changed what a write says, and then something else of it went out in a round."""
    a, b = members
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


async def test_sync_53_a_version_with_another_content_under_one_dot_ends_nothing(members: list[Member]) -> None:
    a, b = members
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


async def test_sync_81_what_the_store_cannot_hold_ends_one_connection_with_a_word(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    a.put("t", "a" * 100_000)
    before = b.state()
    disk = sqlite.connection(b.stores["journal"])
    disk.pragma("max_page_count", disk.pragma("page_count"))
    cable = await speaking(b, a, round_of(a, b, [written(a, "t")]))
    assert last_word(cable).code == "failed"
    assert "disk-full" in last_word(cable).reason
    assert b.state() == before
    disk.pragma("max_page_count", 2**31)
    await meet(a, b)
    assert in_step(a, b)


async def test_sync_65_a_version_beyond_the_chains_that_came_is_refused(members: list[Member]) -> None:
    a, b = members
    await meet(a, b)
    a.put("t", "Milk")
    before = b.state()
    begin, *_ = round_of(a, b, count=1)
    cable = await speaking(b, a, [begin, m.Batch(1, 0, [written(a, "t")])])
    assert last_word(cable).code == "bad-entity"
    assert "whose chain did not come" in last_word(cable).reason
    assert b.state() == before


async def test_forget_7_a_round_carries_what_was_forgotten(members: list[Member]) -> None:
    """A device that was away learns of a deletion that no device stores any more."""
    a, b = members
    a.put("gone", "Bread")
    await meet(a, b)
    a.delete("gone")
    a.purge(min_age=0)
    await meet(a, b)
    assert in_step(a, b)
    assert b.title("gone") is None
    with a.stores["journal"].reading() as ours, b.stores["journal"].reading() as theirs:
        assert lookups.forgotten(ours) == lookups.forgotten(theirs) != {}


async def test_sync_31_a_store_that_does_not_exist_here_is_refused(members: list[Member]) -> None:
    a, b = members
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
async def test_sync_20_a_close_that_comes_together_with_what_would_be_answered(
    members: list[Member], said: list[m.AnyMessage]
) -> None:
    a, b = members
    cable = await speaking(b, a, said, patient=False)
    assert "Close" not in kinds(cable.said(1))


async def test_sync_17_a_fault_that_comes_together_with_what_would_be_answered(members: list[Member]) -> None:
    a, b = members
    cable = await speaking(b, a, [m.Ping(1)], raw=b"\x00\x00\x00\x00")
    assert last_word(cable).code == "bad-frame"


async def test_sync_32_a_connection_may_be_closed_twice_and_the_first_word_counts(members: list[Member]) -> None:
    a, b = members
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


def test_sync_32_a_last_word_is_cut_to_what_a_message_may_hold(members: list[Member]) -> None:
    """SYNC-32: here as over the wire. A sentence that fits keeps its words here."""
    a, b = members
    for reason in ("x" * (m.MAX_TEXT + 1), Sentence("store {name}", name="x" * (m.MAX_TEXT - 6))):
        conversation = a.conversation(b, dialled=True)
        conversation.close("stores", reason)
        assert conversation.ended is not None
        assert conversation.ended.reason == reason[: m.MAX_TEXT]
        assert isinstance(conversation.ended.reason, Sentence) == isinstance(reason, Sentence)
        conversation.release()


async def test_sync_32_a_device_that_stops_says_goodbye(members: list[Member]) -> None:
    a, b = members
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


async def test_sync_32_a_connection_that_is_stopped_before_it_began_ends(members: list[Member]) -> None:
    a, b = members
    cable = Cable()
    connection = a.connection(cable.ends[0], b, dialled=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        tasks.cancel_scope.cancel()
    await cable.ends[1].aclose()
    a.connections.clear()


async def test_sync_7_equal_knowledge_with_another_digest_is_reported(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    await meet(a, b)
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        tx._sum ^= 1
        tx.changed = True

    def reported() -> bool:
        """Asked of the reports, which stay. `status.diverged` holds the store only until the comparison has ended."""
        return all("diverged" in [code for code, _ in member.reports] for member in (a, b))

    await meet(a, b, done=reported)
    for member, other in ((a, b), (b, a)):
        text = f"journal differs from device {other.device[:8]} although both know the same"
        assert member.reports.count(("diverged", text)) == 1


async def test_sync_7_a_mismatch_at_the_end_of_a_round_is_reported(members: list[Member]) -> None:
    a, b = members
    a.put("t", "Milk")
    await meet(a, b)
    with b.stores["journal"].transaction(b.now, HIGH) as tx:
        tx._sum ^= 1
        tx.changed = True
    a.put("t", "Oat milk")
    await meet(a, b, done=lambda: a.knowledge() == b.knowledge())
    assert [code for code, _ in a.reports] == ["diverged"]
    assert [code for code, _ in b.reports] == ["diverged"]


async def test_cli_440_why_this_side_ends_a_connection_keeps_its_words(members: list[Member]) -> None:
    """CLI-440: it said that the other device had ended it, in English. Over the wire goes the text, as before."""
    for to_peer in (None, "the device cannot go on (disk-full)"):
        conversation = members[0].conversation(members[1], dialled=True)
        why = Sentence("round {round} ended {left} versions early", round=3, left=20)
        conversation.close("bad-entity", why, to_peer=to_peer)
        assert m.decode(conversation.data_to_send()[5:]) == [m.Close("bad-entity", to_peer or str(why))]
        assert conversation.ended is not None
        assert said_of_close(conversation.ended) is why
        conversation.release()
