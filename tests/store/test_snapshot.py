"""What a peer lacks: SYNC-67."""

from pathlib import Path

from tests.support import sqlite
from tests.support.stores import NOON, new_store

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH

STEP = 100


def test_sync_67_what_a_peer_lacks_is_found_in_proportion_to_the_hosts(tmp_path: Path) -> None:
    """Counted in the steps of SQLite's machine, which are the same on every machine."""
    few, many = (steps(tmp_path / str(hosts), hosts) for hosts in (250, 1_000))
    assert many < 6 * few


def steps(folder: Path, hosts: int) -> int:
    """How many hundred steps it takes with so many hosts, of which the peer knows all but one."""
    folder.mkdir()
    store = new_store(folder)
    invented = {Host(f"{number:016x}"): 1 for number in range(hosts)}
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
        for host in invented:
            tx.execute("insert into hosts(host, known) values (?, 1)", (host,))
    taken = 0

    def count() -> bool:
        nonlocal taken
        taken += 1
        return False

    snapshot = store.snapshot()
    sqlite.connection(snapshot).set_progress_handler(count, STEP)
    found = list(snapshot.versions(snapshot.lacking(invented, [])))
    sqlite.connection(snapshot).set_progress_handler(None)
    snapshot.close()
    store.close()
    assert [made.id for made in found] == ["t1"]
    return taken
