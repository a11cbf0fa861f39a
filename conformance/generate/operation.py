"""Operations: what identifies a proposal, the same on every device."""

import hashlib
import json
from typing import Any

from conformance.generate.book import Book

TICK: dict[str, Any] = {"id": "i1", "isChecked": True}


def vectors() -> Book:
    book = Book(1, "operation")
    prose = {"reason": "The note of 22:30 says so", "humanSummary": "Tick it", "evidenceEntryIds": ["e1"]}
    digests = [
        ("of-tool-and-arguments", "canonical JSON of the tool and its arguments", TICK, TICK),
        ("without-prose", "words are not the change", TICK | prose, TICK),
        (
            "without-confidence",
            "how sure a model is, is not the change",
            {"id": "l1", "confidence": "high"},
            {"id": "l1"},
        ),
        ("keys-in-any-order", "the order of arguments means nothing", {"isChecked": True, "id": "i1"}, TICK),
        (
            "of-a-title-beyond-ascii",
            "text is UTF-8 and not escaped",
            {"title": "Brötchen 🍞"},
            {"title": "Brötchen 🍞"},
        ),
        ("of-a-whole-float", "60.0 is 60", {"minutes": 60.0}, {"minutes": 60}),
    ]
    for name, comment, args, plain in digests:
        tool = "update_checklist_item"
        book.ok(f"digest-{name}", "REV-10", comment, "proposal.digest", _sha256([tool, plain]), tool=tool, args=args)
    moved = {"id": "i1", "title": "Buy a chain", "targetTaskId": "t2"}
    spent = {"startTime": "2026-03-01T13:00:00.000Z", "endTime": "2026-03-01T14:00:00.000Z", "summary": "On the phone"}
    for name, comment, tool, plain in (
        ("of-a-move", "an item goes to another task", "migrate_checklist_item", moved),
        ("of-an-archived-item", "an item is put away", "update_checklist_item", {"id": "i1", "isArchived": True}),
        ("of-time-spent", "a time entry with start and end", "create_time_entry", spent),
        ("of-a-corrected-time", "another end", "update_time_entry", {"entryId": "e1", "endTime": spent["endTime"]}),
        (
            "of-a-stopped-timer",
            "a timer that runs gets its end",
            "update_running_timer",
            {"timerId": "e1", "summary": "Done"},
        ),
    ):
        args = plain | {"humanSummary": "In words", "confidence": "high"}
        book.ok(f"digest-{name}", "REV-10", comment, "proposal.digest", _sha256([tool, plain]), tool=tool, args=args)
    base: dict[str, Any] = {
        "run": "run",
        "task": "t1",
        "tool": "update_checklist_item",
        "args": TICK,
        "targets": ["i1"],
    }
    others: list[tuple[str, str, dict[str, Any]]] = [
        ("of-an-update", "run key, task, and the action on its target", {}),
        ("of-another-run", "another trigger is another operation", {"run": "run2"}),
        ("of-another-task", "another task", {"task": "t2"}),
        ("of-another-target", "another target", {"targets": ["i2"]}),
        (
            "of-a-creation",
            "nothing exists that it would change",
            {"tool": "add_checklist_item", "args": {"title": "Milk"}, "targets": []},
        ),
        (
            "of-a-move",
            "the item and the other task are its targets",
            {"tool": "migrate_checklist_item", "args": moved, "targets": ["i1", "t2"]},
        ),
        (
            "of-time-spent",
            "an entry that is not there yet",
            {"tool": "create_time_entry", "args": spent, "targets": []},
        ),
        ("targets-in-any-order", "targets are sorted", {"targets": ["i2", "i1"]}),
        ("without-prose", "words are not the change", {"args": TICK | prose}),
    ]
    for name, comment, change in others:
        asked = base | change
        plain = {key: value for key, value in asked["args"].items() if key not in prose}
        action = _sha256([asked["tool"], plain, sorted(asked["targets"])])
        expected = _sha256([asked["run"], asked["task"], action])
        book.ok(f"operation-{name}", "REV-11", comment, "proposal.operation", expected, **asked)
    return book


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
