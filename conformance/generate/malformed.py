"""Bad input: every fault is an error answer with its code, and never an exit."""

import json
from typing import Any

from conformance.generate.book import A, B, Book, entity, held

EITHER = ["bad-json", "bad-request"]
"""Where it is up to a language's JSON reader whether the text or the request is at fault."""

LINES: list[tuple[str, str, str | bytes, str | list[str]]] = [
    ("half-an-object", "a line that ends too early", "{", "bad-json"),
    ("words", "not JSON at all", "compare a b", "bad-json"),
    ("single-quotes", "JSON has double quotes", "{'op': 'clock.compare'}", "bad-json"),
    ("two-values", "a line holds one object", "{} {}", "bad-json"),
    ("trailing-comma", "JSON has none", '{"op":"clock.merge","a":{},"b":{},}', "bad-json"),
    ("nan", "JSON has no NaN", '{"op":"clock.merge","a":{"x":NaN},"b":{}}', "bad-json"),
    ("infinity", "nor infinity", '{"op":"clock.merge","a":{"x":Infinity},"b":{}}', "bad-json"),
    ("not-utf-8", "bytes that are not text", b'{"op":"clock.merge","a":{"\xff":1},"b":{}}', "bad-json"),
    ("empty", "an empty line is answered, or the caller would wait for ever", "", "bad-json"),
    ("array", "a request is an object", "[]", "bad-request"),
    ("number", "a request is an object", "7", "bad-request"),
    ("null", "a request is an object", "null", "bad-request"),
    ("nested-without-end", "ten thousand brackets end nobody's stack", "[" * 10_000, "bad-json"),
]


def broken_entities() -> list[tuple[str, str, str, Any]]:
    good = entity({A: 1}, {"title": [held("one", A, 1)]})
    write = held("one", A, 1)

    def with_write(**changes: Any) -> dict[str, Any]:
        return entity({A: 1}, {"title": [write | changes]})

    def without(name: str) -> dict[str, Any]:
        return {key: value for key, value in good.items() if key != name}

    deep: Any = 1
    for _ in range(33):
        deep = [deep]
    return [
        ("no-object", "ENT-10", "an entity is an object", 7),
        ("empty-object", "ENT-10", "with all of its parts", {}),
        ("no-id", "ENT-10", "an id", without("id")),
        ("no-type", "ENT-10", "a type", without("type")),
        ("no-clock", "ENT-10", "a clock", without("clock")),
        ("no-registers", "ENT-10", "and registers", without("registers")),
        ("without-any-register", "ENT-10", "of which there is at least one", entity({A: 1}, {})),
        ("empty-register", "ENT-10", "a register without a write is not a register", entity({A: 1}, {"title": []})),
        ("id-empty", "ENT-1", "an id has at least one character", good | {"id": ""}),
        ("id-too-long", "ENT-1", "and at most 128", good | {"id": "x" * 129}),
        ("id-with-space", "ENT-1", "of letters, digits and . _ : -", good | {"id": "a b"}),
        ("id-beyond-ascii", "ENT-1", "of ASCII", good | {"id": "tä"}),
        ("id-number", "ENT-1", "and is text", good | {"id": 1}),
        ("type-empty", "ENT-2", "a type is a word", good | {"type": ""}),
        ("type-with-dash", "ENT-2", "of letters, digits and _", good | {"type": "a-b"}),
        ("host-of-another-form", "ENT-10", "a host is 16 lowercase hexadecimal digits",
         entity({"A": 1}, {"title": [held("one", "A", 1)]})),
        ("clock-negative", "CAUS-2", "a counter is never negative", good | {"clock": {A: 1, B: -1}}),
        ("clock-beyond-exact", "CAUS-2", "nor beyond 2^53 - 1", good | {"clock": {A: 2**53}}),
        ("clock-text", "CAUS-2", "nor text", good | {"clock": {A: "1"}}),
        ("write-not-covered", "ENT-10", "the clock covers every write that is held",
         entity({A: 1}, {"title": [held("one", A, 2)]})),
        ("write-of-a-stranger-to-the-clock", "ENT-10", "of every host", entity({A: 1}, {"title": [held("x", B, 1)]})),
        ("one-dot-twice-in-a-register", "ENT-10", "one dot names one write",
         entity({A: 1}, {"title": [held("one", A, 1), held("two", A, 1)]})),
        ("counter-zero", "CAUS-1", "counters start at 1", entity({A: 1}, {"title": [held("one", A, 0)]})),
        ("counter-true", "CAUS-2", "true is not 1", with_write(counter=True)),
        ("precedence-two", "ENT-10", "precedence is 0 or 1", with_write(precedence=2)),
        ("with-another-key", "ENT-10", "an entity has these four keys and no others", good | {"more": 1}),
        ("write-with-another-key", "ENT-10", "and a write its five", with_write(more=1)),
        ("precedence-negative", "ENT-10", "and nothing below", with_write(precedence=-1)),
        ("reading-of-49-bits", "CAUS-6", "48 bits of milliseconds", with_write(hlc=[2**48, 0])),
        ("reading-with-17-bits", "CAUS-6", "16 bits of ticks", with_write(hlc=[0, 2**16])),
        ("reading-negative", "CAUS-6", "nothing before 1970", with_write(hlc=[-1, 0])),
        ("reading-of-one-part", "CAUS-6", "a pair", with_write(hlc=[1000])),
        ("write-without-value", "ENT-10", "a write has a value, if only null",
         entity({A: 1}, {"title": [{key: part for key, part in write.items() if key != "value"}]})),
        ("integer-beyond-exact", "ENT-7", "a value that some languages would round", with_write(value=2**53)),
        ("nested-too-deep", "ENT-7", "at most 32 levels of arrays and objects", with_write(value=deep)),
        ("path-empty", "ENT-3", "a path is a field or field/key", entity({A: 1}, {"": [write]})),
        ("path-digit-first", "ENT-3", "a field begins with a letter", entity({A: 1}, {"1a": [write]})),
        ("path-key-empty", "ENT-3", "a key is not empty", entity({A: 1}, {"labels/": [write]})),
        ("path-three-parts", "ENT-3", "no third level", entity({A: 1}, {"a/b/c": [write]})),
        ("path-bad-escape", "ENT-3", "~ is followed by 0 or 1", entity({A: 1}, {"a/b~2": [write]})),
        ("path-control-character", "ENT-3", "no control characters", entity({A: 1}, {"a/b\n": [write]})),
        ("path-too-long", "ENT-3", "at most 320 characters", entity({A: 1}, {"a/" + "b" * 320: [write]})),
    ]  # fmt: skip


def vectors() -> Book:
    book = Book(0, "malformed")
    for name, comment, line, code in LINES:
        book.line(f"line-{name}", "ENT-9", comment, line, code)
    for name, spec, comment, broken in broken_entities():
        book.error(f"entity-{name}", spec, comment, "entity.digest", "bad-request", entity=broken)
    good = entity({A: 1}, {"title": [held("one", A, 1)]})
    lone = json.dumps(good).replace('"one"', '"\\ud800"')
    book.line("entity-half-a-surrogate-pair", "ENT-7", "text that no UTF-8 can say",
              '{"id":null,"op":"entity.digest","entity":' + lone + "}", EITHER)  # fmt: skip
    book.error("entity-missing", "ENT-10", "a field that an operation needs", "entity.read", "bad-request")
    book.error("join-of-one", "ENT-10", "a join needs two", "entity.join", "bad-request", a=good)
    book.error("clock-missing", "CAUS-3", "so does a comparison", "clock.compare", "bad-request", a={})
    book.error("clock-array", "CAUS-3", "a clock is an object", "clock.compare", "bad-request", a=[], b={})
    asked = {"run": "r", "task": "t", "tool": "set_task_title", "args": {"title": "x"}}
    for what, targets in (("text", "a"), ("null", None), ("numbers", [1])):
        book.error(f"targets-{what}", "REV-10", "targets are a list of texts", "proposal.operation", "bad-request",
                   **asked, targets=targets)  # fmt: skip
    book.error("reason-number", "SOV-2", "a reason is text or null", "proposal.guard", "bad-request",
               isChecked=False, checkedBy="user", checkedAt=None, proposed=True, reason=5)  # fmt: skip
    book.line("operation-missing", "ENT-10", "a request says what it wants", '{"id":null}', "bad-request")
    book.line("operation-number", "ENT-10", "in a text", '{"id":null,"op":7}', "bad-request")
    book.line("number-beyond-all", "ENT-7", "a number that no language holds",
              '{"id":null,"op":"clock.merge","a":{"x":1e400},"b":{}}', EITHER)  # fmt: skip
    book.error("operation-unknown", "ENT-10", "an operation that the contract does not have", "clock.teleport",
               "unknown-op")  # fmt: skip
    return book
