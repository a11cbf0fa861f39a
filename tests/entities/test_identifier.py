"""Ids of new entities."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from lottisync.entities.identifier import made_once, time_ordered
from lottisync.entities.schema import derived_id
from lottisync.entities.version import validated_id

times = st.integers(0, 2**48 - 1)
chances = st.binary(min_size=10, max_size=10)


@given(times, chances)
def test_an_id_is_a_uuid_of_version_7(now: int, chance: bytes) -> None:
    """ENT-4"""
    ident = time_ordered(now, chance)
    parsed = uuid.UUID(ident)
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == now
    assert validated_id(ident) == str(parsed)


@given(times, times, chances, chances)
def test_ids_sort_by_time(a: int, b: int, x: bytes, y: bytes) -> None:
    """ENT-4"""
    if a != b:
        assert (time_ordered(a, x) < time_ordered(b, y)) == (a < b)


def test_chance_fills_all_other_bits() -> None:
    """ENT-4: 74 of the 80 bits; version and variant take six."""
    ones, zeros = (uuid.UUID(time_ordered(0, bytes([byte]) * 10)).int for byte in (255, 0))
    assert (ones ^ zeros).bit_count() == 74


def test_a_time_that_does_not_fit_gives_an_id_all_the_same() -> None:
    """ENT-4: a clock may say anything."""
    for now in (2**48, 2**48 + 5, -1):
        ident = time_ordered(now, bytes(10))
        assert ident == time_ordered(now % 2**48, bytes(10))
        assert uuid.UUID(ident).version == 7


@given(times, chances, st.uuids(version=4))
def test_an_id_that_chance_is_in_is_made_once(now: int, chance: bytes, other: uuid.UUID) -> None:
    """ENT-4: what two devices derive alike is made by both."""
    assert made_once(time_ordered(now, chance))
    assert made_once(str(other))
    assert not made_once(derived_id("label", other.hex))
    assert not made_once(str(other) + "0")
    assert not made_once("milk")
