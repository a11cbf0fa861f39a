"""Forgetting: what peers have acknowledged, purging, coming back (FORGET-1 to FORGET-10)."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import sqlite
from tests.support.examples import examples
from tests.support.stores import (
    NOON,
    digest_of,
    lacking,
    new_store,
    send,
    send_chains,
    true_digest,
    with_chains,
)

from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities.entity import HIGH, has_unseen_edit, is_clean_tombstone, is_deleted
from lottisync.entities.identifier import made_once, time_ordered
from lottisync.entities.version import Damaged, open_foreign
from lottisync.store import chain, forgetting, lookups
from lottisync.store.check import broken_invariants
from lottisync.store.forgetting import KeySet
from lottisync.store.store import Store

DAY = 24 * 3_600_000
LATER = NOON + 40 * DAY
A, B = Host("a" * 16), Host("b" * 16)


def knowledge(store: Store) -> dict[Host, int]:
    with store.reading() as reader:
        return reader.knowledge()


def forgotten(store: Store) -> dict[Host, int]:
    with store.reading() as reader:
        return lookups.forgotten(reader)


def tell(store: Store, device: str, clock: Clock, *, direct: bool = True) -> None:
    with store.transaction(NOON, HIGH) as tx:
        forgetting.note(tx, device, clock, direct=direct)


def acknowledged(store: Store) -> dict[str, dict[Host, int]]:
    with store.reading() as reader:
        return forgetting.acknowledged(reader)


def purge(store: Store, *active: str, now: int = LATER, min_age: int = forgetting.MIN_AGE) -> int:
    with store.transaction(now, HIGH) as tx:
        return forgetting.purge(tx, active, min_age)


def put(store: Store, entity_id: str, title: str = "Milk", now: int = NOON) -> None:
    with store.transaction(now, HIGH) as tx:
        tx.put(entity_id, "task", {"title": title})


def delete(store: Store, entity_id: str, now: int = NOON) -> None:
    with store.transaction(now, HIGH) as tx:
        tx.delete(entity_id)


def ids(store: Store) -> list[str]:
    with store.reading() as reader:
        return [entity_id for (entity_id,) in reader.local("select id from rows order by id")]


def round_to(sender: Store, receiver: Store, now: int = LATER) -> tuple[int, int]:
    """A whole round, to a receiver that may be behind."""
    ours, theirs = forgotten(receiver), forgotten(sender)
    behind = any(knowledge(receiver).get(host, 0) < counter for host, counter in theirs.items())
    sender_behind = any(knowledge(sender).get(host, 0) < counter for host, counter in ours.items())
    assert behind or not sender_behind, "refused: the sender pulls first"
    assert send_chains(sender, receiver, now=now) is None
    versions, known, _ = lacking(sender, receiver)
    with sender.reading() as reader:
        held = KeySet(forgetting.keys(reader))
    with receiver.transaction(now, HIGH) as tx:
        absent = ours if sender_behind else None
        tx.apply([(version, open_foreign(version)) for version in versions], revive_absent=absent)
        forgetting.complete(tx, known, theirs)
        return forgetting.reconcile(tx, held, known, lookups.forgotten(tx)) if behind else (0, 0)


def faults(store: Store) -> list[str]:
    with store.reading() as reader:
        return [*broken_invariants(reader)]


# -- what the others know


def test_forget_1_what_a_device_says_itself_replaces_and_gossip_adds(tmp_path: Path) -> None:
    """FORGET-223"""
    store = new_store(tmp_path)
    with_chains(store, {A: 1, B: 1})
    tell(store, "phone", {A: 5, B: 2})
    tell(store, "phone", {A: 3, B: 7}, direct=False)
    assert acknowledged(store) == {"phone": {A: 5, B: 7}}
    tell(store, "phone", {A: 4})
    assert acknowledged(store) == {"phone": {A: 4}}
    tell(store, "desk", {B: 1}, direct=False)
    assert acknowledged(store) == {"desk": {B: 1}, "phone": {A: 4}}


def test_forget_1_of_hosts_of_which_nothing_is_here_nothing_is_noted(tmp_path: Path) -> None:
    """A peer that invents hosts would have every device store them, and pass them on."""
    store = new_store(tmp_path)
    with_chains(store, {A: 1})
    tell(store, "phone", {A: 1, B: 2})
    tell(store, "desk", {B: 2}, direct=False)
    assert acknowledged(store) == {"phone": {A: 1}, "desk": {}}
    with store.reading() as reader:
        assert reader.local("select count(*) from hosts where host = ?", (B,)) == [(0,)]


@pytest.mark.parametrize("direct", [True, False])
def test_forget_110_a_device_that_announced_the_store_while_it_knew_nothing_is_waited_for(
    tmp_path: Path, direct: bool
) -> None:
    """It was taken for one that lacks the store, if it was heard of in another one: a deletion was forgotten that it
    had not seen."""
    (tmp_path / "other").mkdir()
    store, other = new_store(tmp_path), new_store(tmp_path / "other", 2)
    for each in (store, other):
        with_chains(each, {A: 1})
    tell(other, "phone", {A: 1})
    stores = {"journal": store, "other": other}
    assert forgetting.waited_for("journal", stores, ["phone"]) == set()
    tell(store, "phone", {}, direct=direct)
    assert acknowledged(store) == {"phone": {}}
    assert forgetting.waited_for("journal", stores, ["phone"]) == {"phone"}
    tell(store, "phone", {A: 1})
    assert acknowledged(store) == {"phone": {A: 1}}


def test_forget_20_what_was_acknowledged_before_is_noted_without_a_bell(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with_chains(store, {A: 1})
    with store.transaction(NOON, HIGH) as tx:
        forgetting.note(tx, "phone", {A: 5}, direct=True)
        assert not tx.changed
    before = store.changes()
    assert (knowledge(store), before) == ({}, store.changes())


def test_forget_2_lacking_counts_entities(tmp_path: Path) -> None:
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for number in range(3):
        put(a, f"t{number}")
    send(a, b)
    put(a, "t0", "Bread")
    put(a, "t0", "Butter")
    put(a, "t9")
    with a.reading() as reader:
        assert forgetting.lacking(reader, knowledge(b)) == 2 == len(lacking(a, b)[0])
        assert forgetting.lacking(reader, {}) == 4
        assert forgetting.lacking(reader, knowledge(a)) == 0


# -- purging


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Store, Store]:
    """Two devices in step, with one entity that lives and one that was deleted."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "live")
    put(a, "gone")
    put(a, "gone", "Bread")
    delete(a, "gone")
    send(a, b)
    return a, b


def test_forget_3_a_tombstone_goes_when_all_active_devices_have_seen_it(pair: tuple[Store, Store]) -> None:
    a, b = pair
    assert purge(a, "phone") == 0  # never heard of
    tell(a, "phone", {Host(host): counter - 1 for host, counter in knowledge(b).items()})
    assert purge(a, "phone") == 0  # has not seen the deletion
    tell(a, "phone", knowledge(b))
    assert purge(a, "phone", "desk") == 0
    assert purge(a, "phone") == 1
    assert ids(a) == ["live"]
    assert purge(a, "phone") == 0


def test_forget_3_not_before_its_time(pair: tuple[Store, Store]) -> None:
    a, _ = pair
    assert purge(a, now=NOON + 30 * DAY - 1) == 0
    assert purge(a, now=NOON + 30 * DAY) == 1


def test_forget_3_an_edit_that_the_deletion_had_not_seen_keeps_it(pair: tuple[Store, Store]) -> None:
    a, b = pair
    put(b, "live", "Oat milk")
    delete(a, "live")
    send(b, a)
    assert purge(a) == 1
    assert ids(a) == ["live"]


def test_forget_3_beyond_the_own_knowledge_nothing_is_forgotten(tmp_path: Path) -> None:
    """A round that was cut off left it here: what the other device would still send is not known."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "gone")
    delete(a, "gone")
    put(a, "live")
    send(a, b, abort_after=1)
    assert ids(b) == ["gone"]
    assert purge(b) == 0


def test_forget_4_the_digest_stays_and_nothing_is_left(pair: tuple[Store, Store]) -> None:
    """FORGET-225"""
    a, b = pair
    with a.reading() as reader:
        clock = reader.entity("gone")
        assert clock is not None
    before = digest_of(a)
    assert purge(a) == 1
    assert digest_of(a) == before == digest_of(b) == true_digest(a)
    assert forgotten(a) == clock.clock
    assert forgotten(b) == {}
    assert faults(a) == []
    with a.reading() as reader:
        assert reader.overwritten("gone") == []
        assert reader.overwritten("live") == []
    assert knowledge(a) == knowledge(b)


def test_forget_3_a_mark_alone_does_not_make_a_tombstone(pair: tuple[Store, Store]) -> None:
    """Forgetting cannot be taken back: what a hand in an SQLite browser marked as gone stays."""
    a, _ = pair
    sqlite.connection(a).execute("update journal_entities set clean_tombstone = 1 where id = 'live'").fetchall()
    assert purge(a) == 1
    assert ids(a) == ["live"]


def test_forget_3_at_most_so_many_at_once(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for number in range(5):
        put(store, f"t{number}")
        delete(store, f"t{number}")
    for expected in (2, 2, 1, 0):
        with store.transaction(LATER, HIGH) as tx:
            assert forgetting.purge(tx, [], limit=2) == expected


def test_forget_5_how_many_deletions_each_device_holds_back(pair: tuple[Store, Store]) -> None:
    a, b = pair
    tell(a, "phone", knowledge(b))
    with a.reading() as reader:
        assert forgetting.holding_back(reader, ["phone", "desk"], forgetting.MIN_AGE, LATER) == {"desk": 1}
        assert forgetting.holding_back(reader, ["phone", "desk"], forgetting.MIN_AGE, NOON) == {}
        assert forgetting.holding_back(reader, [], 0, LATER) == {}


@examples(60)
@given(
    plan=st.lists(st.tuples(st.sampled_from("wdups"), st.integers(0, 1), st.integers(0, 3)), max_size=25),
)
def test_forget_21_devices_purge_at_other_times_and_agree(
    plan: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Writes, deletions, undeletions, rounds and purges in any order: once nothing is missing, digests are equal."""
    folder = tmp_path_factory.mktemp("purge")
    stores = [new_store(folder, 1), new_store(folder, 2)]
    for does, at, number in plan:
        store, other = stores[at], stores[1 - at]
        entity_id = f"t{number}"
        with store.reading() as reader:
            present = reader.entity(entity_id)
        if does == "w":
            put(store, entity_id, str(len(plan)))
        elif does == "d" and present is not None:
            delete(store, entity_id)
        elif does == "u" and present is not None:
            with store.transaction(NOON, HIGH) as tx:
                tx.undelete(entity_id)
        elif does == "s":
            _meet(store, other)
        elif does == "p":
            purge(store, "other")
    for _ in range(2):
        _meet(*stores)
    assert knowledge(stores[0]) == knowledge(stores[1])
    assert digest_of(stores[0]) == digest_of(stores[1])
    for store in stores:
        assert faults(store) == []
        store.close()


def _meet(a: Store, b: Store) -> None:
    for sender, receiver in ((a, b), (b, a)):
        round_to(sender, receiver)
    tell(a, "other", knowledge(b))
    tell(b, "other", knowledge(a))


# -- damage


def damage(store: Store, entity_id: str) -> None:
    with store.transaction(NOON, HIGH) as tx:
        tx.execute("update journal_entities set serialized = '{' where id = ?", (entity_id,))


def test_forget_3_a_row_that_cannot_be_read_stays_and_holds_up_no_other(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for number in range(3):
        put(store, f"t{number}")
        delete(store, f"t{number}")
    damage(store, "t1")
    assert purge(store) == 2
    assert ids(store) == ["t1"]


@pytest.mark.parametrize(
    ("column", "held"),
    [("id", b"\xff"), ("clock", b"\xff"), ("clock", b""), ("clock", b'{"a'), ("stamps", b"["), ("type", b"\xff")],
)
def test_forget_12_a_tombstone_with_a_damaged_cell_holds_up_no_other(tmp_path: Path, column: str, held: bytes) -> None:
    """FORGET-12, STORE-101: `purge` and `status` ended with an error for ever, once it was 30 days old."""
    store = new_store(tmp_path)
    for number in range(3):
        put(store, f"t{number}")
        delete(store, f"t{number}")
    sqlite.connection(store).execute(
        f"update journal_entities set {column} = cast(? as text) where id = 't1'", (held,)
    ).fetchall()
    with store.reading() as reader:
        assert forgetting.holding_back(reader, ["phone"], forgetting.MIN_AGE, LATER)["phone"] >= 2
    assert purge(store) >= 2
    with store.reading() as reader:
        left = [ident for (ident,) in reader.local("select cast(id as blob) from rows")]
    assert left == [held if column == "id" else b"t1"]


def behind(folder: Path) -> tuple[Store, Store]:
    """The first has forgotten one of two entities, of which the second knows no deletion."""
    a, b = new_store(folder, 1), new_store(folder, 2)
    for name in ("gone", "living"):
        put(a, name)
    send(a, b)
    delete(a, "gone")
    purge(a)
    return a, b


def test_forget_8_a_row_that_cannot_be_read_does_not_stop_a_device_from_coming_back(tmp_path: Path) -> None:
    """FORGET-300: What it has seen stands in the index, too: what was forgotten goes, and what nobody else has seen
    stays."""
    a, b = behind(tmp_path)
    put(b, "mine")
    damage(b, "gone")
    damage(b, "mine")
    assert round_to(a, b) == (1, 0)
    assert ids(b) == ["living", "mine"]


# -- beginning again


def test_forget_6_the_first_write_on_an_absent_id_has_seen_what_was_forgotten(pair: tuple[Store, Store]) -> None:
    """FORGET-6: what was forgotten there are another host's writes."""
    a, b = pair
    purge(b)
    put(b, "gone", "Again")
    entity = b.read("gone")
    assert entity is not None
    assert entity.clock == {host_of(a): 4, host_of(b): 1}
    assert forgotten(b) == {host_of(a): 4}
    send(b, a)  # which has not forgotten it
    assert digest_of(a) == digest_of(b)
    assert a.read("gone") == entity
    assert faults(a) == faults(b) == []


def test_forget_6_so_has_one_that_writes_a_deletion(pair: tuple[Store, Store]) -> None:
    a, _ = pair
    purge(a)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("gone", "task", {"title": "Again", "deletedAt": None})
    entity = a.read("gone")
    assert entity is not None
    assert entity.clock == forgotten(a) | {host_of(a): 5}


def test_forget_6_what_was_forgotten_in_the_same_transaction_counts(pair: tuple[Store, Store]) -> None:
    a, b = pair
    with b.transaction(LATER, HIGH) as tx:
        tx.put("other", "task", {"title": "Before"})
        assert forgetting.purge(tx, []) == 1
        tx.put("gone", "task", {"title": "Again"})
    entity = b.read("gone")
    assert entity is not None
    assert entity.clock == {host_of(a): 4, host_of(b): 2}


def test_forget_6_an_id_that_is_made_once_is_spared_that(tmp_path: Path) -> None:
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "gone")
    delete(a, "gone")
    send(a, b)
    purge(b)
    fresh = time_ordered(NOON, bytes(range(10)))
    put(b, fresh)
    entity = b.read(fresh)
    assert entity is not None
    assert entity.clock == {host_of(b): 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (time_ordered(NOON, b"0123456789"), True),
        ("5f2b1f3c-52c4-4b1e-9d34-0a4bb9a9e201", True),
        ("5f2b1f3c-52c4-5b1e-9d34-0a4bb9a9e201", False),  # version 5: derived from a name
        ("5f2b1f3c-52c4-4b1e-cd34-0a4bb9a9e201", False),
        ("5f2b1f3c52c44b1e9d340a4bb9a9e201", False),
        ("5f2b1f3c-52c4-4b1e-9d34-0a4bb9a9e201x", False),
        ("t1", False),
    ],
)
def test_forget_6_which_ids_are_made_once(text: str, expected: bool) -> None:
    assert made_once(text) is expected


def host_of(store: Store) -> Host:
    with store.reading() as reader:
        return reader.host


# -- coming back


def test_forget_7_knowledge_and_what_was_forgotten_are_taken_over_together(pair: tuple[Store, Store]) -> None:
    a, b = pair
    put(a, "late")
    purge(a)
    before = knowledge(b), forgotten(b)
    send(a, b, abort_after=1)
    assert (knowledge(b), forgotten(b)) == before
    with contextlib.suppress(ZeroDivisionError), b.transaction(LATER, HIGH) as tx:
        forgetting.complete(tx, knowledge(a), forgotten(a))
        raise ZeroDivisionError
    assert (knowledge(b), forgotten(b)) == before
    round_to(a, b)
    assert (knowledge(b), forgotten(b)) == (knowledge(a), forgotten(a))
    assert forgotten(b) != {}


def test_forget_8_what_was_forgotten_elsewhere_goes_here_too(tmp_path: Path) -> None:
    """The device that was away holds the living entity: it does not come back."""
    a, away = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "gone")
    put(a, "live")
    send(a, away)
    delete(a, "gone")
    assert purge(a) == 1
    assert round_to(a, away) == (1, 0)
    assert ids(away) == ["live"]
    assert forgotten(away) == forgotten(a)
    assert digest_of(away) == digest_of(a)
    assert faults(away) == []
    assert lacking(away, a)[0] == []


def test_forget_300_an_edit_that_no_other_device_has_seen_lives_on(tmp_path: Path) -> None:
    a, away = new_store(tmp_path, 1), new_store(tmp_path, 2)
    put(a, "gone")
    put(a, "other")
    send(a, away)
    delete(a, "gone")
    put(away, "gone", "Oat milk")
    put(away, "new")
    put(away, "other", "Tea")
    assert purge(a) == 1
    assert round_to(a, away) == (0, 2)
    assert round_to(away, a) == (0, 0)
    assert digest_of(a) == digest_of(away)
    assert knowledge(a) == knowledge(away)
    entity = a.read("gone")
    assert entity is not None
    assert entity.document() == {"title": "Oat milk"}
    assert not is_deleted(entity)
    other = a.read("other")
    assert other is not None
    assert other.value("title") == "Tea"
    assert faults(a) == faults(away) == []


def test_forget_8_both_were_away(tmp_path: Path) -> None:
    """FORGET-300: Each has forgotten what the other had not: what each lacks of the other arrives revived."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for entity_id in ("x", "y", "z"):
        put(a, entity_id)
    send(a, b)
    delete(a, "x")
    purge(a)
    delete(b, "y")
    purge(b)
    put(a, "y", "Edited")  # what b has forgotten
    put(b, "x", "Edited")  # what a has forgotten
    for _ in range(2):
        round_to(a, b)
        round_to(b, a)
    assert ids(a) == ids(b) == ["x", "y", "z"]
    assert digest_of(a) == digest_of(b)
    assert knowledge(a) == knowledge(b)
    for entity_id in ("x", "y"):
        entity = a.read(entity_id)
        assert entity is not None
        assert entity.value("title") == "Edited"


def test_forget_8_a_version_in_quarantine_goes_like_a_row(tmp_path: Path) -> None:
    from tests.store.test_quarantine import bad

    a = new_store(tmp_path, 1)
    version = bad({A: 1})
    with_chains(a, {A: 1})
    with a.transaction(NOON, HIGH) as tx:
        tx.apply([(version, open_foreign(version))])
        tx.adopt({A: 1})
    with a.transaction(NOON, HIGH) as tx:
        assert forgetting.reconcile(tx, KeySet(forgetting.keys(tx)), {A: 1}, {A: 1}) == (0, 0)
        assert forgetting.reconcile(tx, KeySet(b""), {}, {A: 1}) == (0, 0)
        assert forgetting.reconcile(tx, KeySet(b""), {A: 1}, {A: 1}) == (1, 0)
    assert digest_of(a) == bytes(32)
    assert faults(a) == []


def test_forget_9_reviving_takes_counters_and_links_and_leaves_the_rest(pair: tuple[Store, Store]) -> None:
    a, b = pair
    put(b, "live", "Oat milk")
    put(a, "live", "Soy milk")
    send(b, a)  # two siblings
    with_chains(a, {A: 9})
    made, rest = knowledge(a)[host_of(a)], a.read("gone")
    with a.transaction(LATER, HIGH) as tx:
        forgetting.revive(tx, "live", {A: 9})
        assert tx.counter == made + 2
        forgetting.revive(tx, "never", {A: 9})
    entity = a.read("live")
    assert entity is not None
    assert {entity.value("title"), *entity.conflicts()["title"]} == {"Oat milk", "Soy milk"}
    assert entity.clock[A] == 9
    assert faults(a) == []
    with a.reading() as reader:
        assert chain.value_at(reader, host_of(a), made + 2) is not None
    assert a.read("gone") == rest is not None


def test_forget_9_a_revived_tombstone_stays_one(pair: tuple[Store, Store]) -> None:
    a, _ = pair
    before = digest_of(a)
    with a.transaction(LATER, HIGH) as tx:
        forgetting.revive(tx, "gone", {A: 9})
    entity = a.read("gone")
    assert entity is not None
    assert is_clean_tombstone(entity)
    assert not has_unseen_edit(entity)
    assert digest_of(a) == before


@given(st.sets(st.integers(0, 500)))
def test_forget_8_keys_name_what_is_held(numbers: set[int]) -> None:
    held = sorted(forgetting.entity_key(f"t{number}") for number in numbers)
    found = KeySet(b"".join(held))
    assert {number for number in range(501) if f"t{number}" in found} == numbers


@pytest.mark.parametrize("data", [b"1234567", b"22222222" + b"11111111", b"11111111" * 2])
def test_forget_22_keys_that_are_not_valid_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="keys of entities"):
        KeySet(data)


def test_forget_22_the_keys_of_a_store_are_in_order(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        for number in range(700):
            tx.put(f"t{number}", "task", {"title": "x"})
    with store.reading() as reader:
        data = forgetting.keys(reader)
    assert len(data) == 700 * 8
    assert data == b"".join(sorted(forgetting.entity_key(f"t{number}") for number in range(700)))


@pytest.mark.parametrize(("column", "held"), [("id", "livinf"), ("serialized", '{"title":"x"}'), ("clock", "{}")])
def test_forget_301_a_damaged_row_of_the_sender_takes_nothing_away(tmp_path: Path, column: str, held: str) -> None:
    """FORGET-301: under a damaged id, the receiver dropped the sound row that it had."""
    a, b = behind(tmp_path)
    sqlite.connection(a).execute(f"update journal_entities set {column} = ? where id = 'living'", (held,)).fetchall()
    assert round_to(a, b) == (1, 0)
    assert ids(b) == ["living"]


def test_forget_301_a_row_that_has_no_id_any_more_ends_the_round(tmp_path: Path) -> None:
    """FORGET-301: which of the receiver's it was, nothing tells."""
    store = new_store(tmp_path)
    put(store, "living")
    sqlite.connection(store).execute(
        "update journal_entities set id = cast(x'ff' as text), serialized = '{}'"
    ).fetchall()
    with store.reading() as reader, pytest.raises(Damaged):
        forgetting.keys(reader)


@pytest.mark.parametrize(("column", "held"), [("serialized", '{"title":"x"}'), ("clock", "{}"), ("id", b"\xff")])
def test_forget_301_a_damaged_row_of_the_receiver_is_not_revived(
    tmp_path: Path, column: str, held: str | bytes
) -> None:
    """FORGET-301: it could be read, so it was written again, as if it were sound."""
    a, b = behind(tmp_path)
    put(b, "mine")
    sqlite.connection(b).execute(
        f"update journal_entities set {column} = cast(? as text) where id = 'mine'", (held,)
    ).fetchall()
    assert round_to(a, b) == (1, 0)
    with b.reading() as reader:
        assert reader.local("select count(*) from rows")[0][0] == 2
