"""Hybrid logical clocks: a reading for a new write, and the clock after meeting another."""

from conformance.generate import reference
from conformance.generate.book import Book

TOP = 2**48 - 1
TICKS = [
    ("time-goes-on", "a later wall clock is followed, and counting starts again", [1000, 3], 1001),
    ("time-stands-still", "within one millisecond the counter tells writes apart", [1000, 3], 1000),
    ("time-goes-back", "a wall clock that was set back is not followed", [1000, 3], 900),
    ("time-goes-back-by-years", "however far", [1_772_316_000_000, 0], 5),
    ("the-counter-is-full", "after 65535 ticks the millisecond is borrowed from the future", [1000, 65_535], 1000),
    ("the-counter-is-full-and-time-goes-on", "nothing is borrowed if time has gone on", [1000, 65_535], 1001),
    ("the-very-first", "from nothing to the wall clock", [0, 0], 1_772_316_000_000),
    ("at-the-beginning-of-time", "a wall clock at 0", [0, 0], 0),
    ("the-last-millisecond", "48 bits of milliseconds, all of them", [1000, 0], TOP),
]
MEETINGS = [
    ("a-later-one", "the later reading is taken over", [1000, 3], [1500, 1], 1200),
    ("an-earlier-one", "an earlier reading changes nothing", [1500, 1], [1000, 3], 1200),
    ("an-equal-one", "nor does an equal one", [1500, 1], [1500, 1], 1200),
    ("the-same-millisecond-more-ticks", "ticks decide within a millisecond", [1000, 3], [1000, 9], 1000),
    ("the-same-millisecond-fewer-ticks", "in both directions", [1000, 9], [1000, 3], 1000),
    ("more-millis-beat-more-ticks", "milliseconds come first", [1000, 65_535], [1001, 0], 1001),
    ("just-near-enough", "five minutes ahead of our wall clock is still followed", [1000, 0], [301_000, 0], 1000),
    ("just-too-far", "a millisecond more is not", [1000, 0], [301_001, 0], 1000),
    ("the-far-future", "one wrong clock must not carry everybody along", [1000, 3], [10**12, 0], 1200),
    ("far-ahead-of-us-but-near-our-wall-clock", "our wall clock is the measure, not our last reading", [1000, 0],
     [900_000, 0], 800_000),
    ("wall-clock-does-not-enter", "meeting is not a write: the wall clock only judges", [1000, 3], [1100, 0], 5000),
    ("own-clock-ahead-of-the-wall", "our own reading never goes back", [1000, 3], [900, 0], 10),
]  # fmt: skip
BAD = [
    ("negative-millis", [-1, 0], "bad-clock", "there is no time before 1970"),
    ("negative-ticks", [0, -1], "bad-clock", "ticks count upwards"),
    ("millis-of-49-bits", [TOP + 1, 0], "bad-clock", "48 bits"),
    ("ticks-of-17-bits", [0, 65_536], "bad-clock", "16 bits"),
    ("one-number", 1000, "bad-request", "a reading is a pair"),
    ("three-numbers", [1000, 0, 0], "bad-request", "of two"),
    ("text", ["1000", 0], "bad-request", "of numbers"),
    ("null", None, "bad-request", "and never missing"),
]

NO_TIMES: list[tuple[str, float, str]] = [
    ("negative", -1, "from 1970 on"),
    ("of-49-bits", TOP + 1, "of 48 bits"),
    ("with-a-fraction", 1.5, "and whole"),
]


def vectors() -> Book:
    book = Book(1, "hlc")
    for name, comment, last, now in TICKS:
        book.ok(f"tick-{name}", "CAUS-7", comment, "hlc.tick", reference.tick(last, now), hlc=last, now=now)
    for name, comment, last, remote, now in MEETINGS:
        met = reference.observe(last, remote, now)
        spec = "CAUS-8" if met == max(last, remote) else "CAUS-9"
        book.ok(f"observe-{name}", spec, comment, "hlc.observe", met, hlc=last, remote=remote, now=now)
    for name, reading, code, comment in BAD:
        book.error(f"tick-{name}", "CAUS-6", comment, "hlc.tick", code, hlc=reading, now=1000)
        book.error(f"observe-{name}", "CAUS-6", comment, "hlc.observe", code, hlc=[0, 0], remote=reading, now=1000)
    book.error("tick-past-the-end", "CAUS-6", "the very last reading has no successor", "hlc.tick", "bad-clock",
               hlc=[TOP, 65_535], now=1000)  # fmt: skip
    book.error("tick-without-now", "CAUS-7", "the adapter never looks at a clock of its own", "hlc.tick",
               "bad-request", hlc=[0, 0])  # fmt: skip
    for name, wrong, comment in NO_TIMES:
        book.error(f"tick-now-is-{name}", "CAUS-7", comment, "hlc.tick", "bad-request", hlc=[0, 0], now=wrong)
    book.ok("tick-numbers-with-a-point", "CAUS-7 ENT-32", "1.0 is 1", "hlc.tick", [5, 0], hlc=[0.0, 1.0], now=5.0)
    book.error("tick-now-is-text", "CAUS-7", "now is a number", "hlc.tick", "bad-request", hlc=[0, 0], now="5")
    return book
