"""Chain logs of all hosts: what is held, what is sent, and what is refused (COPY-1 to COPY-4)."""

import hashlib
from pathlib import Path

import pytest
from tests.support.stores import NOON, copied, dump, greet, meet, new_store, part_beyond, send, send_chains

from lottisync.causality.chain import VALUE_BYTES, ChainPart, LogEnd, branch_name, chained, genesis
from lottisync.causality.vector_clock import MAX_COUNTER, Host
from lottisync.entities.entity import HIGH
from lottisync.store import chain, fork
from lottisync.store.chain import SEGMENT_VALUES, value_at
from lottisync.store.check import broken_invariants
from lottisync.store.peer_chain import BadChain, Gap, extend
from lottisync.store.store import Store

STRANGER = Host("5" * 16)


def value(number: int) -> bytes:
    return number.to_bytes(VALUE_BYTES, "big")


def stretch(first: int, last: int, before: bytes | None = None, host: Host = STRANGER, parent: str = "") -> ChainPart:
    """ChainPart of a made-up host: the value at a counter is the counter."""
    ahead = before if before is not None else genesis(host) if first == 1 else value(first - 1)
    return ChainPart(host, parent, first, ahead, b"".join(value(n) for n in range(first, last + 1)))


def write(store: Store, count: int, *, apart: bool = False) -> None:
    """`count` writes, in one transaction or each in one of its own."""
    for turn in range(count if apart else 1):
        with store.transaction(NOON, HIGH) as tx:
            for n in range(1 if apart else count):
                tx.put(f"{tx.host}-{tx.counter}-{turn}-{n}", "task", {"title": "x"})


def taken(store: Store, *all_parts: ChainPart) -> bytes | None:
    node = None
    for part in all_parts:
        with store.transaction(NOON, HIGH) as tx:
            node = extend(tx, part)
    return node


def end(store: Store, host: Host = STRANGER) -> LogEnd:
    with store.reading() as reader:
        return chain.log_ends(reader)[host]


def test_a_part_of_a_chain_ends_at_its_last_value() -> None:
    assert ChainPart(STRANGER, "", 3, bytes(16), bytes(2 * VALUE_BYTES)).end == 4


def test_copy_1_values_and_names_to_the_byte() -> None:
    assert genesis(STRANGER) == hashlib.sha256(b"lottisync/chain/1\x00" + b"5" * 16).digest()[:16]
    first = hashlib.sha256(b"a" * 16 + b"b" * 32).digest()[:16]
    second = hashlib.sha256(first + b"c" * 32).digest()[:16]
    assert chained(b"a" * 16, [b"b" * 32, b"c" * 32]) == [first, second]
    assert chained(b"a" * 16, []) == []
    assert branch_name(value(7)) == hashlib.sha256(b"lottisync/branch/1\x00" + value(7)).hexdigest()[:16]


def test_copy_2_the_log_of_every_host_is_held_at_every_counter(tmp_path: Path) -> None:
    a, b, c = (new_store(tmp_path, n) for n in (1, 2, 3))
    write(a, 130, apart=True)
    write(b, 3)
    send(a, b)
    send(b, c)
    with a.reading() as one, b.reading() as two, c.reading() as three:
        host, middle = one.host, two.host
        for counter in range(131):
            assert value_at(one, host, counter) == value_at(three, host, counter) is not None
        assert value_at(three, host, 0) == genesis(host)
        assert value_at(three, host, 131) is value_at(three, host, -1) is value_at(three, STRANGER, 0) is None
        assert chain.log_ends(three)[host] == LogEnd(1, 130, value_at(one, host, 130) or b"")
        assert chain.log_ends(three)[middle].end == 3
        assert chain.log_ends(three)[three.host] == LogEnd(1, 0, genesis(three.host))
        assert broken_invariants(three) == []


def test_copy_2_a_log_is_the_same_however_its_writes_were_spread(tmp_path: Path) -> None:
    one, many = new_store(tmp_path, 1), new_store(tmp_path, 2)
    for store in (one, many):
        assert taken(store, stretch(1, 1)) is None
    assert taken(one, stretch(2, 5_000)) is None
    for first in range(2, 5_001, 17):
        assert taken(many, stretch(first, min(first + 16, 5_000))) is None
    for store in (one, many):
        with store.reading() as reader:
            for first, limit in ((1, 5_000), (1, 7), (58, 9), (999, 2_500), (5_000, 1), (4_999, 50)):
                expected = stretch(first, min(first + limit - 1, 5_000))
                assert part_beyond(reader, STRANGER, first - 1, limit) == expected
            assert part_beyond(reader, STRANGER, 5_000, 10) is None
            assert part_beyond(reader, Host("6" * 16), 0, 10) is None
            held, rows = reader.local("select sum(length(segment)), count(*) from chain")[0]
        assert held == 5_000 * VALUE_BYTES
        assert rows <= 5_000 / (SEGMENT_VALUES - 17) + 1
    assert max(len(row[0]) for row in _segments(one)) == SEGMENT_VALUES * VALUE_BYTES


def _segments(store: Store) -> list[tuple[bytes]]:
    with store.reading() as reader:
        return [(bytes(part),) for (part,) in reader.local("select segment from chain")]


def test_copy_4_links_that_overlap_and_agree_are_taken_for_what_is_new(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert taken(store, stretch(1, 10), stretch(4, 8), stretch(5, 14), stretch(15, 15), stretch(1, 15)) is None
    assert end(store) == LogEnd(1, 15, value(15))


@pytest.mark.parametrize("parts_at", [1, 2, 9, 10])
def test_copy_4_chains_that_part_give_the_last_equal_value_and_store_nothing(tmp_path: Path, parts_at: int) -> None:
    """COPY-15"""
    store = new_store(tmp_path)
    taken(store, stretch(1, 10))
    before = dump(store)
    good = stretch(1, 12)
    at = (parts_at - 1) * VALUE_BYTES
    parted = good._replace(values=good.values[:at] + b"\xff" * VALUE_BYTES + good.values[at + VALUE_BYTES :])
    assert taken(store, parted) == (value(parts_at - 1) if parts_at > 1 else genesis(STRANGER))
    assert dump(store) == before
    assert end(store) == LogEnd(1, 10, value(10))


def test_copy_4_links_that_do_not_reach_to_what_is_here_leave_a_gap(tmp_path: Path) -> None:
    """COPY-15"""
    store = new_store(tmp_path)
    for absent in (stretch(2, 3), stretch(1, 1, value(9), Host("7" * 16), parent=STRANGER)):
        with pytest.raises(Gap):
            taken(store, absent)
    taken(store, stretch(1, 3))
    with pytest.raises(Gap, match="begins at 5, and the one here ends at 3"):
        taken(store, stretch(5, 6))
    assert end(store).end == 3


@pytest.mark.parametrize(
    "impossible",
    [
        stretch(1, 2)._replace(values=b""),
        stretch(1, 2)._replace(values=b"x" * 17),
        stretch(1, 2)._replace(before=b""),
        stretch(1, 2)._replace(first=0),
        stretch(1, 2)._replace(first=MAX_COUNTER),
        stretch(1, 2)._replace(before=value(7)),
        stretch(4, 6)._replace(before=value(7)),
        stretch(4, 6)._replace(parent="0" * 16),
    ],
)
def test_copy_4_links_that_cannot_be_are_refused(tmp_path: Path, impossible: ChainPart) -> None:
    """COPY-15"""
    store = new_store(tmp_path)
    if impossible.first == 4:
        taken(store, stretch(1, 5))
    before = dump(store)
    with pytest.raises(BadChain):
        taken(store, impossible)
    assert dump(store) == before


def test_copy_32_a_closed_host_is_not_extended(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    taken(store, stretch(1, 3))
    with store.transaction(NOON, HIGH) as tx:
        assert fork.split(tx, [value(3), value(6)])
    assert taken(store, stretch(1, 3)) is None, "what is here already does no harm"
    assert taken(store, stretch(4, 5)) == value(3)
    other = new_store(tmp_path, 2)
    with other.transaction(NOON, HIGH) as tx:
        assert fork.split(tx, [value(3), genesis(Host("8" * 16))])
    assert taken(other, stretch(1, 4)) == value(3)
    assert taken(other, stretch(1, 2), stretch(3, 3)) is None, "up to the node it is open"
    assert taken(other, stretch(1, 1, host=Host("8" * 16))) == genesis(Host("8" * 16))


def test_copy_33_a_branch_is_taken_where_its_node_is_known_and_its_name_fits(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    taken(store, stretch(1, 3))
    values = value(40) + value(50)
    branch = ChainPart(branch_name(value(40)), STRANGER, 4, value(3), values)
    assert taken(store, branch) == value(3), "nobody has said here that this is a node"
    with store.transaction(NOON, HIGH) as tx:
        fork.split(tx, [value(3)])
    with pytest.raises(BadChain, match="does not begin where"):
        taken(store, branch._replace(before=value(2)))
    with pytest.raises(Gap, match="does not begin at"):
        taken(store, branch._replace(host=Host("7" * 16)))
    with pytest.raises(Gap, match="ends before"):
        taken(store, branch._replace(first=9))
    assert taken(store, branch) is None
    with store.reading() as reader:
        assert chain.log_ends(reader)[branch.host] == LogEnd(4, 5, value(50))
        assert value_at(reader, branch.host, 3) == value(3)
        assert part_beyond(reader, branch.host, 0, 1) == branch._replace(values=value(40))
        assert part_beyond(reader, branch.host, 4, 9) == branch._replace(first=5, before=value(40), values=value(50))
        assert [h for h in chain.log_ends(reader) if h in (STRANGER, branch.host)] == [STRANGER, branch.host]
        assert broken_invariants(reader) == []
    assert taken(store, branch._replace(first=6, before=value(50), values=value(60))) is None
    with store.transaction(NOON, HIGH) as tx:
        assert fork.split(tx, [value(60)])
    assert taken(store, branch._replace(first=7, before=value(60), values=value(70))) == value(60)


def test_copy_6_values_of_our_own_host_beyond_our_counter_give_us_a_new_host(tmp_path: Path) -> None:
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    write(a, 2)
    rolled = copied(a, tmp_path / "rolled.sqlite", 3)
    write(a, 3)
    send(a, b)
    assert send_chains(b, rolled) is None
    with rolled.reading() as reader, a.reading() as other:
        assert reader.host != other.host
        assert reader.counter == 0
        assert reader.knowledge()[other.host] == 2, "links are not entities"
        assert broken_invariants(reader) == []
    write(rolled, 1)
    meet(rolled, b)
    with rolled.reading() as reader:
        assert reader.count() == 6
        assert broken_invariants(reader) == []


def test_copy_3_logs_come_parents_first(tmp_path: Path) -> None:
    """COPY-13, COPY-30, COPY-31: so that a new device can take them in the order in which they are listed."""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    write(a, 6)
    copy = copied(a, tmp_path / "copy.sqlite", 3)
    write(a, 6)
    with a.transaction(NOON, HIGH) as tx:
        fork.split(tx, [value_at(tx, tx.host, n) or b"" for n in (9, 3, 11, 1)] + [genesis(tx.host)])
    greet(a, copy)
    send(a, copy)
    meet(copy, b)
    with b.reading() as reader, a.reading() as other:
        logs = chain.logs(reader)
        places = list(logs)
        assert all(log.parent == "" or places.index(Host(log.parent)) < places.index(h) for h, log in logs.items())
        assert sum(bool(log.parent) for log in logs.values()) == 5
        assert {h: (log.parent, log.end) for h, log in logs.items() if log.parent} == {
            h: (log.parent, log.end) for h, log in chain.logs(other).items() if log.parent
        }
        assert broken_invariants(reader) == []
