"""The guard: what an agent may untick, and what it must say for it."""

from typing import Any

from conformance.generate.book import Book
from conformance.generate.characters import UNSEEN, WHITE_SPACE

REFUSAL = "User set this item at {at}. Provide a reason citing evidence from after that time to override."
AT = "2026-02-28T22:00:00.000Z"
REASON = "The note of 22:30 says so"


def vectors() -> Book:
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
        ("blank-reason", "SOV-2", "blanks are not a reason", {"reason": " " * 30}, refusal),
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
            "what is cited is not evidence",
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
