"""Ids of new entities (docs/specs/03-entities.md, section 1).

UUIDs of version 7: the time comes first, so that rows made together lie together in every index.
What two devices must name alike is not named here but derived (`schema.derived_id`).
"""

import re

_UUID_OF_CHANCE = re.compile(r"\A[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z")


def time_ordered(now: int, chance: bytes) -> str:
    """The UUIDv7 of wall time `now` (ms) and ten random bytes."""
    number = (now & (2**48 - 1)) << 80 | int.from_bytes(chance, "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def made_once(entity_id: str) -> bool:
    """Whether nobody makes this id twice: a UUID that chance is in (version 4 or 7)."""
    return _UUID_OF_CHANCE.match(entity_id) is not None
