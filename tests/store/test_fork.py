"""Copies and rollbacks are found, shown and healed, and nothing on either branch is lost (COPY-5 to COPY-8)."""

import contextlib
import tempfile
from collections.abc import Iterator
from itertools import count, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import sqlite
from tests.support.examples import examples
from tests.support.stores import (
    NOON,
    copied,
    digest_of,
    every_version,
    greet,
    meet,
    minting,
    new_store,
    send,
    true_digest,
)

from lottisync.causality.chain import branch_name, genesis
from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import HIGH, Entity
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import Version, close, open_foreign
from lottisync.problem import Sentence
from lottisync.store import chain, damage, fork, lookups, mending
from lottisync.store.chain import value_at
from lottisync.store.check import broken_invariants
from lottisync.store.file_identity import file_identity
from lottisync.store.notice import Notice, mark_shown, read_notices
from lottisync.store.store import Store

DAY = 86_400_000
NUMBERS = count(100)


def faults(store: Store) -> list[str]:
    with store.reading() as reader:
        found = broken_invariants(reader)
    return [text for text in found if "in quarantine, kept as it came" not in text]


def node_at(store: Store, host: Host, counter: int) -> bytes:
    with store.reading() as reader:
        value = value_at(reader, host, counter)
    assert value is not None
    return value


def host_of(store: Store) -> Host:
    with store.reading() as reader:
        return reader.host


def values(store: Store) -> set[tuple[str, str, bytes]]:
    """Every value of every register, siblings too."""
    return {
        (version.id, path, b"deleted" if b'"seen"' in held.value else held.value)
        for version in every_version(store)
        for path, writes in open_foreign(version).registers.items()
        for held in writes
    }


def notices(store: Store) -> list[Notice]:
    with store.reading() as reader:
        return read_notices(reader)


def split(store: Store, *found: bytes) -> bool:
    with store.transaction(NOON, HIGH) as tx:
        return fork.split(tx, found)


def put(store: Store, ident: str, fields: dict[str, Any], now: int = NOON) -> Dot:
    with store.transaction(now, HIGH) as tx:
        return tx.put(ident, "task", fields)


# -- by hand: each kind of rollback


class Rolled:
    """A laptop that is restored from a backup of its second write, when a phone knows five of its writes."""

    def __init__(self, folder: Path) -> None:
        self.phone, laptop = new_store(folder, 1), new_store(folder, 2)
        put(laptop, "t1", {"title": "one"}, NOON)
        put(laptop, "t2", {"title": "two"}, NOON + DAY)
        self.host = host_of(laptop)
        self.backup = copied(laptop, folder / "backup.sqlite", 3)
        for n, title in enumerate(("three", "four", "five"), 3):
            put(laptop, f"t{n}", {"title": title}, NOON + 2 * DAY)
        put(laptop, "t1", {"title": "one, edited"}, NOON + 2 * DAY)
        meet(laptop, self.phone)
        self.before = laptop
        self.laptop = self.backup


@pytest.mark.parametrize(("writes", "what"), [(0, "nothing"), (2, "less"), (4, "exactly"), (7, "past")])
def test_copy_5_a_rollback_is_healed_whatever_was_written_since(tmp_path: Path, writes: int, what: str) -> None:
    """Writing nothing, less than, exactly to, and past what its peers know."""
    world = Rolled(tmp_path)
    laptop, phone = world.laptop, world.phone
    for n in range(writes):
        put(laptop, f"s{n}", {"title": f"since {n}"}, NOON + 3 * DAY)
        put(laptop, "t1", {"title": f"one, again {n}"}, NOON + 3 * DAY) if n == 1 else None
    here, there = values(laptop), values(phone)
    meet(laptop, phone)
    for store in (laptop, phone):
        assert faults(store) == [], what
        survived = {(ident, path) for ident, path, _ in here | there}
        assert {(ident, path) for ident, path, _ in values(store)} == survived
        edited = {value for ident, _, value in values(store) if ident == "t1"}
        assert b'"one, edited"' in edited
        assert (b'"one, again 1"' in edited) == (writes > 1)
        assert host_of(store) != world.host
    assert digest_of(laptop) == digest_of(phone)
    found = notices(laptop)
    assert [(notice.host, notice.counter, notice.at) for notice in found] == [(world.host, 2, NOON + DAY)]
    assert found[0].kept == 4 + writes + (writes > 1)
    put(laptop, "after", {"title": "life goes on"})
    meet(laptop, phone)
    assert digest_of(laptop) == digest_of(phone)


def test_copy_6_one_that_receives_before_it_writes_goes_on_under_a_new_host(tmp_path: Path) -> None:
    world = Rolled(tmp_path)
    greet(world.laptop, world.phone)
    fresh = host_of(world.laptop)
    assert fresh != world.host
    assert put(world.laptop, "new", {"title": "x"}) == Dot(fresh, 1)
    send(world.phone, world.laptop)
    send(world.laptop, world.phone)
    assert digest_of(world.laptop) == digest_of(world.phone)
    with world.phone.reading() as reader:
        assert fork.nodes(reader) == frozenset(), "nothing was written twice, so nothing has parted"


CELLS = [
    ("serialized", b"{"),
    ("serialized", b"{}"),
    ("clock", b""),
    ("clock", b"{}"),
    ("stamps", b"\xff"),
    ("id", b"\xff"),
]


@pytest.mark.parametrize(("column", "held"), CELLS)
def test_store_957_a_damaged_row_stays_damaged_when_its_log_is_divided(
    tmp_path: Path, column: str, held: bytes
) -> None:
    """STORE-957: the division ended with an error, or gave the row a hash as if it were sound. It is mended later."""
    world = Rolled(tmp_path)
    sound, damaged = world.phone, copied(world.phone, tmp_path / "damaged.sqlite", 4)
    sqlite.connection(damaged).execute(
        f"update journal_entities set {column} = cast(? as text) where id = 't5'", (held,)
    ).fetchall()
    with damaged.reading() as reader:
        n = reader.local("select max(n) from rows")[0][0]
        before = damage.row_at(reader, n)
    node = node_at(sound, world.host, 2)
    assert split(sound, node)
    assert split(damaged, node)
    with damaged.reading() as reader, sound.reading() as other:
        assert damage.row_at(reader, n) == before
        assert damage.indexed_clock(reader, n) == other.version("t5").read_clock()  # type: ignore[union-attr]
        version = other.version("t5")
    assert version is not None
    with damaged.transaction(NOON, None) as tx:
        mending.mend(tx, [(version, open_foreign(version))])
    if column != "id":  # a row that has lost its id, too, is named by `check`
        assert digest_of(damaged) == digest_of(sound) == true_digest(damaged)
        assert faults(damaged) == []


def test_store_957_a_row_of_which_only_the_id_is_damaged_has_it_again_before_its_log_is_divided(tmp_path: Path) -> None:
    """STORE-957, MEND-881: under the names of before, it could not be joined any more."""
    world = Rolled(tmp_path)
    sound, damaged = world.phone, copied(world.phone, tmp_path / "damaged.sqlite", 4)
    sqlite.connection(damaged).execute("update journal_entities set id = 'u5' where id = 't5'").fetchall()
    node = node_at(sound, world.host, 2)
    for store in (sound, damaged):
        assert split(store, node)
        assert faults(store) == []
    assert values(damaged) == values(sound)
    assert digest_of(damaged) == digest_of(sound)


def test_copy_5_twice_rolled_back_to_one_backup(tmp_path: Path) -> None:
    world = Rolled(tmp_path)
    again = copied(world.backup, tmp_path / "again.sqlite", 4)
    put(world.laptop, "s1", {"title": "first time"})
    meet(world.laptop, world.phone)
    put(again, "s2", {"title": "second time"})
    put(again, "s3", {"title": "second time"})
    meet(again, world.phone)
    meet(again, world.laptop)
    assert {s.read(i) is not None for s in (again, world.phone, world.laptop) for i in ("s1", "s2", "s3", "t5")} == {
        True
    }
    assert faults(again) == faults(world.phone) == faults(world.laptop) == []
    assert len({digest_of(store) for store in (again, world.phone, world.laptop)}) == 1


def test_copy_5_third_devices_that_met_one_branch_each_are_healed_without_the_owners(tmp_path: Path) -> None:
    """The phones meet first; neither of them is on the log's own device."""
    a = new_store(tmp_path, 1)
    put(a, "t1", {"title": "one"})
    copy = copied(a, tmp_path / "copy.sqlite", 2)
    x, y = new_store(tmp_path, 3), new_store(tmp_path, 4)
    put(a, "a", {"title": "a"})
    put(a, "t1", {"title": "from a"})
    put(copy, "b", {"title": "b"})
    put(copy, "t1", {"title": "from the copy"})
    with copy.transaction(NOON, HIGH) as tx:
        tx.delete("b")
    meet(a, x)
    meet(copy, y)
    meet(x, y)
    assert digest_of(x) == digest_of(y)
    entity = x.read("t1")
    assert entity is not None
    assert len(entity.registers["title"]) == 2
    for store in (a, copy):
        meet(store, x)
    meet(copy, y)
    meet(a, y)
    for store in (a, copy, x, y):
        assert faults(store) == []
        assert digest_of(store) == digest_of(a)
    hosts = [host_of(store) for store in (a, copy, x, y)]
    assert len(set(hosts)) == 4


def test_copy_5_no_branch_keeps_the_old_name_and_counters_stay(tmp_path: Path) -> None:
    a = new_store(tmp_path, 1)
    for n in range(1, 7):
        put(a, f"t{n}", {"title": f"{n}"})
    with a.transaction(NOON, HIGH) as tx:
        tx.delete("t6")
    host, rows = host_of(a), {version.id: version for version in every_version(a)}
    second, fifth = branch_name(node_at(a, host, 3)), branch_name(node_at(a, host, 6))
    with a.reading() as reader:
        places = reader.changes(0, 100)[-1].feed
    assert split(a, node_at(a, host, 2), node_at(a, host, 5))
    assert not split(a, *chain_nodes(a))
    after = {version.id: version for version in every_version(a)}
    assert [after[f"t{n}"] == rows[f"t{n}"] for n in range(1, 7)] == [True, True, False, False, False, False]
    assert [after[f"t{n}"].read_clock() for n in range(1, 6)] == [
        {host: 1},
        {host: 2},
        {host: 2, second: 3},
        {host: 2, second: 4},
        {host: 2, second: 5},
    ]
    entity = open_foreign(after["t6"])
    assert entity.clock == {host: 2, second: 5, fifth: 7}
    assert entity.registers["title"][0].stamp.dot == Dot(fifth, 6)
    assert entity.value("deletedAt")["seen"] == {host: 2, second: 5, fifth: 6}
    with a.reading() as reader:
        assert reader.host not in (host, second, fifth)
        assert reader.knowledge() == {host: 2, second: 5, fifth: 7}
        logs = chain.logs(reader)
        assert [(logs[h].parent, logs[h].end[:2]) for h in (host, second, fifth)] == [
            ("", (1, 2)),
            (host, (3, 5)),
            (second, (6, 7)),
        ]
        assert {change.id for change in reader.changes(places, 100)} == {"t3", "t4", "t5", "t6"}
    assert faults(a) == []
    assert digest_of(a) == true_digest(a)


def chain_nodes(store: Store) -> frozenset[bytes]:
    with store.reading() as reader:
        return fork.nodes(reader)


def test_copy_5_all_that_names_a_write_is_renamed(tmp_path: Path) -> None:
    """Knowledge, what was forgotten, what others said they know, history, notices and what is in quarantine."""
    a = new_store(tmp_path, 1)
    for n in range(1, 6):
        put(a, "t1", {"title": f"{n}"}, NOON + n)
    host = host_of(a)
    kept = close(
        Entity("q", "entryLink", {host: 4}, Registers.of({"title": (Write(Stamp(1, NOON, 0, host, 4), b'"x"'),)}))
    )
    raw = Version("r", "task", b'{"%b":5}' % host.encode(), b"[]", b"{}")
    with a.transaction(NOON, HIGH) as tx:
        for made in (kept, raw):
            tx.quarantine(made, Sentence("made up"))
        tx.execute("insert into forgotten select n, 4 from hosts where host = ?", (host,))
        tx.execute("insert into acknowledged select 'phone', n, 5 from hosts where host = ?", (host,))
        tx.execute("insert into copies values (?, 4, null, 1, null)", (host,))
    branch = branch_name(node_at(a, host, 3))
    assert split(a, node_at(a, host, 2))
    with a.reading() as reader:
        assert reader.knowledge() == {host: 2, branch: 5}
        numbers = dict(reader.local("select n, host from hosts"))
        assert {numbers[n]: c for n, c in reader.local("select host, counter from forgotten")} == {host: 2, branch: 4}
        assert [(d, numbers[n], c) for d, n, c in reader.local("select * from acknowledged")] == [("phone", host, 2)]
        assert [(o.host, o.counter, o.by_host, o.by_counter) for o in reader.overwritten("t1")] == [
            (host, 1, host, 2),
            (host, 2, branch, 3),
            (branch, 3, branch, 4),
            (branch, 4, branch, 5),
        ]
        held = {each.version.id: each for each in reader.quarantined()}
        assert open_foreign(held["q"].version).registers["title"][0].stamp.dot == Dot(branch, 4)
        assert (held["q"].clock, held["r"].clock) == ({host: 2, branch: 4}, {host: 2, branch: 5})
        assert (held["r"].version.stamps, held["r"].version.document) == (raw.stamps, raw.document)
    assert [(n.host, n.counter) for n in notices(a)] == [(branch, 4), (host, 2)]
    assert faults(a) == []


def test_copy_5_a_genesis_is_a_node_when_nothing_is_shared(tmp_path: Path) -> None:
    """COPY-50"""
    a = new_store(tmp_path, 1)
    copy = copied(a, tmp_path / "copy.sqlite", 2)
    put(a, "a", {"title": "a"})
    put(copy, "b", {"title": "b"})
    host = host_of(a)
    meet(a, copy)
    assert digest_of(a) == digest_of(copy)
    assert chain_nodes(a) == {genesis(host)}
    assert faults(a) == faults(copy) == []
    with a.reading() as reader:
        assert host not in reader.knowledge()
        assert reader.count() == 2


def test_copy_5_what_a_kept_version_stands_for_it_stands_for_afterwards(tmp_path: Path) -> None:
    """One that covers the row of its id takes the row's place in the digest, before and after."""
    a = new_store(tmp_path, 1)
    put(a, "t1", {"title": "x"})
    put(a, "t1", {"title": "y"})
    put(a, "t2", {"title": "z"})
    host = host_of(a)
    with a.transaction(NOON, HIGH) as tx:
        tx.quarantine(Version("t1", "task", b'{"%b":3}' % host.encode(), b"[]", b"{}"), Sentence("made up"))
    assert split(a, node_at(a, host, 1))
    assert faults(a) == []


# -- early marks


def test_copy_7_a_copy_at_another_place_has_a_host_of_its_own_before_it_writes(tmp_path: Path) -> None:
    a = new_store(tmp_path, 1)
    put(a, "t1", {"title": "x"})
    host = host_of(a)
    copy = copied(a, tmp_path / "copy.sqlite", 2, detect="early")
    assert host_of(copy) == host, "reading changes nothing"
    other = Store.open(tmp_path / "copy.sqlite", copy.schema, minting(3))
    dot = put(copy, "t2", {"title": "y"}, NOON + DAY)
    assert dot.host != host
    assert dot.counter == 1
    assert put(other, "t3", {"title": "z"}) == Dot(dot.host, 2), "it is settled once"
    assert notices(copy) == [Notice(host, 1, NOON, 0, NOON + DAY, shown=False)]
    copy.close()
    again = Store.open(tmp_path / "copy.sqlite", other.schema, minting(3))
    assert put(again, "t4", {"title": "z"}).host == dot.host
    assert put(a, "t5", {"title": "z"}).host == host
    meet(a, again)
    assert digest_of(a) == digest_of(again)
    assert chain_nodes(a) == frozenset()
    assert notices(a) == []
    assert [(n.counter, n.kept, n.shown) for n in notices(again)] == [(1, 1, False)]


def test_copy_7_a_transaction_that_fails_settles_nothing(tmp_path: Path) -> None:
    a = new_store(tmp_path, 1)
    copy = copied(a, tmp_path / "copy.sqlite", 2, detect="early")
    with contextlib.suppress(RuntimeError), copy.transaction(NOON, HIGH) as tx:
        assert tx.host != host_of(a)
        raise RuntimeError
    assert host_of(copy) == host_of(a)
    assert put(copy, "t1", {"title": "x"}).host != host_of(a)


def test_copy_7_late_leaves_it_to_the_chains(tmp_path: Path) -> None:
    a = new_store(tmp_path, 1)
    put(a, "t1", {"title": "x"})
    copy = copied(a, tmp_path / "copy.sqlite", 2, detect="late")
    assert put(copy, "t2", {"title": "x"}) == Dot(host_of(a), 2)


def test_copy_7_a_copy_can_be_settled_without_a_write(tmp_path: Path) -> None:
    a = new_store(tmp_path, 1)
    put(a, "t1", {"title": "x"})
    copy = copied(a, tmp_path / "copy.sqlite", 2, detect="early")
    copy.settle(NOON)
    fresh = host_of(copy)
    assert fresh != host_of(a)
    copy.settle(NOON)
    a.settle(NOON)
    assert host_of(copy) == fresh
    assert [notice.at for notice in notices(copy)] == [NOON]
    assert notices(a) == []


def test_copy_7_another_machine_is_another_place(tmp_path: Path) -> None:
    """Also for the same file, as on a disk that was moved; without a machine's id the file alone counts."""
    file, absent = tmp_path / "file", tmp_path / "absent"
    ids = [tmp_path / name for name in ("one", "two")]
    for path in (file, *ids):
        path.write_text(f"{path.name}\n")
    assert file_identity(file, (ids[0],)) == file_identity(file, (absent, ids[0])) == f"one/{file.stat().st_ino}"
    assert file_identity(file, (ids[1],)) != file_identity(file, (ids[0],))
    assert file_identity(ids[0], (ids[0],)) != file_identity(file, (ids[0],))
    assert file_identity(file, (absent,)) == f"/{file.stat().st_ino}"


def test_copy_8_a_notice_is_shown_once_and_again_when_more_was_kept(tmp_path: Path) -> None:
    """COPY-18"""
    world = Rolled(tmp_path)
    put(world.laptop, "s1", {"title": "since"})
    greet(world.laptop, world.phone)
    assert [(n.kept, n.shown) for n in notices(world.laptop)] == [(1, False)]
    with world.laptop.transaction(NOON, HIGH) as tx:
        mark_shown(tx, tx.execute)
    assert [(n.kept, n.shown) for n in notices(world.laptop)] == [(1, True)]
    meet(world.laptop, world.phone)
    assert [(n.kept, n.shown) for n in notices(world.laptop)] == [(5, False)]
    with world.laptop.transaction(NOON, HIGH) as tx:
        mark_shown(tx, tx.execute)
    assert all(n.shown for n in notices(world.laptop))


# -- laws


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def state(store: Store) -> dict[str, Any]:
    """All that has to be the same on devices with the same content and nodes; but for its own present host,
    which is nobody else's."""
    with store.reading() as reader:
        own = reader.host
        return {
            "versions": sorted(every_version(store), key=lambda version: version.id),
            "quarantine": sorted((kept.version.canonical(), kept.counted) for kept in reader.quarantined()),
            "digest": reader.digest(),
            "knowledge": {h: c for h, c in reader.knowledge().items() if h != own},
            "held": lookups.held_beyond(reader),
            "logs": {h: (log.parent, log.end) for h, log in chain.logs(reader).items() if h != own and log.end.end},
            "nodes": fork.nodes(reader),
            "history": sorted(reader.local("select * from history")),
        }


class Line:
    """A store with writes of two hosts on three entities, with siblings, deletions and versions kept raw."""

    def __init__(self, folder: Path, data: st.DataObject) -> None:
        folder = folder / f"{next(NUMBERS)}"
        folder.mkdir()
        self.folder = folder
        self.a, self.b = new_store(folder, next(NUMBERS)), new_store(folder, next(NUMBERS))
        self.hosts = [host_of(self.a), host_of(self.b)]
        for step in data.draw(
            st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 2)), max_size=14)
        ):
            self.take(*step)

    def take(self, what: int, which: int, entity: int) -> None:
        store, other = (self.a, self.b) if which else (self.b, self.a)
        if what == 4:
            send(store, other)
        elif what == 3 and store.read(f"t{entity}") is not None:
            with store.transaction(NOON, HIGH) as tx:
                tx.delete(f"t{entity}")
                tx.quarantine(kept_raw(tx.host, tx.counter, entity), Sentence("made up"))
        else:
            put(store, f"t{entity}", {"title": f"{next(NUMBERS)}", "n": what})

    def nodes(self) -> list[bytes]:
        with self.a.reading() as reader:
            return [
                value
                for host, log in chain.logs(reader).items()
                for counter in range(log.end.first - 1, log.end.end + 1)
                if (value := value_at(reader, host, counter)) is not None
            ]

    def copy(self) -> Store:
        return copied(self.a, self.folder / f"copy{next(NUMBERS)}.sqlite", next(NUMBERS))


def kept_raw(host: Host, counter: int, entity: int) -> Version:
    made = {"title": (Write(Stamp(1, NOON, 0, host, counter), b'"kept"'),)}
    return close(Entity(f"t{entity}", "strange", {host: counter}, Registers.of(made)))


@examples(25)
@given(data=st.data())
def test_copy_5_the_order_in_which_nodes_become_known_makes_no_difference(folder: Path, data: st.DataObject) -> None:
    line = Line(folder, data)
    chosen = data.draw(st.lists(st.sampled_from(line.nodes()), unique=True, min_size=1, max_size=3))
    before = values(line.a)
    once = line.copy()
    split(once, *chosen)
    expected = state(once)
    assert faults(once) == []
    assert values(once) == before
    for order in permutations(chosen):
        one_by_one = line.copy()
        for node in order:
            split(one_by_one, node)
        assert state(one_by_one) == expected
        assert faults(one_by_one) == []


@examples(25)
@given(data=st.data())
def test_copy_5_to_split_and_to_join_can_change_places(folder: Path, data: st.DataObject) -> None:
    line = Line(folder, data)
    chosen = data.draw(st.lists(st.sampled_from(line.nodes()), unique=True, min_size=1, max_size=3))
    joined_first, split_first = line.copy(), line.copy()
    other = copied(line.b, line.folder / f"other{next(NUMBERS)}.sqlite", next(NUMBERS))
    send(other, joined_first)
    split(joined_first, *chosen)
    split(split_first, *chosen)
    split(other, *chosen)
    send(other, split_first)
    first, second = state(joined_first), state(split_first)
    for each in (first, second):
        del each["history"]  # is what was overwritten here, and here only
    own = {host_of(joined_first), host_of(split_first), host_of(other)}
    for each in (first, second):
        each["knowledge"] = {h: c for h, c in each["knowledge"].items() if h not in own}
    assert first == second
    assert faults(joined_first) == faults(split_first) == []


class Household:
    """Stores that write, are copied, are restored and meet, in any order; every write has a path of its own, so
    that nothing is ever overwritten and whatever is missing is lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / f"{next(NUMBERS)}"
        self.folder.mkdir()
        self.stores = [self.new(), self.new()]
        self.backups = [self.keep(self.stores[0])]

    def new(self) -> Store:
        return new_store(self.folder, next(NUMBERS))

    def keep(self, store: Store) -> Store:
        number = next(NUMBERS)
        return copied(store, self.folder / f"copy{number}.sqlite", number)

    def take(self, what: str, one: int, two: int) -> None:
        a, b = self.stores[one % len(self.stores)], self.stores[two % len(self.stores)]
        number = next(NUMBERS)
        if what == "write":
            put(a, f"t{two % 3}", {f"p{number}": number})
        elif what == "delete" and a.read(f"t{two % 3}") is not None:
            with a.transaction(NOON, HIGH) as tx:
                tx.delete(f"t{two % 3}")
        elif what == "back up":
            self.backups.append(self.keep(a))
        elif what == "restore":
            self.stores[one % len(self.stores)] = self.keep(self.backups[two % len(self.backups)])
        elif what == "copy" and len(self.stores) < 4:
            self.stores.append(self.keep(a))
        elif what == "cut" and a is not b:
            greet(a, b)
            send(a, b, abort_after=1)
        elif what == "meet" and a is not b:
            before = fields(a, b)
            meet(a, b)
            assert fields(a) == fields(b) == before

    def settle(self) -> None:
        for _ in range(2):
            for a, b in permutations(self.stores, 2):
                meet(a, b)


def fields(*stores: Store) -> set[tuple[str, str, bytes]]:
    return {value for store in stores for value in values(store) if value[1].startswith("p")}


steps = st.tuples(
    st.sampled_from(["write", "write", "write", "delete", "back up", "restore", "copy", "cut", "meet", "meet"]),
    st.integers(0, 3),
    st.integers(0, 5),
)


@examples(40)
@given(taken=st.lists(steps, min_size=4, max_size=18))
def test_copy_5_nothing_on_any_branch_is_lost_and_all_end_equal(
    folder: Path, taken: list[tuple[str, int, int]]
) -> None:
    """COPY-16, COPY-17"""
    house = Household(folder)
    for step in taken:
        house.take(*step)
    before = fields(*house.stores)
    house.settle()
    assert all(fields(store) == before for store in house.stores)
    for n, store in enumerate(house.stores):
        put(store, "last", {f"pLast{n}": n})
    house.settle()
    for store in house.stores:
        assert fields(store) == before | {("last", f"pLast{n}", b"%d" % n) for n in range(len(house.stores))}
        assert faults(store) == []
        assert digest_of(store) == digest_of(house.stores[0])
        with store.reading() as reader, house.stores[0].reading() as other:
            assert reader.knowledge() == other.knowledge()
            assert fork.nodes(reader) == fork.nodes(other)
    hosts = [host_of(store) for store in house.stores]
    assert len(set(hosts)) == len(hosts), "nobody writes under another's name any more"
