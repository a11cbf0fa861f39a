"""Ids of new entities (docs/specs/03-entities.md, section 1).

UUIDs of version 7: the time comes first, so that rows made together lie together in every index.
What two devices must name alike is not named here but derived (`schema.derived_id`).
"""


def time_ordered(now: int, chance: bytes) -> str:
    """The UUIDv7 of wall time `now` (ms) and ten random bytes."""
    number = (now & (2**48 - 1)) << 80 | int.from_bytes(chance, "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
