"""Frames: where one message ends and the next begins (docs/specs/07-sync.md, section 2).

    4 bytes length, big-endian · 1 byte encoding (0: as it is) · body

The length is judged before a byte of the body is kept, so a peer cannot make us hold more than a
frame. It counts what follows it.
"""

HEADER_BYTES = 4
PLAIN = 0
MAX_FRAME_BEFORE_HELLO = 64 * 1024
"""All that a peer may send before it has said who it is: a greeting has a few hundred bytes."""
MAX_FRAME = 1024 * 1024
"""A batch is far smaller; this leaves room for one document of the largest size."""


class BadFrame(ValueError):
    """A length or an encoding that no correct peer sends."""


def frame(body: bytes) -> bytes:
    """One frame; `ValueError` if the body is too large to be sent."""
    if len(body) + 1 > MAX_FRAME:
        raise ValueError(f"a frame carries at most {MAX_FRAME - 1} bytes; got {len(body)}")
    return (len(body) + 1).to_bytes(HEADER_BYTES, "big") + bytes([PLAIN]) + body


class FrameBuffer:
    """Cuts a stream of bytes, however it arrives, into bodies."""

    def __init__(self, limit: int = MAX_FRAME_BEFORE_HELLO) -> None:
        self.limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        self._held += data

    def next_body(self) -> bytes | None:
        """The next whole body, or None until more has arrived. Raises `BadFrame`."""
        if len(self._held) < HEADER_BYTES:
            return None
        length = int.from_bytes(self._held[:HEADER_BYTES], "big")
        if not 1 <= length <= self.limit:
            raise BadFrame(f"a frame here has 1 to {self.limit} bytes; the peer announced {length}")
        if len(self._held) < HEADER_BYTES + length:
            return None
        encoding = self._held[HEADER_BYTES]
        if encoding != PLAIN:
            raise BadFrame(f"unknown frame encoding {encoding}")
        body = bytes(self._held[HEADER_BYTES + 1 : HEADER_BYTES + length])
        del self._held[: HEADER_BYTES + length]
        return body

    @property
    def waiting(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._held)
