"""Names of hosts that the disk has damaged: STORE-82, REL-D7."""

from pathlib import Path

import apsw
import pytest
from tests.support.counted import NOON
from tests.support.stores import new_store, send

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store

DAMAGE = {"no text": "cast(x'61FF' || substr(host, 3) as text)", "a flipped bit": "'!' || substr(host, 2)"}


def damaged(store: Store, which: str, how: str) -> Store:
    """The store, closed, with the name of a host damaged, and opened again."""
    with store.reading() as reader:
        own = reader.host
    store.close()
    with apsw.Connection(str(store.file)) as connection:
        connection.execute(f"update hosts set host = {DAMAGE[how]} where (host = ?) = ?", (own, which == "own"))
        assert connection.changes() == 1
    connection.close()
    return Store.open(store.file, store.schema, lambda: own, detect="late")


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("which", ["own", "the other's"])
def test_rel_d7_a_damaged_name_of_a_host_is_found_again_in_the_clocks(which: str, how: str, tmp_path: Path) -> None:
    """STORE-82: and the store works as before."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for store, name in ((a, "x"), (b, "y")):
        for number in range(3):
            with store.transaction(NOON, HIGH) as tx:
                tx.put(f"{name}{number}", "task", {"title": "Milk"})
    send(b, a)
    with a.reading() as reader:
        before = reader.knowledge()
    a = damaged(a, which, how)
    with a.reading() as reader:
        assert reader.knowledge() == before
        assert broken_invariants(reader) == []
    with a.transaction(NOON, HIGH) as tx:
        tx.put("x9", "task", {"title": "Tea"})
    send(a, b)
    assert b.read("x9") is not None
    a.close()
    b.close()


@pytest.mark.parametrize("how", ["cast(x'FF00' as text)", "'aaaaaaaaaaaaaaaa'", "''"])
@pytest.mark.parametrize("writes", [0, 3])
def test_store_421_a_store_that_names_no_host_as_its_own_finds_it_again(how: str, writes: int, tmp_path: Path) -> None:
    """It was a traceback at the next write."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for store, count in ((a, writes), (b, 2)):
        for number in range(count):
            with store.transaction(NOON, HIGH) as tx:
                tx.put(f"{count}-{number}", "task", {"title": "Milk"})
    send(b, a)
    with a.reading() as reader:
        before = (reader.host, reader.knowledge())
    a.close()
    with apsw.Connection(str(a.file)) as connection:
        connection.execute(f"update state set host = {how}")
    connection.close()
    a = Store.open(a.file, a.schema, lambda: before[0], detect="late")
    with a.reading() as reader:
        assert (reader.host, reader.knowledge()) == before
        assert broken_invariants(reader) == []
    with a.transaction(NOON, HIGH) as tx:
        assert tx.put("x9", "task", {"title": "Tea"}).counter == writes + 1
    a.close()
    b.close()


@pytest.mark.parametrize("how", ["cast(x'FF00' as text)", "'zz'"])
def test_store_423_a_parent_that_is_no_host_is_taken_from_a_host_that_is_no_branch(how: str, tmp_path: Path) -> None:
    """`check` failed, and named itself as what helps."""
    a = new_store(tmp_path, 1)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("x", "task", {"title": "Tea"})
    a.close()
    with apsw.Connection(str(a.file)) as connection:
        connection.execute(f"update hosts set parent = {how}")
    connection.close()
    a = Store.open(a.file, a.schema, lambda: Host("c" * 16), detect="late")
    with a.reading() as reader:
        assert broken_invariants(reader) == []
    a.close()


def test_store_422_a_store_whose_own_host_cannot_be_found_says_so(tmp_path: Path) -> None:
    """Two hosts of which nothing was written fit alike."""
    a = new_store(tmp_path, 1)
    a.close()
    with apsw.Connection(str(a.file)) as connection:
        connection.execute("insert into hosts(host) values ('bbbbbbbbbbbbbbbb'); update state set host = 'x'")
    connection.close()
    a = Store.open(a.file, a.schema, lambda: Host("c" * 16), detect="late")
    with pytest.raises(Problem, match="does not say which host is its own") as refused, a.transaction(NOON, HIGH):
        pass
    assert refused.value.code == "damaged"
    a.close()


def test_store_82_the_own_name_is_found_where_nothing_was_written_yet(tmp_path: Path) -> None:
    a = damaged(new_store(tmp_path, 1), "own", "no text")
    with a.transaction(NOON, HIGH) as tx:
        tx.put("x", "task", {"title": "Tea"})
    with a.reading() as reader:
        assert broken_invariants(reader) == []
    a.close()
