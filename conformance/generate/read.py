"""Reading: the document that is shown, and what is in conflict with it."""

from typing import Any

from conformance.generate import reference
from conformance.generate.book import A, B, Book, C, entity, gone, held


def cases() -> list[tuple[str, str, str, dict[str, Any]]]:
    one = [held("one", A, 1)]
    return [
        ("one-writer", "MERGE-6", "no conflict", entity({A: 2}, {"title": one, "due": [held("2026-03-01", A, 2)]})),
        ("two-siblings", "MERGE-6", "the greater stamp is shown, the other is a conflict",
         entity({A: 1, B: 1}, {"title": [held("late", B, 1, at=[2000, 0]), held("early", A, 1)]})),
        ("siblings-listed-in-any-order", "MERGE-6", "the order in a request means nothing",
         entity({A: 1, B: 1}, {"title": [held("early", A, 1), held("late", B, 1, at=[2000, 0])]})),
        ("a-user-and-a-later-agent", "MERGE-4", "the user's value is shown",
         entity({A: 1, B: 1}, {"title": [held("agent's", B, 1, by="agent", at=[9000, 0]), held("mine", A, 1)]})),
        ("siblings-of-equal-value", "MERGE-6", "equal values are not a conflict",
         entity({A: 1, B: 1}, {"title": [held("same", A, 1), held("same", B, 1)]})),
        ("two-losers-of-equal-value", "MERGE-6", "a losing value is named once",
         entity({A: 1, B: 1, C: 1}, {"title": [held("x", A, 1), held("x", B, 1), held("y", C, 1)]})),
        ("three-values", "MERGE-6", "losers come in the order of their canonical bytes",
         entity({A: 1, B: 1, C: 1}, {"title": [held("b", A, 1), held("a", B, 1), held("c", C, 1)]})),
        ("losers-of-several-kinds", "MERGE-6", "text, numbers and null by their bytes, too",
         entity({A: 1, B: 1, C: 1, "d" * 16: 1},
                {"title": [held(None, A, 1), held("a", B, 1), held(12, C, 1), held(True, "d" * 16, 1)]})),
        ("null-against-value", "MERGE-6", "removed here, edited there, is a conflict",
         entity({A: 1, B: 1}, {"title": [held(None, B, 1, at=[2000, 0]), held("kept", A, 1)]})),
        ("several-paths", "MERGE-6", "each register stands for itself",
         entity({A: 2, B: 2}, {"title": [held("x", B, 1), held("y", A, 1)], "due": [held("2026-03-01", A, 2)],
                               "priority": [held("P1", B, 2), held("P2", A, 2)]})),
        ("map-keys", "ENT-3", "keys of a map are paths of the flat document",
         entity({A: 2}, {"labels/bug": [held(True, A, 1)], "labels/a~1b": [held(True, A, 2)]})),
        ("a-null-field", "MERGE-6", "a null is shown as such", entity({A: 1}, {"due": [held(None, A, 1)]})),
        ("deleted", "MERGE-6", "the last document stays readable, the deletion is not a field",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1}), A, 2)]})),
        ("deleted-with-unseen-edit", "MERGE-6", "the deletion is a conflict",
         entity({A: 2, B: 1}, {"title": [held("new", B, 1, at=[2000, 0]), *one],
                               "deletedAt": [held(gone({A: 1}), A, 2)]})),
        ("deleted-by-an-agent-with-unseen-user-edit", "MERGE-7", "and here the entity lives",
         entity({A: 1, B: 1, C: 1}, {"title": [held("new", B, 1)],
                                     "deletedAt": [held(gone({A: 1}), C, 1, by="agent")]})),
        ("two-deletions", "MERGE-6", "concurrent deletions are not a conflict",
         entity({A: 2, B: 1}, {"title": one, "deletedAt": [held(gone({A: 1}), B, 1), held(gone({A: 1}), A, 2)]})),
        ("two-deletions-one-saw-the-edit", "MERGE-6", "an edit that one of the deleters saw is not a conflict",
         entity({A: 2, B: 1, C: 1}, {"title": [held("two", B, 1)],
                                     "deletedAt": [held(gone({A: 1}), C, 1), held(gone({A: 1, B: 1}), A, 2)]})),
        ("two-deletions-by-agents-the-winner-saw-less", "MERGE-7", "a second deletion brings nothing back",
         entity({A: 1, B: 1, C: 1, "d" * 16: 1},
                {"title": [held("new", B, 1)],
                 "deletedAt": [held(gone({A: 1}), "d" * 16, 1, by="agent", at=[3000, 0]),
                               held(gone({A: 1, B: 1}), C, 1, by="agent", at=[2000, 0])]})),
        ("deleted-and-brought-back-at-once", "MERGE-6", "a living sibling of a deletion is a conflict",
         entity({A: 3, B: 1}, {"title": [held("one", A, 3)],
                               "deletedAt": [held(gone({A: 2}), B, 1, at=[3000, 0]), held(None, A, 3)]})),
        ("brought-back", "MERGE-6", "seen and undone is not a conflict",
         entity({A: 3}, {"title": [held("one", A, 3)], "deletedAt": [held(None, A, 3)]})),
        ("deletion-of-another-shape", "ENT-123", "what says neither when nor what was seen deletes nothing",
         entity({A: 2}, {"title": one, "deletedAt": [held(True, A, 2)]})),
        ("deletion-without-seen", "ENT-123", "nor does a time alone",
         entity({A: 2}, {"title": one, "deletedAt": [held({"at": "2026-01-01T00:00:00.000Z"}, A, 2)]})),
        ("deletion-whose-seen-is-no-clock", "ENT-121 ENT-123", "nor does what was seen, if it is not a clock",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1, "x": 1}), A, 2)]})),
        ("deletion-whose-seen-is-below-zero", "ENT-121 ENT-123", "a counter is never negative",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: -1}), A, 2)]})),
        ("deletion-whose-seen-is-as-great-as-can-be", "ENT-121", "from 0 to 2^53 - 1",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 2**53 - 1, B: 0}), A, 2)]})),
        ("deletion-at-any-text", "ENT-120", "when it was is for people: any text will do",
         entity({A: 2}, {"title": one, "deletedAt": [held(gone({A: 1}, ""), A, 2)]})),
        ("edited-and-deleted-in-one-write", "MERGE-6", "what was written with the deletion is not unseen",
         entity({A: 2}, {"title": [held("last words", A, 2)], "deletedAt": [held(gone({A: 1}), A, 2)]})),
    ]  # fmt: skip


def vectors() -> Book:
    book = Book(1, "read")
    for name, spec, comment, entity_ in cases():
        book.ok(name, spec, comment, "entity.read", reference.read(entity_), entity=entity_)
    return book
