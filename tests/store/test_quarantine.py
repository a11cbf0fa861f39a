"""Versions that cannot be taken are kept as they came: STORE-24 to STORE-27.

A store with an empty registry stands for a device that takes what others find bad: to it, a link under an
id that is not its own is an entity of some type that it has never heard of."""

from itertools import permutations
from pathlib import Path

import pytest
from tests.support import sqlite
from tests.support.stores import NOON, digest_of, dump, lacking, new_store, send

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH, Entity
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.schema import schema
from lottisync.entities.version import MAX_DOCUMENT, MAX_VERSION, BadVersion, Version, clock_of, close, open_foreign
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem, Sentence
from lottisync.store import lookups
from lottisync.store.check import broken_invariants
from lottisync.store.quarantine import MAX_REASON, MAX_WORDS, stored_reason
from lottisync.store.store import Store
from lottisync.wording import of_column

LAX = schema("journal", [], owner_column=JOURNAL.owner_column)
A, B, C = (Host(f"{digit * 16}") for digit in "abc")


def made(clock: dict[Host, int], kind: str = "task", title: str = "Milk", entity_id: str = "t") -> Version:
    writer = max(clock)
    stamp = Stamp(1, NOON, 0, writer, clock[writer])
    return close(Entity(entity_id, kind, clock, Registers.of({"title": (Write(stamp, f'"{title}"'.encode()),)})))


def bad(clock: dict[Host, int], title: str = "Poison") -> Version:
    """A link under an id that is not its own: good in every other way."""
    return made(clock, "entryLink", title)


def take(store: Store, *versions: Version) -> None:
    for version in versions:
        with store.transaction(NOON, HIGH) as tx:
            tx.apply([(version, open_foreign(version))])


def kept(store: Store) -> list[Version]:
    with store.reading() as reader:
        return [held.version for held in reader.quarantined()]


def faults(store: Store) -> list[str]:
    """What is wrong beside the bad version itself, and beside the chains of writers who are made up here."""
    expected = ("in quarantine, kept as it came", "of its writes have been heard of")
    with store.reading() as reader:
        return [text for text in broken_invariants(reader) if not any(part in text for part in expected)]


def test_store_24_a_device_that_takes_it_and_one_that_cannot_have_one_digest(tmp_path: Path) -> None:
    lax, strict = new_store(tmp_path, 1, LAX), new_store(tmp_path, 2)
    with lax.transaction(NOON, HIGH) as tx:
        tx.put("made-up", "entryLink", {"fromId": "t1", "toId": "t2"})
        tx.put("t1", "task", {"title": "Milk"})
    send(lax, strict)
    assert strict.read("made-up") is None
    assert strict.read("t1") is not None
    with strict.reading() as reader, lax.reading() as other:
        assert reader.knowledge() == other.knowledge()
        assert [held.version for held in reader.quarantined()] == [other.version("made-up")]
        assert [text for text in broken_invariants(reader) if "made-up" in text] == [
            "made-up: in quarantine, kept as it came: made-up is not the id of a entryLink from 't1' to 't2'"
        ]
    assert digest_of(strict) == digest_of(lax)
    assert faults(strict) == []


def test_store_25_a_kept_version_is_sent_on_in_the_same_bytes_and_not_to_a_store_that_has_it(tmp_path: Path) -> None:
    strict, third, lax = new_store(tmp_path, 1), new_store(tmp_path, 2), new_store(tmp_path, 3, LAX)
    take(strict, bad({A: 1}))
    with strict.reading() as reader:
        assert lookups.held_beyond(reader) == [(A, 1, "t")]
    with strict.transaction(NOON, HIGH) as tx:
        tx.adopt({A: 1})
    for receiver in (third, lax):
        assert lacking(strict, receiver)[0] == [bad({A: 1})]
        send(strict, receiver, abort_after=1)
        assert lacking(strict, receiver)[0] == []  # held, though beyond the knowledge
        send(strict, receiver)
    assert kept(third) == [bad({A: 1})]
    assert lax.read("t") is not None
    assert digest_of(strict) == digest_of(third) == digest_of(lax)


def test_store_26_a_later_good_version_takes_its_place(tmp_path: Path) -> None:
    store, other = new_store(tmp_path, 1), new_store(tmp_path, 2)
    take(store, made({A: 1}), bad({A: 1, B: 1}), made({A: 1, B: 1, C: 1}, title="Soap"))
    take(other, made({A: 1, B: 1, C: 1}, title="Soap"))
    assert kept(store) == []
    assert digest_of(store) == digest_of(other)
    assert faults(store) == faults(other) == []


GOOD = made({A: 1})
SEQUENCES = {
    "bad after good": [GOOD, bad({A: 1, B: 1})],
    "good after bad": [GOOD, bad({A: 1, B: 1}), made({A: 1, B: 1, C: 1})],
    "beside each other": [GOOD, bad({B: 1})],
    "two bad ones": [GOOD, bad({B: 1}), bad({C: 1})],
    "a bad one after a bad one": [GOOD, bad({A: 1, B: 1}), bad({A: 1, B: 1, C: 1}, "Venom")],
    "the same clock": [bad({A: 1, B: 1}), made({A: 1, B: 1})],
    "two bad ones with one clock": [bad({B: 1}), bad({B: 1}, "Venom")],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_store_27_the_order_in_which_they_come_makes_no_difference(tmp_path: Path, name: str) -> None:
    digests = set()
    for number, order in enumerate(permutations(SEQUENCES[name]), start=1):
        store = new_store(tmp_path, number)
        take(store, *order)
        digests.add(digest_of(store))
        assert faults(store) == [], order
    assert len(digests) == 1


def test_store_27_what_a_bad_version_has_seen_counts_no_more(tmp_path: Path) -> None:
    """A device that takes the bad version holds nothing else."""
    strict, lax = new_store(tmp_path, 1), new_store(tmp_path, 2, LAX)
    take(strict, GOOD, bad({A: 1, B: 1}))
    take(lax, bad({A: 1, B: 1}))
    assert digest_of(strict) == digest_of(lax)
    assert kept(strict) == [bad({A: 1, B: 1})]
    assert strict.read("t") is not None


def test_store_27_a_local_write_beside_it_counts_again(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    take(store, GOOD, bad({A: 1, B: 1}))
    before = digest_of(store)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "Bread"})
    assert digest_of(store) != before
    assert kept(store) == [bad({A: 1, B: 1})]
    assert faults(store) == []


def test_store_27_one_id_with_two_types_counts_alike_whichever_came_first(tmp_path: Path) -> None:
    one, other = new_store(tmp_path, 1), new_store(tmp_path, 2)
    task, note = made({A: 1}), made({B: 1}, kind="note")
    take(one, task, note)
    take(other, note, task)
    assert (kept(one), kept(other)) == ([note], [task])
    assert digest_of(one) == digest_of(other)
    assert faults(one) == faults(other) == []


def test_store_23_a_write_keeps_to_a_document_and_a_join_to_what_a_frame_carries(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with pytest.raises(Problem, match="a document may have"), store.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x" * MAX_DOCUMENT})
    take(store, *(made({host: 1}, title=f"{host}{'x' * (MAX_DOCUMENT - 100)}") for host in (A, B, C)))
    assert kept(store) == []
    entity = store.read("t")
    assert entity is not None
    assert len(entity.registers["title"]) == 3
    assert faults(store) == []


def test_store_27_what_would_join_to_more_than_fits_is_kept_beside(tmp_path: Path) -> None:
    one, other = new_store(tmp_path, 1), new_store(tmp_path, 2)
    large = [made({host: 1}, title="x" * (MAX_VERSION * 2 // 3)) for host in (A, B)]
    take(one, *large)
    take(other, *reversed(large))
    assert (kept(one), kept(other)) == ([large[1]], [large[0]])
    assert digest_of(one) == digest_of(other)
    settled = made({A: 1, B: 1, C: 1}, title="short")
    take(one, settled)
    take(other, settled)
    assert kept(one) == kept(other) == []
    assert digest_of(one) == digest_of(other)
    assert faults(one) == faults(other) == []


@pytest.mark.parametrize(
    ("entity_id", "clock"),
    [
        ("bad\n", b'{"aaaaaaaaaaaaaaaa":1}'),
        ("t", b"{}"),
        ("t", b"[]"),
        ("t", b'{"aaaaaaaaaaaaaaaa":0}'),
        ("t", b'{"aaaaaaaaaaaaaaaa":9007199254740992}'),
        ("t", b'{"somebody":1}'),
        ("t", b'{"\xff":1}'),
        ("t", b"[" * 100_000),
    ],
)
def test_store_61_what_has_no_id_or_no_clock_has_no_place(tmp_path: Path, entity_id: str, clock: bytes) -> None:
    store = new_store(tmp_path)
    before = dump(store)
    version = Version(entity_id, "task", clock, GOOD.stamps, GOOD.document)
    with pytest.raises(BadVersion), store.transaction(NOON, HIGH) as tx:
        tx.quarantine(version, Sentence("bad"))
    assert dump(store) == before


def test_store_24_whatever_the_bytes_are_they_are_kept(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    raw = Version("t", 'no "type"', b'{"aaaaaaaaaaaaaaaa": 1}', b"\xff\x00", b"\x00\xfe")
    assert clock_of(raw) == {A: 1}
    with store.transaction(NOON, HIGH) as tx:
        tx.quarantine(raw, Sentence("bad"))
    assert kept(store) == [raw]
    assert digest_of(store) == raw.hash()
    assert faults(store) == []


def test_store_9_our_own_future_in_a_bad_version_is_noticed(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        before = tx.host
        tx.quarantine(bad({before: 7}), Sentence("bad"))
        assert tx.host != before


def test_store_20_check_finds_what_was_changed_in_quarantine_by_hand(tmp_path: Path) -> None:
    for number, (change, found) in enumerate(
        {
            "update quarantine set document = x'00'": "not with the hash that was stored",
            "delete from components": "not in the index",
            "delete from quarantine": "the digest is",
            "update quarantine set clock = x'00'": "not with the hash that was stored",
        }.items(),
        start=1,
    ):
        store = new_store(tmp_path, number)
        take(store, bad({A: 1}))
        sqlite.connection(store).execute(change).fetchall()
        assert any(found in text for text in faults(store)), change


def test_store_24_a_reason_keeps_its_words_if_they_are_short_and_else_its_beginning() -> None:
    """STORE-24: three ids of 64 characters are short; their words are longer than what is kept of a long reason."""
    ids = {name: name * 64 for name in "abc"}
    short = Sentence(
        "{a} leads to {b}, and {b} leads to {c}: that is a link too many, since a link has two ends", **ids
    )
    assert len(stored_reason(short)) > MAX_REASON
    assert of_column(stored_reason(short)) == short
    assert of_column(stored_reason(short)).arguments == ids
    long = Sentence("it is bad: {text}", text="x" * MAX_WORDS)
    assert stored_reason(long) == long[:MAX_REASON]
