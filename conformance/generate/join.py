"""Join: what two devices hold after they have met. Every case is asked in both orders."""

from typing import Any

from conformance.generate import reference
from conformance.generate.book import A, B, Book, C, entity, gone, held

Entity = dict[str, Any]


def cases() -> list[tuple[str, str, str, Entity, Entity]]:
    first = entity({A: 1}, {"title": [held("one", A, 1)]})
    edited = entity({A: 1, B: 1}, {"title": [held("two", B, 1, at=[2000, 0])]})
    aside = entity({A: 1, C: 1}, {"title": [held("three", C, 1, at=[3000, 0])]})
    both = reference.join(edited, aside)
    settled = entity({A: 2, B: 1, C: 1}, {"title": [held("settled", A, 2, at=[4000, 0])]})
    alone = entity({B: 1}, {"title": [held("other", B, 1, at=[2000, 0])]})
    dead = entity({A: 2}, {"title": [held("one", A, 1)], "deletedAt": [held(gone({A: 1}), A, 2, at=[1500, 0])]})
    back = entity({A: 3}, {"title": [held("one", A, 3)], "deletedAt": [held(None, A, 3)]})
    checked = {
        path: [held(value, B, 1, at=[2000, 0])]
        for path, value in (("isChecked", True), ("checkedBy", "user"), ("checkedAt", "2026-03-01T09:00:00.000Z"))
    }
    unchecked = {
        path: [held(value, C, 1, by="agent", at=[9000, 0])]
        for path, value in (("isChecked", False), ("checkedBy", "agent"), ("checkedAt", "2026-03-02T09:00:00.000Z"))
    }
    return [
        ("with-itself", "MERGE-1", "meeting an equal copy changes nothing", first, first),
        ("one-saw-the-other", "MERGE-2", "a write that was seen is overwritten", first, edited),
        ("siblings", "MERGE-2", "two writes that did not know of each other are both held", edited, aside),
        ("siblings-meet-one-of-theirs", "MERGE-3", "what is held already stays", both, edited),
        ("three-way", "MERGE-2", "three devices wrote on their own", both,
         entity({A: 1, "d" * 16: 1}, {"title": [held("four", "d" * 16, 1, at=[500, 0])]})),
        ("settled-by-one-who-saw-both", "MERGE-2", "a write that saw the siblings overwrites them", both, settled),
        ("settled-by-one-who-saw-one", "MERGE-2", "what the settler had not seen stays", both,
         entity({A: 2, B: 1}, {"title": [held("half", A, 2, at=[4000, 0])]})),
        ("never-met", "MERGE-2", "made on two devices under one id", first, alone),
        ("different-fields", "MERGE-2", "an edit of one field does not touch another",
         entity({A: 2}, {"title": [held("one", A, 1)], "due": [held("2026-03-01", A, 2)]}),
         entity({A: 1, B: 1}, {"title": [held("one", A, 1)], "priority": [held("P1", B, 1)]})),
        ("different-keys-of-a-map", "ENT-3", "labels that two devices set do not meet",
         entity({A: 2}, {"labels/bug": [held(True, A, 2)]}), entity({B: 1}, {"labels/home": [held(True, B, 1)]})),
        ("a-field-and-a-key-of-it", "ENT-3", "a scalar and a map under one name are two registers",
         entity({A: 1}, {"labels": [held("none", A, 1)]}), entity({B: 1}, {"labels/bug": [held(True, B, 1)]})),
        ("user-beats-a-later-agent", "MERGE-4", "a concurrent agent write never wins, whatever the clocks say",
         entity({A: 1}, {"title": [held("mine", A, 1)]}),
         entity({B: 1}, {"title": [held("the agent's", B, 1, by="agent", at=[9_000_000, 0])]})),
        ("an-agent-who-saw-replaces", "MERGE-2 CAUS-10", "an agent who saw the user's write replaces it", first,
         entity({A: 1, B: 1}, {"title": [held("the agent's", B, 1, by="agent")]})),
        ("two-agents-and-a-user", "MERGE-4", "the user's write wins over two agents, and all three are held",
         entity({A: 1, B: 1}, {"title": [held("mine", B, 1), held("old", A, 1, by="agent", at=[8000, 0])]}),
         entity({C: 1}, {"title": [held("new", C, 1, by="agent", at=[9000, 0])]})),
        ("later-wins-among-equals", "MERGE-4", "the later reading is shown", edited, aside | {"clock": {A: 1, C: 1}}),
        ("ticks-decide-within-a-millisecond", "MERGE-4", "the counter of the reading",
         entity({A: 1}, {"title": [held("x", A, 1, at=[1000, 2])]}),
         entity({B: 1}, {"title": [held("y", B, 1, at=[1000, 1])]})),
        ("host-decides-a-tie", "MERGE-4", "the greater host, where readings are equal",
         entity({A: 1}, {"title": [held("x", A, 1)]}), entity({B: 1}, {"title": [held("y", B, 1)]})),
        ("host-and-not-counter-decides", "MERGE-4", "the host comes before the counter",
         entity({A: 7}, {"title": [held("x", A, 7)]}), entity({B: 1}, {"title": [held("y", B, 1)]})),
        ("equal-values-are-two-writes", "MERGE-2", "two writes of one value are still two writes",
         entity({A: 1}, {"title": [held("same", A, 1)]}), entity({B: 1}, {"title": [held("same", B, 1)]})),
        ("written-together-wins-together", "MERGE-4", "fields of one write have one stamp and one winner",
         entity({B: 1}, checked), entity({C: 1}, unchecked)),
        ("clock-is-merged", "MERGE-3", "the clock knows of both sides, of hosts without a held write too",
         entity({A: 4, B: 2}, {"title": [held("x", A, 4)]}), entity({B: 6, C: 1}, {"title": [held("y", C, 1)]})),
        ("a-clock-alone-overwrites", "MERGE-2", "a write that the other side's clock covers and does not hold is gone",
         entity({A: 1, B: 1}, {"title": [held("x", A, 1)], "due": [held("2026-03-01", B, 1)]}),
         entity({A: 2, B: 1}, {"title": [held("z", A, 2)], "due": [held("2026-03-01", B, 1)]})),
        ("a-stale-copy-arrives-late", "MERGE-2", "an old version brings nothing back", settled, first),
        ("unknown-type", "ENT-11 MERGE-3", "a type that nobody has heard of is joined all the same",
         entity({A: 1}, {"colour": [held("red", A, 1)]}, type="spaceship"),
         entity({B: 1}, {"engines": [held(4, B, 1)]}, type="spaceship")),
        ("unknown-fields", "ENT-11 MERGE-3", "nor does a field need a schema", first,
         entity({A: 1, B: 1}, {"title": [held("one", A, 1)], "xNew": [held({"deep": [1, {"er": None}]}, B, 1)]})),
        ("a-null-is-a-value", "MERGE-2", "removing is a write like any other", first,
         entity({A: 1, B: 1}, {"title": [held(None, B, 1)]})),
        ("deletion-that-saw-all", "MERGE-2", "a tombstone is a version like any other", first, dead),
        ("deletion-against-unseen-edit", "MERGE-2", "both are held: deleted here, edited there", dead, edited),
        ("deletion-against-unseen-agent-edit", "MERGE-2", "an agent's edit too is held", dead,
         entity({A: 1, B: 1}, {"title": [held("the agent's", B, 1, by="agent")]})),
        ("deletion-against-stale-live-copy", "MERGE-2", "a stale live copy does not revive what was deleted", dead,
         first),
        ("two-deletions", "MERGE-2", "concurrent deletions are both held", dead,
         entity({A: 1, B: 1}, {"title": [held("one", A, 1)], "deletedAt": [held(gone({A: 1}), B, 1)]})),
        ("undeletion-that-saw-the-deletion", "MERGE-2", "brought back by somebody who saw it deleted", dead, back),
        ("undeletion-against-new-deletion", "MERGE-2", "brought back here, deleted again there", back,
         entity({A: 2, B: 1}, {"title": [held("one", A, 1)], "deletedAt": [held(gone({A: 2}), B, 1)]})),
        ("agent-deletes-user-edits", "MERGE-2", "both are held",
         entity({A: 1, C: 1}, {"title": [held("one", A, 1)],
                               "deletedAt": [held(gone({A: 1}), C, 1, by="agent", at=[9000, 0])]}), edited),
    ]  # fmt: skip


def vectors() -> Book:
    book = Book(1, "join")
    for name, spec, comment, a, b in cases():
        book.ok(name, spec, comment, "entity.join", reference.join(a, b), a=a, b=b)
        if a != b:
            book.ok(f"{name}-swapped", f"{spec} MERGE-1", f"the same the other way round: {comment}", "entity.join",
                    reference.join(b, a), a=b, b=a)  # fmt: skip
    a = entity({A: 1}, {"title": [held("one", A, 1)]})
    for name, comment, b in (
        ("equal-dots-other-value", "one dot with two values: a store was copied or restored",
         entity({A: 1}, {"title": [held("two", A, 1)]})),
        ("equal-dots-other-reading", "one dot with two readings",
         entity({A: 1}, {"title": [held("one", A, 1, at=[2000, 0])]})),
        ("equal-dots-other-precedence", "one dot with two precedences",
         entity({A: 1}, {"title": [held("one", A, 1, by="agent")]})),
        ("equal-dots-among-others", "also where other writes lie beside it",
         entity({A: 1, B: 1}, {"title": [held("two", A, 1), held("x", B, 1)]})),
    ):  # fmt: skip
        book.error(name, "MERGE-8", comment, "entity.join", "fork", a=a, b=b)
    for name, comment, b in (
        ("two-types-under-one-id", "the type never changes", a | {"type": "label"}),
        ("two-ids", "these are two entities", a | {"id": "t2"}),
    ):
        book.error(name, "MERGE-10", comment, "entity.join", "bad-request", a=a, b=b)
    return book
