"""Names of hosts that the disk has damaged: STORE-82, REL-D7."""

from pathlib import Path

import apsw
import pytest
from tests.support.counted import NOON
from tests.support.stores import new_store, part_beyond, send

from lottisync.causality.chain import VALUE_BYTES, ChainPart, branch_name, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.store import chain, fork
from lottisync.store.check import broken_invariants
from lottisync.store.peer_chain import BadChain, extend
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
def test_store_423_a_parent_that_is_not_a_host_is_taken_from_a_host_that_is_not_a_branch(
    how: str, tmp_path: Path
) -> None:
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


class Branched:
    """A store with a branch of `OLD`, whose parent the disk damages. With `twins`, a second one could be it."""

    OLD, TWIN = Host("5" * 16), Host("6" * 16)
    BRANCH = branch_name(bytes([9]) * VALUE_BYTES)

    def __init__(self, folder: Path, how: str, *, twins: bool = False) -> None:
        store = new_store(folder, 1)
        node, other = bytes([1]) * VALUE_BYTES, bytes([2]) * VALUE_BYTES
        with store.transaction(NOON, HIGH) as tx:
            assert extend(tx, ChainPart(self.OLD, "", 1, genesis(self.OLD), node)) is None
            assert extend(tx, ChainPart(self.TWIN, "", 1, genesis(self.TWIN), other)) is None
            assert fork.split(tx, [node, *[other] * twins])
            self.whole = ChainPart(self.BRANCH, self.OLD, 2, node, bytes([9]) * VALUE_BYTES)
            assert extend(tx, self.whole) is None
        store.close()
        with apsw.Connection(str(store.file)) as connection:
            connection.execute(f"update hosts set parent = {how} where host = ?", (self.BRANCH,))
            assert connection.changes() == 1
        connection.close()
        self.store = Store.open(store.file, store.schema, lambda: Host("c" * 16), detect="late")

    def parent(self) -> str | None:
        with self.store.reading() as reader:
            log = chain.log_of(reader, self.BRANCH)
        return log.parent if log else None

    def faults(self) -> list[str]:
        with self.store.reading() as reader:
            return [*broken_invariants(reader)]


HOW = ["cast(x'FF00' as text)", "'zz'", "''", "'5555555555555557'"]


@pytest.mark.parametrize("how", HOW)
def test_store_670_the_parent_of_a_branch_is_found_again_by_the_node(how: str, tmp_path: Path) -> None:
    """STORE-670: before, `check` failed for ever, the branch belonged to no device, and sending it raised."""
    branched = Branched(tmp_path, how)
    assert branched.parent() == Branched.OLD
    assert branched.faults() == []
    branched.store.close()


@pytest.mark.parametrize("how", HOW)
def test_store_671_a_parent_that_can_be_two_is_taken_from_another_device(how: str, tmp_path: Path) -> None:
    """STORE-671, STORE-672: which of them it is stands in the parts of the chain that travel."""
    branched = Branched(tmp_path, how, twins=True)
    store, more = branched.store, bytes([10]) * VALUE_BYTES
    assert [text for text in branched.faults() if Branched.BRANCH in text]
    with pytest.raises(Problem) as refused, store.reading() as reader:
        part_beyond(reader, Branched.BRANCH, 0, 1)
    assert refused.value.code == "damaged"
    assert "Restore it from a backup, or pair this device again" in str(refused.value)
    news = branched.whole._replace(first=3, before=branched.whole.values, values=more)
    stranger = Host("7" * 16)
    with pytest.raises(BadChain), store.transaction(NOON, HIGH) as tx:
        extend(tx, news._replace(parent=stranger))
    with store.transaction(NOON, HIGH) as tx:
        assert extend(tx, news) is None
    assert branched.parent() == Branched.OLD
    assert branched.faults() == []
    store.close()


def test_store_670_which_of_two_parents_it_is_shows_in_the_clocks(tmp_path: Path) -> None:
    """STORE-670: an entity that knows the branch knows its parent."""
    a = new_store(tmp_path, 1)
    for number in range(2):
        with a.transaction(NOON, HIGH) as tx:
            tx.put(f"x{number}", "task", {"title": "Tea"})
    with a.transaction(NOON, HIGH) as tx:
        twin = bytes([2]) * VALUE_BYTES
        assert extend(tx, ChainPart(Branched.TWIN, "", 1, genesis(Branched.TWIN), twin)) is None
        node = chain.value_at(tx, tx.host, 1)
        assert node is not None
        assert fork.split(tx, [node, twin])
    with a.transaction(NOON, HIGH) as tx:
        tx.put("x1", "task", {"title": "Coffee"})
        before = chain.logs(tx)
    a.close()
    with apsw.Connection(str(a.file)) as connection:
        connection.execute("update hosts set parent = 'zz' where parent <> ''")
        assert connection.changes() == 1
    connection.close()
    a = Store.open(a.file, a.schema, lambda: Host("c" * 16), detect="late")
    with a.reading() as reader:
        assert chain.logs(reader) == before
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
