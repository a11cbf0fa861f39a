"""Run keys: one cause, one name, on every device that reacts to it."""

from typing import Any

from conformance.generate import reference
from conformance.generate.book import A, B, Book

AGENT = "agent-1"
AT = "2026-02-20T14:30:00.000Z"

CHANGES: list[tuple[str, str, list[list[Any]]]] = [
    ("of-a-change", "the agent, the subscription, and the key of the dots that matched", [[A, 9], [B, 2]]),
    ("of-another-change", "one dot more is another change", [[A, 9], [B, 2], [B, 3]]),
    ("dots-in-another-order", "a change is a set of dots", [[B, 2], [A, 9]]),
    ("dots-named-twice", "a change is a set of dots", [[A, 9], [B, 2], [A, 9]]),
    ("dots-sorted-by-number", "9 comes before 10", [[A, 10], [A, 9]]),
    ("dots-sorted-by-host-first", "the host comes before the number", [[B, 1], [A, 2]]),
    ("largest-counter", "counters are whole and exact", [[A, 2**53 - 1]]),
]
NAMED: list[tuple[str, str, str, dict[str, str]]] = [
    ("of-a-person", "a person's request: the agent, the session, the turn", "userInitiated",
     {"session": "session-1", "turn": "1"}),
    ("of-another-turn", "another request of the same session", "userInitiated", {"session": "session-1", "turn": "2"}),
    ("of-a-creation", "the first wake: the turn is the dot that made the agent", "userInitiated",
     {"session": "created", "turn": f"{A}:4"}),
    ("of-a-timer", "the instant that was set, not the one at which it rang", "timer", {"timer": "timer-1", "at": AT}),
    ("of-a-timer-set-again", "the same timer at another instant", "timer",
     {"timer": "timer-1", "at": "2026-02-21T14:30:00.000Z"}),
    ("of-a-name-beyond-ascii", "parts are UTF-8", "timer", {"timer": "Frühstück", "at": AT}),
]  # fmt: skip


def vectors() -> Book:
    book = Book(1, "run-key")
    for name, comment, dots in CHANGES:
        change = reference.change_key(dots)
        expected = {"run": reference.run_key(AGENT, "task", change), "change": change}
        book.ok(name, "AGENT-1 AGENT-2", comment, "run.key", expected, agent=AGENT, reason="subscription",
                subscription="task", dots=dots)  # fmt: skip
    for name, comment, reason, parts in NAMED:
        expected = {"run": reference.run_key(AGENT, *parts.values())}
        book.ok(name, "AGENT-1", comment, "run.key", expected, agent=AGENT, reason=reason, **parts)
    book.error("part-with-a-bar", "AGENT-1", "two causes could share a key", "run.key", "bad-request",
               agent=AGENT, reason="userInitiated", session="a|b", turn="1")  # fmt: skip
    book.error("unknown-reason", "AGENT-1", "there are three", "run.key", "bad-request", agent=AGENT, reason="whim")
    for name, counter in (("zero", 0), ("negative", -1), ("beyond-exact", 2**53)):
        book.error(f"counter-{name}", "AGENT-2 CAUS-2", "a counter is from 1 to 2^53 - 1", "run.key", "bad-request",
                   agent=AGENT, reason="subscription", subscription="task", dots=[[A, counter]])  # fmt: skip
    book.error("dots-without-counter", "AGENT-2", "a dot has a host and a counter", "run.key", "bad-request",
               agent=AGENT, reason="subscription", subscription="task", dots=[[A]])  # fmt: skip
    return book
