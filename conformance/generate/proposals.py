"""Proposals: what identifies one, what the guard lets pass, what is redundant, what a set amounts to."""

import hashlib
import json
from typing import Any

from conformance.generate.book import Book

DAY = 24 * 60 * 60 * 1000
MADE = "2026-03-01T00:00:00.000Z"
MADE_MILLIS = 1_772_323_200_000
REFUSAL = "User set this item at {at}. Provide a reason citing evidence from after that time to override."
AT = "2026-02-28T22:00:00.000Z"
TICK: dict[str, Any] = {"id": "i1", "isChecked": True}
REASON = "The note of 22:30 says so"
WHITE_SPACE = (0x09, 0x0D, 0x1C, 0x1F, 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
NO_WHITE_SPACE = (0x08, 0x180E, 0x200B, 0x2060, 0xFEFF)
UNSEEN = (*NO_WHITE_SPACE, 0x7F, 0x9F, 0xAD, 0x2800, 0x3164, 0xE0041)


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def operations() -> Book:
    book = Book(1, "operation")
    prose = {"reason": REASON, "humanSummary": "Tick it", "evidenceEntryIds": ["e1"]}
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


def guard() -> Book:
    book = Book(1, "guard")
    refusal, unknown = REFUSAL.format(at=AT), REFUSAL.format(at="unknown")
    named = f"{refusal} Name the user's entries in evidenceEntryIds."
    older = f"{refusal} What you cite is older."
    cases: list[tuple[str, str, str, dict[str, Any], str | None]] = [
        ("user-set-without-reason", "SOV-2 SOV-7", "the user ticked it, and nothing is said", {}, refusal),
        ("user-set-with-reason", "SOV-2", "a reason that is long enough", {"reason": REASON}, None),
        ("agent-set", "SOV-4", "what the agent set it changes freely", {"checkedBy": "agent"}, None),
        (
            "without-provenance",
            "SOV-3",
            "an old record counts as the user's",
            {"checkedBy": None, "checkedAt": None},
            unknown,
        ),
        (
            "unknown-provenance",
            "SOV-3",
            "a word of a newer version counts as the user's",
            {"checkedBy": "robot"},
            refusal,
        ),
        ("blank-reason", "SOV-2", "blanks are no reason", {"reason": " " * 30}, refusal),
        ("reason-of-19", "SOV-2", "one character short", {"reason": "x" * 19}, refusal),
        ("reason-of-20", "SOV-2", "just long enough", {"reason": "x" * 20}, None),
        ("reason-trimmed", "SOV-2", "trimmed before it is counted", {"reason": f" {'x' * 19} "}, refusal),
        ("unchanged", "SOV-5", "the tick stays as it is", {"proposed": True}, None),
        ("title-alone", "SOV-6", "no tick is proposed", {"proposed": None}, None),
        (
            "ticking-what-the-user-left-open",
            "SOV-2",
            "the other way round",
            {"isChecked": False, "proposed": True},
            refusal,
        ),
        (
            "evidence-none-cited",
            "SOV-11",
            "evidence is asked for, none is cited",
            {"reason": REASON, "sovereignty": "evidence"},
            named,
        ),
        (
            "evidence-unfit",
            "SOV-11 SOV-14",
            "what is cited is no evidence",
            {"reason": REASON, "sovereignty": "evidence", "grade": "unfit"},
            named,
        ),
        (
            "evidence-follows",
            "SOV-11",
            "written by someone who knew of the tick",
            {"reason": REASON, "sovereignty": "evidence", "grade": "follows"},
            None,
        ),
        (
            "evidence-beside",
            "SOV-13",
            "written beside the tick: for a person to judge",
            {"reason": REASON, "sovereignty": "evidence", "grade": "unknown"},
            None,
        ),
        (
            "evidence-older",
            "SOV-14",
            "older than the tick",
            {"reason": REASON, "sovereignty": "evidence", "grade": "before"},
            older,
        ),
        (
            "older-in-reason-mode",
            "SOV-14",
            "what is cited must not be older in either mode",
            {"reason": REASON, "grade": "before"},
            older,
        ),
        (
            "evidence-agent-set",
            "SOV-4",
            "what the agent set needs none",
            {"checkedBy": "agent", "sovereignty": "evidence"},
            None,
        ),
    ]
    for code in (*WHITE_SPACE, 0x0B):
        blank, comment, rules = chr(code), "this is white space", "REV-1001 ENT-30"
        apart, around = f"{'x' * 10}{blank}{blank}{'x' * 9}", f"{blank}{'x' * 19}{blank}"
        cases.append((f"reason-with-{code:04x}", rules, f"{comment}: a run is one character", {"reason": apart}, None))
        cases.append((f"reason-between-{code:04x}", rules, f"{comment}: trimmed", {"reason": around}, refusal))
    for code in UNSEEN:
        hidden = f"{'x' * 10}{chr(code)}{'x' * 9}"
        cases.append((f"reason-with-{code:04x}", "REV-1000 ENT-30", "nobody sees this", {"reason": hidden}, refusal))
    hidden_in_a_run = {"reason": f"{'x' * 9} \u200b {'x' * 9}"}
    cases.append(("reason-with-a-run", "REV-1001", "taken out before a run is one", hidden_in_a_run, refusal))
    base: dict[str, Any] = {"isChecked": True, "checkedBy": "user", "checkedAt": AT, "proposed": False, "reason": None}
    for name, spec, comment, change, expected in cases:
        book.ok(name, spec, comment, "proposal.guard", expected, **base | change)
    return book


def redundancy() -> Book:
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
            "this is no white space",
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
    rules = {"this is white space": "ENT-30", "this is no white space": "ENT-30", "full case folding": "ENT-31"}
    for name, comment, tool, args, current, expected in cases:
        spec = f"REV-20 {rules.get(comment, '')}"
        book.ok(name, spec, comment, "proposal.redundancy", expected, tool=tool, args=args, current=current)
    return book


def normal_form() -> Book:
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


def _decision(ident: str, verdict: str, *, seen: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    minutes = more.pop("minutes", 60)
    return {
        "id": ident,
        "operationId": "op1",
        "verdict": verdict,
        "actor": "user",
        "args": {"minutes": minutes},
        "seen": list(seen),
        "createdAt": MADE,
    } | more


def projection() -> Book:
    book = Book(1, "projection")
    item = {"id": "s.0", "operationId": "op1", "toolName": "update_task_estimate", "args": {"minutes": 60}}
    sets = [{"id": "s", "createdAt": MADE, "items": [item]}]
    at = MADE_MILLIS
    yes, no = _decision("y", "confirmed"), _decision("n", "rejected")
    later = "2026-03-11T00:00:00.000Z"
    put_off = _decision("d", "deferred", until=later)
    cases: list[tuple[str, str, str, list[dict[str, Any]], int, str, dict[str, Any]]] = [
        ("nothing-decided", "REV-32", "it waits", [], at + DAY, "pending", {"status": "pending"}),
        (
            "one-millisecond-before-expiry",
            "REV-33",
            "seven days less one",
            [],
            at + 7 * DAY - 1,
            "pending",
            {"status": "pending"},
        ),
        ("expired", "REV-33", "seven days", [], at + 7 * DAY, "expired", {"status": "pending", "expired": True}),
        (
            "a-verdict-beats-expiry",
            "REV-33",
            "whenever it comes",
            [yes],
            at + 70 * DAY,
            "resolved",
            {"status": "confirmed"},
        ),
        ("rejected", "REV-32", "a rejection", [no], at, "resolved", {"status": "rejected"}),
        ("put-off", "REV-34", "until a time to come", [put_off], at + 9 * DAY, "pending", {"status": "deferred"}),
        (
            "back-again",
            "REV-34",
            "its time has come, seven days begin",
            [put_off],
            at + 16 * DAY,
            "pending",
            {"status": "pending"},
        ),
        (
            "put-off-and-expired",
            "REV-34",
            "and are over",
            [put_off],
            at + 17 * DAY,
            "expired",
            {"status": "pending", "expired": True},
        ),
        (
            "seen-verdicts-are-replaced",
            "REV-31",
            "the rejection was put off before",
            [put_off, _decision("n", "rejected", seen=("d",))],
            at,
            "resolved",
            {"status": "rejected"},
        ),
        (
            "contested",
            "REV-55",
            "confirmed and rejected apart",
            [yes, no],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "contested-in-the-other-order",
            "REV-30",
            "whatever came first",
            [no, yes],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "agreed",
            "REV-55",
            "confirmed on two devices alike",
            [yes, _decision("y2", "confirmed")],
            at,
            "resolved",
            {"status": "confirmed"},
        ),
        (
            "two-edits",
            "REV-55",
            "confirmed with different arguments",
            [yes, _decision("y2", "confirmed", minutes=75)],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "settled",
            "REV-58",
            "somebody saw both and kept it",
            [yes, no, _decision("k", "confirmed", seen=("y", "n"))],
            at,
            "resolved",
            {"status": "confirmed"},
        ),
        (
            "undone",
            "REV-57",
            "the user took it back",
            [yes, _decision("u", "retracted", seen=("y",))],
            at,
            "resolved",
            {"status": "retracted"},
        ),
        (
            "undone-here-confirmed-there",
            "REV-58",
            "the other had not heard of it",
            [yes, _decision("u", "retracted", seen=("y",)), _decision("y2", "confirmed")],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "retracted-by-the-agent",
            "REV-77",
            "before anybody decided",
            [_decision("r", "retracted", actor="agent")],
            at,
            "resolved",
            {"status": "retracted"},
        ),
        (
            "retracted-and-confirmed-apart",
            "REV-77",
            "an agent contests nothing",
            [yes, _decision("r", "retracted", actor="agent")],
            at,
            "resolved",
            {"status": "confirmed"},
        ),
        (
            "retracted-and-put-off-apart",
            "REV-77",
            "an agent takes nothing from who wants to be asked later",
            [put_off, _decision("r", "retracted", actor="agent")],
            at,
            "pending",
            {"status": "deferred"},
        ),
        (
            "put-off-then-retracted",
            "REV-75",
            "what an agent takes back though it has seen that it was put off",
            [put_off, _decision("r", "retracted", actor="agent", seen=("d",))],
            at,
            "resolved",
            {"status": "retracted"},
        ),
        (
            "a-ring",
            "REV-31",
            "two decisions that each list the other both count",
            [_decision("y", "confirmed", seen=("n",)), _decision("n", "rejected", seen=("y",))],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "a-ring-beside-another-decision",
            "REV-31",
            "a ring that nothing else has seen counts beside other heads",
            [
                _decision("y", "confirmed", seen=("y2",)),
                _decision("y2", "confirmed", seen=("y",)),
                _decision("u", "retracted"),
            ],
            at,
            "resolved",
            {"status": "confirmed", "contested": True},
        ),
        (
            "a-ring-that-was-seen",
            "REV-31",
            "a decision that has seen one of a ring has seen all of it",
            [
                _decision("y", "confirmed", seen=("n",)),
                _decision("n", "rejected", seen=("y",)),
                _decision("u", "retracted", seen=("n",)),
            ],
            at,
            "resolved",
            {"status": "retracted"},
        ),
        (
            "a-ring-that-saw-another",
            "REV-31",
            "of two rings, the one that was seen counts no more",
            [
                _decision("a", "rejected", seen=("b",)),
                _decision("b", "rejected", seen=("a",)),
                _decision("c", "confirmed", seen=("d", "a")),
                _decision("d", "confirmed", seen=("c",)),
            ],
            at,
            "resolved",
            {"status": "confirmed"},
        ),
        (
            "its-own-forerunner",
            "REV-31",
            "a decision that lists itself counts",
            [_decision("n", "rejected", seen=("n",))],
            at,
            "resolved",
            {"status": "rejected"},
        ),
        (
            "a-rejection-was-undone",
            "REV-161",
            "nothing had been done, so it waits again",
            [no, _decision("u", "deferred", seen=("n",), undoes="n", until=MADE)],
            at,
            "pending",
            {"status": "pending"},
        ),
        (
            "undoes-decides-nothing",
            "REV-326",
            "what was undone follows from the verdict and from what was seen",
            [yes, _decision("u", "retracted", seen=("y",), undoes="another")],
            at,
            "resolved",
            {"status": "retracted"},
        ),
        (
            "confirmed-for-another-reason",
            "REV-162",
            "arguments that are prose make no difference",
            [yes, _decision("y2", "confirmed", args={"minutes": 60, "reason": "Because", "confidence": "low"})],
            at,
            "resolved",
            {"status": "confirmed"},
        ),
        (
            "twice-the-same",
            "REV-30",
            "a decision that arrives twice is one",
            [no, no],
            at,
            "resolved",
            {"status": "rejected"},
        ),
    ]
    wrong: list[dict[str, Any]] = [
        {"sets": "x"},
        {"sets": [{"items": "x"}]},
        {"sets": [{"items": [7]}]},
        {"decisions": [7]},
    ]
    for number, fault in enumerate(wrong):
        fields = {"sets": [], "decisions": [], "now": at} | fault
        book.error(f"no-sets-{number}", "REV-30", "bad input", "proposal.project", "bad-request", **fields)
    for name, spec, comment, decisions, now, status, state in cases:
        expected = {"s": {"status": status, "items": {"s.0": {"contested": False, "expired": False} | state}}}
        book.ok(name, spec, comment, "proposal.project", expected, sets=sets, decisions=decisions, now=now)
    return book
