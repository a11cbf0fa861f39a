"""The doorbell: a commit in one process wakes the others."""

import contextlib
import os
import resource
import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.child import running, said
from tests.support.stores import NOON, new_store

from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.store.doorbell import Bell, ring
from lottisync.store.transaction import Transaction


def is_rung(bell: Bell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])


def test_a_bell_rings_until_it_is_cleared(tmp_path: Path) -> None:
    """STORE-11"""
    bell = Bell(tmp_path / "bells", "one")
    assert not is_rung(bell)
    ring(tmp_path / "bells")
    ring(tmp_path / "bells")
    assert is_rung(bell)
    bell.clear()
    assert not is_rung(bell)
    ring(tmp_path / "bells")
    assert is_rung(bell)
    bell.close()


def test_all_listeners_hear_it(tmp_path: Path) -> None:
    """STORE-11"""
    bells = [Bell(tmp_path, name) for name in ("one", "two", "three")]
    ring(tmp_path)
    assert all(is_rung(bell) for bell in bells)
    for bell in bells:
        bell.close()


def test_ringing_never_blocks(tmp_path: Path) -> None:
    """STORE-110: a pipe that nobody empties is full after 65,536 rings."""
    bell = Bell(tmp_path, "asleep")
    for _ in range(70_000):
        ring(tmp_path)
    assert is_rung(bell)
    bell.clear()
    assert not is_rung(bell)
    bell.close()


def test_ringing_a_bell_that_has_no_listener(tmp_path: Path) -> None:
    """STORE-110"""
    ring(tmp_path / "bells")
    assert not (tmp_path / "bells").exists()


def test_a_bell_that_is_closed_leaves_nothing(tmp_path: Path) -> None:
    """STORE-11"""
    Bell(tmp_path, "one").close()
    assert list(tmp_path.iterdir()) == []


def test_the_bell_of_a_process_that_was_killed_is_taken_away(tmp_path: Path) -> None:
    """STORE-11"""
    with running("tests.support.listener", tmp_path, "victim", 30) as child:
        child.kill()
        child.wait()
    assert (tmp_path / "victim").exists()
    ring(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_name_can_be_used_again(tmp_path: Path) -> None:
    """STORE-11: also when its last owner was killed."""
    os.mkfifo(tmp_path / "one")
    bell = Bell(tmp_path, "one")
    ring(tmp_path)
    assert is_rung(bell)
    bell.close()


def test_a_bell_that_is_being_hung_up_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    """STORE-111"""
    os.mkfifo(tmp_path / ".one")
    ring(tmp_path)
    assert (tmp_path / ".one").exists()


class Crowded(type(Path())):  # type: ignore[misc]
    """A folder after whose listing no file descriptor is left."""

    def iterdir(self) -> Iterator[Path]:
        paths = list(super().iterdir())
        with contextlib.suppress(OSError):
            while True:
                TAKEN.append(os.open("/dev/null", os.O_RDONLY))
        return iter(paths)


TAKEN: list[int] = []


def test_a_program_without_file_descriptors_keeps_the_bells_of_others(tmp_path: Path) -> None:
    """STORE-110, STORE-111"""
    bell = Bell(tmp_path, "one")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (bell.fileno() + 20, hard))
    try:
        ring(Crowded(tmp_path))
    finally:
        while TAKEN:
            os.close(TAKEN.pop())
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not is_rung(bell)
    ring(tmp_path)
    assert is_rung(bell)
    bell.close()


def test_a_commit_is_none_the_less_for_a_bell_that_cannot_be_rung(tmp_path: Path) -> None:
    """STORE-110: what was committed is not reported as failed because there is no file descriptor left to ring with."""
    store = new_store(tmp_path)
    bell = Bell(tmp_path / "bells", "one")
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x"})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with store.transaction(NOON, HIGH) as tx:
            tx.put("t2", "task", {"title": "x"})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert store.read("t2") is not None
    bell.close()
    store.close()


def test_a_commit_wakes_another_process(tmp_path: Path) -> None:
    """STORE-11"""
    store = new_store(tmp_path)
    with running("tests.support.listener", tmp_path / "bells", "other", 30) as child:
        with store.transaction(NOON, HIGH) as tx:
            tx.put("t1", "task", {"title": "x"})
        assert said(child) == "rung"
    store.close()


def test_only_what_was_committed_rings(tmp_path: Path) -> None:
    """STORE-11: neither a transaction that failed nor one that changed nothing."""
    store = new_store(tmp_path)
    bell = Bell(tmp_path / "bells", "own")

    def fail(tx: Transaction) -> None:
        tx.put("t1", "task", {"title": "x"})
        tx.delete("t2")

    with pytest.raises(Problem), store.transaction(NOON, HIGH) as tx:
        fail(tx)
    with store.transaction(NOON, HIGH):
        pass
    assert not is_rung(bell)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x"})
        assert not is_rung(bell)
    assert is_rung(bell)
    bell.close()
    store.close()


def test_store_971_other_processes_hear_a_commit_before_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STORE-971: a pipe that this process has not made as a bell is another's."""
    names = ("a", "b", "y", "z")
    own = [Bell(tmp_path, name) for name in names[1:3]]
    others = [tmp_path / names[0], tmp_path / names[3]]
    for path in others:
        os.mkfifo(path)
    pipes = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in others]
    rung: list[str] = []
    monkeypatch.setattr("lottisync.store.doorbell.os.open", _noting(rung))
    ring(tmp_path)
    monkeypatch.undo()
    assert set(rung[:2]) == {"a", "z"}
    assert set(rung[2:]) == {"b", "y"}
    for pipe in pipes:
        os.close(pipe)
    for bell in own:
        bell.close()


def _noting(opened: list[str]) -> Callable[[Path, int], int]:
    really = os.open

    def note(path: Path, flags: int) -> int:
        opened.append(Path(path).name)
        return really(path, flags)

    return note
