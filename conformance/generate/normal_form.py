"""Normal form: how a model may write a call, and the one form in which it is proposed."""

from typing import Any

from conformance.generate.book import Book


def vectors() -> Book:
    book = Book(1, "normal-form")
    labels = [{"tool": "assign_task_label", "args": {"id": one, "confidence": "medium"}} for one in ("l1", "l2")]
    older: list[tuple[str, Any]] = [
        ("list", ["l1", "l2"]),
        ("text", "l1, l2"),
        ("text-of-a-list", '["l1", "l2"]'),
    ]
    for name, ids in older:
        fields: dict[str, Any] = {"tool": "assign_task_labels", "args": {"labelIds": ids}}
        book.ok(f"label-ids-as-a-{name}", "REV-306", "the older form", "proposal.normal_form", labels, **fields)
    start, end = "2026-03-01T13:00:00.000Z", "2026-03-01T14:30:00.000Z"
    cases: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
        (
            "time-with-an-offset",
            "an instant is UTC with milliseconds",
            "create_time_entry",
            {"startTime": "2026-03-01T14:00:00+01:00", "endTime": "2026-03-01T14:30Z", "summary": " On the phone "},
            {"startTime": start, "endTime": end, "summary": "On the phone"},
        ),
        (
            "corrected-time",
            "what is not named is not there",
            "update_time_entry",
            {"entryId": "e1", "endTime": "2026-03-01T08:30:00-06:00"},
            {"entryId": "e1", "endTime": end},
        ),
        (
            "running-timer",
            "text without white space around it",
            "update_running_timer",
            {"timerId": "e1", "summary": "Done\n"},
            {"timerId": "e1", "summary": "Done"},
        ),
        (
            "estimate-as-text",
            "a number in quotes is the number",
            "update_task_estimate",
            {"minutes": "120"},
            {"minutes": 120},
        ),
    ]
    for name, comment, tool, given, normal in cases:
        for form, args in (("", given), ("-again", normal)):
            spec = "REV-351" if form else "REV-140"
            expected = [{"tool": tool, "args": normal}]
            book.ok(f"{name}{form}", spec, comment, "proposal.normal_form", expected, tool=tool, args=args)
    refused: list[tuple[str, str, dict[str, Any]]] = [
        (
            "time-without-an-offset",
            "create_time_entry",
            {"startTime": "2026-03-01T14:00", "endTime": end, "summary": "On the phone"},
        ),
        ("time-entry-without-a-change", "update_time_entry", {"entryId": "e1"}),
        ("label-ids-without-one", "assign_task_labels", {"labelIds": []}),
    ]
    for name, tool, args in refused:
        book.error(name, "REV-3", "this is refused", "proposal.normal_form", "bad-request", tool=tool, args=args)
    return book
