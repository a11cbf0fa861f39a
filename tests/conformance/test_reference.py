"""The reference model of the vectors and ours, held against each other on random input: two texts of one rule."""

import json
from typing import Any

from conformance.generate import reference
from hypothesis import given
from hypothesis import strategies as st

from lottisync.adapter import wire_entity
from lottisync.adapter.replica import shown
from lottisync.entities import canonical, version
from lottisync.entities.entity import join

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HOSTS = ["a" * 16, "b" * 16, "c" * 16]
PATHS = ["title", "labels/a", "deletedAt"]


@given(NUMBERS)
def test_numbers(value: float) -> None:
    assert reference.canonical(value) == canonical.encode(value)
    assert json.loads(reference.canonical(value)) == value


@given(VALUES)
def test_canonical_json(value: Any) -> None:
    assert reference.canonical(value) == canonical.encode(value)


@st.composite
def entities(draw: st.DrawFn) -> dict[str, Any]:
    """Any entity that a replica may hold; a dot has the same meaning in all of them."""
    clock = draw(st.dictionaries(st.sampled_from(HOSTS), st.integers(1, 3), min_size=1))
    registers: dict[str, list[dict[str, Any]]] = {}
    dots = [(host, counter) for host, top in clock.items() for counter in range(1, top + 1)]
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, unique=True)):
        held = draw(st.lists(st.sampled_from(dots), min_size=1, max_size=3, unique=True))
        registers[path] = [_write(path, host, counter) for host, counter in held]
    return {"id": "t1", "type": "task", "clock": clock, "registers": registers}


def _write(path: str, host: str, counter: int) -> dict[str, Any]:
    """What this dot wrote here, the same for every caller."""
    chance = sum(map(ord, path + host)) * 7 + counter
    value: Any = chance % 3
    if path == "deletedAt":
        seen = {HOSTS[chance % 3]: chance % 4, HOSTS[(chance + 1) % 3]: chance % 3}
        value = {"at": "2026-01-01T00:00:00.000Z", "seen": seen} if chance % 4 else None
    return {
        "value": value,
        "precedence": chance % 2,
        "hlc": [1000 + chance % 5, chance % 2],
        "host": host,
        "counter": counter,
    }


@given(entities(), entities())
def test_join_and_reading(a: dict[str, Any], b: dict[str, Any]) -> None:
    expected = reference.join(a, b)
    joined = join(wire_entity.read(a), wire_entity.read(b))
    assert wire_entity.written(joined) == expected
    for entity, form in ((wire_entity.read(a), a), (joined, expected)):
        if not form["registers"]:
            continue
        assert shown(entity) == reference.read(form)
        assert version.close(entity).canonical() == reference.form(form)
        assert wire_entity.digest(entity) == reference.digest(form)
