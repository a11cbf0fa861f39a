"""The path by column and the path of a single version are one law: STORE-90, STORE-91.

Both get the same batches, one after the other, in transactions that are rolled back. Every table, what was unusual,
and every error must be the same.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.batches import (
    HOSTS,
    IDS,
    REACH,
    TYPES,
    EditPart,
    batches,
    edit_parts,
    edited,
    entities,
    plain_entities,
    versions,
)
from tests.support.stores import NOON, new_store, with_chains

from lottisync.causality.vector_clock import Host
from lottisync.device.membership import Strangers
from lottisync.entities import batch, canonical, version
from lottisync.entities.entity import HIGH, LOW, Entity, write
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import MAX_DOCUMENT, Version
from lottisync.protocol import message as m
from lottisync.store.merge import Merge
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction
from lottisync.store.write_buffer import GATHERED_ROWS, HISTORY_PER_FIELD
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
            except Exception as error:  # noqa: BLE001 - compared with what the other way raises
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
    receive = receiving(store, rounds, HOSTS[2] if which == 1 else own)
    assert outcome(BY_COLUMN, store, receive, None) == outcome(SINGLY, store, receive, None)


class _Stranger(Strangers):
    """One host is a stranger's."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def among(self, tx: Merge, hosts: Iterable[Host]) -> Host | None:
        return self._host if self._host in hosts else None


def receiving(store: Store, rounds: list[list[Version]], strange: Host) -> Callable[[Merge], object]:
    def receive(tx: Merge) -> object:
        incoming = Incoming(
            m.Begin(1, "journal", {HOSTS[0]: 2}, {}, behind=False, count=1), Agreement("journal", store)
        )
        outcomes: list[object] = []
        for some in rounds:
            try:
                taken = incoming.batch(tx, some, _Stranger(strange))
            except Unacceptable as error:
                outcomes.append((error.code, str(error)))
            else:
                outcomes.append((taken, incoming.arrived, sorted(incoming.held)))
        return outcomes

    return receive


@FEWER
@given(
    which=st.integers(0, 2),
    before=entities,
    changes=st.lists(st.lists(edit_parts, max_size=2), min_size=4, max_size=10),
    odd=st.just([]) | st.lists(versions, max_size=2),
    at=st.integers(0, 9),
    again=st.booleans(),
)
def test_store_644_edits_that_are_joined_by_column_are_as_if_they_were_joined_one_by_one(
    stores: list[Store],
    which: int,
    before: list[Entity],
    changes: list[list[EditPart]],
    odd: list[Version],
    at: int,
    again: bool,
) -> None:
    """STORE-644: also where what is here has siblings or is deleted, where an edit has not seen all of it, where a
    write has two meanings, and where some of the batch is unusual."""
    store = stores[which]
    later = [edited(entity, each) for entity, each in zip(before, changes, strict=False)]
    mixed = [*later[:at], *odd, *later[at:]]
    rounds = [[version.close(entity) for entity in before], mixed, *([later] if again else [])]
    receive = receiving(store, rounds, Host("f" * 16))
    assert outcome(BY_COLUMN, store, receive, None) == outcome(SINGLY, store, receive, None)


EDITED = Entity(
    "t1",
    "task",
    {HOSTS[0]: 2},
    Registers.of(
        {
            each: (Write(Stamp(HIGH, NOON, 0, HOSTS[0], 2), canonical.encode(value)),)
            for each, value in {"createdAt": "2026", "title": "a", "n": 1, "kind": "x"}.items()
        }
    ),
)
BY_B = Stamp(HIGH, NOON + 1, 0, HOSTS[1], 3)


UNDATED = Entity(
    EDITED.id,
    EDITED.type,
    EDITED.clock,
    Registers.of({each: held for each, held in EDITED.registers.items() if each != "createdAt"}),
)
"""No text says when this one was made, as with most types of other people's programs."""


def at_title(entity: Entity, value: Any, stamp: Stamp) -> Version:
    registers = {**entity.registers, "title": (Write(stamp, canonical.encode(value)),)}
    seen = {**entity.clock, stamp.host: max(stamp.counter, entity.clock.get(stamp.host, 0))}
    return version.close(Entity("t1", "task", seen, Registers.of(registers)))


def odd_edits(entity: Entity) -> dict[str, Version]:
    all_of_it = {each: canonical.encode(f"new {each}") for each in entity.registers}
    return {
        "usual": at_title(entity, "b", BY_B),
        "the same value again": at_title(entity, "a", BY_B),
        "a write with two meanings": at_title(entity, "b", Stamp(HIGH, NOON, 0, HOSTS[0], 2)),
        "a write from before": at_title(entity, "b", Stamp(HIGH, NOON, 0, HOSTS[0], 1)),
        "nothing but what was seen": version.close(Entity("t1", "task", {HOSTS[0]: 4}, entity.registers)),
        "what is here was not seen": version.close(
            Entity("t1", "task", {HOSTS[0]: 1, HOSTS[1]: 3}, Registers.of({"title": (Write(BY_B, b'"b"'),)}))
        ),
        "a register less": version.close(
            Entity("t1", "task", {HOSTS[0]: 2, HOSTS[1]: 3}, Registers.of({"title": (Write(BY_B, b'"b"'),)}))
        ),
        "another type": version.close(Entity("t1", "entry", {HOSTS[0]: 2, HOSTS[1]: 3}, entity.registers)),
        "an indexed column": version.close(write(entity, {"kind": b'"y"', "createdAt": b'"2027"'}, BY_B)),
        "most of it": version.close(write(entity, {"kind": b'"y"', "n": b"2", "title": b'"b"'}, BY_B)),
        "all of it": version.close(write(entity, all_of_it, BY_B)),
        "all of it, earlier": version.close(write(entity, all_of_it, BY_B._replace(millis=NOON - 1))),
        "a value that Python takes for the same": version.close(write(entity, {"n": b"true"}, BY_B)),
    }


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("edit", odd_edits(EDITED))
@pytest.mark.parametrize("entity", [EDITED, UNDATED])
def test_store_644_an_edit_beside_others(stores: list[Store], entity: Entity, edit: str, damaged: bool) -> None:
    others = [version.close(Entity(f"u{n}", "task", {HOSTS[0]: 2}, entity.registers)) for n in range(3)]
    usual = [version.close(write(version.open_foreign(each), {"n": b"2"}, BY_B)) for each in others]
    rounds = [[version.close(entity), *others], [usual[0], odd_edits(entity)[edit], *usual[1:]]]
    receive = receiving(stores[0], rounds[1:], Host("f" * 16))

    def act(tx: Merge) -> object:
        receiving(stores[0], rounds[:1], Host("f" * 16))(tx)
        if damaged:
            damage = """replace(serialized, '"title":"a"', '"title":"c"')"""
            tx.execute(f"update journal_entities set serialized = {damage} where id = 't1'")
        return receive(tx)

    assert outcome(BY_COLUMN, stores[0], act, None) == outcome(SINGLY, stores[0], act, None)


@pytest.mark.parametrize("entity", [EDITED, UNDATED])
def test_store_645_usual_edits_are_not_joined_one_by_one(stores: list[Store], entity: Entity) -> None:
    some = [version.close(Entity(f"u{n}", "task", {HOSTS[0]: 2}, entity.registers)) for n in range(20)]
    usual = [version.close(write(version.open_foreign(each), {"title": b'"b"'}, BY_B)) for each in some]
    singly: list[str] = []
    join = Merge._join_one

    def counted(tx: Merge, row: Any, incoming: Version, *rest: Any) -> bool:
        singly.append(incoming.id)
        return join(tx, row, incoming, *rest)

    def act(tx: Merge) -> object:
        return receiving(stores[0], [some, [*usual[:9], at_title(entity, "b", BY_B), *usual[9:]]], Host("f" * 16))(tx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Merge, "_join_one", counted)
        outcome(BY_COLUMN, stores[0], act, None)
    assert singly == ["t1"]


fields = st.dictionaries(
    st.sampled_from(["title", "createdAt", "taskId", "kind", "labels", "labels/x", "n", "deletedAt", "no path"]),
    st.sampled_from(["", "word", "t1", 1, 2**60, 1.0, 1.5, None, {"x": True}, {"x": 1, "y/z": "~"}, [1], "\ud800"]),
    max_size=4,
)
usual = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["a", "b"]),
        "taskId": st.sampled_from(["t1", "", 1, None]),
        "labels": st.sampled_from([{"x": True}, {"x": 1}]),
    }
)
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

    def write(put_all: PutAll) -> Callable[[Transaction], None]:
        def act(tx: Transaction) -> None:
            put_all(tx, [*many, *odd], precedence)
            tx.put("t0", "task", {"title": "After it"})

        return act

    assert written(write, together, stores[which], transaction) == written(write, singly, stores[which], transaction)


Entry = tuple[str, str, Mapping[str, Any]]
PutAll = Callable[[Transaction, list[Entry], int | None], None]


def together(tx: Transaction, some: list[Entry], precedence: int | None = None) -> None:
    tx.put_all(some, precedence=precedence)


def singly(tx: Transaction, some: list[Entry], precedence: int | None = None) -> None:
    for each in some:
        tx.put(*each, precedence=precedence)


def written(
    act: Callable[[PutAll], Callable[[Transaction], None]], put_all: PutAll, store: Store, precedence: int
) -> object:
    return outcome(BY_COLUMN, store, act(put_all), precedence)


MADE = "2026-01-01T00:00:00.000Z"
ABSENT = object()


def begun(made_at: object) -> dict[str, Any]:
    return {"title": "", "n": 1} | ({} if made_at is ABSENT else {"createdAt": made_at})


usual_edits = st.dictionaries(
    st.sampled_from(["title", "n", "labels", "labels/x", "createdAt"]),
    st.sampled_from(["", "word", 1, 1.5, None, MADE]),
    min_size=1,
    max_size=3,
)
to_edit = st.lists(st.sampled_from(IDS[:20]), min_size=2, unique=True)


@settings(FEWER, max_examples=settings().max_examples)
@given(
    which=st.integers(0, 1),
    before=to_edit,
    created=st.just([MADE] * 20)
    | st.just([ABSENT] * 20)
    | st.lists(st.sampled_from([MADE, "x", 1, None, ABSENT]), min_size=20, max_size=20),
    received=st.just([]) | st.lists(plain_entities, max_size=2),
    rounds=st.lists(
        st.lists(usual_edits, min_size=20, max_size=20) | st.lists(usual | fields, min_size=20, max_size=20),
        min_size=1,
        max_size=3,
    ),
    odd=st.just([]) | st.lists(writes, max_size=2),
    at=st.integers(0, 9),
    precedence=st.sampled_from([None, LOW, HIGH]),
    transaction=st.sampled_from([HIGH, HIGH, LOW]),
)
def test_store_91_what_is_edited_by_column_is_as_if_it_was_edited_one_by_one(
    stores: list[Store],
    which: int,
    before: list[str],
    created: list[Any],
    received: list[Entity],
    rounds: list[list[Mapping[str, Any]]],
    odd: list[Entry],
    at: int,
    precedence: int | None,
    transaction: int,
) -> None:
    """STORE-91: also where some of what is edited came from others, is not here, is deleted or in conflict."""
    store = stores[which]
    receive = receiving(store, [list(map(version.close, received))], Host("f" * 16))

    def write(put_all: PutAll) -> Callable[[Transaction], None]:
        def act(tx: Transaction) -> None:
            tx.put_all([(ident, "entry", begun(at)) for ident, at in zip(before, created, strict=False)])
            if received:
                receive(tx)
            for each in rounds:
                tx.finish()
                tx.now += 1000
                some: list[Entry] = [(ident, "entry", edit) for ident, edit in zip(before, each, strict=False)]
                put_all(tx, [*some[:at], *odd, *some[at:]], precedence)

        return act

    assert written(write, together, store, transaction) == written(write, singly, store, transaction)


UNLIKE = ["nothing", "another type", "an id twice", "a deletion", "too large", "damaged", "in conflict", "waiting"]


@pytest.mark.parametrize("unlike", UNLIKE)
def test_store_91_an_edit_among_others(stores: list[Store], unlike: str) -> None:
    """STORE-91."""

    def write(put_all: PutAll) -> Callable[[Transaction], None]:
        def act(tx: Transaction) -> None:
            tx.put_all([(f"u{n}", "entry", {"title": "a", "createdAt": MADE}) for n in range(12)])
            tx.finish()
            if unlike == "damaged":
                damage = """replace(serialized, '"title":"a"', '"title":"c"')"""
                tx.execute(f"update journal_entities set serialized = {damage} where id = 'u5'")
            if unlike == "in conflict":
                tx.put("u5", "entry", {"title": "b"}, seen={})
                tx.finish()
            if unlike == "waiting":
                tx.put("u5", "entry", {"title": "b"})
            edits: dict[str, tuple[str, dict[str, Any]]] = {
                f"u{n}": ("entry", {"title": f"edited {n}"}) for n in range(12)
            }
            if unlike == "another type":
                edits["u5"] = ("task", {"title": "b"})
            if unlike == "a deletion":
                edits["u5"] = ("entry", {"title": "b", "deletedAt": None})
            if unlike == "too large":
                edits["u5"] = ("entry", {"note": "x" * (MAX_DOCUMENT - 20)})
            some: list[Entry] = [(ident, *each) for ident, each in edits.items()]
            put_all(tx, [*some, *(some[5:6] if unlike == "an id twice" else [])], LOW)
            tx.put("u1", "entry", {"title": "After it"})

        return act

    assert written(write, together, stores[1], HIGH) == written(write, singly, stores[1], HIGH)


@pytest.mark.parametrize("dated", [True, False])
def test_usual_edits_are_not_written_one_by_one(stores: list[Store], dated: bool) -> None:
    """One by one they take half as long again."""
    apart: list[str] = []
    kept = {"createdAt": "2026"} if dated else {"kept": 1}

    def write(tx: Transaction) -> None:
        tx.put_all([(f"u{n}", "entry", {"title": "a"} | kept) for n in range(20)])
        tx.now += 1000
        tx.put_all([(f"u{n}", "entry", {"title": "b"} | (kept if dated else {})) for n in range(20)])
        tx.put_all([(f"u{n}", "entry", {"n": n}) for n in range(5, 15)])
        tx.put_all([("u0", "entry", {"createdAt": "2027"})])

    def counted(tx: Transaction, entity_id: str, *rest: Any, **more: Any) -> None:
        apart.append(entity_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "put", counted)
        outcome(BY_COLUMN, stores[0], write, HIGH)
    assert apart == ["u0"]


def test_the_history_of_many_edits_by_column_is_kept_short_meanwhile(tmp_path: Path) -> None:
    """STORE-16: what is to be looked through when the transaction ends stays little."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put_all([(f"u{n}", "entry", {"title": "a", "createdAt": MADE}) for n in range(200)])
        for number in range(150):
            tx.put_all([(f"u{n}", "entry", {"title": str(number), "n": number}) for n in range(200)])
            assert len(tx._buffer._overwritten) < GATHERED_ROWS
    with store.reading() as reader:
        assert len(reader.overwritten("u7")) == 2 * HISTORY_PER_FIELD
    store.close()
