"""Ids of new entities."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from lottisync.entities.identifier import time_ordered
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
