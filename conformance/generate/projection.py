"""Projection: the state of a set of proposals that follows from its verdicts."""

from typing import Any

from conformance.generate.book import Book

DAY = 24 * 60 * 60 * 1000
MADE = "2026-03-01T00:00:00.000Z"
MADE_MILLIS = 1_772_323_200_000


def vectors() -> Book:
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
