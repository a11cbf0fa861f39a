"""Tasks that repeat: the next one is made once, and is due on a day of the rule."""

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.rounds import send
from tests.support.stores import NOON, new_store

from lottisync.device import acts, reversal
from lottisync.entities.entity import HIGH, has_conflict
from lottisync.journal import names, repetition, task_values, tasks
from lottisync.journal.repetition import Rule, rule_of, said
from lottisync.problem import Problem
from lottisync.store.instant import LAST, iso
from lottisync.store.store import Store

TODAY = datetime.fromtimestamp(NOON / 1000).date()
DONE = task_values.checked_status("DONE", None)
OPEN = task_values.checked_status("OPEN", None)
DAY = 86_400_000


def repeating(store: Store, due: date | None, rule: Rule) -> Store:
    with store.transaction(NOON, HIGH) as tx:
        label = names.find_or_make(tx, "label", "house")
        fields = {"repeat": rule.stored(), "priority": "P1", "estimate": 10, "labels": {label: True}}
        if due is not None:
            fields |= {"due": due.isoformat(), "remindAt": iso(NOON)}
        tasks.add_task(tx, "t1", "Bins", fields)
        tasks.add_item(tx, "i1", "t1", "Paper")
        tasks.add_item(tx, "i2", "t1", "Glass")
        tasks.add_checklist(tx, "c2", "t1", "Afterwards")
        tasks.add_item(tx, "i3", "t1", "Rinse", checklist_id="c2")
        tasks.check_item(tx, "i1", checked=True)
        tx.put("i2", "checklistItem", {"isArchived": True})
    return store


def finish(store: Store, task_id: str = "t1", fields: dict[str, str | None] = DONE, now: int = NOON) -> str | None:
    with store.transaction(now, HIGH) as tx:
        return repetition.edit_task(tx, task_id, fields)


def page(store: Store, task_id: str) -> tasks.TaskPage:
    with store.reading() as reader:
        return tasks.page(reader, task_id)


def open_tasks(store: Store) -> list[str]:
    with store.reading() as reader:
        return [line.id for line in tasks.all_tasks(reader)[0] if line.status == "OPEN"]


def test_jour_465_the_next_one_is_open_and_unticked(tmp_path: Path) -> None:
    """JOUR-465"""
    store = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "W"))
    made = finish(store)
    assert made is not None
    following = page(store, made)
    task = following.task
    assert (task.title, task.status, task.priority, task.estimate) == ("Bins", "OPEN", "P1", 10)
    assert task.due == (TODAY + timedelta(7)).isoformat()
    assert task.remind_at == iso(NOON + 7 * DAY)
    assert [label.name for label in following.labels] == ["house"]
    assert {(item.title, item.is_checked) for item in following.items} == {("Paper", False), ("Rinse", False)}
    assert [checklist.title for checklist in following.checklists] == ["Todos", "Afterwards"]
    assert finish(store, made) not in (None, made)


def test_jour_466_two_devices_make_one(tmp_path: Path) -> None:
    """JOUR-466: also when one of them finishes it a minute later."""
    laptop = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "M"))
    phone = new_store(tmp_path, 2)
    send(laptop, phone)
    assert finish(laptop) == finish(phone, now=NOON + 60_000)
    send(laptop, phone)
    send(phone, laptop)
    for store in (laptop, phone):
        assert len(open_tasks(store)) == 1
        with store.reading() as reader:
            made = [entity for entity in reader.by_type("task") if entity.id != "t1"]
            made += [entity for entity in reader.by_type("checklistItem") if entity.value("taskId") == made[0].id]
            assert len(made) == 3
            assert not any(has_conflict(entity) for entity in made)


def test_jour_467_finished_again_it_has_one_next_task(tmp_path: Path) -> None:
    """JOUR-467: what the person did to the next one stays; one that was deleted comes back."""
    store = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "D"))
    made = finish(store)
    assert made is not None
    with store.transaction(NOON, HIGH) as tx:
        tasks.edit_task(tx, made, {"title": "Paper bins"})
    finish(store, fields=OPEN)
    assert finish(store) == made
    assert page(store, made).task.title == "Paper bins"
    assert finish(store) is None, "it is done already"
    with store.transaction(NOON, HIGH) as tx:
        tasks.delete_task(tx, made)
    finish(store, fields=OPEN)
    assert finish(store) == made
    assert open_tasks(store) == [made]


def test_jour_467_finished_again_after_an_undo_it_has_its_checklist(tmp_path: Path) -> None:
    """JOUR-467: the items were deleted with the task."""
    store = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "W"))
    with acts.acting(store, NOON, "here", "done") as tx:
        made = repetition.edit_task(tx, "t1", DONE)
    with store.reading() as reader:
        act = acts.last_of(reader, "here")
    reversal.take_back(store, NOON, "here", act, lambda path, stamp: str(stamp))
    assert finish(store) == made
    assert made is not None
    assert {item.title for item in page(store, made).items} == {"Paper", "Rinse"}


def test_jour_469_undo_takes_the_next_one_back(tmp_path: Path) -> None:
    """JOUR-469"""
    store = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "W"))
    with acts.acting(store, NOON, "here", "done") as tx:
        repetition.edit_task(tx, "t1", DONE)
    with store.reading() as reader:
        act = acts.last_of(reader, "here")
    reversal.take_back(store, NOON, "here", act, lambda path, stamp: str(stamp))
    assert open_tasks(store) == ["t1"]


@pytest.mark.parametrize("touched", ["task", "checklistItem"])
def test_jour_430_undo_leaves_a_next_task_that_was_changed(tmp_path: Path, touched: str) -> None:
    """JOUR-430"""
    store = repeating(new_store(tmp_path), TODAY, Rule(TODAY, 1, "W"))
    with acts.acting(store, NOON, "here", "done") as tx:
        made = repetition.edit_task(tx, "t1", DONE)
    assert made is not None
    changed = made if touched == "task" else page(store, made).items[0].id
    with store.transaction(NOON, HIGH) as tx:
        tx.put(changed, touched, {"title": "Paper bins"})
    with store.reading() as reader:
        act = acts.last_of(reader, "here")
    with pytest.raises(Problem, match=r"'Paper bins' was changed since.*Nothing was taken back"):
        reversal.take_back(store, NOON, "here", act, lambda path, stamp: "laptop")
    assert open_tasks(store) == [made]


@pytest.mark.parametrize(
    ("rule", "due", "expected"),
    [
        (Rule(TODAY - timedelta(40), 1, "W"), TODAY - timedelta(26), TODAY + timedelta(2)),
        (Rule(TODAY, 1, "W"), TODAY + timedelta(7), TODAY + timedelta(14)),
        (Rule(TODAY - timedelta(1), 1, "D"), TODAY - timedelta(1), TODAY),
        (Rule(TODAY, 3, "D"), None, TODAY + timedelta(3)),
        (Rule(TODAY + timedelta(5), 1, "Y"), None, TODAY + timedelta(5)),
    ],
)
def test_jour_468_late_early_or_without_a_date(tmp_path: Path, rule: Rule, due: date | None, expected: date) -> None:
    """JOUR-468"""
    made = finish(repeating(store := new_store(tmp_path), due, rule))
    assert made is not None
    assert page(store, made).task.due == expected.isoformat()


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_clock_at_its_limits_makes_the_next_one_or_none(tmp_path: Path, now: int) -> None:
    """ENT-570, CAUS-300: the task is done in either case; of the last days there is none after."""
    store = repeating(new_store(tmp_path), None, Rule(TODAY, 1, "Y"))
    assert (finish(store, now=now) is None) == (now > NOON)
    assert page(store, "t1").task.status == "DONE"


@given(
    start=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    day=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    every=st.integers(1, 30),
    unit=st.sampled_from("DWMY"),
)
def test_jour_468_the_next_day_is_the_first_of_the_rule(start: date, day: date, every: int, unit: str) -> None:
    """JOUR-468: there is none between; the end of a short month moves nothing."""
    rule = Rule(start, every, unit)
    found = rule.after(day)
    assert found > day
    assert found >= start
    if unit in "DW":
        assert (found - start).days % (every * (7 if unit == "W" else 1)) == 0
        assert found == start or (found - day).days <= every * (7 if unit == "W" else 1)
    else:
        months = (found.year - start.year) * 12 + found.month - start.month
        assert months % (every * (12 if unit == "Y" else 1)) == 0
        assert found.day == start.day or (found + timedelta(1)).day == 1
    assert rule_of(rule.stored()) == rule


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("daily", "P1D"),
        ("weekly", "P1W"),
        ("Every  month", "P1M"),
        ("yearly", "P1Y"),
        ("every 2 weeks", "P2W"),
        ("3 months", "P3M"),
    ],
)
def test_a_rule_as_people_say_it(typed: str, stored: str) -> None:
    assert said(typed, date(2026, 12, 1)).stored() == f"R/2026-12-01/{stored}"


@pytest.mark.parametrize("typed", ["", "often", "every", "0 days", "every 1000 days", "weeks 2"])
def test_what_is_not_a_rule_is_refused(typed: str) -> None:
    with pytest.raises(Problem, match="repeats daily"):
        said(typed, date(2026, 12, 1))


@pytest.mark.parametrize("stored", ["R/2026-13-01/P1W", "R/2026-12-01/P0W", "soon", "R/9999-12-31/P1Y"])
def test_a_rule_that_cannot_be_read_makes_no_next_task(tmp_path: Path, stored: str) -> None:
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tasks.add_task(tx, "t1", "Odd", {"repeat": stored, "due": "9999-12-31"})
    assert finish(store) is None
