"""The demo's task list is data that people read; these are the promises it makes to the code that loads it."""

from datetime import UTC, date, datetime
from importlib import resources
from typing import Annotated, Literal

import msgspec
import pytest

FIRST = datetime(2026, 9, 1, tzinfo=UTC)
TODAY = datetime(2026, 11, 21, tzinfo=UTC)
LAST_DUE = date(2026, 12, 31)

Key = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
Minutes = Annotated[int, msgspec.Meta(ge=1, le=1440)]


class Label(msgspec.Struct, forbid_unknown_fields=True):
    key: Key
    name: Text
    color: Annotated[str, msgspec.Meta(pattern="^#[0-9A-F]{6}$")]


class Item(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    key: Key
    title: Text
    checked: bool
    checked_at: datetime | None = None


class Note(msgspec.Struct, forbid_unknown_fields=True):
    key: Key
    at: datetime
    text: Text
    minutes: Minutes | None = None


class Task(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    key: Key
    title: Text
    status: Literal["OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD", "DONE", "REJECTED"]
    priority: Literal["P0", "P1", "P2", "P3"]
    labels: list[Key]
    created_at: datetime
    checklist: list[Item]
    notes: list[Note]
    status_reason: Text | None = None
    due: date | None = None
    estimate: Minutes | None = None
    language: Literal["en"] | None = None


class Household(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["lottisync-tasks/1"]
    labels: list[Label]
    tasks: list[Task]


@pytest.fixture(scope="module")
def household() -> Household:
    text = resources.files("lottisync.demo").joinpath("household.json").read_bytes()
    return msgspec.json.decode(text, type=Household)


def test_is_as_large_as_a_household_is(household: Household) -> None:
    assert 38 <= len(household.tasks) <= 44
    assert 115 <= sum(len(task.checklist) for task in household.tasks) <= 130
    assert 58 <= sum(len(task.notes) for task in household.tasks) <= 66
    assert 8 <= len(household.labels) <= 10


def test_keys_name_one_thing_each(household: Household) -> None:
    def distinct(keys: list[str]) -> bool:
        return len(keys) == len(set(keys))

    assert distinct([label.key for label in household.labels])
    assert distinct([task.key for task in household.tasks])
    for task in household.tasks:
        assert distinct([item.key for item in task.checklist]), task.key
        assert distinct([note.key for note in task.notes]), task.key
        assert distinct(task.labels), task.key


def test_every_label_is_defined_and_used(household: Household) -> None:
    used = {key for task in household.tasks for key in task.labels}
    assert used == {label.key for label in household.labels}


def test_nothing_happens_before_its_task_or_after_today(household: Household) -> None:
    for task in household.tasks:
        assert FIRST <= task.created_at < TODAY, task.key
        moments = [note.at for note in task.notes]
        moments += [item.checked_at for item in task.checklist if item.checked_at is not None]
        assert all(task.created_at <= moment < TODAY for moment in moments), task.key
        assert [note.at for note in task.notes] == sorted(note.at for note in task.notes), task.key
        if task.due is not None:
            assert task.created_at.date() <= task.due <= LAST_DUE, task.key


def test_status_and_ticks_are_consistent(household: Household) -> None:
    for task in household.tasks:
        assert (task.status_reason is not None) == (task.status in ("BLOCKED", "ON HOLD")), task.key
        assert all(item.checked == (item.checked_at is not None) for item in task.checklist), task.key
        if task.status == "DONE":
            assert all(item.checked for item in task.checklist), task.key
    assert {task.status for task in household.tasks} >= {"OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "DONE"}


def test_the_protagonist_leaves_something_to_propose(household: Household) -> None:
    boiler = next(task for task in household.tasks if task.key == "boiler-service")
    assert boiler.priority == "P2"
    assert (boiler.estimate, boiler.due) == (None, None)
    assert len(boiler.checklist) == len(boiler.notes) == 4
    assert [item.key for item in boiler.checklist if item.checked] == ["clear-cupboard"]
    [manual] = [item for item in boiler.checklist if item.key == "find-manual"]
    assert not manual.checked
    assert "Found the manual" in boiler.notes[-1].text
