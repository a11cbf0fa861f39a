"""Redundancy: which proposals change nothing, and what the model is told then."""

from typing import Any

from conformance.generate.book import Book
from conformance.generate.characters import NO_WHITE_SPACE, WHITE_SPACE


def vectors() -> Book:
    book = Book(1, "redundancy")
    item = {"title": "Buy groceries", "isChecked": True}
    cases: list[tuple[str, str, str, dict[str, Any], dict[str, Any], str | None]] = [
        (
            "estimate",
            "equal",
            "update_task_estimate",
            {"minutes": 120},
            {"estimate": 120},
            "estimate is already 120 minutes",
        ),
        (
            "estimate-as-text",
            "in normal form",
            "update_task_estimate",
            {"minutes": "120"},
            {"estimate": 120},
            "estimate is already 120 minutes",
        ),
        (
            "estimate-as-float",
            "in normal form",
            "update_task_estimate",
            {"minutes": 120.0},
            {"estimate": 120},
            "estimate is already 120 minutes",
        ),
        (
            "estimate-of-one",
            "one minute",
            "update_task_estimate",
            {"minutes": 1},
            {"estimate": 1},
            "estimate is already 1 minute",
        ),
        ("estimate-other", "another", "update_task_estimate", {"minutes": 60}, {"estimate": 120}, None),
        ("estimate-of-nothing", "there was none", "update_task_estimate", {"minutes": 60}, {"estimate": None}, None),
        (
            "priority",
            "whatever its case",
            "update_task_priority",
            {"priority": "p1"},
            {"priority": "P1"},
            "priority is already P1",
        ),
        (
            "due-date",
            "equal",
            "update_task_due_date",
            {"dueDate": "2026-12-01"},
            {"due": "2026-12-01"},
            "due date is already 2026-12-01",
        ),
        (
            "status",
            "whatever its case",
            "set_task_status",
            {"status": "in progress"},
            {"status": "IN PROGRESS"},
            "status is already IN PROGRESS",
        ),
        (
            "title",
            "spaces count once",
            "set_task_title",
            {"title": " Bake  bread"},
            {"title": "Bake bread"},
            'title is already "Bake bread"',
        ),
        (
            "title-in-other-case",
            "a title's case is a change",
            "set_task_title",
            {"title": "bake bread"},
            {"title": "Bake bread"},
            None,
        ),
        (
            "tick",
            "ticked already",
            "update_checklist_item",
            {"id": "i", "isChecked": True},
            item,
            '"Buy groceries" is already checked',
        ),
        (
            "tick-and-new-title",
            "the title would change",
            "update_checklist_item",
            {"id": "i", "isChecked": True, "title": "Buy food"},
            item,
            None,
        ),
        ("untick", "it is ticked", "update_checklist_item", {"id": "i", "isChecked": False}, item, None),
        (
            "archive",
            "put away already",
            "update_checklist_item",
            {"id": "i", "isArchived": True},
            item | {"isArchived": True},
            '"Buy groceries" is already archived',
        ),
        (
            "archive-in-sight",
            "it is in sight",
            "update_checklist_item",
            {"id": "i", "isArchived": True},
            item | {"isArchived": False},
            None,
        ),
        (
            "item-title",
            "the title it has",
            "update_checklist_item",
            {"id": "i", "title": "Buy groceries"},
            item,
            '"Buy groceries" has that title already',
        ),
        (
            "addition",
            "whatever its case",
            "add_checklist_item",
            {"title": "Milk"},
            {"titles": ["Bread", " milk "]},
            '"Milk" is already on the checklist',
        ),
        (
            "addition-of-something-new",
            "nothing of that name",
            "add_checklist_item",
            {"title": "Milk"},
            {"titles": ["Bread"]},
            None,
        ),
    ]
    for code in WHITE_SPACE:
        blank = chr(code)
        cases.append(
            (
                f"addition-with-{code:04x}",
                "this is white space",
                "add_checklist_item",
                {"title": "Oat milk"},
                {"titles": [f"{blank}Oat{blank}{blank}milk"]},
                '"Oat milk" is already on the checklist',
            )
        )
    cases += [
        (
            f"addition-with-{code:04x}",
            "this is not white space",
            "add_checklist_item",
            {"title": "Oat milk"},
            {"titles": [f"Oat{chr(code)}milk"]},
            None,
        )
        for code in NO_WHITE_SPACE
    ]
    for name, written, there, expected in (
        ("folded-to-two-letters", "STRASSE", "straße", '"STRASSE" is already on the checklist'),
        ("final-sigma", "ΟΔΟΣ", "οδος", '"ΟΔΟΣ" is already on the checklist'),
        ("dotted-i", "İZMİR", "izmir", None),
        ("not-normalized", "Caf\u00e9", "Cafe\u0301", None),
    ):
        title = {"title": written}
        cases.append(
            (f"addition-{name}", "full case folding", "add_checklist_item", title, {"titles": [there]}, expected)
        )
    for number, current in enumerate(({}, {"titles": "Milk"}, {"titles": None})):
        fields = {"tool": "add_checklist_item", "args": {"title": "Milk"}, "current": current}
        book.error(f"titles-are-texts-{number}", "REV-20", "bad input", "proposal.redundancy", "bad-request", **fields)
    rules = {"this is white space": "ENT-30", "this is not white space": "ENT-30", "full case folding": "ENT-31"}
    for name, comment, tool, args, current, expected in cases:
        spec = f"REV-20 {rules.get(comment, '')}"
        book.ok(name, spec, comment, "proposal.redundancy", expected, tool=tool, args=args, current=current)
    return book
