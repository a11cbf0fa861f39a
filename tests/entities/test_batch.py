"""A batch that is checked by column is checked no less than each of its versions: ENT-10."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.batches import CHANGES, HOSTS, hostile, plain_entities

from lottisync.causality.hlc import MAX_MILLIS, MAX_TICKS, Hlc
from lottisync.causality.vector_clock import MAX_COUNTER, Dot
from lottisync.entities import batch, version
from lottisync.entities.batch import Columns
from lottisync.entities.entity import Entity
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import MAX_VERSION, BadVersion, Version

STAMP = Stamp(1, 1_000, 3, HOSTS[0], 2)
LATER = Stamp(0, 2_000, 0, HOSTS[1], 1)
GOOD = version.close(
    Entity(
        "t1",
        "task",
        {HOSTS[0]: 2, HOSTS[1]: 1},
        Registers.of({path: (Write(STAMP, b'"x"'),) for path in ("a", "b", "title")} | {"due": (Write(LATER, b"1"),)}),
    )
)
OTHERS = [msgspec.structs.replace(GOOD, id=f"u{number}") for number in range(3)]


ODD_BASE = b'[[0,2000,0,"bbbbbbbbbbbbbbbb",1],{"a":%b,"b":%b,"title":%b},{}]' % (
    (b'[1,1000,3,"aaaaaaaaaaaaaaaa",2]',) * 3
)
"""The stamps of `GOOD`, in full but for the rarest."""


def is_good(made: Version) -> bool:
    try:
        version.open_foreign(made)
    except BadVersion:
        return False
    return True


@pytest.mark.parametrize("part", range(5))
def test_ent_10_one_fault_in_one_version_and_there_is_no_plain_batch(part: int) -> None:
    """ENT-10, ENT-9: every byte of every part, changed in every way."""
    accepted = 0
    for at in range(len(Columns.of([GOOD])[part][0])):
        for change in CHANGES:
            made = hostile(GOOD, part, at, change)
            found = batch.plain([OTHERS[0], made, OTHERS[1]])
            assert found is None or is_good(made), made
            accepted += found is not None
    assert accepted, "some changes leave a good version"


@pytest.mark.parametrize(
    "fault",
    [
        {"clock": b'{"%b":1,"%b":1}' % (HOSTS[0].encode(), HOSTS[1].encode())},
        {"clock": b"{}"},
        {"clock": GOOD.clock[:-1] + b',"cccccccccccccccc":0}'},
        {"clock": GOOD.clock[:-1] + b',"cccccccccccccccc":9007199254740992}'},
        {"clock": GOOD.clock[:-1] + b',"host":1}'},
        {"document": b"{}"},
        {"document": b"{}", "stamps": b'[[0,2000,0,"bbbbbbbbbbbbbbbb",1],{},{}]'},
        # Two stamps, each of one path: the greater one is the base.
        {
            "document": b'{"a":"x","due":1}',
            "stamps": b'[[0,2000,0,"bbbbbbbbbbbbbbbb",1],{"a":[1,1000,3,"aaaaaaaaaaaaaaaa",2]},{}]',
        },
        # The base is named once more, beside others.
        {
            "document": b'{"a":1,"b":1,"c":1,"d":1,"e":1}',
            "stamps": b'[[1,1000,3,"aaaaaaaaaaaaaaaa",2],{"a":[1,1000,3,"aaaaaaaaaaaaaaaa",2]},{}]',
        },
        {"document": GOOD.document.replace(b'"x"', b"1.0", 1)},
        {"document": GOOD.document.replace(b'"x"', b"9007199254740992", 1)},
        {"document": GOOD.document.replace(b'"title"', b'"ti tle"')},
        {"document": GOOD.document.replace(b'"due"', b'"duf"')},
        {"document": b'{"a":"%b"}' % (b"x" * MAX_VERSION)},
        {"stamps": GOOD.stamps.replace(b"[1,1000", b"[2,1000")},
        {"stamps": GOOD.stamps.replace(b"1000,3", b"1000,65536")},
        {"stamps": GOOD.stamps.replace(b"1000,3", b"281474976710656,3")},
        {"stamps": GOOD.stamps.replace(b"1000,3", b"-1,3")},
        {"stamps": GOOD.stamps.replace(b"[0,2000", b"[2,2000")},
        {"stamps": GOOD.stamps.replace(b'b",1]', b'b",2]')},
        {"stamps": GOOD.stamps.replace(b'a",2]', b'a",0]')},
        {"stamps": b"[[0,2000,0,%b,1],{},{}]" % b'"bbbbbbbbbbbbbbbb"'},
        {"stamps": ODD_BASE},
    ],
)
def test_ent_10_a_fault_that_no_single_byte_makes(fault: dict[str, bytes]) -> None:
    """ENT-10, ENT-8."""
    made = msgspec.structs.replace(GOOD, **fault)
    if is_good(made):
        assert batch.plain([made, *OTHERS]) is not None
    else:
        assert batch.plain([*OTHERS, made]) is None
        assert batch.plain([made, *OTHERS]) is None


@settings(max_examples=settings().max_examples // 4)
@given(entities=st.lists(plain_entities, min_size=1))
def test_ent_10_what_is_good_and_plain_comes_out_as_if_opened_singly(entities: list[Entity]) -> None:
    """ENT-10, ENT-11: entities, hashes, stamps and times."""
    versions = [version.close(entity) for entity in entities]
    found = batch.plain(versions)
    assert found is not None
    assert found.opened() == [(made, version.open_foreign(made)) for made in versions]
    assert found.columns.hashes() == [made.hash() for made in versions]
    assert set(found.all_stamps()) == set().union(*(entity.registers.all_stamps() for entity in entities))
    millis = [[stamp.millis for stamp in entity.registers.winning_stamps()] for entity in entities]
    assert found.times() == (list(map(min, millis)), list(map(max, millis)))


@pytest.mark.parametrize(("millis", "ticks"), [(0, 0), (0, MAX_TICKS), (MAX_MILLIS, 0), (MAX_MILLIS, MAX_TICKS)])
def test_ent_10_the_first_and_the_last_reading_and_counter_are_plain(millis: int, ticks: int) -> None:
    """ENT-10, CAUS-2: a batch that was opened one by one for them would cost four times as much."""
    stamp = Stamp(1, millis, ticks, HOSTS[0], MAX_COUNTER)
    registers = Registers.of({"title": (Write(stamp, b'"x"'),)})
    assert batch.plain([version.close(Entity("t1", "task", {HOSTS[0]: MAX_COUNTER}, registers))]) is not None


def of_size(size: int) -> Version:
    """A good version with the longest names, of which clock, stamps and document have this size."""

    def made(length: int) -> Version:
        title = {"title": (Write(STAMP, b'"%b"' % (b"x" * length)),)}
        return version.close(Entity("i" * 128, "t" * 64, {HOSTS[0]: 2}, Registers.of(title)))

    short = made(0)
    return made(size - (short.size() - 128 - 64))


def test_ent_10_the_largest_version_is_plain_and_what_is_larger_is_not() -> None:
    """ENT-10: with the longest names; one that counts them too low takes what `open_foreign` refuses."""
    largest = of_size(MAX_VERSION - 128 - 64)
    assert largest.size() == MAX_VERSION
    assert is_good(largest)
    assert batch.plain([largest]) is not None
    larger = of_size(MAX_VERSION - 128 - 64 + 1)
    assert not is_good(larger)
    assert batch.plain([larger]) is None


def test_columns_of_different_lengths_are_refused_and_not_cut() -> None:
    """A column that is cut would leave an entity out silently."""
    with pytest.raises(ValueError, match="zip"):
        batch.first(["a", "b"], ["task", "task"], 1, [Hlc(1, 0)], HOSTS[0], [1, 2], [b'{"a":1}'] * 2)
    with pytest.raises(ValueError, match="zip"):
        Columns(["a", "b"], ["task", "task"], [b"{}"], [b"[]"] * 2, [b"{}"] * 2).hashes()


def test_first_writes_by_column_are_those_of_each_by_itself() -> None:
    ids, readings, documents = ["a", "b"], [Hlc(1, 0), Hlc(2, 3)], [b'{"title":"x"}', b'{"title":"y"}']
    columns = batch.first(ids, ["task", "label"], 1, readings, HOSTS[0], [4, 5], documents)
    assert [columns.version(at) for at in range(2)] == [
        version.first(ident, kind, 1, reading, Dot(HOSTS[0], counter), document)
        for ident, kind, reading, counter, document in zip(
            ids, ["task", "label"], readings, [4, 5], documents, strict=True
        )
    ]
    found = batch.plain([columns.version(at) for at in range(2)])
    assert found is not None
    assert list(found.column("title")) == ["x", "y"]
    assert list(found.column("due")) == [None, None]


def test_only_what_may_be_plain_looks_plain() -> None:
    """ENT-10: what is left out by this look costs each round four times as much."""
    deleted = {"deletedAt": (Write(STAMP, b'{"at":"2026-01-01T00:00:00.000Z","seen":{}}'),)}
    assert batch.looks_plain(GOOD)
    assert not batch.looks_plain(version.close(Entity("t3", "task", {HOSTS[0]: 2}, Registers.of(deleted))))


def test_a_version_with_siblings_is_good_and_not_plain() -> None:
    """ENT-10: also where a caller has not asked `looks_plain` first."""
    both = {"title": (Write(STAMP, b'"x"'), Write(LATER, b'"y"'))}
    contested = version.close(Entity("t2", "task", {HOSTS[0]: 2, HOSTS[1]: 1}, Registers.of(both)))
    assert is_good(contested)
    assert not batch.looks_plain(contested)
    assert batch.plain([*OTHERS, contested]) is None
