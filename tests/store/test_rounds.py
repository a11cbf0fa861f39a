"""What comes from peers: what a store lacks, and equal knowledge that means equal content."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.tasks_in_a_store import digest, knowledge, put, sound
from tests.support.examples import examples
from tests.support.faults import FAULTS, GOOD
from tests.support.reference import Reference
from tests.support.stores import NOON, dump, every_version, lacking, minting, new_store, send
from tests.support.strategies import HOSTS, PATHS, one_write, values

from lottisync.causality.vector_clock import Host
from lottisync.device.space import HOST_BINDING, MEMBERSHIP, SPACE
from lottisync.entities.entity import HIGH, LOW, Entity, EqualDots, is_deleted
from lottisync.entities.registers import Registers
from lottisync.entities.schema import EntityType, schema
from lottisync.entities.version import BadVersion, close, open_foreign
from lottisync.journal.types import JOURNAL
from lottisync.store import lookups
from lottisync.store.store import Store

# -- what comes from peers


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_version_changes_nothing(tmp_path: Path, fault: str) -> None:
    """ENT-10, STORE-4: also not the good one before it in the same transaction."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)
    other = msgspec.structs.replace(GOOD, id="t9")
    with pytest.raises(BadVersion), store.transaction(NOON, HIGH) as tx:
        tx.apply((version, open_foreign(version)) for version in (other, FAULTS[fault]))
    assert dump(store) == before


def test_one_dot_with_two_meanings_changes_nothing(tmp_path: Path) -> None:
    """MERGE-8"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    send(one, two)
    forged = Entity(
        "t1",
        "task",
        {Host("0000000100000001"): 1},
        Registers.of({"title": (one_write("y", host=Host("0000000100000001")),)}),
    )
    before = dump(two)
    with pytest.raises(EqualDots), two.transaction(NOON, HIGH) as tx:
        tx.apply([(close(forged), forged)])
    assert dump(two) == before


def test_a_type_that_changed_changes_nothing(tmp_path: Path) -> None:
    """MERGE-10: it goes to quarantine, and the entity stays what it is."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = dump(store)["rows"]
    other = Entity("t1", "note", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x"),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(other), other)])
        assert [kept.version for kept in tx.quarantined()] == [close(other)]
    assert dump(store)["rows"] == before


def test_joining_is_not_a_write(tmp_path: Path) -> None:
    """MERGE-3: no counter, no knowledge; and the same again changes nothing at all."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    versions, _, _ = lacking(one, two)
    for expected in (1, 0):
        with two.transaction(NOON, HIGH) as tx:
            assert tx.apply((version, open_foreign(version)) for version in versions) == expected
            assert (tx.counter, tx.knowledge()) == (0, {})
            assert tx.changed is bool(expected)


def test_a_reading_of_after_9999_is_stored_and_not_followed(tmp_path: Path) -> None:
    """CAUS-9, CAUS-12, ENT-142"""
    store = new_store(tmp_path)
    far = Entity("t1", "task", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x", millis=2**48 - 1),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(far), far)])
    put(store, "t2", title="y")
    entity = store.read("t2")
    assert entity is not None
    won = entity.winner("title")
    assert won is not None
    assert won.stamp.hlc == (NOON, 0)
    with store.reading() as reader:
        assert [e.id for e in reader.by_type("task")] == ["t2", "t1"]


def test_a_reading_that_is_a_little_ahead_is_followed(tmp_path: Path) -> None:
    """CAUS-8: a write made after seeing another is after it for people, too."""
    store = new_store(tmp_path)
    ahead = Entity("t1", "task", {HOSTS[0]: 1}, Registers.of({"title": (one_write("x", millis=NOON + 1_000),)}))
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(ahead), ahead)])
    put(store, "t1", title="y")
    entity = store.read("t1")
    assert entity is not None
    won = entity.winner("title")
    assert won is not None
    assert won.stamp.hlc == (NOON + 1_000, 1)


NEWER = schema(
    "journal", [EntityType("task", subtype="status"), EntityType("mood", owner="taskId")], owner_column="task_id"
)
PLAIN = schema("journal", [EntityType("task", subtype="status")], owner_column="task_id")


def test_what_a_store_has_never_heard_of_survives_a_trip_through_it(tmp_path: Path) -> None:
    """ENT-11, MERGE-11, S3-28: unknown types, unknown fields, and an edit of another field there. To the byte."""
    newer, plain, third = (new_store(tmp_path, n, s) for n, s in ((1, NEWER), (2, PLAIN), (3, NEWER)))
    odd = {"weather": {"sky": [1.5, {"deep": ["é", None]}], "wind/1": "~"}, "title": "x"}
    with newer.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", odd)
        tx.put("m1", "mood", {"taskId": "t1", "level": 3})
    send(newer, plain)
    with plain.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "edited"})
    send(plain, third)
    mine, theirs = newer.read("t1"), third.read("t1")
    assert mine is not None
    assert theirs is not None
    assert {"weather/sky", "weather/wind~11", "title"} == mine.registers.keys()
    for path in mine.registers:
        if path != "title":
            assert theirs.registers[path] == mine.registers[path]
    assert theirs.value("title") == "edited"
    with newer.reading() as a, plain.reading() as b, third.reading() as c:
        assert a.version("m1") == b.version("m1") == c.version("m1")
        assert {e.id for e in c.owned_by("t1")} == {"t1", "m1"}
        assert b.by_type("mood")[0].value("level") == 3


# -- rounds


def test_only_what_a_peer_lacks_is_sent(tmp_path: Path) -> None:
    """STORE-7"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for ident in ("t1", "t2", "t3"):
        put(one, ident, title="x")
    assert send(one, two) == ["t1", "t2", "t3"]
    assert send(one, two) == []
    put(one, "t2", title="y")
    assert send(one, two) == ["t2"]
    assert send(two, one) == []


def test_knowledge_is_taken_over_only_when_all_is_in(tmp_path: Path) -> None:
    """STORE-8, CAUS-15: what was cut off is held beyond the knowledge and not sent twice."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for ident in ("t1", "t2", "t3"):
        put(one, ident, title="x")
    assert send(one, two, abort_after=2) == ["t1", "t2"]
    host = Host("0000000100000001")
    assert knowledge(two) == {}
    with two.reading() as reader:
        assert lookups.held_beyond(reader) == [(host, 1, "t1"), (host, 2, "t2")]
    assert send(one, two) == ["t3"]
    assert knowledge(two) == {host: 3}
    with two.reading() as reader:
        assert lookups.held_beyond(reader) == []


def test_what_changed_since_a_round_was_cut_off_is_sent_again(tmp_path: Path) -> None:
    """STORE-7"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(one, "t1", title="x")
    put(one, "t2", title="x")
    send(one, two, abort_after=1)
    put(one, "t1", title="y")
    assert send(one, two) == ["t1", "t2"]
    assert two.read("t1") == one.read("t1")


def test_a_snapshot_stays_what_it_was(tmp_path: Path) -> None:
    """STORE-13: knowledge and rows are of one moment, whatever is written meanwhile."""
    one = new_store(tmp_path, 1)
    put(one, "t1", title="x")
    snapshot = one.snapshot()
    put(one, "t1", title="y")
    put(one, "t2", title="z")
    host = Host("0000000100000001")
    assert snapshot.knowledge() == {host: 1}
    (version,) = snapshot.versions(snapshot.lacking({}, []))
    assert (version.id, version.read_clock()) == ("t1", {host: 1})
    snapshot.close()


def test_a_read_transaction_belongs_to_one_moment(tmp_path: Path) -> None:
    """STORE-13"""
    one = new_store(tmp_path, 1)
    other = Store.open(one.file, JOURNAL, minting(2))
    with one.reading() as reader:
        assert reader.count() == 0
        put(other, "t1", title="x")
        assert reader.count() == 0
        assert reader.knowledge() == {}
    assert one.read("t1") is not None
    other.close()


def test_leading_types_are_sent_first(tmp_path: Path) -> None:
    """STORE-7: data never arrives before the host that wrote it is known."""
    one, two = new_store(tmp_path, 1, SPACE), new_store(tmp_path, 2, SPACE)
    with one.transaction(NOON, HIGH) as tx:
        tx.put("s1", "setting", {"value": 1})
        tx.put("m-1", MEMBERSHIP, {"kind": "added"})
        tx.put("s2", "setting", {"value": 1})
        tx.put("host-1", HOST_BINDING, {"store": "journal"})
    assert send(one, two) == ["m-1", "host-1", "s1", "s2"]


class Move(NamedTuple):
    """`does`: put, delete, undelete or round; a round goes from `store` to `other`."""

    does: str
    store: int
    other: int
    entity: str
    paths: frozenset[str]
    value: Any
    precedence: int
    skew: int
    cut: int | None


moves = st.builds(
    Move,
    does=st.sampled_from(["put", "put", "put", "delete", "undelete", "round", "round", "round"]),
    store=st.integers(0, 2),
    other=st.integers(0, 2),
    entity=st.sampled_from(["t1", "t2"]),
    paths=st.frozensets(st.sampled_from(PATHS), min_size=1),
    value=values,
    precedence=st.sampled_from([LOW, HIGH]),
    skew=st.integers(-3, 3),
    cut=st.none() | st.none() | st.integers(0, 2),
)


def carry_out(move: Move, stores: list[Store], reference: Reference) -> None:
    store, now = stores[move.store], NOON + move.skew
    place = (move.store, move.entity)
    before = store.read(move.entity)
    if move.does == "round":
        other = stores[move.other]
        if other is not store:
            for ident in send(store, other, abort_after=move.cut, now=now):
                reference.took((move.other, ident), reference.at((move.store, ident)))
        return
    if move.does != "put" and before is None:
        return
    with store.transaction(now, HIGH) as tx:
        if move.does == "put":
            dot = tx.put(move.entity, "task", dict.fromkeys(move.paths, move.value), precedence=move.precedence)
        elif move.does == "delete":
            dot = tx.delete(move.entity, precedence=move.precedence)
        else:
            dot = tx.undelete(move.entity, precedence=move.precedence)
    after = store.read(move.entity)
    assert after is not None
    new = {path: held for path, writes in after.registers.items() for held in writes if held.stamp.dot == dot}
    stamp = next(iter(new.values())).stamp
    assert all(held.stamp == stamp for held in new.values())
    reference.wrote(place, {p: held.value for p, held in new.items()}, stamp, deletes=move.does == "delete")


@given(st.lists(moves, max_size=25))
@examples(60)
def test_stores_that_know_the_same_are_the_same(history: list[Move]) -> None:
    """C-01, STORE-6, STORE-8, MERGE-2: real stores, random order, rounds that are cut off; against the reference."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [new_store(Path(folder), number) for number in range(3)]
        reference = Reference()
        for move in history:
            carry_out(move, stores, reference)
            _equal_knowledge_means_equal_content(stores)
        for sender, receiver in [(0, 1), (1, 2), (2, 1), (1, 0)]:
            for ident in send(stores[sender], stores[receiver]):
                reference.took((receiver, ident), reference.at((sender, ident)))
        assert len({digest(store) for store in stores}) == 1
        assert len({tuple(every_version(store)) for store in stores}) == 1
        for number, store in enumerate(stores):
            sound(store)
            for ident in ("t1", "t2"):
                entity = store.read(ident)
                assert (dict(entity.registers) if entity else {}) == reference.registers((number, ident))
                if entity:
                    assert is_deleted(entity) == reference.deleted((number, ident))
            store.close()


def _equal_knowledge_means_equal_content(stores: list[Store]) -> None:
    known: dict[str, bytes] = {}
    for store in stores:
        with store.reading() as reader:
            state = repr((reader.knowledge(), lookups.held_beyond(reader)))
            assert known.setdefault(state, reader.digest()) == reader.digest()


def test_a_clean_tombstone_leaves_the_digest(tmp_path: Path) -> None:
    """STORE-6: so that purging it, whenever a device does, changes nothing."""
    store = new_store(tmp_path)
    put(store, "t1", title="x")
    before = digest(store)
    put(store, "t2", title="y")
    assert digest(store) != before
    with store.transaction(NOON, HIGH) as tx:
        tx.delete("t2")
    assert digest(store) == before
    sound(store)


def test_the_digest_to_the_byte(tmp_path: Path) -> None:
    """STORE-6: the sum of the hashes modulo 2^256, big-endian."""
    store = new_store(tmp_path)
    for number in range(9):
        put(store, f"t{number}", title="x")
    hashes = [int.from_bytes(version.hash(), "big") for version in every_version(store)]
    assert sum(hashes) > 2**256
    assert digest(store) == (sum(hashes) % 2**256).to_bytes(32, "big")
