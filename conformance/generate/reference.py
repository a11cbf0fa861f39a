"""The rules once more, as small as they can be said: what the vectors are made with.

This shares no code with `src/` and imports the standard library only, so a vector says what the rules
say and not what some implementation happened to answer. Nothing is checked here: the vectors of bad
input name their error by hand. Entities are in the JSON form of ADAPTER.md.
"""

import hashlib
import json
import re
from typing import Any

Clock = dict[str, int]
Json = dict[str, Any]
DELETED = "deletedAt"
FAR = 5 * 60 * 1000
"""A peer that is further ahead of our wall clock is not followed."""
EXACT = 2**53 - 1


# -- clocks


def compare(a: Clock, b: Clock) -> str:
    hosts = set(a) | set(b)
    more = any(a.get(host, 0) > b.get(host, 0) for host in hosts)
    less = any(a.get(host, 0) < b.get(host, 0) for host in hosts)
    return {(False, False): "equal", (True, False): "after", (False, True): "before", (True, True): "concurrent"}[
        more, less
    ]


def merge(a: Clock, b: Clock) -> Clock:
    hosts = sorted(set(a) | set(b))
    return {host: top for host in hosts if (top := max(a.get(host, 0), b.get(host, 0)))}


def tick(last: list[int], now: int) -> list[int]:
    millis, ticks = last
    if now > millis:
        return [now, 0]
    return [millis, ticks + 1] if ticks < 65_535 else [millis + 1, 0]


def observe(last: list[int], remote: list[int], now: int) -> list[int]:
    return last if remote[0] > now + FAR else max(last, remote)


# -- entities


def dot(write: Json) -> tuple[str, int]:
    return write["host"], write["counter"]


def order(write: Json) -> Any:
    """What concurrent writes are ordered by; the greatest is shown."""
    return write["precedence"], write["hlc"], write["host"], write["counter"]


def covered(by: Clock, write: Json) -> bool:
    return bool(by.get(write["host"], 0) >= write["counter"])


def join(a: Json, b: Json) -> Json:
    registers = {}
    for path in sorted(set(a["registers"]) | set(b["registers"])):
        ours = {dot(write): write for write in a["registers"].get(path, [])}
        theirs = {dot(write): write for write in b["registers"].get(path, [])}
        both = ours | theirs
        held = [
            write
            for name, write in both.items()
            if (name in ours and name in theirs)
            or (name in ours and not covered(b["clock"], write))
            or (name in theirs and not covered(a["clock"], write))
        ]
        if held:
            registers[path] = sorted(held, key=order, reverse=True)
    return {"id": a["id"], "type": a["type"], "clock": merge(a["clock"], b["clock"]), "registers": registers}


def deletion(write: Json) -> bool:
    """Whether a write to `deletedAt` deletes: it says when, and the clock that the deleter saw."""
    value = write["value"]
    return (
        isinstance(value, dict)
        and isinstance(value.get("at"), str)
        and isinstance(value.get("seen"), dict)
        and all(re.fullmatch("[0-9a-f]{16}", host) for host in value["seen"])
        and all(_counts(counter) for counter in value["seen"].values())
    )


def _counts(value: Any) -> bool:
    """Whether it is a counter; 1.0 is 1, and true is not."""
    return type(value) in (int, float) and 0 <= value < 2**53 and value == int(value)


def unseen(entity: Json, deletions: list[Json]) -> list[Json]:
    """The edits that none of these deletions had seen."""
    edits = [write for path, writes in entity["registers"].items() if path != DELETED for write in writes]
    return [
        edit
        for edit in edits
        if not any(dot(edit) == dot(by) or covered(by["value"]["seen"], edit) for by in deletions)
    ]


def held(entity: Json, path: str) -> list[Json]:
    return sorted(entity["registers"].get(path, []), key=order, reverse=True)


def is_deleted(entity: Json) -> bool:
    writes = held(entity, DELETED)
    if not writes or not deletion(writes[0]):
        return False
    deletions = [write for write in writes if deletion(write)]
    return all(edit["precedence"] <= writes[0]["precedence"] for edit in unseen(entity, deletions))


def is_contested(entity: Json) -> bool:
    """Deleted here, edited or brought back there."""
    writes = held(entity, DELETED)
    deletions = [write for write in writes if deletion(write)]
    return bool(deletions) and (len(deletions) < len(writes) or bool(unseen(entity, deletions)))


def read(entity: Json) -> Json:
    fields, conflicts = {}, {}
    for path in sorted(entity["registers"]):
        if path == DELETED:
            continue
        shown, *others = (write["value"] for write in held(entity, path))
        fields[path] = shown
        losers = {canonical(value): value for value in others}
        losers.pop(canonical(shown), None)
        if losers:
            conflicts[path] = [losers[raw] for raw in sorted(losers)]
    if is_contested(entity):
        conflicts[DELETED] = [write["value"] for write in held(entity, DELETED)]
    return {"fields": fields, "conflicts": conflicts}


# -- bytes


def canonical(value: Any) -> bytes:
    """A JSON value's one sequence of bytes."""
    match value:
        case bool() | None:
            return json.dumps(value).encode()
        case int() | float():
            return number(value).encode()
        case str():
            return json.dumps(value, ensure_ascii=False).encode()
        case list():
            return b"[" + b",".join(map(canonical, value)) + b"]"
        case dict():
            keys = sorted(value, key=lambda key: key.encode())
            return b"{" + b",".join(canonical(key) + b":" + canonical(value[key]) for key in keys) + b"}"
    raise TypeError(value)


def number(value: float) -> str:
    """Shortest digits that read back as the same number; an exponent below 1e-5 and from 1e16 on."""
    if isinstance(value, int) or (value.is_integer() and abs(value) <= EXACT):
        return str(int(value))
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    before, _, after = mantissa.partition(".")
    digits = (before + after).lstrip("0")
    point = int(exponent or 0) + len(before) - (len(before + after) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 16:
        whole, fraction = digits[:point].ljust(point, "0"), digits[point:] or "0"
        return f"{sign}{whole}.{fraction}"
    if -5 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"


def stamp(write: Json) -> list[Any]:
    return [write["precedence"], *write["hlc"], write["host"], write["counter"]]


def form(entity: Json) -> bytes:
    """The canonical form: `["id","type",{clock},[base,{path:stamp},{path:[[stamp,value],...]}],{document}]`."""
    return canonical(parts(entity))


def parts(entity: Json) -> list[Any]:
    """The five parts of the canonical form."""
    winners = {path: held(entity, path)[0] for path in entity["registers"] if entity["registers"][path]}
    stamps = [stamp(write) for write in winners.values()]
    base = max(stamps, key=lambda each: (stamps.count(each), each))
    return [
        entity["id"],
        entity["type"],
        {host: counter for host, counter in entity["clock"].items() if counter},
        [
            base,
            {path: stamp(write) for path, write in winners.items() if stamp(write) != base},
            {
                path: [[stamp(write), write["value"]] for write in held(entity, path)[1:]]
                for path in winners
                if len(held(entity, path)) > 1
            },
        ],
        {path: write["value"] for path, write in winners.items()},
    ]


def digest(entity: Json) -> str:
    """What the entity adds to its store's digest: nothing if it is deleted and nobody's edit went unseen."""
    if is_deleted(entity) and not is_contested(entity):
        return "0" * 64
    return hashlib.sha256(form(entity)).hexdigest()


# -- wakes


def run_key(*parts: str) -> str:
    """The name of a wake: what it is a reaction to, in parts that hold no `|`."""
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def change_key(dots: list[list[Any]]) -> str:
    """The name of a change: its dots, each once, by host and then by number."""
    distinct = sorted({(host, counter) for host, counter in dots})
    return hashlib.sha256(",".join(f"{host}:{counter}" for host, counter in distinct).encode()).hexdigest()
