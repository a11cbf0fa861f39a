"""Typed views over documents that newer programs, or hands, have written."""

from typing import Any

import pytest
from tests.support.strategies import HOSTS, one_write

from lottisync.entities.entity import Entity
from lottisync.entities.journal import ChecklistItem, Task
from lottisync.entities.path import flatten
from lottisync.entities.view import view


def entity(fields: dict[str, Any], type_name: str = "task") -> Entity:
    registers = {path: (one_write(value),) for path, value in flatten(fields).items()}
    return Entity("t1", type_name, {HOSTS[0]: 1}, registers)


def test_a_view_has_the_winning_values_under_the_programs_names() -> None:
    """ENT-13"""
    task = view(entity({"title": "x", "statusReason": "why", "labels": {"l1": True}, "due": None}), Task)
    assert (task.id, task.title, task.status_reason, task.labels, task.due) == ("t1", "x", "why", {"l1": True}, None)


def test_what_is_absent_has_its_default() -> None:
    """ENT-13, S0-27: a record of before a field was thought of."""
    item = view(entity({"title": "x"}, "checklistItem"), ChecklistItem)
    assert (item.is_checked, item.checked_by, item.checked_at, item.is_archived) == (False, "user", None, False)


@pytest.mark.parametrize(
    "odd",
    [
        {"estimate": "long"},
        {"estimate": 1.5},
        {"estimate": True},
        {"title": 7},
        {"labels": "bug"},
        {"labels": {"bug": "yes"}},
        {"status": ["OPEN"]},
        {"due": {"day": 1}},
    ],
)
def test_one_odd_value_does_not_make_a_task_unreadable(odd: dict[str, Any]) -> None:
    """ENT-13: it reads as the default, all others as they are."""
    fields = {"title": "x", "priority": "P0", "due": "2026-01-01"} | odd
    task = view(entity(fields), Task)
    assert task.priority == "P0"
    name = next(iter(odd))
    assert getattr(task, name) == getattr(Task("t1"), name)


def test_a_field_that_the_program_does_not_know_is_passed_over() -> None:
    """ENT-13"""
    assert view(entity({"title": "x", "mood": "good"}), Task).title == "x"


def test_the_id_is_the_entitys_own() -> None:
    """ENT-13: a document cannot claim another."""
    assert view(entity({"id": "t2", "title": "x"}), Task).id == "t1"
