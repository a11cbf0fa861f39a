"""The canonical form to the byte, as hashes of fixed entities. `shows` has the bytes that were hashed."""

from typing import Any

from conformance.generate import reference
from conformance.generate.book import A, B, Book, C, entity, gone, held

VALUES: list[tuple[str, str, Any]] = [
    ("null", "null", None),
    ("true", "true", True),
    ("false", "false", False),
    ("zero", "zero", 0),
    ("negative-integer", "a negative integer", -17),
    ("largest-integer", "2^53 - 1", 2**53 - 1),
    ("smallest-integer", "-(2^53 - 1)", -(2**53) + 1),
    ("float-without-fraction", "1.0 is written 1", 1.0),
    ("negative-zero", "-0.0 is written 0", -0.0),
    ("float-one-half", "a float with a fraction", 1.5),
    ("float-shortest-digits", "the shortest digits that read back as the same number", 0.1 + 0.2),
    ("float-third", "sixteen digits", 1 / 3),
    ("float-hundred-thousandth", "down to 1e-5 without an exponent", 0.00001),
    ("float-millionth", "below that with one, and without a leading zero in it", 0.000001),
    ("float-millionths", "the digits before the exponent", 0.0000012345),
    ("float-many-digits-small", "no exponent at 1e-5, whatever the digits", 0.000012345678901234567),
    ("float-1e15-and-a-half", "large with a fraction", 1_000_000_000_000_000.5),
    ("float-beyond-exact", "2^53 is a float: its .0 tells it from an integer, which ends before it", float(2**53)),
    ("float-below-1e16", "the greatest that is written without an exponent", 9_999_999_999_999_998.0),
    ("float-1e16", "from 1e16 on with an exponent, and without a plus in it", 1e16),
    ("float-large-digits", "digits before a large exponent", 1.2345678901234567e22),
    ("float-largest", "the largest there is", 1.7976931348623157e308),
    ("float-smallest", "the smallest there is", 5e-324),
    ("float-negative-small", "a sign before an exponent", -2.5e-10),
    ("text-empty", "empty text", ""),
    ("text-accents", "text is UTF-8 and not escaped", "Äpfel à côté"),
    ("text-beyond-the-basic-plane", "nor are characters of four bytes", "🥛 Milch"),
    ("text-is-not-normalised", "a letter with a combining accent stays two characters", "e\u0301"),
    ("text-quote-and-backslash", "the two characters that must be escaped", 'say "\\"'),
    ("text-short-escapes", "the five control characters that have short escapes", "\b\f\n\r\t"),
    ("text-other-controls", "others as \\u and four lowercase digits", "\u0000\u0001\u001f"),
    ("text-not-escaped", "slash, delete and line separator are not", "/\u007f\u2028"),
    ("array-empty", "an empty array", []),
    ("array-keeps-order", "arrays keep their order", [3, 1, 2]),
    ("object-empty", "an empty object", {}),
    ("object-keys-sorted", "keys are sorted", {"b": 1, "a": 2, "B": 3, "": 4}),
    ("object-keys-by-bytes", "by their UTF-8 bytes, which is not the order of UTF-16", {"😀": 1, "\uffff": 2, "é": 3}),
    ("object-keys-sorted-inside", "at every depth", [{"z": {"y": 1, "x": 2}, "a": []}]),
]


def cases() -> list[tuple[str, str, str, dict[str, Any]]]:
    one = [held("one", A, 1)]
    two = entity({A: 2}, {"title": one, "due": [held("2026-03-01", A, 2, at=[2000, 0])]})
    dead = entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1}), A, 2)]})
    return [
        ("minimal", "ENT-8", "one writer, one field", entity({A: 1}, {"title": one})),
        ("fields-sorted", "ENT-8", "fields are sorted by their bytes",
         entity({A: 1}, dict.fromkeys(("title", "Title", "a_b", "ab", "labels/z", "labels/Z", "labels"), one))),
        ("hosts-sorted", "ENT-8", "so are the hosts of the clock", entity({C: 3, A: 1, B: 2}, {"title": one})),
        ("zero-component", "ENT-8", "a host at 0 is not in the form", entity({A: 1, B: 0}, {"title": one})),
        ("clock-wider-than-the-stamps", "ENT-8", "the clock counts, not only the writes that are held",
         entity({A: 9, B: 4}, {"title": one})),
        ("base-is-the-most-frequent", "ENT-8", "the stamp that most fields have is the base",
         entity({A: 2, B: 1}, {"a": [held(1, B, 1)], "b": [held(2, B, 1)], "c": [held(3, A, 2, at=[9000, 0])]})),
        ("base-of-a-tie-is-the-greatest", "ENT-8", "the greatest of those that are equally frequent", two),
        ("base-of-a-tie-by-precedence", "ENT-8", "precedence comes first in a stamp",
         entity({A: 1, B: 1}, {"a": [held(1, A, 1)], "b": [held(2, B, 1, by="agent", at=[9000, 0])]})),
        ("base-counts-winners-only", "ENT-8", "siblings do not count for the base",
         entity({A: 2, B: 1}, {"a": [held(1, A, 2, at=[5000, 0]), held(0, A, 1)],
                               "b": [held(2, B, 1, at=[6000, 0]), held(0, A, 1)]})),
        ("siblings", "ENT-8", "siblings follow with stamp and value, the greater first",
         entity({A: 1, B: 1, C: 1}, {"title": [held("x", A, 1), held("y", C, 1), held("z", B, 1)]})),
        ("siblings-in-another-order", "ENT-8", "however a request lists them",
         entity({A: 1, B: 1, C: 1}, {"title": [held("z", B, 1), held("x", A, 1), held("y", C, 1)]})),
        ("siblings-of-equal-value", "ENT-8", "equal values are still two writes",
         entity({A: 1, B: 1}, {"title": [held("x", A, 1), held("x", B, 1)]})),
        ("an-agents-write", "ENT-8", "precedence 0", entity({A: 1}, {"title": [held("one", A, 1, by="agent")]})),
        ("reading-with-ticks", "ENT-8", "both parts of the reading",
         entity({A: 1}, {"title": [held("one", A, 1, at=[2**48 - 1, 65_535])]})),
        ("largest-counter", "ENT-8", "2^53 - 1", entity({A: 2**53 - 1}, {"title": [held("one", A, 2**53 - 1)]})),
        ("counters-with-a-point", "ENT-8 ENT-32", "1.0 is 1, in the clock and in a write",
         entity({A: 1.0}, {"title": [held("one", A, 1.0)]})),
        ("another-type", "ENT-8", "the type counts", entity({A: 1}, {"title": one}, type="note")),
        ("another-id", "ENT-8", "so does the id", entity({A: 1}, {"title": one}, id="T-2.x:y_z")),
        ("unknown-type", "ENT-11", "a type without a schema is hashed like any other",
         entity({A: 1}, {"colour": one}, type="spaceship")),
        ("key-with-slash-and-tilde", "ENT-3", "a key is escaped as in a JSON pointer",
         entity({A: 1}, {"labels/a~1b~0c": one})),
        ("key-beyond-ascii", "ENT-3", "a key may hold any text", entity({A: 1}, {"labels/Äpfel 🥛": one})),
        ("tombstone-clean", "STORE-6", "a deletion that saw every edit adds nothing", dead),
        ("tombstone-of-two-deleters", "STORE-6", "nor do two, where every edit was seen by one of them",
         entity({A: 2, B: 1}, {"title": one, "deletedAt": [held(gone({A: 1}), B, 1), held(gone({A: 1}), A, 2)]})),
        ("tombstone-with-unseen-edit", "STORE-6", "a deletion that has not seen an edit counts whole",
         entity({A: 2, B: 1}, {"title": [held("new", B, 1)], "deletedAt": [held(gone({A: 1}), A, 2)]})),
        ("tombstone-with-unseen-agent-edit", "STORE-6", "an agent's edit is an edit",
         entity({A: 2, B: 1}, {"title": [held("new", B, 1, by="agent")], "deletedAt": [held(gone({A: 1}), A, 2)]})),
        ("tombstone-beside-undeletion", "STORE-6", "a living sibling makes it count",
         entity({A: 3, B: 1}, {"title": [held("one", A, 3)],
                               "deletedAt": [held(gone({A: 3}), B, 1, at=[3000, 0]), held(None, A, 3)]})),
        ("brought-back", "STORE-6", "an undeleted entity counts",
         entity({A: 3}, {"title": [held("one", A, 3)], "deletedAt": [held(None, A, 3)]})),
        ("deletion-of-another-shape", "ENT-123", "what is not a deletion takes nothing out of the digest",
         entity({A: 2}, {"title": one, "deletedAt": [held("yesterday", A, 2)]})),
        *((f"deletion-whose-seen-has-{name}", "ENT-121 ENT-123", "what was seen is a clock, or it is not a deletion",
           entity({A: 2}, {"title": one, "deletedAt": [held(gone(seen), A, 2)]}))
          for name, seen in (("no-host", {A: 1, "x": 1}), ("capitals", {A: 1, "A" * 16: 1}),
                             ("minus-one", {A: 1, B: -1}))),
        ("deletion-whose-seen-has-a-point", "ENT-121 ENT-32", "1.0 is 1: it is a deletion",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1.0}), A, 2)]})),
        ("deletion-at-no-time", "ENT-120", "when it was may be any text",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1}, at=""), A, 2)]})),
        ("deletion-with-more-fields", "ENT-122", "a deletion may say more than when and what was seen",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1}) | {"why": "done"}, A, 2)]})),
    ]  # fmt: skip


def vectors() -> Book:
    book = Book(0, "digest")
    all_cases = [
        *((f"value-{name}", "ENT-7", comment, entity({A: 1}, {"x": [held(value, A, 1)]}))
          for name, comment, value in VALUES),
        *cases(),
    ]  # fmt: skip
    for name, spec, comment, case in all_cases:
        shows = reference.form(case).decode()
        book.ok(name, spec, comment, "entity.digest", reference.digest(case), shows=shows, entity=case)
    return book
