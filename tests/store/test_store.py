"""The replicated store: transactions and rows."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.store.tasks_in_a_store import knowledge, put, sound
from tests.support.stores import NOON, dump, minting, new_store, send

from lottisync.causality.vector_clock import Dot, Host
from lottisync.daemon.stores import AGENT_STORE
from lottisync.entities.entity import DELETED_AT, HIGH, is_deleted
from lottisync.entities.registers import Stamp
from lottisync.entities.schema import link_id
from lottisync.entities.version import MAX_VERSION
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store import lookups
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

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
