"""The bytes that two devices exchange, once more: msgpack and frames (docs/specs/07-sync.md, sections 2 and 3).

As much of both as the suite needs to be a peer: a message is a list whose first item is its tag, a frame says
some of them. What it writes is plain, always; a peer that lists only encoding 0 is answered plainly, so that
this needs no zstd to read.
"""

import struct
from typing import Any

PLAIN = 0
ZSTD = 1
BEFORE_GREETING, AFTER_GREETING = 64 * 1024, 1024 * 1024
"""The most bytes of a frame, its encoding included."""

Message = list[Any]


class Undecodable(ValueError):
    """Bytes of the adapter that are not a frame with messages."""


# -- msgpack


def pack(value: Any) -> bytes:
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return _integer(value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case str():
            raw = value.encode()
            return _head(len(raw), (0xA0, 31), (0xD9, 0xDA, 0xDB)) + raw
        case bytes():
            return _head(len(value), None, (0xC4, 0xC5, 0xC6)) + value
        case list() | tuple():
            return _head(len(value), (0x90, 15), (None, 0xDC, 0xDD)) + b"".join(map(pack, value))
        case dict():
            items = (pack(key) + pack(item) for key, item in value.items())
            return _head(len(value), (0x80, 15), (None, 0xDE, 0xDF)) + b"".join(items)
    raise TypeError(f"no msgpack for {value!r}")


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack("b", value) if value < 0 else bytes([value])
    forms = ((0xCC, "B"), (0xCD, ">H"), (0xCE, ">I"), (0xCF, ">Q")) if value >= 0 else ((0xD3, ">q"),)
    for tag, form in forms:
        if value < 0 or value < 1 << 8 * struct.calcsize(form):
            return bytes([tag]) + struct.pack(form, value)
    raise OverflowError(f"{value} has more than 64 bits")


def _head(size: int, small: tuple[int, int] | None, tags: tuple[int | None, int, int]) -> bytes:
    """The bytes in front of something that has a length: its kind, in as many bytes as the length needs."""
    if small is not None and size <= small[1]:
        return bytes([small[0] | size])
    for tag, form in zip(tags, (">B", ">H", ">I"), strict=True):
        if tag is not None and size < 1 << 8 * struct.calcsize(form):
            return bytes([tag]) + struct.pack(form, size)
    raise OverflowError(f"{size} is too long")


def unpack(body: bytes) -> Any:
    """The one value that these bytes are."""
    try:
        value, end = _value(body, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Undecodable(f"not msgpack: {error!r}") from None
    if end != len(body):
        raise Undecodable(f"{len(body) - end} bytes behind the value")
    return value


_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_SIZED = {
    0xC4: ("bytes", ">B"), 0xC5: ("bytes", ">H"), 0xC6: ("bytes", ">I"),
    0xD9: ("text", ">B"), 0xDA: ("text", ">H"), 0xDB: ("text", ">I"),
    0xDC: ("list", ">H"), 0xDD: ("list", ">I"), 0xDE: ("map", ">H"), 0xDF: ("map", ">I"),
}  # fmt: skip
_SINGLE = {0xC0: None, 0xC2: False, 0xC3: True}


def _value(body: bytes, at: int) -> tuple[Any, int]:
    tag, at = body[at], at + 1
    if tag <= 0x7F:
        return tag, at
    if tag >= 0xE0:
        return tag - 0x100, at
    if tag in _SINGLE:
        return _SINGLE[tag], at
    if tag in _NUMBERS:
        form = _NUMBERS[tag]
        return struct.unpack_from(form, body, at)[0], at + struct.calcsize(form)
    if tag in _SIZED:
        kind, form = _SIZED[tag]
        return _filled(kind, struct.unpack_from(form, body, at)[0], body, at + struct.calcsize(form))
    if tag <= 0x8F:
        return _filled("map", tag & 0x0F, body, at)
    if tag <= 0x9F:
        return _filled("list", tag & 0x0F, body, at)
    if tag <= 0xBF:
        return _filled("text", tag & 0x1F, body, at)
    raise Undecodable(f"no msgpack begins with {tag:#x}")


def _filled(kind: str, size: int, body: bytes, at: int) -> tuple[Any, int]:
    if kind in ("bytes", "text"):
        if at + size > len(body):
            raise Undecodable(f"{kind} of {size} bytes where {len(body) - at} are left")
        raw = body[at : at + size]
        return (raw if kind == "bytes" else raw.decode()), at + size
    items = []
    for _ in range(size * (2 if kind == "map" else 1)):
        item, at = _value(body, at)
        items.append(item)
    return (items if kind == "list" else dict(zip(items[::2], items[1::2], strict=True))), at


# -- frames


def frame(*messages: Message) -> bytes:
    """One frame that says these messages, plainly."""
    return framed(pack(list(messages)))


def framed(body: bytes, encoding: int = PLAIN) -> bytes:
    return struct.pack(">I", len(body) + 1) + bytes([encoding]) + body


def messages(frames: bytes) -> list[Message]:
    """What some whole, plain frames say."""
    said: list[Message] = []
    while frames:
        if len(frames) < 5:
            raise Undecodable(f"{len(frames)} bytes where a frame has at least five")
        (length,) = struct.unpack_from(">I", frames)
        if not 1 <= length <= min(AFTER_GREETING, len(frames) - 4):
            raise Undecodable(f"a frame of {length} bytes in {len(frames) - 4}")
        if frames[4] != PLAIN:
            raise Undecodable(f"a frame in encoding {frames[4]}, to a peer that has listed none but {PLAIN}")
        body = unpack(frames[5 : 4 + length])
        if not isinstance(body, list) or not body or not all(isinstance(m, list) and m for m in body):
            raise Undecodable("a frame is an array of one or more messages")
        said += body
        frames = frames[4 + length :]
    return said


# -- zstd, by hand

MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 128 * 1024
"""The most that one block of a zstd frame holds."""


def zstd_frame(blocks: list[tuple[bytes, int]], claimed: int | None) -> bytes:
    """A zstd frame that says that it holds `claimed` bytes, or nothing of it: each block is a byte, repeated, or
    bytes as they are. Four bytes for a block of 128 KiB: enough to write a bomb, and nothing else."""
    header = b"\x00\x38" if claimed is None else b"\xc0\x38" + struct.pack("<Q", claimed)
    body = b""
    for number, (content, times) in enumerate(blocks):
        last = number == len(blocks) - 1
        raw = times == 1
        size = len(content) if raw else times
        body += struct.pack("<I", last | (0 if raw else 1) << 1 | size << 3)[:3] + content
    return MAGIC + header + body
