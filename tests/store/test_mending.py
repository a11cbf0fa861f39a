"""What differs is put right, and nothing that one of the two still had is lost: MEND-4 to MEND-8."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import sqlite
from tests.support.comparison import compare_stores, damaged, meet, repair
from tests.support.examples import examples
from tests.support.stores import NOON, digest_of, dump, new_store, send, true_digest, with_chains

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH, Entity, is_clean_tombstone
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import BadVersion, Damaged, Version, close, open_foreign
from lottisync.journal.types import Task
from lottisync.problem import Problem, Sentence
from lottisync.protocol import message as m
from lottisync.store import damage, mending
from lottisync.store.check import broken_invariants
from lottisync.store.fingerprint import Fingerprints
from lottisync.store.store import Store
from lottisync.sync.range_comparison import RangeComparison

A, B = Host("a" * 16), Host("b" * 16)
LATER = NOON + 1_000
SILKEN = "update journal_entities set serialized = replace(serialized, 'Milk', 'Silk') where id <> 't2'"


def made(clock: dict[Host, int], **values: tuple[Host, int, str]) -> Entity:
    """An entity with the given writes: path -> (host, counter, text)."""
    registers = {
        path: (Write(Stamp(1, NOON, 0, host, counter), f'"{text}"'.encode()),)
        for path, (host, counter, text) in values.items()
    }
    return Entity("t1", "task", clock, Registers.of(registers))


def holding(folder: Path, number: int, entity: Entity) -> Store:
    store = new_store(folder, number)
    with_chains(store, entity.clock)
    with store.transaction(NOON, HIGH) as tx:
        tx.apply([(close(entity), entity)])
        tx.adopt(entity.clock)
    return store


def mend(store: Store, entity: Entity) -> int:
    """Take a version of a peer that has said, as any that compares has, how its chains stand."""
    with_chains(store, entity.clock)
    with store.transaction(LATER, HIGH) as tx:
        return mending.mend(tx, [(close(entity), entity)])


def sql(store: Store, text: str, *bindings: str) -> None:
    sqlite.connection(store).execute(text, bindings).fetchall()


def faults(store: Store) -> list[str]:
    with store.reading() as reader:
        return [*broken_invariants(reader)]


FLIP = "update journal_entities set serialized = replace(serialized, 'Milk', 'Wine')"


# -- the rules


def test_mend_4_what_fails_its_own_hash_is_replaced(tmp_path: Path) -> None:
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    before = digest_of(store)
    sql(store, FLIP)
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert digest_of(store) == before
    assert faults(store) == []
    with store.reading() as reader:
        assert [(was.path, was.value) for was in reader.overwritten("t1")] == [("title", b'"Wine"')]
    assert mend(store, entity) == 0


def test_mend_4_also_by_a_version_that_has_seen_more(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, FLIP)
    newer = made({A: 1, B: 1}, title=(B, 1, "Tea"))
    assert mend(store, newer) == 1
    assert store.read("t1") == newer
    assert faults(store) == []


def test_mend_4_what_it_holds_beyond_the_peer_stays(tmp_path: Path) -> None:
    """MEND-15: the peer has not seen write 2. The damaged row keeps it, and takes the rest from the peer."""
    store = holding(tmp_path, 1, made({A: 2}, title=(A, 1, "Milk"), due=(A, 2, "Monday")))
    sql(store, FLIP)
    assert mend(store, made({A: 1}, title=(A, 1, "Milk"))) == 1
    entity = store.read("t1")
    assert entity is not None
    assert entity.document() == {"title": "Milk", "due": "Monday"}
    assert entity.clock == {A: 2}
    assert faults(store) == []


def test_mend_4_a_clock_that_was_changed_does_not_count(tmp_path: Path) -> None:
    """The index is the second witness of what the row had seen."""
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    sql(store, "update journal_entities set clock = ?", f'{{"{A}":99}}')
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert faults(store) == []


@pytest.mark.parametrize(
    "damage",
    [
        "update journal_entities set stamps = '[]'",
        "update journal_entities set serialized = '{'",
        "update journal_entities set serialized = cast(x'7b22ff227d' as text)",
        "update journal_entities set clock = 'x'",
        "update journal_entities set hash = zeroblob(32)",
        "update journal_entities set type = 'entryLink'",
    ],
)
def test_mend_4_whatever_the_damage(tmp_path: Path, damage: str) -> None:
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    before = digest_of(store)
    sql(store, damage)
    assert faults(store) != []
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert digest_of(store) == before
    assert faults(store) == []


def test_mend_4_what_cannot_be_read_and_has_seen_more_is_left(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 2}, title=(A, 1, "Milk"), due=(A, 2, "Monday")))
    sql(store, "update journal_entities set stamps = '[]'")
    before = dump(store)
    assert mend(store, made({A: 1}, title=(A, 1, "Milk"))) == 0
    assert dump(store) == before


def test_mend_5_equal_clocks_keep_what_either_holds(tmp_path: Path) -> None:
    """A join would take the missing register for overwritten, on both sides."""
    whole = made({A: 2}, title=(A, 1, "Milk"), due=(A, 2, "Monday"))
    half = made({A: 2}, due=(A, 2, "Monday"))
    for number, (ours, theirs) in enumerate([(whole, half), (half, whole)], 1):
        store = holding(tmp_path, number, ours)
        assert mend(store, theirs) == (1 if ours is half else 0)
        assert store.read("t1") == whole
        assert digest_of(store) == true_digest(store)
        assert faults(store) == []


def test_mend_5_one_name_two_contents_the_greater_value(tmp_path: Path) -> None:
    """MEND-16"""
    milk, wine = made({A: 1}, title=(A, 1, "Milk")), made({A: 1}, title=(A, 1, "Wine"))
    a, b = holding(tmp_path, 1, milk), holding(tmp_path, 2, wine)
    assert meet(a, b, LATER) == 1
    assert a.read("t1") == b.read("t1") == wine
    assert digest_of(a) == digest_of(b)
    with a.reading() as reader:
        assert [was.value for was in reader.overwritten("t1")] == [b'"Milk"']


def test_mend_230_else_a_join_and_one_name_with_two_contents_does_not_stop_it(tmp_path: Path) -> None:
    ours = made({A: 2}, title=(A, 1, "Milk"), due=(A, 2, "Monday"))
    theirs = made({A: 1, B: 1}, title=(A, 1, "Wine"), note=(B, 1, "x"))
    a, b = holding(tmp_path, 1, ours), holding(tmp_path, 2, theirs)
    meet(a, b, LATER)
    entity = a.read("t1")
    assert entity == b.read("t1")
    assert entity is not None
    assert entity.document() == {"title": "Wine", "due": "Monday", "note": "x"}
    assert digest_of(a) == digest_of(b)


def test_mend_6_a_join_still_overwrites(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    newer = made({A: 1, B: 1}, title=(B, 1, "Tea"))
    assert mend(store, newer) == 1
    assert store.read("t1") == newer


def test_mend_7_what_is_absent_is_taken(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    entity = made({A: 1}, title=(A, 1, "Milk"))
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert digest_of(store) == true_digest(store)


def test_mend_7_another_type_goes_to_quarantine(tmp_path: Path) -> None:
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    other = Entity("t1", "note", {A: 1, B: 1}, entity.registers)
    assert mend(store, other) == 0
    assert store.read("t1") == entity
    with store.reading() as reader:
        assert [kept.version for kept in reader.quarantined()] == [close(other)]


def test_mend_4_a_clock_that_cannot_be_read_beside_what_is_in_quarantine(tmp_path: Path) -> None:
    """MEND-4, STORE-27: what is kept of the entity asks what the row has seen, and that cannot be read."""
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    other = Entity("t1", "note", {B: 1}, made({B: 1}, title=(B, 1, "Wine")).registers)
    with_chains(store, {B: 2})
    with store.transaction(LATER, HIGH) as tx:
        tx.quarantine(close(other), Sentence("another type"))
    sql(store, "update journal_entities set clock = '{' where id = 't1'")
    with store.transaction(LATER, HIGH) as tx:
        tx.quarantine(close(Entity("t1", "note", {B: 2}, other.registers)), Sentence("another type"))
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert [fault for fault in faults(store) if "quarantine" not in fault] == []


def test_mend_7_a_damaged_row_is_not_sent(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    with store.reading() as reader:
        assert [version.id for version in mending.sound(reader, ["t1", "t2"])] == ["t1"]
    sql(store, FLIP)
    with store.reading() as reader:
        assert mending.sound(reader, ["t1"]) == []


# -- what no peer can mend


@pytest.mark.parametrize(
    "damage",
    [
        "update journal_entities set clock = replace(clock, ':', ':9')",
        "update journal_entities set clean_tombstone = 1 - clean_tombstone",
        "update journal_entities set conflicted = 1",
        "update journal_entities set deleted_at = 'x' where deleted_at is null",
        "update journal_entities set deleted_at = '1970-01-01T00:00:00.000Z' where id = 't2'",
        "update journal_entities set task_id = 't9'",
        "update journal_entities set subtype = 'DONE' where id = 't1'",
        "update journal_entities set created_at = 'x', updated_at = 'y'",
        "delete from components",
        "insert into components values (1, 999, 1)",
        "update components set counter = 7",
        "update state set digest = zeroblob(32)",
    ],
)
def test_mend_8_repair_computes_all_derived_data_again(tmp_path: Path, damage: str) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
        tx.put("t2", "task", {"title": "Milk"})
        tx.delete("t2")
    sql(store, damage)
    assert faults(store) != []
    repair(store, LATER)
    assert faults(store) == []
    assert digest_of(store) == true_digest(store)
    assert repair(store, LATER) == 0


def test_mend_8_a_clock_is_cut_to_what_the_chains_know(tmp_path: Path) -> None:
    """MEND-8: a row that agrees with its hash may claim to have seen a write that nobody here knows."""
    store = holding(tmp_path, 1, made({A: 1, B: 1}, title=(A, 1, "Milk")))
    sql(store, f"delete from chain where host in (select n from hosts where host = '{B}')")
    repair(store, LATER)
    found = store.read("t1")
    assert found is not None
    assert found.clock == {A: 1}


@pytest.mark.parametrize("place", [0, 3, 15, 16, 31])
@pytest.mark.parametrize("kind", ["the hash of a row", "the digest", "both"])
def test_store_1000_a_stored_hash_is_mended_wherever_it_is_damaged(tmp_path: Path, kind: str, place: int) -> None:
    """STORE-1000, MEND-18: damage in the first half of a hash left another digest, for ever: no command mended it."""
    good, bad = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with good.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
        tx.put("t2", "task", {"title": "Tea"})
    send(good, bad)
    wanted = digest_of(good)
    if kind != "the digest":
        with bad.reading() as reader:
            [(stored,)] = reader.local("select hash from rows where id = 't1'")
        sql(bad, f"update journal_entities set hash = x'{flipped(stored, place).hex()}' where id = 't1'")
    if kind != "the hash of a row":
        sql(bad, f"update state set digest = x'{flipped(wanted, place).hex()}'")
    talk(RangeComparison("journal", good), RangeComparison("journal", bad))
    assert [faults(good), faults(bad), digest_of(bad)] == [[], [], wanted]


def flipped(raw: bytes, place: int) -> bytes:
    return raw[:place] + bytes([raw[place] ^ 0x80]) + raw[place + 1 :]


def talk(first: RangeComparison, second: RangeComparison) -> None:
    """Two sides of a comparison of what is the same in both, to its end."""
    for side, said in ((second, first.opening()), (first, m.Compare("journal", first.known, []))):
        for answer in side.take(said):
            assert answer == m.Compare("journal", first.known, [])
    for side in (first, second):
        side.end(LATER)
        side.close()


@pytest.mark.parametrize(
    ("damage", "follows"),
    [
        (f"{SILKEN} and id = 't1'", True),
        (SILKEN, True),
        ("update journal_entities set clean_tombstone = 0 where id = 't2'", False),
        ("update journal_entities set hash = zeroblob(32) where id = 't1'", False),
        ("delete from journal_entities where id = 't3'; delete from components where n = 3", False),
        (f"{SILKEN}; update state set digest = zeroblob(32)", False),
    ],
)  # fmt: skip
def test_mend_8_by_name_only_where_all_else_follows(tmp_path: Path, damage: str, follows: bool) -> None:
    """MEND-8: a comparison repairs the rows that it has found damaged, and everything only where it must."""
    stores = []
    for number in (1, 2):
        store = new_store(tmp_path, number)
        with store.transaction(NOON, HIGH) as tx:
            for name in ("t1", "t2", "t3"):
                tx.put(name, "task", {"title": "Milk"})
            tx.delete("t2")
        sql(store, damage)
        stores.append(store)
    with stores[0].reading() as reader:
        found = Fingerprints(reader)
        assert (found.stored_total == digest_of(stores[0])) == follows
    with stores[1].transaction(LATER, None) as tx:
        by_name = mending.repair(tx, found.damaged, ids=found.damaged)
    assert (faults(stores[1]) == []) == follows
    assert repair(stores[0], LATER, found.damaged) >= by_name
    assert faults(stores[0]) == []
    comparison = RangeComparison("journal", stores[1])
    comparison.whole = True
    comparison.end(LATER)
    comparison.close()
    assert faults(stores[1]) == []


@pytest.mark.parametrize(
    "damage",
    [
        "update journal_entities set task_id = 't9' where id = 't2'",
        "update journal_entities set conflicted = 1 where id = 't2'",
        "update journal_entities set serialized = '{' where id = 't2'",
        "delete from components where n = 2",
        "insert into components values (1, 999, 1)",
        "update components set counter = 7 where n = 2",
    ],
)
def test_mend_9_whatever_does_not_follow_from_the_content_is_seen(tmp_path: Path, damage: str) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk", "status": "OPEN"})
        tx.put("t2", "task", {"title": "Milk"})
        tx.link("entryLink", "t1", "t2")
        tx.put("x", "spaceship", {"title": "Milk"})
    with store.reading() as reader:
        assert mending.in_step(reader)
    sql(store, damage)
    with store.reading() as reader:
        assert not mending.in_step(reader)


@pytest.mark.parametrize("damage", [FLIP, "update journal_entities set hash = zeroblob(32) where id = 't1'"])
def test_mend_40_a_damaged_row_is_left_until_a_person_accepts_it(tmp_path: Path, damage: str) -> None:
    """MEND-40, REL-D7: also if it can be read. The row is not sent, and all other rows are."""
    store, other = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
        tx.put("t2", "task", {"title": "Tea"})
    sql(store, damage)
    assert repair(store, LATER) == 0
    assert damaged(store) == {"t1"}
    send(store, other)
    assert other.read("t1") is None
    assert other.read("t2") is not None
    with store.transaction(LATER, HIGH) as tx:
        mending.accept(tx, "t1")
    assert faults(store) == []
    send(store, other)
    assert other.read("t1") == store.read("t1")


def test_mend_40_what_a_peer_holds_in_the_same_content_is_good(tmp_path: Path) -> None:
    """MEND-40: then it is the hash that was damaged."""
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, "update journal_entities set hash = zeroblob(32)")
    assert repair(store, LATER, {"t1"}) == 1
    assert faults(store) == []


def test_mend_8_what_cannot_be_read_is_left_and_still_reported(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, "update journal_entities set stamps = '[]'")
    assert repair(store, LATER) == 0
    with store.reading() as reader:
        assert reader.local("select stamps from journal_entities") == [("[]",)]
    assert any("t1" in fault for fault in faults(store))


def test_mend_8_a_write_that_no_chain_knows_is_left_and_still_reported(tmp_path: Path) -> None:
    """The clock and the write itself name a counter that was never reached: the true one cannot be found."""
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, "update journal_entities set clock = replace(clock, ':1', ':7'), stamps = replace(stamps, ',1]', ',7]')")
    before = store.read("t1")
    assert repair(store, LATER) == 0
    assert store.read("t1") == before
    assert any("t1" in fault for fault in faults(store))


# -- the law

DAMAGES: dict[str, Callable[[str], str]] = {
    "value": lambda at: f"update journal_entities set serialized = replace(serialized, 'title {at}', 'xxxxx {at}')",
    "greater": lambda at: f"update journal_entities set serialized = replace(serialized, 'due {at}', 'zzz {at}')",
    "hash": lambda at: "update journal_entities set hash = zeroblob(32)",
    "stamps": lambda at: "update journal_entities set stamps = '[]'",
    "clock": lambda at: "update journal_entities set clock = replace(clock, ':', ':9')",
    "mark": lambda at: "update journal_entities set clean_tombstone = 1 - clean_tombstone",
    "document": lambda at: f'update journal_entities set serialized = \'{{"title":"title {at}"}}\'',
}


def unreadable(store: Store) -> set[str]:
    found = set()
    with store.reading() as reader:
        for (entity_id,) in reader.local("select id from rows"):
            row = damage.raw_row(reader, entity_id)
            assert row is not None
            try:
                open_foreign(row.version)
            except BadVersion:
                found.add(entity_id)
    return found


@examples(30)
@given(
    damage=st.dictionaries(
        st.tuples(st.integers(0, 1), st.integers(0, 5)), st.sampled_from(sorted(DAMAGES)), max_size=8
    ),
    edits=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), max_size=6),
)
def test_mend_7_two_stores_that_were_tampered_with_end_equal_and_nothing_is_lost(
    damage: dict[tuple[int, int], str], edits: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """MEND-17, MEND-18"""
    folder = tmp_path_factory.mktemp("mending")
    stores = a, b = new_store(folder, 1), new_store(folder, 2)
    with a.transaction(NOON, HIGH) as tx:
        for at in range(6):
            tx.put(f"t{at}", "task", {"title": f"title {at}", "due": f"due {at}"})
    send(a, b)
    for side, at in edits:
        with stores[side].transaction(NOON + 1, HIGH) as tx:
            tx.put(f"t{at}", "task", {"note": f"by {side}"})
    for _ in range(2):
        send(a, b)
        send(b, a)
    assert digest_of(a) == digest_of(b)
    before = {f"t{at}": a.read(f"t{at}") for at in range(6)}
    for (side, at), kind in damage.items():
        sql(stores[side], f"{DAMAGES[kind](str(at))} where id = 't{at}'")
    for _ in range(4):
        meet(a, b, LATER)
    whole = {f"t{at}" for at in range(6) if (0, at) not in damage or (1, at) not in damage}
    for entity_id in whole:
        assert a.read(entity_id) == b.read(entity_id) == before[entity_id], entity_id
    beyond_help = unreadable(a) & unreadable(b)
    same = {f"t{at}" for at in range(6)} - compare_stores(a, b).ids
    for store in stores:
        repair(store, LATER, same)
        for entity_id in sorted(damaged(store) - unreadable(store)):
            with store.transaction(LATER, HIGH) as tx:
                mending.accept(tx, entity_id)
    for _ in range(3):
        meet(a, b, LATER)
        send(a, b)
        send(b, a)
    left = compare_stores(a, b).ids
    assert left <= beyond_help
    if not beyond_help:
        assert digest_of(a) == digest_of(b)
        assert faults(a) == faults(b) == []
    for store in stores:
        store.close()


def test_mend_8_both_damaged_all_that_can_be_read_stays(tmp_path: Path) -> None:
    """One has lost a register, the other has another value in another one: nothing that either holds is lost."""
    entity = made({A: 2}, title=(A, 1, "Milk"), due=(A, 2, "Monday"))
    a, b = holding(tmp_path, 1, entity), holding(tmp_path, 2, entity)
    base = f'[[1,{NOON},0,"{A}",2],{{}},{{}}]'
    sql(a, 'update journal_entities set serialized = \'{"due":"Monday"}\', stamps = ?', base)
    sql(b, FLIP)
    assert meet(a, b, LATER) == 0
    assert repair(a, LATER) == repair(b, LATER) == 0
    for store in (a, b):
        with store.transaction(LATER, HIGH) as tx:
            mending.accept(tx, "t1")
    send(a, b)
    send(b, a)
    found = a.read("t1")
    assert found == b.read("t1")
    assert found is not None
    assert found.document() == {"title": "Wine", "due": "Monday"}
    assert digest_of(a) == digest_of(b)


def test_mend_7_a_version_of_the_own_future_mints_a_host(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
        own = tx.host
    entity = made({own: 5}, title=(own, 5, "Tea"))
    with store.transaction(LATER, HIGH) as tx:
        mending.mend(tx, [(close(entity), entity)])
    with store.reading() as reader:
        assert reader.host != own


# -- one damaged row beside sound ones

BYTES = {
    "clock": "update journal_entities set clock = cast(x'7B22FF223A317D' as text) where id = 't1'",
    "stamps": "update journal_entities set stamps = cast(replace(cast(stamps as blob), x'61', x'E1') as text)"
    " where id = 't1'",
    "serialized": "update journal_entities set serialized = cast(x'7B227469746C65223A22FF227D' as text)"
    " where id = 't1'",
    "nested": "update journal_entities set stamps = '[' || replace(hex(zeroblob(100000)), '0', '[') where id = 't1'",
}


@pytest.mark.parametrize("damage", BYTES.values(), ids=BYTES.keys())
def test_rel_d2_one_error_whatever_the_bytes(damage: str, tmp_path: Path) -> None:
    """STORE-29, MEND-4, REL-D2: bytes that are not even text are damage like any other, and a peer mends them."""
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t2", "task", {"title": "Tea"})
    sql(store, damage)
    with pytest.raises(Damaged):
        store.read("t1")
    with store.reading() as reader:
        Fingerprints(reader)
        broken_invariants(reader)
    assert mend(store, entity) == 1
    assert store.read("t1") == entity
    assert faults(store) == []


def test_rel_d7_a_damaged_id_hides_no_other(tmp_path: Path) -> None:
    """STORE-70"""
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t2", "task", {"title": "Tea"})
    sql(store, "update journal_entities set id = cast(x'74FF' as text) where id = 't1'")
    with store.reading() as reader:
        found, damaged = reader.views("task", Task)
    assert [task.title for task in found] == ["Tea"]
    assert len(damaged) == 1


def renamed(store: Store, ident: bytes) -> None:
    """The disk has changed the id of t1."""
    sql(store, f"update journal_entities set id = cast(x'{ident.hex()}' as text) where id = 't1'")


def damaged_rows(store: Store) -> list[int]:
    with store.reading() as reader:
        return Fingerprints(reader).damaged_rows


@pytest.mark.parametrize("ident", [b"\xf41", b"v1", b"t\xb1"])
@pytest.mark.parametrize("back", [False, True], ids=["alone", "supplied before"])
def test_mend_881_a_row_with_a_flipped_bit_in_its_id_is_found_again(ident: bytes, back: bool, tmp_path: Path) -> None:
    """MEND-881: also where a peer has supplied the entity before; the other row was left, and the two stores differed
    for ever."""
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store, other = holding(tmp_path, 1, entity), holding(tmp_path, 2, entity)
    renamed(store, ident)
    if back:
        assert mend(store, entity) == 1
    with store.transaction(NOON, None) as tx:
        assert mending.name_again(tx, Fingerprints(tx).damaged_rows) == ["t1"]
    assert store.read("t1") == entity
    assert faults(store) == []
    assert digest_of(store) == digest_of(other)


def test_mend_881_an_id_that_differs_in_more_is_looked_for_among_those_that_differ(tmp_path: Path) -> None:
    entity = made({A: 1}, title=(A, 1, "Milk"))
    store = holding(tmp_path, 1, entity)
    renamed(store, b"another")
    for others, named in (((), []), (("t2", "t1"), ["t1"])):
        with store.transaction(NOON, None) as tx:
            assert mending.name_again(tx, Fingerprints(tx).damaged_rows, others) == named
    assert store.read("t1") == entity
    assert faults(store) == []


def test_mend_881_what_is_damaged_beside_its_id_stays_as_it_is(tmp_path: Path) -> None:
    """MEND-40: nobody knows what it held."""
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, FLIP)
    renamed(store, b"v1")
    before = damaged_rows(store)
    with store.transaction(NOON, None) as tx:
        assert mending.name_again(tx, before, ["t1"]) == []
        assert mending.still_damaged(tx, before) == before
    assert damaged_rows(store) == before


def test_mend_24_a_damaged_row_is_neither_joined_nor_written_to(tmp_path: Path) -> None:
    """MEND-24, MEND-232: what came is put in its place, and the write is refused."""
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, FLIP)
    with pytest.raises(Damaged), store.transaction(LATER, HIGH) as tx:
        tx.put("t1", "task", {"due": "2026-12-01"})
    news = made({A: 1, B: 1}, title=(A, 1, "Milk"), due=(B, 1, "2026-12-01"))
    with_chains(store, news.clock)
    clashes: list[tuple[Version, Entity]] = []
    with store.transaction(LATER, None) as tx:
        tx.apply([(close(news), news)], clashes=clashes)
        mending.mend(tx, clashes)
    assert store.read("t1") == news
    assert faults(store) == []


def test_mend_25_what_a_person_accepts_is_a_new_write(tmp_path: Path) -> None:
    """MEND-25, MEND-302, MEND-303: a device that holds the old content takes the accepted one, and both are sound."""
    entity = made({A: 1}, title=(A, 1, "Milk"), due=(A, 1, "2026-12-01"))
    store, other = holding(tmp_path, 1, entity), holding(tmp_path, 2, entity)
    sql(store, FLIP)
    with store.transaction(LATER, HIGH) as tx:
        dot = mending.accept(tx, "t1")
    accepted = store.read("t1")
    assert accepted is not None
    assert accepted.document() == {"title": "Wine", "due": "2026-12-01"}
    assert accepted.clock == {A: 1, dot.host: dot.counter}
    assert faults(store) == []
    send(store, other)
    assert other.read("t1") == accepted
    assert faults(other) == []
    assert digest_of(store) == digest_of(other)


def test_mend_25_a_changed_clock_does_not_count(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 2, B: 1}, title=(A, 1, "Milk")))
    sql(store, "update journal_entities set clock = json_object(?, 1)", A)
    with store.transaction(LATER, HIGH) as tx:
        dot = mending.accept(tx, "t1")
    accepted = store.read("t1")
    assert accepted is not None
    assert accepted.clock == {A: 2, B: 1, dot.host: dot.counter}
    assert faults(store) == []


def test_mend_25_an_accepted_deletion_stays_one(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    with store.transaction(NOON, HIGH) as tx:
        tx.delete("t1")
    sql(store, FLIP)
    with store.transaction(LATER, HIGH) as tx:
        mending.accept(tx, "t1")
    accepted = store.read("t1")
    assert accepted is not None
    assert is_clean_tombstone(accepted)
    assert faults(store) == []


@pytest.mark.parametrize("damage", BYTES.values(), ids=BYTES.keys())
def test_mend_25_what_cannot_be_read_cannot_be_accepted(damage: str, tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    sql(store, damage)
    before = faults(store)
    with pytest.raises(Damaged), store.transaction(LATER, HIGH) as tx:
        mending.accept(tx, "t1")
    assert faults(store) == before


def test_mend_25_a_sound_row_is_not_accepted(tmp_path: Path) -> None:
    store = holding(tmp_path, 1, made({A: 1}, title=(A, 1, "Milk")))
    with pytest.raises(Problem, match="nothing to accept"), store.transaction(LATER, HIGH) as tx:
        mending.accept(tx, "t1")
