"""What R says that it has, cut to what one frame takes (docs/specs/07-sync.md, section 8)."""

import msgspec

from lottisync.protocol import message as m

DOT_OVERHEAD = 32
"""Bytes of a held dot in msgpack beside the entity's id: an array of three, 16 digits, a counter, two lengths."""


def fitting(haves: dict[str, m.Have]) -> dict[str, m.Have]:
    """This Have with as many held dots as one frame takes (SYNC-34)."""
    room = m.HELD_BYTES
    cut = {}
    for name, have in haves.items():
        held = []
        for dot in have.held[: m.MAX_HELD]:
            room -= DOT_OVERHEAD + len(dot[2])
            if room < 0:
                break
            held.append(dot)
        cut[name] = msgspec.structs.replace(have, held=held)
    return cut
