"""What a store does when the disk does not do its part: full, failing, or without power.

Every operation that changes a file is made to fail once, in turn. Whatever was acknowledged (the
transaction's block was left without an error) must be there afterwards, whole, and nothing may be there
that is torn; the counter never goes back behind a dot that somebody may have been sent.
"""

import contextlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal

import apsw
import pytest
from tests.support.failing_disk import FailingVfs
from tests.support.fault_vfs import FaultVfs

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store import feed
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store

NOON = 1_764_590_400_000
WRITES = 6
NAMES = count(1)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A store with something in it, closed and checkpointed."""
    file = tmp_path / "journal.sqlite"
    store = Store.create(file, JOURNAL, lambda: Host("00000000000000a1"))
    with store.transaction(NOON, HIGH) as tx:
        tx.put("kept", "task", {"title": "was here before"})
    store.close()
    return file


def workload(store: Store) -> Iterator[int]:
    """Several transactions; yields the counter that each of them has acknowledged. Before each, one that does not wait
    for the disk (STORE-870)."""
    for number in range(WRITES):
        with store.caching(NOON + number) as cache:
            feed.advance(cache, "a cache", number + 1)
        with store.transaction(NOON + number, HIGH) as tx:
            tx.put(f"t{number}", "task", {"title": "x" * 3000})
            dot = tx.put("kept", "task", {"title": f"edit {number}"})
        yield dot.counter


def run(file: Path, vfs: FaultVfs, name: str) -> int:
    """Run the workload until the fault; the last counter that was acknowledged."""
    acknowledged = 1
    store = None
    try:
        store = Store.open(file, JOURNAL, lambda: Host("00000000000000b2"), vfs=name, detect="late")
        for counter in workload(store):
            acknowledged = counter
    except Problem as problem:
        if problem.code not in ("disk-failed", "disk-full"):
            raise
    finally:
        if store is not None:
            with contextlib.suppress(apsw.Error):
                store.close()
    return acknowledged


def check(file: Path, acknowledged: int) -> None:
    store = Store.open(file, JOURNAL, lambda: Host("00000000000000c3"), detect="late")
    with store.reading() as reader:
        assert broken_invariants(reader) == []
        assert reader.counter >= acknowledged
        for number in range((acknowledged - 1) // 2):
            assert reader.entity(f"t{number}") is not None
    store.close()


def operations(file: Path) -> int:
    """How many operations the workload takes when nothing fails."""
    name = f"count{next(NAMES)}"
    vfs = FaultVfs(name, "eio", 0)
    assert run(file, vfs, name) == 1 + 2 * WRITES
    vfs.unregister()
    return vfs.operations


def copy_of(file: Path, folder: Path) -> Path:
    folder.mkdir()
    target = folder / file.name
    target.write_bytes(file.read_bytes())
    return target


@pytest.mark.parametrize("fault", ["eio", "full"])
def test_a_disk_that_fails_at_any_operation_loses_nothing_acknowledged(
    prepared: Path, tmp_path: Path, fault: Literal["eio", "full"]
) -> None:
    """STORE-21: the error is raised, nothing torn is left, and the store opens again."""
    total = operations(copy_of(prepared, tmp_path / "count"))
    assert total > 20
    failed = 0
    for at in range(1, total + 1):
        file = copy_of(prepared, tmp_path / f"{fault}{at}")
        name = f"{fault}{next(NAMES)}"
        vfs = FaultVfs(name, fault, at)
        acknowledged = run(file, vfs, name)
        vfs.unregister()
        failed += acknowledged < 1 + 2 * WRITES
        check(file, acknowledged)
    assert failed > WRITES, "the faults must be reachable"


@pytest.mark.parametrize("mode", ["none", "prefix", "any"])
def test_a_power_cut_at_any_operation_loses_nothing_acknowledged(
    prepared: Path, tmp_path: Path, mode: Literal["none", "prefix", "any"]
) -> None:
    """STORE-22, STORE-870: whatever of the unsynced writes the disk has kept, and however it has torn them."""
    total = operations(copy_of(prepared, tmp_path / "count"))
    cut = 0
    for at in range(1, total + 1):
        file = copy_of(prepared, tmp_path / f"live{at}")
        name = f"power{next(NAMES)}"
        vfs = FaultVfs(name, "power", at)
        acknowledged = run(file, vfs, name)
        after = tmp_path / f"after{at}"
        after.mkdir()
        vfs.crash(after, mode, seed=at)
        vfs.unregister()
        cut += vfs.dead
        check(after / file.name, acknowledged)
    assert cut == total, "every operation was a power cut once"


def test_store_941_a_snapshot_on_a_disk_that_failed_is_closed_without_an_error(prepared: Path, tmp_path: Path) -> None:
    """STORE-941: SQLite had ended its transaction, and the daemon died of the rollback."""
    control = tmp_path / "control"
    disk = FailingVfs(control, name="fails when read", default=False)
    store = Store.open(prepared, JOURNAL, lambda: Host("00000000000000b2"), vfs="fails when read", detect="late")
    with contextlib.closing(store), contextlib.closing(store.snapshot(cache_kib=1)) as snapshot:
        control.write_text(prepared.name)
        with pytest.raises(Problem, match="EIO"):
            list(snapshot.versions(range(10)))
        snapshot.close()
        control.unlink()
        with contextlib.closing(store.snapshot()) as again:
            assert again.entity("kept") is not None
    disk.unregister()


def test_store_943_a_store_on_a_disk_that_fails_is_closed_without_an_error(prepared: Path, tmp_path: Path) -> None:
    """STORE-943: the daemon, which had said that it waits for the disk, died of closing the store."""
    control = tmp_path / "control"
    disk = FailingVfs(control, name="fails when closed", default=False)
    store = Store.open(prepared, JOURNAL, lambda: Host("00000000000000b2"), vfs="fails when closed", detect="late")
    with store.transaction(NOON, HIGH) as tx:
        tx.put("log", "task", {"title": "is in the log"})
    control.write_text(prepared.name)
    store.close()
    control.unlink()
    disk.unregister()
    with contextlib.closing(Store.open(prepared, JOURNAL, lambda: Host("00000000000000b2"), detect="late")) as again:
        assert again.read("log") is not None
