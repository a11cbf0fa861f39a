"""Database files: durable, ours, and of a version that we know."""

from pathlib import Path

import apsw
import pytest
from tests.support.stores import NOON, minting, new_store

from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store import database, feed
from lottisync.store.database import APPLICATION_ID, FORMAT, connect
from lottisync.store.merge import Merge
from lottisync.store.store import Store


def existing(folder: Path, tasks: int = 1) -> Path:
    store = new_store(folder)
    with store.transaction(NOON, HIGH) as tx:
        for number in range(tasks):
            tx.put(f"t{number}", "task", {"title": "x" * 500})
    store.close()
    return store.file


def refused(file: Path) -> Problem:
    """The problem that opening a file ends in; the file's bytes stay as they are."""
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(Problem) as caught:
        Store.open(file, JOURNAL, minting(1))
    assert (file.read_bytes() if file.is_file() else None) == before
    assert str(file) in caught.value.message
    return caught.value


def test_wal_and_full_are_really_in_force(tmp_path: Path) -> None:
    """STORE-1: for writers, readers and snapshots, in new files and in old ones."""
    fresh = new_store(tmp_path)
    with fresh.transaction(NOON, HIGH) as tx:
        assert tx.execute("pragma synchronous") == [(2,)]
        assert tx.execute("pragma journal_mode") == [("wal",)]
    fresh.close()
    again = Store.open(fresh.file, JOURNAL, minting(1))
    snapshot = again.snapshot()
    with again.reading() as reader:
        for each in (reader, snapshot):
            assert each.local("pragma synchronous") == [(2,)]
            assert each.local("pragma journal_mode") == [("wal",)]
    snapshot.close()
    again.close()


def test_store_870_only_what_can_be_computed_again_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    """STORE-870: the next transaction waits for it again, also after one that failed."""

    def fail(cache: Merge) -> None:
        assert cache.execute("pragma synchronous") == [(1,)]
        raise RuntimeError("no more")

    store = new_store(tmp_path)
    for _ in range(2):
        with pytest.raises(RuntimeError), store.caching(NOON) as cache:
            fail(cache)
        with store.transaction(NOON, HIGH) as tx:
            assert tx.execute("pragma synchronous") == [(2,)]
    with store.caching(NOON) as cache:
        feed.advance(cache, "a cache", 7)
    with store.reading() as reader:
        assert reader.cursor("a cache") == 7
        assert reader.local("pragma synchronous") == [(2,)]
    store.close()


def test_a_file_that_cannot_be_made_durable_is_refused(tmp_path: Path) -> None:
    """STORE-1: a refused pragma answers with the old value and not with an error."""
    with pytest.raises(Problem) as caught:
        connect(Path(":memory:"), create=True)
    assert caught.value.code == "not-durable"
    assert "journal_mode" in caught.value.message


def test_a_missing_file(tmp_path: Path) -> None:
    """STORE-2: and it is not made."""
    problem = refused(tmp_path / "journal.sqlite")
    assert problem.code == "missing"
    assert problem.hint == "init-missing"
    assert list(tmp_path.iterdir()) == []


def test_another_programs_database(tmp_path: Path) -> None:
    """STORE-2"""
    file = tmp_path / "music.sqlite"
    with apsw.Connection(str(file)) as connection:
        connection.execute("create table albums (title text)").fetchall()
    connection.close()
    assert refused(file).code == "foreign"


def test_an_empty_file(tmp_path: Path) -> None:
    """STORE-2: SQLite takes it for an empty database, we do not."""
    file = tmp_path / "journal.sqlite"
    file.touch()
    assert refused(file).code == "foreign"


def test_a_file_of_a_newer_format(tmp_path: Path) -> None:
    """STORE-2"""
    file = existing(tmp_path)
    connection = apsw.Connection(str(file))
    connection.execute(f"pragma user_version={FORMAT + 1}").fetchall()
    connection.close()
    problem = refused(file)
    assert problem.code == "newer-format"
    assert "newer lottisync" in problem.message


def test_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    """STORE-2"""
    file = tmp_path / "journal.sqlite"
    file.write_text("Dear diary, " * 100)
    assert refused(file).code == "damaged"


def test_a_file_whose_first_page_is_damaged(tmp_path: Path) -> None:
    """STORE-2"""
    file = existing(tmp_path)
    raw = bytearray(file.read_bytes())
    raw[100:1_000] = b"\x5a" * 900
    file.write_bytes(raw)
    problem = refused(file)
    assert problem.code == "damaged"
    assert "backup" in problem.message


def send_all(store: Store) -> None:
    """What a round to a device that has nothing reads."""
    snapshot = store.snapshot()
    snapshot.versions(snapshot.lacking({}, []))
    snapshot.close()


def test_a_file_whose_damage_shows_later(tmp_path: Path) -> None:
    """STORE-51: a page that only a query meets."""
    file = existing(tmp_path, tasks=200)
    raw = bytearray(file.read_bytes())
    behind = 10 * int.from_bytes(raw[16:18], "big")  # ten pages: rows, and not the schema
    raw[-behind:] = b"\x5a" * behind
    file.write_bytes(raw)
    store = Store.open(file, JOURNAL, minting(1))
    with pytest.raises(Problem) as reading, store.reading() as reader:
        reader.by_type("task")
    with pytest.raises(Problem) as writing, store.transaction(NOON, HIGH) as tx:
        tx.put("t999", "task", {"title": "y"})
    with pytest.raises(Problem) as sending:
        send_all(store)
    assert {problem.value.code for problem in (reading, writing, sending)} == {"damaged"}
    store.close()


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    """STORE-2"""
    assert refused(tmp_path).code == "cannot-open"


def test_making_a_store_where_there_is_one(tmp_path: Path) -> None:
    """STORE-50"""
    file = existing(tmp_path)
    before = file.read_bytes()
    with pytest.raises(Problem) as caught:
        Store.create(file, JOURNAL, minting(2))
    assert caught.value.code == "exists"
    assert file.read_bytes() == before


def test_a_file_that_somebody_holds_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STORE-51: said in words, after the time that a writer waits."""
    monkeypatch.setattr(database, "BUSY_MILLIS", 20)
    file = existing(tmp_path)
    holder = connect(file)
    store = Store.open(file, JOURNAL, minting(1))
    holder.execute("begin immediate").fetchall()
    with pytest.raises(Problem) as caught, store.transaction(NOON, HIGH) as tx:
        tx.put("t2", "task", {"title": "x"})
    assert caught.value.code == "busy"
    holder.execute("rollback").fetchall()
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t2", "task", {"title": "x"})
    holder.close()
    store.close()


def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    """STORE-2: on a disk that is mounted for reading, or in a folder of somebody else, it can still be read."""
    store = Store.open(existing(tmp_path), JOURNAL, minting(1))
    with store.reading() as reader:
        reader.local("pragma query_only=1")  # what SQLite answers then is what it answers there
    with pytest.raises(Problem) as caught, store.transaction(NOON, HIGH) as tx:
        tx.put("t2", "task", {"title": "x"})
    assert caught.value.code == "read-only"
    assert "folder" in caught.value.message
    assert store.read("t0") is not None
    store.close()


def test_the_files_say_whose_they_are(tmp_path: Path) -> None:
    """STORE-2: to the byte, so that tools can tell them."""
    raw = existing(tmp_path).read_bytes()
    assert int.from_bytes(raw[68:72], "big") == APPLICATION_ID == 0x4C4F5453
    assert int.from_bytes(raw[60:64], "big") == FORMAT == 7
