"""The replicated store: transactions, what a peer lacks, and equal knowledge that means equal content."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.child import go, running, said
from tests.support.examples import examples
from tests.support.faults import FAULTS, GOOD
from tests.support.reference import Reference
from tests.support.stores import NOON, dump, every_version, lacking, minting, new_store, send, true_digest
from tests.support.strategies import HOSTS, PATHS, one_write, values
from tests.support.writer import SHARED

from lottisync.causality.vector_clock import Dot, Host
from lottisync.daemon.stores import AGENT_STORE
from lottisync.device.space import HOST_BINDING, MEMBERSHIP, SPACE
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, EqualDots, is_deleted
from lottisync.entities.registers import Registers, Stamp
from lottisync.entities.schema import EntityType, StoreSchema, link_id, schema
from lottisync.entities.version import MAX_VERSION, BadVersion, Version, close, open_foreign
from lottisync.journal.types import JOURNAL
from lottisync.problem import LocalError, Problem
from lottisync.store import lookups
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction


def put(store: Store, ident: str, now: int = NOON, precedence: int = HIGH, **fields: Any) -> Dot:
    with store.transaction(now, HIGH) as tx:
        return tx.put(ident, "task", fields, precedence=precedence)


def knowledge(store: Store) -> dict[Host, int]:
    with store.reading() as reader:
        return reader.knowledge()


def digest(store: Store) -> bytes:
    with store.reading() as reader:
        return reader.digest()


def sound(store: Store) -> None:
    """What must hold of every store at every moment."""
    assert digest(store) == true_digest(store)
    with store.reading() as reader:
        assert reader.local("pragma integrity_check") == [("ok",)]
        assert reader.knowledge().get(reader.host, 0) == reader.counter
        components = {
            (host, counter, ident)
            for host, counter, ident in reader.local(
                "select h.host, c.counter, r.id from components c join hosts h on h.n = c.host join rows r on r.n = c.n"
            )
        }
    clocks = {
        (host, counter, version.id)
        for version in every_version(store)
        for host, counter in version.read_clock().items()
    }
    assert components == clocks


# -- writing


def test_a_write_takes_the_next_counter(tmp_path: Path) -> None:
    """CAUS-1, CAUS-218, CAUS-14, MERGE-12, STORE-3: from 1, without gaps, over all entities; a write has one."""
    store = new_store(tmp_path)
    host = Host("0000000100000001")
    assert put(store, "t1", title="x", due=None, labels={"a": True, "b": True}) == Dot(host, 1)
    assert put(store, "t2", title="y") == Dot(host, 2)
    entity = store.read("t1")
    assert entity is not None
    assert {held.stamp for writes in entity.registers.values() for held in writes} == {Stamp(HIGH, NOON, 0, host, 1)}
    assert set(entity.registers) == {"title", "due", "labels/a", "labels/b"}
    assert knowledge(store) == {host: 2}


def test_counters_survive_reopening(tmp_path: Path) -> None:
    """CAUS-218, CAUS-14: and so does the clock that never goes back."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    store.close()
    again = Store.open(store.file, JOURNAL, minting(2))
    assert put(again, "t1", now=NOON - 3_600_000, title="y") == Dot(Host("0000000100000001"), 2)
    entity = again.read("t1")
    assert entity is not None
    won = entity.winner("title")
    assert won is not None
    assert won.stamp.hlc == (NOON, 1)
    sound(again)
    again.close()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, Problem("x", "y")])
def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path, failure: BaseException) -> None:
    """STORE-4: no row, no counter, no clock."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)

    def fail(tx: Transaction) -> None:
        tx.put("t2", "task", {"title": "y"})
        tx.delete("t1")
        raise failure

    with pytest.raises((RuntimeError, KeyboardInterrupt, Problem)), store.transaction(NOON + 5, HIGH) as tx:
        fail(tx)
    assert dump(store) == before
    assert put(store, "t2", title="y").counter == 2
    sound(store)


def test_a_transaction_sees_its_own_writes(tmp_path: Path) -> None:
    """STORE-4: and no other reader does before the commit."""
    store = new_store(tmp_path)
    other = Store.open(store.file, JOURNAL, minting(2))
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x"})
        assert tx.entity("t1") is not None
        assert other.read("t1") is None
    assert other.read("t1") is not None
    assert other.changes() != store.changes()
    other.close()


@pytest.mark.parametrize(
    ("ident", "type_name", "fields", "code"),
    [
        ("t1", "note", {"title": "x"}, "wrong-type"),
        ("t1", "task", {}, "empty-write"),
        ("t1", "task", {"labels": {}}, "empty-write"),
        ("t1", "task", {"title": "x" * MAX_VERSION}, "too-large"),
        ("", "task", {"title": "x"}, "bad-value"),
        ('t"', "task", {"title": "x"}, "bad-value"),
        ("t2", 'ta"sk', {"title": "x"}, "bad-value"),
        ("t1", "task", {"ti tle": "x"}, "bad-value"),
        ("t1", "task", {"labels": {"": True}}, "bad-value"),
        ("t1", "task", {"labels": {"bug": True}, "labels/bug": False}, "bad-value"),
        ("t1", "task", {"title": "half \udcff a pair"}, "bad-value"),
        ("t1", "task", {"title": float("nan")}, "bad-value"),
        ("t1", "task", {"title": 2**60}, "bad-value"),
    ],
)
def test_a_write_that_no_peer_would_take_is_refused(
    tmp_path: Path, ident: str, type_name: str, fields: dict[str, Any], code: str
) -> None:
    """STORE-12, ENT-1, ENT-2, ENT-3, ENT-7"""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)
    with pytest.raises(Problem) as caught, store.transaction(NOON, HIGH) as tx:
        tx.put(ident, type_name, fields)
    assert caught.value.code == code
    assert dump(store) == before


def test_what_is_not_there_can_neither_be_deleted_nor_brought_back(tmp_path: Path) -> None:
    """STORE-12"""
    store = new_store(tmp_path)
    for verb in ("delete", "undelete"):
        with pytest.raises(Problem, match="no t1") as caught, store.transaction(NOON, HIGH) as tx:
            getattr(tx, verb)("t1")
        assert caught.value.code == "unknown-id"


def test_undeleting_writes_every_register_again(tmp_path: Path) -> None:
    """MERGE-14: so that a deletion which somebody made meanwhile does not cover it."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x", due="2026-01-01")
    with one.transaction(NOON, HIGH) as tx:
        tx.delete("t1")
    send(one, two)
    with two.transaction(NOON, HIGH) as tx:
        dot = tx.undelete("t1")
    send(two, one)
    entity = one.read("t1")
    assert entity is not None
    assert not is_deleted(entity)
    assert entity.document() == {"deletedAt": None, "due": "2026-01-01", "title": "x"}
    assert all(entity.dots(path) == {dot} for path in entity.registers)


def test_a_deletion_records_what_was_seen(tmp_path: Path) -> None:
    """ENT-12"""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    put(store, "t1", title="y")
    with store.transaction(NOON, HIGH) as tx:
        tx.delete("t1")
    entity = store.read("t1")
    assert entity is not None
    assert entity.value(DELETED_AT) == {"at": "2025-12-01T12:00:00.000Z", "seen": {"0000000100000001": 2}}


# -- rows


SEEDS = {
    "agent_entities": (
        {
            "id": "text 1",
            "agent_id": "text 1",
            "type": "text 1",
            "subtype": "text 0",
            "created_at": "text 1",
            "updated_at": "text 1",
            "deleted_at": "text 0",
            "serialized": "text 1",
            "schema_version": "integer 1",
        },
        {
            "idx_agent_entities_agent_id": "agent_id",
            "idx_agent_entities_type": "type, agent_id, created_at desc",
            "idx_agent_entities_agent_type_sub": "agent_id, type, subtype, created_at desc",
        },
    ),
    "agent_links": (
        {
            "id": "text 1",
            "from_id": "text 1",
            "to_id": "text 1",
            "type": "text 1",
            "created_at": "text 1",
            "updated_at": "text 1",
            "deleted_at": "text 0",
            "serialized": "text 1",
            "schema_version": "integer 1",
        },
        {
            "idx_agent_links_from": "from_id, type",
            "idx_agent_links_to": "to_id, type",
            "idx_agent_links_type": "type",
        },
    ),
    "wake_run_log": (
        {
            "run_key": "text 1",
            "agent_id": "text 1",
            "reason": "text 1",
            "reason_id": "text 0",
            "thread_id": "text 1",
            "status": "text 1",
            "logical_change_key": "text 0",
            "created_at": "text 1",
            "started_at": "text 0",
            "completed_at": "text 0",
            "error_message": "text 0",
        },
        {
            "idx_wake_run_log_agent": "agent_id, created_at desc",
            "idx_wake_run_log_status": "status",
        },
    ),
    "saga_log": (
        {
            "operation_id": "text 1",
            "run_key": "text 1",
            "phase": "text 1",
            "status": "text 1",
            "tool_name": "text 1",
            "last_error": "text 0",
            "created_at": "text 1",
            "updated_at": "text 1",
        },
        {"idx_saga_log_status": "status, updated_at"},
    ),
}


@pytest.mark.parametrize("table", SEEDS)
def test_the_tables_columns_and_indexes_that_are_asked_for_are_there(tmp_path: Path, table: str) -> None:
    """STORE-10, S3-10, S3-11, S3-12, S3-14, S3-15, S3-17, S3-19"""
    columns, indexes = SEEDS[table]
    store = new_store(tmp_path, schema=AGENT_STORE)
    with store.reading() as reader:
        rows = reader.local(f"select name, type, \"notnull\" from pragma_table_info('{table}')")
        there = {name: f"{kind.lower()} {notnull}" for name, kind, notnull in rows}
        for name in indexes:
            (sql,) = reader.local("select sql from sqlite_schema where type = 'index' and name = ?", (name,))[0]
            assert sql.partition("(")[2].rstrip(")") == indexes[name]
    assert columns.items() <= there.items()


def test_an_id_and_the_ends_of_a_link_are_unique(tmp_path: Path) -> None:
    """STORE-10, S3-14: the database itself refuses a second row."""
    store = new_store(tmp_path, schema=AGENT_STORE)
    ident = link_id("agent_task", "a1", "t1")
    with store.transaction(NOON, HIGH) as tx:
        tx.put(ident, "agent_task", {"fromId": "a1", "toId": "t1"})
        tx.put("a1", "agent", {"kind": "taskAgent"})
    for table, changed in (
        ("agent_entities", {"n": "n + 1"}),
        ("agent_links", {"n": "n + 1", "id": "'another'"}),
    ):
        with store.reading() as reader:
            names = [row[0] for row in reader.local(f"select name from pragma_table_info('{table}')")]
        columns = ", ".join(changed.get(name, name) for name in names)
        with pytest.raises(apsw.ConstraintError, match="UNIQUE"), store.transaction(NOON, HIGH) as tx:
            tx.execute(f"insert into {table} select {columns} from {table}")


def test_a_row_is_text_that_any_browser_shows(tmp_path: Path) -> None:
    """STORE-10, S0-27: the document as JSON, the columns for queries beside it."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("i1", "checklistItem", {"taskId": "t1", "title": "x", "createdAt": "2025-11-30T08:00:00.000Z"})
        tx.put("t1", "task", {"title": "y", "status": "OPEN"})
    with store.reading() as reader:
        rows = reader.local(
            """select id, task_id, type, subtype, created_at, updated_at, deleted_at, serialized, clock, schema_version
               from journal_entities order by id"""
        )
    at = "2025-12-01T12:00:00.000Z"
    document = '{"createdAt":"2025-11-30T08:00:00.000Z","taskId":"t1","title":"x"}'
    clock = '{"0000000100000001":1}'
    assert rows[0] == ("i1", "t1", "checklistItem", None, "2025-11-30T08:00:00.000Z", at, None, document, clock, 1)
    assert rows[1][:7] == ("t1", "t1", "task", "OPEN", at, "2025-12-01T12:00:00.000Z", None)


def test_queries_find_what_is_live_by_type_owner_and_subtype(tmp_path: Path) -> None:
    """STORE-10"""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        for number, (owner, kind) in enumerate([("t1", "note"), ("t1", "time"), ("t2", "note")]):
            tx.put(f"e{number}", "entry", {"taskId": owner, "kind": kind, "createdAt": f"{9 - number}"})
        tx.put("e9", "entry", {"taskId": "t1", "kind": "note"})
        tx.delete("e9")
    with store.reading() as reader:
        assert [e.id for e in reader.by_type("entry")] == ["e2", "e1", "e0"]
        assert [e.id for e in reader.by_type("entry", owner="t1")] == ["e1", "e0"]
        assert [e.id for e in reader.by_type("entry", owner="t1", subtype="note")] == ["e0"]
        assert [e.id for e in reader.owned_by("t1")] == ["e1", "e0"]
        assert {e.id for e in reader.owned_by("t1", deleted=True)} == {"e0", "e1", "e9"}
        assert lookups.ids_like(reader, "e", 3) == ["e0", "e1", "e2"]
        assert reader.count() == 4


def test_links_are_found_from_both_ends(tmp_path: Path) -> None:
    """STORE-10, ENT-6"""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        for to in ("t2", "t3"):
            tx.put(link_id("entryLink", "t1", to), "entryLink", {"fromId": "t1", "toId": to})
        tx.delete(link_id("entryLink", "t1", "t3"))
    with store.reading() as reader:
        assert [e.value("toId") for e in reader.links_from("t1")] == ["t2"]
        assert [e.value("fromId") for e in reader.links_to("t2", "entryLink")] == ["t1"]
        assert reader.links_to("t2", "other") == reader.links_from("t2") == []
        assert reader.links_from("t1", "entryLink") == reader.links_to("t2")
    with store.transaction(NOON, HIGH) as tx:
        tx.put(link_id("entryLink", "t1", "t3"), "entryLink", {"deletedAt": None})
    with store.reading() as reader:
        assert len(reader.links_from("t1")) == 2


def test_a_link_under_an_id_that_is_not_its_own_is_refused(tmp_path: Path) -> None:
    """ENT-6"""
    store = new_store(tmp_path)
    before = dump(store)
    with pytest.raises(Problem, match="not the id of a entryLink"), store.transaction(NOON, HIGH) as tx:
        tx.put("made-up", "entryLink", {"fromId": "t1", "toId": "t2"})
    assert dump(store) == before


# -- what comes from peers


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_version_changes_nothing(tmp_path: Path, fault: str) -> None:
    """ENT-10, STORE-4: also not the good one before it in the same transaction."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)
    other = msgspec.structs.replace(GOOD, id="t9")
    with pytest.raises(BadVersion), store.transaction(NOON, HIGH) as tx:
        tx.apply((version, open_foreign(version)) for version in (other, FAULTS[fault]))
    assert dump(store) == before


def test_one_dot_with_two_meanings_changes_nothing(tmp_path: Path) -> None:
    """MERGE-8"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    send(one, two)
    forged = Entity(
        "t1",
        "task",
        {Host("0000000100000001"): 1},
        Registers.of({"title": (one_write("y", host=Host("0000000100000001")),)}),
    )
    before = dump(two)
    with pytest.raises(EqualDots), two.transaction(NOON, HIGH) as tx:
        tx.apply([(close(forged), forged)])
    assert dump(two) == before


def test_a_type_that_changed_changes_nothing(tmp_path: Path) -> None:
    """MERGE-10: it goes to quarantine, and the entity stays what it is."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)["rows"]
    other = Entity("t1", "note", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x"),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(other), other)])
        assert [kept.version for kept in tx.quarantined()] == [close(other)]
    assert dump(store)["rows"] == before


def test_joining_is_no_write(tmp_path: Path) -> None:
    """MERGE-3: no counter, no knowledge; and the same again changes nothing at all."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    versions, _, _ = lacking(one, two)
    for expected in (1, 0):
        with two.transaction(NOON, HIGH) as tx:
            assert tx.apply((version, open_foreign(version)) for version in versions) == expected
            assert (tx.counter, tx.knowledge()) == (0, {})
            assert tx.changed is bool(expected)


def test_a_reading_of_after_9999_is_stored_and_not_followed(tmp_path: Path) -> None:
    """CAUS-9, CAUS-12, ENT-14"""
    store = new_store(tmp_path)
    far = Entity("t1", "task", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x", millis=2**48 - 1),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(far), far)])
    put(store, "t2", title="y")
    entity = store.read("t2")
    assert entity is not None
    won = entity.winner("title")
    assert won is not None
    assert won.stamp.hlc == (NOON, 0)
    with store.reading() as reader:
        assert [e.id for e in reader.by_type("task")] == ["t2", "t1"]


def test_a_reading_that_is_a_little_ahead_is_followed(tmp_path: Path) -> None:
    """CAUS-8: a write made after seeing another is after it for people, too."""
    store = new_store(tmp_path)
    ahead = Entity("t1", "task", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x", millis=NOON + 1_000),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(ahead), ahead)])
    put(store, "t1", title="y")
    entity = store.read("t1")
    assert entity is not None
    won = entity.winner("title")
    assert won is not None
    assert won.stamp.hlc == (NOON + 1_000, 1)


NEWER = schema(
    "journal", [EntityType("task", subtype="status"), EntityType("mood", owner="taskId")], owner_column="task_id"
)
PLAIN = schema("journal", [EntityType("task", subtype="status")], owner_column="task_id")


def test_what_a_store_has_never_heard_of_survives_a_trip_through_it(tmp_path: Path) -> None:
    """ENT-11, MERGE-11, S3-28: unknown types, unknown fields, and an edit of another field there. To the byte."""
    newer, plain, third = (new_store(tmp_path, n, s) for n, s in ((1, NEWER), (2, PLAIN), (3, NEWER)))
    odd = {"weather": {"sky": [1.5, {"deep": ["é", None]}], "wind/1": "~"}, "title": "x"}
    with newer.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", odd)
        tx.put("m1", "mood", {"taskId": "t1", "level": 3})
    send(newer, plain)
    with plain.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "edited"})
    send(plain, third)
    mine, theirs = newer.read("t1"), third.read("t1")
    assert mine is not None
    assert theirs is not None
    assert {"weather/sky", "weather/wind~11", "title"} == mine.registers.keys()
    for path in mine.registers:
        if path != "title":
            assert theirs.registers[path] == mine.registers[path]
    assert theirs.value("title") == "edited"
    with newer.reading() as a, plain.reading() as b, third.reading() as c:
        assert a.version("m1") == b.version("m1") == c.version("m1")
        assert {e.id for e in c.owned_by("t1")} == {"t1", "m1"}
        assert b.by_type("mood")[0].value("level") == 3


# -- rounds


def test_only_what_a_peer_lacks_is_sent(tmp_path: Path) -> None:
    """STORE-7"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for ident in ("t1", "t2", "t3"):
        put(one, ident, title="x")
    assert send(one, two) == ["t1", "t2", "t3"]
    assert send(one, two) == []
    put(one, "t2", title="y")
    assert send(one, two) == ["t2"]
    assert send(two, one) == []


def test_knowledge_is_taken_over_only_when_all_is_in(tmp_path: Path) -> None:
    """STORE-8, CAUS-15: what was cut off is held beyond the knowledge and not sent twice."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for ident in ("t1", "t2", "t3"):
        put(one, ident, title="x")
    assert send(one, two, abort_after=2) == ["t1", "t2"]
    host = Host("0000000100000001")
    assert knowledge(two) == {}
    with two.reading() as reader:
        assert lookups.held_beyond(reader) == [(host, 1, "t1"), (host, 2, "t2")]
    assert send(one, two) == ["t3"]
    assert knowledge(two) == {host: 3}
    with two.reading() as reader:
        assert lookups.held_beyond(reader) == []


def test_what_changed_since_a_round_was_cut_off_is_sent_again(tmp_path: Path) -> None:
    """STORE-7"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    put(one, "t2", title="x")
    send(one, two, abort_after=1)
    put(one, "t1", title="y")
    assert send(one, two) == ["t1", "t2"]
    assert two.read("t1") == one.read("t1")


def test_a_snapshot_stays_what_it_was(tmp_path: Path) -> None:
    """STORE-13: knowledge and rows are of one moment, whatever is written meanwhile."""
    one = new_store(tmp_path, 1)
    put(one, "t1", title="x")
    snapshot = one.snapshot()
    put(one, "t1", title="y")
    put(one, "t2", title="z")
    host = Host("0000000100000001")
    assert snapshot.knowledge() == {host: 1}
    (version,) = snapshot.versions(snapshot.lacking({}, []))
    assert (version.id, version.read_clock()) == ("t1", {host: 1})
    snapshot.close()


def test_a_read_transaction_belongs_to_one_moment(tmp_path: Path) -> None:
    """STORE-13"""
    one = new_store(tmp_path, 1)
    other = Store.open(one.file, JOURNAL, minting(2))
    with one.reading() as reader:
        assert reader.count() == 0
        put(other, "t1", title="x")
        assert reader.count() == 0
        assert reader.knowledge() == {}
    assert one.read("t1") is not None
    other.close()


def test_leading_types_are_sent_first(tmp_path: Path) -> None:
    """STORE-7: data never arrives before the host that wrote it is known."""
    one, two = new_store(tmp_path, 1, SPACE), new_store(tmp_path, 2, SPACE)
    with one.transaction(NOON, HIGH) as tx:
        tx.put("s1", "setting", {"value": 1})
        tx.put("m-1", MEMBERSHIP, {"kind": "added"})
        tx.put("s2", "setting", {"value": 1})
        tx.put("host-1", HOST_BINDING, {"store": "journal"})
    assert send(one, two) == ["m-1", "host-1", "s1", "s2"]


class Move(NamedTuple):
    """`does`: put, delete, undelete or round; a round goes from `store` to `other`."""

    does: str
    store: int
    other: int
    entity: str
    paths: frozenset[str]
    value: Any
    precedence: int
    skew: int
    cut: int | None


moves = st.builds(
    Move,
    does=st.sampled_from(["put", "put", "put", "delete", "undelete", "round", "round", "round"]),
    store=st.integers(0, 2),
    other=st.integers(0, 2),
    entity=st.sampled_from(["t1", "t2"]),
    paths=st.frozensets(st.sampled_from(PATHS), min_size=1),
    value=values,
    precedence=st.sampled_from([LOW, HIGH]),
    skew=st.integers(-3, 3),
    cut=st.none() | st.none() | st.integers(0, 2),
)


def carry_out(move: Move, stores: list[Store], reference: Reference) -> None:
    store, now = stores[move.store], NOON + move.skew
    place = (move.store, move.entity)
    before = store.read(move.entity)
    if move.does == "round":
        other = stores[move.other]
        if other is not store:
            for ident in send(store, other, abort_after=move.cut, now=now):
                reference.took((move.other, ident), reference.at((move.store, ident)))
        return
    if move.does != "put" and before is None:
        return
    with store.transaction(now, HIGH) as tx:
        if move.does == "put":
            dot = tx.put(move.entity, "task", dict.fromkeys(move.paths, move.value), precedence=move.precedence)
        elif move.does == "delete":
            dot = tx.delete(move.entity, precedence=move.precedence)
        else:
            dot = tx.undelete(move.entity, precedence=move.precedence)
    after = store.read(move.entity)
    assert after is not None
    new = {path: held for path, writes in after.registers.items() for held in writes if held.stamp.dot == dot}
    stamp = next(iter(new.values())).stamp
    assert all(held.stamp == stamp for held in new.values())
    reference.wrote(place, {p: held.value for p, held in new.items()}, stamp, deletes=move.does == "delete")


@given(st.lists(moves, max_size=25))
@examples(60)
def test_stores_that_know_the_same_are_the_same(history: list[Move]) -> None:
    """C-01, STORE-6, STORE-8, MERGE-2: real stores, random order, rounds that are cut off; against the reference."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [new_store(Path(folder), number) for number in range(3)]
        reference = Reference()
        for move in history:
            carry_out(move, stores, reference)
            _equal_knowledge_means_equal_content(stores)
        for sender, receiver in [(0, 1), (1, 2), (2, 1), (1, 0)]:
            for ident in send(stores[sender], stores[receiver]):
                reference.took((receiver, ident), reference.at((sender, ident)))
        assert len({digest(store) for store in stores}) == 1
        assert len({tuple(every_version(store)) for store in stores}) == 1
        for number, store in enumerate(stores):
            sound(store)
            for ident in ("t1", "t2"):
                entity = store.read(ident)
                assert (dict(entity.registers) if entity else {}) == reference.registers((number, ident))
                if entity:
                    assert is_deleted(entity) == reference.deleted((number, ident))
            store.close()


def _equal_knowledge_means_equal_content(stores: list[Store]) -> None:
    known: dict[str, bytes] = {}
    for store in stores:
        with store.reading() as reader:
            state = repr((reader.knowledge(), lookups.held_beyond(reader)))
            assert known.setdefault(state, reader.digest()) == reader.digest()


def test_a_clean_tombstone_leaves_the_digest(tmp_path: Path) -> None:
    """STORE-6: so that purging it, whenever a device does, changes nothing."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = digest(store)
    put(store, "t2", title="y")
    assert digest(store) != before
    with store.transaction(NOON, HIGH) as tx:
        tx.delete("t2")
    assert digest(store) == before
    sound(store)


def test_the_digest_to_the_byte(tmp_path: Path) -> None:
    """STORE-6: the sum of the hashes modulo 2^256, big-endian."""
    store = new_store(tmp_path)
    for number in range(9):
        put(store, f"t{number}", title="x")
    hashes = [int.from_bytes(version.hash(), "big") for version in every_version(store)]
    assert sum(hashes) > 2**256
    assert digest(store) == (sum(hashes) % 2**256).to_bytes(32, "big")


# -- copies and rollbacks


def rolled_back(folder: Path) -> tuple[Store, Store]:
    """A store that was put back to an earlier copy of its file, and a peer that knows more of its writes."""
    one, two = new_store(folder, 1), new_store(folder, 2)
    put(one, "t1", title="x")
    one.close()
    shutil.copy(one.file, folder / "backup")
    one = Store.open(one.file, JOURNAL, minting(7))
    put(one, "t1", title="y")
    put(one, "t2", title="z")
    send(one, two)
    one.close()
    for leftover in folder.glob(f"{one.file.name}*"):
        leftover.unlink()
    shutil.copy(folder / "backup", one.file)
    return Store.open(one.file, JOURNAL, minting(7)), two


def test_a_store_that_was_rolled_back_goes_on_under_a_new_host(tmp_path: Path) -> None:
    """STORE-9, CAUS-218, CAUS-14: found in what a peer sends; no counter is used twice."""
    one, two = rolled_back(tmp_path)
    send(two, one, abort_after=1)
    with one.reading() as reader:
        assert (reader.host, reader.counter) == (Host("0000000700000001"), 0)
    assert put(one, "t3", title="after") == Dot(Host("0000000700000001"), 1)
    send(two, one)
    send(one, two)
    assert digest(one) == digest(two)
    assert two.read("t3") == one.read("t3")
    sound(one)


def test_a_rollback_shows_in_a_peers_knowledge_alone(tmp_path: Path) -> None:
    """STORE-9"""
    one, two = rolled_back(tmp_path)
    with one.transaction(NOON, HIGH) as tx:
        tx.adopt(knowledge(two))
        assert tx.host == Host("0000000700000001")


def test_a_peer_that_knows_no_more_than_we_do_changes_no_host(tmp_path: Path) -> None:
    """STORE-9"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    send(one, two)
    put(two, "t1", title="y")
    send(two, one)
    with one.reading() as reader:
        assert reader.host == Host("0000000100000001")


# -- full disks, other processes, crashes


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """STORE-4: and when there is room again, all goes on."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)
    with store.reading() as reader:
        pages = reader.local("pragma page_count")[0][0]

    def fill(tx: Transaction) -> None:
        tx.execute(f"pragma max_page_count={pages}")
        tx.put("t1", "task", {"title": "short"})
        for number in range(20):
            tx.put(f"big{number}", "task", {"title": "x" * 50_000})

    with pytest.raises(Problem) as caught, store.transaction(NOON, HIGH) as tx:
        fill(tx)
    assert caught.value.code == "disk-full"
    assert str(store.file) in caught.value.message
    assert dump(store) == before
    with store.transaction(NOON, HIGH) as tx:
        tx.execute("pragma max_page_count=1000000")
        assert tx.put("big", "task", {"title": "x" * 50_000}).counter == 2
    sound(store)


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """STORE-67, CAUS-218, CAUS-14: no write, no field of a shared entity, no counter twice."""
    store = new_store(tmp_path)
    rounds = 40
    with (
        running("tests.support.writer", store.file, "left", rounds) as left,
        running("tests.support.writer", store.file, "right", rounds) as right,
    ):
        go(left)
        go(right)
        for child in (left, right):
            assert [said(child) for _ in range(rounds)] == [str(n + 1) for n in range(rounds)]
    names = {f"{name}-{n + 1}" for name in ("left", "right") for n in range(rounds)}
    with store.reading() as reader:
        assert {e.id for e in reader.by_type("task")} == names | {SHARED}
        assert reader.counter == 4 * rounds
        dots = {host_counter for e in reader.by_type("task") for p in e.registers for host_counter in e.dots(p)}
    assert len(dots) == 4 * rounds
    shared = store.read(SHARED)
    assert shared is not None
    assert set(shared.registers) == {f"seen/{name}" for name in names}
    sound(store)


def test_killing_a_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    """STORE-5: five writers one after the other, each killed while it writes."""
    store = new_store(tmp_path)
    acknowledged: set[str] = set()
    for number in range(5):
        with running("tests.support.writer", store.file, f"w{number}", 0) as child:
            go(child)
            for _ in range(7 + 6 * number):
                acknowledged.add(f"w{number}-{said(child)}")
            child.kill()
            assert child.stdout is not None
            rest = child.stdout.read()  # `communicate` would forget the lines that were read ahead
            acknowledged |= {f"w{number}-{line}" for line in rest.splitlines() if line}
    with store.reading() as reader:
        there = {e.id for e in reader.by_type("task")} - {SHARED}
        assert reader.counter == 2 * len(there)
    assert acknowledged <= there
    assert len(there) <= len(acknowledged) + 5  # at most the last of each was committed and not yet said
    sound(store)


def test_another_schema_is_another_file(tmp_path: Path) -> None:
    """STORE-10, S3-10"""
    schemas: list[StoreSchema] = [JOURNAL, AGENT_STORE, SPACE]
    files = [new_store(tmp_path, 1, each).file.name for each in schemas]
    assert files == ["journal-1.sqlite", "agent-1.sqlite", "space-1.sqlite"]


def test_a_version_is_read_as_it_was_stored(tmp_path: Path) -> None:
    """ENT-8"""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    with store.reading() as reader:
        version, entity = reader.version("t1"), reader.entity("t1")
        assert reader.version("t2") is None
    assert isinstance(version, Version)
    assert entity is not None
    assert close(entity) == version


def test_store_71_a_transaction_cannot_write_with_more_than_it_was_opened_with(tmp_path: Path) -> None:
    """STORE-71, STORE-52: what acts for a model cannot speak for the person."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x"})
        tx.put("t1", "task", {"due": "2026-01-01"}, precedence=LOW)
    before = dump(store)
    writes: list[Callable[[Transaction], object]] = [
        lambda tx: tx.put("t1", "task", {"title": "y"}, precedence=HIGH),
        lambda tx: tx.link("entryLink", "t1", "t2", precedence=HIGH),
        lambda tx: tx.keep("t1", {"title": b'"y"'}, precedence=HIGH),
        lambda tx: tx.delete("t1", precedence=HIGH),
        lambda tx: tx.undelete("t1", precedence=HIGH),
    ]
    for write in writes:
        with pytest.raises(LocalError, match="precedence"), store.transaction(NOON, LOW) as tx:
            write(tx)
    with store.transaction(NOON, None) as merge:
        assert not isinstance(merge, Transaction)
    assert dump(store) == before


@pytest.mark.parametrize("precedence", [2, -1, 7, "high", True])
def test_store_31_a_transaction_knows_two_precedences(tmp_path: Path, precedence: Any) -> None:
    """STORE-31: another one was stored, and made a version that no peer takes and that `check` called damaged."""
    store = new_store(tmp_path)
    with pytest.raises(Problem, match="has the precedence HIGH or LOW, not"), store.transaction(NOON, precedence):
        raise AssertionError
    with pytest.raises(LocalError), store.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"}, precedence=-1)
    assert store.read("t") is None
