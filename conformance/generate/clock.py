"""Vector clocks: compare and merge."""

from conformance.generate import reference
from conformance.generate.book import Book

N1, N2, N3 = "1", "2", "3"
PAIRS: list[tuple[str, str, dict[str, int], dict[str, int]]] = [
    ("both-empty", "two clocks that have seen nothing", {}, {}),
    ("identical", "the same components", {N1: 3, N2: 2}, {N1: 3, N2: 2}),
    ("identical-in-another-order", "the order of hosts means nothing", {N1: 3, N2: 2}, {N2: 2, N1: 3}),
    ("one-component-ahead", "a has seen more of one host", {N1: 3, N2: 2}, {N1: 1, N2: 2}),
    ("one-component-behind", "b has seen more of one host", {N1: 1, N2: 2}, {N1: 3, N2: 2}),
    ("each-ahead-of-the-other", "each has seen what the other lacks", {N1: 3, N2: 1}, {N1: 1, N2: 3}),
    ("a-host-more-on-the-left", "a host that b has never met", {N1: 1, N2: 1}, {N1: 1}),
    ("a-host-more-on-the-right", "a host that a has never met", {N1: 1}, {N1: 1, N2: 1}),
    ("no-host-in-common", "two devices that never met", {"A": 1}, {"B": 1}),
    ("three-hosts-concurrent", "behind in one of three hosts, ahead in another", {"n1": 1, "n2": 2, "n3": 4},
     {"n1": 3, "n2": 2, "n3": 3}),
    ("three-hosts-after", "ahead in two of three hosts, level in the third", {N1: 3, N2: 3, N3: 3},
     {N1: 1, N2: 2, N3: 3}),
    ("a-subset-of-hosts", "b lacks a host of a and nothing else", {"A": 1, "B": 1}, {"A": 1}),
    ("first-write-against-nothing", "counters start at 1, so a first write is after nothing at all", {"A": 1}, {}),
    ("nothing-against-first-write", "nothing is before a first write", {}, {"A": 1}),
    ("zero-is-absent", "a host at 0 is a host that was never met", {"A": 0}, {}),
    ("absent-is-zero", "the same from the other side", {}, {"A": 0}),
    ("zero-beside-others", "a 0 beside equal components changes nothing", {"A": 2, "B": 0}, {"A": 2}),
    ("zero-against-one", "0 is less than a first write", {"A": 0}, {"A": 1}),
    ("ahead-by-a-host-behind-by-a-host", "each knows one host that the other lacks", {"A": 1, "B": 1},
     {"A": 1, "C": 1}),
    ("largest-counters", "2^53 - 1 is a counter like any other", {"A": 2**53 - 1}, {"A": 2**53 - 2}),
    ("hosts-are-exact-text", "hosts are compared as text, letter case included", {"a": 1}, {"A": 1}),
]  # fmt: skip
MERGES: list[tuple[str, str, dict[str, int], dict[str, int]]] = [
    ("maximum-per-host", "the greater counter of every host", {"A": 5, "B": 1}, {"A": 3, "B": 4, "C": 2}),
    ("both-empty", "nothing and nothing", {}, {}),
    ("with-nothing", "nothing adds nothing", {"A": 2, "B": 7}, {}),
    ("nothing-with", "the same from the other side", {}, {"A": 2, "B": 7}),
    ("with-itself", "merging is idempotent", {"A": 2, "B": 7}, {"A": 2, "B": 7}),
    ("disjoint", "hosts of both sides", {"A": 1}, {"B": 1}),
    ("zeros-are-left-out", "a merged clock names no host that was never met", {"A": 0, "B": 0}, {"A": 3, "B": 0}),
    ("concurrent", "neither side alone is the answer", {"A": 3, "B": 1}, {"A": 1, "B": 3}),
    ("is-not-a-sum", "counters are maxima, not amounts", {"A": 4}, {"A": 4}),
    ("largest-counter", "2^53 - 1 survives", {"A": 2**53 - 1}, {"A": 1}),
    ("first-write-survives", "counter 1 is a write and not a zero", {"A": 1}, {"B": 2}),
]
BAD = [
    ("negative-counter", {"A": -1}, "a counter is never negative"),
    ("negative-beside-good", {"A": 4, "B": -2}, "one bad counter spoils the clock"),
    ("counter-beyond-exact", {"A": 2**53}, "beyond 2^53 - 1 some languages round"),
    ("fraction", {"A": 1.5}, "counters are whole"),
    ("counter-true", {"A": True}, "true is not 1"),
    ("counter-text", {"A": "1"}, "text is not a number"),
    ("counter-null", {"A": None}, "null is not 0"),
]


def vectors() -> Book:
    book = Book(1, "clock")
    for name, comment, a, b in PAIRS:
        book.ok(f"compare-{name}", "CAUS-3", comment, "clock.compare", reference.compare(a, b), a=a, b=b)
    for name, comment, a, b in MERGES:
        book.ok(f"merge-{name}", "CAUS-4", comment, "clock.merge", reference.merge(a, b), a=a, b=b)
    book.ok(
        "merge-whole-number-with-a-point",
        "CAUS-4 ENT-32",
        "1.0 is 1",
        "clock.merge",
        {"A": 2},
        a={"A": 2.0},
        b={"A": 1},
    )
    book.ok(
        "compare-whole-number-with-a-point",
        "CAUS-3 ENT-32",
        "1.0 is 1",
        "clock.compare",
        "equal",
        a={"A": 1.0},
        b={"A": 1},
    )
    for name, clock, comment in BAD:
        book.error(f"compare-{name}-on-the-left", "CAUS-2", comment, "clock.compare", "bad-clock", a=clock, b={})
        book.error(f"compare-{name}-on-the-right", "CAUS-2", comment, "clock.compare", "bad-clock", a={}, b=clock)
        book.error(f"merge-{name}", "CAUS-2", comment, "clock.merge", "bad-clock", a={"A": 1}, b=clock)
    return book
