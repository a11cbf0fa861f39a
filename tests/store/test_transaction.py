"""What a write keeps in step beside its row: the chain and the history (STORE-15, STORE-16)."""

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import pytest
from tests.support.stores import NOON, digest_of, lacking, new_store, part_beyond, send

from lottisync.causality.chain import genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, path
from lottisync.entities.entity import HIGH, is_deleted
from lottisync.entities.schema import link_id
from lottisync.entities.version import MAX_DOCUMENT, open_foreign
from lottisync.problem import Problem
from lottisync.store import lookups
from lottisync.store.chain import value_at
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store
from lottisync.store.write_buffer import GATHERED_ROWS, HISTORY_PER_FIELD


def test_the_chain_to_the_byte(tmp_path: Path) -> None:
    """STORE-15"""
    store = new_store(tmp_path)
    values = []
    for number in range(3):
        with store.transaction(NOON, HIGH) as tx:
            tx.put(f"t{number}", "task", {"title": "x"})
            tx.put("t0", "task", {"title": f"{number}"})
    with store.reading() as reader:
        host = reader.host
        values = [value_at(reader, host, counter) for counter in range(1, 7)]
        hashes = [bytes(h) for (h,) in reader.local("select hash from rows order by n")]
    assert None not in values
    start = hashlib.sha256(b"lottisync/chain/1\x00" + host.encode()).digest()[:16]
    assert genesis(host) == start
    assert all(value is not None and len(value) == 16 for value in values)
    assert len(set(values)) == 6
    # The last write made the version of t0 that is there now.
    assert values[5] == hashlib.sha256((values[4] or b"") + hashes[0]).digest()[:16]


def test_the_chain_goes_on_where_another_process_left_it(tmp_path: Path) -> None:
    """STORE-15: it does not matter how writes are spread over transactions."""
    (tmp_path / "other").mkdir()
    one, many = new_store(tmp_path), new_store(tmp_path / "other")
    with one.transaction(NOON, HIGH) as tx:
        tx.put("a", "task", {"title": "x"})
        tx.put("b", "task", {"title": "y"})
    for ident, title in (("a", "x"), ("b", "y")):
        with many.transaction(NOON, HIGH) as tx:
            tx.put(ident, "task", {"title": title})
    assert _chain(one) == _chain(many)
    assert len(_chain(one)) == 2


def _chain(store: Store) -> list[bytes]:
    with store.reading() as reader:
        links = part_beyond(reader, reader.host, 0, 100)
    return [links.values[at : at + 16] for at in range(0, len(links.values), 16)] if links else []


def test_a_rolled_back_transaction_leaves_no_link(tmp_path: Path) -> None:
    """STORE-15"""
    store = new_store(tmp_path)
    with contextlib.suppress(RuntimeError), store.transaction(NOON, HIGH) as tx:
        tx.put("a", "task", {"title": "x"})
        raise RuntimeError
    assert _chain(store) == []


def test_what_was_overwritten_is_kept_with_who_wrote_it(tmp_path: Path) -> None:
    """STORE-16"""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        first = tx.put("t", "task", {"title": "one", "priority": "P1"}, precedence=0)
    with store.transaction(NOON + 1000, HIGH) as tx:
        second = tx.put("t", "task", {"title": "two"})
    with store.reading() as reader:
        [kept] = reader.overwritten("t")
    assert (kept.path, canonical.decode(kept.value), kept.precedence) == ("title", "one", 0)
    assert (kept.host, kept.counter, kept.millis) == (*first, NOON)
    assert (kept.by_host, kept.by_counter) == second


def test_what_a_join_takes_out_is_kept_too_and_changes_no_digest(tmp_path: Path) -> None:
    """STORE-16, STORE-68: on the device where it happened; the digests are equal all the same."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "one"})
    send(a, b)
    with a.transaction(NOON + 5, HIGH) as tx:
        tx.put("t", "task", {"title": "two"})
    send(a, b)
    with b.reading() as reader:
        assert [canonical.decode(kept.value) for kept in reader.overwritten("t")] == ["one"]
    assert digest_of(a) == digest_of(b)


def test_a_sibling_is_not_history_until_it_is_overwritten(tmp_path: Path) -> None:
    """STORE-16"""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for store, title in ((a, "mine"), (b, "yours")):
        with store.transaction(NOON, HIGH) as tx:
            tx.put("t", "task", {"title": title})
    send(a, b)
    with b.reading() as reader:
        assert reader.overwritten("t") == []
    with b.transaction(NOON + 9, HIGH) as tx:
        tx.put("t", "task", {"title": "ours"})
    with b.reading() as reader:
        assert {canonical.decode(kept.value) for kept in reader.overwritten("t")} == {"mine", "yours"}


def test_the_oldest_of_too_many_go_first(tmp_path: Path) -> None:
    """STORE-16"""
    store = new_store(tmp_path)
    for number in range(HISTORY_PER_FIELD + 5):
        with store.transaction(NOON + number, HIGH) as tx:
            tx.put("t", "task", {"title": str(number), "estimate": 1 if number else 2})
    with store.reading() as reader:
        titles = [canonical.decode(k.value) for k in reader.overwritten("t") if k.path == "title"]
    assert titles == [str(number) for number in range(4, HISTORY_PER_FIELD + 4)]


def test_rows_that_were_gathered_are_seen_by_every_read(tmp_path: Path) -> None:
    """STORE-13: also within the transaction that has not inserted them yet."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x", "status": "OPEN"})
        assert [e.id for e in tx.by_type("task")] == ["t1"]
        tx.put("t2", "task", {"title": "y"})
        tx.put("t2", "task", {"title": "z"})
        assert tx.count() == 2
        with store.reading() as reader:
            assert reader.entity("t2") is not None
        tx.put("t3", "task", {"title": "w"})
        tx.delete("t3")
        assert [e.id for e in tx.by_type("task")] == ["t1", "t2"]
        assert tx.knowledge() == {tx.host: 5}
    with store.reading() as reader:
        assert reader.counter == 5
        assert {Host(host) for (host,) in reader.local("select host from hosts")} == {reader.host}


def test_the_index_of_a_row_that_was_joined_is_seen_at_once(tmp_path: Path) -> None:
    """STORE-13: a component of a row that was there already is gathered without a row."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"})
    send(a, b)
    with b.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "y"})
    versions, _, _ = lacking(b, a)
    with a.transaction(NOON, HIGH) as tx:
        tx.apply((version, open_foreign(version)) for version in versions)
        assert [entity for _, _, entity in lookups.held_beyond(tx)] == ["t"]


def test_a_stale_live_version_does_not_revive_a_tombstone(tmp_path: Path) -> None:
    """MERGE-7, STORE-8: a tombstone is a version like any other, compared by its clock."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"})
    stale, _, _ = lacking(a, b)
    send(a, b)
    with b.transaction(NOON + 1, HIGH) as tx:
        tx.delete("t")
    before = digest_of(b)
    with b.transaction(NOON + 2, HIGH) as tx:
        assert tx.apply([(version, open_foreign(version)) for version in stale]) == 0
        assert tx.by_type("task") == []
    assert digest_of(b) == before


def test_what_a_local_write_may_make_is_smaller_than_what_is_taken(tmp_path: Path) -> None:
    """STORE-23: two devices may each write the largest document there is; what they join to is kept."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"})
    send(a, b)
    for store, letter in ((a, "a"), (b, "b")):
        with store.transaction(NOON + 1, HIGH) as tx:
            tx.put("t", "task", {"title": letter * (MAX_DOCUMENT - 100)})
        with pytest.raises(Problem, match="a document may have"), store.transaction(NOON + 2, HIGH) as tx:
            tx.put("t", "task", {"note": "x" * 200})
    send(a, b)
    send(b, a)
    assert digest_of(a) == digest_of(b)
    entity = b.read("t")
    assert entity is not None
    assert len(entity.registers["title"]) == 2


def test_many_written_together_are_as_if_written_one_by_one(tmp_path: Path) -> None:
    """STORE-3: which of them are there already is looked up for all at once."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    together, singly = new_store(tmp_path / "a"), new_store(tmp_path / "b")
    many: list[tuple[str, str, dict[str, Any]]] = [
        ("t1", "task", {"title": "Over what is there"}),
        *((f"n{number}", "task", {"title": str(number)}) for number in range(GATHERED_ROWS)),
        ("n5", "task", {"title": "Twice"}),
        ("n6", "task", {"deletedAt": None}),
        ("l1", "label", {"name": "Garden"}),
    ]
    for store in (together, singly):
        with store.transaction(NOON, HIGH) as tx:
            tx.put("t1", "task", {"title": "There"})
    with together.transaction(NOON + 1, HIGH) as tx:
        tx.put_all(many)
    with singly.transaction(NOON + 1, HIGH) as tx:
        for entity_id, type_name, fields in many:
            tx.put(entity_id, type_name, fields)
    with together.reading() as one, singly.reading() as other:
        assert one.change_token() == other.change_token()
        assert one.counter == len(many) + 1
        assert broken_invariants(one) == []
    with pytest.raises(Problem, match="cannot be written"), together.transaction(NOON, HIGH) as tx:
        tx.put_all([("n1", "task", {"title": "x"}), ("\udcff", "task", {"title": "x"})])


def test_a_write_that_is_refused_takes_nothing(tmp_path: Path) -> None:
    """STORE-12, STORE-15: also when the transaction goes on, no counter is left without its link in the chain."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        link = tx.link("entryLink", "t", "u")
        for entity_id, type_name, fields in (
            ("t", "task", {"title": "x" * MAX_DOCUMENT}),
            ("strange", "entryLink", {"fromId": "t", "toId": "u"}),
            (link_id("entryLink", "t", "u"), "entryLink", {"fromId": "v"}),
        ):
            with pytest.raises(Problem):
                tx.put(entity_id, type_name, fields)
        assert tx.put("t", "task", {"title": "x"}).counter == link.counter + 1
        with pytest.raises(Problem, match="would have"):
            tx.put("t", "task", {"note": "x" * MAX_DOCUMENT})
    with store.reading() as reader:
        assert reader.counter == 2
        assert broken_invariants(reader) == []


def test_one_id_twice_in_a_batch(tmp_path: Path) -> None:
    """STORE-8: what is looked up for the whole batch at once is as if it had been looked up one by one."""
    one, two, three = (new_store(tmp_path, number) for number in (1, 2, 3))
    versions = []
    for title in ("Milk", "Oat milk"):
        with one.transaction(NOON, HIGH) as tx:
            tx.put("t1", "task", {"title": title})
        with one.reading() as reader:
            versions.append(reader.version("t1"))
    with two.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Bread"})
    with two.reading() as reader:
        versions.append(reader.version("t1"))
    batch = [(version, open_foreign(version)) for version in versions if version is not None]
    assert len(batch) == 3
    with three.transaction(NOON, HIGH) as tx:
        assert tx.apply(batch) == 3
    for single in batch:
        with two.transaction(NOON, HIGH) as tx:
            tx.apply([single])
    assert three.read("t1") == two.read("t1")
    assert digest_of(three) == digest_of(two)
    with three.reading() as reader:
        assert reader.count() == 1


def test_versions_come_in_the_order_asked_for(tmp_path: Path) -> None:
    """STORE-7: entities and links, many at a time."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        for number in range(5):
            tx.put(f"t{number}", "task", {"title": "x"})
    snapshot = store.snapshot()
    numbers = list(snapshot.lacking({}, []))
    asked = [numbers[at] for at in (3, 0, 4, 1, 2)]
    assert [version.id for version in snapshot.versions(asked)] == ["t3", "t0", "t4", "t1", "t2"]
    assert snapshot.versions([]) == []
    snapshot.close()


def test_a_connection_that_rested_sees_the_present(tmp_path: Path) -> None:
    """STORE-13: a snapshot is of the moment when it was taken, whatever its connection was used for before."""
    store = new_store(tmp_path)
    first, second = store.snapshot(), store.snapshot()
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "x"})
    assert (first.count(), second.count()) == (0, 0)
    for snapshot in (first, second, first):  # closed twice: the connection may be another's by then
        snapshot.close()
    third, fourth = store.snapshot(), store.snapshot()
    assert (third.count(), fourth.count()) == (1, 1)
    third.close()
    store.close()
    fourth.close()
    assert [file.name for file in tmp_path.iterdir() if "-wal" in file.name] == []


YEAR_MILLIS = 365 * 86_400_000


def test_a_key_is_removed_without_touching_another(tmp_path: Path) -> None:
    """ENT-3: removed here, another added there; and set again there where nobody had seen the removal."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with one.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"labels": {"bug": True, "ui": True}})
    send(one, two)
    with one.transaction(NOON + 1, HIGH) as tx:
        tx.put("t1", "task", {"labels/bug": None, "labels/ui": None})
    with two.transaction(NOON + 2, HIGH) as tx:
        tx.put("t1", "task", {"labels": {"home": True, "ui": "very"}})
    send(one, two)
    send(two, one)
    for store in (one, two):
        entity = store.read("t1")
        assert entity is not None
        assert path.nest(entity.document()) == {"labels": {"home": True, "ui": "very"}}
        assert entity.conflicts() == {"labels/ui": [None]}


def test_a_link_is_written_once_and_comes_back(tmp_path: Path) -> None:
    """ENT-6, MERGE-14: what it said before is written again with it."""
    store = new_store(tmp_path)
    ident = link_id("entryLink", "t1", "t2")
    with store.transaction(NOON, HIGH) as tx:
        tx.link("entryLink", "t1", "t2", {"relations": {"blocks": True}})
        tx.link("entryLink", "t3", "t2")
        assert lookups.ends_from(tx, "t1", "entryLink") == ["t2"]
        assert sorted(lookups.ends_to(tx, "t2", "entryLink")) == ["t1", "t3"]
        tx.delete(ident)
        assert lookups.ends_to(tx, "t2", "entryLink") == ["t3"]
        tx.link("entryLink", "t1", "t2", {"relations/fixes": True})
        back = tx.entity(ident)
        assert lookups.ends_from(tx, "t1", "entryLink") == ["t2"]
        assert lookups.ends_from(tx, "t1", "agent_task") == []
    assert back is not None
    assert not is_deleted(back)
    assert {write.stamp.counter for writes in back.registers.values() for write in writes} == {4}
    assert path.nest(back.document())["relations"] == {"blocks": True, "fixes": True}


def test_a_link_said_again_holds_against_a_deletion_that_had_not_seen_it(tmp_path: Path) -> None:
    """ENT-6"""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with one.transaction(NOON, HIGH) as tx:
        tx.link("entryLink", "t1", "t2")
    send(one, two)
    with one.transaction(NOON + 1, HIGH) as tx:
        tx.delete(link_id("entryLink", "t1", "t2"))
    with two.transaction(NOON + 2, HIGH) as tx:
        tx.link("entryLink", "t1", "t2")
    send(one, two)
    with two.reading() as reader:
        assert lookups.ends_from(reader, "t1", "entryLink") == ["t2"]


def test_a_clock_that_was_once_ahead_stays_there_and_wins_nothing_that_has_seen_it(tmp_path: Path) -> None:
    """CAUS-7, CAUS-9, CAUS-12, CAUS-10"""
    ahead, sane = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with ahead.transaction(NOON + YEAR_MILLIS, HIGH) as tx:
        tx.put("t1", "task", {"title": "from next year"})
    with ahead.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "set right"})
    send(ahead, sane)
    with sane.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "seen and replaced"})
    send(sane, ahead)
    for store in (ahead, sane):
        entity = store.read("t1")
        assert entity is not None
        assert (entity.value("title"), entity.conflicts()) == ("seen and replaced", {})
        assert entity.registers["title"][0].stamp[1:3] == (NOON, 0)
    with ahead.transaction(NOON + 1, HIGH) as tx:
        tx.put("t2", "task", {"title": "later"})
        entity = tx.entity("t2")
    assert entity is not None
    assert entity.registers["title"][0].stamp[1:3] == (NOON + YEAR_MILLIS, 2)
