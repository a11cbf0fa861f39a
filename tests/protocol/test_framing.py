"""Frames: SYNC-10, SYNC-11."""

import contextlib
import hashlib
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lottisync.protocol.framing import (
    ENCODINGS,
    LONGEST_DICTIONARY,
    MAX_FRAME,
    MAX_FRAME_BEFORE_HELLO,
    PLAIN,
    WORTH_COMPRESSING,
    ZSTD,
    ZSTD_WITH_DICTIONARY,
    BadFrame,
    FrameBuffer,
    dictionary_after,
    frame,
)


def test_sync_10_a_frame_is_length_encoding_body() -> None:
    assert frame(b"abc") == b"\x00\x00\x00\x04\x00abc"


@given(st.lists(st.binary(max_size=40)), st.data())
def test_sync_10_bodies_come_out_however_the_bytes_are_cut(bodies: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(frame(body) for body in bodies)
    buffer, found = FrameBuffer(), []
    while whole:
        piece = data.draw(st.integers(1, len(whole)))
        buffer.feed(whole[:piece])
        whole = whole[piece:]
        while (body := buffer.next_body()) is not None:
            found.append(body)
    assert found == bodies
    assert buffer.waiting == 0


@pytest.mark.parametrize("length", [0, MAX_FRAME_BEFORE_HELLO + 1, 2**32 - 1])
def test_sync_11_a_length_is_judged_before_any_of_the_body_is_there(length: int) -> None:
    buffer = FrameBuffer()
    buffer.feed(length.to_bytes(4, "big"))
    with pytest.raises(BadFrame, match=f"announced {length}"):
        buffer.next_body()


@pytest.mark.parametrize("limit", [MAX_FRAME_BEFORE_HELLO, MAX_FRAME])
def test_sync_11_the_limit_itself_is_allowed(limit: int) -> None:
    buffer = FrameBuffer(limit)
    buffer.feed(frame(bytes(limit - 1)))
    assert buffer.next_body() == bytes(limit - 1)


def test_sync_10_an_unknown_encoding_is_refused() -> None:
    buffer = FrameBuffer()
    buffer.feed(b"\x00\x00\x00\x02\x01a")
    with pytest.raises(BadFrame, match="encoding 1"):
        buffer.next_body()
    agreed = FrameBuffer(encodings=ENCODINGS)
    agreed.feed(b"\x00\x00\x00\x02\x03a")
    with pytest.raises(BadFrame, match="encoding 3"):
        agreed.next_body()


def test_sync_11_we_send_no_frame_that_we_would_not_take() -> None:
    with pytest.raises(ValueError, match="at most"):
        frame(bytes(MAX_FRAME))


# -- compressed


def test_sync_11_the_limits_are_those_of_the_specification() -> None:
    """SYNC-10, SYNC-11: two programs must agree on them."""
    assert (MAX_FRAME_BEFORE_HELLO, MAX_FRAME) == (65_536, 1_048_576)
    assert (WORTH_COMPRESSING, LONGEST_DICTIONARY) == (512, 16_384)


def test_sync_10_compressed_is_what_is_long_enough_and_becomes_smaller() -> None:
    """The bounds themselves: 512 bytes are worth it, 16 KiB still have a dictionary."""
    assert frame(bytes(512), ENCODINGS)[4] == ZSTD
    assert frame(bytes(511), ENCODINGS)[4] == PLAIN
    assert frame(bytes(16_384), ENCODINGS, bytes(512))[4] == ZSTD_WITH_DICTIONARY
    assert frame(bytes(16_385), ENCODINGS, bytes(512))[4] == ZSTD


def packed(body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(4, "big") + bytes([ZSTD]) + body


def unpacked(data: bytes, limit: int = MAX_FRAME) -> bytes | None:
    buffer = FrameBuffer(limit, ENCODINGS)
    buffer.feed(data)
    return buffer.next_body()


def claiming(size: int, body: bytes) -> bytes:
    """A zstd frame of `body` whose header says that it holds `size` bytes (RFC 8878: magic, descriptor with an
    eight-byte size and one segment, size, one raw last block)."""
    block = (len(body) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd" + b"\xe0" + size.to_bytes(8, "little") + block + body


@given(st.binary(max_size=3000))
def test_sync_10_a_compressed_body_comes_back(body: bytes) -> None:
    assert unpacked(frame(body, ENCODINGS)) == body
    assert unpacked(frame(body * 50, ENCODINGS)) == body * 50


def test_sync_10_a_body_is_compressed_where_that_makes_it_smaller() -> None:
    repeated = b"Milk, bread, butter. " * 1000
    assert len(frame(repeated, ENCODINGS)) < len(repeated) / 10
    assert frame(repeated, ENCODINGS)[4] == ZSTD
    assert frame(b"Milk", ENCODINGS) == frame(b"Milk")
    assert frame(zstandard.compress(repeated) * 1, ENCODINGS) == frame(zstandard.compress(repeated))


def test_sync_10_what_compressing_makes_no_smaller_goes_as_it_is() -> None:
    """SYNC-10: a body without any pattern."""
    body = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(64))
    assert frame(body, (PLAIN, ZSTD))[4:] == bytes([PLAIN]) + body


CHANGE = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(20))


def test_sync_10_what_was_said_before_is_the_dictionary() -> None:
    """SYNC-10: the last body of 512 bytes to 16 KiB, however it was framed; others in between make no difference."""
    bodies = [CHANGE + b"one", b"a ping", bytes(100_000), CHANGE + b"two", CHANGE + b"three" * 99, CHANGE + b"four"]
    buffer, dictionary, lengths = FrameBuffer(MAX_FRAME, ENCODINGS), b"", []
    for body in bodies:
        framed = frame(body, ENCODINGS, dictionary)
        dictionary = dictionary_after(body, dictionary)
        lengths.append(len(framed))
        buffer.feed(framed)
        assert buffer.next_body() == body
    assert max(lengths[3:]) < 60 < 640 < lengths[0]


@pytest.mark.parametrize("length", [511, 512, 16 * 1024, 16 * 1024 + 1])
def test_sync_72_a_dictionary_has_512_bytes_to_16_kib(length: int) -> None:
    body = (CHANGE * 26)[:length]
    assert (dictionary_after(body, b"before") == body) is (512 <= length <= 16 * 1024)


def test_sync_72_where_there_is_no_dictionary_none_is_used() -> None:
    """What needs one and has none is refused; before there is one frames are compressed without."""
    repeated = b"Milk, bread, butter. " * 40
    assert frame(repeated, ENCODINGS)[4] == ZSTD
    needy = frame(CHANGE, ENCODINGS, CHANGE)
    assert needy[4] == ZSTD_WITH_DICTIONARY
    buffer = FrameBuffer(MAX_FRAME, ENCODINGS)
    buffer.feed(needy)
    with pytest.raises(BadFrame, match="cannot be unpacked"):
        buffer.next_body()
    assert frame(CHANGE, (PLAIN, ZSTD), CHANGE)[4] == PLAIN


def test_sync_73_the_limit_holds_for_what_a_frame_becomes() -> None:
    largest = bytes(MAX_FRAME - 1)
    assert unpacked(frame(largest, ENCODINGS)) == largest
    with pytest.raises(BadFrame, match="would become 1048576 bytes"):
        unpacked(packed(zstandard.compress(bytes(MAX_FRAME))))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (None, "would become 1073741824 bytes"),
        (claiming(2**63, b"a"), "would become"),
        (claiming(2**64 - 3, b"a"), "would become"),
        (zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100)), "does not say"),
        (claiming(2, b"abc"), "cannot be unpacked"),
        (claiming(4, b"abc"), "cannot be unpacked"),
        (zstandard.compress(b"abc") + b"d", "cannot be unpacked"),
        (zstandard.compress(b"abc") * 2, "cannot be unpacked"),
        (zstandard.compress(b"abc" * 100)[:-1], "cannot be unpacked"),
        (b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd", "not zstd"),
        (b"\x28\xb5\x2f\xfd", "cannot be unpacked"),
        (b"", "not zstd"),
    ],
    ids=["bomb", "huge", "error-size", "unknown", "more", "less", "tail", "two", "cut", "skippable", "magic", "empty"],
)
def test_sync_73_a_bomb_is_refused_before_it_is_unpacked_and_a_lie_while_it_is(body: bytes | None, match: str) -> None:
    """SYNC-73, SYNC-74, SYNC-300, SYNC-301"""
    if body is None:  # the bomb: a gigabyte, which is made here, and not by every process that reads this file
        body = zstandard.compress(bytes(2**30))
    tracemalloc.start()
    with pytest.raises(BadFrame, match=match):
        unpacked(packed(body))
    assert tracemalloc.get_traced_memory()[1] < 2 * MAX_FRAME
    tracemalloc.stop()


@given(st.binary(max_size=200))
def test_sync_74_whatever_the_bytes_unpacking_raises_only_bad_frame(body: bytes) -> None:
    for data in (body, zstandard.compress(bytes(1000))[: len(body)] + body):
        with contextlib.suppress(BadFrame):
            assert unpacked(packed(data)) is not None
