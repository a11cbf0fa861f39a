"""The path by column and the path of a single version are one law: STORE-90, STORE-91.

Both get the same batches, one after the other, in transactions that are rolled back. Every table, what was unusual,
and every error must be the same.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.batches import HOSTS, IDS, REACH, TYPES, batches
from tests.support.stores import NOON, new_store, with_chains

from lottisync.entities import batch
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store.merge import Merge
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction
from lottisync.sync.agreement import Agreement
from lottisync.sync.incoming import Incoming, Unacceptable

BY_COLUMN, SINGLY = 0, 10**9
FEWER = settings(max_examples=settings().max_examples // 4, suppress_health_check=[HealthCheck.too_slow])


class RolledBackError(Exception):
    pass


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Store]]:
    """A store that has written nothing, and two that have."""
    found = []
    for number in range(3):
        store = new_store(tmp_path_factory.mktemp("batch"), number + 1)
        if number:
            with store.transaction(NOON, HIGH) as tx:
                tx.put("t0", "task", {"title": "Here", "taskId": "t1"})
                tx.put("t9", "task", {"title": "Also here"})
        found.append(store)
    for store in found:
        with_chains(store, dict.fromkeys(HOSTS, REACH))
    yield found
    for store in found:
        store.close()


def content(tx: Merge) -> dict[str, object]:
    """Every row of every table."""
    tx.finish()
    names = [
        name for (name,) in tx.local("select name from sqlite_master where type = 'table' and name not like '%fts%'")
    ]
    found: dict[str, object] = {name: sorted(map(repr, tx.local(f"select * from {name}"))) for name in names}
    return found | {"digest": tx.digest(), "host": tx.host, "counter": tx.counter, "ahead": tx.ahead}


def outcome(few: int, store: Store, act: Callable[[Any], object], precedence: int | None) -> object:
    """What `act` gives, or the error that it ends with, and all that the store holds then."""
    found: list[object] = []
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(RolledBackError):
        patch.setattr(batch, "FEW", few)
        with store.transaction(NOON, precedence) as tx:
            try:
                found.append(act(tx))
            except Exception as error:  # noqa: BLE001
                found.append((type(error), str(error), getattr(error, "code", None)))
            found.append(content(tx))
            raise RolledBackError
    return found


@FEWER
@given(which=st.integers(0, 2), rounds=st.lists(batches, min_size=1, max_size=3))
def test_store_90_what_is_joined_by_column_is_as_if_it_was_joined_one_by_one(
    stores: list[Store], which: int, rounds: list[list[Version]]
) -> None:
    """STORE-90: also where versions are hostile, of several hosts, in conflict, deleted, links, or here already."""
    store = stores[which]
    with store.reading() as reader:
        own = reader.host
    strange = HOSTS[2] if which == 1 else own

    def receive(tx: Merge) -> object:
        incoming = Incoming(
            m.Begin(1, "journal", {HOSTS[0]: 2}, {}, behind=False, count=1), Agreement("journal", store)
        )
        outcomes: list[object] = []
        for versions in rounds:
            try:
                taken = incoming.batch(tx, versions, lambda tx, hosts: strange if strange in hosts else None)
            except Unacceptable as error:
                outcomes.append((error.code, str(error)))
            else:
                outcomes.append((taken, incoming.arrived, sorted(incoming.held)))
        return outcomes

    assert outcome(BY_COLUMN, store, receive, None) == outcome(SINGLY, store, receive, None)


fields = st.dictionaries(
    st.sampled_from(["title", "createdAt", "taskId", "kind", "labels", "labels/x", "n", "deletedAt", "no path"]),
    st.sampled_from(["", "word", "t1", 1, 2**60, 1.0, 1.5, None, {"x": True}, {"x": 1, "y/z": "~"}, [1], "\ud800"]),
    max_size=4,
)
usual = st.fixed_dictionaries({"title": st.sampled_from(["a", "b"]), "taskId": st.sampled_from(["t1", "", 1, None])})
writes = st.tuples(st.sampled_from([*IDS, "-"]), st.sampled_from(TYPES), usual | fields)
imports = st.lists(st.tuples(st.sampled_from(IDS), st.just("entry"), usual), min_size=2, unique_by=lambda each: each[0])


@FEWER
@given(
    which=st.integers(0, 1),
    many=imports,
    odd=st.just([]) | st.lists(writes, max_size=2),
    precedence=st.sampled_from([None, LOW, HIGH]),
    transaction=st.sampled_from([HIGH, HIGH, LOW]),
)
def test_store_91_what_is_written_by_column_is_as_if_it_was_written_one_by_one(
    stores: list[Store],
    which: int,
    many: list[tuple[str, str, Mapping[str, Any]]],
    odd: list[tuple[str, str, Mapping[str, Any]]],
    precedence: int | None,
    transaction: int,
) -> None:
    """STORE-91: also where an id is there already, comes twice, or cannot be written."""

    def write(tx: Transaction) -> None:
        tx.put_all([*many, *odd], precedence=precedence)
        tx.put("t0", "task", {"title": "After it"})

    assert outcome(BY_COLUMN, stores[which], write, transaction) == outcome(SINGLY, stores[which], write, transaction)
