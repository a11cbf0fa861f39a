"""Taking back what was done here, and never a later write: CLI-140 to CLI-146."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.rounds import send
from tests.support.stores import NOON, new_store

from lottisync.device import acts, reversal
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, is_deleted
from lottisync.entities.registers import Stamp
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.store.check import broken_invariants
from lottisync.store.instant import iso
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction


class Stopped(Exception):
    """Something went wrong in the middle of an act."""


HERE, THERE = "terminal 1", "terminal 2"


def named(path: str, stamp: Stamp) -> str:
    return f"{'somebody' if stamp.precedence == HIGH else 'a program'} on {stamp.host[:8]}"


def undo(store: Store, place: str = HERE, number: int | None = None) -> acts.Act:
    with store.reading() as reader:
        act = acts.last_of(reader, place) if number is None else acts.numbered(reader, number)
    return reversal.take_back(store, NOON, place, act, named)


def views(store: Store) -> dict[str, dict[str, Any]]:
    """What every live entity shows; a register that holds null shows nothing."""
    with store.reading() as reader:
        found = {change.id: reader.entity(change.id) for change in reader.changes(0, 10_000) if not change.deleted}
        return {
            ident: {path: value for path, value in entity.document().items() if value is not None}
            for ident, entity in found.items()
            if entity is not None
        }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = new_store(tmp_path)
    yield opened
    opened.close()


def add(store: Store, title: str = "Milk", *items: str, place: str = HERE) -> str:
    ident = f"t-{title}"
    with acts.acting(store, NOON, place, "added") as tx:
        tasks.add_task(tx, ident, title)
        for item in items:
            tasks.add_item(tx, f"i-{item}", ident, item)
    return ident


def edit(store: Store, ident: str, place: str = HERE, **fields: Any) -> None:
    with acts.acting(store, NOON, place, "changed") as tx:
        tx.put(ident, "task", fields)


def test_cli_140_acts_are_taken_back_one_by_one_the_last_first(store: Store) -> None:
    """CLI-140: each leaves what was there before it, down to nothing."""
    pictures = [views(store)]
    for act in (
        lambda: add(store, "Milk", "bottles"),
        lambda: edit(store, "t-Milk", title="Oat milk", due="2026-12-01"),
        lambda: edit(store, "t-Milk", title="Soy milk"),
        lambda: _delete(store, "t-Milk"),
    ):
        act()
        pictures.append(views(store))
    while pictures:
        assert views(store) == pictures.pop()
        if pictures:
            undo(store)
    with pytest.raises(Problem, match="nothing that was done from here"):
        undo(store)
    with store.reading() as reader:
        assert broken_invariants(reader) == []


def _delete(store: Store, ident: str) -> None:
    with acts.acting(store, NOON, HERE, "deleted") as tx:
        tx.delete(ident)


def test_cli_141_to_undo_an_undo_is_to_do_it_again(store: Store) -> None:
    """CLI-141"""
    add(store, "Milk", "bottles")
    edit(store, "t-Milk", title="Oat milk")
    done = views(store)
    first = undo(store)
    again = undo(store, number=first.n)
    assert (views(store), again.redo, again.said) == (done, True, "did again (changed: Oat milk)")
    with pytest.raises(Problem, match=f"taken back already, by act {again.n}"):
        undo(store, number=first.n)
    assert undo(store).undoes == again.n
    assert undo(store).undoes == 1, "then the act before it"
    assert views(store) == {}
    undo(store, number=6)
    assert views(store)["t-Milk"]["title"] == "Milk"


@pytest.mark.parametrize("gone", [True, False], ids=["deleted before", "there before"])
@pytest.mark.parametrize(
    "verbs",
    [("bring back", "edit", "delete"), ("bring back", "delete"), ("bring back", "edit", "delete", "bring back")],
    ids=" ".join,
)
def test_cli_141_what_was_brought_back_and_deleted_in_one_act_can_be_done_again(
    store: Store, verbs: tuple[str, ...], gone: bool
) -> None:
    """CLI-140, CLI-141: the undo of an act that ends as it began can be taken back, too, any number of times."""
    milk = add(store)
    with store.transaction(NOON, HIGH) as tx:
        if gone:
            tx.delete(milk)
    before = views(store)
    with acts.acting(store, NOON, HERE, "changed") as tx:
        for verb in verbs if gone else verbs[::-1]:
            if verb == "edit":
                tx.put(milk, "task", {"title": "Oat milk"})
            elif verb == "delete":
                tx.delete(milk)
            else:
                tx.undelete(milk)
    after = views(store)
    last = undo(store)
    for shown in (after, before, after, before):
        assert (last := undo(store, number=last.n)) is not None
        assert views(store) == shown
    with store.reading() as reader:
        assert broken_invariants(reader) == []


def test_cli_142_only_what_was_done_from_here(store: Store) -> None:
    """CLI-142: the plain undo; another terminal's act is taken back by its number."""
    add(store, "Milk")
    add(store, "Bread", place=THERE)
    assert undo(store).undoes == 1
    assert views(store).keys() == {"t-Bread"}
    undo(store, number=2)
    assert views(store) == {}


def test_cli_143_a_later_edit_is_named_and_left_alone(store: Store, tmp_path: Path) -> None:
    """CLI-143"""
    phone = new_store(tmp_path, 2)
    add(store)
    edit(store, "t-Milk", title="Oat milk", due="2026-12-01")
    send(store, phone)
    with phone.transaction(NOON + 1, LOW) as tx:
        tx.put("t-Milk", "task", {"title": "Soy milk"})
    send(phone, store)
    before = views(store)
    with pytest.raises(Problem, match=r"'Soy milk' was changed since, by a program on 00000002: title is \"Soy milk\""):
        undo(store)
    assert views(store) == before, "not even the due date, which nobody else wrote"
    phone.close()


def test_cli_143_what_was_put_into_it_since_keeps_it(store: Store, tmp_path: Path) -> None:
    """CLI-143: an item in a task that was added, an item on a checklist that was made along, a link to the task."""
    phone = new_store(tmp_path, 2)
    add(store, "Bread")
    add(store, "Milk")
    with acts.acting(store, NOON, HERE, "item added") as tx:
        tasks.add_item(tx, "i-mine", "t-Milk", "mine")
    send(store, phone)
    with phone.transaction(NOON + 1, HIGH) as tx:
        tasks.add_item(tx, "i-theirs", "t-Milk", "theirs")
        tasks.set_link(tx, "t-Bread", "blocks", "t-Milk")
    send(phone, store)
    for number in (1, 2, 3):
        with pytest.raises(Problem, match=r"is in use since then, by '.*' of somebody on 00000002"):
            undo(store, number=number)
    phone.close()


def test_cli_143_a_concurrent_edit_beside_it_is_left_alone(store: Store, tmp_path: Path) -> None:
    """CLI-143: both values stay, though this device's is the one that is shown."""
    phone = new_store(tmp_path, 2)
    add(store)
    send(store, phone)
    with phone.transaction(NOON - 1, HIGH) as tx:
        tx.put("t-Milk", "task", {"title": "Soy milk"})
    edit(store, "t-Milk", title="Oat milk")
    send(phone, store)
    with pytest.raises(Problem, match="was changed since, by somebody on 00000002"):
        undo(store)
    entity = store.read("t-Milk")
    assert entity is not None
    assert entity.conflicts() == {"title": ["Soy milk"]} or entity.value("title") == "Soy milk"
    phone.close()


def imported(store: Store, tasks_of: int = 6) -> None:
    """A large act: each task has two items, and all have one label."""
    with acts.acting(store, NOON, HERE, "imported") as tx:
        tx.put("label", "label", {"name": "shop", "createdAt": iso(NOON)})
        for number in range(tasks_of):
            tasks.add_task(tx, f"t{number}", f"Task {number}", {"labels": {"label": True}})
            for item in range(2):
                tasks.add_item(tx, f"i{number}-{item}", f"t{number}", f"Item {item}")


def interrupted(store: Store, after: int) -> None:
    """A process that dies when it has taken back so much of the last act."""

    def dies(done: int, of: int) -> None:
        if done >= after:
            raise Stopped

    with store.reading() as reader:
        act = acts.last_of(reader, HERE)
    with pytest.raises(Stopped):
        reversal.take_back(store, NOON, HERE, act, named, dies)


def test_cli_600_others_write_while_a_large_act_is_taken_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-600, CLI-6001: also to another file handle; and what belongs to one task goes at once."""
    monkeypatch.setattr(reversal, "BATCH", 2)
    imported(store)
    whole = views(store)
    seen: list[int] = []

    def another(done: int, of: int) -> None:
        with store.transaction(NOON, HIGH) as tx:
            tasks.add_task(tx, f"other-{done}", "Other")
        live = views(store)
        seen.append(sum(ident.startswith("t") for ident in live))
        items = {ident for ident in live if ident[0] == "i" and ident[1].isdigit()}
        assert {f"t{item[1]}" for item in items} == {ident for ident in live if ident.startswith("t")}

    with store.reading() as reader:
        act = acts.last_of(reader, HERE)
    undone = reversal.take_back(store, NOON, HERE, act, named, another)
    assert seen == [5, 4, 3, 2, 1, 0, 0]
    assert set(views(store)) == {f"other-{done}" for done in (4, 8, 12, 16, 20, 24, 25)}
    with store.reading() as reader:
        assert broken_invariants(reader) == []
    undo(store, number=undone.n)
    assert {ident: held for ident, held in views(store).items() if not ident.startswith("other")} == whole


@pytest.mark.parametrize("changed", ["t0", "t5"])
def test_cli_6000_nothing_is_done_if_any_of_it_was_changed_before(
    store: Store, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """CLI-6000, CLI-143: also what the last transaction would take back, which is what was made first."""
    monkeypatch.setattr(reversal, "BATCH", 2)
    imported(store)
    edit(store, changed, THERE, title="Mine")
    before = views(store)
    with pytest.raises(Problem, match="'Mine' was changed since"):
        undo(store)
    assert views(store) == before


@pytest.mark.parametrize("after", [1, 9, 20])
def test_cli_601_what_was_interrupted_is_gone_on_with(
    store: Store, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """CLI-601: it is one undo, which can be taken back as one."""
    monkeypatch.setattr(reversal, "BATCH", 2)
    imported(store)
    whole = views(store)
    interrupted(store, after)
    with store.reading() as reader:
        act = acts.last_of(reader, HERE)
    assert (act.said[:8], act.undone_by, 0 < act.left < 25) == ("imported", None, True)
    undone = undo(store)
    assert (undone.undoes, views(store)) == (act.n, {})
    with store.reading() as reader:
        assert [(one.n, one.left) for one in acts.newest(reader, 9)] == [(undone.n, 0), (act.n, 0)]
    with pytest.raises(Problem, match="taken back already"):
        undo(store, number=act.n)
    undo(store, number=undone.n)
    assert views(store) == whole
    undo(store)
    assert views(store) == {}


@pytest.mark.parametrize("changed", ["t2", "i2-1"])
def test_cli_602_what_is_changed_meanwhile_stays_with_all_that_belongs_to_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """CLI-602: the label that it has stays, too."""
    monkeypatch.setattr(reversal, "BATCH", 2)
    imported(store)
    interrupted(store, 1)
    with store.transaction(NOON, HIGH) as tx:
        tx.put(changed, "task" if changed == "t2" else "checklistItem", {"title": "Mine"})
    with store.reading() as reader:
        [number] = [act.n for act in acts.newest(reader, 9) if act.left]
    with pytest.raises(Problem, match="5 of 25 were changed meanwhile"):
        undo(store, number=number)
    assert {"t2", "i2-0", "i2-1", "label"} <= set(views(store))
    assert len(views(store)) == 5
    with store.reading() as reader:
        assert broken_invariants(reader) == []


# -- laws

PATHS = ("title", "due", "labels/a", "status")
IDS = ("a", "b")
WRITE = st.tuples(st.sampled_from(IDS), st.sampled_from((*PATHS, DELETED_AT)), st.integers(0, 3), st.booleans())
ACT = st.lists(WRITE, min_size=1, max_size=4)


def carry_out(tx: Transaction, writes: list[tuple[str, str, int, bool]]) -> None:
    """As the verbs do it: what is deleted is brought back before it is edited."""
    for ident, path, number, on in writes:
        there = tx.entity(ident)
        gone = there is not None and is_deleted(there)
        if path != DELETED_AT:
            if gone:
                tx.undelete(ident)
            tx.put(ident, "task", {path: str(number) if on or there is None else None})
        elif gone and on:
            tx.undelete(ident)
        elif there is not None and not gone:
            tx.delete(ident)


def lived(history: list[Any], take_back: Callable[[Store, int], int]) -> None:
    """Every act of a history, taken back: then all is as it was before. To take that back is to have done the act.
    `take_back` gives the number of the undo."""
    with TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        for writes in history:
            before = views(store)
            with acts.acting(store, NOON, HERE, "wrote") as tx:
                carry_out(tx, writes)
            after = views(store)
            with store.reading() as reader:
                newest = acts.newest(reader, 1)
            if not newest or not newest[0].open or newest[0].undoes is not None:
                continue
            undone = take_back(store, newest[0].n)
            assert views(store) == before
            take_back(store, undone)
            assert views(store) == after
        with store.reading() as reader:
            assert broken_invariants(reader) == []
        store.close()


@examples(60)
@given(st.lists(ACT, min_size=1, max_size=5))
def test_cli_140_law_every_act_followed_by_undo_changes_nothing(history: list[Any]) -> None:
    """CLI-140, CLI-141: whatever was done before; and to undo that is to have done it."""
    lived(history, lambda store, number: undo(store, number=number).n)


def undone_in_parts(store: Store, number: int, after: int) -> int:
    """Take an act back by a process that dies, and by another one; the number of the undo."""

    def dies(done: int, of: int) -> None:
        if done >= after:
            raise Stopped

    with store.reading() as reader:
        act = acts.numbered(reader, number)
    with suppress(Stopped):
        return reversal.take_back(store, NOON, HERE, act, named, dies).n
    with store.reading() as reader:
        [held] = [one for one in acts.newest(reader, 99) if one.n == number]
    return undo(store, number=number).n if held.undone_by is None else held.undone_by


@examples(40)
@given(
    st.lists(st.lists(WRITE, min_size=1, max_size=2, unique_by=lambda write: write[0]), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_cli_601_law_an_interrupted_undo_comes_to_what_a_whole_one_does(history: list[Any], after: int) -> None:
    """CLI-601: whatever was done before, and done again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reversal, "BATCH", 1)
        lived(history, lambda store, number: undone_in_parts(store, number, after))


@examples(60)
@given(ACT, ACT, ACT, st.booleans())
def test_cli_143_law_nothing_of_a_later_edit_is_lost(old: Any, mine: Any, theirs: Any, aware: bool) -> None:
    """CLI-143: either the undo is refused and nothing changes, or each write of the other device is held as before."""
    with TemporaryDirectory() as folder:
        store, phone = new_store(Path(folder)), new_store(Path(folder), 2)
        with store.transaction(NOON, HIGH) as tx:
            carry_out(tx, old)
        send(store, phone)
        with acts.acting(store, NOON + 1, HERE, "wrote") as tx:
            carry_out(tx, mine)
        if aware:
            send(store, phone)
        with phone.transaction(NOON + 2, HIGH) as tx:
            carry_out(tx, theirs)
        written = {(phone_host, c) for phone_host, c in _dots(phone)}
        send(phone, store)
        before, held = views(store), _writes(store) & written
        try:
            undo(store)
        except Problem:
            assert views(store) == before
        else:
            assert held <= _writes(store) | _rewritten(store), "each write of theirs is held, or shown again as it was"
        store.close()
        phone.close()


def _dots(store: Store) -> set[tuple[str, int]]:
    with store.reading() as reader:
        return {(str(reader.host), counter) for counter in range(1, reader.counter + 1)}


def _writes(store: Store) -> set[tuple[str, int]]:
    with store.reading() as reader:
        entities = [reader.entity(change.id) for change in reader.changes(0, 1_000)]
    return {
        (str(write.stamp.host), write.stamp.counter)
        for entity in entities
        if entity is not None
        for writes in entity.registers.values()
        for write in writes
    }


def _rewritten(store: Store) -> set[tuple[str, int]]:
    """Writes that were replaced by one of the same value, as an undeletion does."""
    found = set()
    with store.reading() as reader:
        for change in reader.changes(0, 1_000):
            entity = reader.entity(change.id)
            assert entity is not None
            for old in reader.overwritten(change.id):
                write = entity.winner(old.path)
                if write is not None and write.value == old.value:
                    found.add((str(old.host), old.counter))
    return found
