"""The range comparison finds what differs, all of it and nothing else: MEND-1 to MEND-3."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import sqlite
from tests.support.comparison import compare, compare_stores
from tests.support.examples import examples
from tests.support.stores import NOON, lacking, new_store, true_digest

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.entities.version import open_foreign
from lottisync.store.fingerprint import BYTES, DEPTH, FAN, FEW, Fingerprints, Subtree, checked, differing, digits
from lottisync.store.forgetting import entity_key
from lottisync.store.store import Store

A = Host("a" * 16)


def filled(folder: Path, number: int, count: int) -> Store:
    """A store of `count` tasks; two with the same count hold the same."""
    store = new_store(folder, number)
    with store.transaction(NOON, HIGH) as tx:
        for at in range(count):
            tx.put(f"t{at}", "task", {"title": str(at)})
    return store


def copy(sender: Store, receiver: Store) -> None:
    """A round in one transaction."""
    versions, knowledge, _ = lacking(sender, receiver)
    with receiver.transaction(NOON, HIGH) as tx:
        tx.apply([(version, open_foreign(version)) for version in versions])
        tx.adopt(knowledge)


def tamper(store: Store, *ids: str, title: str = "Wine") -> None:
    for entity_id in ids:
        sqlite.connection(store).execute(
            "update journal_entities set serialized = ? where id = ?", (f'{{"title":"{title}"}}', entity_id)
        ).fetchall()


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 5_000])
def test_mend_1_stores_that_hold_the_same_end_at_once(tmp_path: Path, count: int) -> None:
    a = filled(tmp_path, 1, count)
    b = new_store(tmp_path, 2)
    copy(a, b)
    found = compare_stores(a, b)
    assert (found.ids, found.messages) == (set(), 1)
    with a.reading() as reader:
        tree = Fingerprints(reader)
    assert int.from_bytes(tree.total, "big") == int.from_bytes(true_digest(a), "big") % 2 ** (8 * BYTES)
    assert tree.count(b"") == count


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 5_000])
def test_mend_1_what_differs_is_found_whatever_is_stored_beside_it(tmp_path: Path, count: int) -> None:
    """A changed row whose stored hash is the old one: the digests of both are equal still."""
    a, b = filled(tmp_path, 1, count), new_store(tmp_path, 2)
    copy(a, b)
    tamper(b, "t0")
    found = compare_stores(a, b)
    assert found.ids == {"t0"}
    assert found.messages <= 8
    assert found.size <= 4_096
    with b.reading() as reader:
        assert Fingerprints(reader).damaged == ["t0"]


def test_mend_2_the_bounds_hold_where_a_tree_is_full(tmp_path: Path) -> None:
    """A million entities have 31 below a node of the third level; so have these, below one of the first two."""
    a, b = filled(tmp_path, 1, 32 * 31), new_store(tmp_path, 2)
    copy(a, b)
    for entity_id in ("t1", "t500", "t991"):
        tamper(b, entity_id)
        assert compare_stores(a, b).size < 4_096
        tamper(b, entity_id, title=entity_id[1:])


def test_mend_2_a_subtree_that_one_side_lacks(tmp_path: Path) -> None:
    a, b = filled(tmp_path, 1, 2_000), new_store(tmp_path, 2)
    assert compare_stores(a, b).ids == {f"t{at}" for at in range(2_000)}
    assert compare_stores(b, a).ids == {f"t{at}" for at in range(2_000)}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    folder = tmp_path_factory.mktemp("fingerprint")
    a, b = filled(folder, 1, 1_500), new_store(folder, 2)
    copy(a, b)
    return a, b


@examples(25)
@given(
    here=st.sets(st.integers(0, 1_499), max_size=20),
    there=st.sets(st.integers(0, 1_499), max_size=20),
    lost=st.sets(st.integers(0, 1_499), max_size=20),
)
def test_mend_1_exactly_the_entities_that_differ(
    here: set[int], there: set[int], lost: set[int], base: tuple[Store, Store]
) -> None:
    a, b = base
    for store in base:
        sqlite.connection(store).execute("savepoint tampering").fetchall()
    try:
        tamper(a, *(f"t{at}" for at in here))
        tamper(b, *(f"t{at}" for at in there))
        for at in lost:
            sqlite.connection(b).execute("delete from journal_entities where id = ?", (f"t{at}",)).fetchall()
        expected = {f"t{at}" for at in (here ^ there) | lost}
        assert compare_stores(a, b).ids == expected
        assert compare_stores(b, a).ids == expected
    finally:
        for store in base:
            sqlite.connection(store).execute("rollback to tampering; release tampering").fetchall()


def test_mend_1_tombstones_do_not_count_and_quarantine_does(tmp_path: Path) -> None:
    from tests.store.test_quarantine import LAX, bad

    strict, lax = new_store(tmp_path, 1), new_store(tmp_path, 2, LAX)
    version = bad({A: 1})
    for store in (strict, lax):
        with store.transaction(NOON, HIGH) as tx:
            tx.apply([(version, open_foreign(version))])
    with strict.transaction(NOON, HIGH) as tx:
        tx.put("gone", "task", {"title": "x"})
        tx.delete("gone")
    assert compare_stores(strict, lax).ids == set()
    with strict.reading() as reader:
        tree = Fingerprints(reader)
        assert [entity_id for entity_id, _ in tree.items(b"")] == [version.id]
        assert tree.total == reader.digest()[-BYTES:]


def test_mend_1_a_mark_that_hides_a_row_is_seen_through(tmp_path: Path) -> None:
    a, b = filled(tmp_path, 1, 5), new_store(tmp_path, 2)
    copy(a, b)
    sqlite.connection(b).execute("update journal_entities set clean_tombstone = 1 where id = 't3'").fetchall()
    assert compare_stores(a, b).ids == set()
    with b.reading() as reader:
        assert Fingerprints(reader).damaged == ["t3"]


def test_mend_1_what_is_not_text_any_more_is_looked_at(tmp_path: Path) -> None:
    a, b = filled(tmp_path, 1, 5), new_store(tmp_path, 2)
    copy(a, b)
    sqlite.connection(b).execute(
        "update journal_entities set serialized = cast(x'7b22ff227d' as text) where id = 't3'"
    ).fetchall()
    assert compare_stores(a, b).ids == {"t3"}


def test_mend_1_progress_counts_entities(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with filled(tmp_path, 1, 2_500).reading() as reader:
        Fingerprints(reader, lambda done, of: seen.append((done, of)))
    assert seen == [(1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]


@given(st.text(min_size=1, max_size=40))
def test_mend_1_the_way_to_an_entity_is_its_key(entity_id: str) -> None:
    key = int.from_bytes(entity_key(entity_id), "big")
    at = 0
    for digit in digits(entity_id):
        at = at * FAN + digit
    assert at == key >> 4


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (Subtree(bytes(DEPTH + 1), None, []), "a prefix"),
        (Subtree(b"\x20", None, []), "a prefix"),
        (Subtree(b"", None, None), "either"),
        (Subtree(b"", [bytes(BYTES)] * FAN, []), "either"),
        (Subtree(b"", [bytes(BYTES)] * (FAN - 1), None), "fingerprints"),
        (Subtree(b"", [bytes(BYTES - 1)] * FAN, None), "fingerprints"),
        (Subtree(bytes(DEPTH), [bytes(BYTES)] * FAN, None), "fingerprints"),
        (Subtree(b"", None, [("t1", b"1234567")]), "its hash"),
    ],
)
def test_mend_3_a_node_that_is_not_valid_is_refused(tmp_path: Path, node: Subtree, why: str) -> None:
    with new_store(tmp_path).reading() as reader, pytest.raises(ValueError, match=why):
        differing(Fingerprints(reader), [node])


def test_mend_3_a_peer_that_lies_is_answered_no_more_often_than_the_tree_is_deep(tmp_path: Path) -> None:
    """It claims at every level that all entities differ."""
    with filled(tmp_path, 1, 3).reading() as reader:
        tree = Fingerprints(reader)
        prefix, turns = b"", 0
        while True:
            answers, _ = differing(tree, [checked(Subtree(prefix, [b"\xff" * BYTES] * FAN, None))])
            turns += 1
            assert len(answers) == FAN
            prefix = answers[-1].prefix
            if len(prefix) == DEPTH:
                break
        assert all(answer.items is not None for answer in answers)
        assert turns == DEPTH
        assert compare(tree, tree).messages == 1
