"""Redundant proposals: what is compared, and the answers to the model."""

from typing import Any

import pytest

from lottisync.journal.actions.add_checklist_item import AddChecklistItem
from lottisync.journal.actions.update_checklist_item import UpdateChecklistItem
from lottisync.journal.task_action import TaskField
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import tool_answer


def redundancy(tool: str, args: dict[str, Any], current: dict[str, Any]) -> str | None:
    call = ACTIONS.checked(tool, args)
    assert isinstance(call, TaskField | AddChecklistItem | UpdateChecklistItem)
    return call.redundancy(current)


@pytest.mark.parametrize(
    ("tool", "args", "current", "said"),
    [
        ("update_task_estimate", {"minutes": 120}, {"estimate": 120}, "estimate is already 120 minutes"),
        ("update_task_estimate", {"minutes": "120"}, {"estimate": 120}, "estimate is already 120 minutes"),
        ("update_task_estimate", {"minutes": 120.0}, {"estimate": 120}, "estimate is already 120 minutes"),
        ("update_task_estimate", {"minutes": 1}, {"estimate": 1}, "estimate is already 1 minute"),
        ("update_task_estimate", {"minutes": 60}, {"estimate": 120}, None),
        ("update_task_estimate", {"minutes": 60}, {"estimate": None}, None),
        ("update_task_estimate", {"minutes": 1}, {"estimate": True}, None),
        ("update_task_priority", {"priority": "p1"}, {"priority": "P1"}, "priority is already P1"),
        ("update_task_priority", {"priority": "P1"}, {"priority": "P2"}, None),
        ("update_task_due_date", {"dueDate": "2026-12-01"}, {"due": "2026-12-01"}, "due date is already 2026-12-01"),
        ("update_task_due_date", {"dueDate": "2026-12-01"}, {"due": None}, None),
        ("set_task_status", {"status": "in progress"}, {"status": "IN PROGRESS"}, "status is already IN PROGRESS"),
        ("set_task_status", {"status": "OPEN"}, {"status": "GROOMED"}, None),
        ("set_task_title", {"title": " Bake  bread"}, {"title": "Bake bread"}, 'title is already "Bake bread"'),
        ("set_task_title", {"title": "Bake bread"}, {"title": "bake bread"}, None),
    ],
)
def test_rev20_task_fields(tool: str, args: dict[str, Any], current: dict[str, Any], said: str | None) -> None:
    """REV-20, S4-05..S4-09, S4-19: compared in normal form."""
    assert redundancy(tool, args, current) == said


@pytest.mark.parametrize(
    ("args", "is_checked", "said"),
    [
        ({"isChecked": True}, True, '"Buy groceries" is already checked'),
        ({"isChecked": False}, False, '"Buy groceries" is already unchecked'),
        ({"isChecked": True}, False, None),
        ({"isChecked": True, "title": "Buy food"}, True, None),
        ({"isChecked": True, "title": "Buy groceries"}, True, '"Buy groceries" is already checked'),
        ({"title": "Buy groceries"}, True, '"Buy groceries" has that title already'),
    ],
)
def test_rev20_checklist_items(args: dict[str, Any], is_checked: bool, said: str | None) -> None:
    """REV-20, S4-03, S4-04: suppressed if neither the tick nor the title would change."""
    assert (
        redundancy("update_checklist_item", {"id": "i1", **args}, {"title": "Buy groceries", "isChecked": is_checked})
        == said
    )


def test_rev20_an_item_of_that_name_is_there() -> None:
    """REV-311."""
    assert (
        redundancy("add_checklist_item", {"title": "Milk"}, {"titles": ["Bread", " milk "]})
        == '"Milk" is already on the checklist'
    )
    assert redundancy("add_checklist_item", {"title": "Milk"}, {"titles": ["Bread"]}) is None


def test_rev21_redundant_calls_are_counted_and_named() -> None:
    """REV-21, S4-10, S4-11, S4-16: what was redundant is counted, and named item by item."""
    assert tool_answer.skipped("estimate is already 120 minutes") == "Skipped: estimate is already 120 minutes."
    redundant = ['"Buy groceries" is already checked', '"Walk dog" is already checked']
    assert tool_answer.batch_answer(1, redundant, [], []) == (
        "Proposal queued for user review (1 item(s) queued).\n"
        'Skipped 2 redundant update(s): "Buy groceries" is already checked; "Walk dog" is already checked.'
    )


def test_rev22_a_lookup_that_fails_finds_nothing() -> None:
    """REV-22, S4-12, S4-13, S4-17: the comparisons are pure, and what looks up is given to them."""

    def broken() -> int:
        raise OSError("disk")

    assert tool_answer.looked_up(broken) is None
    assert tool_answer.looked_up(lambda: 5) == 5
