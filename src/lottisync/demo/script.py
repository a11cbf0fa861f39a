"""What the scripted model says in `make demo`.

It plays a careful but fallible assistant. Like any model, it takes ids from its prompt;
and on the second wake it does what models do: it proposes again what the person has just rejected, and
something that is so by now. Both must be refused, and the demo shows where.
"""

import json
import re
from typing import Any

from lottisync.scripted_model.script import ChatRequest, Say

NEW_TITLE = "Book the yearly boiler service"
ESTIMATE = 90
NEW_ITEMS = (
    "Bleed the radiator in Mila's room",
    "Note the serial number behind the front flap",
    "Find the service log book",
)
MANUAL_REASON = "The note of 19 November says: found the manual in the kitchen drawer."
REJECTED_PRIORITY = "P0"

_TASK = re.compile(r"<task>\n(.*?)\n</task>", re.DOTALL)


def demo_script(request: ChatRequest) -> Say:
    """The reply to one request of the wake: calls on the first turn, a closing sentence on the second."""
    if request.turn > 1:
        return Say("That is all for this wake.")
    text = request.texts("user")[-1]
    task = _task(text)
    return _first_wake(task) if "<report>" not in text else _later_wake(task)


def _task(text: str) -> dict[str, Any]:
    found = _TASK.search(text)
    if found is None:
        raise ValueError("the model's prompt has nothing about its task")
    task: dict[str, Any] = json.loads(found.group(1))
    return task


def _items(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for checklist in task["checklists"] for item in checklist["items"]]


def _titled(task: dict[str, Any], title: str) -> dict[str, Any]:
    return next(item for item in _items(task) if item["title"] == title)


def _first_wake(task: dict[str, Any]) -> Say:
    manual = _titled(task, "Find the manual")
    ticked = next(item for item in _items(task) if item["isChecked"])
    return Say(
        "I have read the notes.",
        tool_calls=[
            ("set_task_title", {"title": NEW_TITLE, "humanSummary": f'Call the task "{NEW_TITLE}"'}),
            ("update_task_estimate", {"minutes": ESTIMATE, "humanSummary": "Last year it took an hour and a half"}),
            ("update_task_priority", {"priority": REJECTED_PRIORITY}),
            ("add_multiple_checklist_items", {"items": [{"title": title} for title in NEW_ITEMS]}),
            (
                "update_checklist_items",
                {
                    "items": [
                        {"id": manual["id"], "isChecked": True, "reason": MANUAL_REASON},
                        {"id": ticked["id"], "isChecked": True},
                    ]
                },
            ),
            (
                "record_observations",
                {
                    "observations": [
                        "The person keeps the boiler's papers in several places; ask for the log book early."
                    ]
                },
            ),
            (
                "update_report",
                {
                    "tldr": "The service is not booked yet. The manual is found, the service log book is missing,"
                    " and one radiator needs bleeding before the pressure can be read.",
                    "goal": "Have the boiler serviced this year, entered in the log book, so that the warranty holds.",
                    "achieved": ["Cleared the shelf in front of the boiler", "Found the manual"],
                    "remaining": ["Phone the heating people", "Find the service log book", "Bleed the radiator"],
                    "learnings": ["Last year the visit took an hour and a half", "Booking needs about three weeks"],
                },
            ),
        ],
    )


def _later_wake(task: dict[str, Any]) -> Say:
    return Say(
        "I have seen what was decided.",
        tool_calls=[
            ("update_task_priority", {"priority": REJECTED_PRIORITY}),
            ("update_task_estimate", {"minutes": task["estimate"]}),
            (
                "record_observations",
                {"observations": ["The person does not want this task to be urgent; they said why."]},
            ),
            (
                "update_report",
                {
                    "tldr": "The task has its title, an estimate and a longer list. Next: phone the heating people.",
                    "goal": "Have the boiler serviced this year, entered in the log book, so that the warranty holds.",
                    "achieved": ["Found the manual", "Agreed on the steps"],
                    "remaining": ["Phone the heating people", "Find the service log book"],
                    "learnings": ["No hurry: the boiler works"],
                },
            ),
        ],
    )
