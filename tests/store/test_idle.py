"""What lies in the logs of idle stores is carried over into their files: STORE-680, STORE-681."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.stores import NOON, minting, new_store

from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store.idle import Idle
from lottisync.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = new_store(tmp_path, 1)
    assert made.carry_over()
    return made


def write(store: Store, title: str) -> None:
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": title})


def copied(store: Store, folder: Path) -> str | None:
    """The title in a copy of the file alone."""
    folder.mkdir()
    shutil.copy(store.file, folder / store.file.name)
    copy = Store.open(folder / store.file.name, JOURNAL, minting(2))
    found = copy.read("t")
    copy.close()
    return str(found.value("title")) if found is not None else None


def test_store_680_the_file_of_an_idle_store_holds_everything(store: Store, tmp_path: Path) -> None:
    """STORE-680: a plain copy of a running daemon's files showed an empty list."""
    idle = Idle({"journal": store})
    write(store, "Milk")
    assert copied(store, tmp_path / "before") is None
    assert idle.look() == []
    assert idle.look() == ["journal"]
    assert copied(store, tmp_path / "after") == "Milk"
    assert idle.look() == []
    write(store, "Oat milk")
    assert (idle.look(), idle.look()) == ([], ["journal"])
    assert copied(store, tmp_path / "later") == "Oat milk"


def test_store_680_a_store_that_is_written_to_is_left_alone(store: Store) -> None:
    """STORE-680"""
    idle = Idle({"journal": store})
    for number in range(4):
        write(store, f"Milk {number}")
        assert idle.look() == []


def test_store_681_neither_a_reader_nor_the_daemon_waits_for_it(store: Store) -> None:
    """STORE-681: it does not wait for a reader either, but tries again later."""
    idle = Idle({"journal": store})
    write(store, "Milk")
    idle.look()
    with closing(store.snapshot()) as moment:
        write(store, "Oat milk")
        assert idle.look() == []
        assert idle.look() == []
        found = moment.entity("t")
        assert found is not None
        assert found.value("title") == "Milk"
    assert idle.look() == ["journal"]
    with store.reading():
        assert not store.carry_over()


def test_store_680_a_disk_that_takes_nothing_ends_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """STORE-680"""
    idle = Idle({"journal": store})
    write(store, "Milk")
    idle.look()

    def full(self: Store) -> bool:
        raise Problem("disk-full", "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "carry_over", full)
        assert idle.look() == []
    assert idle.look() == ["journal"]
