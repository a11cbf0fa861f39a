"""Copies, rollbacks, full disks, other processes and crashes."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.store.tasks_in_a_store import digest, knowledge, put, sound
from tests.support.child import go, running, said
from tests.support.stores import NOON, dump, minting, new_store, send
from tests.support.writer import SHARED

from lottisync.causality.vector_clock import Dot, Host
from lottisync.daemon.stores import AGENT_STORE
from lottisync.device.space import SPACE
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version, close
from lottisync.journal.types import JOURNAL
from lottisync.problem import LocalError, Problem
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

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
