"""The journal's verbs: what a person or a tool does to tasks, items and notes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.rounds import send
from tests.support.stores import NOON, dump, new_store

from lottisync.entities.entity import HIGH, LOW, is_deleted
from lottisync.entities.schema import derived_id
from lottisync.journal import finding, task_values, tasks, time_entry
from lottisync.journal.types import ChecklistItem, Label, Task
from lottisync.problem import Problem
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

AT, UNTIL = "2025-12-01T12:00:00.000Z", "2025-12-01T12:05:00.000Z"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = new_store(tmp_path)
    do(store, lambda tx: tasks.add_task(tx, "t1", "  Boiler \n service "))
    return store


def do(store: Store, verb: Callable[[Transaction], Any], now: int = NOON, precedence: int = HIGH) -> Any:
    with store.transaction(now, precedence) as tx:
        return verb(tx)


def page(store: Store, task_id: str = "t1") -> tasks.TaskPage:
    with store.reading() as reader:
        return tasks.page(reader, task_id)


def item(store: Store, item_id: str = "i1") -> ChecklistItem:
    with store.reading() as reader:
        return tasks.read(reader, item_id, "checklistItem", ChecklistItem)


def add_task(store: Store, ident: str, now: int = NOON) -> None:
    do(store, lambda tx: tasks.add_task(tx, ident, "x"), now)


def put_label(ident: str, tx: Transaction) -> None:
    tx.put(ident, "label", {"name": ident.upper()})


def problem(store: Store, verb: Callable[[Transaction], Any]) -> Problem:
    """The problem that a verb ends in, having changed nothing."""
    before = dump(store)
    with pytest.raises(Problem) as caught:
        do(store, verb)
    assert dump(store) == before
    return caught.value


def add_agent_ticked_item(store: Store) -> None:
    ticked = {"isChecked": True, "checkedBy": "agent", "checkedAt": "2025-11-30T00:00:00.000Z"}
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "x", ticked), precedence=LOW)


# -- tasks


def test_a_new_task_has_its_defaults(store: Store) -> None:
    """JOUR-2: white space in a title is made even."""
    task = page(store).task
    assert (task.title, task.status, task.priority, task.created_at) == ("Boiler service", "OPEN", "P2", AT)


def test_verbs_of_one_transaction_are_one_commit(store: Store) -> None:
    """JOUR-1"""

    def two(tx: Transaction) -> None:
        tasks.add_task(tx, "t2", "x")
        tasks.add_note(tx, "e1", "t9", "no such task")

    assert problem(store, two).code == "unknown-id"


VERBS: dict[str, Callable[[Transaction], Any]] = {
    "edit_task": lambda tx: tasks.edit_task(tx, "gone", {"title": "x"}),
    "add_item": lambda tx: tasks.add_item(tx, "i9", "gone", "x"),
    "add_checklist": lambda tx: tasks.add_checklist(tx, "c9", "gone", "x"),
    "add_note": lambda tx: tasks.add_note(tx, "e9", "gone", "x"),
    "check_item": lambda tx: tasks.check_item(tx, "gone", checked=True),
    "rename_item": lambda tx: tasks.rename_item(tx, "gone", "x"),
    "page": lambda tx: tasks.page(tx, "gone"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_id_that_is_not_there_is_refused(store: Store, verb: str) -> None:
    """JOUR-1"""
    assert problem(store, VERBS[verb]).code == "unknown-id"


@pytest.mark.parametrize("verb", VERBS)
def test_an_id_of_another_type_is_refused(store: Store, verb: str) -> None:
    """JOUR-1"""
    do(store, lambda tx: tx.put("gone", "label", {"name": "x"}))
    assert problem(store, VERBS[verb]).code == "unknown-id"


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_deleted_is_refused(store: Store, verb: str) -> None:
    """JOUR-1: an edit of it would be kept and seen by nobody."""
    type_name = "checklistItem" if verb.endswith("_item") and verb != "add_item" else "task"
    do(store, lambda tx: tx.put("gone", type_name, {"title": "x"}))
    do(store, lambda tx: tx.delete("gone"))
    assert "is deleted" in problem(store, VERBS[verb]).message


def test_a_verb_writes_only_the_fields_that_it_changes(store: Store) -> None:
    """JOUR-12: two devices that edit different fields have no conflict."""
    do(store, lambda tx: tasks.edit_task(tx, "t1", {"priority": "P0"}), precedence=LOW)
    entity = store.read("t1")
    assert entity is not None
    stamps = {path: writes[0].stamp for path, writes in entity.registers.items()}
    assert (stamps["priority"].precedence, stamps["priority"].counter) == (LOW, 2)
    assert {(s.precedence, s.counter) for path, s in stamps.items() if path != "priority"} == {(HIGH, 1)}


def test_all_tasks_are_the_live_ones(store: Store) -> None:
    """JOUR-1"""
    do(store, lambda tx: tasks.add_task(tx, "t2", "x"), now=NOON + 1)
    do(store, lambda tx: tasks.add_task(tx, "t3", "x"), now=NOON + 2)
    do(store, lambda tx: tx.delete("t2"))
    with store.reading() as reader:
        lines, damaged = tasks.all_tasks(reader)
    assert {line.id for line in lines} == {"t1", "t3"}
    assert damaged == []


def test_an_abbreviated_id_is_found_if_only_one_fits(store: Store) -> None:
    """JOUR-16, JOUR-160: by its first or last characters; a whole id always is itself."""
    for ident in ("abc-1", "abd-1", "abc"):
        add_task(store, ident)
    with store.reading() as reader:
        assert finding.resolve(reader, "abd", "task") == "abd-1"
        assert finding.resolve(reader, "c-1", "task") == "abc-1"
        assert finding.resolve(reader, "abc", "task") == "abc"
        for text, code in (("ab", "ambiguous-id"), ("xyz", "unknown-id")):
            with pytest.raises(Problem) as caught:
                finding.resolve(reader, text, "task")
            assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "found"), [("bread", "t3"), ("bake  BREAD", "t2"), ("cake", "t4"), ("t2", "t2"), ("zzz", "t5")]
)
def test_a_title_is_found_if_no_id_fits(store: Store, name: str, found: str) -> None:
    """JOUR-161, JOUR-162: whole before a piece of it, and an id before both, whatever the capitals."""
    for ident, title in (("t2", "Bake bread"), ("t3", "BREAD"), ("t4", "Bake Cake t2"), ("t5", "Zzz t3")):
        do(store, lambda tx, ident=ident, title=title: tasks.add_task(tx, ident, title))  # type: ignore[misc]
    with store.reading() as reader:
        assert finding.resolve(reader, name, "task") == found


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, ", ...")])
def test_of_several_that_fit_the_first_five_are_listed(store: Store, count: int, more: str) -> None:
    """JOUR-163: and it is said that there are others."""
    for number in reversed(range(count)):
        do(store, lambda tx, number=number: tasks.add_task(tx, f"id-{number}", f"Bake {number}"))  # type: ignore[misc]
    with store.reading() as reader, pytest.raises(Problem) as caught:
        finding.resolve(reader, "bake", "task")
    listed = ", ".join(f"id-{number} 'Bake {number}'" for number in range(5))
    assert f": {listed}{more}. Give more" in str(caught.value)


# -- values


@pytest.mark.parametrize(
    ("check", "value", "stored"),
    [
        (task_values.checked_title, " a \t b ", "a b"),
        (task_values.checked_title, "x" * task_values.MAX_TITLE, "x" * task_values.MAX_TITLE),
        (task_values.checked_text, "\n two\nlines ", "two\nlines"),
        (task_values.checked_minutes, 1, 1),
        (task_values.checked_minutes, task_values.MAX_MINUTES, 1440),
        (task_values.checked_day, "2028-02-29", "2028-02-29"),
        (task_values.checked_priority, " p1 ", "P1"),
        (task_values.checked_language, " DE ", "de"),
    ],
)
def test_values_in_their_stored_form(check: Callable[[Any], Any], value: Any, stored: Any) -> None:
    """JOUR-2"""
    assert check(value) == stored


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (task_values.checked_title, ""),
        (task_values.checked_title, " \n "),
        (task_values.checked_title, "x" * (task_values.MAX_TITLE + 1)),
        (task_values.checked_text, "  "),
        (task_values.checked_text, "x" * (task_values.MAX_TEXT + 1)),
        (task_values.checked_minutes, 0),
        (task_values.checked_minutes, task_values.MAX_MINUTES + 1),
        (task_values.checked_day, "2026-02-29"),
        (task_values.checked_day, "20260228"),
        (task_values.checked_day, "2026-2-8"),
        (task_values.checked_day, "tomorrow"),
        (task_values.checked_priority, "P4"),
        (task_values.checked_priority, ""),
        (task_values.checked_language, "english"),
        (task_values.checked_language, "e"),
    ],
)
def test_values_that_are_refused(check: Callable[[Any], Any], value: Any) -> None:
    """JOUR-2"""
    with pytest.raises(Problem) as caught:
        check(value)
    assert caught.value.code == "bad-value"


@pytest.mark.parametrize("status", ["BLOCKED", "on_hold", "ON  HOLD"])
def test_some_statuses_need_a_reason(status: str) -> None:
    """JOUR-2"""
    for reason in (None, " "):
        with pytest.raises(Problem, match="needs a reason"):
            task_values.checked_status(status, reason)
    assert task_values.checked_status(status, " why ")["statusReason"] == "why"


def test_a_status_and_its_reason_are_one_value(store: Store) -> None:
    """JOUR-2: written together, also when the reason goes."""
    assert task_values.checked_status("in_progress", None) == {"status": "IN PROGRESS", "statusReason": None}
    with pytest.raises(Problem, match="one of OPEN"):
        task_values.checked_status("LATER", None)


# -- checklists


def test_a_new_item_is_unticked_and_the_users(store: Store) -> None:
    """JOUR-5, S0-10"""
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "x"), precedence=LOW)
    new = item(store)
    assert (new.is_checked, new.checked_by, new.checked_at, new.is_archived) == (False, "user", None, False)
    assert new.checklist_id == page(store).checklists[0].id


def test_items_stand_in_the_order_in_which_they_were_added(store: Store) -> None:
    """JOUR-8"""
    for number in range(30):
        do(store, partial(tasks.add_item, item_id=f"i{number}", task_id="t1", title="x"))
    assert [i.id for i in page(store).items] == [f"i{n}" for n in range(30)]


def test_two_devices_that_make_the_default_checklist_make_one(tmp_path: Path) -> None:
    """JOUR-7: and both items are on it."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    do(one, lambda tx: tasks.add_task(tx, "t1", "x"))
    send(one, two)
    do(one, lambda tx: tasks.add_item(tx, "i1", "t1", "a"))
    do(two, lambda tx: tasks.add_item(tx, "i2", "t1", "b"))
    send(one, two)
    send(two, one)
    assert page(one) == page(two)
    assert [checklist.id for checklist in page(one).checklists] == [derived_id("checklist", "t1")]
    assert {i.id for i in page(one).items} == {"i1", "i2"}


def test_a_default_checklist_that_was_deleted_comes_back_with_the_next_item(store: Store) -> None:
    """JOUR-15: an item on a deleted list would be seen by nobody."""
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "a"))
    do(store, lambda tx: tx.delete(derived_id("checklist", "t1")))
    do(store, lambda tx: tasks.add_item(tx, "i2", "t1", "b"))
    assert [checklist.id for checklist in page(store).checklists] == [derived_id("checklist", "t1")]


def test_the_users_tick_stamps_user_and_time(store: Store) -> None:
    """JOUR-3, S0-26, S0-28, S0-42: in one write with one stamp."""
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "x"))
    dot = do(store, lambda tx: tasks.check_item(tx, "i1", checked=True), now=NOON + 1_000)
    ticked = item(store)
    assert (ticked.is_checked, ticked.checked_by, ticked.checked_at) == (True, "user", "2025-12-01T12:00:01.000Z")
    entity = store.read("i1")
    assert entity is not None
    assert entity.dots("isChecked") == entity.dots("checkedBy") == entity.dots("checkedAt") == {dot}


@pytest.mark.parametrize("checked", [True, False])
def test_provenance_moves_only_when_the_state_does(store: Store, checked: bool) -> None:
    """JOUR-3, S0-25: also on an item that the agent ticked."""
    add_agent_ticked_item(store)
    do(store, lambda tx: tasks.check_item(tx, "i1", checked))
    after = item(store)
    if checked:
        assert (after.checked_by, after.checked_at) == ("agent", "2025-11-30T00:00:00.000Z")
    else:
        assert (after.checked_by, after.checked_at) == ("user", AT)
    assert do(store, lambda tx: tasks.check_item(tx, "i1", checked)) is None


def test_a_new_title_leaves_provenance_alone(store: Store) -> None:
    """JOUR-4, S0-21, S0-25"""
    add_agent_ticked_item(store)
    do(store, lambda tx: tasks.rename_item(tx, "i1", "y"))
    after = item(store)
    assert (after.title, after.is_checked, after.checked_by, after.checked_at) == (
        "y",
        True,
        "agent",
        "2025-11-30T00:00:00.000Z",
    )


def test_archived_items_are_off_the_page(store: Store) -> None:
    """JOUR-8, S0-24"""
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "x", {"isArchived": True}))
    assert page(store).items == []


# -- notes, labels, the page


def test_a_note_records_what_the_journal_knew(store: Store) -> None:
    """JOUR-6: that, and not a wall clock, is its place in causality."""
    with store.reading() as reader:
        known = reader.knowledge()
    do(store, lambda tx: tasks.add_note(tx, "e1", "t1", " text ", at="2020-01-01T00:00:00.000Z"))
    (entry,) = page(store).entries
    assert (entry.knowledge, entry.text, entry.kind, entry.minutes) == (known, "text", "note", None)


def test_whose_word_a_note_is(store: Store) -> None:
    """JOUR-14"""
    do(store, lambda tx: tasks.add_note(tx, "e1", "t1", "x"))
    do(store, lambda tx: tasks.add_note(tx, "e2", "t1", "x", author="agent"), precedence=LOW)
    precedences = []
    for ident in ("e1", "e2"):
        entity = store.read(ident)
        assert entity is not None
        won = entity.winner("text")
        assert won is not None
        precedences.append(won.stamp.precedence)
    assert precedences == [HIGH, LOW]


def test_a_page_has_notes_by_time_and_sums_minutes(store: Store) -> None:
    """JOUR-8"""
    for ident, day, minutes in (("e1", 3, 20), ("e3", 2, 15)):
        span = time_entry.checked_span(f"2025-01-0{day}T08:00:00Z", f"2025-01-0{day}T08:{minutes}:00Z")
        do(store, partial(time_entry.add, entry_id=ident, task_id="t1", text="x", span=span))
    do(store, lambda tx: tasks.add_note(tx, "e2", "t1", "x", at="2025-01-01T08:00:00.000Z"))
    found = page(store)
    assert [(e.id, e.kind) for e in found.entries] == [("e2", "note"), ("e3", "time"), ("e1", "time")]
    assert found.minutes_spent == 35


def test_a_page_has_the_labels_that_are_on_and_live(store: Store) -> None:
    """JOUR-8"""
    for ident in ("l1", "l2", "l3"):
        do(store, partial(put_label, ident))
    do(store, lambda tx: tx.delete("l3"))
    labels = {"l1": True, "l2": False, "l3": True, "nowhere": True, "t1": True}
    do(store, lambda tx: tasks.edit_task(tx, "t1", {"labels": labels}))
    assert page(store).labels == [Label("l1", "L1")]


def test_a_page_as_json(store: Store) -> None:
    """JOUR-8"""
    do(store, lambda tx: tasks.add_item(tx, "i1", "t1", "x"))
    do(store, lambda tx: time_entry.add(tx, "e1", "t1", "y", time_entry.checked_span(AT, UNTIL)))
    do(store, lambda tx: tasks.edit_task(tx, "t1", {"receipts": {"op": {"secret": True}}}))
    found = tasks.as_json(page(store))
    assert (found["id"], found["title"], found["createdAt"], found["minutesSpent"]) == ("t1", "Boiler service", AT, 5)
    assert "receipts" not in found
    checked = {"id": "i1", "title": "x", "isChecked": False, "checkedBy": "user", "checkedAt": None}
    assert found["checklists"] == [{"id": derived_id("checklist", "t1"), "title": "Todos", "items": [checked]}]
    assert found["entries"] == [
        {
            "id": "e1",
            "at": AT,
            "end": UNTIL,
            "kind": "time",
            "text": "y",
            "author": "user",
            "minutes": 5,
            "runs": False,
        },
    ]
    assert found["archivedItems"] == []


def test_deleting_a_task_leaves_it_readable_as_a_tombstone(store: Store) -> None:
    """JOUR-1: a verb of the store, for every type."""
    do(store, lambda tx: tx.delete("t1"))
    entity = store.read("t1")
    assert entity is not None
    assert is_deleted(entity)
    do(store, lambda tx: tx.undelete("t1"))
    with store.reading() as reader:
        assert tasks.read(reader, "t1", "task", Task).title == "Boiler service"
