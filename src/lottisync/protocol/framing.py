"""Frames: where one message ends and the next begins (docs/specs/07-sync.md, section 2).

    4 bytes length, big-endian · 1 byte encoding (0: as it is, 1: zstd, 2: zstd with a dictionary) · body

The length is judged before a byte of the body is kept, so a peer cannot make us hold more than a
frame. It counts what follows it.

A compressed body may claim to become anything. So it has to say how much, in its own header, and that
is judged against the limit of a plain frame before a byte is unpacked; what unpacks to more than it
said is refused by the unpacking itself, which has room for no more. Entities repeat themselves: the
fastest level makes a batch three to ten times smaller for a fraction of what storing it costs.

A single change has nothing to repeat but what was said before it: the names of the fields, the hosts, often the very
document. So the dictionary of encoding 2 is the body that went before it in the same direction, the last that is a
dictionary at all (512 bytes to 16 KiB). It halves what a change costs on the wire.
"""

from collections.abc import Collection

import zstandard

from lottisync.problem import Invalid

HEADER_BYTES = 4
PLAIN = 0
ZSTD = 1
ZSTD_WITH_DICTIONARY = 2
ENCODINGS = (PLAIN, ZSTD, ZSTD_WITH_DICTIONARY)
"""What this program reads and writes; each side says in its greeting what it can."""
LEVEL = 1
WORTH_COMPRESSING = 512
"""Below that many bytes there is little to gain."""
LONGEST_DICTIONARY = 16 * 1024
"""A longer body is not a dictionary, and needs none: it repeats itself."""
MAX_FRAME_BEFORE_HELLO = 64 * 1024
"""All that a peer may send before it has said who it is: a greeting has a few hundred bytes."""
MAX_FRAME = 1024 * 1024
"""A batch is far smaller; this leaves room for one document of the largest size."""
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class BadFrame(Invalid):
    """A length, an encoding or a compressed body that no correct peer sends."""


def frame(body: bytes, encodings: Collection[int] = (PLAIN,), dictionary: bytes = b"") -> bytes:
    """One frame, compressed if that is among `encodings` and worth it; `ValueError` if the body is too large.
    `dictionary` is that of this direction (`dictionary_after`)."""
    if len(body) + 1 > MAX_FRAME:
        raise ValueError(f"a frame carries at most {MAX_FRAME - 1} bytes; got {len(body)}")
    if len(body) >= WORTH_COMPRESSING:
        if ZSTD_WITH_DICTIONARY in encodings and dictionary and len(body) <= LONGEST_DICTIONARY:
            encoding, compressor = ZSTD_WITH_DICTIONARY, zstandard.ZstdCompressor(LEVEL, _prepared(dictionary))
        elif ZSTD in encodings:
            encoding, compressor = ZSTD, zstandard.ZstdCompressor(LEVEL)
        else:
            return _framed(PLAIN, body)
        smaller = compressor.compress(body)
        if len(smaller) < len(body):
            return _framed(encoding, smaller)
    return _framed(PLAIN, body)


def dictionary_after(body: bytes, before: bytes) -> bytes:
    """The dictionary of a direction after this body; `before` is the one that counted until then. Empty as long as
    there is none."""
    return body if WORTH_COMPRESSING <= len(body) <= LONGEST_DICTIONARY else before


def _prepared(dictionary: bytes) -> zstandard.ZstdCompressionDict | None:
    if not dictionary:
        return None
    return zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _framed(encoding: int, body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(HEADER_BYTES, "big") + bytes([encoding]) + body


def _unpacked(packed: bytes, limit: int, dictionary: bytes = b"") -> bytes:
    """What a compressed body becomes, if that is exactly as much as it says, and at most `limit` bytes."""
    if not packed.startswith(ZSTD_MAGIC):  # zstd's "skippable" frames hold no content, but claim a size as well
        raise BadFrame("a compressed frame that is not zstd")
    try:
        claimed = zstandard.get_frame_parameters(packed).content_size
        if claimed == zstandard.CONTENTSIZE_UNKNOWN:
            raise BadFrame("a compressed frame that does not say how much it holds")
        if claimed > limit:
            raise BadFrame(
                "a compressed frame would become {claimed} bytes; at most {limit} are taken",
                claimed=claimed,
                limit=limit,
            )
        return zstandard.ZstdDecompressor(_prepared(dictionary)).decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BadFrame("a compressed frame cannot be unpacked: {error}", error=error) from None


class FrameBuffer:
    """Cuts a stream of bytes, however it arrives, into bodies. `encodings` are those that may be met."""

    def __init__(self, limit: int = MAX_FRAME_BEFORE_HELLO, encodings: Collection[int] = (PLAIN,)) -> None:
        self.limit = limit
        self.encodings = encodings
        self._held = bytearray()
        self._dictionary = b""

    def feed(self, data: bytes) -> None:
        self._held += data

    def next_body(self) -> bytes | None:
        """The next whole body, or None until more has arrived. Raises `BadFrame`."""
        if len(self._held) < HEADER_BYTES:
            return None
        length = int.from_bytes(self._held[:HEADER_BYTES], "big")
        if not 1 <= length <= self.limit:
            raise BadFrame(
                "a frame here has 1 to {limit} bytes; the peer announced {length}", limit=self.limit, length=length
            )
        if len(self._held) < HEADER_BYTES + length:
            return None
        encoding = self._held[HEADER_BYTES]
        if encoding not in self.encodings:
            raise BadFrame("a frame in encoding {encoding}, which the two sides have not agreed on", encoding=encoding)
        body = bytes(self._held[HEADER_BYTES + 1 : HEADER_BYTES + length])
        del self._held[: HEADER_BYTES + length]
        if encoding != PLAIN:
            body = _unpacked(body, self.limit - 1, self._dictionary if encoding == ZSTD_WITH_DICTIONARY else b"")
        self._dictionary = dictionary_after(body, self._dictionary)
        return body

    @property
    def waiting(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._held)
