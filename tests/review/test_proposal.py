"""Digests, operation ids and summaries."""

from typing import Any

import pytest

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.action import Unreadable
from lottisync.review.proposal import digest, item_id, likeness, operation_id, plain, set_id, set_of, unreadable


def summary(tool: str, args: dict[str, Any], name: str | None = None) -> str:
    action = ACTIONS.read(tool, args)
    assert not isinstance(action, Unreadable), action
    return action.summary(name)


ARGS = {"id": "i1", "isChecked": True}


def test_rev10_prose_is_in_no_digest() -> None:
    """REV-10."""
    worded = ARGS | {"reason": "as the note says", "humanSummary": "Tick it", "evidenceEntryIds": ["e1"]}
    assert digest("update_checklist_item", ARGS) == digest("update_checklist_item", worded)
    assert digest("update_checklist_item", ARGS) != digest("update_checklist_item", ARGS | {"isChecked": False})
    assert digest("set_task_title", {"title": "x"}) != digest("add_checklist_item", {"title": "x"})


def test_rev10_the_order_of_arguments_is_nothing() -> None:
    """REV-10."""
    assert digest("t", {"a": 1, "b": 2}) == digest("t", {"b": 2.0, "a": 1})


def test_rev_23_only_a_titles_capitals_and_white_space_make_no_other_proposal() -> None:
    assert likeness("t", {"title": "Buy  Milk"}, {"title"}) == likeness("t", {"title": "buy milk"}, {"title"})
    assert likeness("t", {"reasonCode": "A"}, {"title"}) != likeness("t", {"reasonCode": "a"}, {"title"})
    assert digest("t", {"title": "Milk"}) != digest("t", {"title": "milk"})


def test_rev11_operation_ids_are_those_of_the_specification() -> None:
    """REV-11, S3-39: a published vector, so that another implementation can be checked against it."""
    assert operation_id("run", "t1", "update_task_estimate", {"minutes": 60}, ["t1"]) == (
        "9ff2f35dc1bf10bf57c701ab055f1432a40a54985f741492702c0ae8023f195b"
    )


def test_rev11_run_task_tool_arguments_and_target_tell_operations_apart() -> None:
    """REV-11."""
    base: tuple[str, str, str, dict[str, Any], list[str]] = ("run", "t1", "update_checklist_item", ARGS, ["i1"])
    others = [
        ("run2", *base[1:]),
        ("run", "t2", *base[2:]),
        (*base[:3], ARGS | {"isChecked": False}, ["i1"]),
        (*base[:4], ["i2"]),
    ]
    assert len({operation_id(*base), *(operation_id(*other) for other in others)}) == 5
    assert operation_id("run", "t1", base[2], ARGS | {"reason": "other words"}, ["i1"]) == operation_id(*base)


def test_rev145_item_ids_name_their_set() -> None:
    """REV-145."""
    ident = set_id("laura", "run", "0" * 16, 0)
    assert set_of(item_id(ident, 3)) == ident
    assert ident != set_id("laura", "run", "1" * 16, 0)


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("set_task_title", {"title": "Fix login bug"}, 'Set title to "Fix login bug"'),
        ("update_task_estimate", {"minutes": 60}, "Set estimate to 60 minutes"),
        ("update_task_estimate", {"minutes": 1}, "Set estimate to 1 minute"),
        ("update_task_due_date", {"dueDate": "2026-12-01"}, "Set due date to 2026-12-01"),
        ("update_task_priority", {"priority": "P1"}, "Set priority to P1"),
        ("set_task_status", {"status": "BLOCKED", "reason": "no flour"}, "Set status to blocked"),
        ("add_checklist_item", {"title": "Design mockup"}, 'Add: "Design mockup"'),
        ("update_checklist_item", {"id": "i1", "isChecked": True}, 'Check off: "T"'),
        ("update_checklist_item", {"id": "i1", "isChecked": False}, 'Uncheck: "T"'),
        ("update_checklist_item", {"id": "i1", "title": "B"}, 'Rename "T" to "B"'),
        ("update_checklist_item", {"id": "i1", "isChecked": True, "title": "B"}, 'Check off: "T" and rename it to "B"'),
    ],
)
def test_rev13_summaries(tool: str, args: dict[str, Any], said: str) -> None:
    """REV-13, S1-30..S1-32, S2-08."""
    assert summary(tool, args, "T") == said


def test_rev13_the_models_sentence_is_for_tools_that_are_not_known() -> None:
    """REV-13, S1-29: a sentence can't say anything else than what happens."""
    assert unreadable("fold_laundry", {}, "Fold it") == "Fold it"
    assert unreadable("fold_laundry", {"colour": "red", "reason": "x"}, None) == "fold_laundry(colour)"
    args = {"minutes": 600, "humanSummary": "Set to 1 minute"}
    assert summary("update_task_estimate", args) == "Set estimate to 600 minutes"
    assert summary("update_checklist_item", {"id": "0123456789", "isChecked": True}) == "Check off: item 01234567…"


def test_ent_30_white_space_is_the_list_of_the_specification() -> None:
    """ENT-30, REV-163"""
    listed = {*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)}
    listed |= {0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
    taken = {code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and plain(f"a{chr(code)}b") == "a b"}
    assert taken == listed


def test_ent_31_capitals_are_folded_in_full() -> None:
    """ENT-31"""
    assert plain("STRASSE") == plain("straße")
    assert plain("Caf\u00e9") != plain("Cafe\u0301")
