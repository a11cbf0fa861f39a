"""What is kept of each host, beside what follows from the other tables."""

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counted import NOON
from tests.support.examples import examples
from tests.support.stores import copied, digest_of, greet, lacking, meet, new_store, send, with_chains

from lottisync.causality.vector_clock import Host, covers, reach
from lottisync.entities.entity import HIGH
from lottisync.entities.version import open_foreign
from lottisync.protocol import summary
from lottisync.protocol.message import Summary
from lottisync.store import chain, forgetting, fork, known_hosts
from lottisync.store.check import broken_invariants
from lottisync.store.known_hosts import host_hash
from lottisync.store.store import Store
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import LocalState

NUMBERS = count(1)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def put(store: Store, entity: str, value: Any = "x", *, new_host: bool = False) -> None:
    with store.transaction(NOON, HIGH) as tx:
        if new_host:
            tx.new_host()
        tx.put(entity, "task", {"title": value})


def kept(store: Store) -> dict[str, Any]:
    """What a process that has read before goes by."""
    with store.reading() as reader:
        own = LocalState(reader)
        return {
            "knowledge": list(own.knowledge.items()),
            "ends": dict(sorted(own.ends.items())),
            "held": own.held,
            "summary": own.summary,
        }


def in_full(store: Store) -> dict[str, Any]:
    """The same, read of all the tables in another way, which knows nothing of what is kept."""
    with store.reading() as reader:
        own = reader.host
        known: dict[Host, int] = dict(reader.local("select host, known from hosts where known > 0"))
        known = {host: k for host, k in sorted({**known, own: reader.counter}.items()) if k}
        held = reader.local(
            """select h.host, c.counter, coalesce(r.id, q.id) from components c join hosts h on h.n = c.host
               left join rows r on r.n = c.n left join quarantine q on q.n = c.n order by 1, 2, 3"""
        )
        held = [(host, counter, entity) for host, counter, entity in held if counter > known.get(host, 0)]
        last = reach([known, *({host: counter} for host, counter, _ in held)])
        host_hashes = sum(
            host_hash(host, known.get(host, 0), counter, chain.value_at(reader, host, counter) or b"")
            for host, counter in last.items()
        )
        return {
            "knowledge": list(known.items()),
            "ends": {own: reader.counter} | {h: e.end for h, e in sorted(chain.log_ends(reader).items()) if e.end},
            "held": held,
            "summary": Summary(summary.known(host_hashes, held, fork.nodes(reader)), reader.digest()),
        }


def assert_right(store: Store) -> None:
    with store.reading() as reader:
        assert reader.host_faults() == []
    right = in_full(store)
    right["ends"] = dict(sorted(right["ends"].items()))
    assert kept(store) == right


class Devices:
    """Three stores that write, meet, are cut off, copied, put back, and forget."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / f"{next(NUMBERS)}"
        self.folder.mkdir()
        self.stores = [new_store(self.folder, next(NUMBERS)) for _ in range(3)]
        self.backups: dict[int, Path] = {}

    def act(self, what: str, which: int, entity: int) -> None:
        store, other = self.stores[which], self.stores[(which + 1 + entity % 2) % 3]
        match what:
            case "write":
                put(store, f"t{entity}", next(NUMBERS))
            case "new host":
                put(store, f"t{entity}", next(NUMBERS), new_host=True)
            case "delete" if store.read(f"t{entity}") is not None:
                with store.transaction(NOON, HIGH) as tx:
                    tx.delete(f"t{entity}")
            case "meet":
                meet(store, other)
            case "cut off":
                greet(store, other)
                send(store, other, abort_after=1)
            case "roll back":
                self.roll_back(store, other)
            case "copy":
                file = self.folder / f"copy-{next(NUMBERS)}.sqlite"
                self.stores[which] = copied(store, file, next(NUMBERS))
            case "back up":
                self.backups[which] = self.folder / f"backup-{next(NUMBERS)}.sqlite"
                store.copy_to(self.backups[which])
            case "put back" if which in self.backups:
                self.put_back(store, self.backups[which])
            case "forget":
                with store.transaction(NOON * 2, None) as tx:
                    forgetting.purge(tx, [], 0)

    def roll_back(self, store: Store, other: Store) -> None:
        """What was read in a transaction that came to nothing."""
        greet(store, other)
        versions, knowledge, _ = lacking(other, store)
        with store.draft(NOON) as tx:
            tx.apply([(version, open_foreign(version)) for version in versions])
            tx.adopt(knowledge)
            assert covers(tx.knowledge(), knowledge)

    def put_back(self, store: Store, backup: Path) -> None:
        """Under the feet of the process, as another program does it."""
        source, target = apsw.Connection(str(backup)), apsw.Connection(str(store.file))
        with target.backup("main", source, "main") as copying:
            copying.step()
        source.close()
        target.close()

    def close(self) -> None:
        for store in self.stores:
            store.close()


ACTS = ["write", "meet", "cut off", "new host", "delete", "roll back", "copy", "back up", "put back", "forget"]


@examples(40)
@given(steps=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 2), st.integers(0, 3)), max_size=16))
def test_what_is_kept_of_the_hosts_is_what_a_full_read_finds(folder: Path, steps: list[tuple[str, int, int]]) -> None:
    """STORE-640, STORE-641"""
    devices = Devices(folder)
    try:
        for step in steps:
            devices.act(*step)
            for store in devices.stores:
                assert_right(store)
        for store in devices.stores:
            again = Store.open(store.file, store.schema, lambda: Host("f" * 16), detect="late")
            assert kept(again) == kept(store)
            again.close()
    finally:
        devices.close()


@examples(40)
@given(
    steps=st.lists(st.tuples(st.sampled_from([*ACTS, "learn", "learn"]), st.integers(0, 2), st.integers(0, 3))),
    behind=st.booleans(),
)
def test_sync_640_a_peer_that_is_compared_by_what_has_changed_lacks_what_it_lacks_by_all(
    folder: Path, steps: list[tuple[str, int, int]], behind: bool
) -> None:
    devices = Devices(folder)
    believed = [RemoteState({}, set(), {}, {}) for _ in devices.stores]
    try:
        for what, which, entity in steps:
            devices.act(what, which, entity)
            for store, remote in zip(devices.stores, believed, strict=True):
                with store.reading() as reader:
                    own = LocalState(reader)
                    assert remote.ahead(own) == RemoteState(remote.knowledge, set(), remote.ends, {}).ahead(own)
            if what == "learn":
                with devices.stores[which].reading() as reader:
                    own = LocalState(reader)
                    some = list(own.knowledge.items())[entity:]
                    believed[which].learns({host: counter - behind for host, counter in some})
                    believed[which].grows(dict(list(own.ends.items())[entity:]), {})
    finally:
        devices.close()


def test_another_process_may_change_the_hosts(tmp_path: Path) -> None:
    """STORE-641: and what was read before it is read no more."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "t1")
    meet(a, b)
    assert_right(b)
    same = Store.open(b.file, b.schema, lambda: Host("f" * 16), detect="late")
    put(a, "t2")
    send(a, same)
    for store in (b, same):
        assert_right(store)
    a.close()
    b.close()
    same.close()


def test_store_641_a_backup_that_was_put_back_and_has_moved_on_as_far(tmp_path: Path) -> None:
    """The moments have the same numbers, and the hosts are others."""
    a, b, c = (new_store(tmp_path, number) for number in (1, 2, 3))
    put(b, "t1")
    put(c, "t2")
    backup = tmp_path / "backup.sqlite"
    a.copy_to(backup)
    meet(a, b)
    assert_right(a)
    before = kept(a)
    target = apsw.Connection(str(a.file))
    source = apsw.Connection(str(backup))
    with target.backup("main", source, "main") as copying:
        copying.step()
    source.close()
    target.close()
    other = Store.open(a.file, a.schema, lambda: Host("f" * 16), detect="late")
    meet(other, c)
    assert_right(a)
    assert kept(a) != before
    for store in (a, b, c, other):
        store.close()


@pytest.mark.parametrize(
    "damage",
    [
        "update hosts set reach = 0",
        "update hosts set log_end = log_end + 1 where known > 0",
        "update hosts set value = zeroblob(16) where known > 0",
        "update hosts set mark = zeroblob(32) where known > 0",
        "update state set marks = zeroblob(32)",
        "update hosts set log_end = 0, value = x'', mark = x''",
    ],
)
def test_store_642_numbers_that_do_not_add_up_are_found_again(damage: str, tmp_path: Path) -> None:
    """STORE-20: `check` names it, and the store says and sends the same as before. Mending makes them again."""
    a, b, c = (new_store(tmp_path, number) for number in (1, 2, 3))
    put(a, "t1")
    meet(a, b)
    for number in range(3):
        put(a, f"u{number}")
    greet(a, b)
    send(a, b, abort_after=1)
    before = kept(b)
    assert before["held"]
    b.close()
    with apsw.Connection(str(b.file)) as connection:
        connection.execute(damage)
        assert connection.changes()
    connection.close()
    b = Store.open(b.file, b.schema, lambda: Host("f" * 16), detect="late")
    assert kept(b) == before
    with b.reading() as reader:
        assert any("hosts" in fault or "host" in fault for fault in broken_invariants(reader))
    with b.transaction(NOON, None) as tx:
        tx.recount()
    assert_right(b)
    assert kept(b) == before
    send(a, b)
    meet(b, c)
    assert digest_of(b) == digest_of(a) == digest_of(c)
    for store in (a, b, c):
        store.close()


def test_store_643_after_one_change_only_its_host_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with_chains(a, {Host(f"{number:016x}"): 3 for number in range(100, 140)})
    put(a, "t1")
    meet(a, b)
    kept(b)
    read: list[int] = []
    rows = known_hosts._rows

    def counted(*arguments: Any) -> Any:
        found = list(rows(*arguments))
        read.append(len(found))
        return found

    put(a, "t2")
    monkeypatch.setattr(known_hosts, "_rows", counted)
    send(a, b)
    kept(b)
    assert 0 < max(read) <= 1
    monkeypatch.undo()
    assert_right(b)
    a.close()
    b.close()
